"""Ignore files: the answers are git's, and patterns that are made to be slow or many take little time."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxrank.indexer.beneath import Root
from ctxrank.indexer.files import ignore
from ctxrank.indexer.files.ignore import IgnoreFileError, IgnoreFiles, IgnoreRules
from ctxrank.indexer.text import pattern_sets
from ctxrank.indexer.text.pattern_sets import PatternSet

LONG_NAME = "a" * 120 + "/" + "a" * 200 + "/" + "ab" * 100


def rules_of(folder: Path, data: bytes) -> IgnoreRules:
    """The rules of an ignore file in a folder."""
    (folder / ".gitignore").write_bytes(data)
    with Root(str(folder)) as root:
        rules = IgnoreFiles(root, (".gitignore",)).in_folder("", None)
    assert rules is not None
    return rules


def why_not(folder: Path, data: bytes) -> str:
    """Why an ignore file is not taken as rules."""
    (folder / ".gitignore").write_bytes(data)
    with Root(str(folder)) as root, pytest.raises(IgnoreFileError) as error:
        IgnoreFiles(root, (".gitignore",)).in_folder("", None)
    return str(error.value.strerror)


@pytest.mark.parametrize(
    "pattern",
    [
        "*a*a*a*a*a*a*a*a*b", "**/a/**/a/**/a/**/a/**/b", "*" * 300 + "b", "[a]*" * 200 + "b", "?*" * 100 + "b",
        "a*" * 500 + "/" + "a*" * 500 + "c",
    ],
)  # fmt: skip
def test_a_pattern_that_makes_others_backtrack_is_answered_at_once(tmp_path: Path, pattern: str) -> None:
    started = time.monotonic()
    rules = rules_of(tmp_path, pattern.encode())
    for number in range(20):
        rules.hides(f"{LONG_NAME}{number}c")
    assert time.monotonic() - started < 1


def test_ten_thousand_patterns_are_compiled_and_asked_in_little_time(tmp_path: Path) -> None:
    started = time.process_time()
    rules = rules_of(tmp_path, b"".join(b"dir%d/name%d\n" % (number, number) for number in range(10_000)))
    assert rules.hides("dir9999/name9999")
    assert not any(rules.hides(f"dir1/name{number}.md") for number in range(1000))
    assert time.process_time() - started < 3


def test_what_is_too_much_is_refused_in_words(tmp_path: Path) -> None:
    assert why_not(tmp_path, b"x\n" * 100_000) == "not read, because its .gitignore has more than 10,000 patterns"
    assert why_not(tmp_path, b"#" * (1024 * 1024 + 1)) == "not read, because its .gitignore is larger than 1 MiB"
    assert "of more than 4,096 bytes" in why_not(tmp_path, b"x" * 4097)
    assert "8,000 bytes of patterns with wildcards" in why_not(tmp_path, b"*.extension\n" * 1000)


def test_the_files_of_a_tree_have_a_limit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ignore, "MAX_PATTERNS_OF_TREE", 5)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".gitignore").write_text("1\n2\n3\n")
    with Root(str(tmp_path)) as root:
        files = IgnoreFiles(root, (".gitignore",))
        assert files.in_folder("a/", None) is not None
        with pytest.raises(IgnoreFileError, match="tree"):
            files.in_folder("b/", None)


def test_wildcards_of_the_folders_above_count(tmp_path: Path) -> None:
    above = rules_of(tmp_path, b"*.extension\n" * 700)
    (tmp_path / "b").mkdir()
    (tmp_path / "b/.gitignore").write_bytes(b"*.extension\n" * 700)
    with Root(str(tmp_path)) as root, pytest.raises(IgnoreFileError):
        IgnoreFiles(root, (".gitignore",)).in_folder("b/", above)


def test_a_sparse_ignore_file_of_ten_gigabytes_is_refused_at_once(tmp_path: Path) -> None:
    with (tmp_path / ".gitignore").open("wb") as file:
        file.truncate(10 * 1024**3)
    started = time.monotonic()
    with Root(str(tmp_path)) as root, pytest.raises(IgnoreFileError, match="larger than 1 MiB"):
        IgnoreFiles(root, (".gitignore",)).in_folder("", None)
    assert time.monotonic() - started < 1


@pytest.mark.parametrize("name", [".git", ".git/info/exclude", ".git/commondir"])
@pytest.mark.parametrize("kind", ["pipe", "device", "sparse", "circle"])
def test_files_of_git_that_are_none_are_not_waited_for(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "sparse":
        with path.open("wb") as file:
            file.truncate(10 * 1024**3)
    else:
        path.symlink_to("/dev/zero" if kind == "device" else path)
    started = time.monotonic()
    with Root(str(tmp_path)) as root:
        try:
            assert IgnoreFiles(root, ()).of_repository() is None
        except IgnoreFileError as error:
            assert (name, kind) == (".git/info/exclude", "sparse")
            assert "larger than 1 MiB" in str(error)
    assert time.monotonic() - started < 1


def test_an_automaton_that_runs_out_of_memory_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = [b"[^/]*".join([b"a"] * 9), rb"b.{300}c", b"(?:.+/)?c", b"d"]
    names = [b"a" * 30, b"b" + b"x" * 300 + b"c", b"x/c", b"d", b"e"]
    expected = [PatternSet(patterns).last_match(name) for name in names]
    assert expected == [0, 1, 2, 3, None]
    pattern_sets._engine.cache_clear()  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(pattern_sets, "_MAX_MEMORY_BYTES", 30_000)
    try:
        assert [PatternSet(patterns).last_match(name) for name in names] == expected
    finally:
        pattern_sets._engine.cache_clear()  # pyright: ignore[reportPrivateUsage]


def test_the_last_of_many_patterns_wins_wherever_the_sets_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_sets, "_CHUNK_PATTERNS", 2)
    patterns = [b"a", b"b", b"a", b"(", b"c", b"a", b"b"]
    assert [PatternSet(patterns).last_match(name) for name in (b"a", b"b", b"c", b"(")] == [5, 6, 4, None]


SEGMENTS = st.sampled_from(
    [
        "*",
        "**",
        "a",
        "b",
        "a*",
        "*a",
        "?",
        "a?b",
        "[ab]",
        "[!a]",
        "[a-c]x",
        "*.md",
        "a.md",
        "é",
        "*é",
        "?é",
        "a b",
        "\\a",
    ]
)


def pattern_of(sign: str, start: str, segments: list[str], end: str) -> str:
    """One line of an ignore file."""
    return sign + start + "/".join(segments) + end


PATTERNS = st.builds(
    pattern_of,
    st.sampled_from(["", "", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(SEGMENTS, min_size=1, max_size=4),
    st.sampled_from(["", "", "/", "  "]),
)


def path_of(names: list[str]) -> str:
    """One path."""
    return "/".join(names)


NAMES = st.sampled_from(["a", "b", "ab", "cx", "a.md", "b.md", "é", "aé", "a b", "é.md", "xa", "axb", "aab"])
PATHS = st.lists(st.lists(NAMES, min_size=1, max_size=4).map(path_of), min_size=1, max_size=12, unique=True)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(PATTERNS, min_size=1, max_size=6), paths=PATHS)
def test_git_hides_the_same_paths(tmp_path: Path, lines: list[str], paths: list[str]) -> None:
    """Paths that need not exist: `git check-ignore` asks the folders above first, as a walk does."""
    if not (tmp_path / ".git").exists():
        quiet = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        subprocess.run(["git", "init", "-q", str(tmp_path)], env=quiet, check=True)
    rules = rules_of(tmp_path, "\n".join(lines).encode())
    asked = "\0".join(paths).encode()
    done = subprocess.run(
        ["git", "-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "-z", "--stdin"], cwd=tmp_path,
        input=asked, capture_output=True, check=False, timeout=20,
    )  # fmt: skip
    hidden = set(done.stdout.decode().split("\0")) - {""}
    assert {path for path in paths if is_hidden(rules, path)} == hidden


def is_hidden(rules: IgnoreRules, path: str) -> bool:
    """Whether a file or one of the folders above it is hidden."""
    names = path.split("/")
    folders = ["/".join(names[:depth]) + "/" for depth in range(1, len(names))]
    return any(rules.hides(folder) for folder in folders) or rules.hides(path)

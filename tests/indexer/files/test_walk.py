"""Walking a tree: what is there, in which order, and what is passed over with which reason."""

import os
import random
import shutil
import socket
from pathlib import Path

import pytest
from git_tree import git

from ctxrank.indexer.bounds import MAX_FILE_BYTES
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.files.stamps import FoundFile
from ctxrank.indexer.files.walk import Selection, Skipped, Unreadable, walk

as_plain_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
with_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def put(root: Path, *paths: str, text: str = "") -> None:
    """Make files, with the folders they need."""
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def found(root: Path, start: str = "") -> list[str]:
    """The paths of the files that are there."""
    return [entry.path for entry in walk(str(root), start) if isinstance(entry, FoundFile)]


def skipped(root: Path, start: str = "") -> dict[str, str]:
    """The reason of each path that was passed over."""
    return {entry.path: entry.reason for entry in walk(str(root), start) if not isinstance(entry, FoundFile)}


def test_a_file_comes_with_its_state(tmp_path: Path) -> None:
    put(tmp_path, "a/b.md", text="four")
    info = os.stat(tmp_path / "a/b.md")
    assert list(walk(str(tmp_path))) == [FoundFile("a/b.md", 4, info.st_mtime_ns, info.st_ino)]


def test_the_order_is_that_of_whole_paths(tmp_path: Path) -> None:
    """`.` sorts before `/`, so `a.md` stands before what is in `a`, as it does in a list of all paths."""
    put(tmp_path, "a/z.md", "a.md", "a-b/c.md", "B.md", "é.md", "b/1.md", "b/10.md", "b/2.md")
    paths = found(tmp_path)
    assert paths == sorted(paths)
    assert paths[:3] == ["B.md", "a-b/c.md", "a.md"]


def test_odd_names_survive(tmp_path: Path) -> None:
    names = ["two words.md", "two\nlines.md", "漢字/notes.md", "-rf.md", "[a]*.md"]
    put(tmp_path, *names)
    assert found(tmp_path) == sorted(names)


def test_a_name_that_is_not_utf8_is_named_and_passed_over(tmp_path: Path) -> None:
    try:
        os.close(os.open(os.fsencode(tmp_path) + b"/caf\xe9.md", os.O_CREAT))
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    os.mkdir(os.fsencode(tmp_path) + b"/\xff")
    reason = "name is not valid UTF-8"
    assert skipped(tmp_path) == {"caf\\xe9.md": reason, "\\xff": reason}
    assert skipped(tmp_path, os.fsdecode(b"\xff")) == {"\\xff": reason}
    assert found(tmp_path) == []


def test_stores_of_other_programs_are_never_entered(tmp_path: Path) -> None:
    put(
        tmp_path,
        ".git/config",
        ".ctxrank/config.yaml",
        "web/node_modules/x/README.md",
        ".venv/a.py",
        "venv/b.py",
    )
    put(tmp_path, ".hg/a", ".svn/b", "lib/__pycache__/c.pyc", "lib/c.py", ".github/ci.yml")
    assert list(walk(str(tmp_path))) == [*walk(str(tmp_path), ".github"), *walk(str(tmp_path), "lib")]
    assert found(tmp_path) == [".github/ci.yml", "lib/c.py"]
    assert list(walk(str(tmp_path), "web/node_modules/x")) == []


def test_what_install_writes_is_no_finding(tmp_path: Path) -> None:
    put(tmp_path, ".claude/settings.json", ".claude/settings.json.before-ctxrank", ".claude/skills/ctxrank/SKILL.md")
    put(tmp_path, ".opencode/plugins/ctxrank.js", ".opencode/plugins/own.js", ".mcp.json.before-ctxrank")
    assert found(tmp_path) == [".claude/settings.json", ".opencode/plugins/own.js"]
    for start in (".claude/settings.json.before-ctxrank", ".claude/skills/ctxrank", ".opencode/plugins/ctxrank.js"):
        assert list(walk(str(tmp_path), start)) == [], start


def test_a_virtual_environment_is_known_by_its_mark_whatever_it_is_called(tmp_path: Path) -> None:
    put(tmp_path, "env/pyvenv.cfg", "env/lib/a.py", "app.py", "deep/py312/pyvenv.cfg", "deep/py312/b.py", "deep/c.py")
    assert found(tmp_path) == ["app.py", "deep/c.py"]
    put(tmp_path, "pyvenv.cfg")
    assert "app.py" in found(tmp_path)  # a project that is its own environment is still the user's


def test_what_an_ignore_file_hides_is_not_there(tmp_path: Path) -> None:
    put(tmp_path, ".gitignore", text="*.log\nbuild/\n!keep.log\n")
    put(tmp_path, "a.log", "keep.log", "sub/b.log", "build/out.md", "sub/build/out.md", "a.md", "build.md")
    assert found(tmp_path) == [".gitignore", "a.md", "build.md", "keep.log"]
    assert skipped(tmp_path) == {}


def test_a_deeper_ignore_file_has_the_last_word(tmp_path: Path) -> None:
    put(tmp_path, ".gitignore", text="*.log\n")
    put(tmp_path, "sub/.gitignore", text="!build.log\n/draft.md\n")
    put(tmp_path, "build.log", "sub/build.log", "sub/other.log", "sub/draft.md", "sub/deep/draft.md")
    assert found(tmp_path, "sub") == ["sub/.gitignore", "sub/build.log", "sub/deep/draft.md"]


def test_our_own_ignore_file_adds_to_gits_and_can_take_back(tmp_path: Path) -> None:
    put(tmp_path, ".gitignore", text="artifacts/\n")
    put(tmp_path, ".ctxrankignore", text="!artifacts/\n*.tmp\n")
    put(tmp_path, "artifacts/auth.md", "artifacts/auth.tmp")
    assert found(tmp_path, "artifacts") == ["artifacts/auth.md"]


def test_nothing_below_a_hidden_folder_is_taken_back(tmp_path: Path) -> None:
    put(tmp_path, ".gitignore", text="closed/\n!closed/a.md\nopen/**\n!open/a.md\n")
    put(tmp_path, "closed/a.md", "open/a.md", "open/b.md")
    assert found(tmp_path) == [".gitignore", "open/a.md"]


def test_one_bad_pattern_does_not_lose_the_good_ones(tmp_path: Path) -> None:
    put(tmp_path, ".gitignore", text="\ufeff*.log\r\n!\r\n[z-a]\r\n\\\r\n*.tmp")
    put(tmp_path, "a.log", "a.tmp", "a.md")
    assert found(tmp_path) == [".gitignore", "a.md"]


def test_links_are_never_followed_and_each_says_where_it_led(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(root, "notes/a.md")
    put(tmp_path, "outside/secret.md", "root-sibling/b.md")
    for name, target in {
        "file": "notes/a.md",
        "folder": "notes",
        "away": "../outside",
        "sibling": "../root-sibling/b.md",
        "etc": "/etc",
        "nowhere": "gone.md",
        "self": "self",
    }.items():
        os.symlink(target, root / name)
    assert found(root) == ["notes/a.md"]
    assert skipped(root) == {
        "file": "a link; its target is indexed itself",
        "folder": "a link; its target is indexed itself",
        "away": "a link out of the tree",
        "sibling": "a link out of the tree",
        "etc": "a link out of the tree",
        "nowhere": "a link to nothing",
        "self": "a link to nothing",
    }


def test_a_start_that_passes_through_a_link_stops_there(tmp_path: Path) -> None:
    put(tmp_path, "notes/a.md")
    os.symlink("notes", tmp_path / "link")
    assert list(walk(str(tmp_path), "link/a.md")) == [Skipped("link", "a link; its target is indexed itself")]


def test_a_root_that_is_itself_a_link_is_walked(tmp_path: Path) -> None:
    put(tmp_path, "real/a.md")
    os.symlink("a.md", tmp_path / "real/b.md")
    os.symlink("real", tmp_path / "root")
    assert found(tmp_path / "root") == ["a.md"]
    assert skipped(tmp_path / "root") == {"b.md": "a link; its target is indexed itself"}


def test_what_is_not_a_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's address may have about a hundred bytes
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("agent.sock")
        assert skipped(Path(".")) == {"agent.sock": "a socket", "pipe": "a named pipe"}


def test_a_file_over_the_limit_is_named(tmp_path: Path) -> None:
    for name, size in (("at.sql", MAX_FILE_BYTES), ("over.sql", MAX_FILE_BYTES + 1)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    assert found(tmp_path) == ["at.sql"]
    assert skipped(tmp_path) == {"over.sql": "larger than 16 MiB"}


@as_plain_user
def test_a_folder_we_may_not_open_is_named_and_the_walk_goes_on(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "locked/b.md", "z.md")
    (tmp_path / "locked").chmod(0)
    try:
        assert skipped(tmp_path) == {"locked": "Permission denied"}
        assert found(tmp_path) == ["a.md", "z.md"]
    finally:
        (tmp_path / "locked").chmod(0o700)


def test_a_folder_that_vanishes_during_the_walk_is_named(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "b/c.md", "d.md")
    entries = walk(str(tmp_path))
    assert next(entries) == next(iter(walk(str(tmp_path), "a.md")))
    shutil.rmtree(tmp_path / "b")
    assert next(entries) == Skipped("b", "No such file or directory")
    assert [entry.path for entry in entries] == ["d.md"]


def test_a_start_may_be_a_folder_or_a_file(tmp_path: Path) -> None:
    put(tmp_path, "a/b/c.md", "a/d.md", "e.md")
    assert found(tmp_path, "a/b") == found(tmp_path, "./a//b/") == found(tmp_path, "a/b/c.md") == ["a/b/c.md"]
    assert found(tmp_path, ".") == found(tmp_path)


def test_a_start_obeys_the_ignore_files_above_it(tmp_path: Path) -> None:
    put(tmp_path, ".gitignore", text="build/\n")
    put(tmp_path, "a/.ctxrankignore", text="*.tmp\n")
    put(tmp_path, "build/x.md", "a/b/c.tmp", "a/b/c.md")
    assert list(walk(str(tmp_path), "build/x.md")) == list(walk(str(tmp_path), "a/b/c.tmp")) == []
    assert found(tmp_path, "a/b") == ["a/b/c.md"]


def test_a_start_that_is_not_there_is_named(tmp_path: Path) -> None:
    put(tmp_path, "a.md")
    assert skipped(tmp_path, "gone.md") == {"gone.md": "No such file or directory"}
    assert skipped(tmp_path, "a.md/b.md") == {"a.md": "not a folder"}
    assert skipped(tmp_path / "gone") == {".": "No such file or directory"}


@pytest.mark.parametrize("start", ["../x", "a/../../x", "/etc"])
def test_a_start_out_of_the_tree_is_refused(tmp_path: Path, start: str) -> None:
    with pytest.raises(UsageError, match="not a path inside the tree"):
        list(walk(str(tmp_path), start))


@with_git
def test_a_linked_worktree_uses_the_repositorys_exclude_file(tmp_path: Path) -> None:
    main = tmp_path / "main"
    git(tmp_path, "init", "-q", "main")
    git(main, "commit", "-q", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", "-q", str(tmp_path / "linked"))
    put(main, ".git/info/exclude", text="*.scratch\n")
    for tree in (main, tmp_path / "linked"):
        put(tree, "a.md", "b.scratch")
        assert found(tree) == ["a.md"]


# One on a line, as in an ignore file; the blanks at the end of two of them belong to the test.
PATTERNS = (
    "*.log\na/\n/a\n!a/\nb/**\n!b/keep\n*\n!*/\n!*.md\n/b/*\n!/b/c\na/b\n**/c\nc/**/\n!c\nd.*\n[ab]\n!keep"
    "\nkeep/\na/**/b\n/c/\n!d.md\n**\nb/**/x.md\n[!a]\n\\!keep\n?\na*/\n# c\n!e.log \nx.md  \n/*\n!/a\na/*"
    "\n!a/keep/\n**/a/\n**/b/**"
).splitlines()


def grow(folder: Path, dice: random.Random, depth: int = 0) -> None:
    """A small random tree whose folders have ignore files here and there."""
    folder.mkdir(exist_ok=True)
    for name in ("a", "b", "c", "d.md", "e.log", "x.md", "keep"):
        if "." not in name and depth < 3 and dice.random() < 0.5:
            grow(folder / name, dice, depth + 1)
        elif dice.random() < 0.6:
            put(folder, name)
    if depth == 0 or dice.random() < 0.2:
        put(folder, ".gitignore", text="\n".join(dice.sample(PATTERNS, dice.randint(1, 4))))


@with_git
@pytest.mark.parametrize("seed", range(30))
def test_git_itself_sees_the_same_files(tmp_path: Path, seed: int) -> None:
    """The independent implementation; a larger range of seeds is the way to look for more differences."""
    dice = random.Random(seed)
    grow(tmp_path, dice)
    git(tmp_path, "init", "-q")
    put(tmp_path, ".git/info/exclude", text="\n".join(dice.sample(PATTERNS, dice.randint(0, 2))))
    listed = git(tmp_path, "ls-files", "-z", "--others", "--exclude-standard")
    assert found(tmp_path) == sorted(listed.split("\0")[:-1])


def test_a_selection_narrows_what_is_met(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "a.PY", "docs/b.md", "docs/build/c.md", "build", ".git/config.md")
    put(tmp_path, ".gitignore", text="*.md\n")
    selections = {
        "every file": (
            Selection(skipped=frozenset(), ignore_files=()),
            [".git/config.md", ".gitignore", "a.PY", "a.md", "build", "docs/b.md", "docs/build/c.md"],
        ),
        "some suffixes": (Selection(ignore_files=(), suffixes=(".py",)), ["a.PY"]),
        "one folder": (Selection(ignore_files=(), suffixes=(".md",), is_deep=False), ["a.md"]),
        "without a folder of some name": (
            Selection(ignore_files=(), skipped_folders=frozenset({"build"})),
            [".gitignore", "a.PY", "a.md", "build", "docs/b.md"],
        ),
    }
    met = {name: [entry.path for entry in walk(str(tmp_path), "", one)] for name, (one, _) in selections.items()}
    assert met == {name: paths for name, (_, paths) in selections.items()}


def test_a_file_as_large_as_a_selection_allows_is_met(tmp_path: Path) -> None:
    with (tmp_path / "dump.sql").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    entries = list(walk(str(tmp_path), "", Selection(max_bytes=MAX_FILE_BYTES + 1)))
    assert [type(entry) for entry in entries] == [FoundFile]


@as_plain_user
def test_what_may_not_be_looked_at_is_told_from_what_is_no_file(tmp_path: Path) -> None:
    put(tmp_path, "private/a.md")
    (tmp_path / "private").chmod(0)
    try:
        assert list(walk(str(tmp_path))) == [Unreadable("private", "Permission denied")]
        assert [type(entry) for entry in walk(str(tmp_path))] == [Unreadable]
    finally:
        (tmp_path / "private").chmod(0o700)


def test_an_ignore_file_that_is_no_file_says_nothing_and_is_not_waited_for(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "b/a.md", ".git/info/x")
    os.mkfifo(tmp_path / ".git/info/exclude")
    os.mkfifo(tmp_path / ".gitignore")
    (tmp_path / ".ctxrankignore").symlink_to("/dev/zero")
    (tmp_path / "b/.gitignore").mkdir()
    assert found(tmp_path) == ["a.md", "b/a.md"]


def test_a_walk_enters_no_folder_that_was_exchanged_with_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top, outside = tmp_path / "top", tmp_path / "outside"
    put(top, "docs/a.md", "inner/a.md", "z.md")
    put(outside, "secret.md")
    system_open = os.open

    def exchange(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path in ("docs", "inner") and not (top / path).is_symlink():
            (top / path).rename(top / f".{path}")
            (top / path).symlink_to(outside if path == "docs" else top)
        return system_open(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", exchange)
    assert found(top) == ["z.md"]
    assert set(skipped(top)) == {"docs", "inner"}


def test_a_walk_that_is_given_up_holds_nothing(tmp_path: Path) -> None:
    put(tmp_path, "a/b/c.md", "a/b/d.md")
    before = len(os.listdir("/proc/self/fd"))
    walking = walk(str(tmp_path))
    next(walking)
    del walking
    assert len(os.listdir("/proc/self/fd")) == before

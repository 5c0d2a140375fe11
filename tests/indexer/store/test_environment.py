"""The machine around a store: full, read-only, without permission, out of files, with a wrong clock or an odd path."""

import contextlib
import itertools
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path

import apsw
import pytest
from acts import call_command
from builders import found, make_store, run_child, save, search_ids
from failing_files import Fault, failing_files
from git_tree import git
from index_contents import has_no_ghosts

from ctxrank.indexer.engine import IndexHealth
from ctxrank.indexer.errors import failed_commands
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.fulltext.catch_up import rebuild
from ctxrank.indexer.fulltext.fts5_engine import fts5_of, index_of
from ctxrank.indexer.fulltext.index_file import health_of
from ctxrank.indexer.opening import create_store
from ctxrank.indexer.privacy import redact_again as redact_again_module
from ctxrank.indexer.privacy.erase import erase
from ctxrank.indexer.privacy.redact_again import redact_again
from ctxrank.indexer.records.reasoning import NewReasoning, save_reasoning
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.connection import translate
from ctxrank.indexer.store.store import Store

SAVE = ("reasoning", "save", "--session", "S", "--agent", "developer", "--phase", "risks", "The walrus is late.")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a store of one package."""
    folder = tmp_path / "home"
    folder.mkdir()
    with make_store(folder) as store:
        save(store, "a.md", "A zebra.")
    return folder


def ctxrank(
    folder: Path | str, *arguments: str, limit: Callable[[], None] | None = None, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """One command in a process of its own; `limit` runs in it before it begins."""
    return subprocess.run(
        [sys.executable, "-m", "ctxrank.cli", *arguments], cwd=folder, capture_output=True, text=True, timeout=60,
        preexec_fn=limit, env={**os.environ, **environment}, check=False,
    )  # fmt: skip


def is_intact(folder: Path) -> bool:
    """Whether the package is found, and saving works again."""
    with make_store(folder) as store:
        return search_ids(store, "zebra") == ["package:1"] and save(store, "late.md").id == 2 and has_no_ghosts(store)


# The disk


@pytest.mark.slow
@pytest.mark.parametrize("most_bytes", [0, 1000, 40_000])
def test_a_file_that_may_not_grow_is_a_refusal_in_words_and_nothing_is_lost(home: Path, most_bytes: int) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    # Python keeps a compiled module that the limit cut short, and every other process would then read that.
    ended = ctxrank(home, *SAVE, limit=limit, PYTHONDONTWRITEBYTECODE="1")
    assert (ended.returncode, ended.stdout) == (6, "")
    assert "Check the disk and its space" in ended.stderr and "Traceback" not in ended.stderr
    assert ctxrank(home, "search", "walrus").returncode == 1
    assert is_intact(home)


_FILLED = """
mount -t tmpfs -o size=1200k none "$1" || exit 99
cp -r "$2"/.ctxrank "$2"/a.md "$1"/
cd "$1"
dd if=/dev/zero of=filler bs=1k count=1200 2>/dev/null
head -c 90000 /dev/zero | tr '\\0' x > long
"$3" -m ctxrank.cli --json reasoning save --session S --agent developer --phase risks --content-file long
echo "code $?"
"$3" -m ctxrank.cli assemble --session S --agent developer | grep -c '^## Context for developer'
rm filler
"$3" -m ctxrank.cli -q search zebra | head -1
"$3" -m ctxrank.cli -q reasoning save --session S --agent developer --phase risks "There is room again"
"""


def test_a_full_disk_is_said_a_block_is_printed_and_room_is_all_it_needs(home: Path, tmp_path: Path) -> None:
    (tmp_path / "mnt").mkdir()
    ended = subprocess.run(
        ["unshare", "--mount", "sh", "-c", _FILLED, "sh", str(tmp_path / "mnt"), str(home), sys.executable],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    if ended.returncode == 99 or "unshare" in ended.stderr:
        pytest.skip("this machine does not let a test mount a small disk")
    answer, _, rest = ended.stdout.partition("code ")
    error = json.loads(answer)["error"]
    assert (error["code"], error["kind"]) == (6, "refused")
    assert "is full" in error["message"] and "Free some space" in error["hint"]
    code, blocks, hit, saved = rest.splitlines()
    assert (code, blocks) == ("6", "1")
    assert hit.startswith("1. ")
    assert saved.startswith("Saved reasoning")


def test_a_disk_that_cannot_be_read_is_no_damage(home: Path) -> None:
    error = translate(apsw.IOError("disk I/O error"), "here")
    assert (error.exit_code, error.kind) == (6, "refused")
    assert health_of(apsw.IOError()) == IndexHealth.IO_ERROR
    with failing_files(str(home / ".ctxrank" / "index.db"), Fault.WRITE, 1, lasts=True), make_store(home) as store:
        with pytest.raises(CtxrankError) as refused:
            rebuild(fts5_of(store))
        assert refused.value.exit_code == 6
        assert "damaged" not in index_of(store).health
        answer = found(store, "zebra")  # the index is as it was
        assert ([hit.id for hit in answer.hits], answer.outcome) == (["package:1"], "matched")
    assert is_intact(home)


@pytest.mark.parametrize("at", [1, 20, 40, 60])
def test_what_a_dying_disk_does_to_a_save_is_an_error_of_ours(home: Path, at: int) -> None:
    with failing_files(str(home / ".ctxrank"), Fault.READ, at, lasts=True) as fault:
        try:
            with make_store(home) as store:
                save_reasoning(store, NewReasoning("S", None, "developer", "risks", "The walrus is late."))
        except CtxrankError as error:  # and never one of SQLite's own
            assert error.exit_code == 6
    assert fault.has_struck
    assert is_intact(home)


# Permissions

_AS_NOBODY = """
import contextlib, io, os, sys
from ctxrank.cli.main import run

def call(*arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(list(arguments))
    return code, out.getvalue() + err.getvalue()

CALLS = (
    ("--db", "DB", "reasoning", "save", "--session", "S", "--agent", "developer", "--phase", "risks", "A walrus."),
    ("--db", "DB", "search", "zebra"), ("--db", "DB", "status"), ("--db", "DB", "rebuild"),
    ("--db", "DB", "assemble", "--session", "S", "--agent", "developer", "--group", "G"), ("init", "FOLDER"),
)
warm, cold, folder, mode = sys.argv[1:5]
for words in CALLS:  # everything is imported once: another user may not be able to enter the folder of the checkout
    call(*[{"DB": warm, "FOLDER": os.path.dirname(warm)}.get(word, word) for word in words])
sys.meta_path.clear()
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
for words in CALLS:
    print(*call(*[{"DB": cold, "FOLDER": folder}.get(word, word) for word in words]), sep=" ", end="\\0")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder_mode", "file_mode", "codes"),
    [
        (0o555, 0o444, [6, 0, 0, 6, 0, 3]),  # read-only: reading a store that is named goes on; it is another user's
        (0o777, 0o444, [6, 0, 0, 6, 0, 3]),  # read-only files in a folder that may be written
        (0o555, 0o000, [6, 6, 6, 6, 0, 3]),  # nothing can be read
    ],
)
def test_missing_permissions_are_said_and_what_can_be_read_is_answered(
    for_anyone: Path, tmp_path: Path, folder_mode: int, file_mode: int, codes: list[int]
) -> None:
    home = for_anyone
    with make_store(home) as store:
        save(store, "a.md", "A zebra.")
    with make_store(tmp_path / "warm") as warm:
        save(warm, "a.md", "A zebra.")
    inside = home / ".ctxrank"
    contents = {path: path.read_bytes() for path in inside.iterdir()}
    for path in inside.iterdir():
        path.chmod(file_mode)
    inside.chmod(folder_mode)
    printed = run_child(_AS_NOBODY, warm.location.primary, inside / "ctxrank.db", home, folder_mode)
    answers = printed.split("\0")[:-1]
    assert [int(answer.split(" ")[0]) for answer in answers] == codes, answers
    assert not any(word in printed for word in ("Traceback", "Internal error", "damaged"))
    assert all(contents[path] == path.read_bytes() for path in contents if path.name == "ctxrank.db")
    for path in (inside, *inside.iterdir()):
        path.chmod(0o700)
        os.chown(path, os.geteuid(), -1)  # a log that another user began is not played into a store that is found
    assert is_intact(home)


# Files, clocks, paths


@pytest.mark.slow
def test_with_few_open_files_a_call_succeeds_or_says_that_there_are_too_many(home: Path) -> None:
    codes: list[int] = []
    for most in range(5, 14):
        ended = ctxrank(home, "search", "zebra", limit=partial(set_most_files, most))
        if "Fatal Python error" in ended.stderr or ended.returncode == 127:
            continue  # the interpreter itself did not start
        codes.append(ended.returncode)
        assert ended.returncode == 0 or (ended.returncode == 6 and "ulimit -n" in ended.stderr), ended.stderr
    assert codes[-1] == 0
    assert is_intact(home)


def set_most_files(most: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def test_a_clock_that_goes_backwards_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = itertools.count(1_800_000_000_000_000_000, -3_600_000_000_000)
    monkeypatch.setattr("time.time_ns", lambda: next(moments))
    with make_store(tmp_path) as store:
        for number in range(5):
            assert save(store, "a.md", f"A zebra, seen {number} times.").version == number + 1
            save_reasoning(store, NewReasoning("S", None, "developer", "risks", f"Walrus {number}."))
        assert search_ids(store, "zebra", limit=9)[0] == "package:5"  # the newest by what it replaces, not by the clock
        assert len(search_ids(store, "walrus", limit=9)) == 5
        assert store.primary.execute("SELECT count(*) FROM reasoning").get == 5
        assert has_no_ghosts(store)


_ODD_NAMES = ("with space", "ünï 漢字", "quo'te\"s;$x", "-dash", "new\nline")


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/St_Johns"])
def test_the_time_zone_changes_no_answer(home: Path, zone: str) -> None:
    answers = [
        ctxrank(home, "--json", "search", "kind:package", "--since", "2020-01-01", TZ=name).stdout
        for name in ("UTC", zone)
    ]
    assert answers[0] == answers[1]
    assert '"total": 1' in answers[0]


@pytest.mark.parametrize(
    "name", ["-new\nline ünï 漢字's;$x", *(pytest.param(name, marks=pytest.mark.slow) for name in _ODD_NAMES)]
)
def test_a_store_on_an_odd_path_works_from_a_shell(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "a.md").write_text("# About\n\nA zebra.\n")
    assert ctxrank(folder, "init").returncode == 0
    assert ctxrank(folder, "index").returncode == 0
    assert "zebra" in ctxrank(folder, "search", "zebra").stdout
    assert sorted(path.name for path in folder.iterdir()) == [".ctxrank", "a.md"]


def test_a_path_that_is_no_utf_8_is_refused_in_words_and_nothing_is_made(tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/latin-\xe9")
    os.mkdir(folder)
    with pytest.raises(UsageError, match=r"latin-\\udce9/.ctxrank is not UTF-8"):
        create_store(folder)
    assert os.listdir(folder) == []
    ended = ctxrank(folder, "init")
    assert (ended.returncode, "is not UTF-8" in ended.stderr) == (2, True)


def test_a_folder_that_is_gone_is_said(home: Path) -> None:
    command = f'cd "$1" && rm -r "$1" && "{sys.executable}" -m ctxrank.cli status'
    ended = subprocess.run(["sh", "-c", command, "sh", str(home)], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (
        6, "ctxrank: The current folder no longer exists. Change to one that exists.\n",
    )  # fmt: skip


@pytest.mark.slow
def test_a_root_that_is_removed_keeps_what_was_found_in_it(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "artifacts"
    root.mkdir()
    (root / "x.md").write_text("# About\n\nA heron.\n")
    db = str(home / ".ctxrank" / "ctxrank.db")
    assert ctxrank(home, "--db", db, "--root", str(root), "index").returncode == 0
    shutil.rmtree(root)
    gone = ctxrank(home, "--db", db, "--root", str(root), "index")
    assert (gone.returncode, "is not a folder" in gone.stderr) == (2, True)
    assert ctxrank(home, "--db", db, "index").returncode == 0
    assert "the file is gone" in ctxrank(home, "--db", db, "search", "heron").stdout


@pytest.mark.slow
def test_worktrees_that_write_at_once_share_one_store(home: Path, tmp_path: Path) -> None:
    git(home, "init", "-q")
    git(home, "commit", "-q", "--allow-empty", "-m", "x")
    git(home, "worktree", "add", "-q", str(tmp_path / "linked"))
    savers = [
        subprocess.Popen([sys.executable, "-m", "ctxrank.cli", *SAVE], cwd=folder, stdout=subprocess.DEVNULL)
        for folder in (home, tmp_path / "linked") * 3
    ]
    assert [saver.wait(60) for saver in savers] == [0] * 6
    with make_store(home) as store:
        assert store.primary.execute("SELECT count(*) FROM reasoning").get == 6
    assert not (tmp_path / "linked" / ".ctxrank").exists()


# A call that is killed half-way


@pytest.fixture
def unclean(tmp_path: Path) -> Iterator[Store]:
    """A store with a secret from before a rule was there."""
    with make_store(tmp_path) as store:
        secret = "ghp" + "_" + "a1B2" * 9
        entry = NewReasoning("S", None, "developer", "risks", f"The token is {secret}.")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CTXRANK_REDACTION_MODE", "off")
            save_reasoning(store, entry, create_session=True)
        yield store


def test_a_purge_that_was_killed_is_finished_by_the_next_one(unclean: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its texts are changed by then: only a note tells that the index still holds what was in them."""

    def killed(store: Store) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(redact_again_module, "_note_ruleset", killed)
        redact_again(unclean, RedactionMode.PATTERN_ONLY)
    unclean.catch_up()
    terms = "SELECT count(*) FROM main.terms WHERE term LIKE '%a1b2%'"
    assert index_of(unclean).connection.execute(terms).get > 0
    assert redact_again(unclean, RedactionMode.PATTERN_ONLY).redacted == {}
    assert index_of(unclean).connection.execute(terms).get == 0
    assert unclean.primary.execute("SELECT count(*) FROM settings").get == 0


def test_a_success_that_was_killed_before_it_was_learnt_from_is_learnt_from_the_next_time(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(change: object, key: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(home)
    script = "test -e fixed || { echo 'ValueError: no walrus' >&2; exit 3; }"
    command = ("error", "run", "--", "sh", "-c", script)
    assert call_command(*command).code == 3
    (home / "fixed").touch()
    with monkeypatch.context() as patch:
        patch.setattr(failed_commands, "forget", killed)
        assert call_command(*command).code == 130
    counts = "SELECT (SELECT count(*) FROM error_patterns), (SELECT count(*) FROM failed_commands)"
    with make_store(home) as store:
        assert store.primary.execute(counts).get == (1, 1)
        assert call_command(*command).code == 0
        assert store.primary.execute(counts).get == (1, 0)


def nameless_files() -> set[str]:
    """The open files of this process that never had a name, or only a temporary one of SQLite's."""
    found: set[str] = set()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            path = os.readlink(f"/proc/self/fd/{name}")
            if os.path.basename(path).startswith(("#", "etilqs_")):
                found.add(path)
    return found


@contextlib.contextmanager
def folders_of_temporary_files() -> Generator[set[str], None, None]:
    """The folders in which SQLite makes temporary files."""
    seen: set[str] = set()
    is_over = threading.Event()
    before = nameless_files()  # pytest has some

    def look() -> None:
        while not is_over.is_set():
            seen.update(os.path.dirname(path) for path in nameless_files() - before)
            time.sleep(0.001)

    other = threading.Thread(target=look)
    other.start()
    try:
        yield seen
    finally:
        is_over.set()
        other.join()


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="the system does not show open files")
def test_what_sqlite_writes_for_a_moment_lies_in_the_folder_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with make_store(tmp_path) as store:
        folder = store.location.folder
        with store.write() as change:
            change.connection.executemany(
                "INSERT INTO settings (key, value) VALUES (?, ?)",
                ((f"k{n}", f"{n % 977}" * 500) for n in range(20_000)),
            )
        with make_store(tmp_path / "other"), folders_of_temporary_files() as seen:
            assert erase(store)
        assert seen == {folder}
        with make_store(tmp_path / "other") as other, folders_of_temporary_files() as seen:
            sort = "SELECT count(*) FROM (SELECT value FROM s.settings ORDER BY value LIMIT 100000)"
            other.primary.execute("ATTACH ? AS s", (store.location.primary,))
            other.primary.execute(sort).fetchall()
            assert seen <= {other.location.folder}
    assert "SQLITE_TMPDIR" not in os.environ  # which the commands of `error run` would get
    assert not [name for name in os.listdir(folder) if name.startswith("etilqs")]


def test_a_full_temporary_disk_is_named_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that is asked for a store that cannot be written; any other store's temporary files are its own."""
    system_access = os.access
    monkeypatch.setenv("SQLITE_TMPDIR", "/var/tmp")
    full = os.statvfs_result((0,) * 11)
    monkeypatch.setattr(os, "statvfs", {"/var/tmp": full}.__getitem__)
    what = str(tmp_path / "ctxrank.db")
    assert translate(apsw.FullError(), what).message == f"The disk that holds {what} is full."

    def access(path: str, mode: int) -> bool:
        return path != str(tmp_path) and system_access(path, mode)

    monkeypatch.setattr(os, "access", access)
    error = translate(apsw.FullError(), what)
    assert (error.exit_code, error.message) == (6, "The disk for temporary files, /var/tmp, is full.")

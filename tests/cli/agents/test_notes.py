"""Notes become findings at a stop, whatever has read their files before, and each content once."""

import contextlib
import importlib.util
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from builders import answer_of, make_store
from git_tree import git
from runner_events import Runner

from ctxrank.cli.agents import new_notes, notes
from ctxrank.cli.agents.log import last_failures
from ctxrank.cli.main import run
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.opening import open_project_store
from ctxrank.indexer.privacy.retention import prune_older
from ctxrank.indexer.records.packages import save_package
from ctxrank.indexer.store.connection import read_column, read_value

_NOTE = "---\nctxrank:\n  type: decisions\n  summary: {}\n---\n# The queue\n\nIt stays in one file.\n"
_LIMIT_S = 30.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_store(tmp_path).close()
    (tmp_path / "notes").mkdir()
    return tmp_path


def _write(folder: Path, summary: str, name: str = "a.md") -> Path:
    note = folder / "notes" / name
    note.write_text(_NOTE.format(summary))
    return note


def _packages(folder: Path) -> Sequence[tuple[object, ...]]:
    with open_project_store(str(folder)) as store:
        return store.primary.execute("SELECT path, version, summary FROM packages ORDER BY id").fetchall()


def _current(folder: Path) -> list[str]:
    with open_project_store(str(folder)) as store:
        query = "SELECT summary FROM packages WHERE superseded_by IS NULL ORDER BY id"
        return read_column(store.primary, query, (), str)


def _is_read(folder: Path, size_bytes: int) -> bool:
    with open_project_store(str(folder)) as store:
        query = "SELECT size_bytes FROM artifacts WHERE path = 'notes/a.md'"
        return read_value(store.primary, query, (), int) == size_bytes


def _watched(*command: str) -> Callable[[Path], None]:
    """Let a process that watches a folder read the note, and end it."""

    def read(folder: Path) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "ctxrank.cli", *command], cwd=folder, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            ends = time.monotonic() + _LIMIT_S
            note = (folder / "notes" / "a.md").read_text()
            while not any(str(summary) in note for _, _, summary in _packages(folder)):
                assert process.poll() is None and time.monotonic() < ends, f"{command} did not read the note"
                time.sleep(0.05)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(_LIMIT_S)

    return read


def _asked(*command: str) -> Callable[[Path], None]:
    """Let a command read the note."""

    def read(folder: Path) -> None:
        assert answer_of(lambda: run(["--db", str(folder / ".ctxrank"), *command])).code in (0, 1)
        assert _is_read(folder, (folder / "notes" / "a.md").stat().st_size)

    return read


def _needs(module: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"{module} is not installed")


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(_asked("index"), id="index"),
        pytest.param(_asked("search", "--fresh", "queue"), id="search --fresh"),
        pytest.param(_watched("index", "--watch"), id="index --watch", marks=_needs("watchfiles")),
        pytest.param(
            _watched("serve", "--watch", "--port", "0"), id="serve --watch",
            marks=[_needs("watchfiles"), _needs("mcp"), pytest.mark.slow],
        ),
    ],
)  # fmt: skip
def test_a_note_that_was_read_before_the_stop_becomes_a_finding_once(
    folder: Path, read: Callable[[Path], None]
) -> None:
    runner = Runner(folder)
    first, second = ("notes/a.md", 1, "It stays."), ("notes/a.md", 2, "It moves to a server.")
    _write(folder, "It stays.")
    read(folder)
    for _ in range(2):
        assert _packages(folder) == [first]
        runner.stops("")
    _write(folder, "It moves to a server.")
    read(folder)
    for _ in range(2):
        runner.stops("")
        assert _packages(folder) == [first, second]


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("# Queue\n\nIt stays.\n", "It stays."),
        ("# Queue\n", "Queue"),
        ("It stays.\n", "It stays."),
        (" \n\n", None),
    ],
)
def test_a_note_without_front_matter_is_saved_by_its_heading_or_its_first_sentence(
    folder: Path, text: str, summary: str | None
) -> None:
    (folder / "notes").mkdir(exist_ok=True)
    (folder / "notes" / "a.md").write_text(text)
    Runner(folder).stops("")
    assert [found[2] for found in _packages(folder)] == ([] if summary is None else [summary])


def test_of_two_that_read_a_note_at_once_one_makes_a_finding(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner, others = Runner(folder), [Runner(folder, "other")]
    _write(folder, "It stays.")

    def saved_later(*given: Any, **named: Any) -> Any:
        if others:
            others.pop().stops("")
        return save_package(*given, **named)

    monkeypatch.setattr(notes, "save_package", saved_later)
    for _ in range(2):
        runner.stops("")
        assert _packages(folder) == [("notes/a.md", 1, "It stays.")]


def test_a_process_that_ends_while_it_takes_a_note_in_leaves_all_of_it_to_the_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(*_: object) -> None:
        raise SystemExit

    _write(folder, "It stays.")
    with monkeypatch.context() as patched, contextlib.suppress(SystemExit):
        patched.setattr(notes, "write_entry", ends)
        Runner(folder).stops("")
    assert _packages(folder) == []
    Runner(folder, "other").stops("")
    assert _packages(folder) == [("notes/a.md", 1, "It stays.")]


def test_a_note_that_goes_back_to_what_it_said_is_the_next_version(folder: Path) -> None:
    runner = Runner(folder)
    for summary in ("One file.", "A server.", "One file."):
        _write(folder, summary)
        runner.stops("")
    assert [package[1:] for package in _packages(folder)] == [(1, "One file."), (2, "A server."), (3, "One file.")]


def test_a_note_that_was_saved_by_hand_is_not_saved_again(folder: Path) -> None:
    _write(folder, "One file.")
    words = (
        "--session",
        "S",
        "--create-session",
        "--type",
        "research",
        "--producer",
        "developer",
        "--summary",
        "Mine.",
    )
    _asked("package", "save", "notes/a.md", *words)(folder)
    Runner(folder).stops("")
    assert [package[2] for package in _packages(folder)] == ["Mine."]
    _write(folder, "A server.")
    _asked("index")(folder)
    Runner(folder).stops("")
    assert [package[2] for package in _packages(folder)] == ["Mine.", "A server."]


@pytest.mark.parametrize("is_touched", [False, True])
def test_a_finding_that_another_one_has_replaced_does_not_come_back_with_its_note(
    folder: Path, is_touched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    names = ["notes/old.md", "notes/new.md"]
    for name in names:
        (folder / name).write_text(f"# {name}\n\nThe queue is in one file.\n")
        assert run(["save", name, "--session", "S"]) == 0
    assert run(["package", "supersede", "1", "--by", "2"]) == 0
    if is_touched:  # as by a checkout of another branch and back
        (folder / names[0]).touch()
    assert "old.md" not in Runner(folder).hears("SessionStart", source="startup")
    assert [path for path, *_ in _packages(folder)] == names


def test_what_is_saved_by_hand_takes_the_place_of_what_its_note_was_read_as(folder: Path) -> None:
    _write(folder, "It stays.")
    (folder / "notes" / "b.md").write_text("# Cache\n\nIt is warmed at night.\n", encoding="utf-8")
    _asked("index")(folder)
    for name, *group in (("a", "--group", "Q"), ("b",)):
        words = ("--session", "by hand", "--create-session", "--type", "research", "--producer", "developer")
        _asked("package", "save", f"notes/{name}.md", *words, "--summary", f"Mine: {name}.", *group)(folder)
    _asked("index")(folder)
    with open_project_store(str(folder)) as store:
        query = "SELECT summary, priority FROM packages WHERE superseded_by IS NULL ORDER BY id"
        assert store.primary.execute(query).fetchall() == [("Mine: a.", "medium"), ("Mine: b.", "medium")]


def test_a_note_that_moves_stays_the_same_finding(folder: Path) -> None:
    note = _write(folder, "One file.")
    Runner(folder).stops("")
    note.rename(folder / "notes" / "b.md")
    for _ in range(2):
        Runner(folder).stops("")
    assert _packages(folder) == [("notes/b.md", 1, "One file.")]


def test_a_finding_that_was_pruned_does_not_come_back_with_its_note(folder: Path) -> None:
    _write(folder, "One file.")
    Runner(folder).stops("")
    with open_project_store(str(folder)) as store:
        prune_older(store, now_us() + 1)
    Runner(folder).stops("")
    assert _packages(folder) == []


def test_a_note_of_a_linked_worktree_is_saved_once(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    worktree = tmp_path_factory.mktemp("worktree")
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "a")
    git(folder, "worktree", "add", "-q", str(worktree / "w"))
    (worktree / "w" / "notes").mkdir()
    _write(worktree / "w", "One file.")
    for _ in range(2):
        Runner(worktree / "w").stops("")
    assert [package[1] for package in _packages(folder)] == [1]


def test_a_note_of_another_worktree_replaces_no_finding_of_this_one(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    note, other = _write(folder, "It is one."), tmp_path_factory.mktemp("worktree") / "w"
    Runner(folder).stops("")
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "a")
    git(folder, "worktree", "add", "-q", "-b", "fix", str(other))
    (other / "notes").mkdir()
    _write(other, "It is two.")
    Runner(other, "two").stops("")
    assert _current(folder) == ["It is one.", "It is two."]
    git(folder, "worktree", "remove", "--force", str(other))
    note.write_text(_NOTE.format("It is three."))
    Runner(folder, "three").stops("")
    assert _current(folder) == ["It is two.", "It is three."]


@pytest.mark.parametrize("is_removed", [False, True])
def test_a_note_that_was_merged_is_one_finding(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, is_removed: bool
) -> None:
    other = tmp_path_factory.mktemp("worktree") / "w"
    _write(folder, "It is one.")
    Runner(folder).stops("")
    git(folder, "init", "-q")
    git(folder, "config", "user.email", "n@example.org")
    git(folder, "add", "notes")
    git(folder, "commit", "-q", "-m", "a")
    git(folder, "worktree", "add", "-q", "-b", "fix", str(other))
    _write(other, "It is two.")
    Runner(other, "two").stops("")
    git(other, "commit", "-q", "-a", "-m", "b")
    git(folder, "merge", "-q", "fix")
    if is_removed:
        git(folder, "worktree", "remove", "--force", str(other))
    Runner(folder, "three").says("SessionStart", source="startup")
    assert _current(folder) == ["It is two."]


def test_what_is_wrong_with_a_note_is_said_once_until_it_is_changed(folder: Path) -> None:
    note = _write(folder, "")
    for _ in range(2):
        Runner(folder).stops("")
    with open_project_store(str(folder)) as store:
        (failure,) = last_failures(store.location.primary)
    assert "The summary is empty" in failure
    note.write_text(_NOTE.format("One file."))
    Runner(folder).stops("")
    assert len(_packages(folder)) == 1


@pytest.mark.parametrize(
    "summary",
    ["Release: bump the version", "Fixes #42 and #43", "`index --watch` is late: see the log", "[AUTH] tokens expire"],
)
def test_a_summary_is_the_whole_line(folder: Path, summary: str) -> None:
    (folder / "notes" / "a.md").write_text(_NOTE.format(f"{summary}  # needed\n  group: QUEUE"))
    Runner(folder).stops("")
    assert _packages(folder) == [("notes/a.md", 1, summary)]
    with open_project_store(str(folder)) as store:
        assert read_value(store.primary, "SELECT name FROM groups", (), str) == "QUEUE"


def test_the_front_matter_of_a_note_is_no_passage_and_no_title(folder: Path) -> None:
    text = _NOTE.format("It stays. # why\n# not a title").replace("# The queue\n\n", "")
    (folder / "notes" / "a.md").write_text(text)
    (folder / "notes" / "plain.md").write_text("---\ntags: [walrus]\n---\nA page.\n")
    _asked("index")(folder)
    for _ in range(2):
        with open_project_store(str(folder)) as store:
            query = "SELECT body, start_line, end_line FROM documents WHERE kind = 'passage' AND path = 'notes/a.md'"
            assert store.primary.execute(query).fetchall() == [("It stays in one file.\n", 7, 7)]
            query = "SELECT title FROM documents WHERE path = 'notes/a.md' AND owner_id IS NULL"
            assert read_value(store.primary, query, (), str) == "a.md"
            query = "SELECT body FROM documents WHERE kind = 'passage' AND path = 'notes/plain.md'"
            assert "walrus" in str(read_value(store.primary, query, (), str))
        Runner(folder).stops("")


def test_a_note_is_for_somebody_where_its_front_matter_says_what_it_is(folder: Path) -> None:
    (folder / "notes" / "guessed.md").write_text("# Queue\n\nWe decided that it stays.\n")
    _write(folder, "It stays.", "told.md")
    Runner(folder).stops("")
    with open_project_store(str(folder)) as store:
        query = """
            SELECT path, EXISTS (SELECT 1 FROM package_consumers WHERE package_id = p.id) FROM packages AS p
             ORDER BY path
        """
        assert store.primary.execute(query).fetchall() == [("notes/guessed.md", 0), ("notes/told.md", 1)]


def test_a_run_of_index_takes_in_all_notes_and_a_stop_as_many_as_it_has_time_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_notes, "_MAX_FILES", 2)
    monkeypatch.setattr(notes, "_AT_ONCE", 3)
    for name in "abcdefgh":
        _write(folder, f"It is {name}.", f"{name}.md")
    Runner(folder).stops("")
    assert len(_packages(folder)) == 2
    _asked("index")(folder)
    assert [package[2] for package in _packages(folder)] == [f"It is {name}." for name in "abcdefgh"]

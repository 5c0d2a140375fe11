"""The road of a note: written in one checkout, committed by another, found in a clone at the first prompt."""

import os
from pathlib import Path

import pytest
from builders import answer_of
from git_tree import git
from runner_events import Runner

from ctxrank.cli.main import run

_LOCKS = """---
ctxrank:
  type: investigation
  priority: critical
  summary: A read that becomes a write fails at once in WAL mode.
---
# Why the queue stops

Workers fail with "database is locked". BEGIN IMMEDIATE takes the lock before the first read.
"""
_TIDES = "# Departures at spring tide\n\nThe tide table is in UTC and the harbour clock is not. Add the zone.\n"


def _git(folder: Path, *words: str, user: str = "Ada Lovelace") -> None:
    git(folder, *words, name=user, email=f"{user.split()[0].lower()}@example.org")


def _ctxrank(folder: Path, *words: str) -> str:
    os.chdir(folder)
    answer = answer_of(lambda: run(list(words)))
    assert answer.code == 0, answer
    return answer.out


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of a repository with two notes of Ada's, by Grace, in which Claude Code calls the hook."""
    monkeypatch.chdir(tmp_path)
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    (origin / "notes").mkdir(parents=True)
    (origin / "notes" / "locks.md").write_text(_LOCKS)
    (origin / "notes" / "tides.md").write_text(_TIDES)
    _git(origin, "init", "-q")
    _git(origin, "add", ".")
    _git(origin, "commit", "-qm", "notes")
    _git(tmp_path, "clone", "-q", str(origin), str(clone))
    _git(clone, "config", "user.email", "grace@example.org")
    _ctxrank(clone, "init")
    _ctxrank(clone, "install", "claude-code", "--project")
    return clone


def test_the_first_session_in_a_clone_names_its_notes_and_answers_with_the_one_that_bears(clone: Path) -> None:
    runner = Runner(clone)
    started = runner.hears("SessionStart", source="startup")
    assert "notes/locks.md (package:1), which came with the repository: " in started and "by Ada Lovelace" in started
    assert "WAL" not in started and "UTC" not in started  # named, and no more
    said = runner.prompt("why do the workers fail with a locked database?")
    assert "**[HIGH]** notes/locks.md" in said and "by Ada Lovelace" in said and "tides" not in said
    said = runner.prompt("departures at spring tide are an hour early by the harbour clock")
    assert "**[LOW]** notes/tides.md" in said and "The tide table is in UTC" in said


def test_what_was_opened_here_is_news_like_any_other(clone: Path) -> None:
    Runner(clone).hears("SessionStart", source="startup")
    _ctxrank(clone, "show", "package:1")
    started = Runner(clone, "session-2").hears("SessionStart", source="startup")
    assert "**[HIGH]** notes/locks.md: A read that becomes a write fails at once" in started
    assert "notes/tides.md (package:2), which came" in started


def test_a_note_of_ones_own_is_ones_own(clone: Path) -> None:
    (clone / "notes" / "own.md").write_text(_LOCKS.replace("queue", "importer"))
    _git(clone, "add", ".")
    _git(clone, "commit", "-qm", "mine", user="Grace Hopper")
    _ctxrank(clone, "index")
    listed = _ctxrank(clone, "package", "list")
    assert "CRITICAL" in listed.upper() and "notes/own.md" in listed


@pytest.mark.parametrize("words", [("index",), ("search", "--fresh", "tide")])
def test_whoever_reads_a_note_first_makes_it_a_finding(clone: Path, words: tuple[str, ...]) -> None:
    _ctxrank(clone, *words)
    assert "notes/tides.md" in _ctxrank(clone, "package", "list")
    before = _ctxrank(clone, "package", "list")
    Runner(clone).stops("")
    assert _ctxrank(clone, "package", "list") == before


def _edit(clone: Path, text: str, *, user: str = "") -> None:
    """Let somebody change the note on locks, and commit it; without a name it is an edit that nobody committed."""
    (clone / "notes" / "locks.md").write_text(_LOCKS.replace("BEGIN IMMEDIATE", text))
    if user:
        _git(clone, "commit", "-qam", text, user=user)


def test_a_block_has_it_where_the_task_is_about_it_and_elsewhere_once_it_was_used(clone: Path) -> None:
    _ctxrank(clone, "index")
    session = _ctxrank(clone, "session", "list").split()[0]
    block = ("assemble", "--session", session, "--agent", "developer", "--no-mark")
    assert "locks.md" not in _ctxrank(clone, *block) + _ctxrank(clone, *block, "--task", "paint the harbour wall")
    receipt = _ctxrank(clone, "why", "package:1")
    assert "it came with the repository and was not used here" in receipt
    about = _ctxrank(clone, *block, "--task", "workers fail with a locked database")
    assert "**[HIGH]** notes/locks.md" in about and "came with the repository" in about and "Ada Lovelace" in about
    assert "locks.md" not in _ctxrank(clone, *block)  # that block was not marked
    runner = Runner(clone, session)
    assert "locks.md" in runner.prompt("why do the workers fail with a locked database?")
    assert "**[HIGH]** notes/locks.md" in _ctxrank(clone, *block)


def test_a_block_is_replayed_as_it_was_before_a_note_was_used(clone: Path) -> None:
    _ctxrank(clone, "index")
    session = _ctxrank(clone, "session", "list").split()[0]
    _ctxrank(clone, "assemble", "--session", session, "--agent", "developer")
    _ctxrank(clone, "show", "package:1")
    assert "the same bytes" in _ctxrank(clone, "receipt", "replay", "1")


def test_an_edit_makes_a_note_ones_own_and_a_commit_of_another_a_strangers_again(clone: Path) -> None:
    Runner(clone).hears("SessionStart", source="startup")
    _edit(clone, "A queue of one")
    started = Runner(clone, "session-2").hears("SessionStart", source="startup")
    assert "**[CRITICAL]** notes/locks.md: A read that becomes a write" in started and started.count("locks.md") == 1
    _edit(clone, "A lock of two", user="Ada Lovelace")
    started = Runner(clone, "session-3").hears("SessionStart", source="startup")
    assert "notes/locks.md (package:4), which came with the repository: " in started
    assert started.count("locks.md") == 1


def test_a_finding_of_any_session_can_replace_what_came_with_the_repository(clone: Path) -> None:
    Runner(clone).hears("SessionStart", source="startup")
    _ctxrank(clone, "save", "Locks are no reason: the disk was full.", "--session", "later")
    _ctxrank(clone, "package", "supersede", "1", "--by", "3")
    assert "locks.md" not in Runner(clone, "s-3").prompt("why do the workers fail with a locked database?")


def test_a_merge_of_ones_own_makes_no_note_of_another_ones_own(clone: Path) -> None:
    origin = clone.parent / "origin"
    _git(origin, "checkout", "-q", "-b", "request")
    (origin / "notes" / "merged.md").write_text(_LOCKS.replace("queue", "merge"))
    _git(origin, "add", ".")
    _git(origin, "commit", "-qm", "request", user="Eve Smith")
    (clone / "notes" / "own.md").write_text(_LOCKS.replace("queue", "importer"))
    _git(clone, "add", "notes")
    _git(clone, "commit", "-qm", "mine", user="Grace Hopper")
    _git(clone, "fetch", "-q")
    _git(clone, "merge", "-q", "--no-edit", "origin/request", user="Grace Hopper")
    started = Runner(clone).hears("SessionStart", source="startup")
    assert "notes/merged.md (package:" in started and "by Eve Smith" in started
    listed = _ctxrank(clone, "package", "list")
    assert "[critical] investigation · notes/own.md" in listed and "[high] investigation · notes/merged.md" in listed


def test_a_note_that_would_outlast_a_hook_is_left_to_an_index_run_and_hides_no_other(clone: Path) -> None:
    (clone / "notes" / "big.md").write_text("# Big\n\n" + "zebra lion\n" * 30_000)
    runner = Runner(clone)
    started = runner.hears("SessionStart", source="startup")
    assert "notes/locks.md (package:" in started and "big.md" not in _ctxrank(clone, "package", "list")
    _ctxrank(clone, "index")
    assert "big.md" in _ctxrank(clone, "package", "list")

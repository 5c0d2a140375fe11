"""Commands that failed and have not succeeded since: kept as at the first failure, with what ran since, for a time."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store
from tables import each_row

from ctxrank.indexer.errors import failed_commands
from ctxrank.indexer.errors.failed_commands import (
    KEPT_FOR_US,
    FailedCommand,
    TreeState,
    forget,
    note_ran,
    recall,
    remember,
    shown_command,
)
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.store import Change

NOW = 1_800_000_000_000_000
TREE = TreeState("c" * 40, ("größe.py", "gone.py"), ("gone.py",))
FAILED = FailedCommand("k", "make test", ".", "KeyError: 'a'", TREE, NOW)


@pytest.fixture
def change(tmp_path: Path) -> Iterator[Change]:
    with make_store(tmp_path) as store, store.write() as made:
        yield made


def test_a_failure_comes_back_as_it_was_until_the_command_succeeds(change: Change) -> None:
    assert recall(change.connection, "k", now=NOW) is None
    remember(change, FAILED)
    remember(change, FAILED._replace(key="other"))
    assert recall(change.connection, "k", now=NOW) == FAILED
    forget(change, "k")
    assert recall(change.connection, "k", now=NOW) is None
    assert recall(change.connection, "other", now=NOW) is not None


def test_the_same_failure_again_leaves_the_folder_as_it_was_at_the_first(change: Change) -> None:
    remember(change, FAILED)
    remember(change, FAILED._replace(tree=TreeState(), failed_at=NOW + 5))
    assert recall(change.connection, "k", now=NOW) == FAILED
    other = FAILED._replace(unit="KeyError: 'b'", tree=TreeState(), failed_at=NOW + 5)
    remember(change, other)
    assert recall(change.connection, "k", now=NOW) == other


@each_row("later_us, is_known", [(KEPT_FOR_US, True), (KEPT_FOR_US + 1, False)])
def test_what_did_not_succeed_in_two_weeks_was_given_up(change: Change, later_us: int, is_known: bool) -> None:
    remember(change, FAILED)
    assert (recall(change.connection, "k", now=NOW + later_us) is not None) is is_known
    remember(change, FAILED._replace(key="later", failed_at=NOW + later_us))
    keys = change.connection.execute("SELECT command_key FROM failed_commands ORDER BY id").fetchall()
    assert (("k",) in keys) is is_known
    assert KEPT_FOR_US == 14 * 24 * 3600 * 1_000_000
    forget(change, "later")


def test_what_was_given_up_and_fails_again_is_a_failure_of_now(change: Change) -> None:
    remember(change, FAILED)
    again = FAILED._replace(tree=TreeState(), failed_at=NOW + KEPT_FOR_US + 1)
    remember(change, again)
    assert recall(change.connection, "k", now=again.failed_at) == again


def test_of_many_commands_the_newest_are_kept(change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failed_commands, "_KEPT", 3)
    for key in "abcd":
        remember(change, FAILED._replace(key=key))
    assert [key for key in "abcd" if recall(change.connection, key, now=NOW)] == ["b", "c", "d"]


def test_the_last_commands_that_succeeded_since_are_kept_until_it_fails_as_before(change: Change) -> None:
    remember(change, FAILED)
    note_ran(change, "k", ["pip install a", "pip install b"])
    note_ran(change, "k", ["pip install b", "pip install größe", "pip install d"])
    assert recall(change.connection, "k", now=NOW) == FAILED._replace(
        ran=("pip install b", "pip install größe", "pip install d")
    )
    note_ran(change, "k", [])
    assert recall(change.connection, "k", now=NOW) == FAILED
    note_ran(change, "never", ["pip install a"])
    assert recall(change.connection, "never", now=NOW) is None


@each_row("length, shown", [(200, "x" * 200), (201, "x" * 200 + "…")])
def test_a_command_is_shown_up_to_a_length(length: int, shown: str) -> None:
    assert shown_command("x" * length, RedactionMode.PATTERN_ONLY) == shown


def test_a_command_is_shown_on_one_line_and_without_secrets() -> None:
    secret = "ghp" + "_" + "a1B2" * 9
    shown = shown_command(f"curl -H\n 'token: {secret}'\0", RedactionMode.PATTERN_ONLY)
    assert shown.startswith("curl -H 'token: ") and secret not in shown and shown.endswith("\ufffd")

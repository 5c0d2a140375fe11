"""A runner's session as a person reads it: titled once, ended when silent, going on with the next prompt."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store
from ranking_builders import think

from ctxrank.indexer.clock import DAY_US, format_day, now_us
from ctxrank.indexer.errors.failures import see, sighting_of
from ctxrank.indexer.errors.solutions import NewKnownError, save_error
from ctxrank.indexer.records.conversations import (
    MAX_CHANGED,
    Conversation,
    ConversationFailure,
    needs_note,
    note_changed,
    note_end,
    note_prompt,
    read_conversation,
)
from ctxrank.indexer.records.events import record_event
from ctxrank.indexer.records.sessions import NewSession, create_session, find_session, session_of_today
from ctxrank.indexer.store.store import Store

DISK_FULL = "OSError: [Errno 28] No space left on device"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


def test_a_session_is_titled_by_its_first_prompt_and_keeps_what_it_was_made_with(store: Store) -> None:
    assert needs_note(store.primary, "S")
    note_prompt(store, NewSession("S", metadata='{"runner": "mine"}'), "codex", "größer machen")
    assert not needs_note(store.primary, "S")
    note_prompt(store, NewSession("S"), "codex", "another")
    query = "SELECT metadata ->> 'title', metadata ->> 'runner', instr(metadata, 'größer') > 0 FROM sessions"
    assert store.primary.execute(query).fetchall() == [("größer machen", "mine", 1)]


def test_a_session_that_had_ended_goes_on_with_the_next_prompt(store: Store) -> None:
    note_prompt(store, NewSession("S"), "codex", "one")
    note_end(store, "S")
    assert find_session(store.primary, "S").status == "completed" and needs_note(store.primary, "S")
    note_prompt(store, NewSession("S"), "codex", "two")
    found = find_session(store.primary, "S")
    assert (found.status, found.ended_at) == ("active", None) and not needs_note(store.primary, "S")


def test_the_end_of_a_session_that_nobody_made_is_nothing(store: Store) -> None:
    note_end(store, "never")
    assert needs_note(store.primary, "never")


@pytest.mark.parametrize(("hours", "status"), [(7 * 24 - 1, "active"), (7 * 24 + 1, "completed")])
def test_a_new_session_ends_those_that_were_silent_for_a_week(store: Store, hours: int, status: str) -> None:
    old, heard = now_us() - 30 * DAY_US, now_us() - hours * DAY_US // 24
    with store.write() as change:
        create_session(change, NewSession("S", created_at=old, metadata='{"runner": "codex"}'))
        create_session(change, NewSession("own", created_at=old))  # no runner's: a person ends it
        event = record_event(change, 1, None, "x", "{}")
        change.connection.execute("UPDATE events SET created_at = ? WHERE id = ?", (heard, event.id))
    note_prompt(store, NewSession("T"), "codex", "two")
    found = find_session(store.primary, "S")
    assert (found.status, found.ended_at) == (status, None if status == "active" else heard)
    assert [find_session(store.primary, name).status for name in ("own", "T")] == ["active", "active"]


def test_the_files_changed_are_kept_once_in_order_and_not_beyond_a_number(store: Store) -> None:
    note_prompt(store, NewSession("S"), "codex", "one")
    with store.write() as change:
        note_changed(change, 1, ["b", "ä", "b"])
        note_changed(change, 1, ["a", "b"])
        assert read_conversation(store.primary, 1).changed == ("b", "ä", "a")
        note_changed(change, 1, [str(number) for number in range(MAX_CHANGED)])
    changed = read_conversation(store.primary, 1).changed
    metadata = store.primary.execute("SELECT metadata FROM sessions").get
    assert '"ä"' in metadata, "as it is written, so that a purge finds it"
    assert (len(changed), changed[-1]) == (MAX_CHANGED, str(MAX_CHANGED - 4))
    assert find_session(store.primary, "S").title == "one"


def test_the_session_of_today_is_the_newest_where_it_is_active_and_began_today(store: Store) -> None:
    today = format_day(now_us())
    assert session_of_today(store.primary) == today
    for name, age_days, wanted in (("old", 2, today), ("new", 0, "new"), ("older", 3, "new")):
        with store.write() as change:
            create_session(change, NewSession(name, created_at=now_us() - age_days * DAY_US))
        assert session_of_today(store.primary) == wanted
    note_end(store, "new")
    assert session_of_today(store.primary) == today


@pytest.mark.parametrize("metadata", ["[]", "{}", '{"changed": "b"}'])
def test_metadata_that_a_person_wrote_names_no_changed_files(store: Store, metadata: str) -> None:
    with store.write() as change:
        create_session(change, NewSession("S", metadata=metadata))
    assert read_conversation(store.primary, 1) == Conversation((), (), ())


def test_what_came_of_a_session_is_its_failures_with_what_ended_them_and_its_decisions(store: Store) -> None:
    think(store, "developer", "decisions", "take the smaller one", group=None)
    think(store, "developer", "approach", "read it first", group=None)
    think(store, "developer", "decisions", "of another", session="T", group=None)
    save_error(store, NewKnownError(DISK_FULL, "Free some."))
    with store.write() as change:
        for seen_at, resolved_at in ((3, 4), (2, None)):
            sighting = sighting_of(DISK_FULL, seen_at, resolved_at)
            assert sighting is not None
            see(change, 1, 0, sighting, None)
    assert read_conversation(store.primary, 1) == Conversation(
        (),
        (ConversationFailure(DISK_FULL, 2, None, ""), ConversationFailure(DISK_FULL, 3, 4, "Free some.")),
        ("take the smaller one",),
    )

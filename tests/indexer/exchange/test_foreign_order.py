"""Ids of records that another store made are below zero and fall: what is newest is asked of their times."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import answer_of, make_store
from exported import bring, elsewhere, exported_bytes
from written import Reasoning, write

from ctxrank.cli.main import run
from ctxrank.indexer.agents import UNCONFIRMED
from ctxrank.indexer.clock import DAY_US, format_us, now_us
from ctxrank.indexer.errors import failures
from ctxrank.indexer.errors.failures import FailurePlace, Sighting, record_failure, see, sighting_of
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.signature import sign
from ctxrank.indexer.errors.solutions import NewKnownError, save_error
from ctxrank.indexer.privacy import retention
from ctxrank.indexer.records import injections
from ctxrank.indexer.records.events import StoredEvent, record_event
from ctxrank.indexer.records.injections import Injection, injected_lines, line_digest, list_injections, note_injection
from ctxrank.indexer.records.related import read_related
from ctxrank.indexer.records.sessions import NewSession, create_session
from ctxrank.indexer.store.ids import DocumentRef
from ctxrank.indexer.store.rows import list_where
from ctxrank.indexer.store.store import Change, Store

NOW = now_us()
COUNT = 4
LINE = "The worker of line number {} is emptied before its queue is closed."
FAILURE = "error: the lockfile of 'shop' cannot be read by this version"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Four of each, a second apart, the first the oldest."""
    with make_store(tmp_path / "there") as made:
        error = save_error(made, NewKnownError(FAILURE, "Upgrade it.")).id
        with made.write() as change:
            session = create_session(change, NewSession("S", created_at=NOW - DAY_US))
            for number in range(COUNT):
                _one_of_each(change, session, error, number)
        yield made


def _one_of_each(change: Change, session: int, error: int, number: int) -> None:
    at = NOW - (COUNT - number) * 1_000_000
    record_event(change, session, None, "note", json.dumps({"number": number}))
    injection = Injection("SessionStart", (f"package:{number}",), 1, 1)
    note_injection(change, session, None, injection, LINE.format(number))
    change.connection.execute("UPDATE events SET created_at = ? WHERE created_at > ?", (at, NOW))
    sighting = sighting_of(FAILURE, at, None)
    assert sighting is not None
    see(change, session, 0, sighting, error)
    entry = Reasoning(session, None, "developer", "decisions", f"Thought {number}.", at, agent_name=UNCONFIRMED)
    write(change, entry)


@pytest.mark.needs("links")
@pytest.mark.parametrize("is_imported", [False, True])
def test_lists_have_the_newest_first(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_imported: bool
) -> None:
    falling = list(range(COUNT))[::-1]
    folder = tmp_path / "here"
    with elsewhere(store, folder) as other:
        asked = other if is_imported else store
        events = list_where(asked.primary, "events", StoredEvent, {"session": "S", "subtype": "note"})
        notes = [json.loads(event.payload)["number"] for event in events]
        assert notes == falling
        listed = list_injections(asked.primary, "S", COUNT)
        assert [one.injection.ids for one in listed] == [(f"package:{number}",) for number in falling]
        error = int(asked.primary.execute("SELECT id FROM error_patterns").get)
        sightings = read_related(asked.primary, DocumentRef("error", error))["sightings"]
        assert [one["seen_at"] for one in sightings] == [
            format_us(NOW - (COUNT - number) * 1_000_000) for number in falling
        ]
        monkeypatch.setattr(injections, "_INJECTIONS_COMPARED", 2)
        assert injected_lines(asked.primary) == {line_digest(LINE.format(3)), line_digest(LINE.format(2))}
        home = asked.location.project
    monkeypatch.chdir(home)
    answer = answer_of(lambda: run(["bazinga", "get-events", "S", "note"]))
    assert [json.loads(one["event_payload"])["number"] for one in json.loads(answer.out)] == falling


def test_of_what_was_kept_unasked_elsewhere_the_newest_stays(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with elsewhere(store, tmp_path / "here") as other:
        assert retention.prune_unconfirmed(other) == 0
        monkeypatch.setattr(retention, "MAX_UNCONFIRMED", 2)
        assert retention.prune_unconfirmed(other) == 2
        left = {str(row[0]) for row in other.primary.execute("SELECT content FROM reasoning")}
    assert left == {"Thought 2.", "Thought 3."}


def test_of_failures_seen_here_and_elsewhere_the_newest_stay(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures, "_KEPT_OF_A_SESSION", 2)
    unit = error_units("error: something else")[0]
    with elsewhere(store, tmp_path / "here") as other:
        bring(other, exported_bytes(store))
        record_failure(other, FailurePlace("S", None), Sighting(sign(unit), unit.text, now_us()), None)
        left = [int(row[0]) for row in other.primary.execute("SELECT seen_at FROM error_sightings ORDER BY seen_at")]
    assert left[0] == NOW - 1_000_000 and left[1] > NOW

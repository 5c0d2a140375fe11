"""Lines that say less or more than an export does: rows of another program's store, read as lines."""

import contextlib
import json
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from builders import make_store
from exported import ISO, as_bytes, bring

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exchange import import_lines
from ctxrank.indexer.exchange.run import ImportReport
from ctxrank.indexer.fulltext.background import BackgroundIndexer, background_indexer
from ctxrank.indexer.fulltext.fts5_engine import index_of
from ctxrank.indexer.privacy.purge import forget_document
from ctxrank.indexer.records.packages import consume, consumers_of, get_package
from ctxrank.indexer.records.sessions import find_session
from ctxrank.indexer.store.config import IMPORTED_SKILLS_CONFIG
from ctxrank.indexer.store.ids import DocumentRef
from ctxrank.indexer.store.store import Store

HEADER = {"format": "ctxrank-export", "version": 1, "store": "another", "exported_at": ISO, "ruleset": 1}
SESSION = {"record": "session", "name": "S", "created_at": ISO}
PACKAGE = {
    "record": "package", "id": 7, "session": "S", "group": "G", "type": "research", "path": "a.md",
    "producer": "developer", "scope": "group", "summary": "A zebra.", "created_at": ISO,
}  # fmt: skip
CONSUMER = {"record": "consumer", "id": 1, "package": 7, "agent": "developer", "iteration": None, "consumed_at": None}
DELIVERY = {
    "record": "delivery", "package": 7, "session": "S", "group": "G", "agent": "developer", "iteration": 2,
    "delivered_at": ISO,
}  # fmt: skip
THOUGHT = {
    "record": "reasoning", "id": 3, "session": "S", "agent": "developer", "phase": "risks", "content": "A heron.",
    "created_at": ISO,
}  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


def import_of(store: Store, *lines: object) -> ImportReport:
    """An import of these lines behind a header."""
    return bring(store, as_bytes(HEADER, *lines, {"record": "end", "counts": {}}))


def changed(report: ImportReport) -> dict[str, tuple[int, int]]:
    """New and updated rows by kind, where there are any."""
    return {kind: (count.new, count.updated) for kind, count in report.counts.items() if count.new or count.updated}


def test_consumers_and_deliveries_come_as_lines_of_their_own(store: Store) -> None:
    taken = {**CONSUMER, "id": 2, "agent": "tech_lead", "iteration": 3, "consumed_at": ISO}
    lines = (SESSION, PACKAGE, CONSUMER, taken, DELIVERY)
    kinds = {"session": (1, 0), "package": (1, 0), "consumer": (2, 0), "delivery": (1, 0)}
    assert changed(import_of(store, *lines)) == kinds
    assert [consumer[:2] for consumer in consumers_of(store.primary, 1)] == [("developer", None), ("tech_lead", 3)]
    assert list(store.primary.execute("SELECT package_id, agent, iteration FROM deliveries")) == [(1, "developer", 2)]
    assert import_of(store, *lines).is_noop
    assert changed(import_of(store, *lines, {**CONSUMER, "id": 4})) == {"consumer": (1, 0)}


def test_what_was_taken_here_stays_taken(store: Store) -> None:
    import_of(store, SESSION, PACKAGE, CONSUMER)
    consume(store, 1, "developer", iteration=5)
    changed_there = {**CONSUMER, "iteration": 1, "consumed_at": ISO}
    assert import_of(store, SESSION, PACKAGE, changed_there).is_noop
    assert consumers_of(store.primary, 1)[0].iteration == 5


def test_a_later_delivery_of_the_same_is_kept(store: Store) -> None:
    import_of(store, SESSION, PACKAGE, DELIVERY)
    later = "2024-01-01T00:00:00Z"
    assert changed(import_of(store, SESSION, PACKAGE, {**DELIVERY, "delivered_at": later})) == {"delivery": (0, 1)}
    assert import_of(store, SESSION, PACKAGE, {**DELIVERY, "delivered_at": "2020-01-01T00:00:00Z"}).is_noop


def test_what_belongs_to_no_package_is_named(store: Store) -> None:
    report = import_of(
        store, SESSION, CONSUMER, {**DELIVERY, "package": 8}, {**CONSUMER, "package": "x"},
        {**PACKAGE, "type": " "}, {**CONSUMER, "id": 5},
    )  # fmt: skip
    assert [(row.kind, row.key, row.reason) for row in report.skipped if row.kind != "package"] == [
        ("consumer", "line 3", "its package 7 is not there"),
        ("delivery", "line 4", "its package 8 is not there"),
        ("consumer", "line 5", "its 'package' is 'x', not a whole number from 1"),
        ("consumer", "line 7", "its package 7 was not imported"),
    ]


def test_a_package_may_know_only_what_it_replaces(store: Store) -> None:
    newer = {**PACKAGE, "id": 5, "path": "b.md", "supersedes": 7}
    stray = {**PACKAGE, "id": 9, "path": "c.md", "supersedes": 77}
    report = import_of(store, SESSION, newer, PACKAGE, stray)
    assert (get_package(store.primary, 1).supersedes, get_package(store.primary, 2).superseded_by) == (2, 1)
    assert [(row.kind, row.key) for row in report.skipped] == [("supersession", "line 5")]
    assert import_of(store, SESSION, newer, PACKAGE).is_noop


def test_a_time_of_null_is_the_present_and_stays_what_it_was(store: Store) -> None:
    before = now_us()
    lines = ({**SESSION, "created_at": None}, {**PACKAGE, "created_at": None}, {**THOUGHT, "created_at": None})
    import_of(store, *lines)
    moments = list(store.primary.execute("SELECT created_at FROM sessions UNION ALL SELECT created_at FROM reasoning"))
    assert all(before <= moment <= now_us() for (moment,) in moments)
    assert get_package(store.primary, 1).created_at >= before
    assert import_of(store, *lines).is_noop


def test_a_session_that_says_nothing_of_skills_leaves_them_as_they_are(store: Store) -> None:
    import_of(store, SESSION)
    config = '{"developer":{"lint-check":"mandatory"}}'
    with store.write() as change:
        change.connection.execute("UPDATE sessions SET skills_config = ?", (config,))
    import_of(store, {**SESSION, "status": "completed"})
    query = "SELECT skills_config FROM sessions"
    assert (find_session(store.primary, "S").status, store.primary.execute(query).get) == ("completed", config)
    import_of(store, {**SESSION, "status": "failed", "skills_config": None})
    assert store.primary.execute(query).get is None


def test_a_package_that_says_nothing_of_passages_keeps_those_that_are_here(store: Store) -> None:
    passage = {"key": "k", "title": "", "text": "The gateway throttles by tenant.", "start_line": 1, "end_line": 1}
    import_of(store, SESSION, {**PACKAGE, "passages": [passage]})
    third = {**HEADER, "store": "third"}
    assert bring(store, as_bytes(third, SESSION, PACKAGE)).is_noop
    assert changed(bring(store, as_bytes(third, SESSION, {**PACKAGE, "priority": "low"}))) == {"package": (0, 1)}
    query = "SELECT body, priority FROM documents WHERE kind = 'passage'"
    assert list(store.primary.execute(query)) == [("The gateway throttles by tenant.", "low")]


def test_a_group_that_was_made_for_a_record_is_filled_in(store: Store) -> None:
    import_of(store, SESSION, {**THOUGHT, "group": "G"})
    group = {"record": "group", "session": "S", "name": "G", "title": "Sign-in", "created_at": ISO}
    assert changed(import_of(store, SESSION, group)) == {"group": (1, 0)}
    assert changed(bring(store, as_bytes({**HEADER, "store": "third"}, SESSION, {**group, "title": "Other"}))) == {}
    assert store.primary.execute("SELECT title FROM groups").get == "Sign-in"


def test_reasoning_that_is_redacted_on_the_way_in_says_so(store: Store) -> None:
    secret = "ghp" + "_" + "a1B2" * 9
    import_of(store, SESSION, THOUGHT, {**THOUGHT, "id": 4, "content": f"The token is {secret}."})
    assert list(store.primary.execute("SELECT redacted FROM reasoning ORDER BY id")) == [(0,), (1,)]


def test_a_setting_comes_in_if_it_is_one_that_may(store: Store) -> None:
    setting = {"record": "setting", "name": IMPORTED_SKILLS_CONFIG, "value": {"developer": {"lint": "optional"}}}
    report = import_of(
        store, setting, {**setting, "name": "user_rules"}, {"record": "setting", "name": setting["name"]}
    )
    assert [row.key for row in report.skipped] == ["line 3", "line 4"]
    settings = list(store.primary.execute("SELECT key, value FROM settings"))
    assert [(key, json.loads(str(value))) for key, value in settings] == [(IMPORTED_SKILLS_CONFIG, setting["value"])]
    assert import_of(store, setting).is_noop


def test_of_two_events_with_one_key_the_first_stays(store: Store) -> None:
    event = {
        "record": "event", "id": 1, "session": "S", "subtype": "note", "idempotency_key": "k", "payload": {"a": 1},
        "created_at": ISO,
    }  # fmt: skip
    report = import_of(store, SESSION, event, {**event, "id": 2, "payload": {"a": 2}})
    assert [row.reason for row in report.skipped] == ["another event has its idempotency key"]
    revised = {**event, "payload": {"a": 3}, "subtype": "of another kind", "group": "G"}
    assert changed(import_of(store, SESSION, revised)) == {"event": (0, 1)}
    rows = store.primary.execute("SELECT subtype, group_id, payload FROM events").get
    assert rows == ("note", 0, '{"a": 3}')


def test_a_purged_text_does_not_come_in_with_a_line_that_was_edited(store: Store) -> None:
    other = {**THOUGHT, "id": 4, "content": "A zebra."}
    import_of(store, SESSION, THOUGHT, other)
    forget_document(store, DocumentRef("reasoning", 2))
    report = import_of(store, SESSION, {**THOUGHT, "content": "A zebra."})
    assert [row.reason for row in report.skipped] == ["The reasoning of this text was purged: it is not stored again."]
    assert store.primary.execute("SELECT content FROM reasoning").get == "A heron."


def test_events_without_a_key_are_known_by_their_moment_and_what_they_say(store: Store) -> None:
    event = {"record": "event", "id": 1, "session": "S", "subtype": "note", "payload": {"a": 1}, "created_at": ISO}
    import_of(store, SESSION, event)
    theirs = as_bytes({**HEADER, "store": "b"}, SESSION, {**event, "id": 2, "payload": {"a": 2}}, event)
    assert bring(store, theirs).counts["event"] == (1, 0, 1)
    payloads = store.primary.execute("SELECT payload FROM events ORDER BY id")
    assert [json.loads(str(payload)) for (payload,) in payloads] == [{"a": 1}, {"a": 2}]


def test_of_a_strategy_that_two_stores_have_the_one_seen_last_is_kept(store: Store) -> None:
    older = {
        "record": "strategy", "name": "n", "project": "p", "topic": "general", "insight": "Test.", "last_seen": ISO,
        "created_at": ISO,
    }  # fmt: skip
    newer = {**older, "insight": "Test first.", "last_seen": "2023-11-15T00:00:00Z"}
    for name, line, counts in (("a", older, (1, 0, 0)), ("b", newer, (1, 0, 0)), ("c", older, (0, 0, 1))):
        assert bring(store, as_bytes({**HEADER, "store": name}, line)).counts["strategy"] == counts
    assert store.primary.execute("SELECT insight FROM strategies").get == "Test first."


def test_the_index_follows_a_large_import_in_a_second_process(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    applied: list[int] = []

    @contextlib.contextmanager
    def watched(of: Store) -> Generator[BackgroundIndexer | None, None, None]:
        with background_indexer(of) as other:
            yield other
        applied.append(index_of(of).state().documents)

    monkeypatch.setattr(import_lines, "_FOLLOWED_LINES", 1)
    monkeypatch.setattr(import_lines, "background_indexer", watched)
    monkeypatch.setattr("ctxrank.indexer.fulltext.background.cores", lambda: 2)
    import_of(store, SESSION, PACKAGE, THOUGHT)
    assert applied == [2]
    assert store.catch_up() == 0

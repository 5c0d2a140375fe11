"""Lines that say less or more than an export does, or what another line said."""

import contextlib
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from builders import make_store
from exported import ANOTHER, ISO, THIRD, bring, export_of, exported, exported_bytes, fill, row_of
from tables import each_row

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exchange import import_lines
from ctxrank.indexer.exchange.merge import exported_name
from ctxrank.indexer.exchange.run import ImportReport
from ctxrank.indexer.fulltext.background import Notify, background_indexer
from ctxrank.indexer.fulltext.fts5_engine import index_of
from ctxrank.indexer.privacy.purge import forget_document
from ctxrank.indexer.records.packages import get_package
from ctxrank.indexer.records.sessions import NewSession, create_session
from ctxrank.indexer.store.ids import DocumentRef
from ctxrank.indexer.store.store import Store

SESSION = {"record": "session", "name": "S", "created_at": ISO}
PACKAGE = {
    "record": "package", "id": 7, "session": "S", "group": "G", "type": "research", "path": "a.md",
    "producer": "developer", "priority": "high", "scope": "group", "summary": "A zebra.", "created_at": ISO,
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
    return bring(store, export_of(*lines, {"record": "end", "counts": {}}))


def changed(report: ImportReport) -> dict[str, tuple[int, int]]:
    """New and updated rows by kind, where there are any."""
    return {kind: (count.new, count.updated) for kind, count in report.counts.items() if count.new or count.updated}


def test_a_time_of_null_is_the_present_and_stays_what_it_was(store: Store) -> None:
    before = now_us()
    lines = ({**SESSION, "created_at": None}, {**PACKAGE, "created_at": None}, {**THOUGHT, "created_at": None})
    import_of(store, *lines)
    moments = list(store.primary.execute("SELECT created_at FROM sessions UNION ALL SELECT created_at FROM reasoning"))
    assert all(before <= moment <= now_us() for (moment,) in moments)
    assert get_package(store.primary, row_of(7)).created_at >= before
    assert import_of(store, *lines).is_noop


def test_a_package_that_says_nothing_of_passages_keeps_those_that_are_here(store: Store) -> None:
    passage = {"key": "k", "title": "", "text": "The gateway throttles by tenant.", "start_line": 1, "end_line": 1}
    import_of(store, SESSION, {**PACKAGE, "passages": [passage]})
    assert changed(import_of(store, SESSION, {**PACKAGE, "priority": "low"})) == {"package": (0, 1)}
    query = "SELECT body, priority FROM documents WHERE kind = 'passage'"
    assert list(store.primary.execute(query)) == [("The gateway throttles by tenant.", "low")]


def test_a_group_that_was_made_for_a_record_is_filled_in(store: Store) -> None:
    import_of(store, SESSION, {**THOUGHT, "group": "G"})
    group = {"record": "group", "session": "S", "name": "G", "title": "Sign-in", "created_at": ISO}
    assert changed(import_of(store, SESSION, group)) == {"group": (1, 0)}
    later = {**group, "title": "Other", "created_at": "2023-11-15T00:00:00Z"}
    assert changed(bring(store, export_of(later, store=THIRD))) == {}
    assert store.primary.execute("SELECT title FROM groups").get == "Sign-in"


def test_reasoning_that_is_redacted_on_the_way_in_says_so(store: Store) -> None:
    secret = "ghp" + "_" + "a1B2" * 9
    import_of(store, SESSION, THOUGHT, {**THOUGHT, "id": 4, "content": f"The token is {secret}."})
    assert list(store.primary.execute("SELECT redacted FROM reasoning ORDER BY abs(id)")) == [(0,), (1,)]


def test_of_two_events_with_one_key_the_first_stays(store: Store) -> None:
    event = {
        "record": "event", "id": 1, "session": "S", "subtype": "note", "idempotency_key": "k", "payload": {"a": 1},
        "created_at": ISO,
    }  # fmt: skip
    assert import_of(store, SESSION, event, {**event, "id": 2, "payload": {"a": 2}}).counts["event"] == (1, 0, 1)
    revised = {**event, "payload": {"a": 3}, "subtype": "of another kind", "group": "G"}
    assert changed(import_of(store, SESSION, revised)) == {"event": (0, 1)}
    rows = store.primary.execute("SELECT subtype, group_id, payload FROM events").get
    assert rows == ("note", 0, '{"a": 3}')


def test_a_purged_text_does_not_come_in_with_a_line_that_was_edited(store: Store) -> None:
    other = {**THOUGHT, "id": 4, "content": "A zebra."}
    import_of(store, SESSION, THOUGHT, other)
    forget_document(store, DocumentRef("reasoning", row_of(4)))
    report = import_of(store, SESSION, {**THOUGHT, "content": "A zebra."})
    assert [row.reason for row in report.skipped] == ["The reasoning of this text was purged: it is not stored again."]
    assert store.primary.execute("SELECT content FROM reasoning").get == "A heron."


def test_of_a_strategy_that_two_stores_have_the_one_seen_last_is_kept(store: Store) -> None:
    older = {
        "record": "strategy", "name": "n", "project": "p", "topic": "general", "insight": "Test.", "last_seen": ISO,
        "created_at": ISO,
    }  # fmt: skip
    newer = {**older, "insight": "Test first.", "last_seen": "2023-11-15T00:00:00Z"}
    for name, line, counts in (
        (ANOTHER, older, (1, 0, 0)),
        (THIRD, newer, (0, 1, 0)),
        ("0c" + THIRD[2:], older, (0, 0, 1)),
    ):
        assert bring(store, export_of(line, store=name)).counts["strategy"] == counts
    assert store.primary.execute("SELECT insight FROM strategies").get == "Test first."


def test_the_index_follows_a_large_import_in_a_second_process(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    applied: list[int] = []

    @contextlib.contextmanager
    def watched(of: Store) -> Generator[Notify | None, None, None]:
        with background_indexer(of) as other:
            yield other
        applied.append(index_of(of).state().documents)

    monkeypatch.setattr(import_lines, "_FOLLOWED_LINES", 1)
    monkeypatch.setattr(import_lines, "background_indexer", watched)
    monkeypatch.setattr("ctxrank.indexer.fulltext.background.cores", lambda: 2)
    import_of(store, SESSION, PACKAGE, THOUGHT)
    assert applied == [2]
    assert store.catch_up() == 0


_REMOVED = {"record": "removed", "kind": "package", "id": 7, "seq": 9}


@each_row(
    "line, kind, said",
    [
        ({**_REMOVED, "kind": "zebra"}, "removed", "its 'kind' is not one of a record"),
        ({**_REMOVED, "kind": "session"}, "removed", "its 'kind' is not one of a record"),
        ({**_REMOVED, "kind": None}, "removed", "its 'kind' is not one of a record"),
        ({**_REMOVED, "id": 0}, "removed", "its 'id' is not a whole number"),
        ({**_REMOVED, "seq": "9"}, "removed", "its 'seq' is not a whole number"),
        ({**_REMOVED, "of": "me"}, "removed", "its 'of' is not the uuid of a store"),
        ({**_REMOVED, "of": None}, "removed", "its 'of' is not the uuid of a store"),
        ({**_REMOVED, "origin": 7}, "removed", "its 'origin' is not a store's uuid"),
        ({"record": "z" * 41, "origin": "me"}, "z" * 40, "its 'origin' is not a store's uuid"),
    ],
)
def test_a_line_that_removes_nothing_known_is_named_with_what_is_wrong(
    store: Store, line: dict[str, object], kind: str, said: str
) -> None:
    (skipped,) = import_of(store, SESSION, line).skipped
    assert (skipped.kind, skipped.reason[: len(said)]) == (kind, said)


@each_row(
    "kind, made",
    [
        ("package", {**PACKAGE, "group": None, "scope": "global"}),
        ("reasoning", THOUGHT),
        ("error", {"project": "p", "pattern_hash": "h", "error_type": "E", "message": "m", "solution": "s"}),
        ("strategy", {"project": "p", "name": "n", "topic": "general", "insight": "Test."}),
    ],
)
def test_what_was_removed_before_it_came_does_not_come(
    tmp_path_factory: pytest.TempPathFactory, kind: str, made: dict[str, object]
) -> None:
    line = {**made, "record": kind, "id": 7, "last_seen": ISO, "created_at": ISO}
    removed = {"record": "removed", "kind": kind, "id": 7, "seq": 9}
    with make_store(tmp_path_factory.mktemp("late")) as store:
        import_of(store, SESSION, removed)
        relayed = {**line, "origin": ANOTHER, "seq": 8}
        for report in (import_of(store, {**line, "seq": 8}), bring(store, export_of(relayed, store=THIRD))):
            assert report.counts[kind] == (0, 0, 1) and not report.skipped
        assert store.primary.execute("SELECT count(*) FROM documents").get == 0
        assert kind in changed(import_of(store, removed, {**line, "seq": 10}))  # it was made again since
        assert store.primary.execute("SELECT count(*) FROM documents").get == 1


@each_row(
    "kind, made",
    [("package", PACKAGE), ("reasoning", THOUGHT)],
)
def test_that_a_record_of_another_store_was_removed_is_said_in_an_export_of_all_origins_alone(
    tmp_path_factory: pytest.TempPathFactory, kind: str, made: dict[str, object]
) -> None:
    with make_store(tmp_path_factory.mktemp("relay")) as store:
        import_of(store, SESSION, {**made, "seq": 2})
        import_of(store, {"record": "removed", "kind": kind, "id": made["id"], "seq": 9})
        own, relayed = exported(store), exported(store, all_origins=True)
        assert not [line for line in own if line.get("record") == "removed"]
        (removed,) = (line for line in relayed if line.get("record") == "removed")
        assert removed == {"record": "removed", "kind": kind, "id": made["id"], "origin": ANOTHER, "seq": 9}


def test_every_line_of_an_export_counts_as_one_record_also_what_was_removed(store: Store, tmp_path: Path) -> None:
    with make_store(tmp_path / "made") as made:
        fill(made)
        for kind in ("reasoning", "strategy", "skill"):
            forget_document(made, DocumentRef(kind, 1))
        lines = exported(made)
        counts: dict[str, int] = lines[-1]["counts"]
        assert counts["removed"] >= 3 and sum(counts.values()) == len(lines) - 2
        first, second = (bring(store, exported_bytes(made)) for _ in range(2))
        for report in (first, second):
            assert sum(map(sum, report.counts.values())) + report.waiting == len(lines) - 2
        assert second.is_noop and second.counts["removed"].unchanged == counts["removed"]


def test_a_session_has_its_name_where_it_was_made(store: Store) -> None:
    for name, project in (("S", "shop"), ("S@bank", "bank"), ("T@bank", "bank"), ("S@shop", "shop")):
        with store.write() as change:
            create_session(change, NewSession(name, project))
    names = {
        name: exported_name(store.primary, name, name[2:] or "shop") for name in ("S", "S@bank", "T@bank", "S@shop")
    }
    assert names == {"S": "S", "S@bank": "S", "T@bank": "T@bank", "S@shop": "S@shop"}

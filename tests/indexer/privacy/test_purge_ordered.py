"""What other stores order, origins that are removed and pruning of what was kept unasked take: that, and no more."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import apsw
import pytest
from builders import make_store, save
from ranking_builders import think
from tables import each_row
from written import Reasoning, write

from ctxrank.indexer.agents import UNCONFIRMED
from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.privacy import retention
from ctxrank.indexer.privacy.erase import erase, is_erasing_due
from ctxrank.indexer.privacy.purge import forget_path, forget_planned, orderable_texts, plan_numbers, plan_ordered
from ctxrank.indexer.privacy.removal import HERE, Remover, removals, sealing, unchecked_references
from ctxrank.indexer.privacy.retention import UNCONFIRMED_DAYS, prune_unconfirmed
from ctxrank.indexer.records.sessions import NewSession, create_session
from ctxrank.indexer.store.blocklist import PATH, SESSION, blocked_entries
from ctxrank.indexer.store.connection import read_column
from ctxrank.indexer.store.store import Store

OTHER_STORE = "0" * 32
NOW = 1_800_000_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Two sessions, each with a package of a file of its own and an entry of reasoning."""
    with make_store(tmp_path) as opened:
        for session in ("S", "T"):
            save(opened, f"docs/{session}.md", f"About {session}.\n", session=session)
            think(opened, "developer", "decisions", f"{session} caches", session=session)
        yield opened


def left(store: Store) -> list[tuple[object, ...]]:
    """The names and texts that the store has."""
    query = """
        SELECT name FROM sessions UNION ALL SELECT path FROM packages UNION ALL SELECT path FROM artifacts
         UNION ALL SELECT content FROM reasoning
    """
    return list(store.primary.execute(query))


@each_row(
    "kind, text, rows",
    [
        (PATH, "docs/S.md", {"package": [1], "artifact": [1]}),
        (PATH, "docs", {}),  # no file: only an order of its very path means it
        (SESSION, "T", {"session": [2], "package": [2], "artifact": [2], "reasoning": [2]}),
        ("reasoning", "T caches", {"reasoning": [2]}),
    ],
)
def test_an_order_means_the_texts_of_its_kind_alone(
    store: Store, kind: str, text: str, rows: dict[str, list[int]]
) -> None:
    asked: list[str] = []

    def is_meant(one: str) -> bool:
        asked.append(one)
        return one == text

    plan = plan_ordered(store.primary, kind, is_meant)
    assert {what: numbers for what, numbers in plan.rows.items() if numbers} == rows
    assert set(asked) == set(orderable_texts(store.primary, kind))


def test_an_order_of_a_path_takes_what_findings_note_of_its_lines_and_blocks_nothing(store: Store) -> None:
    store.primary.execute("UPDATE packages SET artifact_id = NULL; DELETE FROM artifacts")
    query = """
        INSERT INTO anchors (document_id, kind, name, path, start_line, end_line, fingerprint, commit_id, made_at,
                             state, now_path, now_start, now_end, differing, held_at, size_bytes, mtime_ns)
        SELECT id, 'path', ?1, ?1, 1, 2, '', '', 1, 'same', ?1, 1, 2, 0, 1, -1, 0
          FROM documents WHERE kind = 'reasoning' LIMIT 1
    """
    for path in ("docs/S.md", "docs/T.md", "docs/U.md"):
        store.primary.execute(query, (path,))
    meant = ("docs/S.md", "docs/T.md")
    with unchecked_references(store.primary), store.write() as change:
        forget_planned(change, plan_ordered(store.primary, PATH, meant.__contains__))
    assert read_column(store.primary, "SELECT path FROM anchors", (), str) == ["docs/U.md"]
    assert blocked_entries(store.primary) == []  # the order itself is on the list


def _forget_numbers(store: Store, numbers: dict[str, list[int]], by: Remover = HERE) -> Mapping[str, int]:
    with unchecked_references(store.primary), store.write() as change:
        return forget_planned(change, plan_numbers(store.primary, numbers), by)
    raise AssertionError("nothing swallows an exception")


def test_what_is_removed_by_number_is_that_and_of_the_kinds_that_are_removed_so(store: Store) -> None:
    assert _forget_numbers(store, {"reasoning": [1, 1], "group": [1]}, Remover(OTHER_STORE, 7)) == {"reasoning": 1}
    assert sorted(left(store)) == sorted(
        [("S",), ("T",), ("docs/S.md",), ("docs/S.md",), ("docs/T.md",), ("docs/T.md",), ("T caches",)]
    )
    (removal,) = removals(store.primary)
    assert (removal.origin, removal.order, removal.kind, removal.removed) == (OTHER_STORE, 7, "reasoning", 1)
    assert _forget_numbers(store, {}) == {} and len(removals(store.primary)) == 1


def test_what_is_sealed_has_the_rows_that_went_and_not_what_is_numbered_anew(store: Store) -> None:
    sealed: list[bytes] = []

    def seal(writer: apsw.Connection, changes: bytes) -> None:
        assert not writer.execute("SELECT 1 FROM reasoning WHERE id = 1").fetchall()
        sealed.append(changes)

    _forget_numbers(store, {"reasoning": [1]}, Remover(OTHER_STORE, 7, seal))
    (changes,) = sealed
    tables = {change.name for change in apsw.Changeset.iter(changes)}
    assert {"reasoning", "documents"} <= tables and not tables & {"tombstones", "record_log", "labels"}
    with store.write() as change, sealing(change.connection, None):
        pass
    assert len(sealed) == 1


@pytest.fixture
def unasked(store: Store) -> Store:
    """Four entries that were kept unasked, one a day older than the next, beside two that were saved on purpose."""
    with store.write() as change:
        create_session(change, NewSession("U"))
        for age in range(4):
            at = NOW - (UNCONFIRMED_DAYS - age) * DAY_US
            write(change, Reasoning(3, None, "a", "approach", f"unasked {age}", at, f"{UNCONFIRMED}: ann"))
    return store


@each_row("later_us, kept", [(0, 4), (1, 3), (DAY_US, 3), (DAY_US + 1, 2), (9 * DAY_US, 0)])
def test_what_was_kept_unasked_goes_when_it_is_old(
    unasked: Store, monkeypatch: pytest.MonkeyPatch, later_us: int, kept: int
) -> None:
    monkeypatch.setattr(retention, "now_us", lambda: NOW + later_us)
    prune_unconfirmed(unasked)
    query = "SELECT content FROM reasoning WHERE session_id = 3 ORDER BY id"
    assert unasked.primary.execute(query).fetchall() == [(f"unasked {age}",) for age in range(4 - kept, 4)]
    assert unasked.primary.execute("SELECT count(*) FROM reasoning WHERE session_id < 3").get == 2


def test_of_what_was_kept_unasked_the_newest_stay(unasked: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "MAX_UNCONFIRMED", 3)
    monkeypatch.setattr(retention, "now_us", lambda: NOW)
    assert prune_unconfirmed(unasked) == 1
    assert unasked.primary.execute("SELECT min(content) FROM reasoning WHERE session_id = 3").get == "unasked 1"
    assert UNCONFIRMED_DAYS == 90


def test_while_another_process_writes_nothing_is_erased_and_it_stays_due(tmp_path: Path) -> None:
    with make_store(tmp_path, busy_ms=50) as store:
        save(store, "docs/a.md", "About it.\n")
        holder = apsw.Connection(store.location.primary)
        assert forget_path(store, "docs/a.md", is_dry_run=True).removed
        holder.execute("BEGIN IMMEDIATE")
        assert not erase(store)
        holder.close()
        assert forget_path(store, "docs/a.md").is_erased and not is_erasing_due(store.primary)

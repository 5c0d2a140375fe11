"""Rows whose owner was lost: made again from what is left of it, emptied of the reference, or gone with it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from builders import make_store, save
from ranking_builders import know_error, think

from ctxrank.indexer.care.finding import Result
from ctxrank.indexer.care.primary_checks import examine_texts
from ctxrank.indexer.care.relations import Known, repair_relations
from ctxrank.indexer.catalogue import tables_of
from ctxrank.indexer.errors.failures import see, sighting_of
from ctxrank.indexer.errors.signature import NORMALISER_VERSION
from ctxrank.indexer.store.store import Store

Rows = Sequence[tuple[object, ...]]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with two packages, the second in place of the first, an entry of reasoning and a known error."""
    with make_store(tmp_path) as opened:
        save(opened, "a.md", created_at=7)
        save(opened, "b.md", created_at=9)
        think(opened, "developer", "decisions", "it caches", created_at=5)
        know_error(opened, "KeyError: 'a'")
        opened.primary.execute("UPDATE packages SET superseded_by = 2 WHERE id = 1")
        opened.primary.pragma("foreign_keys", False)  # as in the file that a salvage fills
        yield opened


def rows_of(store: Store, query: str) -> Rows:
    return store.primary.execute(query).fetchall()


def repaired(
    store: Store, *damage: str, lost: Mapping[str, Known] | None = None
) -> tuple[Counter[str], Counter[str], Rows]:
    """What a repair counts as made again and as dropped after these deletions, and what is broken still."""
    with store.write() as change:
        for statement in damage:
            change.connection.execute(statement)
        rebuilt, dropped = repair_relations(change, lost or {})
    return +rebuilt, +dropped, rows_of(store, "PRAGMA foreign_key_check")


def test_a_whole_store_is_left_as_it_is(store: Store) -> None:
    tables = [table.name for table in tables_of(store.primary) if table.name != "labels"]
    before = [rows_of(store, f"SELECT * FROM {name}") for name in tables]
    assert repaired(store) == (Counter(), Counter(), [])
    assert [rows_of(store, f"SELECT * FROM {name}") for name in tables] == before


def test_every_reference_is_to_an_id(store: Store) -> None:
    """So that a row whose reference is broken is found by it, and a repair comes to an end."""
    query = """
        SELECT m.name, f."from", f."to" FROM sqlite_schema AS m JOIN pragma_foreign_key_list(m.name) AS f
         WHERE m.type = 'table' AND (f."to" <> 'id' OR f.seq > 0)
    """
    assert rows_of(store, query) == []


def test_a_reference_that_may_be_empty_is_emptied_and_its_row_stays(store: Store) -> None:
    with store.write() as change:
        sighting = sighting_of("KeyError: 'a'", 5, None)
        assert sighting is not None
        see(change, 1, 0, sighting, 1)
    damage = ("DELETE FROM groups", "DELETE FROM documents WHERE kind = 'error'", "DELETE FROM error_patterns")
    rebuilt, dropped, broken = repaired(store, *damage)
    assert (rebuilt, dropped, broken) == (Counter(), Counter(error_signatures=1), [])
    assert rows_of(store, "SELECT group_id, superseded_by FROM packages") == [(None, 2), (None, None)]
    assert rows_of(store, "SELECT group_id FROM reasoning") == [(None,)]
    assert rows_of(store, "SELECT pattern_id FROM error_sightings") == [(None,)]


def test_a_row_that_cannot_be_without_its_owner_goes_with_it_and_is_counted(store: Store) -> None:
    store.primary.execute("DELETE FROM package_consumers")
    for package in (1, 2):
        store.primary.execute("INSERT INTO package_consumers (package_id, agent) VALUES (?, 'ann')", (package,))
    damage = ("DELETE FROM documents WHERE record_id = 2 AND kind = 'package'", "DELETE FROM packages WHERE id = 2")
    _, dropped, broken = repaired(store, *damage)
    assert (dropped["package_consumers"], broken) == (1, [])
    assert rows_of(store, "SELECT id, superseded_by FROM packages") == [(1, None)]
    assert rows_of(store, "SELECT package_id FROM package_consumers") == [(1,)]


def test_what_the_index_could_not_take_is_gone_and_counted(store: Store) -> None:
    _, dropped, broken = repaired(store, "UPDATE documents SET kind = 'zebra' WHERE kind = 'reasoning'")
    assert (dropped["documents"], broken) == (1, [])


def test_a_session_that_only_its_contents_know_gets_a_name_and_the_time_of_the_first(store: Store) -> None:
    rebuilt, dropped, broken = repaired(store, "DELETE FROM sessions")
    assert (rebuilt, dropped, broken) == (Counter(sessions=1), Counter(), [])
    assert rows_of(store, "SELECT id, name, created_at FROM sessions") == [(1, "recovered-1", 7)]


def test_a_session_and_a_group_that_their_index_knows_keep_their_names(store: Store) -> None:
    lost: dict[str, Known] = {"sessions": {1: {"name": "S"}}, "groups": {1: {"session_id": 1, "name": "G"}}}
    rebuilt, _, broken = repaired(store, "DELETE FROM sessions", "DELETE FROM groups", lost=lost)
    assert (rebuilt, broken) == (Counter(sessions=1, groups=1), [])
    assert rows_of(store, "SELECT name, created_at FROM sessions UNION ALL SELECT name, created_at FROM groups") == [
        ("S", 7),
        ("G", 7),
    ]
    assert rows_of(store, "SELECT group_id FROM packages") == [(1,), (1,)]


def test_a_record_is_made_again_from_its_document_and_what_its_index_knows(store: Store) -> None:
    lost: dict[str, Known] = {"packages": {1: {"version": 4}}}
    rebuilt, dropped, broken = repaired(store, "DELETE FROM packages", "DELETE FROM reasoning", lost=lost)
    assert rebuilt == Counter(packages=2, reasoning=1)
    assert (dropped, broken) == (Counter(), [])
    query = "SELECT id, path, version, group_id, producer, created_at FROM packages"
    assert rows_of(store, query) == [(1, "a.md", 4, 1, "investigator", 7), (2, "b.md", 1, 1, "investigator", 9)]
    assert rows_of(store, "SELECT content, agent, phase, created_at FROM reasoning") == [
        ("it caches", "developer", "decisions", 5)
    ]


def test_a_document_is_made_again_from_its_record_under_the_id_that_it_had(store: Store) -> None:
    columns = "kind, record_id, title, body, session_id, group_id, agent"
    query = f"SELECT {columns} FROM documents WHERE kind <> 'passage' ORDER BY kind, record_id"
    before = rows_of(store, query)
    store.primary.execute("UPDATE artifacts SET ruleset = 3")
    lost: dict[str, Known] = {"documents": {77: {"kind": "package", "record_id": 2}}}
    rebuilt, dropped, broken = repaired(store, "DELETE FROM documents", lost=lost)
    assert (rebuilt, dropped, broken) == (Counter(documents=len(before)), Counter(), [])
    assert rows_of(store, query) == before
    assert rows_of(store, "SELECT id FROM documents WHERE kind = 'package' AND record_id = 2") == [(77,)]
    assert set(rows_of(store, "SELECT ruleset FROM artifacts")) <= {(0,)}


def test_a_document_of_no_session_or_of_an_unknown_kind_is_dropped(store: Store) -> None:
    store.primary.execute("UPDATE documents SET kind = 'novel' WHERE kind = 'error'")
    rebuilt, dropped, broken = repaired(store, "UPDATE documents SET session_id = 9 WHERE kind = 'reasoning'")
    assert (dropped, broken) == (Counter(documents=2), [])
    assert rebuilt == Counter(documents=2)  # again, from their records
    query = "SELECT kind, session_id FROM documents WHERE kind <> 'passage' ORDER BY kind, record_id"
    assert rows_of(store, query) == [("error", 0), ("package", 1), ("package", 1), ("reasoning", 1)]


def test_a_value_that_is_no_json_any_more_is_replaced_by_an_empty_one(store: Store) -> None:
    store.primary.execute("PRAGMA ignore_check_constraints = 1")
    damage = ("UPDATE reasoning SET refs = 'x'", "UPDATE error_signatures SET terms = '['")
    assert repaired(store, *damage)[0] == Counter(reasoning=1, error_signatures=1)
    assert rows_of(store, "SELECT refs FROM reasoning") == [("[]",)]
    assert rows_of(store, "SELECT terms, normaliser_version FROM error_signatures") == [("[]", 0)]


def test_what_has_to_be_json_is_json_again_in_every_table(store: Store) -> None:
    columns = [(table.name, column) for table in tables_of(store.primary) for column in table.stored]
    damage = [f"UPDATE {table} SET {column.name} = '{{'" for table, column in columns if column.replacement]
    with store.write() as change:
        note = "INSERT INTO failed_commands (command_key, command, folder, error_text, git_state, failed_at)"
        change.connection.execute(f"{note} VALUES ('k', 'make', '.', 'E', '[]', 1)")
        for statement in damage:
            change.connection.execute(statement)
    said = examine_texts(store.primary).evidence
    assert "1 in failed_commands.git_state" in said and "1 in sessions.skills_config" in said
    repaired(store)
    assert examine_texts(store.primary).result is Result.OK


def test_an_error_without_a_signature_is_signed(store: Store) -> None:
    before = rows_of(store, "SELECT term, pattern_id FROM error_terms ORDER BY term")
    assert repaired(store, "DELETE FROM error_terms")[0] == Counter()
    assert rows_of(store, "SELECT term, pattern_id FROM error_terms ORDER BY term") == before
    rebuilt, dropped, broken = repaired(store, "DELETE FROM error_signatures")
    assert (rebuilt, dropped, broken) == (Counter(error_signatures=1), Counter(), [])
    signed = rows_of(store, "SELECT normaliser_version, error_text FROM error_signatures")
    assert signed == [(NORMALISER_VERSION, "E: KeyError: 'a'")]
    assert repaired(store, "UPDATE error_signatures SET features = '{}'")[0] == Counter(error_signatures=1)
    assert rows_of(store, "SELECT normaliser_version, features ->> 'message' FROM error_signatures") == [(0, "")]

"""Repairs rows whose owner was lost.

What is known well enough is rebuilt: an owner from its index entries, a record from its document, and a document from
its record. For the rest the schema decides: a reference that may be NULL becomes NULL, and a row that requires its
owner is deleted and counted.
"""

from collections import Counter
from collections.abc import Mapping

import apsw

from ctxrank.indexer.care.counterparts import Known, insert, rebuild_documents, rebuild_records
from ctxrank.indexer.care.page_reader import Value
from ctxrank.indexer.catalogue import document_kinds, forget_memories, kinds_of, tables_of
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.owners import owners
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.connection import read_column
from ctxrank.indexer.store.store import Change

# What a row is made of that only its index entries are left of, besides what these say. In this order: owners first.
_FILLERS: dict[str, dict[str, Value]] = {
    "sessions": {"created_at": 0},
    "groups": {"created_at": 0},
    "roots": {},
    "artifacts": {"state": "stale", "reason": "rebuilt after damage", "indexed_at": 0},
}


class RepairedRows(NamedTuple):
    """By table: rows made again from other rows or indexes, and rows deleted with their owner."""

    rebuilt: Mapping[str, int]
    dropped: Mapping[str, int]


def repair_relations(change: Change, lost: Mapping[str, Known]) -> RepairedRows:
    """Make the new file whole in itself, inside the caller's transaction."""
    primary = change.connection
    rebuilt: Counter[str] = Counter()
    for table in tables_of(primary):
        for column, instead in [(column.name, column.replacement) for column in table.stored if column.replacement]:
            primary.execute(f"UPDATE {table.name} SET {column} = {instead} WHERE NOT json_valid({column})")
            rebuilt[table.name] += primary.changes()
    for name, filler in _FILLERS.items():
        for number, known in lost.get(name, {}).items():
            rebuilt[name] += insert(primary, name, {**filler, **known, "id": number})
    rebuilt["sessions"] += _name_lost_sessions(primary)
    strange = _drop_strange_documents(primary)
    rebuilt.update(rebuild_records(primary, lost))
    rebuilt["documents"] += rebuild_documents(change, lost.get("documents", {}))
    _drop_what_is_read_again(primary, lost)
    dropped = _settle_references(primary)
    dropped["documents"] += strange
    # A document of a record that is not there any more: its passages go with it.
    for kind in [kind for kind in kinds_of(primary).values() if kind.is_found]:
        query = f"SELECT id FROM documents WHERE kind = ? AND record_id NOT IN (SELECT id FROM {kind.table.name})"
        for document_id in read_column(primary, query, (kind.name,), int):
            dropped["documents"] += documents.remove_owned(change, document_id) + 1
            documents.remove(change, document_id)
    dropped.update(_settle_references(primary))
    _derive(primary, rebuilt)
    return RepairedRows(rebuilt, dropped)


def _name_lost_sessions(primary: apsw.Connection) -> int:
    """Give sessions that only their contents still know a row, so that these stay; returns how many."""
    count = 0
    for table in [table.name for table in tables_of(primary) if table.reference_to("sessions") is not None]:
        query = f"SELECT DISTINCT session_id FROM {table} WHERE session_id NOT IN (SELECT id FROM sessions)"
        for number in read_column(primary, query, (), int):
            count += insert(primary, "sessions", {"id": number, "name": f"recovered-{number}", "created_at": 0})
    # When it was made is gone; the first thing that it holds is not much younger.
    made = "coalesce((SELECT min(created_at) FROM packages WHERE {0}_id = {0}s.id), ({1}), 0)"
    for name, otherwise in (
        ("session", "SELECT min(created_at) FROM reasoning WHERE session_id = sessions.id"),
        ("group", "SELECT created_at FROM sessions WHERE id = groups.session_id"),
    ):
        primary.execute(f"UPDATE {name}s SET created_at = {made.format(name, otherwise)} WHERE created_at = 0")
    return count


def _settle_references(primary: apsw.Connection) -> Counter[str]:
    """Empty references to rows that are gone, or remove the row that cannot be without; counted by table."""
    dropped: Counter[str] = Counter()
    query = """
        SELECT f."from", coalesce(f."to", 'id'), c."notnull" OR c.pk
          FROM pragma_foreign_key_list(?1) AS f JOIN pragma_table_info(?1) AS c ON c.name = f."from"
         WHERE f.id = ?2
    """
    while broken := list(primary.execute("PRAGMA foreign_key_check")):
        for table, rowid, parent, key in broken:
            ((column, target, is_required),) = primary.execute(query, (table, key))
            where = f'"{column}" NOT IN (SELECT "{target}" FROM "{parent}")'
            if rowid is not None:
                where += f" AND rowid = {rowid}"
            if is_required:
                primary.execute(f'DELETE FROM "{table}" WHERE {where}')
                dropped[table] += primary.changes()
            else:
                primary.execute(f'UPDATE "{table}" SET "{column}" = NULL WHERE {where}')
    return dropped


def _drop_strange_documents(primary: apsw.Connection) -> int:
    """Remove documents that the index could not take: it would stop at the first of them for ever."""
    kinds = ", ".join(f"'{kind}'" for kind in document_kinds(kinds_of(primary)))
    primary.execute(
        f"DELETE FROM documents WHERE kind NOT IN ({kinds})"
        " OR session_id <> 0 AND session_id NOT IN (SELECT id FROM sessions)"
    )
    strange = primary.changes()
    if strange:
        primary.execute("UPDATE artifacts SET ruleset = 0")  # the next scan reads every file
    return strange


def _derive(primary: apsw.Connection, rebuilt: Counter[str]) -> None:
    """Make again what follows from the rest."""
    for column in ("agent", "type", "priority"):
        primary.execute(
            f"INSERT OR IGNORE INTO labels (text) SELECT DISTINCT {column} FROM documents WHERE {column} <> ''"
        )
    primary.execute("DELETE FROM error_terms")
    for column, empty in (("terms", "[]"), ("features", "{}")):
        primary.execute(
            f"UPDATE error_signatures SET normaliser_version = 0, {column} = ? WHERE NOT json_valid({column})", (empty,)
        )
    primary.execute(
        "INSERT OR IGNORE INTO error_terms (term, pattern_id)"
        " SELECT t.value, s.pattern_id FROM error_signatures AS s, json_each(s.terms) AS t"
        " WHERE typeof(t.value) = 'integer'"
    )
    unsigned = "FROM error_patterns WHERE id NOT IN (SELECT pattern_id FROM error_signatures)"
    primary.execute(  # normaliser 0 is older than any: the next call that matches signs these
        "INSERT INTO error_signatures (pattern_id, normaliser_version, template, instance, family, headline, features,"
        f" terms, error_text) SELECT id, 0, '', '', 'text', '', '{{}}', '[]', error_type || ': ' || message {unsigned}"
    )
    if primary.changes():
        rebuilt["error_signatures"] = primary.changes()
    forget_memories(primary)


def _drop_what_is_read_again(primary: apsw.Connection, lost: Mapping[str, Known]) -> None:
    """Of no use in part: what an extension reads from disk again by the next `index`."""
    for owner in owners(primary):
        tables = [table.name for table in owner.all_tables]
        if owner.is_read_again and any(lost.get(table) for table in tables):
            for table in tables:
                primary.execute(f"DELETE FROM {table}")

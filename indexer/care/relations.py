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
from ctxrank.indexer.store.connection import read_column, read_row, read_rows
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
    _derive(primary, lost, rebuilt)
    return RepairedRows(rebuilt, dropped)


def _name_lost_sessions(primary: apsw.Connection) -> int:
    """Give sessions that only their contents still know a row, so that these stay; returns how many."""
    count = 0
    for table in [table.name for table in tables_of(primary) if table.reference_to("sessions") is not None]:
        query = f"SELECT DISTINCT session_id FROM {table} WHERE session_id NOT IN (SELECT id FROM sessions)"
        for number in read_column(primary, query, (), int):
            count += insert(primary, "sessions", {"id": number, "name": f"recovered-{number}", "created_at": 0})
    # When it was made is gone; the first thing that it holds is not much younger.
    primary.execute(
        """
        UPDATE sessions
           SET created_at = coalesce((SELECT min(created_at) FROM packages WHERE session_id = sessions.id),
                                     (SELECT min(created_at) FROM reasoning WHERE session_id = sessions.id), 0)
         WHERE created_at = 0
        """
    )
    primary.execute(
        """
        UPDATE groups
           SET created_at = coalesce((SELECT min(created_at) FROM packages WHERE group_id = groups.id),
                                     (SELECT created_at FROM sessions WHERE id = groups.session_id), 0)
         WHERE created_at = 0
        """
    )
    return count


def _settle_references(primary: apsw.Connection) -> Counter[str]:
    """Empty references to rows that are gone, or remove the row that cannot be without; counted by table."""
    dropped: Counter[str] = Counter()
    while broken := list(read_rows(primary, "PRAGMA foreign_key_check", (), _Broken)):
        for table, rowid, parent, key in broken:
            query = 'SELECT "from", coalesce("to", \'id\') FROM pragma_foreign_key_list(?) WHERE id = ?'
            foreign_key = read_row(primary, query, (table, key), _ForeignKey)
            assert foreign_key is not None, "SQLite has just named it"
            column, target = foreign_key
            query = 'SELECT 1 FROM pragma_table_info(?) WHERE name = ? AND ("notnull" OR pk)'
            is_required = primary.execute(query, (table, column)).fetchone() is not None
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


class _Broken(NamedTuple):
    """A row whose reference leads nowhere; no row number in a table that has none."""

    table: str
    rowid: int | None
    parent: str
    key: int


class _ForeignKey(NamedTuple):
    """A column that refers to another table, and the column there."""

    column: str
    target: str


def _derive(primary: apsw.Connection, lost: Mapping[str, Known], rebuilt: Counter[str]) -> None:
    """Make again what follows from the rest."""
    for column in ("agent", "type", "priority"):
        primary.execute(
            f"INSERT OR IGNORE INTO labels (text) SELECT DISTINCT {column} FROM documents WHERE {column} <> ''"
        )
    primary.execute("DELETE FROM error_terms")
    primary.execute("UPDATE error_signatures SET normaliser_version = 0, terms = '[]' WHERE NOT json_valid(terms)")
    primary.execute(
        "UPDATE error_signatures SET normaliser_version = 0, features = '{}' WHERE NOT json_valid(features)"
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

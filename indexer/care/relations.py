"""Repairs rows whose owner was lost.

What is known well enough is rebuilt: an owner from its index entries, a record from its document, and a document from
its record. For the rest the schema decides: a reference that may be NULL becomes NULL, and a row that requires its
owner is deleted and counted.

    documents (kind, number, title, body, …)  ◄──►  packages, reasoning, error_patterns, strategies, skill_outputs

Which column of one is which of the other is what the catalogue says. What only a record knew (a package's version, an
error's project, unless an index knows it) is gone with it.
"""

from collections import Counter
from collections.abc import Mapping

import apsw

from ctxrank.indexer.care.page_reader import Value
from ctxrank.indexer.catalogue import (
    as_row,
    document_kinds,
    forget_memories,
    kinds_of,
    kinds_with_documents,
    record_of,
    tables_of,
)
from ctxrank.indexer.declarations import LostRecord
from ctxrank.indexer.errors.lookup import put_signature
from ctxrank.indexer.owners import owners
from ctxrank.indexer.record_table import document_of
from ctxrank.indexer.store import documents, rows
from ctxrank.indexer.store.connection import read_column, read_value
from ctxrank.indexer.store.store import Change

Known = Mapping[int, Mapping[str, Value]]  # by row number: the columns that the indexes of its table still hold

# What a row is made of that only its index entries are left of, besides what these say. In this order: owners first.
_FILLERS: dict[str, dict[str, Value]] = {
    "sessions": {"created_at": 0},
    "groups": {"created_at": 0},
    "roots": {},
    "artifacts": {"state": "stale", "reason": "rebuilt after damage", "indexed_at": 0},
}


def repair_relations(change: Change, lost: Mapping[str, Known]) -> tuple[Counter[str], Counter[str]]:
    """Make the new file whole in itself, inside the caller's transaction.

    Returns by table how many rows were made again from other rows or indexes, and how many deleted with their owner.
    """
    primary = change.connection
    rebuilt: Counter[str] = Counter()
    for table in tables_of(primary):
        for column in table.stored:
            if column.replacement:
                values = f"{column.name} = {column.replacement}"
                primary.execute(f"UPDATE {table.name} SET {values} WHERE {column.is_broken}")
                rebuilt[table.name] += primary.changes()
    for name, filler in _FILLERS.items():
        for number, known in lost.get(name, {}).items():
            rebuilt[name] += _insert(primary, name, {**filler, **known, "id": number})
    _name_lost_sessions(primary, rebuilt)
    # Documents that the index could not take: it would stop at the first of them for ever.
    kinds = ", ".join(f"'{kind}'" for kind in document_kinds(kinds_of(primary)))
    primary.execute(
        f"DELETE FROM documents WHERE kind NOT IN ({kinds})"
        " OR session_id <> 0 AND session_id NOT IN (SELECT id FROM sessions)"
    )
    dropped = Counter(documents=primary.changes())
    if dropped["documents"]:
        primary.execute("UPDATE artifacts SET ruleset = 0")  # the next scan reads every file
    _rebuild_records(primary, lost, rebuilt)
    _rebuild_documents(change, lost.get("documents", {}), rebuilt)
    for owner in owners(primary):  # of no use in part: what an extension reads from disk again by the next `index`
        tables = [table.name for table in owner.all_tables]
        if owner.is_read_again and any(map(lost.get, tables)):
            for name in tables:
                primary.execute(f"DELETE FROM {name}")
    _settle_references(primary, dropped)
    # A document of a record that is not there any more: its passages go with it.
    for kind in filter(lambda kind: kind.is_found, kinds_of(primary).values()):
        query = f"SELECT id FROM documents WHERE kind = ? AND record_id NOT IN (SELECT id FROM {kind.table.name})"
        for document_id in read_column(primary, query, (kind.name,), int):
            dropped["documents"] += documents.remove_owned(change, document_id) + 1
            documents.remove(change, document_id)
    _settle_references(primary, dropped)
    _derive(change, rebuilt)
    return rebuilt, dropped


def _name_lost_sessions(primary: apsw.Connection, rebuilt: Counter[str]) -> None:
    """Give sessions that only their contents still know a row, so that these stay."""
    for table in tables_of(primary):
        if table.reference_to("sessions") is None:
            continue
        query = f"SELECT DISTINCT session_id FROM {table.name} WHERE session_id NOT IN (SELECT id FROM sessions)"
        for number in read_column(primary, query, (), int):
            recovered: dict[str, Value] = {"id": number, "name": f"recovered-{number}", "created_at": 0}
            rebuilt["sessions"] += _insert(primary, "sessions", recovered)
    # When it was made is gone; the first thing that it holds is not much younger.
    made = "coalesce((SELECT min(created_at) FROM packages WHERE {0}_id = {0}s.id), ({1}), 0)"
    for name, otherwise in (
        ("session", "SELECT min(created_at) FROM reasoning WHERE session_id = sessions.id"),
        ("group", "SELECT created_at FROM sessions WHERE id = groups.session_id"),
    ):
        primary.execute(f"UPDATE {name}s SET created_at = {made.format(name, otherwise)} WHERE created_at = 0")


def _rebuild_records(primary: apsw.Connection, lost: Mapping[str, Known], rebuilt: Counter[str]) -> None:
    """Make records again from their documents, and from what the indexes still hold."""
    for kind in kinds_with_documents(kinds_of(primary)):
        table = kind.table.name
        query = f"""
            SELECT record_id, session_id, group_id, agent, type, priority, title, body, path, superseded_by, created_at
              FROM documents
             WHERE kind = ? AND record_id NOT IN (SELECT id FROM {table})
        """
        for record in [LostRecord(*row) for row in primary.execute(query, (kind.name,))]:
            known = lost.get(table, {}).get(record.number, {})
            of_file = kind.table.reference_to("artifacts")  # the first file at its path
            file = "SELECT min(id) FROM artifacts WHERE path = ?"
            files = {} if of_file is None else {of_file.name: read_value(primary, file, (record.path,), int)}
            values = {**record_of(kind, record), **files, **known, "id": record.number}
            rebuilt[table] += _insert(primary, table, values)


def _rebuild_documents(change: Change, lost: Known, rebuilt: Counter[str]) -> None:
    """Make documents again from their records, under the id they had where that is known."""
    primary = change.connection
    old_ids = {(known.get("kind"), known.get("record_id")): number for number, known in lost.items()}
    for kind in kinds_with_documents(kinds_of(primary)):
        names = [column.name for column in kind.table.stored]
        query = f"""
            SELECT {", ".join(names)} FROM {kind.table.name}
             WHERE id NOT IN (SELECT record_id FROM documents WHERE kind = ?)
        """
        for row in primary.execute(query, (kind.name,)).fetchall():
            document = document_of(kind, as_row(kind, row))
            document_id = documents.put(change, document)
            if (before := old_ids.get((kind.name, document.number))) is not None:
                primary.execute("UPDATE OR IGNORE documents SET id = ? WHERE id = ?", (before, document_id))
            rebuilt["documents"] += 1
    if lost:
        # No rules are as old as this: the next scan reads every file, and puts back the passages that are missing.
        primary.execute("UPDATE artifacts SET ruleset = 0")


def _insert(primary: apsw.Connection, table: str, values: Mapping[str, Value]) -> bool:
    """Insert a row; false where the table refuses it."""
    try:
        rows.insert(primary, table, values)
    except apsw.ConstraintError:
        return False
    return True


def _settle_references(primary: apsw.Connection, dropped: Counter[str]) -> None:
    """Empty references to rows that are gone, or remove the row that cannot be without; counted by table."""
    query = """
        SELECT f."from", coalesce(f."to", 'id'), c."notnull" OR c.pk
          FROM pragma_foreign_key_list(?1) AS f JOIN pragma_table_info(?1) AS c ON c.name = f."from"
         WHERE f.id = ?2
    """
    broken = 'SELECT DISTINCT "table", parent, fkid FROM pragma_foreign_key_check'
    while found := list(primary.execute(broken)):
        for table, parent, key in found:
            ((column, target, is_required),) = primary.execute(query, (table, key))
            where = f'"{column}" NOT IN (SELECT "{target}" FROM "{parent}")'
            if is_required:
                primary.execute(f'DELETE FROM "{table}" WHERE {where}')
                dropped[table] += primary.changes()
            else:
                primary.execute(f'UPDATE "{table}" SET "{column}" = NULL WHERE {where}')


def _derive(change: Change, rebuilt: Counter[str]) -> None:
    """Make again what follows from the rest."""
    primary = change.connection
    for column in ("agent", "type", "priority"):
        labels = f"SELECT DISTINCT {column} FROM documents WHERE {column} <> ''"
        primary.execute(f"INSERT OR IGNORE INTO labels (text) {labels}")
    primary.execute("DELETE FROM error_terms")
    # What was repaired: the next call that matches signs it again.
    repaired = "json_extract(features, '$.message') = '' OR terms = '[]'"
    primary.execute(f"UPDATE error_signatures SET normaliser_version = 0 WHERE {repaired}")
    primary.execute(
        "INSERT OR IGNORE INTO error_terms (term, pattern_id)"
        " SELECT t.value, s.pattern_id FROM error_signatures AS s, json_each(s.terms) AS t"
    )
    unsigned = "WHERE id NOT IN (SELECT pattern_id FROM error_signatures)"
    query = f"SELECT id, project, error_type || ': ' || message FROM error_patterns {unsigned}"
    for pattern in list(primary.execute(query)):
        put_signature(change, *pattern)
        rebuilt["error_signatures"] += 1
    forget_memories(primary)

"""Records and their documents, each made again from the other: they say much the same.

    documents (kind, number, title, body, …)  ◄──►  packages, reasoning, error_patterns, strategies, skill_outputs

Which column of one is which of the other is what the catalogue says. What only a record knew (a package's version, an
error's project, unless an index knows it) is gone with it.
"""

from collections.abc import Mapping

import apsw

from ctxrank.indexer.care.page_reader import Value
from ctxrank.indexer.catalogue import as_row, kinds_with_documents, record_of
from ctxrank.indexer.declarations import LostRecord
from ctxrank.indexer.record_table import document_of
from ctxrank.indexer.store import documents, rows
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.store.store import Change

Known = Mapping[int, Mapping[str, Value]]  # by row number: the columns that the indexes of its table still hold


def rebuild_records(primary: apsw.Connection, lost: Mapping[str, Known]) -> dict[str, int]:
    """Make records again from their documents, and from what the indexes still hold; how many, by table."""
    rebuilt: dict[str, int] = {}
    for kind in kinds_with_documents():
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
            if insert(primary, table, values):
                rebuilt[table] = rebuilt.get(table, 0) + 1
    return rebuilt


def rebuild_documents(change: Change, lost: Known) -> int:
    """Make documents again from their records, under the id they had where that is known; returns how many."""
    primary = change.connection
    count = 0
    old_ids = {(known.get("kind"), known.get("record_id")): number for number, known in lost.items()}
    for kind in kinds_with_documents():
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
            count += 1
    if lost:
        # No rules are as old as this: the next scan reads every file, and puts back the passages that are missing.
        primary.execute("UPDATE artifacts SET ruleset = 0")
    return count


def insert(primary: apsw.Connection, table: str, values: Mapping[str, Value]) -> bool:
    """Insert a row; false where the table refuses it."""
    try:
        rows.insert(primary, table, values)
    except apsw.ConstraintError:
        return False
    return True

"""Records and their documents, each made again from the other: they say much the same.

    documents (kind, number, title, body, …)  ◄──►  packages, reasoning, error_patterns, strategies, skill_outputs

Which column of one is which of the other is what the catalogue says. What only a record knew (a package's version, an
error's project, unless an index knows it) is gone with it.
"""

from collections.abc import Mapping

import apsw

from ctxrank.indexer.care.page_reader import Value
from ctxrank.indexer.catalogue import as_row, kinds_with_documents, record_of
from ctxrank.indexer.declarations import Kind, LostRecord
from ctxrank.indexer.record_table import document_of
from ctxrank.indexer.store import documents
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
            values = {**record_of(kind, record), **_file_of(primary, kind, record), **known, "id": record.number}
            if insert(primary, table, values):
                rebuilt[table] = rebuilt.get(table, 0) + 1
    return rebuilt


def _file_of(primary: apsw.Connection, kind: Kind, record: LostRecord) -> dict[str, Value]:
    """The file that a record is of, where its kind has one: the first one at its path."""
    column = kind.table.reference_to("artifacts")
    if column is None:
        return {}
    row = primary.execute("SELECT min(id) FROM artifacts WHERE path = ?", (record.path,)).fetchone()
    return {column.name: None if row is None else row[0]}


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
            document_id = old_ids.get((kind.name, document.number))
            if document_id is not None:
                placeholder: dict[str, Value] = {
                    "id": document_id,
                    "seq": change.next_seq(),
                    "kind": kind.name,
                    "record_id": document.number,
                    "title": "",
                    "body": "",
                    "ruleset": 0,
                    "session_id": document.session_id,
                    "created_at": 0,
                }
                insert(primary, "documents", placeholder)
            documents.put(change, document)
            count += 1
    if lost:
        # No rules are as old as this: the next scan reads every file, and puts back the passages that are missing.
        primary.execute("UPDATE artifacts SET ruleset = 0")
    return count


def insert(primary: apsw.Connection, table: str, values: Mapping[str, Value]) -> bool:
    """Insert a row; false where the table refuses it."""
    names = ", ".join(values)
    places = ", ".join("?" * len(values))
    try:
        primary.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", tuple(values.values()))
    except apsw.ConstraintError:
        return False
    return True

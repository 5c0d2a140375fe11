"""Records of any kind, written and found by what the catalogue says of it.

number = insert(change, KINDS["reasoning"], {"session_id": 1, "agent": "developer", "content": "…", …})
revise(change, KINDS["reasoning"], number, {"agent_name": "Ada"})

Lists are read by `store/rows.py`, which a query can use without loading the catalogue.
"""

from collections.abc import Mapping

import apsw

from ctxrank.indexer.catalogue import as_row
from ctxrank.indexer.declarations import Kind, Row, Value
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store import documents, rows
from ctxrank.indexer.store.store import Change


def insert(change: Change, kind: Kind, values: Mapping[str, Value]) -> int:
    """Write a checked, redacted record by column and make it findable; returns its id.

    What is not mentioned has the schema's default; what is no column of the table is for the document.
    Raises UsageError for one that was purged.
    """
    refuse_blocked(change, kind, values)
    number = rows.insert(change.connection, kind.table.name, stored(kind, values))
    make_findable(change, kind, {**values, "id": values.get("id") or number})
    return number


def revise(change: Change, kind: Kind, number: int, values: Mapping[str, Value]) -> None:
    """Write columns over those of a record, and find it as it is now. Raises UsageError for a text that was purged."""
    before = read(change.connection, kind, number)
    if before is not None:
        record = {**before, **values}
        if any(record[name] != before[name] for name in kind.blocked):
            refuse_blocked(change, kind, record)
        rows.update(change.connection, kind.table.name, number, stored(kind, values))
        make_findable(change, kind, record)


def stored(kind: Kind, values: Row) -> dict[str, Value]:
    """Those of the values that are columns of the kind's table."""
    names = {column.name for column in kind.table.stored}
    return {name: value for name, value in values.items() if name in names}


def read(connection: apsw.Connection, kind: Kind, number: int) -> Row | None:
    """A record by column; None where there is none."""
    columns = ", ".join(column.name for column in kind.table.stored)
    found = connection.execute(f"SELECT {columns} FROM {kind.table.name} WHERE id = ?", (number,)).fetchone()
    return None if found is None else as_row(kind, found)


def make_findable(change: Change, kind: Kind, record: Row) -> None:
    """Make a record findable, or find it as it is now; a kind without documents is not."""
    if kind.document is not None:
        documents.put(change, document_of(kind, record))


def refuse_blocked(change: Change, kind: Kind, values: Row) -> None:
    """Raise UsageError for a record whose text was purged."""
    if kind.blocked:
        change.blocklist.refuse(kind.name, "\n".join(str(values[name]) for name in kind.blocked))


def document_of(kind: Kind, row: Row) -> documents.Document:
    """The document of a record, as saving the record makes it."""
    shape = kind.document
    assert shape is not None, "only kinds with a document are asked"
    superseded_by = row.get(shape.superseded_by)
    return documents.Document(
        kind=kind.name,
        number=_integer(row["id"]),
        title=shape.title(row),
        body=f"{row[shape.body]}{shape.appendix(row)}",
        created_at=_integer(row["created_at"]),
        ruleset=RULESET_VERSION,
        path=_label(row, shape.path),
        session_id=_integer(row.get("session_id")),
        group_id=_integer(row.get("group_id")),
        agent=_label(row, shape.agent),
        type=_label(row, shape.type),
        priority="low" if shape.is_low(row) else _label(row, shape.priority),
        superseded_by=superseded_by if isinstance(superseded_by, int) else None,
    )


def _integer(value: Value) -> int:
    return value if isinstance(value, int) else 0


def _label(row: Row, column: str) -> str:
    return str(row[column] or "") if column else ""

"""Imported records of kinds of which no more is to be known than what the catalogue says.

Each column is read by what it holds, and a record that is here with the same values is joined and not made again. A
kind whose records are more than a row and its document has a reader and a writer of its own.
"""

from collections.abc import Iterable

import apsw

from ctxrank.indexer.catalogue import Column, Kind, Meaning, Value, as_row, document_of
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.arrivals import Arrivals
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.run import Written
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.store import Change


class _Row(NamedTuple):
    """A record's own columns, and its session and group by name."""

    values: dict[str, Value]
    session: str | None
    group: str | None


class SimpleImport:
    """Brings in the records of one kind."""

    def __init__(self, arrivals: Arrivals, kind: Kind) -> None:
        self._arrivals = arrivals
        self._run = arrivals.run
        self._kind = kind
        self._required = _required_columns(self._run.store.primary, kind)

    def bring(self, lines: Iterable[Line]) -> None:
        """Bring in what is new or changed."""
        self._arrivals.bring(
            self._kind.name, lines, identity=self._kind.identity, prepare=self._prepare, write=self._write
        )

    def _prepare(self, fields: Fields, key: str) -> _Row:
        values: dict[str, Value] = {}
        for column in self._kind.table.stored:
            is_read = column.meaning is not Meaning.REFERENCE and column.name not in ("id", *self._kind.left_out)
            if is_read and (column.name in self._required or not fields.is_missing(column.key or column.name)):
                values[column.name] = _read(fields, column)
        session = fields.word("session") if self._kind.is_of_a_session else None
        return _Row(values, session, fields.optional_word("group"))

    def _write(self, change: Change, row: _Row, target: int | None) -> Written:
        kind, connection = self._kind, change.connection
        values = {**row.values, **self._place(change, row)}
        if kind.blocked:
            change.blocklist.refuse(kind.name, "\n".join(str(values[column]) for column in kind.blocked))
        try:
            if target is not None:
                changes = ", ".join(f"{name} = ?" for name in values)
                connection.execute(f"UPDATE {kind.table.name} SET {changes} WHERE id = ?", (*values.values(), target))
                if not connection.changes():
                    return Written(target, is_change=False)  # removed here
                self._put_document(change, target)
                return Written(target)
            if (twin := self._twin(change, values)) is not None:
                return Written(twin, is_change=False)
            places = ", ".join("?" * len(values))
            connection.execute(
                f"INSERT INTO {kind.table.name} ({', '.join(values)}) VALUES ({places})", tuple(values.values())
            )
        except apsw.ConstraintError as error:
            raise UsageError("its values cannot be stored") from error
        number = connection.last_insert_rowid()
        self._put_document(change, number)
        return Written(self._arrivals.claim(kind.name, number))

    def _place(self, change: Change, row: _Row) -> dict[str, Value]:
        """The row ids of a record's session and group."""
        if row.session is None:
            return {}
        session_id = self._arrivals.session_id(change, row.session)
        reference = self._kind.table.reference_to("groups")
        if reference is None:
            return {"session_id": session_id}
        created_at = row.values.get("created_at")
        moment = created_at if isinstance(created_at, int) else 0
        group_id = self._run.group_id(change, session_id, row.group, moment)
        return {"session_id": session_id, reference.name: reference.none if group_id is None else group_id}

    def _twin(self, change: Change, values: dict[str, Value]) -> int | None:
        """The record here that says all the same."""
        same = {"session_id": 0, **values}
        session_id = same.pop("session_id")
        owner = "session_id = ?" if "session_id" in values else "0 = ?"
        conditions = " AND ".join((owner, *(f"{name} IS ?" for name in same)))
        query = f"SELECT id FROM {self._kind.table.name} WHERE {conditions}"
        assert isinstance(session_id, int), "it was looked up a moment ago"
        return self._arrivals.twin(change, self._kind.name, session_id, query, tuple(same.values()))

    def _put_document(self, change: Change, number: int) -> None:
        if self._kind.document is not None:
            names = [column.name for column in self._kind.table.stored]
            query = f"SELECT {', '.join(names)} FROM {self._kind.table.name} WHERE id = ?"
            for row in change.connection.execute(query, (number,)).fetchall():
                documents.put(change, document_of(self._kind, as_row(self._kind, row)))


def _required_columns(primary: apsw.Connection, kind: Kind) -> set[str]:
    query = 'SELECT name FROM pragma_table_info(?) WHERE "notnull" AND dflt_value IS NULL'
    return {str(name) for (name,) in primary.execute(query, (kind.table.name,))}


def _read(fields: Fields, column: Column) -> Value:
    key = column.key or column.name
    if column.meaning is Meaning.TEXT:
        return fields.text(key)
    if column.meaning is Meaning.LINE:
        return fields.line(key)
    if column.meaning is Meaning.JSON:
        return fields.json(key, empty="null")
    if column.meaning is Meaning.TIME:
        return fields.moment(key)
    if column.meaning is Meaning.NUMBER:
        return fields.number(key)
    if column.meaning is Meaning.FLAG:
        return int(fields.flag(key))
    return fields.word(key)

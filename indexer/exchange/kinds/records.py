"""Imported records: each kind is read and written by what the catalogue says of its columns.

A record that is here already is joined and not made again. What a kind does beyond its columns is in `hooks`; sessions,
groups, packages and files are more than a row and its document, and have readers and writers of their own.
"""

from collections.abc import Iterable, Iterator

import apsw

from ctxrank.indexer.catalogue import document_of
from ctxrank.indexer.declarations import Column, Kind, Meaning, Table, Value
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.arrivals import Arrivals
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.kinds.hooks import HOOKS, Hooks
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.run import Written
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.connection import read_row, read_rows, read_value
from ctxrank.indexer.store.store import Change


class _Row(NamedTuple):
    """What a line says: values by column, and by names what each of the kind's references refers to."""

    values: dict[str, Value]
    references: tuple[tuple[str | None, ...], ...]


class _Same(NamedTuple):
    """The record here of an incoming one's identity, and its age."""

    id: int
    age: int


class _TwinQuery(NamedTuple):
    """Selects the records of a session that have the values of these columns."""

    sql: str
    columns: tuple[str, ...]


class RecordImport:
    """Brings in the records of one kind; their sessions must be here."""

    def __init__(self, arrivals: Arrivals, kind: Kind) -> None:
        self._arrivals = arrivals
        self._run = arrivals.run
        self._kind = kind
        self._hooks = HOOKS.get(kind.name, Hooks)()
        table = kind.table
        self._read = tuple(column for column in table.columns if _is_read(kind, column))
        self._references = tuple(column for column in table.stored if column.natural_keys)
        self._defaults = _defaults(self._run.store.primary, table)
        # A reference without natural keys means nothing in another store.
        self._columns = tuple(
            column.name
            for column in table.stored
            if column.name != table.key and (column.natural_keys or column.meaning is not Meaning.REFERENCE)
        )
        fixed = {"session_id", "created_at", *kind.identity}
        self._revised = kind.revised or tuple(name for name in self._columns if name not in fixed)
        self._moment = next(column.name for column in table.stored if column.meaning is Meaning.TIME)
        self._twins = _twin_queries(kind, self._columns)
        self._same = (
            f"SELECT id, {kind.ages_by} FROM {table.name} WHERE {' AND '.join(f'{name} = ?' for name in kind.identity)}"
        )
        places = ", ".join("?" * len(self._columns))
        self._insert = f"INSERT INTO {table.name} ({', '.join(self._columns)}) VALUES ({places})"

    def bring(self, lines: Iterable[Line]) -> None:
        """Bring in what is new or changed."""
        self._arrivals.bring(
            self._kind.name, lines, identity=self._kind.identity, prepare=self._prepare, write=self._write
        )

    def notes(self) -> Iterator[str]:
        """What a person should know about the records that came in."""
        return self._hooks.notes()

    def _prepare(self, fields: Fields, key: str) -> _Row:
        """What a line says is checked before what it does not say is missed."""
        references = tuple(tuple(_names(fields, column)) for column in self._references)
        values = dict(self._defaults)
        missing: list[Column] = []
        for column in self._read:
            if not fields.is_missing(column.exported_as):
                values[column.name] = _value(fields, column, is_required=column.name not in self._defaults)
            elif column.name not in values:
                missing.append(column)
        for column in missing:
            values[column.name] = _value(fields, column, is_required=True)
        self._hooks.complete(values, fields)
        return _Row(values, references)

    def _write(self, change: Change, row: _Row, target: int | None) -> Written:
        kind, connection = self._kind, change.connection
        if kind.is_the_same_everywhere:
            identity = tuple(row.values[name] for name in kind.identity)
            same = read_row(connection, self._same, identity, _Same)
            if same is None and target is not None:
                return Written(target, is_change=False)  # removed here
            if same is not None and target is None and same.age >= _number(row.values[kind.ages_by]):
                return Written(same.id, is_change=False)
            target = None if same is None else same.id
        if target is not None:
            return self._revise(change, row, target)
        values = {**row.values, **self._resolved(change, row, self._columns)}
        if (twin := self._twin(change, values)) is not None:
            return Written(twin, is_change=False)
        self._hooks.place(change, values, None)
        self._refuse_blocked(change, values)
        self._execute(connection, self._insert, tuple(values[name] for name in self._columns))
        number = connection.last_insert_rowid()
        self._finish(change, number, values)
        return Written(self._arrivals.claim(kind.name, number))

    def _revise(self, change: Change, row: _Row, number: int) -> Written:
        """Write what changed in the source over the record that it became."""
        kind = self._kind
        query = f"SELECT {', '.join(self._columns)} FROM {kind.table.name} WHERE id = ?"
        stored = change.connection.execute(query, (number,)).fetchone()
        if stored is None:
            return Written(number, is_change=False)  # removed here
        before: dict[str, Value] = dict(zip(self._columns, stored, strict=True))
        resolved = self._resolved(change, row, self._revised, session_id=before.get("session_id"))
        values = {**row.values, **before, **{name: row.values[name] for name in self._revised if name in row.values}}
        values.update(resolved)
        self._hooks.place(change, values, number)
        if any(values[name] != before[name] for name in kind.blocked):
            self._refuse_blocked(change, values)
        # What another table has is not compared.
        if len(kind.table.stored) == len(kind.table.columns) and all(values[name] == before[name] for name in before):
            return Written(number, is_change=False)
        places = ", ".join(f"{name} = ?" for name in self._revised)
        revised = (*(values[name] for name in self._revised), number)
        self._execute(change.connection, f"UPDATE {kind.table.name} SET {places} WHERE id = ?", revised)
        self._finish(change, number, values)
        return Written(number)

    def _resolved(
        self, change: Change, row: _Row, wanted: tuple[str, ...], *, session_id: Value = None
    ) -> dict[str, Value]:
        """The row ids of what the wanted references refer to. Raises UsageError where a session is not there."""
        ids: dict[str, Value] = {"session_id": session_id}
        for column, names in zip(self._references, row.references, strict=True):
            if column.name not in wanted:
                continue
            if column.refers_to == "sessions":
                id_: int | None = self._arrivals.session_id(change, names[0] or "")
            elif column.refers_to == "groups":
                moment = _number(row.values[self._moment])
                id_ = self._run.group_id(change, _number(ids["session_id"]), names[0], moment)
            else:
                keys = " AND ".join(f"{name} = ?" for _, name in column.natural_keys)
                id_ = read_value(change.connection, f"SELECT id FROM {column.refers_to} WHERE {keys}", names, int)
            ids[column.name] = column.none if id_ is None else id_
        return {name: id_ for name, id_ in ids.items() if name in wanted}

    def _twin(self, change: Change, values: dict[str, Value]) -> int | None:
        session_id = _number(values.get("session_id", 0))
        for twins in self._twins:
            found = self._arrivals.twin(
                change, self._kind.name, session_id, twins.sql, tuple(values[name] for name in twins.columns)
            )
            if found is not None:
                return found
        return None

    def _refuse_blocked(self, change: Change, values: dict[str, Value]) -> None:
        if self._kind.blocked:
            change.blocklist.refuse(self._kind.name, "\n".join(str(values[name]) for name in self._kind.blocked))

    def _execute(self, connection: apsw.Connection, query: str, values: tuple[Value, ...]) -> None:
        try:
            connection.execute(query, values)
        except apsw.ConstraintError as error:
            said, _, column = str(error).rpartition(".")
            if said.startswith("UNIQUE"):
                raise UsageError(f"another {self._kind.name} has its {column.replace('_', ' ')}") from error
            raise UsageError("its values are none that can be stored") from error

    def _finish(self, change: Change, number: int, values: dict[str, Value]) -> None:
        if self._kind.document is not None:
            documents.put(change, document_of(self._kind, {**values, "id": number}))
        self._hooks.written(change, number, values)


def _is_read(kind: Kind, column: Column) -> bool:
    """Whether an import reads a column as the line has it."""
    is_made_here = column.is_ours or column.name in (kind.table.key, *kind.left_out)
    return column.meaning is not Meaning.REFERENCE and not is_made_here


class _SchemaColumn(NamedTuple):
    name: str
    is_required: int
    default: str | None


def _defaults(primary: apsw.Connection, table: Table) -> dict[str, Value]:
    """What a line that says nothing of a column means, for those of which it need say nothing."""
    elsewhere: dict[str, Value] = {column.name: "" for column in table.columns if column.source}
    query = 'SELECT name, "notnull", dflt_value FROM pragma_table_info(?) WHERE NOT pk'
    columns = read_rows(primary, query, (table.name,), _SchemaColumn)
    return elsewhere | {
        column.name: _literal(column.default)
        for column in columns
        if column.default is not None or not column.is_required
    }


def _literal(default: str | None) -> Value:
    """The value of a DEFAULT, read and not evaluated: the schema may come with another user's file."""
    if default is None or default == "NULL":
        return None
    if default.startswith("'"):
        return default[1:-1].replace("''", "'")
    return float(default) if "." in default else int(default)


def _twin_queries(kind: Kind, columns: tuple[str, ...]) -> tuple[_TwinQuery, ...]:
    if kind.is_the_same_everywhere:
        return ()
    owner = "session_id" if kind.is_of_a_session else "0"
    every = tuple(name for name in columns if name != "session_id")
    # NULL is a group, but of anything else that it is known by it says nothing.
    nullable = every if not kind.twins else tuple(column.name for column in kind.table.stored if column.refers_to)
    return tuple(
        _TwinQuery(
            " AND ".join((
                f"SELECT id FROM {kind.table.name} WHERE {owner} = ?",
                *(f"{name} {'IS' if name in nullable else '='} ?" for name in twins),
            )) + " ORDER BY id",
            twins,
        )
        for twins in kind.twins or (every,)
    )  # fmt: skip


def _names(fields: Fields, reference: Column) -> Iterator[str | None]:
    for key, _ in reference.natural_keys:
        yield fields.word(key) if reference.is_owner else fields.optional_word(key)


def _value(fields: Fields, column: Column, *, is_required: bool) -> Value:
    """What a line says of a column, checked and redacted. Raises UsageError."""
    key, meaning = column.exported_as, column.meaning
    if meaning is Meaning.TEXT:
        return fields.text(key)
    if meaning is Meaning.LINE:
        return fields.line(key)
    if meaning is Meaning.JSON:
        return fields.json_list(key) if column.is_list else fields.json(key, empty="null")
    if meaning is Meaning.TIME:
        return fields.moment(key)
    if meaning is Meaning.NUMBER:
        return fields.number(key, least=column.least)
    if meaning is Meaning.SHARE:
        return fields.share(key, 0.0)
    if meaning is Meaning.FLAG:
        return int(fields.flag(key))
    if meaning is Meaning.WORD and column.words:
        return fields.choice(key, column.words)
    if column.is_agent:
        return fields.agent(key, None if is_required else "")
    return fields.word(key) if is_required and not column.may_be_blank else fields.name(key)


def _number(value: Value) -> int:
    assert isinstance(value, int), "row ids and moments are whole numbers"
    return value

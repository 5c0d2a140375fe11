"""Imported records: each kind is read and written by what the catalogue says of its columns.

A record that is here already is joined and not made again. What a kind does beyond its columns is in `hooks`; sessions,
groups, packages and files are more than a row and its document, and have readers and writers of their own.
"""

from collections.abc import Callable, Iterable, Iterator

import apsw

from ctxrank.indexer.catalogue import document_of
from ctxrank.indexer.declarations import Column, Kind, Meaning, Table, Value
from ctxrank.indexer.exceptions import DamagedError, UsageError
from ctxrank.indexer.exchange import joined
from ctxrank.indexer.exchange.arrivals import Arrivals
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.joined import COUNTED
from ctxrank.indexer.exchange.kinds.hooks import HOOKS, Hooks
from ctxrank.indexer.exchange.ledger import Entry
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.origins import Origin, is_uuid
from ctxrank.indexer.exchange.run import Written
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.connection import DAMAGED_STEP, read_row, read_rows, read_value
from ctxrank.indexer.store.ids import origin_code
from ctxrank.indexer.store.store import Change

Values = dict[str, Value]  # of a record, by column


class _Row(NamedTuple):
    """What a line says: its own values, and by names what each of the kind's references refers to."""

    values: Values
    references: tuple[tuple[str | None, ...], ...]
    number: int = 0  # by which its origin knows it; 0 where a line does not say whose it is
    project: str | None = None  # of its session
    of: str | None = None  # the store that the number is of, where that is not the line's origin


class _Same(NamedTuple):
    """The record here of an incoming one's identity, and when it was last seen."""

    id: int
    last_seen: int


class RecordImport:
    """Brings in the records of one kind; their sessions must be here."""

    def __init__(self, arrivals: Arrivals, kind: Kind) -> None:
        self._arrivals = arrivals
        self._run = arrivals.run
        self._kind = kind
        self._hooks = HOOKS.get(kind.name, Hooks)()
        table = kind.table
        self._references = tuple(column for column in table.stored if column.natural_keys)
        # A reference without natural keys means nothing in another store.
        self._columns = tuple(
            column.name
            for column in table.stored
            if column.name != table.key and (column.natural_keys or column.meaning is not Meaning.REFERENCE)
        )
        fixed = ("session_id", "created_at", *kind.identity)
        self._revised = kind.revised or tuple(name for name in self._columns if name not in fixed)
        self._moment = next(column.name for column in table.stored if column.meaning is Meaning.TIME)
        self._twin_queries = tuple(_twin_queries(kind, self._columns))
        self._defaults = _defaults(self._run.store.primary, table)
        made_here = (table.key, *kind.left_out)
        self._readers = tuple(
            (column.name, column.exported_as, _reader(column, is_required=column.name not in self._defaults))
            for column in table.columns
            if column.meaning is not Meaning.REFERENCE and not column.is_ours and column.name not in made_here
        )

    def bring(self, lines: Iterable[Line]) -> None:
        """Bring in what is new or changed."""
        kind = self._kind
        self._arrivals.bring(kind.name, lines, identity=kind.identity, prepare=self._prepare, write=self._write)

    def notes(self) -> Iterator[str]:
        """What a person should know about the records that came in."""
        return self._hooks.notes()

    def _prepare(self, fields: Fields, key: str) -> _Row:
        """What a line says is checked before what it does not say is missed."""
        references = tuple(tuple(_names(fields, column)) for column in self._references)
        values = dict(self._defaults)
        missing: list[tuple[str, Callable[[Fields], Value]]] = []
        for name, exported_as, read in self._readers:
            if not fields.is_missing(exported_as):
                values[name] = read(fields)
            elif name not in values:
                missing.append((name, read))
        for name, read in missing:  # says what it is; of JSON it is null, of a time of null the present
            values[name] = read(fields)
        self._hooks.complete(values, fields)
        if self._run.origin is None:
            return _Row(values, references)
        return _Row(values, references, fields.number("id", least=1), fields.optional_word("project"), _origin(fields))

    def _write(self, change: Change, row: _Row, target: int | None) -> Written:
        kind = self._kind
        if self._run.origin is not None:
            return self._write_of_origin(change, row, target, self._run.origin)
        if kind.is_the_same_everywhere:
            same = self._same(change, row)
            if same is None and target is not None:
                return Written(target, is_change=False)  # removed here
            if same is not None and target is None and same.last_seen >= _integer(row.values[kind.ages_by]):
                return Written(same.id, is_change=False)
            target = None if same is None else same.id
        if target is not None:
            return self._revise(change, row, target)
        values = row.values | self._resolved(change, row, self._columns)
        for query, columns in self._twin_queries:
            same_values = tuple(values[name] for name in columns)
            twin = self._arrivals.twin(change, kind.name, _integer(values.get("session_id", 0)), query, same_values)
            if twin is not None:
                return Written(twin, is_change=False)
        self._hooks.place(change, values, None)
        return Written(self._arrivals.claim(kind.name, self._insert(change, values)))

    def _insert(self, change: Change, values: Values, number: int | None = None) -> int:
        self._refuse_blocked(change, values)
        kind = self._kind
        places = ", ".join("?" * (len(self._columns) + 1))
        query = f"INSERT INTO {kind.table.name} (id, {', '.join(self._columns)}) VALUES ({places})"
        self._execute(change.connection, query, (number, *(values[name] for name in self._columns)))
        number = change.connection.last_insert_rowid() if number is None else number
        self._finish(change, number, values)
        return number

    def _write_of_origin(self, change: Change, row: _Row, target: int | None, origin: Origin) -> Written:
        """A record under the number that its origin gave it; one that all stores have is joined."""
        kind, number = self._kind, origin.local(row.number)
        if kind.name in COUNTED:
            return self._join(change, row, origin)
        if target is not None:
            return self._revise(change, row, target)
        values = row.values | self._resolved(change, row, self._columns)
        if kind.name == "event" and values["idempotency_key"] is not None:  # the second of one key is the first again
            same = "session_id = :session_id AND subtype = :subtype AND group_id = :group_id"
            query = f"SELECT id FROM events WHERE {same} AND idempotency_key = :idempotency_key"
            found = read_value(change.connection, query, values, int)
            if found is not None:
                return Written(found, is_change=False)
        return Written(self._insert(change, values, number))

    def _join(self, change: Change, row: _Row, origin: Origin) -> Written:
        """One row by its natural key: of counts each origin's own are kept and summed, of texts the younger stay, and
        it is as old as the first of them.
        """
        kind, values = self._kind, row.values
        maker = origin if row.of is None else Origin(row.of, origin_code(change.connection, row.of))
        number = maker.local(row.number)
        same = self._same(change, row)
        counts = joined.counts_of(kind.name, values)
        if row.of is None:
            here = number if same is None else same.id
            self._run.ledger.record(f"{kind.name} number", str(row.number), Entry("", here))
        if same is None:
            self._insert(change, values, number)
            joined.note_counts(change, kind.name, number, origin.code, counts)
            return Written(number)
        is_change = joined.count(change, kind.name, same.id, origin.code, counts)
        query = f"SELECT {', '.join(self._columns)} FROM {kind.table.name} WHERE id = ?"
        stored = change.connection.execute(query, (same.id,)).fetchone()
        assert stored is not None, "the record was just found"
        before: Values = dict(zip(self._columns, stored, strict=True))
        text = {name: values[name] for name in (*joined.TEXTS[kind.name], kind.ages_by)}
        is_younger = _younger(text, {name: before[name] for name in text}, kind.ages_by)
        first = min(_integer(values["created_at"]), _integer(before["created_at"]))
        new = {**(text if is_younger else {}), "created_at": first}
        if any(value != before[name] for name, value in new.items()):
            places = ", ".join(f"{name} = ?" for name in new)
            self._refuse_blocked(change, before | new)
            change.connection.execute(f"UPDATE {kind.table.name} SET {places} WHERE id = ?", (*new.values(), same.id))
            self._make_findable(change, same.id, before | new)
            if is_younger:
                self._hooks.written(change, same.id, {**row.values, **before, **new})
            is_change = True
        return Written(same.id, is_change=is_change, is_joined=True)

    def _same(self, change: Change, row: _Row) -> _Same | None:
        kind = self._kind
        identity = " AND ".join(f"{name} = ?" for name in kind.identity)
        query = f"SELECT id, {kind.ages_by} FROM {kind.table.name} WHERE {identity}"
        return read_row(change.connection, query, tuple(row.values[name] for name in kind.identity), _Same)

    def _revise(self, change: Change, row: _Row, number: int) -> Written:
        """Write what changed in the source over the record that it became."""
        kind = self._kind
        query = f"SELECT {', '.join(self._columns)} FROM {kind.table.name} WHERE id = ?"
        stored = change.connection.execute(query, (number,)).fetchone()
        if stored is None:
            return Written(number, is_change=False)  # removed here
        before: Values = dict(zip(self._columns, stored, strict=True))
        resolved = self._resolved(change, row, self._revised, session_id=before.get("session_id"))
        values = before | {name: value for name, value in row.values.items() if name not in before} | resolved
        values.update((name, row.values[name]) for name in self._revised if name not in resolved)
        if self._run.origin is None:
            self._hooks.place(change, values, number)
        is_same = all(values[name] == before[name] for name in before)
        if is_same and len(kind.table.stored) == len(kind.table.columns):  # what another table has is not compared
            return Written(number, is_change=False)
        if any(values[name] != before[name] for name in kind.blocked):
            self._refuse_blocked(change, values)
        places = ", ".join(f"{name} = ?" for name in self._revised)
        query = f"UPDATE {kind.table.name} SET {places} WHERE id = ?"
        self._execute(change.connection, query, (*(values[name] for name in self._revised), number))
        self._finish(change, number, values)
        return Written(number)

    def _resolved(self, change: Change, row: _Row, wanted: tuple[str, ...], *, session_id: Value = None) -> Values:
        """The row ids of what the wanted references refer to. Raises UsageError where a session is not there."""
        ids: Values = {}
        for column, names in zip(self._references, row.references, strict=True):
            if column.name not in wanted:
                continue
            found: int | None
            if column.refers_to == "sessions":
                moment = _integer(row.values[self._moment])
                session_id = found = self._arrivals.session_id(change, names[0] or "", row.project, moment)
            elif column.refers_to == "groups":
                moment = _integer(row.values[self._moment])
                found = self._run.group_id(change, _integer(session_id), names[0], moment)
            else:
                keys = " AND ".join(f"{name} = ?" for _, name in column.natural_keys)
                found = read_value(change.connection, f"SELECT id FROM {column.refers_to} WHERE {keys}", names, int)
            ids[column.name] = column.none if found is None else found
        return ids

    def _refuse_blocked(self, change: Change, values: Values) -> None:
        if self._kind.blocked:
            change.blocklist.refuse(self._kind.name, "\n".join(str(values[name]) for name in self._kind.blocked))

    def _execute(self, connection: apsw.Connection, query: str, values: tuple[Value, ...]) -> None:
        try:
            connection.execute(query, values)
        except apsw.ConstraintError as error:
            constraint, _, column = str(error).rpartition(".")
            if constraint.startswith("UNIQUE"):
                raise UsageError(f"another {self._kind.name} has its {column.replace('_', ' ')}") from error
            raise UsageError("its values cannot be stored") from error

    def _finish(self, change: Change, number: int, values: Values) -> None:
        self._make_findable(change, number, values)
        self._hooks.written(change, number, values)

    def _make_findable(self, change: Change, number: int, values: Values) -> None:
        if self._kind.document is not None:
            documents.put(change, document_of(self._kind, values | {"id": number}))


def _twin_queries(kind: Kind, columns: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """SQL that selects the records of a session (the first value) by columns, and these columns."""
    if kind.is_the_same_everywhere:
        return
    every = tuple(name for name in columns if name != "session_id")
    # No group is a group like others; of all else that a record is known by NULL says nothing.
    nullable = tuple(column.name for column in kind.table.stored if column.refers_to) if kind.twins else every
    session_id = "session_id" if kind.is_of_a_session else "0"
    for twins in kind.twins or (every,):
        same = " AND ".join(f"{name} {'IS' if name in nullable else '='} ?" for name in twins)
        yield f"SELECT id FROM {kind.table.name} WHERE {session_id} = ? AND {same} ORDER BY id", twins


class _SchemaColumn(NamedTuple):
    name: str
    is_required: int
    default: str | None


def _defaults(primary: apsw.Connection, table: Table) -> Values:
    """What it means that a line does not mention a column, for those that it need not mention."""
    query = 'SELECT name, "notnull", dflt_value FROM pragma_table_info(?) WHERE NOT pk'
    columns = read_rows(primary, query, (table.name,), _SchemaColumn)
    defaults: Values = {column.name: "" for column in table.columns if column.source}
    defaults.update((column.name, _literal(column)) for column in columns if column.default or not column.is_required)
    return defaults


def _literal(column: _SchemaColumn) -> Value:
    """The value of a DEFAULT, read and not evaluated: the schema may have come with another user's file."""
    default = column.default or "NULL"
    if default == "NULL":
        return None
    if default.startswith("'"):
        return default[1:-1].replace("''", "'")
    try:
        return float(default) if "." in default else int(default)
    except ValueError as error:
        raise DamagedError(f"The default of {column.name} is none of ctxrank's.", DAMAGED_STEP) from error


def _names(fields: Fields, reference: Column) -> Iterator[str | None]:
    for key, _ in reference.natural_keys:
        yield fields.word(key) if reference.is_owner else fields.optional_word(key)


def _reader(column: Column, *, is_required: bool) -> Callable[[Fields], Value]:
    """What reads a column's value from a line, checks it and redacts it."""
    key = column.exported_as
    if column.words:
        return lambda fields: fields.choice(key, column.words)
    if column.is_agent:
        return lambda fields: fields.agent(key, None if is_required else "")
    if column.is_list:
        return lambda fields: fields.json_list(key)
    readers: dict[Meaning, Callable[[Fields], Value]] = {
        Meaning.TEXT: lambda fields: fields.text(key),
        Meaning.LINE: lambda fields: fields.line(key),
        Meaning.JSON: lambda fields: fields.json(key, empty="null"),
        Meaning.TIME: lambda fields: fields.moment(key),
        Meaning.NUMBER: lambda fields: fields.number(key, least=column.least),
        Meaning.SHARE: lambda fields: fields.share(key, 0.0),
        Meaning.FLAG: lambda fields: int(fields.flag(key)),
    }
    may_be_blank = column.may_be_blank or not is_required
    return readers.get(column.meaning, lambda fields: fields.name(key) if may_be_blank else fields.word(key))


def _origin(fields: Fields) -> str | None:
    """The store whose number a line has. Raises UsageError."""
    uuid = fields.optional_word("of")
    if uuid is not None and not is_uuid(uuid):
        raise UsageError("its 'of' is not the uuid of a store")
    return uuid


def _younger(one: Values, other: Values, ages_by: str) -> bool:
    """Which of two versions of a text stays: the younger, and of equal ones the same everywhere."""
    order = [repr([values[ages_by], sorted((name, str(value)) for name, value in values.items())])
             for values in (one, other)]  # fmt: skip
    moments = _integer(one[ages_by]), _integer(other[ages_by])
    return moments[0] > moments[1] or (moments[0] == moments[1] and order[0] > order[1])


def _integer(value: Value) -> int:
    assert isinstance(value, int), "row ids and moments are whole numbers"
    return value

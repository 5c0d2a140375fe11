"""Imported records: each kind is read and written by what the catalogue says of its columns.

A record that is here already is joined and not made again. What a kind does beyond its columns is in `hooks`; sessions,
groups, packages and files are more than a row and its document, and have readers and writers of their own.
"""

import contextlib
from collections.abc import Generator, Iterable, Iterator

import apsw

from ctxrank.indexer.declarations import Column, Kind, Meaning, Value
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange import merge
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.kinds.columns import ColumnReader, Values
from ctxrank.indexer.exchange.kinds.hooks import HOOKS, Hooks
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.merge import COUNTED
from ctxrank.indexer.exchange.register import Origin
from ctxrank.indexer.exchange.run import ImportRun, Written
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.record_table import insert, revise
from ctxrank.indexer.record_table import read as read_record
from ctxrank.indexer.store.connection import read_row, read_value
from ctxrank.indexer.store.ids import origin_code
from ctxrank.indexer.store.store import Change

# SQL that selects the records of a session (the first value) by values of an incoming record, and the columns of these.
TwinQuery = tuple[str, tuple[str, ...]]


class _Row(NamedTuple):
    """What a line says: its own values, and by names what each of the kind's references refers to."""

    values: Values
    references: tuple[tuple[Column, tuple[str | None, ...]], ...]
    number: int = 0  # by which its origin knows it; 0 where a line does not say whose it is
    project: str | None = None  # of its session
    of: str | None = None  # the store that the number is of, where that is not the line's origin


class _Same(NamedTuple):
    """The record here of an incoming one's identity, and when it was last seen."""

    id: int
    last_seen: int


class RecordImport:
    """Brings in the records of one kind; their sessions must be here."""

    def __init__(self, run: ImportRun, kind: Kind, twins: TwinQuery | None = None) -> None:
        self._run = run
        self._kind = kind
        self._hooks = HOOKS.get(kind.name, Hooks)()
        table = kind.table
        # A reference without natural keys means nothing in another store.
        self._columns = tuple(
            column.name
            for column in table.stored
            if column.name != table.key and (column.natural_keys or column.meaning is not Meaning.REFERENCE)
        )
        fixed = ("session_id", "created_at", *kind.identity)
        self._revised = kind.revised or tuple(name for name in self._columns if name not in fixed)
        self._moment = next(column.name for column in table.stored if column.meaning is Meaning.TIME)
        self._twin_queries = (*_twin_queries(kind, self._columns), *([twins] if twins else []))
        self._reader = ColumnReader(run.store.primary, kind)

    def bring(self, lines: Iterable[Line]) -> None:
        """Bring in what is new or changed."""
        kind = self._kind
        self._run.bring_lines(kind.name, lines, kind.identity, self._prepare, self._write)

    def notes(self) -> Iterator[str]:
        """What a person should know about the records that came in."""
        return self._hooks.notes()

    def _prepare(self, fields: Fields, key: str) -> _Row:
        references = tuple(self._reader.references(fields))
        values = self._reader.values(fields)
        self._hooks.complete(values, fields)
        if self._run.origin is None:
            return _Row(values, references)
        return _Row(
            values, references, fields.number("id", least=1), fields.optional_word("project"), fields.store("of")
        )

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
            twin = self._run.twin(change, kind.name, _integer(values.get("session_id", 0)), query, same_values)
            if twin is not None:
                return Written(twin, is_change=False)
        self._hooks.place(change, values, None)
        return Written(self._run.claim(kind.name, self._insert(change, values)))

    def _insert(self, change: Change, values: Values, number: int | None = None) -> int:
        with _refusals(self._kind):
            number = insert(change, self._kind, {"id": number, **{name: values[name] for name in self._columns}})
        self._hooks.written(change, number, values)
        return number

    def _write_of_origin(self, change: Change, row: _Row, target: int | None, origin: Origin) -> Written:
        """A record under the number that its origin gave it; one that all stores have is merge."""
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
        counts = merge.counts_of(kind.name, values)
        if row.of is None:
            here = number if same is None else same.id
            self._run.ledger.record(f"{kind.name} number", str(row.number), "", here)
        if same is None:
            self._insert(change, values, number)
            merge.note_counts(change, kind.name, number, origin.code, counts)
            return Written(number)
        is_change = merge.count(change, kind.name, same.id, origin.code, counts)
        before = dict(read_record(change.connection, kind, same.id) or {})
        text = {name: values[name] for name in (*kind.texts, kind.ages_by)}
        is_younger = _younger(text, {name: before[name] for name in text}, kind.ages_by)
        first = min(_integer(values["created_at"]), _integer(before["created_at"]))
        new = {**(text if is_younger else {}), "created_at": first}
        if any(value != before[name] for name, value in new.items()):
            revise(change, kind, same.id, new)
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
        here = read_record(change.connection, kind, number)
        if here is None:
            return Written(number, is_change=False)  # removed here
        before: Values = {name: here[name] for name in self._columns}
        resolved = self._resolved(change, row, self._revised, session_id=before.get("session_id"))
        values = before | {name: value for name, value in row.values.items() if name not in before} | resolved
        values.update((name, row.values[name]) for name in self._revised if name not in resolved)
        if self._run.origin is None:
            self._hooks.place(change, values, number)
            if kind.counts:  # what was counted here stays counted
                merge.keep_counts(change.connection, kind.name, number, values)
        is_same = all(values[name] == before[name] for name in before)
        if is_same and len(kind.table.stored) == len(kind.table.columns):  # what another table has is not compared
            return Written(number, is_change=False)
        with _refusals(kind):
            revise(change, kind, number, {name: values[name] for name in self._revised})
        self._hooks.written(change, number, values)
        return Written(number)

    def _resolved(self, change: Change, row: _Row, wanted: tuple[str, ...], *, session_id: Value = None) -> Values:
        """The row ids of what the wanted references refer to. Raises UsageError where a session is not there."""
        ids: Values = {}
        for column, names in row.references:
            if column.name not in wanted:
                continue
            found: int | None
            if column.refers_to == "sessions":
                moment = _integer(row.values[self._moment])
                session_id = found = self._run.session_id(change, names[0] or "", row.project, moment)
            elif column.refers_to == "groups":
                moment = _integer(row.values[self._moment])
                found = self._run.group_id(change, _integer(session_id), names[0], moment)
            else:
                keys = " AND ".join(f"{name} = ?" for _, name in column.natural_keys)
                found = read_value(change.connection, f"SELECT id FROM {column.refers_to} WHERE {keys}", names, int)
            ids[column.name] = column.none if found is None else found
        return ids


@contextlib.contextmanager
def _refusals(kind: Kind) -> Generator[None, None, None]:
    """What the schema refuses is a record that cannot be used."""
    try:
        yield
    except apsw.ConstraintError as error:
        constraint, _, column = str(error).rpartition(".")
        if constraint.startswith("UNIQUE"):
            raise UsageError(f"another {kind.name} has its {column.replace('_', ' ')}") from error
        raise UsageError("its values cannot be stored") from error


def _twin_queries(kind: Kind, columns: tuple[str, ...]) -> Iterator[TwinQuery]:
    """What selects the records that are the same as an incoming one."""
    if kind.is_the_same_everywhere:
        return
    every = tuple(name for name in columns if name != "session_id")
    # No group is a group like others; of all else that a record is known by NULL says nothing.
    nullable = tuple(column.name for column in kind.table.stored if column.refers_to) if kind.twins else every
    session_id = "session_id" if kind.is_of_a_session else "0"
    for twins in kind.twins or (every,):
        same = " AND ".join(f"{name} {'IS' if name in nullable else '='} ?" for name in twins)
        yield f"SELECT id FROM {kind.table.name} WHERE {session_id} = ? AND {same} ORDER BY id", twins


def _younger(one: Values, other: Values, ages_by: str) -> bool:
    """Which of two versions of a text stays: the younger, and of equal ones the same everywhere."""
    order = [
        repr([values[ages_by], sorted((name, str(value)) for name, value in values.items())]) for values in (one, other)
    ]
    moments = _integer(one[ages_by]), _integer(other[ages_by])
    return moments[0] > moments[1] or (moments[0] == moments[1] and order[0] > order[1])


def _integer(value: Value) -> int:
    assert isinstance(value, int), "row ids and moments are whole numbers"
    return value

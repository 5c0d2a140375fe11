"""Imported records: each kind is read, checked, redacted and written by what the catalogue says of its columns.

What a kind does beyond its columns is in its hooks. Only files are more than a row and its document, and have a reader
and a writer of their own.
"""

import contextlib
import json
from collections.abc import Callable, Generator, Iterable, Sequence

import apsw

from ctxrank.indexer.declarations import Column, Kind, Meaning, Row, Table, Value
from ctxrank.indexer.exceptions import DamagedError, UsageError
from ctxrank.indexer.exchange import merge
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.kinds.hooks import Hooks
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.register import LineIdentity
from ctxrank.indexer.exchange.run import LOST_HERE, ImportRun, Written
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.record_table import read, revise
from ctxrank.indexer.store import origins
from ctxrank.indexer.store.connection import DAMAGED_STEP, read_value
from ctxrank.indexer.store.imported_rows import write_entry
from ctxrank.indexer.store.rows import update
from ctxrank.indexer.store.store import Change

Values = dict[str, Value]  # of a record, by column
# What a store that is not accepted has counted counts nothing.
_UNVOUCHED: dict[str, Values] = {
    "error": {"confirmations": 0, "refutations": 0, "state": "sighted", "confidence": 0.5},
    "strategy": {"helpfulness": 0},
}


class RecordLine(NamedTuple):
    """What a line says: its own values, and by names what each of the kind's references refers to."""

    values: Values
    references: tuple[tuple[Column, tuple[str | None, ...]], ...]
    said: object  # beyond the columns, as the kind's hooks read it
    number: int  # by which its origin knows it
    project: str | None  # of its session
    of: str | None  # the store that the number is of, where that is not the line's origin


class RecordImport:
    """Brings in the records of one kind; their sessions must be here."""

    def __init__(self, run: ImportRun, kind: Kind, hooks: Hooks) -> None:
        self.run = run
        self.kind = kind
        self._hooks = hooks
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
        self._defaults = _defaults(run.store.primary, table)
        made_here = (table.key, *kind.left_out)
        self._readers = tuple(
            (column.name, column.exported_as, _reader(column, is_required=column.name not in self._defaults))
            for column in table.columns
            if column.meaning is not Meaning.REFERENCE and not column.is_ours and column.name not in made_here
        )

    def bring(self, lines: Iterable[Line]) -> None:
        """Bring in what is new or changed."""
        self.run.bring_lines(self.kind.name, lines, self._prepare, self._write)

    def _prepare(self, fields: Fields, identity: LineIdentity) -> RecordLine:
        references = tuple(
            (column, tuple((fields.word if column.is_owner else fields.optional_word)(key) for key, _ in keys))
            for column in self.kind.table.stored
            if (keys := column.natural_keys)
        )
        values = self._values(fields)
        said = self._hooks.complete(values, fields, identity)
        project, of = fields.optional_word("project"), fields.store("of")
        return RecordLine(values, references, said, identity.number, project, of)

    def _values(self, fields: Fields) -> Values:
        """The values of a line; what it says is checked before what it does not say is missed. Raises UsageError."""
        values = dict(self._defaults)
        missing: list[tuple[str, Callable[[Fields], Value]]] = []
        for name, exported_as, reader in self._readers:
            if not fields.is_missing(exported_as):
                values[name] = reader(fields)
            elif name not in values:
                missing.append((name, reader))
        for name, reader in missing:  # says what it is; of JSON it is null, of a time of null the present
            values[name] = reader(fields)
        return values

    def _write(self, change: Change, row: RecordLine, target: int | None) -> Written:
        if self.kind.is_container:
            return self._merge(change, row, target)
        if self.kind.counts:
            return self._join(change, row)
        pruned = "SELECT 1 FROM record_log WHERE kind = ? AND number = ? AND number < 0 AND gone = 1"
        if target is not None and not change.connection.execute(pruned, (self.kind.name, target)).get:
            return self.revise(change, row, target)
        values = row.values | self._resolved(change, row, self._columns)
        here = self._twin(change, values)
        if here is not None:
            return Written(here, is_change=False)
        return Written(self._insert(change, row, values, self.run.origin.local(row.number) or None))

    def _twin(self, change: Change, values: Values) -> int | None:
        """The record here that a new one repeats."""
        return self._same(change, self.kind.unique, values) if self.kind.unique else None

    def _same(self, change: Change, names: Sequence[str], values: Values) -> int | None:
        """The record here that has these values, none of which is NULL."""
        same = " AND ".join(f"{name} = :{name}" for name in names)
        return read_value(change.connection, f"SELECT id FROM {self.kind.table.name} WHERE {same}", values, int)

    def _insert(self, change: Change, row: RecordLine, values: Values, number: int | None) -> int:
        with _refusals(self.kind):
            number = self._hooks.insert(change, {"id": number, **values}, row.said)
        self._hooks.written(change, number, values, row.said, is_new=True)
        return number

    def _merge(self, change: Change, row: RecordLine, target: int | None) -> Written:
        """A session or a group: what it is says the store that made it first."""
        kind, origin = self.kind, self.run.origin
        values = row.values | self._resolved(change, row, self._columns)
        name, moment = str(values["name"]), _integer(values["created_at"])
        number: int | None
        if "session_id" in values:
            number = self.run.group_id(change, _integer(values["session_id"]), name, moment)
        else:
            number = self.run.session_id(change, name, str(values["project"]), moment)
        assert number is not None, "a group's line names a group"
        first = merge.maker(moment if origin.is_accepted else merge.AFTER_ALL + moment, origin.uuid)
        is_first = first <= merge.maker_of(change.connection, kind, number)
        if is_first:
            merge.note_maker(change, kind.name, number, first if origin.code else "")
            said = {name: value for name, value in row.values.items() if name not in kind.identity}
            update(change.connection, kind.table.name, number, said)
        self._hooks.written(change, number, values, row.said, is_new=False)
        return Written(number, is_change=is_first or bool(row.said))

    def _join(self, change: Change, row: RecordLine) -> Written:
        """One row by its natural key: of counts each origin's own are kept and summed, of texts and their date the
        younger stay.
        """
        kind, values, origin = self.kind, row.values, self.run.origin
        number = self.run.maker(change, row.of).local(row.number) if row.number else None
        same = self._same(change, kind.identity, values)
        if row.of is None and number is not None:
            numbered = f"{kind.name} number"
            write_entry(change.connection, self.run.source, numbered, row.number, "", same or number)
        if same is None:
            if not origin.may_add:
                raise UsageError(LOST_HERE)
            unvouched = {} if origin.is_accepted else _UNVOUCHED.get(kind.name, {})
            same = self._insert(change, row, values | unvouched, number)
            merge.note_counts(change, kind, same, origin.code, merge.counts_of(kind, values))
            return Written(same)
        if number is not None and not origin.code:  # a file that says it is ours is no newer than what is here
            return Written(same, is_change=False)
        is_change = merge.count(change, kind, same, origin.code, self._counts(change, same, values))
        before = dict(read(change.connection, kind, same) or {})
        text = {name: values[name] for name in (*kind.texts, kind.ages_by, "created_at")}
        is_younger = _age(text, kind.ages_by) > _age({name: before[name] for name in text}, kind.ages_by)
        # A stranger's text stands in the place of no other's.
        if is_younger and (origin.is_accepted or not origins.is_vouched(change.connection, kind.name, same)):
            revise(change, kind, same, text)
            self._hooks.written(change, same, {**values, **before, **text}, row.said, is_new=False)
            is_change = True
        return Written(same, is_change=is_change, is_joined=True)

    def _counts(self, change: Change, number: int, values: Values) -> merge.Counts:
        """What the origin counted of a record that is here."""
        return merge.counts_of(self.kind, values)

    def revise(self, change: Change, row: RecordLine, number: int) -> Written:
        """Write what changed in the source over the record that it became."""
        kind = self.kind
        before = read(change.connection, kind, number)
        if before is None:
            return Written(number, is_change=False)  # removed here
        values = {**row.values, **before} | {name: row.values[name] for name in self._revised if name in row.values}
        values |= self._resolved(change, row, self._revised, session_id=before.get("session_id"))
        self._hooks.place(change, values, before)
        said = {name: values[name] for name in self._revised}
        is_same = all(values[name] == before.get(name) for name in said)
        if is_same and row.said is None and len(kind.table.stored) == len(kind.table.columns):  # else more may differ
            return Written(number, is_change=False)
        with _refusals(kind):
            revise(change, kind, number, said)
        self._hooks.written(change, number, values, row.said, is_new=False)
        return Written(number)

    def _resolved(
        self, change: Change, row: RecordLine, wanted: tuple[str, ...], *, session_id: Value = None
    ) -> Values:
        """The row ids of what the wanted references refer to. Raises UsageError where a session is not there."""
        ids: Values = {}
        for column, names in row.references:
            if column.name not in wanted:
                continue
            found: int | None
            moment = _integer(row.values[self._moment])
            if column.refers_to == "sessions":
                session_id = found = self.run.session_id(change, names[0] or "", row.project, moment)
            elif column.refers_to == "groups":
                found = self.run.group_id(change, _integer(session_id), names[0], moment)
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


def _age(text: Row, ages_by: str) -> tuple[int, str]:
    """Which of two versions of a text stays: the one of the larger age, which is the same everywhere."""
    return _integer(text[ages_by]), repr(sorted((name, str(value)) for name, value in text.items()))


def _integer(value: Value) -> int:
    assert isinstance(value, int), "row ids and moments are whole numbers"
    return value


def _defaults(primary: apsw.Connection, table: Table) -> Values:
    """What it means that a line does not mention a column, for those that it need not mention."""
    defaults: Values = {column.name: "" for column in table.columns if column.source}
    query = """
        SELECT name, coalesce(dflt_value, 'NULL') FROM pragma_table_info(?)
         WHERE NOT pk AND ("notnull" = 0 OR dflt_value <> '')
    """
    for name, default in primary.execute(query, (table.name,)):
        # A DEFAULT is read and not evaluated: the schema may have come with another user's file.
        try:
            defaults[name] = None if default == "NULL" else default[1:-1] if default[0] == "'" else json.loads(default)
        except ValueError as error:
            raise DamagedError(f"The default of {name} is none of ctxrank's.", DAMAGED_STEP) from error
    return defaults


_READERS: dict[Meaning, Callable[[Fields, str], Value]] = {
    Meaning.TEXT: Fields.text,
    Meaning.LINE: Fields.line,
    Meaning.PATH: Fields.text,
    Meaning.JSON: Fields.json,
    Meaning.TIME: Fields.moment,
    Meaning.SHARE: Fields.share,
    Meaning.FLAG: Fields.flag,
}


def _reader(column: Column, *, is_required: bool) -> Callable[[Fields], Value]:
    """What reads a column's value from a line, checks it and redacts it."""
    key = column.exported_as
    if column.words:
        return lambda fields: fields.choice(key, column.words)
    if column.is_agent:
        return lambda fields: fields.agent(key, None if is_required else "")
    if column.meaning is Meaning.NUMBER:
        return lambda fields: fields.number(key, least=column.least)
    named = Fields.name if column.may_be_blank or not is_required else Fields.word
    read = Fields.json_list if column.replacement == "'[]'" else _READERS.get(column.meaning, named)
    return lambda fields: read(fields, key)

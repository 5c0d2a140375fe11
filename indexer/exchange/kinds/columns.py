"""What a line says of a record, by column: read, checked and redacted as the catalogue says of each column."""

from collections.abc import Callable, Iterator

import apsw

from ctxrank.indexer.declarations import Column, Kind, Meaning, Table, Value
from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import DAMAGED_STEP, read_rows

Values = dict[str, Value]  # of a record, by column


class ColumnReader:
    """Reads the lines of one kind."""

    def __init__(self, primary: apsw.Connection, kind: Kind) -> None:
        table = kind.table
        self._references = tuple(column for column in table.stored if column.natural_keys)
        self._defaults = _defaults(primary, table)
        made_here = (table.key, *kind.left_out)
        self._readers = tuple(
            (column.name, column.exported_as, _reader(column, is_required=column.name not in self._defaults))
            for column in table.columns
            if column.meaning is not Meaning.REFERENCE and not column.is_ours and column.name not in made_here
        )

    def values(self, fields: Fields) -> Values:
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

    def references(self, fields: Fields) -> Iterator[tuple[Column, tuple[str | None, ...]]]:
        """Each reference of the kind, and by which names a line says it. Raises UsageError."""
        for column in self._references:
            say = fields.word if column.is_owner else fields.optional_word
            yield column, tuple(say(key) for key, _ in column.natural_keys)


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
        Meaning.PATH: lambda fields: fields.text(key),
        Meaning.JSON: lambda fields: fields.json(key, empty="null"),
        Meaning.TIME: lambda fields: fields.moment(key),
        Meaning.NUMBER: lambda fields: fields.number(key, least=column.least),
        Meaning.SHARE: lambda fields: fields.share(key),
        Meaning.FLAG: lambda fields: int(fields.flag(key)),
    }
    may_be_blank = column.may_be_blank or not is_required
    return readers.get(column.meaning, lambda fields: fields.name(key) if may_be_blank else fields.word(key))

"""What the tables of a primary database look like: their columns, which of them number the rows, their indexes.

Read from an empty file of the same schema, never from the damaged one.
"""

import apsw

from ctxrank.extensions.salvage.pages import Record, Value
from ctxrank.indexer.light_typing import NamedTuple

SEQUENCE_TABLE = "sqlite_sequence"  # SQLite's own: the highest id that each table has given away
_TYPES: dict[str, tuple[type, ...]] = {
    "INTEGER": (int,),
    "TEXT": (str,),
    "REAL": (int, float),  # a whole number is stored as an integer
    "BLOB": (bytes,),
    "": (int, float, str, bytes),
}


class TableColumn(NamedTuple):
    """A column as it was declared."""

    name: str
    type: str
    can_be_null: bool
    has_default: bool

    def takes(self, value: Value) -> bool:
        """Whether the column can hold this value."""
        return self.can_be_null if value is None else isinstance(value, _TYPES[self.type])


class IndexLayout(NamedTuple):
    """An index: its columns by their places in the table. Each entry ends with the row's number."""

    name: str
    columns: tuple[int, ...]
    is_partial: bool


class TableLayout(NamedTuple):
    """A table; `number_at` is the place of the column that is the row's number, -1 where there is none."""

    name: str
    columns: tuple[TableColumn, ...]
    number_at: int
    has_rowid: bool
    root: int
    indexes: tuple[IndexLayout, ...]

    def with_any_values(self) -> "TableLayout":
        """The same, with columns that take whatever is stored: only tables of ours are STRICT."""
        return self._replace(columns=tuple(column._replace(type="", can_be_null=True) for column in self.columns))

    def row(self, record: Record) -> tuple[Value, ...] | None:
        """The record as a row of this table, as far as it goes; None where it cannot be one."""
        values = list(record.values)
        if not max(self.number_at, 0) < len(values) <= len(self.columns):
            return None
        if self.number_at >= 0:
            if values[self.number_at] is not None:  # it is stored as NULL: the number precedes the record
                return None
            values[self.number_at] = record.rowid
        if not all(column.takes(value) for column, value in zip(self.columns, values, strict=False)):
            return None
        if not all(column.has_default or column.can_be_null for column in self.columns[len(values) :]):
            return None
        return tuple(values)


def read_layout(empty: apsw.Connection) -> list[TableLayout]:
    """The tables of an empty file, sqlite_sequence among them."""
    query = """
        SELECT s.name, s.rootpage, coalesce(NOT l.wr, 1)
          FROM sqlite_schema AS s LEFT JOIN pragma_table_list AS l ON l.schema = 'main' AND l.name = s.name
         WHERE s.type = 'table' ORDER BY s.rootpage
    """
    tables: list[TableLayout] = []
    for name, root, has_rowid in list(empty.execute(query)):
        rows = list(empty.execute(f'PRAGMA table_info("{name}")'))
        keys = [place for place, *_, key in rows if key]
        # Stored as NULL, and given from outside.
        number_at = keys[0] if has_rowid and len(keys) == 1 and rows[keys[0]][2] == "INTEGER" else -1
        columns = tuple(
            TableColumn(column, type_, place == number_at or not (is_required or key), default is not None)
            for place, column, type_, is_required, default, key in rows
        )
        indexes: list[IndexLayout] = []
        for _, index, _, _, is_partial in list(empty.execute(f'PRAGMA index_list("{name}")')):
            places = [place for _, place, *_ in empty.execute(f'PRAGMA index_xinfo("{index}")')]
            if places[-1] == -1:  # the key of a table without row numbers has none
                indexes.append(IndexLayout(index, tuple(places[:-1]), bool(is_partial)))
        tables.append(TableLayout(name, columns, number_at, bool(has_rowid), root, tuple(indexes)))
    return tables

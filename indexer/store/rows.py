"""Rows of the tables: written by column, read as values whose fields name the columns.

insert(connection, "events", {"session_id": 1, "subtype": "note", "created_at": now})      the id of the new row
read_where(primary, "events", Event, {"id": 3})                                            the first such row, or None
list_where(primary, "events", Event, {"session": "shop", "subtype": None})                 all subtypes: None is any

A field `session` or `group` is the name of what `session_id` or `group_id` refers to.
"""

from collections.abc import Mapping

import apsw

from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.store.connection import Page, read_page, read_row

if TYPE_CHECKING:
    from typing import TypeVar

    from ctxrank.indexer.light_typing import NamedTuple

    Row = TypeVar("Row", bound=NamedTuple)

Value = str | int | float | None
_NAMES = {"session": "s.name", "group": "g.name"}


def insert(connection: apsw.Connection, table: str, values: Mapping[str, Value | bytes]) -> int:
    """Write a row by column; returns its number. What is not mentioned has the schema's default."""
    places = ", ".join("?" * len(values))
    connection.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({places})", tuple(values.values()))
    return connection.last_insert_rowid()


def update(connection: apsw.Connection, table: str, number: int, values: Mapping[str, Value], key: str = "id") -> bool:
    """Write columns over those of a row, by the column that numbers the rows; whether there is such a row."""
    places = ", ".join(f"{name} = ?" for name in values)
    connection.execute(f"UPDATE {table} SET {places} WHERE {key} = ?", (*values.values(), number))
    return bool(connection.changes())


def read_where(
    connection: apsw.Connection, table: str, row_type: "type[Row]", wanted: Mapping[str, Value]
) -> "Row | None":
    """The first row that has these values."""
    query, values = _selected(table, row_type, wanted, ())
    return read_row(connection, query, values, row_type)


def list_where(
    connection: apsw.Connection,
    table: str,
    row_type: "type[Row]",
    wanted: Mapping[str, Value],
    *conditions: str,
    order: str = "t.created_at DESC, t.id DESC",
    limit: int = -1,
) -> "Page[Row]":
    """The rows that have these values (None: any) and meet the conditions, in SQL in which the table is `t`.

    A value of `wanted` that is no field is for the conditions alone.
    """
    query, values = _selected(table, row_type, wanted, conditions)
    return read_page(connection, f"{query} ORDER BY {order}", values, row_type, limit=limit)


def _selected(
    table: str, row_type: "type[Row]", wanted: Mapping[str, Value], conditions: tuple[str, ...]
) -> tuple[str, dict[str, Value]]:
    fields = row_type._fields
    values = {name: value for name, value in wanted.items() if value is not None or name not in fields}
    columns = ", ".join(map(_column, fields))
    session = " LEFT JOIN sessions AS s ON s.id = t.session_id" if "session" in fields else ""
    group = " LEFT JOIN groups AS g ON g.id = t.group_id" if "group" in fields else ""
    all_of = " AND ".join((*(f"{_column(name)} = :{name}" for name in values if name in fields), *conditions)) or "1"
    return f"SELECT {columns} FROM {table} AS t{session}{group} WHERE {all_of}", values


def _column(name: str) -> str:
    return _NAMES.get(name) or f"t.{name}"

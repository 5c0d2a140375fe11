"""The predecessor's tables, schemas 6 to 19, and their rows as lines: the objects that `ctxrank export` would write.

    read_lines(Tables(connection, path))   Line(1, "session", {"name": "shop", "created_at": "2025-12-01T09:00:00Z"}), …

A column that an old schema has not is NULL. Every column is cast, because SQLite would hold anything in any of them.
What a column of ours would refuse (a priority, a status, a time) becomes what the predecessor took it for; a time that
cannot be read is null. Times were written in UTC but for `end_time`: local time without a zone, which is taken as
UTC too. Texts stay as they are: they are redacted where lines come in.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

import apsw

from ctxrank.extensions.bazinga.arguments import data
from ctxrank.extensions.bazinga.records.views import TOKEN_USAGE
from ctxrank.indexer.clock import DAY_US, format_us, now_us
from ctxrank.indexer.errors import patterns
from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.exchange.exported_records import json_value
from ctxrank.indexer.exchange.fields import MAX_NUMBER, WrittenList, WrittenObject
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.fulltext.index_file import quoted
from ctxrank.indexer.light_typing import NamedTuple, is_dict, is_list, object_of
from ctxrank.indexer.records import packages, sessions, strategies
from ctxrank.indexer.text.json_numbers import finite

Value = str | int | float | None

OLDEST_SCHEMA = 6  # the first that has packages
NEWEST_SCHEMA = 19
# What is brought in, and which schema it is of.
READ = (
    "schema_version", "sessions", "task_groups", "context_packages", "context_package_consumers", "consumption_scope",
    "orchestration_logs", "error_patterns", "strategies", "skill_outputs", "token_usage",
)  # fmt: skip
# A row takes this much at least, and some rows are read twice; the rest is room.
_LEAST_ROW_BYTES = 4
_MAX_GROWTH = 8
HINT = "Give the predecessor's database, usually bazinga/bazinga.db."


class Tables:
    """The tables of one database, each read without its indexes."""

    def __init__(self, connection: apsw.Connection, path: str) -> None:
        self._connection = connection
        self._path = path
        self._encoding = str(connection.pragma("encoding")).lower()  # utf-8, utf-16le, utf-16be
        # A virtual table, which has no page of its own, would run code of its module's.
        query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
        # Pages may be forged to share what they lead to, and then say more than any disk holds.
        sizes = [os.path.getsize(name) for name in (path, f"{path}-wal") if os.path.exists(name)]
        self._left_bytes = _MAX_GROWTH * sum(sizes)
        self._tables = {str(name) for (name,) in connection.execute(query)}

    def checked_schema(self, *, is_whole: bool = True) -> int:
        """The version of the schema; the newest where what is not whole lost it: a column that is missing is NULL.

        Raises DamagedError where these are not the predecessor's tables.
        """
        needed = {"schema_version", "sessions", "context_packages"} if is_whole else {"sessions", "context_packages"}
        if not needed <= self._tables:
            raise DamagedError(f"{self._path} is not a database of the predecessor: it has no packages.", HINT)
        schema = max((row[0] for row in self.rows("schema_version", {"version": "INTEGER"}) if row[0]), default=0)
        if not schema and not is_whole:
            schema = NEWEST_SCHEMA
        if not isinstance(schema, int) or not OLDEST_SCHEMA <= schema <= NEWEST_SCHEMA:
            is_old = isinstance(schema, int) and schema < OLDEST_SCHEMA
            raise DamagedError(
                f"{self._path} has schema {schema} of the predecessor; {OLDEST_SCHEMA} to {NEWEST_SCHEMA} can come in.",
                "Let the predecessor upgrade it first." if is_old else "Upgrade ctxrank.",
            )
        for table, wanted in (
            ("sessions", {"session_id"}),
            ("context_packages", {"id", "session_id", "package_type", "file_path", "summary"}),
        ):
            if not wanted <= set(self.columns(table)):
                raise DamagedError(f"{self._path}: the table {table} is not the predecessor's.", HINT)
        return schema

    def columns(self, table: str) -> dict[str, str]:
        """The columns a table has, with their declared types; none for a table that is not there."""
        rows = self._connection.execute(f"PRAGMA table_info({table})")
        return {str(row[1]): str(row[2]).upper() for row in rows}

    def others(self) -> tuple[str, ...]:
        """The tables that nothing is read of, by name."""
        return tuple(sorted(name for name in self._tables if name not in READ and not name.startswith("sqlite_")))

    def count(self, table: str, where: str = "") -> int:
        """How many rows a table has; nothing of them is read."""
        return int(self._connection.execute(f"SELECT count(*) FROM {quoted(table)} NOT INDEXED {where}").get)

    def rows(self, table: str, columns: Mapping[str, str], where: str = "") -> Iterator[tuple[Value, ...]]:
        """The columns, by name with their types, of every row; NULL for those that are missing in this schema."""
        if table not in self._tables:
            return
        present = self.columns(table)
        selected = [
            # Text as bytes: what is not well-formed would be an error.
            f'CAST("{name}" AS {"BLOB" if type_ == "TEXT" else type_})' if name in present else "NULL"
            for name, type_ in columns.items()
        ]
        # Indexes are not asked: a damaged one would lose rows without a word.
        query = f"SELECT {', '.join(selected)} FROM {table} NOT INDEXED {where}"
        for row in self._connection.execute(query):
            self._left_bytes -= _LEAST_ROW_BYTES + sum(len(value) for value in row if isinstance(value, bytes))
            if self._left_bytes < 0:
                raise DamagedError(f"{self._path} holds more than a file of its size can.", HINT)
            yield tuple(
                value.decode(self._encoding, "replace").replace("\0", "\ufffd") if isinstance(value, bytes) else value
                for value in row
            )


_START_CONFIDENCE = 0.5
_TTL_DAYS = 90
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_END_OF_TIME = 1 << 63
_ID = re.compile("[0-9]{1,18}")

Fields = dict[str, object]


class _DatabaseRow(NamedTuple):
    """A row as an object; `name` is what a report calls it, `created_at` None a time that cannot be read."""

    name: str
    created_at: int | None
    fields: Fields


class _Shape(NamedTuple):
    """The lines of a table: by the name of a field, how it is made (`_VALUES`) and of which columns."""

    table: str
    fields: dict[str, tuple[str, list[str]]]
    columns: dict[str, str]  # with their types


def _shapes() -> dict[str, _Shape]:
    """`columns.txt`: each kind of line with its table and its fields."""
    found: dict[str, _Shape] = {}
    for row in data("database/columns.txt").splitlines()[1:]:
        record, table, name, value, *columns = row.split()
        shape = found.setdefault(record, _Shape(table, {}, {}))
        typed = [one.partition(":") for one in columns]
        shape.fields[name] = value, [column for column, _, _ in typed]
        shape.columns.update({column: type_ or "TEXT" for column, _, type_ in typed})
    return found


def read_lines(tables: Tables) -> Iterator[Line]:
    """Everything that can come in, kind by kind; what has a time by (time, place in its table)."""
    shapes = _shapes()

    def of(record: str, name: str = "id", log_type: str = "", needs: str = "") -> Iterator[_DatabaseRow]:
        # None in a schema without the column that they need.
        if not needs or needs in tables.columns(shapes[record].table):
            yield from _rows(tables, shapes[record], name, log_type and f"WHERE log_type = '{log_type}'")

    packed = _by_age(of("package"))
    grouped = _by_age(_groups(tables, shapes["group"]))
    deliveries = (row._replace(name=f"package {row.fields['package']}") for row in of("delivery", "package"))
    # Numbered apart, by numbers below 0: events and usages both begin at 1.
    usages = (row._replace(name=f"{TOKEN_USAGE} {row.name.lstrip('-')}") for row in of("usage"))
    kinds: tuple[tuple[str, Iterable[_DatabaseRow]], ...] = (
        ("session", _by_age(of("session", "name"))),
        ("group", grouped),
        ("package", packed),
        ("consumer", _consumers(of("consumer"), packed)),
        ("delivery", deliveries),
        ("reasoning", _by_age(of("reasoning", log_type="reasoning", needs="log_type"))),
        ("error", _by_age(of("error", "pattern_hash"))),
        ("strategy", _by_age(of("strategy", "name"))),
        ("skill", _by_age(of("skill"))),
        ("event", _by_age([*of("event", log_type="event", needs="event_subtype"), *usages])),
        ("supersession", list(_parted(packed, "supersedes", package="id"))),
        ("reference", list(_parted(grouped, "context_references", session="session", name="name"))),
    )
    number = 0
    for record, rows in kinds:
        for row in rows:
            number += 1
            yield Line(number, record, row.fields, name=row.name)


def _rows(tables: Tables, shape: _Shape, name: str, where: str = "") -> Iterator[_DatabaseRow]:
    """The rows of a table as objects."""
    for row in tables.rows(shape.table, shape.columns, where):
        values = dict(zip(shape.columns, row, strict=True))
        fields: Fields = {
            field: _VALUES[value](*(values[column] for column in columns))
            for field, (value, columns) in shape.fields.items()
        }
        _, moments = shape.fields.get("created_at", ("", []))
        created_at = _moment(*(values[column] for column in moments))
        yield _DatabaseRow("" if fields[name] is None else str(fields[name]), created_at, fields)


def _by_age(rows: Iterable[_DatabaseRow]) -> list[_DatabaseRow]:
    """The oldest first, those of one second in the order of their table, those without a time last."""
    return sorted(rows, key=lambda row: _END_OF_TIME if row.created_at is None else row.created_at)


def _groups(tables: Tables, shape: _Shape) -> Iterator[_DatabaseRow]:
    """Groups; what has no column here is kept among their metadata."""
    own = shape.columns.keys() - {"updated_at"}
    others = {
        name: type_ if type_ in ("INTEGER", "REAL") else "TEXT"
        for name, type_ in tables.columns(shape.table).items()
        if name not in own and name.isidentifier()
    }
    fields = {**shape.fields, **{f"+{name}": ("value", [name]) for name in others}}
    for row in _rows(tables, _Shape(shape.table, fields, {**shape.columns, **others}), "name"):
        kept = {name: finite(value) for name in others if (value := row.fields.pop(f"+{name}")) is not None}
        unknown: object = row.fields["metadata"]
        row.fields["metadata"] = kept | dict(unknown if is_dict(unknown) else {})
        yield row


def _parted(rows: Iterable[_DatabaseRow], part: str, **names: str) -> Iterator[_DatabaseRow]:
    """What rows say of other rows, as rows of their own: they come once all others are here."""
    for row in rows:
        said = row.fields.pop(part)
        if said:
            yield row._replace(fields={**{name: row.fields[own] for name, own in names.items()}, part: said})


def _consumers(consumers: Iterable[_DatabaseRow], owners: list[_DatabaseRow]) -> list[_DatabaseRow]:
    """Who a package is for, package by package; pending means pending at any iteration."""
    moments = {owner.fields["id"]: (place, owner.created_at) for place, owner in enumerate(owners)}
    found: list[tuple[int, _DatabaseRow]] = []
    for row in consumers:
        place, packed_at = moments.get(row.fields["package"], (len(moments), None))
        if row.fields["consumed_at"] == "":
            row.fields.update(iteration=None, consumed_at=None)
        elif row.fields["consumed_at"] is None:
            # Of a time that cannot be read only that it was is known: not before the package.
            row.fields["consumed_at"] = format_us(packed_at or 0)
        found.append((place, row))
    return [row for _, row in sorted(found, key=lambda item: item[0])]


def left_out(tables: Tables) -> Iterator[str]:
    """What is not brought in, kind by kind, with its count."""
    if "log_type" in tables.columns("orchestration_logs"):
        known = "log_type IN ('reasoning', 'event')"
        count = tables.count("orchestration_logs", f"WHERE log_type IS NULL OR NOT {known}")
        if count:
            yield f"{count} of orchestration_logs that are neither reasoning nor events"
    for table in tables.others():
        count = tables.count(table)
        if count:
            yield f"{count} of {table}"


def _moment(*values: Value) -> int | None:
    """The first of the values that is a time, `2025-12-01 09:00:00` or ISO 8601, and not to come."""
    for value in values:
        try:
            moment = datetime.fromisoformat(_text(value).strip())
        except ValueError:
            continue
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        moment_us = (moment - _EPOCH) // _MICROSECOND
        if 0 < moment_us <= now_us() + DAY_US:  # clocks and time zones differ
            return moment_us
    return None


def _iso(*values: Value) -> str | None:
    moment_us = _moment(*values)
    return None if moment_us is None else format_us(moment_us)


def _json(text: Value, empty: object = None) -> object:
    """The value that a JSON text says; a text that is none is that text, and none at all is `empty`."""
    return json_value(_text(text)) if _text(text).strip() else empty


def _verbatim(text: Value, empty: object = None) -> object:
    """The same; an object or a list keeps the text that says it."""
    value = _json(text, empty)
    kept: WrittenObject | WrittenList
    if is_dict(value):
        kept = WrittenObject(object_of(value))
    elif is_list(value):
        kept = WrittenList(value)
    else:
        return value
    kept.written = _text(text)
    return kept


def _text(value: Value) -> str:
    return "" if value is None else str(value)


def _name(value: Value) -> str | None:
    """A text of which the empty one says nothing."""
    return _text(value).strip() or None


def _count(value: Value, *, default: int = 0, least: int = 0) -> int:
    """A number that a line can hold."""
    return min(max(default if value is None else int(value), least), MAX_NUMBER)


def _project(metadata: Value) -> str:
    """The project that a session's metadata name."""
    about = _json(metadata)
    project: object = about.get("project_id") if is_dict(about) else None
    return (isinstance(project, str) and project.strip()) or sessions.DEFAULT_PROJECT


def _package_ids(references: Value) -> list[int]:
    """The ids in a JSON list of package ids; what is none says nothing."""
    value = _json(references)
    items: list[object] = list(value) if is_list(value) else []
    return [int(item) for item in items if isinstance(item, int | str) and _ID.fullmatch(str(item))]


def _scope(scope: Value, group: Value) -> str:
    """A group's package without a group was shown to every group."""
    return "group" if _text(scope) in ("", "group") and _name(group) is not None else "global"


def _signature(text: Value, part: str) -> object:
    """A part of what an error is recognised by; a signature that cannot be read is used as the message."""
    value = _json(text)
    return value.get(part) if is_dict(value) else text if part == "message_pattern" else None


def _usage(agent: Value, name: Value, tokens: Value) -> Fields:
    return {"agent_type": _text(agent), "agent_id": _name(name), "tokens_estimated": _count(tokens)}


def _confidence(value: Value) -> float:
    return min(max(_START_CONFIDENCE if value is None else float(value), 0.0), 1.0)


def _one_of(words: Iterable[str], other: str) -> Callable[[Value], str]:
    """A value that is one of these words, else what the predecessor took it for."""
    known = frozenset(words)
    return lambda value: str(value) if value in known else other


def _folded(value: Value) -> str:
    return _text(value).strip().lower()


_topic, _priority = _one_of(strategies.TOPICS, "general"), _one_of(packages.PRIORITIES, "medium")
# How a value of `columns.txt` is made of its column.
_OF_ONE: Mapping[str, Callable[[Value], object]] = {
    "value": lambda value: value,
    "flag": bool,
    "text": _text,
    "name": _name,
    "folded": _folded,
    "verbatim": _verbatim,
    "output": lambda text: _verbatim(text, empty=""),
    "consumed": lambda text: _iso(text) if text else "",
    "count": _count,
    "count_or_1": lambda value: _count(value, default=1),
    "count_from_1": lambda value: _count(value, default=1, least=1),
    "days": lambda value: _count(value, default=_TTL_DAYS, least=1),
    "size": lambda value: None if value is None else _count(value),
    "below_0": lambda value: -(value or 0) if isinstance(value, int) else 0,
    "confidence": _confidence,
    "confirmations": lambda value: patterns.record_of(_confidence(value))[0],
    "refutations": lambda value: patterns.record_of(_confidence(value))[1],
    "project": _project,
    "mode": _one_of(sessions.MODES, "simple"),
    "session_status": _one_of(sessions.SESSION_STATUSES, "active"),
    "branch": lambda value: _text(value) or "main",
    "group_status": _one_of(sessions.GROUP_STATUSES, "pending"),
    "unknown_status": lambda value: {} if value in sessions.GROUP_STATUSES else {"status": _text(value)},
    "package_ids": _package_ids,
    "priority": lambda value: _priority(_folded(value)),
    "error_type": lambda value: str(_signature(value, "error_type") or "Unknown"),
    "message": lambda value: str(_signature(value, "message_pattern") or ""),
    "context_hints": lambda value: _signature(value, "context_hints"),
    "stack_pattern": lambda value: _signature(value, "stack_pattern"),
    "topic": lambda value: _topic(_folded(value)),
}
_VALUES: Mapping[str, Callable[..., object]] = {
    **_OF_ONE,
    "moment": _iso,
    "scope": _scope,
    "usage": _usage,
    "usage_subtype": lambda: TOKEN_USAGE,
    "none": lambda: None,
}

"""The predecessor's rows as lines: the objects that `ctxrank export` would write of them.

    read_lines(tables)      Line(1, "session", {"name": "shop", "created_at": "2025-12-01T09:00:00Z", …}), …

What a column of ours would refuse (a priority, a status, a time) becomes what the predecessor took it for; a time that
cannot be read is null. Times were written in UTC but for `end_time`: local time without a zone, which is taken as
UTC too. Texts stay as they are: they are redacted where lines come in.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

from ctxrank.extensions.bazinga.arguments import data
from ctxrank.extensions.bazinga.database.tables import Tables, Value
from ctxrank.extensions.bazinga.records.views import TOKEN_USAGE
from ctxrank.indexer.clock import DAY_US, format_us, now_us
from ctxrank.indexer.errors import patterns
from ctxrank.indexer.exchange.fields import MAX_NUMBER, WrittenList, WrittenObject
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.light_typing import NamedTuple, is_dict, is_list
from ctxrank.indexer.records import packages, sessions, strategies
from ctxrank.indexer.text.json_numbers import finite

UNKNOWN_ERROR = "Unknown"

_START_CONFIDENCE = 0.5
_TTL_DAYS = 90
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_END_OF_TIME = 1 << 63

Fields = dict[str, object]


class _DatabaseRow(NamedTuple):
    """A row as an object; `name` is what a report calls it, `created_at` None a time that cannot be read."""

    name: str
    created_at: int | None
    fields: Fields


class _Field(NamedTuple):
    """A field of a line: how it is made (`_VALUES`), and of which columns, each with its type."""

    name: str
    value: str
    columns: tuple[str, ...]


class _Shape(NamedTuple):
    """The lines of a table; what there is of it in this schema is known by its last column."""

    table: str
    fields: list[_Field]


def _shapes() -> dict[str, _Shape]:
    """`columns.txt`: each kind of line with its table and its fields."""
    found: dict[str, _Shape] = {}
    for row in data("database/columns.txt").splitlines()[1:]:
        record, table, name, value, *columns = row.split()
        typed = tuple(f"{column} {type_ or 'TEXT'}" for column, _, type_ in (one.partition(":") for one in columns))
        found.setdefault(record, _Shape(table, [])).fields.append(_Field(name, value, typed))
    return found


def read_lines(tables: Tables) -> Iterator[Line]:
    """Everything that can come in, kind by kind; what has a time by (time, place in its table)."""
    shapes = _shapes()

    def of(record: str, name: str = "id", needs: str = "", where: str = "") -> Iterator[_DatabaseRow]:
        return _rows(tables, shapes[record], name, needs, where)

    packed = _by_age(of("package"))
    grouped = _by_age(_groups(tables, shapes["group"]))
    deliveries = (row._replace(name=f"package {row.fields['package']}") for row in of("delivery", "package"))
    # Numbered apart, by numbers below 0: events and usages both begin at 1.
    usages = (row._replace(name=f"{TOKEN_USAGE} {row.name.lstrip('-')}") for row in of("usage"))
    events = of("event", needs="event_subtype", where="WHERE log_type = 'event'")
    kinds: tuple[tuple[str, Iterable[_DatabaseRow]], ...] = (
        ("session", _by_age(of("session", "name"))),
        ("group", grouped),
        ("package", packed),
        ("consumer", _consumers(of("consumer"), packed)),
        ("delivery", deliveries),
        ("reasoning", _by_age(of("reasoning", needs="log_type", where="WHERE log_type = 'reasoning'"))),
        ("error", _by_age(of("error", "pattern_hash"))),
        ("strategy", _by_age(of("strategy", "name"))),
        ("skill", _by_age(of("skill"))),
        ("event", _by_age([*events, *usages])),
        ("supersession", list(_parted(packed, "supersedes", package="id"))),
        ("reference", list(_parted(grouped, "context_references", session="session", name="name"))),
    )
    number = 0
    for record, rows in kinds:
        for row in rows:
            number += 1
            yield Line(number, record, row.fields, name=row.name)


def _rows(tables: Tables, shape: _Shape, name: str, needs: str = "", where: str = "") -> Iterator[_DatabaseRow]:
    """The rows of a table as objects; none in a schema without the column that they need."""
    if needs and needs not in tables.columns(shape.table):
        return
    columns = list(dict.fromkeys(column for field in shape.fields for column in field.columns))
    for row in tables.rows(shape.table, ", ".join(columns), where):
        values = dict(zip(columns, row, strict=True))
        created_at: int | None = None
        fields: Fields = {}
        for field in shape.fields:
            given = [values[column] for column in field.columns]
            fields[field.name] = _VALUES[field.value](*given)
            if field.name == "created_at":
                created_at = _moment(*given)
        yield _DatabaseRow("" if fields[name] is None else str(fields[name]), created_at, fields)


def _by_age(rows: Iterable[_DatabaseRow]) -> list[_DatabaseRow]:
    """The oldest first, those of one second in the order of their table, those without a time last."""
    return sorted(rows, key=lambda row: _END_OF_TIME if row.created_at is None else row.created_at)


def _groups(tables: Tables, shape: _Shape) -> Iterator[_DatabaseRow]:
    """Groups; what has no column here is kept among their metadata."""
    own = {column.split(" ")[0] for field in shape.fields for column in field.columns} - {"updated_at"}
    others = [
        _Field(f"+{name}", "value", (f"{name} {type_ if type_ in ('INTEGER', 'REAL') else 'TEXT'}",))
        for name, type_ in tables.columns(shape.table).items()
        if name not in own and name.isidentifier()
    ]
    for row in _rows(tables, _Shape(shape.table, [*shape.fields, *others]), "name"):
        kept = {one.name[1:]: finite(value) for one in others if (value := row.fields.pop(one.name)) is not None}
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
    if not _text(text).strip():
        return empty
    try:
        value: object = json.loads(_text(text))
        # What cannot be written as JSON again (an infinite number) stays the text that it is.
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return _text(text)
    return value


def _verbatim(text: Value, empty: object = None) -> object:
    """The same; an object or a list keeps the text that says it."""
    value = _json(text, empty)
    kept: WrittenObject | WrittenList
    if is_dict(value):
        kept = WrittenObject({str(key): item for key, item in value.items()})
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
    return [int(item) for item in items if isinstance(item, int | str) and str(item).isdecimal()]


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
    "error_type": lambda value: str(_signature(value, "error_type") or UNKNOWN_ERROR),
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

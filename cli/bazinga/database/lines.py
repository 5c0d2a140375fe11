"""The predecessor's rows as lines: the objects that `ctxrank export` would write of them.

    read_lines(tables)      Line(1, "session", {"name": "shop", "created_at": "2025-12-01T09:00:00Z", …}), …

What a column of ours would refuse (a priority, a status, a time) becomes what the predecessor took it for; a time that
cannot be read is null. Times were written in UTC but for `end_time`: local time without a zone, which is taken as
UTC too. Texts stay as they are: they are redacted where lines come in.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from ctxrank.cli.bazinga.database.tables import Tables, Value
from ctxrank.cli.bazinga.records.views import TOKEN_USAGE
from ctxrank.indexer.clock import DAY_US, format_us, now_us
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


class _Row(NamedTuple):
    """A row as an object; `name` is what a report calls it, `created_at` None a time that cannot be read."""

    name: str
    created_at: int | None
    fields: Fields


def read_lines(tables: Tables) -> Iterator[Line]:
    """Everything that can come in, kind by kind; what has a time by (time, place in its table)."""
    packages = _by_age(_packages(tables))
    kinds: tuple[tuple[str, Iterable[_Row]], ...] = (
        ("session", _by_age(_sessions(tables))),
        ("group", _by_age(_groups(tables))),
        ("package", packages),
        ("consumer", _consumers(tables, packages)),
        ("delivery", _deliveries(tables)),
        ("reasoning", _by_age(_reasoning(tables))),
        ("error", _by_age(_errors(tables))),
        ("strategy", _by_age(_strategies(tables))),
        ("skill", _by_age(_skills(tables))),
        ("event", _by_age(_events(tables))),
    )
    number = 0
    for record, rows in kinds:
        for row in rows:
            number += 1
            yield Line(number, record, row.fields, name=row.name)


def _by_age(rows: Iterable[_Row]) -> list[_Row]:
    """The oldest first, those of one second in the order of their table, those without a time last."""
    return sorted(rows, key=lambda row: _END_OF_TIME if row.created_at is None else row.created_at)


def _sessions(tables: Tables) -> Iterator[_Row]:
    columns = (
        "session_id TEXT, mode TEXT, status TEXT, original_requirements TEXT, initial_branch TEXT, metadata TEXT,"
        " created_at TEXT, start_time TEXT, end_time TEXT"
    )
    for name, mode, status, requirements, branch, metadata, created, started, ended in tables.rows("sessions", columns):
        created_at, about = _moment(created, started), _json(metadata)
        yield _Row(
            _text(name),
            created_at,
            {
                "name": _text(name), "project": _project(about),
                "mode": mode if mode in sessions.MODES else "simple",
                "status": status if status in sessions.SESSION_STATUSES else "active",
                "requirements": _text(requirements), "initial_branch": _text(branch) or "main",
                "metadata": _verbatim(metadata),
                "created_at": _iso(created_at), "ended_at": _iso(_moment(ended)),
            },
        )  # fmt: skip


def _project(metadata: object) -> str:
    """The project that a session's metadata name."""
    project: object = metadata.get("project_id") if is_dict(metadata) else None
    return project.strip() or sessions.DEFAULT_PROJECT if isinstance(project, str) else sessions.DEFAULT_PROJECT


def _groups(tables: Tables) -> Iterator[_Row]:
    columns = (
        "session_id TEXT, id TEXT, name TEXT, status TEXT, created_at TEXT, updated_at TEXT, context_references TEXT"
    )
    own = {column.split(" ")[0] for column in columns.split(", ")} - {"updated_at"}
    others = {
        name: type_ if type_ in ("INTEGER", "REAL") else "TEXT"
        for name, type_ in tables.columns("task_groups").items()
        if name not in own and name.isidentifier()
    }
    wanted = ", ".join([columns, *(f"{name} {type_}" for name, type_ in others.items())])
    for session, name, title, status, created, updated, references, *rest in tables.rows("task_groups", wanted):
        created_at = _moment(created, updated)
        # What has no column here is kept among the metadata.
        metadata = {key: finite(value) for key, value in zip(others, rest, strict=True) if value is not None}
        is_known = status in sessions.GROUP_STATUSES
        if not is_known:
            metadata["status"] = _text(status)
        yield _Row(
            _text(name),
            created_at,
            {
                "session": _text(session), "name": _text(name), "title": _text(title),
                "status": status if is_known else "pending", "context_references": _package_ids(references),
                "metadata": metadata, "created_at": _iso(created_at),
            },
        )  # fmt: skip


def _package_ids(references: Value) -> list[int]:
    """The ids in a JSON list of package ids; what is none says nothing."""
    value = _json(references)
    items: list[object] = list(value) if is_list(value) else []
    return [int(item) for item in items if isinstance(item, int | str) and str(item).isdecimal()]


def _packages(tables: Tables) -> Iterator[_Row]:
    columns = (
        "id INTEGER, session_id TEXT, group_id TEXT, package_type TEXT, file_path TEXT, producer_agent TEXT,"
        " priority TEXT, summary TEXT, size_bytes INTEGER, version INTEGER, supersedes_id INTEGER, scope TEXT,"
        " created_at TEXT"
    )
    for row in tables.rows("context_packages", columns):
        (number, session, group, type_, path, producer, priority, summary, size, version, supersedes, scope,
         created) = row  # fmt: skip
        created_at = _moment(created)
        wanted = _text(priority).strip().lower()
        # A group's package without a group was shown to every group.
        is_of_group = _text(scope) in ("", "group") and _name(group) is not None
        yield _Row(
            _text(number),
            created_at,
            {
                "id": number, "session": _text(session), "group": _name(group),
                "type": _text(type_).strip().lower(), "path": _text(path), "producer": _text(producer),
                "priority": wanted if wanted in packages.PRIORITIES else "medium",
                "scope": "group" if is_of_group else "global", "summary": _text(summary),
                "size_bytes": None if size is None else _count(size), "version": _count(version, default=1, least=1),
                "supersedes": supersedes, "created_at": _iso(created_at),
            },
        )  # fmt: skip


def _consumers(tables: Tables, owners: Iterable[_Row]) -> Iterator[_Row]:
    """Who a package is for, package by package; pending means pending at any iteration."""
    moments = {owner.fields["id"]: (place, owner.created_at) for place, owner in enumerate(owners)}
    columns = "id INTEGER, package_id INTEGER, agent_type TEXT, iteration INTEGER, consumed_at TEXT"
    found: list[tuple[int, _Row]] = []
    for number, package, agent, iteration, consumed in tables.rows("context_package_consumers", columns):
        place, packed_at = moments.get(package, (len(moments), None))
        fields: Fields = {
            "id": number, "package": package, "agent": _text(agent), "iteration": None, "consumed_at": None,
        }  # fmt: skip
        if consumed:
            moment = _moment(consumed)
            # Of a time that cannot be read only that it was is known: not before the package.
            fields["consumed_at"] = format_us((packed_at or 0) if moment is None else moment)
            fields["iteration"] = _count(iteration, default=1)
        found.append((place, _Row(_text(number), None, fields)))
    found.sort(key=lambda item: item[0])
    return (row for _, row in found)


def _deliveries(tables: Tables) -> Iterator[_Row]:
    columns = "session_id TEXT, group_id TEXT, agent_type TEXT, iteration INTEGER, package_id INTEGER, consumed_at TEXT"
    for session, group, agent, iteration, package, consumed in tables.rows("consumption_scope", columns):
        yield _Row(
            f"package {package}",
            None,
            {
                "package": package, "session": _text(session), "group": _name(group), "agent": _text(agent),
                "iteration": _count(iteration), "delivered_at": _iso(_moment(consumed)),
            },
        )  # fmt: skip


def _reasoning(tables: Tables) -> Iterator[_Row]:
    if "log_type" not in tables.columns("orchestration_logs"):
        return
    columns = (
        "id INTEGER, session_id TEXT, group_id TEXT, agent_type TEXT, agent_id TEXT, iteration INTEGER,"
        " reasoning_phase TEXT, confidence_level TEXT, content TEXT, references_json TEXT, redacted INTEGER,"
        " timestamp TEXT"
    )
    for row in tables.rows("orchestration_logs", columns, "WHERE log_type = 'reasoning'"):
        number, session, group, agent, name, iteration, phase, confidence, content, refs, redacted, created = row
        created_at = _moment(created)
        yield _Row(
            _text(number),
            created_at,
            {
                "id": number, "session": _text(session), "group": _name(group), "agent": _text(agent),
                "agent_name": _text(name), "iteration": _count(iteration), "phase": _name(phase),
                "confidence": _name(confidence), "content": _text(content), "references": _verbatim(refs),
                "redacted": bool(redacted), "created_at": _iso(created_at),
            },
        )  # fmt: skip


def _errors(tables: Tables) -> Iterator[_Row]:
    columns = (
        "pattern_hash TEXT, project_id TEXT, signature_json TEXT, solution TEXT, confidence REAL, occurrences INTEGER,"
        " lang TEXT, ttl_days INTEGER, last_seen TEXT, created_at TEXT"
    )
    for row in tables.rows("error_patterns", columns):
        pattern_hash, project, signature, solution, confidence, occurrences, lang, ttl_days, seen, created = row
        last_seen, created_at = _moment(seen, created), _moment(created, seen)
        trust = _START_CONFIDENCE if confidence is None else float(confidence)
        yield _Row(
            _text(pattern_hash),
            created_at,
            {
                "project": _text(project), "pattern_hash": _text(pattern_hash), **_signature(signature),
                "solution": _text(solution), "bazinga_confidence": min(max(trust, 0.0), 1.0),
                "occurrences": _count(occurrences, default=1, least=1), "lang": _name(lang),
                "ttl_days": _count(ttl_days, default=_TTL_DAYS, least=1), "last_seen": _iso(last_seen),
                "created_at": _iso(created_at),
            },
        )  # fmt: skip


def _signature(text: Value) -> Fields:
    """What an error is recognised by; a signature that cannot be read is used as the message."""
    value = _json(text)
    parts = {str(key): part for key, part in value.items()} if is_dict(value) else {"message_pattern": text}
    return {
        "error_type": str(parts.get("error_type") or UNKNOWN_ERROR),
        "message": str(parts.get("message_pattern") or ""),
        "context_hints": parts.get("context_hints"),
        "stack_pattern": parts.get("stack_pattern"),
    }


def _strategies(tables: Tables) -> Iterator[_Row]:
    columns = (
        "strategy_id TEXT, project_id TEXT, topic TEXT, insight TEXT, helpfulness INTEGER, lang TEXT, framework TEXT,"
        " last_seen TEXT, created_at TEXT"
    )
    for row in tables.rows("strategies", columns):
        name, project, topic, insight, helpfulness, lang, framework, seen, created = row
        last_seen, created_at = _moment(seen, created), _moment(created, seen)
        known = _text(topic).strip().lower()
        yield _Row(
            _text(name),
            created_at,
            {
                "name": _text(name), "project": _text(project),
                "topic": known if known in strategies.TOPICS else "general", "insight": _text(insight),
                "helpfulness": _count(helpfulness), "lang": _name(lang), "framework": _name(framework),
                "last_seen": _iso(last_seen), "created_at": _iso(created_at),
            },
        )  # fmt: skip


def _skills(tables: Tables) -> Iterator[_Row]:
    columns = (
        "id INTEGER, session_id TEXT, group_id TEXT, agent_type TEXT, skill_name TEXT, iteration INTEGER,"
        " output_data TEXT, timestamp TEXT"
    )
    for number, session, group, agent, skill, iteration, output, created in tables.rows("skill_outputs", columns):
        created_at = _moment(created)
        yield _Row(
            _text(number),
            created_at,
            {
                "id": number, "session": _text(session), "group": _name(group), "agent": _text(agent),
                "skill": _text(skill), "iteration": _count(iteration, default=1), "output": _verbatim(output, empty=""),
                "created_at": _iso(created_at),
            },
        )  # fmt: skip


def _events(tables: Tables) -> Iterator[_Row]:
    """Events, and what agents used, which is an event here."""
    if "event_subtype" in tables.columns("orchestration_logs"):
        columns = (
            "id INTEGER, session_id TEXT, group_id TEXT, event_subtype TEXT, event_payload TEXT, idempotency_key TEXT,"
            " timestamp TEXT"
        )
        for row in tables.rows("orchestration_logs", columns, "WHERE log_type = 'event'"):
            number, session, group, subtype, payload, key, created = row
            created_at = _moment(created)
            yield _Row(
                _text(number),
                created_at,
                {
                    "id": number, "session": _text(session), "group": _name(group), "subtype": _text(subtype),
                    "payload": _verbatim(payload), "idempotency_key": _name(key), "created_at": _iso(created_at),
                },
            )  # fmt: skip
    columns = "id INTEGER, session_id TEXT, agent_type TEXT, agent_id TEXT, tokens_estimated INTEGER, timestamp TEXT"
    for number, session, agent, name, tokens, created in tables.rows(TOKEN_USAGE, columns):
        created_at = _moment(created)
        used = {"agent_type": _text(agent), "agent_id": _name(name), "tokens_estimated": _count(tokens)}
        yield _Row(
            f"{TOKEN_USAGE} {number}",
            created_at,
            {
                # Numbered apart: both tables begin at 1.
                "id": -(number or 0) if isinstance(number, int) else 0, "session": _text(session), "group": None,
                "subtype": TOKEN_USAGE, "payload": used, "idempotency_key": None, "created_at": _iso(created_at),
            },
        )  # fmt: skip


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


def _iso(moment_us: int | None) -> str | None:
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

"""The predecessor's tables, schemas 6 to 19, into values of ours.

A column that an old schema lacks is NULL. Moments were written in UTC but for `end_time`: local time
without a zone, which is taken as UTC too.
"""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

import apsw

from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.predecessor.rows import (
    UNKNOWN,
    ConsumerRow,
    DeliveryRow,
    ErrorRow,
    GroupRow,
    PackageRow,
    Predecessor,
    ReasoningRow,
    SessionRow,
    SkillRow,
    StrategyRow,
    Value,
)

OLDEST_SCHEMA = 6  # the first that has packages
NEWEST_SCHEMA = 19
# A row takes this much at least, and some rows are read twice; the rest is room.
_LEAST_ROW_BYTES = 4
_MAX_GROWTH = 8
HINT = "Give the predecessor's database, usually bazinga/bazinga.db."


class TableReader:
    """Reads table by table. Every column is cast, because SQLite would hold anything in any of them."""

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

    def read(self) -> Predecessor:
        """Everything that can come in. Raises DamagedError where these are not the predecessor's tables."""
        schema = self._checked_schema()
        return Predecessor(
            schema=schema,
            sessions=_by_age(self._sessions()),
            groups=_by_age(self._groups()),
            packages=_by_age(self._packages()),
            consumers=tuple(self._consumers()),
            deliveries=tuple(self._deliveries()),
            reasoning=_by_age(self._reasoning()),
            errors=_by_age(self._errors()),
            strategies=_by_age(self._strategies()),
            skills=_by_age(self._skills()),
        )

    def _checked_schema(self) -> int:
        if not {"schema_version", "sessions", "context_packages"} <= self._tables:
            raise DamagedError(f"{self._path} is not a database of the predecessor: it has no packages.", HINT)
        schema = max((_int(row[0]) for row in self._rows("schema_version", "version INTEGER")), default=0)
        if not OLDEST_SCHEMA <= schema <= NEWEST_SCHEMA:
            raise DamagedError(
                f"{self._path} has schema {schema} of the predecessor; {OLDEST_SCHEMA} to {NEWEST_SCHEMA} can come in.",
                "Let the predecessor upgrade it first." if schema < OLDEST_SCHEMA else "Upgrade ctxrank.",
            )
        for table, needed in (
            ("sessions", {"session_id"}),
            ("context_packages", {"id", "session_id", "package_type", "file_path", "summary"}),
        ):
            if not needed <= set(self._columns(table)):
                raise DamagedError(f"{self._path}: the table {table} is not the predecessor's.", HINT)
        return schema

    def _columns(self, table: str) -> dict[str, str]:
        """The columns a table has, with their declared types."""
        rows = self._connection.execute(f"PRAGMA table_info({table})")
        return {str(row[1]): str(row[2]).upper() for row in rows}

    def _rows(self, table: str, columns: str, where: str = "") -> Iterator[tuple[Value, ...]]:
        """The columns, each `name TYPE`, of every row; NULL for those that this schema lacks."""
        if table not in self._tables:
            return
        present = self._columns(table)
        selected: list[str] = []
        for column in columns.split(", "):
            name, type_ = column.split(" ")
            # As bytes: text that is not well-formed would be an error.
            cast = "BLOB" if type_ == "TEXT" else type_
            selected.append(f"CAST({name} AS {cast})" if name in present else "NULL")
        # Indexes are not asked: a damaged one would lose rows without a word.
        query = f"SELECT {', '.join(selected)} FROM {table} NOT INDEXED {where}"
        for row in self._connection.execute(query):
            self._left_bytes -= _LEAST_ROW_BYTES + sum(len(value) for value in row if isinstance(value, bytes))
            if self._left_bytes < 0:
                raise DamagedError(f"{self._path} says more than a file of its size can hold.", HINT)
            yield tuple(self._decoded(value) if isinstance(value, bytes) else value for value in row)

    def _decoded(self, value: bytes) -> str:
        return value.decode(self._encoding, "replace").replace("\0", "\ufffd")

    def _sessions(self) -> Iterator[SessionRow]:
        columns = (
            "session_id TEXT, mode TEXT, status TEXT, original_requirements TEXT, initial_branch TEXT,"
            " metadata TEXT, created_at TEXT, start_time TEXT, end_time TEXT"
        )
        for name, mode, status, requirements, branch, metadata, created, started, ended in self._rows(
            "sessions", columns
        ):
            yield SessionRow(
                _text(name), _text(mode), _text(status), _text(requirements), _text(branch) or "main",
                _text(metadata), _moment(created, started), None if ended is None else _moment(ended),
            )  # fmt: skip

    def _groups(self) -> Iterator[GroupRow]:
        columns = (
            "session_id TEXT, id TEXT, name TEXT, status TEXT, created_at TEXT, updated_at TEXT,"
            " context_references TEXT"
        )
        own = {column.split(" ")[0] for column in columns.split(", ")} - {"updated_at"}
        others = {
            name: type_ if type_ in ("INTEGER", "REAL") else "TEXT"
            for name, type_ in self._columns("task_groups").items()
            if name not in own and name.isidentifier()
        }
        wanted = ", ".join([columns, *(f"{name} {type_}" for name, type_ in others.items())])
        for session, name, title, status, created, updated, references, *rest in self._rows("task_groups", wanted):
            yield GroupRow(
                _text(session), _text(name), _text(title), _text(status), _moment(created, updated),
                _text(references),
                tuple((key, value) for key, value in zip(others, rest, strict=True) if value is not None),
            )  # fmt: skip

    def _packages(self) -> Iterator[PackageRow]:
        columns = (
            "id INTEGER, session_id TEXT, group_id TEXT, package_type TEXT, file_path TEXT,"
            " producer_agent TEXT, priority TEXT, summary TEXT, size_bytes INTEGER, version INTEGER,"
            " supersedes_id INTEGER, scope TEXT, created_at TEXT"
        )
        for (
            id_,
            session,
            group,
            type_,
            path,
            producer,
            priority,
            summary,
            size,
            version,
            old,
            scope,
            created,
        ) in self._rows("context_packages", columns):
            yield PackageRow(
                _int(id_), _text(session), _name(group), _text(type_), _text(path), _text(producer),
                _text(priority) or "medium", _text(summary), None if size is None else _int(size),
                max(_int(version, 1), 1), None if old is None else _int(old), _text(scope) or "group",
                _moment(created),
            )  # fmt: skip

    def _consumers(self) -> Iterator[ConsumerRow]:
        columns = "id INTEGER, package_id INTEGER, agent_type TEXT, iteration INTEGER, consumed_at TEXT"
        for id_, package, agent, iteration, consumed in self._rows("context_package_consumers", columns):
            yield ConsumerRow(
                _int(id_),
                _int(package),
                _text(agent),
                _int(iteration, 1),
                _moment(consumed) if consumed else None,
            )

    def _deliveries(self) -> Iterator[DeliveryRow]:
        columns = (
            "session_id TEXT, group_id TEXT, agent_type TEXT, iteration INTEGER, package_id INTEGER, consumed_at TEXT"
        )
        for session, group, agent, iteration, package, consumed in self._rows("consumption_scope", columns):
            yield DeliveryRow(
                _text(session), _name(group), _text(agent), _int(iteration), _int(package), _moment(consumed)
            )

    def _reasoning(self) -> Iterator[ReasoningRow]:
        if "log_type" not in self._columns("orchestration_logs"):
            return
        columns = (
            "id INTEGER, session_id TEXT, group_id TEXT, agent_type TEXT, agent_id TEXT, iteration INTEGER,"
            " reasoning_phase TEXT, confidence_level TEXT, content TEXT, references_json TEXT,"
            " redacted INTEGER, timestamp TEXT"
        )
        for (
            id_,
            session,
            group,
            agent,
            name,
            iteration,
            phase,
            confidence,
            content,
            refs,
            redacted,
            created,
        ) in self._rows("orchestration_logs", columns, "WHERE log_type = 'reasoning'"):
            yield ReasoningRow(
                _int(id_), _text(session), _name(group), _text(agent), _text(name), _int(iteration),
                _text(phase), _name(confidence), _text(content), _text(refs), bool(redacted),
                _moment(created),
            )  # fmt: skip

    def _errors(self) -> Iterator[ErrorRow]:
        columns = (
            "pattern_hash TEXT, project_id TEXT, signature_json TEXT, solution TEXT, confidence REAL,"
            " occurrences INTEGER, lang TEXT, ttl_days INTEGER, last_seen TEXT, created_at TEXT"
        )
        for (
            hash_,
            project,
            signature,
            solution,
            confidence,
            occurrences,
            lang,
            ttl,
            seen,
            created,
        ) in self._rows("error_patterns", columns):
            yield ErrorRow(
                _text(hash_), _text(project), _text(signature), _text(solution),
                0.5 if confidence is None else float(confidence), _int(occurrences, 1), _name(lang),
                _int(ttl, 90), _moment(seen, created), _moment(created, seen),
            )  # fmt: skip

    def _strategies(self) -> Iterator[StrategyRow]:
        columns = (
            "strategy_id TEXT, project_id TEXT, topic TEXT, insight TEXT, helpfulness INTEGER, lang TEXT,"
            " framework TEXT, last_seen TEXT, created_at TEXT"
        )
        for name, project, topic, insight, helpfulness, lang, framework, seen, created in self._rows(
            "strategies", columns
        ):
            yield StrategyRow(
                _text(name), _text(project), _text(topic), _text(insight), _int(helpfulness), _name(lang),
                _name(framework), _moment(seen, created), _moment(created, seen),
            )  # fmt: skip

    def _skills(self) -> Iterator[SkillRow]:
        columns = (
            "id INTEGER, session_id TEXT, group_id TEXT, agent_type TEXT, skill_name TEXT, iteration INTEGER,"
            " output_data TEXT, timestamp TEXT"
        )
        for id_, session, group, agent, skill, iteration, output, created in self._rows("skill_outputs", columns):
            yield SkillRow(
                _int(id_), _text(session), _name(group), _text(agent), _text(skill), _int(iteration, 1),
                _text(output), _moment(created),
            )  # fmt: skip


class _Dated(Protocol):
    @property
    def created_at(self) -> int: ...


_Row = TypeVar("_Row", bound=_Dated)


def _by_age(rows: Iterator[_Row]) -> tuple[_Row, ...]:
    """The oldest first, those of one second as they stand in their table, those without a moment last."""
    return tuple(sorted(rows, key=lambda row: row.created_at if row.created_at != UNKNOWN else _END_OF_TIME))


_END_OF_TIME = 1 << 63
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def _moment(*values: Value) -> int:
    """The first of the values that is a time, `2025-12-01 09:00:00` or ISO 8601; else UNKNOWN."""
    for value in values:
        try:
            moment = datetime.fromisoformat(_text(value).strip())
        except ValueError:
            continue
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return (moment - _EPOCH) // _MICROSECOND
    return UNKNOWN


def _text(value: Value) -> str:
    return "" if value is None else str(value)


def _name(value: Value) -> str | None:
    """A text of which the empty one says nothing."""
    return _text(value).strip() or None


def _int(value: Value, default: int = 0) -> int:
    return default if value is None else int(value)

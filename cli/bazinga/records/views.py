"""The predecessor's tables, as views over ours: its names, its columns, its text moments.

    rows(store.primary, f"{VIEWS['sessions']} WHERE s.name = ?", ("shop-2026-11",))
    select(store, "SELECT count(*) AS n FROM context_packages")

A view's text ends in its FROM and JOINs, so that a reader adds a WHERE in our names and an order that has no
ties. `select` runs any SELECT of the caller, on a connection that cannot do anything else.
"""

import contextlib
import re
import time
from collections.abc import Generator

import apsw

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import file_uri
from ctxrank.indexer.store.store import Store

TOKEN_USAGE = "token_usage"  # events of this subtype were a table of their own there
MAX_ROWS = 10_000
MAX_SECONDS = 10.0
MAX_ANSWER_CHARS = 64 * 2**20  # as JSON, of which a few copies are made
_MAX_VALUE_BYTES = 16 * 2**20
_MAX_HEAP_BYTES = 192 * 2**20  # of SQLite: with the answer and the program far below 512 MB
_VALUE_CHARS = 64  # what a value takes besides its text
_STEPS_BETWEEN_CLOCKS = 20_000  # of SQLite's machine: about a millisecond

Value = str | int | float | bytes | None


class Rows(NamedTuple):
    """An answer: names of its columns, and its rows in the order of the query."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    is_cut: bool = False


def _moment(column: str, name: str) -> str:
    return f"strftime('%Y-%m-%d %H:%M:%S', {column} / 1000000, 'unixepoch') AS {name}"


def _other(name: str, default: str = "NULL") -> str:
    """A column of `task_groups` that is kept among a group's metadata."""
    return f"coalesce(json_extract(g.metadata, '$.{name}'), {default}) AS {name}"


VIEWS = {
    "sessions": f"""
        SELECT s.name AS session_id, {_moment("s.created_at", "start_time")}, {_moment("s.ended_at", "end_time")},
               s.mode, s.requirements AS original_requirements, s.status, s.initial_branch,
               CASE WHEN s.metadata LIKE '"%' THEN s.metadata ->> '$'
                    WHEN s.project <> 'default' AND json_extract(s.metadata, '$.project_id') IS NULL
                    THEN json_set(s.metadata, '$.project_id', s.project)
                    ELSE nullif(s.metadata, '{{}}') END AS metadata,
               {_moment("s.created_at", "created_at")}
          FROM main.sessions AS s""",
    "task_groups": f"""
        SELECT g.name AS id, s.name AS session_id, coalesce(nullif(g.title, ''), g.name) AS name, g.status,
               {_other("assigned_to")}, {_other("revision_count", "0")}, {_other("last_review_status")},
               {_other("feature_branch")}, {_other("merge_status")}, {_other("complexity")},
               {_other("initial_tier", "'Developer'")},
               nullif(g.context_references, '[]') AS context_references, {_other("specializations")},
               {_other("item_count", "1")}, {_other("security_sensitive", "0")}, {_other("qa_attempts", "0")},
               {_other("tl_review_attempts", "0")}, {_other("component_path")}, {_other("review_iteration", "1")},
               {_other("no_progress_count", "0")}, {_other("blocking_issues_count", "0")},
               {_other("speckit_task_ids")}, {_moment("g.created_at", "created_at")},
               coalesce(json_extract(g.metadata, '$.updated_at'),
                        strftime('%Y-%m-%d %H:%M:%S', g.created_at / 1000000, 'unixepoch')) AS updated_at
          FROM main.groups AS g
          JOIN main.sessions AS s ON s.id = g.session_id""",
    "context_packages": f"""
        SELECT p.id, s.name AS session_id, g.name AS group_id, p.type AS package_type, p.path AS file_path,
               p.producer AS producer_agent, p.priority,
               CASE WHEN length(p.summary) > 200 THEN substr(p.summary, 1, 197) || '...' ELSE p.summary END AS summary,
               p.size_bytes, p.version, p.supersedes AS supersedes_id, p.scope, {_moment("p.created_at", "created_at")}
          FROM main.packages AS p
          JOIN main.sessions AS s ON s.id = p.session_id
          LEFT JOIN main.groups AS g ON g.id = p.group_id""",
    "context_package_consumers": f"""
        SELECT c.id, c.package_id, c.agent AS agent_type, {_moment("c.consumed_at", "consumed_at")},
               coalesce(c.iteration, 1) AS iteration
          FROM main.package_consumers AS c""",
    "consumption_scope": f"""
        SELECT scope_id(s.name, coalesce(g.name, ''), d.agent, d.iteration, d.package_id) AS scope_id,
               s.name AS session_id, coalesce(g.name, '') AS group_id, d.agent AS agent_type, d.iteration,
               d.package_id, {_moment("d.delivered_at", "consumed_at")}
          FROM main.deliveries AS d
          JOIN main.packages AS p ON p.id = d.package_id
          JOIN main.sessions AS s ON s.id = p.session_id
          LEFT JOIN main.groups AS g ON g.id = d.group_id""",
    "error_patterns": f"""
        SELECT e.pattern_hash, e.project AS project_id,
               json_object('error_type', e.error_type, 'message_pattern', e.message,
                           'context_hints', json(e.context_hints), 'stack_pattern', json(e.stack_pattern))
                   AS signature_json,
               e.solution, round(e.confidence, 4) AS confidence, e.occurrences, e.lang,
               {_moment("e.last_seen", "last_seen")}, {_moment("e.created_at", "created_at")}, e.ttl_days
          FROM main.error_patterns AS e""",
    "strategies": f"""
        SELECT t.name AS strategy_id, t.project AS project_id, t.topic, t.insight, t.helpfulness, t.lang,
               t.framework, {_moment("t.last_seen", "last_seen")}, {_moment("t.created_at", "created_at")}
          FROM main.strategies AS t""",
    "orchestration_logs": f"""
        SELECT r.id, s.name AS session_id, {_moment("r.created_at", "timestamp")}, r.iteration,
               r.agent AS agent_type, nullif(r.agent_name, '') AS agent_id, r.content, 'reasoning' AS log_type,
               r.phase AS reasoning_phase, r.confidence AS confidence_level,
               nullif(r.refs, '[]') AS references_json, r.redacted, coalesce(g.name, 'global') AS group_id,
               NULL AS event_subtype, NULL AS event_payload, NULL AS idempotency_key
          FROM main.reasoning AS r
          JOIN main.sessions AS s ON s.id = r.session_id
          LEFT JOIN main.groups AS g ON g.id = r.group_id
         UNION ALL
        SELECT v.id, s.name, {_moment("v.created_at", "timestamp")}, NULL, 'system', NULL,
               'Event: ' || v.subtype, 'event', NULL, NULL, NULL, 0, coalesce(g.name, 'global'),
               v.subtype, v.payload, v.idempotency_key
          FROM main.events AS v
          JOIN main.sessions AS s ON s.id = v.session_id
          LEFT JOIN main.groups AS g ON g.id = v.group_id
         WHERE v.subtype <> '{TOKEN_USAGE}'""",
    "skill_outputs": f"""
        SELECT o.id, s.name AS session_id, {_moment("o.created_at", "timestamp")}, o.skill AS skill_name,
               o.output AS output_data, nullif(o.agent, '') AS agent_type, g.name AS group_id, o.iteration
          FROM main.skill_outputs AS o
          JOIN main.sessions AS s ON s.id = o.session_id
          LEFT JOIN main.groups AS g ON g.id = o.group_id""",
    TOKEN_USAGE: f"""
        SELECT v.id, s.name AS session_id, {_moment("v.created_at", "timestamp")},
               json_extract(v.payload, '$.agent_type') AS agent_type,
               json_extract(v.payload, '$.agent_id') AS agent_id,
               json_extract(v.payload, '$.tokens_estimated') AS tokens_estimated
          FROM (SELECT * FROM main.events WHERE subtype = '{TOKEN_USAGE}') AS v
          JOIN main.sessions AS s ON s.id = v.session_id""",
}

# Planned there and never made, and read by its documents: what they were to hold is here.
VIEWS["agent_reasoning"] = f"""
        SELECT r.id, s.name AS session_id, coalesce(g.name, 'global') AS group_id, r.agent AS agent_type,
               nullif(r.agent_name, '') AS agent_id, r.iteration, r.phase, r.content, r.confidence,
               nullif(r.refs, '[]') AS references_json, r.redacted, {_moment("r.created_at", "created_at")}
          FROM main.reasoning AS r
          JOIN main.sessions AS s ON s.id = r.session_id
          LEFT JOIN main.groups AS g ON g.id = r.group_id"""
VIEWS["configuration"] = """
        SELECT 'skills_config' AS key, c.value, NULL AS updated_at
          FROM main.settings AS c
         WHERE c.key = (SELECT k.key FROM main.settings AS k
                         WHERE k.key IN ('skills_config', 'imported_skills_config')
                         ORDER BY k.key = 'skills_config' DESC LIMIT 1)"""

# In which order the rows of a table were made there.
_MADE = {
    "sessions": "s.id",
    "task_groups": "g.id",
    "context_packages": "p.id",
    "context_package_consumers": "c.id",
    "consumption_scope": "d.delivered_at, d.package_id",
    "error_patterns": "e.id",
    "strategies": "t.id",
    "orchestration_logs": "3, 8, 1",
    "skill_outputs": "o.id",
    TOKEN_USAGE: "v.id",
    "agent_reasoning": "r.id",
    "configuration": "key",
}

_TABLES = f"It may read and nothing else; tables are {', '.join(VIEWS)}."


def rows(primary: apsw.Connection, query: str, values: tuple[Value, ...] = ()) -> Rows:
    """The answer to a query of ours that begins with one of the views' texts."""
    if "scope_id(" in query:
        _add_scope_id(primary)
    cursor = primary.cursor()
    columns: tuple[str, ...] = ()
    found: list[tuple[Value, ...]] = []
    for row in cursor.execute(query, values):
        columns = columns or _columns(cursor)  # known while there is a row, not after the last
        found.append(row)
    return Rows(columns, tuple(found))


def scope_id(session: str, group: str, agent: str, iteration: int, package_id: int) -> str:
    """The id of one consumption: the same in every process. A session-wide group is ''."""
    import hashlib  # noqa: PLC0415  loads OpenSSL; few callers hash

    return hashlib.sha256(f"{session}:{group}:{agent}:{iteration}:{package_id}".encode()).hexdigest()[:32]


def select(store: Store, query: str) -> Rows:
    """The answer to the caller's SELECT over the views: MAX_ROWS rows and MAX_ANSWER_CHARS at most, in MAX_SECONDS.

    Raises UsageError for what is no single SELECT, what is refused, what SQLite does not understand or what
    takes too long or too much memory. A call into SQLite that lasts (LIKE with many %) can outlast the limit.
    """
    if not query.strip().upper().startswith("SELECT"):
        raise UsageError("Only SELECT queries are allowed.", "Begin with SELECT.")
    is_own = not store.primary.readonly("main")
    connection = _open_read_only(store) if is_own else store.primary
    heap_bytes = apsw.hard_heap_limit(_MAX_HEAP_BYTES)
    try:
        connection.pragma("temp_store", 2)  # in memory, which is limited: a sort fills no disk
        with _explained():
            _limit(connection)
            _make_views(connection, query)
            _lock_down(connection)
            return _selected(connection, query)
    finally:
        apsw.hard_heap_limit(heap_bytes)
        if is_own:
            connection.close()


def _open_read_only(store: Store) -> apsw.Connection:
    uri = file_uri(store.location.primary, "mode=ro")
    connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    connection.set_busy_timeout(store.busy_ms)
    return connection


def _scope_id_of_row(*values: object) -> str:
    session, group, agent, iteration, package_id = map(str, values)
    return scope_id(session, group, agent, int(iteration), int(package_id))


def _add_scope_id(connection: apsw.Connection) -> None:
    # Innocuous: a view may call it though nothing in a schema is trusted.
    connection.create_scalar_function("scope_id", _scope_id_of_row, 5, deterministic=True, flags=apsw.SQLITE_INNOCUOUS)


def _make_views(connection: apsw.Connection, query: str) -> None:
    """The tables as views; where the query asks for row numbers, which no view has, as tables of their rows."""
    _add_scope_id(connection)
    words = set(re.findall(r"\w+", query.lower()))
    for name, text in VIEWS.items():
        if name in words and words & {"rowid", "oid", "_rowid_"}:
            connection.execute(f"CREATE TEMP TABLE {name} AS {text} ORDER BY {_MADE[name]}")
        else:
            connection.execute(f"CREATE TEMP VIEW {name} AS {text}")


def _limit(connection: apsw.Connection) -> None:
    """No value that is too large, and no endless run."""
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    deadline = time.monotonic() + MAX_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_BETWEEN_CLOCKS)


def _lock_down(connection: apsw.Connection) -> None:
    """From here on nothing but reading: no attached files, no settings, no extensions."""
    connection.pragma("query_only", True)
    connection.set_authorizer(_authorize)


def _authorize(action: int, first: str | None, second: str | None, _schema: str | None, _view: str | None) -> int:
    if action == apsw.SQLITE_READ and ((first or "").lower(), (second or "").lower()) == ("store", "token"):
        return apsw.SQLITE_IGNORE  # NULL: it says whose the store is
    if action in (apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_RECURSIVE):
        return apsw.SQLITE_OK
    if action == apsw.SQLITE_FUNCTION and (second or "").lower() != "load_extension":
        return apsw.SQLITE_OK
    return apsw.SQLITE_DENY


def _selected(connection: apsw.Connection, query: str) -> Rows:
    cursor = connection.cursor()
    statements = 0

    def count(_cursor: object, _sql: str, _bindings: object) -> bool:
        nonlocal statements
        statements += 1
        return statements == 1

    cursor.exec_trace = count
    columns: tuple[str, ...] = ()
    found: list[tuple[Value, ...]] = []
    size = 0
    for row in cursor.execute(query):
        columns = columns or _columns(cursor)
        size += sum(map(_json_chars, row)) + sum(map(len, columns))
        if len(found) == MAX_ROWS or (size > MAX_ANSWER_CHARS and found):
            return Rows(columns, tuple(found), is_cut=True)
        if size > MAX_ANSWER_CHARS:
            raise UsageError("A row of the answer is too large to be shown.", "Name the columns you need.")
        found.append(row)
    return Rows(columns, tuple(found))


@contextlib.contextmanager
def _explained() -> Generator[None, None, None]:
    """What SQLite refuses, said as what the caller can do about it. Raises UsageError."""
    try:
        yield
    except apsw.ExecTraceAbort as error:
        raise UsageError("Only one statement at a time is allowed.", "Give one SELECT.") from error
    except apsw.InterruptError as error:
        raise UsageError(f"The query took longer than {MAX_SECONDS:g} s and was stopped.", "Narrow it.") from error
    except (MemoryError, apsw.NoMemError) as error:
        raise UsageError("The query needs too much memory and was stopped.", "Narrow it.") from error
    except apsw.AuthError as error:
        raise UsageError(f"The query is refused: {error}.", _TABLES) from error
    except (apsw.SQLError, apsw.TooBigError, apsw.MismatchError) as error:
        raise UsageError(f"SQLite refuses the query: {error}.", _TABLES) from error


def _json_chars(value: Value) -> int:
    """At least what a value takes in JSON, where each character that is not plain is escaped."""
    if isinstance(value, str):
        return _VALUE_CHARS + len(value) * (1 if value.isascii() and value.isprintable() else 12)
    return _VALUE_CHARS + (2 * len(value) if isinstance(value, bytes) else 0)


def _columns(cursor: apsw.Cursor) -> tuple[str, ...]:
    return tuple(str(column[0]) for column in cursor.get_description())

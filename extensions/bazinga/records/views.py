"""The predecessor's tables, as views over ours: its names, its columns, its text moments.

    rows(store.primary, f"{VIEWS['sessions']} WHERE s.name = ?", ("shop-2026-11",))
    select(store, "SELECT count(*) AS n FROM context_packages")

`views.sql` has them. A view's text ends in its FROM and JOINs, so that a reader adds a WHERE in our names and an order
that has no ties. `select` runs any SELECT of the caller, on a connection that cannot do anything else.
"""

import contextlib
import re
import time
from collections.abc import Generator

import apsw

from ctxrank.extensions.bazinga.arguments import data
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

    def as_objects(self) -> list[dict[str, object]]:
        """The rows as JSON objects."""
        shown = ([value.hex() if isinstance(value, bytes) else value for value in row] for row in self.rows)
        return [dict(zip(self.columns, row, strict=True)) for row in shown]


def _views() -> dict[str, tuple[str, str]]:
    """The views of `views.sql`: (its text, the order in which its rows were made there), by name."""
    text = re.sub(r"moment\(([\w.]+)\)", r"strftime('%Y-%m-%d %H:%M:%S', \1 / 1000000, 'unixepoch')", data("views.sql"))
    found: dict[str, tuple[str, str]] = {}
    for part in text.split("-- view ")[1:]:
        head, _, body = part.partition("\n")
        name, _, order = head.partition(" by ")
        found[name] = (body.strip(), order)
    return found


_VIEWS = _views()
VIEWS = {name: body for name, (body, _) in _VIEWS.items()}
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


def scope_id(*consumption: object) -> str:
    """The id of one consumption (session, group, agent, iteration, package): the same in every process.

    A session-wide group is ''.
    """
    import hashlib  # noqa: PLC0415  loads OpenSSL; few callers hash

    return hashlib.sha256(":".join(map(str, consumption)).encode()).hexdigest()[:32]


def select(store: Store, query: str) -> Rows:
    """The answer to the caller's SELECT over the views: MAX_ROWS rows and MAX_ANSWER_CHARS at most, in MAX_SECONDS.

    Raises UsageError for what is no single SELECT, what is refused, what SQLite does not understand or what
    takes too long or too much memory. A call into SQLite that lasts (LIKE with many %) can outlast the limit.
    """
    if not query.strip().upper().startswith("SELECT"):
        raise UsageError("Only SELECT queries are allowed.", "Begin with SELECT.")
    connection = store.primary
    is_own = not connection.readonly("main")
    if is_own:
        uri = file_uri(store.location.primary, "mode=ro")
        connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        connection.set_busy_timeout(store.busy_ms)
    heap_bytes = apsw.hard_heap_limit(_MAX_HEAP_BYTES)
    deadline = time.monotonic() + MAX_SECONDS
    try:
        connection.pragma("temp_store", 2)  # in memory, which is limited: a sort fills no disk
        with _explained():
            connection.limit(apsw.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
            connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_BETWEEN_CLOCKS)
            _make_views(connection, query)
            # From here on nothing but reading: no attached files, no settings, no extensions.
            connection.pragma("query_only", True)
            connection.set_authorizer(_authorize)
            return _selected(connection, query)
    finally:
        apsw.hard_heap_limit(heap_bytes)
        if is_own:
            connection.close()


def _add_scope_id(connection: apsw.Connection) -> None:
    # Innocuous: a view may call it though nothing in a schema is trusted.
    connection.create_scalar_function("scope_id", scope_id, 5, deterministic=True, flags=apsw.SQLITE_INNOCUOUS)


def _make_views(connection: apsw.Connection, query: str) -> None:
    """The tables as views; where the query asks for row numbers, which no view has, as tables of their rows."""
    _add_scope_id(connection)
    words = set(re.findall(r"\w+", query.lower()))
    for name, (text, order) in _VIEWS.items():
        if name in words and words & {"rowid", "oid", "_rowid_"}:
            connection.execute(f"CREATE TEMP TABLE {name} AS {text} ORDER BY {order}")
        else:
            connection.execute(f"CREATE TEMP VIEW {name} AS {text}")


def _authorize(action: int, first: str | None, second: str | None, _schema: str | None, _view: str | None) -> int:
    if action == apsw.SQLITE_READ and ((first or "").lower(), (second or "").lower()) == ("store", "token"):
        return apsw.SQLITE_IGNORE  # NULL: it says whose the store is
    is_reading = action in (apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_RECURSIVE)
    is_calling = action == apsw.SQLITE_FUNCTION and (second or "").lower() != "load_extension"
    return apsw.SQLITE_OK if is_reading or is_calling else apsw.SQLITE_DENY


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

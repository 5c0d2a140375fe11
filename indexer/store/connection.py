"""The border to SQLite: how a file of a store is opened, how its rows become typed values, and its errors ours.

read_rows(connection, "SELECT name, size_bytes FROM files WHERE id > ?", (3,), File)      each row as a File
read_row(connection, "SELECT name, size_bytes FROM files WHERE id = ?", (3,), File)       the first, or None
read_value(connection, "SELECT name FROM files WHERE id = ?", (3,), str)                  its first column, or None
read_map(connection, "SELECT id, name FROM files", (), int, str)                          {3: "notes.md", …}
"""

import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import starmap

import apsw

from ctxrank.indexer.exceptions import CtxrankError, DamagedError, LockedError, UsageError, refused_by_system
from ctxrank.indexer.light_typing import TYPE_CHECKING, contextmanager

if TYPE_CHECKING:
    from typing import TypeVar

    Row = TypeVar("Row")
    Key = TypeVar("Key", int, str)
    Value = TypeVar("Value", int, str, float)
else:
    Row = object  # the base of a class names it

# What can be bound to a statement.
Values = Sequence[str | int | float | bytes | None] | Mapping[str, str | int | float | bytes | None]

SCHEMA_VERSION = 14
APPLICATION_ID = 0x63747872  # "ctxr": distinguishes our file from any other SQLite database
BUSY_TIMEOUT_MS = 30_000
_MOST_BUSY_DIGITS = 9  # eleven days; SQLite takes no number of ten
_WAL_RETRY_S = 0.02
_SHORTEST_PAUSE_S = 0.0005
_PAUSE_GROWS_BY_S = 0.01
_LONGEST_PAUSE_S = 0.02
DAMAGED_STEP = "See 'ctxrank doctor'; 'ctxrank doctor --repair plan' says what can be saved."
LOG_SUFFIXES = ("-wal", "-shm", "-journal")  # what SQLite keeps next to a database
_WAL_KEPT_BYTES = 16 * 1024 * 1024
# Of a new file; any other keeps its own. Of the room on pages of 4,096 bytes a sixth fits no passage, of these a
# twelfth. Larger ones make each save write twice as much, and an empty store 1.3 MB.
PAGE_BYTES = 8192
KEEP_SETTING = "INSERT OR REPLACE INTO settings (key, value) VALUES (?, ?)"

# The paths of the stores that this process has opened, the last one last: a foreign id asks what its origin is called.
opened_stores: dict[str, None] = {}


def busy_timeout_ms() -> int:
    """How long a call waits for a lock: `CTXRANK_BUSY_TIMEOUT_MS`, else 30 s."""
    text = os.environ.get("CTXRANK_BUSY_TIMEOUT_MS", "")
    if not text:
        return BUSY_TIMEOUT_MS
    if not (text.isdecimal() and len(text) <= _MOST_BUSY_DIGITS):
        raise UsageError(f"CTXRANK_BUSY_TIMEOUT_MS is '{text}'.", "Give a whole number of milliseconds, such as 30000.")
    return int(text)


def file_uri(path: str, query: str) -> str:
    """A file: URI for SQLite, with the few characters escaped that it would take for itself."""
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return f"file:{quoted}?{query}"


def open_database(
    path: str, *, busy_ms: int, create: bool = False, check: Callable[[apsw.Connection], None] | None = None
) -> apsw.Connection:
    """A writing connection in WAL mode; errors are ours.

    `check` looks at a file that is not in WAL mode, before anything in it is changed, and raises where
    the file is not ours. Raises LockedError, DamagedError, CtxrankError.
    """
    with sqlite_errors(path):
        if create:
            _create_private(path)
        try:
            # URIs are allowed so that the index can attach the primary database read-only.
            flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
            connection = apsw.Connection(path, flags=flags)
            try:
                _prepare(connection, busy_ms, check)
                keep_temporary_files_beside(connection, path)
                size = os.stat(path).st_size
                # SQLite would take the missing rest of a page for zeros, and rows on it for empty ones. Where a log is
                # to be merged into the file, that may be a merge that was killed: it is made again from the log.
                if size % int(connection.pragma("page_size")) and not size_of(path + "-wal"):
                    raise apsw.CorruptError(f"it ends within a page, after {size} bytes")
            except BaseException:
                connection.close()  # at once, and not when the error's frames are collected
                raise
            return connection
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            if os.access(os.path.dirname(path), os.W_OK) and os.access(path, os.W_OK):
                raise
            # On a read-only file system: fine as long as no WAL holds newer content.
            if size_of(wal := path + "-wal"):
                raise DamagedError(
                    f"{path} cannot be written, and changes that were never merged into it lie in {wal}.",
                    "Make the folder writable once, so that they can be merged.",
                ) from None
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            return apsw.Connection(file_uri(path, "immutable=1"), flags=flags)


def keep_temporary_files_beside(connection: apsw.Connection, path: str) -> None:
    """Let SQLite put the files that a VACUUM or a large sort needs for a moment into the folder of a database.

    Else they lie in /var/tmp, which everybody shares and which may be another disk: a copy of all texts. The folder
    holds for the whole process, until another database is opened. Temporary tables of the connection go.
    """
    try:
        # It is called deprecated because all connections share it. The variable SQLITE_TMPDIR is shared, too, and
        # would be handed on to every command that this process runs.
        connection.pragma("temp_store_directory", os.path.dirname(path))
    except apsw.SQLError:  # a folder that cannot be written
        return


def vacuum(connection: apsw.Connection, path: str) -> bool:
    """Rewrite a file without what was deleted, then cut its log; a reader in the way shows in the answer."""
    with sqlite_errors(path):
        connection.pragma("temp_store", 1)  # the copy is as large as the file
        connection.execute("VACUUM main")
        row = connection.execute("PRAGMA main.wal_checkpoint(TRUNCATE)").fetchone()
    return row is not None and row[0] == 0


def size_of(path: str) -> int:
    """How many bytes a file has; 0 where there is none."""
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _prepare(connection: apsw.Connection, busy_ms: int, check: Callable[[apsw.Connection], None] | None) -> None:
    # First of all: whatever comes next may meet a lock.
    wait_for_locks(connection, busy_ms)
    # Only where it is not WAL already: the switch needs an exclusive lock and ignores the timeout.
    if connection.pragma("journal_mode") != "wal":
        if check is not None:
            with snapshot(connection):
                check(connection)
        connection.pragma("page_size", PAGE_BYTES)
        _switch_to_wal(connection, busy_ms)
    # An acknowledged record survives a power cut.
    connection.pragma("synchronous", 2)
    if sys.platform != "linux":
        from ctxrank.indexer.systems import sync_to_the_disk  # noqa: PLC0415  start-up: Linux has nothing to add

        sync_to_the_disk(connection)
    connection.pragma("foreign_keys", True)
    # What is deleted is overwritten: a forgotten secret does not stay in free pages.
    connection.pragma("secure_delete", True)
    # A long run behind a reader lets the WAL grow; once it is merged, most of it is given back to the disk.
    connection.pragma("journal_size_limit", _WAL_KEPT_BYTES)
    # Nothing in the file's own schema may call functions with side effects.
    connection.pragma("trusted_schema", False)


def wait_for_locks(connection: apsw.Connection, busy_ms: int) -> None:
    """How long a statement on this connection waits for a lock; 0 is not at all.

    SQLite's own timeout sleeps ever longer, up to 100 ms, so the longest waiting process is the last to retry. Short
    pauses of random length let everybody have a turn: with 8 processes of 500 saves each the longest save fell from
    834 and 1,435 ms to 166 and 178, the p99 from 106 and 126 to 73 and 96, and the p50 stayed at 0.8 to 0.9 (two runs
    each, 2 cores, 2026-11). Shorter pauses still make the p50 longer: the writer is disturbed more often.
    """
    if busy_ms <= 0:
        connection.set_busy_timeout(0)
        return
    started = 0.0

    def pause(tries: int) -> bool:
        nonlocal started
        now = time.monotonic()
        if tries == 0:
            started = now
        if now - started >= busy_ms / 1000:
            return False
        # The clock's last digits are random enough, and cost no import.
        share = time.perf_counter_ns() % 1009 / 1009
        time.sleep(_SHORTEST_PAUSE_S + share * min(_PAUSE_GROWS_BY_S * (tries + 1), _LONGEST_PAUSE_S))
        return True

    connection.set_busy_handler(pause)


def _switch_to_wal(connection: apsw.Connection, busy_ms: int) -> None:
    deadline = time.monotonic() + busy_ms / 1000
    while True:
        try:
            connection.pragma("journal_mode", "wal")
            return
        except apsw.BusyError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_WAL_RETRY_S)


def _create_private(path: str) -> None:
    """Make the file before SQLite does, readable by its owner alone (-wal and -shm inherit that)."""
    with refused_by_system(f"{path} cannot be made", "Check the permissions of its folder."):
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            return
        from ctxrank.indexer.systems import give_to_owner_of_folder  # noqa: PLC0415  a query makes no file

        give_to_owner_of_folder(path)


@contextmanager
def immediate(connection: apsw.Connection) -> Generator[None, None, None]:
    """One short writing transaction: the lock is taken first, so it never upgrades half-way.

    A deferred BEGIN that turns into a write fails at once with SQLITE_BUSY_SNAPSHOT, whatever the timeout.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A COMMIT that fails (the disk is full, say) leaves the transaction open, too.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def snapshot(connection: apsw.Connection) -> Generator[None, None, None]:
    """One reading transaction; its view is fixed at the first read of each file."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def read_rows(
    connection: apsw.Connection, query: str, values: Values, row_type: "Callable[..., Row]"
) -> "Iterator[Row]":
    """The rows of a query, each as a value of a type that has the columns as its fields, in their order.

    What a column holds is what the schema says: every table is STRICT.
    """
    return starmap(row_type, connection.execute(query, values))


def read_row(connection: apsw.Connection, query: str, values: Values, row_type: "Callable[..., Row]") -> "Row | None":
    """The first row of a query; None where it has none."""
    found = connection.execute(query, values).fetchone()
    return None if found is None else row_type(*found)


def read_column(connection: apsw.Connection, query: str, values: Values, type_: "type[Value]") -> "list[Value]":
    """The first column of a query's rows. Raises DamagedError where something in it is of another type, or NULL."""
    return [_checked(found[0], type_) for found in connection.execute(query, values)]


def read_map(
    connection: apsw.Connection, query: str, values: Values, key_type: "type[Key]", value_type: "type[Value]"
) -> "dict[Key, Value]":
    """The rows of a query of two columns, the second by the first. Raises DamagedError as `read_column` does."""
    rows = connection.execute(query, values)
    return {_checked(key, key_type): _checked(value, value_type) for key, value in rows}


def read_value(connection: apsw.Connection, query: str, values: Values, type_: "type[Value]") -> "Value | None":
    """The first column of a query's first row; None where that is NULL, or there is no row. Raises DamagedError."""
    found = connection.execute(query, values).fetchone()
    return None if found is None or found[0] is None else _checked(found[0], type_)


def require_value(connection: apsw.Connection, query: str, values: Values, type_: "type[Value]") -> "Value":
    """The value that a query always has: of an aggregate, or of a row that was just written. Raises DamagedError."""
    found = connection.execute(query, values).fetchone()
    return _checked(None if found is None else found[0], type_)


def read_setting(connection: apsw.Connection, key: str) -> str | None:
    """A value that the store keeps for itself; None where there is none of this name."""
    return read_value(connection, "SELECT value FROM settings WHERE key = ?", (key,), str)


def put_setting(connection: apsw.Connection, key: str, value: str) -> None:
    """Keep a value, JSON, under a name; '' is none."""
    if value:
        connection.execute(KEEP_SETTING, (key, value))
    else:
        connection.execute("DELETE FROM settings WHERE key = ?", (key,))


class Page(list[Row]):
    """A list that a limit may have cut: `total` is how many there are without one."""

    def __init__(self, items: Iterable[Row], total: int) -> None:
        super().__init__(items)
        self.total = total
        self.has_more = len(self) < total


def read_page(
    connection: apsw.Connection, query: str, values: Values, row_type: "Callable[..., Row]", *, limit: int = -1
) -> "Page[Row]":
    """The rows of a query, at most `limit` of them, and how many it has; below 0 there is no limit."""
    rows = connection.execute(f"{query} LIMIT {limit:d}", values).fetchall()
    total = len(rows)
    if total == limit:  # else the last row was read
        total = require_value(connection, f"SELECT count(*) FROM ({query})", values, int)
    return Page(starmap(row_type, rows), total)


def _checked(found: object, type_: "type[Value]") -> "Value":
    if not isinstance(found, type_):
        raise DamagedError(f"A column holds {type(found).__name__} and not {type_.__name__}.", DAMAGED_STEP)
    return found


@contextmanager
def sqlite_errors(what: str) -> Generator[None, None, None]:
    """Turn SQLite's errors into ours, naming the file they came from."""
    try:
        yield
    except apsw.Error as error:
        raise translate(error, what) from error


def translate(error: apsw.Error, what: str) -> CtxrankError:
    """The error of ours that says the same, with what to do next."""
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return LockedError(
            f"{what} is locked by another process.",
            "Try again; CTXRANK_BUSY_TIMEOUT_MS sets how long a call waits.",
        )
    if isinstance(error, apsw.NotADBError):
        return DamagedError(f"{what} is not an SQLite database.", f"Point --db elsewhere. {DAMAGED_STEP}")
    if isinstance(error, apsw.CorruptError) or str(error) == "malformed JSON":
        return DamagedError(f"{what} is damaged ({error}).", DAMAGED_STEP)
    # Where there is no room for its shared memory, SQLite calls a full disk an I/O error.
    folder = os.path.dirname(what)
    if isinstance(error, apsw.FullError) or (isinstance(error, apsw.IOError) and _is_full(folder)):
        # Temporary files of a store that cannot be written lie elsewhere; those of any other in its own folder.
        variables = (os.environ.get("SQLITE_TMPDIR"), os.environ.get("TMPDIR"))
        places = [place for place in (*variables, "/var/tmp", "/usr/tmp", "/tmp", os.curdir) if place]
        place = next((place for place in places if os.path.isdir(place) and os.access(place, os.W_OK)), "")
        if folder and not os.access(folder, os.W_OK) and place and _is_full(place):
            return CtxrankError(
                f"The disk for temporary files, {place}, is full.",
                "Free some space, or name another in SQLITE_TMPDIR.",
            )
        return CtxrankError(f"The disk that holds {what} is full.", "Free some space and try again.")
    if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError):
        return CtxrankError(f"{what} cannot be written.", "Check the permissions of the file and its folder.")
    if isinstance(error, apsw.CantOpenError):
        link = next((what + suffix for suffix in ("", *LOG_SUFFIXES) if os.path.islink(what + suffix)), "")
        if link:
            return CtxrankError(
                f"{link} is a link: no file of a store is opened through one.",
                "Remove the link; a store that lies elsewhere is named by its own file: --db FILE.",
            )
        return CtxrankError(
            f"{what} cannot be opened.", "Check that you may read it, and that files may be opened (ulimit -n)."
        )
    if isinstance(error, apsw.IOError):
        return CtxrankError(
            f"The system could not read or write {what} ({error}).", "Check the disk and its space, then try again."
        )
    return CtxrankError(f"SQLite refused on {what}: {error}")


def _is_full(folder: str) -> bool:
    try:
        return os.statvfs(folder).f_bavail == 0
    except OSError:
        return False

"""The predecessor's database, opened and read: `bazinga/bazinga.db`.

Everything is read before anything is written, so a database that turns out to be damaged on its last page
changes nothing here. It is opened read-only and left as it was found.
"""

import os

import apsw

from ctxrank.cli.bazinga.database.lines import read_lines
from ctxrank.cli.bazinga.database.tables import HINT, Tables
from ctxrank.indexer.exceptions import DamagedError, UsageError
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import file_uri, snapshot, translate

_MAX_TRIES = 3


class Predecessor(NamedTuple):
    """Everything in a database that can come in."""

    schema: int
    lines: tuple[Line, ...]


def read_predecessor(path: str, *, busy_ms: int) -> Predecessor:
    """Read the whole database as it was at one moment.

    Raises UsageError where there is no file, DamagedError where it is damaged or no database of the
    predecessor, LockedError.
    """
    if not os.path.isfile(path):
        raise UsageError(f"There is no file {path}.", HINT)
    for attempt in range(_MAX_TRIES):
        before = _state(path)
        # SQLite leaves -wal and -shm next to a WAL database that it opens read-only. While nothing waits to
        # be merged or rolled back, the file alone is the primary database and can be read as immutable,
        # provided that no process writes to it meanwhile: that is checked afterwards.
        is_settled = before[1:] == (0, 0) and attempt < _MAX_TRIES - 1
        try:
            read = _read(path, "immutable=1" if is_settled else "mode=ro", busy_ms)
        except UnicodeDecodeError as error:
            raise DamagedError(f"{path} is damaged: its own table names are not text.", HINT) from error
        except apsw.Error as error:
            if is_settled and _state(path) != before:
                continue
            if isinstance(error, apsw.NotADBError):
                raise DamagedError(f"{path} is not an SQLite database.", HINT) from error
            raise translate(error, path) from error
        if not is_settled or _state(path) == before:
            return read
    raise AssertionError("the last try reads with locks and needs no second look")


def _state(path: str) -> tuple[tuple[int, int, int], int, int]:
    """What changes when a process writes, and the sizes of the write-ahead log and the rollback journal."""
    info = os.stat(path)
    wal, journal = (
        os.path.getsize(path + suffix) if os.path.exists(path + suffix) else 0 for suffix in ("-wal", "-journal")
    )
    return (info.st_ino, info.st_size, info.st_mtime_ns), wal, journal


def _read(path: str, query: str, busy_ms: int) -> Predecessor:
    uri = file_uri(os.path.abspath(path), query)
    connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        connection.set_busy_timeout(busy_ms)
        # The file may come from anywhere: its schema runs nothing, and a broken page is seen, not followed.
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.pragma("trusted_schema", False)
        connection.pragma("cell_size_check", True)
        with snapshot(connection):
            tables = Tables(connection, path)
            return Predecessor(tables.checked_schema(), tuple(read_lines(tables)))
    finally:
        connection.close()

"""The predecessor's database, opened and read: `bazinga/bazinga.db`.

Everything is read before anything is written, so a database that turns out to be damaged on its last page
changes nothing here. It is opened read-only and left as it was found.
"""

import contextlib
import os
import shutil

import apsw

from ctxrank.extensions.bazinga.database.lines import HINT, READ, Tables, left_out, read_lines
from ctxrank.extensions.bazinga.records.views import TOKEN_USAGE
from ctxrank.indexer.care.page_reader import page_reader
from ctxrank.indexer.exceptions import DamagedError, UsageError
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import file_uri, snapshot, translate

_MAX_TRIES = 3


_WAL_HEADER_BYTES = 32
_MAX_SCHEMA_BYTES = 16 * 1024 * 1024


class Predecessor(NamedTuple):
    """Everything in a database that can come in.

    `lost` says what could not be read of a damaged one, `left_out` what ctxrank keeps no records of.
    """

    schema: int
    lines: tuple[Line, ...]
    lost: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


class DamagedSourceError(DamagedError):
    """A database of the predecessor that is damaged: some of it may still be read."""


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
            raise DamagedSourceError(f"{path} is damaged: its own table names are not text.", HINT) from error
        except apsw.Error as error:
            if is_settled and _state(path) != before:
                continue
            if isinstance(error, apsw.NotADBError):
                kind = DamagedSourceError if _has_packages(path) else DamagedError
                raise kind(f"{path} is not an SQLite database.", HINT) from error
            if isinstance(error, apsw.CorruptError):
                raise DamagedSourceError(f"{path} is damaged ({error}).", HINT) from error
            raise translate(error, path) from error
        if not is_settled or _state(path) == before:
            return read
    raise AssertionError("the last try reads with locks and needs no second look")


def read_damaged(path: str, folder: str) -> Predecessor:
    """Read what can be read of a damaged database, into a copy in `folder`, which is the caller's to throw away.

    Raises UsageError where there is no file, DamagedError where nothing of the predecessor's can be read in it.
    """
    if not os.path.isfile(path):
        raise UsageError(f"There is no file {path}.", HINT)
    new = os.path.join(folder, "salvaged.db")
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    tables = page_reader("import bazinga --salvage").copy_foreign_tables(_with_log(path, folder), new, READ)
    try:
        read = _read(new, "immutable=1", 0, is_whole=False)
    except DamagedError as error:
        raise DamagedError(f"Nothing of a database of the predecessor can be read in {path}.", HINT) from error
    lost = [
        f"{table.name}: {table.saved} rows were read, {table.lost}{'' if table.is_count_known else ' or more'} are lost"
        for table in tables
        if table.lost or not table.is_count_known
    ]
    lost += [
        f"{name}: nothing was read" for name in READ if name not in {TOKEN_USAGE, *(table.name for table in tables)}
    ]
    return read._replace(lost=tuple(lost))


def _with_log(path: str, folder: str) -> str:
    """The file as a reader would see it: with what still waits in its write-ahead log, merged into a copy."""
    log = f"{path}-wal"
    if not os.path.isfile(log) or os.path.getsize(log) <= _WAL_HEADER_BYTES:
        return path
    copy = os.path.join(folder, "source.db")
    for suffix in ("", "-wal"):
        with open(path + suffix, "rb") as source, open(copy + suffix, "xb") as target:
            shutil.copyfileobj(source, target)
    with contextlib.suppress(apsw.Error):  # then the pages of the file alone are read
        connection = apsw.Connection(copy)
        try:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            connection.close()
    return copy


def _has_packages(path: str) -> bool:
    """Whether a file without SQLite's header names the predecessor's tables: its header may be what is damaged."""
    with open(path, "rb") as file:
        data = file.read(_MAX_SCHEMA_BYTES)  # which SQLite writes first; behind it a file may have holes without end
        return data.find(b"\0") >= 0 and data.find(b"CREATE TABLE") >= 0 and data.find(b"context_packages") >= 0


def _state(path: str) -> tuple[tuple[int, int, int], int, int]:
    """What changes when a process writes, and the sizes of the write-ahead log and the rollback journal."""
    info = os.stat(path)
    wal, journal = (
        os.path.getsize(path + suffix) if os.path.exists(path + suffix) else 0 for suffix in ("-wal", "-journal")
    )
    return (info.st_ino, info.st_size, info.st_mtime_ns), wal, journal


def _read(path: str, query: str, busy_ms: int, *, is_whole: bool = True) -> Predecessor:
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
            schema = tables.checked_schema(is_whole=is_whole)
            return Predecessor(schema, tuple(read_lines(tables)), (), tuple(left_out(tables)))
    finally:
        connection.close()

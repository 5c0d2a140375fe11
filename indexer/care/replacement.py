"""A damaged primary database exchanged for what could be saved of it, while other processes have it open.

    lock ─► copy to backups/ ─► read the copy, make a new file ─► write it over the damaged one, in one transaction

Written over and not renamed: a process that has the file open would go on writing to one no other process sees. Only a
file that SQLite itself cannot open is replaced, and only while no other process has it open. A lock is never taken for
damage: a call that meets one raises LockedError, and nothing has changed.
"""

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Generator

import apsw

from ctxrank.indexer.care.new_file import SalvageReport, save_what_can_be_read, touch
from ctxrank.indexer.exceptions import CtxrankError, DamagedError, LockedError, refused_by_system
from ctxrank.indexer.store.connection import read_value, require_value, translate, wait_for_locks
from ctxrank.indexer.store.location import BACKUPS, Location

TRIAL = ".trial-"  # and the process that makes it
_TRIES = 3
# The byte of -shm on which every process that has a database in WAL mode open holds a shared lock.
_OPEN_LOCK_AT = 128
_UNOPENABLE = (apsw.NotADBError, apsw.CorruptError, apsw.CantOpenError, apsw.IOError)


class _ChangedMeanwhile(Exception):
    """Another process wrote between the copy and the exchange."""


def salvage(location: Location, *, busy_ms: int, is_dry_run: bool = False) -> tuple[SalvageReport, str]:
    """Save what can be read of the primary database, and put it in place; a dry run makes it and throws it away.

    Returns what was saved, and where the file is kept as it was ('' for a dry run).

    No connection of this process may have the store open. Raises LockedError, DamagedError, CtxrankError.
    """
    for attempt in range(_TRIES):
        try:
            return _exchange(location, busy_ms, is_dry_run=is_dry_run)
        except _ChangedMeanwhile:
            time.sleep(0.05 * (attempt + 1))
    raise LockedError(f"{location.primary} is written without pause.", "End the processes that write to it.")


def _exchange(location: Location, busy_ms: int, *, is_dry_run: bool) -> tuple[SalvageReport, str]:
    trial = f"{TRIAL}{os.getpid()}"
    folder = _new_folder(location.folder, trial) if is_dry_run else new_backup_folder(location)
    copy, new = os.path.join(folder, os.path.basename(location.primary)), os.path.join(folder, "salvaged.db")
    is_kept = False
    store_uuid = _uuid_in_index(location)
    try:
        with _open_for_salvage(location.primary, busy_ms) as damaged:
            if damaged is None:
                with _alone(location.primary):
                    for suffix in ("", "-wal"):
                        if os.path.exists(location.primary + suffix):
                            touch(copy + suffix)
                            shutil.copyfile(location.primary + suffix, copy + suffix)
                    report = save_what_can_be_read(copy, new, store_uuid=store_uuid)
                    if not is_dry_run:
                        is_kept = True
                        for suffix in ("-wal", "-shm"):  # before: a log that is left would be played into the new file
                            with contextlib.suppress(FileNotFoundError):
                                os.unlink(location.primary + suffix)
                        os.replace(new, location.primary)
            else:
                with _opened(location.primary, busy_ms) as look:
                    version = _copy_of(damaged, copy, look)
                    report = save_what_can_be_read(copy, new, store_uuid=store_uuid)
                    if not is_dry_run:
                        is_kept = True
                        _write_over(damaged, new, look, version)
    except _ChangedMeanwhile:
        is_kept = False
        raise
    except apsw.Error as error:
        raise translate(error, location.primary) from error
    except OSError as error:
        raise CtxrankError(
            f"{error.filename or folder} cannot be written: {error.strerror}.",
            "Salvaging needs room for two more copies of the store.",
        ) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(new)
        if not is_kept:
            shutil.rmtree(folder, ignore_errors=True)
    return report, "" if is_dry_run else copy


def new_backup_folder(location: Location) -> str:
    """A new folder for copies of the store as it is now, private to its owner. Raises CtxrankError."""
    parent = os.path.join(location.folder, BACKUPS)
    if os.path.islink(parent):
        raise CtxrankError(
            f"{parent} is a link: no copy of the store is written through it.", "Remove the link, and try again."
        )
    return _new_folder(parent, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()))


def _new_folder(parent: str, name: str) -> str:
    """A new folder of this name, with a number behind it where there is one already. Raises CtxrankError."""
    with refused_by_system(f"{parent} cannot be made", "Check the permissions."):
        os.makedirs(parent, mode=0o700, exist_ok=True)
        for number in range(100):
            folder = os.path.join(parent, name if not number else f"{name}-{number}")
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
                return folder
    raise CtxrankError(f"{parent} is full of copies of this second.", "Try again.")


def _uuid_in_index(location: Location) -> str:
    """The store's name as its index knows it; '' where that cannot be read."""
    try:
        with contextlib.closing(apsw.Connection(location.index_file, flags=apsw.SQLITE_OPEN_READONLY)) as index:
            return read_value(index, "SELECT store_uuid FROM state WHERE id = 1", (), str) or ""
    except (apsw.Error, DamagedError):
        return ""


@contextlib.contextmanager
def _open_for_salvage(path: str, busy_ms: int) -> Generator[apsw.Connection | None, None, None]:
    """A connection to a file that may be shorter than it says; None where SQLite makes nothing of it."""
    with contextlib.ExitStack() as stack:
        try:
            damaged = stack.enter_context(_opened(path, busy_ms))
            damaged.execute("BEGIN IMMEDIATE")
            damaged.execute("ROLLBACK")
        except _UNOPENABLE:
            stack.close()
            yield None
        else:
            yield damaged


@contextlib.contextmanager
def _opened(path: str, busy_ms: int) -> Generator[apsw.Connection, None, None]:
    with contextlib.closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        wait_for_locks(connection, busy_ms)
        # Only so does SQLite open a file that was cut off. Nothing here touches a schema.
        connection.execute("PRAGMA writable_schema = ON")
        with contextlib.suppress(apsw.Error):  # without it no process could read while it is written over
            connection.pragma("journal_mode", "wal")
        yield connection


def _copy_of(damaged: apsw.Connection, copy: str, look: apsw.Connection) -> int:
    """Copy every page as it is, the log's too; returns a mark that shows whether a process wrote since."""
    touch(copy)
    damaged.execute("BEGIN IMMEDIATE")  # no process writes while it is copied
    try:
        back_up(look, copy)  # not the one that holds the lock
        return _data_version(look)
    finally:
        if damaged.in_transaction:
            damaged.execute("ROLLBACK")


def back_up(source: apsw.Connection, path: str) -> None:
    """Copy every page that a connection sees into a file."""
    with contextlib.closing(apsw.Connection(path)) as target, target.backup("main", source, "main") as backup:
        backup.step(-1)


def _data_version(look: apsw.Connection) -> int:
    """A number that changes with every commit of another connection."""
    return require_value(look, "PRAGMA data_version", (), int)


def _write_over(damaged: apsw.Connection, new: str, look: apsw.Connection, version: int) -> None:
    """Put the new content in the old file's place, in one transaction: other connections see either."""
    with (
        contextlib.closing(apsw.Connection(new, flags=apsw.SQLITE_OPEN_READONLY)) as source,
        damaged.backup("main", source, "main") as backup,
    ):
        backup.step(0)  # takes the lock, and copies nothing yet
        if _data_version(look) != version:
            raise _ChangedMeanwhile
        backup.step(-1)


@contextlib.contextmanager
def _alone(path: str) -> Generator[None, None, None]:
    """While no other process has the file open. Raises LockedError."""
    try:
        descriptor = os.open(path + "-shm", os.O_RDWR)
    except OSError:  # no process has it open in WAL mode
        yield
        return
    try:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _OPEN_LOCK_AT)
        except OSError as error:
            raise LockedError(
                f"Another process has {path} open, and the file cannot be opened any more.",
                "End the processes that use the store, and try again.",
            ) from error
        yield
    finally:
        os.close(descriptor)

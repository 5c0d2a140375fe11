"""Healing a derived file: empty it in place, else reset it in place, else (or if it is large) remove it.

The caller brings it up to date afterwards. Under one lock file, so that two processes never heal at once; the
three files go together, because removing `index.db` alone under open processes gives I/O errors.
"""

import contextlib
import fcntl
import os
from collections.abc import Generator

import apsw

from ctxrank.indexer.engine import INDEX_READ_ERRORS, IndexHealth
from ctxrank.indexer.fulltext import index_file
from ctxrank.indexer.store.connection import immediate

# Emptying writes every page once more, about 7 ms a MB, and an assembly waits for it: a larger file is removed.
_EMPTIED_IN_PLACE_MAX_BYTES = 8 * 2**20


def heal(holder: index_file.IndexHolder) -> index_file.Index:
    """Bring the index to an empty, sound state; returns it on a fresh connection.

    Where another process is healing, or nothing helps, the index comes back with what is wrong.
    """
    seen, health = holder.index().generation, holder.index().health
    with _healing_lock(holder.store.location.folder) as is_ours:
        index = holder.reopen_index()
        if index.is_usable:
            if index.generation != seen and _answers(index):
                return index  # another process has healed it
            # The caller's error counts: none of our checks finds damage in the pages of a single term.
            index.health = health if health is IndexHealth.IO_ERROR else IndexHealth.DAMAGED
        if not is_ours:
            return index
        if index.health not in (*index_file.REBUILDABLE, IndexHealth.LOCKED):
            return index
        for step in (_empty_in_place, _reset_in_place):
            if not index.is_open or _is_large(holder.store.location.index_file):
                break
            try:
                step(index)
            except apsw.BusyError:
                break  # the process that holds the lock goes on with a file that no other process sees, and notices
            except INDEX_READ_ERRORS:
                continue  # too damaged for this step; the next one takes less for granted
            index = holder.reopen_index()
            if index.is_usable and _answers(index) and _is_file_sound(index):
                return index
        index.close()
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):  # gone already, or not ours to remove: opening says which
                os.unlink(holder.store.location.index_file + suffix)
        return holder.reopen_index()


def _empty_in_place(index: index_file.Index) -> None:
    connection = index.connection
    with immediate(connection):
        for table in ("fts", "term_trigrams", "terms", "forward", "state"):
            connection.execute(f"DROP TABLE IF EXISTS main.{table}")
    index_file.create_schema(connection)


def _reset_in_place(index: index_file.Index) -> None:
    connection = index.connection
    connection.config(apsw.SQLITE_DBCONFIG_RESET_DATABASE, 1)
    try:
        connection.execute("VACUUM main")
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_RESET_DATABASE, 0)


def _is_large(path: str) -> bool:
    try:
        return os.path.getsize(path) > _EMPTIED_IN_PLACE_MAX_BYTES
    except OSError:
        return False


def _is_file_sound(index: index_file.Index) -> bool:
    try:
        return index.is_file_sound()
    except INDEX_READ_ERRORS:
        return False


def _answers(index: index_file.Index) -> bool:
    try:
        return index.is_sound()
    except INDEX_READ_ERRORS:
        return False


@contextlib.contextmanager
def _healing_lock(folder: str) -> Generator[bool, None, None]:
    """True for the one process that holds the lock file; the others do not wait."""
    try:
        descriptor = os.open(os.path.join(folder, "index.lock"), os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
    except OSError:  # a folder that cannot be written: nothing in it can be healed either
        yield False
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(descriptor)

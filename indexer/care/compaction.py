"""Compaction: the files of a store as small and as fast as they can be, with the same answers.

    index catches up ──► its segments merged ──► both files rewritten (VACUUM) ──► both logs merged and cut

Each step is a transaction of its own, so a kill between any two leaves a sound store.
"""

import os

from ctxrank.indexer.fulltext.catch_up import merge_segments
from ctxrank.indexer.fulltext.fts5_engine import fts5_of, index_of
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import keep_temporary_files_beside, size_of, sqlite_errors, vacuum
from ctxrank.indexer.store.store import Store


class CompactedFile(NamedTuple):
    """A database with its log, by its name: bytes on the disk before and now."""

    name: str
    bytes_before: int
    bytes_now: int


class Compaction(NamedTuple):
    """What was done. It is not complete where another process kept a log from being cut; `index_trouble` says why an
    index was left alone, and `stale` counts the changes that it is missing.
    """

    files: tuple[CompactedFile, ...]
    is_complete: bool
    stale: int
    index_trouble: str


def optimize(store: Store) -> Compaction:
    """Compact both files. Waits for others as long as the store does. Raises LockedError, CtxrankError (no room)."""
    paths = (store.location.primary, store.location.index_file)
    stale = fts5_of(store).catch_up()  # also makes an index that is not there yet
    before = [size_of(path) + size_of(f"{path}-wal") for path in paths]
    index = index_of(store)
    keep_temporary_files_beside(store.primary, store.location.primary)
    logs = [vacuum(store.primary, store.location.primary)]
    if index.is_usable:
        with sqlite_errors(index.path):
            index.connection.set_busy_timeout(store.busy_ms)
            merge_segments(index.connection)
        logs.append(vacuum(index.connection, index.path))
    now = [size_of(path) + size_of(f"{path}-wal") for path in paths]
    files = map(CompactedFile, map(os.path.basename, paths), before, now)
    return Compaction(tuple(files), all(logs), stale, index.health)

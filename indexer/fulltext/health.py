"""Healing a derived file: remove it, and open an empty one in its place.

The caller brings it up to date afterwards. Under one lock file, so that two processes never heal at once; the
three files go together, because removing `index.db` alone under open processes gives I/O errors. What another process
has open then is an orphan, which it notices (`Index.is_replaced`).
"""

import contextlib
import os

from ctxrank.indexer.engine import IndexHealth
from ctxrank.indexer.fulltext import index_file
from ctxrank.indexer.fulltext.bulk_catch_up import LockFile


def heal(holder: index_file.IndexHolder) -> index_file.Index:
    """Bring the index to an empty, sound state; returns it on a fresh connection.

    Where another process is healing, or nothing helps, the index comes back with what is wrong.
    """
    seen = holder.index()
    location = holder.store.location
    with LockFile(location.folder, "index.lock") as lock:
        index = holder.reopen_index()
        if index.is_usable:
            if index.generation != seen.generation:
                return index  # another process has healed it
            # The caller's error counts: none of our checks finds damage in the pages of a single term.
            index.health = seen.health if seen.health == IndexHealth.IO_ERROR else IndexHealth.DAMAGED
        if not lock.is_held or index.health not in (*index_file.REBUILDABLE, IndexHealth.LOCKED):
            return index
        index.close()
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):  # gone already, or not ours to remove: opening says which
                os.unlink(location.index_file + suffix)
        return holder.reopen_index()

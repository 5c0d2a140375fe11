"""Which indexed files are no longer what was indexed: a bounded look, for an answer that found nothing.

    files_out_of_date(store)      [OutOfDate("docs/auth.md", "changed"), OutOfDate("old.md", "missing")]

Stats of files that the store knows, the ones that it met last first, until so much CPU time is spent: never a walk. So
an empty list proves nothing, and a file that was never indexed is not in it.
"""

import os
import time

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.freshness import state_on_disk
from ctxrank.indexer.store.location import root_name
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import listed

_BUDGET_S = 0.02  # of CPU: on a busy machine as many files are looked at as on an idle one
_MAX_WAIT_S = 0.5  # whatever a file system takes
_MAX_FILES = 2000
_MAX_NAMED = 20
_SHOWN = 5
_MAX_HASHED_BYTES = 256 * 1024


class OutOfDate(NamedTuple):
    """A file, by its path below the root, and what became of it: changed or missing."""

    path: str
    state: str


def named(files: list[OutOfDate]) -> str:
    """The first of these files, as an answer names them."""
    return listed([f"{file.path} ({file.state})" for file in files], _SHOWN)


def files_out_of_date(store: Store) -> list[OutOfDate]:
    """Some of the root's files that have changed or are gone since they were indexed."""
    deadline, latest = time.thread_time() + _BUDGET_S, time.monotonic() + _MAX_WAIT_S
    root = os.path.realpath(store.location.root)
    name = root_name(root, store.location.project)
    query = """
        SELECT a.path, a.sha256, a.size_bytes, a.mtime_ns, a.inode
          FROM artifacts AS a JOIN roots AS r ON r.id = a.root_id
         WHERE r.path = ? AND a.state = 'indexed'
         ORDER BY a.id DESC LIMIT ?
    """
    found: list[OutOfDate] = []
    for path, *known in store.primary.execute(query, (name, _MAX_FILES)):
        state = state_on_disk(root, path, *known, most_bytes=_MAX_HASHED_BYTES)
        if state in ("changed", "missing"):
            found.append(OutOfDate(path, state))
        if len(found) == _MAX_NAMED or time.thread_time() > deadline or time.monotonic() > latest:
            break
    return found

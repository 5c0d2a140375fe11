"""A second process that updates the index while this one still reads and writes the primary database.

    with background_indexer(store) as notify:    # None where there is no second core
        ...                                      # write to the store
        if notify is not None and notify(): ...

Updating the index is half of the work of a large run, and any process may do it, so nothing is passed but the
store's path and a byte whenever there is more to apply. It holds nothing that could be lost: killed at
any instant, the index is as after its last batch, and the next process to update it goes on from there.
"""

import contextlib
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from functools import partial

import apsw

from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.fulltext.catch_up import IndexUpdater, catch_up
from ctxrank.indexer.fulltext.fts5_engine import Fts5Engine, fts5_of
from ctxrank.indexer.fulltext.index_file import Index
from ctxrank.indexer.store.connection import sqlite_errors, vacuum
from ctxrank.indexer.store.location import at
from ctxrank.indexer.store.store import Store, open_at
from ctxrank.indexer.systems import cores, unbound_memory

_MOST_FREE = 0.05  # of the pages; to write 12 MB again takes 0.05 s
Notify = Callable[[], bool]  # says that there is more to apply; False if the other process has ended


@contextlib.contextmanager
def background_indexer(store: Store) -> Generator[Notify | None, None, None]:
    """A process that updates the index until the block ends and its backlog is done; killed if the block fails.

    None where one cannot be started: then the caller updates the index itself.
    """
    process = _start(store) if store.keeps_index and cores() > 1 and sys.executable else None
    if process is None or process.stdin is None:
        yield None
        return
    os.set_blocking(process.stdin.fileno(), False)
    try:
        yield partial(_notify, process.stdin.fileno())
        process.stdin.close()
        process.wait()
    except BaseException:
        process.stdin.close()
        process.kill()
        process.wait()
        raise


def _notify(pipe: int) -> bool:
    try:
        os.write(pipe, b"\n")
    except BlockingIOError:
        return True  # so many notes wait already
    except OSError:
        return False
    return True


def _start(store: Store) -> subprocess.Popen[bytes] | None:
    # -P: what is in the folder we were called from is not imported in place of a module of ours.
    command = [sys.executable, "-P", "-m", __name__, store.location.primary, str(store.busy_ms)]
    try:
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, bufsize=0
        )
    except OSError:
        return None


def main(primary: str, busy_ms: int) -> None:
    """Update the index on every note, and end when the pipe does.

    Segments that FTS5 merged on the way leave free pages, up to a third of the file: they are given back at the end.
    """
    gc.disable()  # a batch is a million objects and no cycle
    apsw.shutdown()  # there is one thread, and no connection yet: SQLite takes two million locks for 12 MB of text
    apsw.config(apsw.SQLITE_CONFIG_SINGLETHREAD)
    apsw.initialize()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches both; the other one decides
    unbound_memory()  # a hook may have started it
    with open_at(at(primary), Fts5Engine, busy_ms) as store:
        engine, kept = fts5_of(store), dict[Index, IndexUpdater]()
        is_open = True
        while is_open:
            is_open = bool(os.read(sys.stdin.fileno(), 1 << 16))
            with sqlite_errors(primary):
                catch_up(engine, kept=kept)
        if (index := engine.index()).is_usable:
            free, pages = map(index.connection.pragma, ("freelist_count", "page_count"))
            if free > pages * _MOST_FREE:
                vacuum(index.connection, index.path)


if __name__ == "__main__":
    with contextlib.suppress(CtxrankError):  # the process that started us updates the index itself then
        main(sys.argv[1], int(sys.argv[2]))

"""Exchanging in the background: the process of `wake`, and a thread of a process that serves a store anyway.

    python -P -m ctxrank.extensions.team.updater .ctxrank/ctxrank.db

The process stays a while for what comes next, and ends by itself.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Generator

from ctxrank.extensions.team.watch import LogWatch
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.fulltext.fts5_engine import Fts5Engine
from ctxrank.indexer.store.location import PRIMARY_FILE, TEAM_LOCK, at
from ctxrank.indexer.store.one_process import only_one
from ctxrank.indexer.store.store import Store, open_at
from ctxrank.indexer.store.team_log import ENVIRONMENT
from ctxrank.indexer.systems import unbound_memory

IDLE_S = 20.0  # a session's next command finds it running
MOST_S = 600.0
BUSY_MS = 5000
_PAUSE_S = 5.0  # a background process that is at it ends by itself


def main(primary: str) -> None:
    """Exchange until nothing happened for a while; at once where another process does so."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    unbound_memory()  # a hook may have started it
    with _opened(primary) as store:
        LogWatch(store, os.environ.get(ENVIRONMENT, "")).run(idle_s=IDLE_S, most_s=MOST_S)


@contextlib.contextmanager
def watching(folder: str, dsn: str) -> Generator[None, None, None]:
    """Follow while the block runs; what is wrong with it `team status` says."""
    is_ending = threading.Event()
    running: list[LogWatch] = []

    def follow() -> None:
        while not is_ending.is_set():
            with contextlib.suppress(CtxrankError), _opened(os.path.join(folder, PRIMARY_FILE)) as store:
                running.append(LogWatch(store, dsn))
                if not is_ending.is_set():
                    running[-1].run()
            is_ending.wait(_PAUSE_S)

    thread = threading.Thread(target=follow, name="team", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_ending.set()
        for watch in running:
            watch.stop()
        thread.join(_PAUSE_S)


@contextlib.contextmanager
def _opened(primary: str) -> Generator[Store, None, None]:
    """The store, for the one process that exchanges. Raises LockedError where another does so."""
    location = at(primary)
    lock = os.path.join(location.folder, TEAM_LOCK)
    with only_one(lock, str(os.getpid())), open_at(location, Fts5Engine, BUSY_MS) as store:
        yield store


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except CtxrankError:
        sys.exit(1)  # `team status` says what is in the way

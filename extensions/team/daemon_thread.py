"""The log watched by a thread of a process that serves a store anyway."""

import contextlib
import os
import threading
from collections.abc import Generator

from ctxrank.extensions.team.updater import BUSY_MS
from ctxrank.extensions.team.watch import LogWatch
from ctxrank.indexer.exceptions import CtxrankError, LockedError
from ctxrank.indexer.fulltext.fts5_engine import Fts5Engine
from ctxrank.indexer.store.location import PRIMARY_FILE, TEAM_LOCK, at
from ctxrank.indexer.store.one_process import only_one
from ctxrank.indexer.store.store import open_at

_PAUSE_S = 5.0  # a background process that is at it ends by itself


@contextlib.contextmanager
def watching(folder: str, dsn: str) -> Generator[None, None, None]:
    """Follow while the block runs; what is wrong with it `team status` says."""
    is_ending = threading.Event()
    running: list[LogWatch] = []

    def follow() -> None:
        lock = os.path.join(folder, TEAM_LOCK)
        while not is_ending.is_set():
            with (
                contextlib.suppress(CtxrankError),
                only_one(lock, str(os.getpid()), lambda says: LockedError(f"Process {says} does so.")),
                open_at(at(os.path.join(folder, PRIMARY_FILE)), Fts5Engine, BUSY_MS) as store,
            ):
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

"""Stores that stay open between the requests of one process, so that the next one finds its connections warm.

    pool = StorePool()
    with pool.open(start=folder) as store:     # closing it gives it back
        ...

A store serves one request at a time, on whichever thread. It is found, and its trust is asked, anew each time; it is
used again while its file is the same one and has the same schema. One that an error went through, or that a transaction
was left open in, is closed; so is what nobody asked for in MAX_IDLE_S, as a repair waits for the locks of what is open.
"""

import os
import threading
import time

import apsw

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.opening import open_location
from ctxrank.indexer.store.connection import busy_timeout_ms, wait_for_locks
from ctxrank.indexer.store.location import Location, find_store
from ctxrank.indexer.store.store import Store, prove

MAX_KEPT = 4
MAX_IDLE_S = 5.0


class _Kept(NamedTuple):
    store: Store
    state: tuple[int, int, int]  # which file is open, and its schema
    since: float  # monotonic


class StorePool:
    """At most MAX_KEPT open stores that wait for the next request, the one given back last first."""

    def __init__(self) -> None:
        self._kept: list[_Kept] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def open(
        self, db: str | None = None, *, root: str | None = None, start: str | None = None, busy_ms: int | None = None
    ) -> Store:
        """The store that `open_store` would open. Raises what that raises."""
        location = find_store(db, root, start)
        wait_ms = busy_timeout_ms() if busy_ms is None else busy_ms
        while (kept := self._take(location)) is not None:
            store = kept.store
            try:
                if _state_of(store) == kept.state:
                    if location.must_prove:
                        prove(store.primary, location.primary)
                    store.busy_ms = wait_ms
                    wait_for_locks(store.primary, wait_ms)
                    return store
            except BaseException:
                store.close_connections()
                raise
            store.close_connections()
        store = open_location(location, wait_ms)
        store.give_back = self._give_back
        return store

    def close_idle(self, idle_s: float = MAX_IDLE_S) -> None:
        """Close what nobody asked for in so many seconds."""
        before = time.monotonic() - idle_s
        with self._lock:
            idle = [kept for kept in self._kept if kept.since <= before]
            self._kept = [kept for kept in self._kept if kept.since > before]
        for kept in idle:
            kept.store.close_connections()

    def close(self) -> None:
        """Close all; what is given back from now on is closed at once."""
        self._is_closed = True
        self.close_idle(0)

    def _take(self, location: Location) -> _Kept | None:
        with self._lock:
            for at in range(len(self._kept) - 1, -1, -1):
                if self._kept[at].store.location[:-1] == location[:-1]:  # but for must_prove
                    return self._kept.pop(at)
        return None

    def _give_back(self, store: Store) -> None:
        state = None if self._is_closed else _state_of(store)
        if state is None:
            store.close_connections()
            return
        store.last_config = store.deadline = None
        with self._lock:
            self._kept.append(_Kept(store, state, time.monotonic()))
            oldest = self._kept[:-MAX_KEPT]
            self._kept = self._kept[-MAX_KEPT:]
        for kept in oldest:
            kept.store.close_connections()


def _state_of(store: Store) -> tuple[int, int, int] | None:
    """Which file is at the store's place, and the schema of the open one; None for one that cannot be used again."""
    try:
        found = os.stat(store.location.primary)
        is_usable = found.st_size > 0 and not store.primary.in_transaction
        return (found.st_dev, found.st_ino, int(store.primary.pragma("schema_version"))) if is_usable else None
    except (OSError, apsw.Error):
        return None

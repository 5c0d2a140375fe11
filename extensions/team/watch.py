"""A store kept in step with its team's log: what others push comes in, what is written here goes out.

    LogWatch(store, dsn).run()          until `stop` is called, or nothing has happened for `idle_s`

A log that is away is tried again, ever more rarely, while what is written here waits in the store.
"""

import contextlib
import math
import time
from collections.abc import Callable

from ctxrank.extensions.team.log import TeamLog, connect
from ctxrank.extensions.team.sync import Synced, note_trouble, state_of, synchronize
from ctxrank.indexer.exceptions import CtxrankError, LockedError
from ctxrank.indexer.exchange.export import last_number
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.store.team_log import read_state

TICK_S = 0.25  # how often the store is looked at for what was written here
SETTLE_S = 0.4  # what others push meanwhile comes in with it: an exchange costs the same for one line and for ten
ASK_S = 30.0  # a log that says nothing is asked: it may have been another one that was promoted
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0


class LogWatch:
    """Keeps one store in step; `on_exchange` is called after each exchange in which something was exchanged."""

    def __init__(self, store: Store, dsn: str, on_exchange: Callable[[Synced], None] | None = None) -> None:
        self._store = store
        self._dsn = dsn
        self._on_exchange = on_exchange
        self._is_ending = False
        self._moved_at = time.monotonic()
        self._idle_s = self._until = math.inf

    def stop(self) -> None:
        """End `run` soon; may be called by a signal's handler."""
        self._is_ending = True

    def run(self, *, idle_s: float = math.inf, most_s: float = math.inf) -> None:
        """Follow. Raises CtxrankError where the store cannot be read; what is wrong with the log is waited for."""
        self._idle_s, self._until, pause = idle_s, time.monotonic() + most_s, FIRST_PAUSE_S
        while not self._is_over():
            connected_at = time.monotonic()
            try:
                with connect(self._dsn, state_of(self._store).project) as log:
                    self._follow(log)
                return
            except LockedError:
                pass  # another process has the store; what comes is waited for as for a log that is away
            except CtxrankError as error:
                if read_state(self._store.primary) is None:
                    return  # it has left the team
                with contextlib.suppress(LockedError):
                    note_trouble(self._store, error.message)
            if time.monotonic() - connected_at > LONGEST_PAUSE_S:
                pause = FIRST_PAUSE_S
            until = time.monotonic() + pause
            while not self._is_ending and (left := until - time.monotonic()) > 0:
                time.sleep(min(TICK_S, left))
            pause = min(pause * 2, LONGEST_PAUSE_S)

    def _follow(self, log: TeamLog) -> None:
        log.listen()
        self._exchange(log)
        asked_at, seen = time.monotonic(), self._store.primary.pragma("data_version")
        while not self._is_over():
            is_told = log.wait(TICK_S) > state_of(self._store).applied
            if is_told:
                time.sleep(SETTLE_S)
            now = self._store.primary.pragma("data_version")  # another one when another process has written
            is_written = now != seen and last_number(self._store.primary) > state_of(self._store).pushed
            is_quiet = time.monotonic() - asked_at > ASK_S
            if is_told or is_written or is_quiet:
                self._exchange(log, is_erasing=is_quiet)
                asked_at = time.monotonic()
            seen = now

    def _exchange(self, log: TeamLog, *, is_erasing: bool = True) -> None:
        done = synchronize(self._store, log, is_erasing=is_erasing)
        if done.pushed or done.pulled:
            self._moved_at = time.monotonic()
            if self._on_exchange is not None:
                self._on_exchange(done)

    def _is_over(self) -> bool:
        now = time.monotonic()
        return self._is_ending or now - self._moved_at > self._idle_s or now > self._until

"""What ends a hook before its runner does: half a second before the event's limit, and at MAX_MEMORY_BYTES.

    with Watchdog() as watchdog:
        watchdog.knows(event)      # until then the shortest limit of all holds
        ...

A runner kills what takes too long, and says so to its user; this ends the process with 0 and a line in the log. A
thread does it, since it runs while SQLite does; and because an expression that is being matched lets no thread run, but
looks for signals, so does an alarm.
"""

import _thread
import os
import time

from ctxrank.cli.agents.event import LIMITS_S, Event
from ctxrank.cli.agents.log import note_failure
from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.systems import bound_memory, signal, unbound_memory

if TYPE_CHECKING:
    from types import FrameType
    from typing import Self

MARGIN_S = 0.5
MAX_MEMORY_BYTES = 512 * 1024 * 1024
_NOTE_S = 0.2  # of the margin; a log that cannot be written must not hold up the end


class Watchdog:
    """Watches over one event from now on; used by the process's main thread."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._event = self._place = ""
        self._limit_s = min(LIMITS_S.values())
        self._ending = _thread.allocate_lock()

    def __enter__(self) -> "Self":
        bound_memory(MAX_MEMORY_BYTES)
        signal.signal(signal.SIGALRM, self._on_alarm)
        signal.setitimer(signal.ITIMER_REAL, self._left_s())
        _thread.start_new_thread(self._watch, ())
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.acquire(blocking=False)  # nothing is ended from now on
        signal.setitimer(signal.ITIMER_REAL, 0)
        unbound_memory()

    def knows(self, event: Event) -> None:
        """Which event it is, and of which folder."""
        self._event, self._place, self._limit_s = event.name, event.cwd, event.limit_s
        signal.setitimer(signal.ITIMER_REAL, max(self._left_s(), 0.001))

    def _left_s(self) -> float:
        return self._begun + self._limit_s - MARGIN_S - time.monotonic()

    def _watch(self) -> None:
        while (left_s := self._left_s()) > 0:
            time.sleep(left_s)
        self._end()

    def _on_alarm(self, _: int, __: "FrameType | None") -> None:
        self._end()

    def _end(self) -> None:
        if not self._ending.acquire(blocking=False):
            time.sleep(MARGIN_S)  # the other one is at it, and an expression that went on would not let it
            return
        try:
            noted = _thread.allocate_lock()
            noted.acquire()
            _thread.start_new_thread(self._note, (noted,))
            noted.acquire(timeout=_NOTE_S)
        finally:
            os._exit(0)

    def _note(self, noted: _thread.LockType) -> None:
        what = f"{self._event} was ended" if self._event else "An event that had not come was ended"
        note_failure(f"{what} after {self._limit_s - MARGIN_S:g} s: its runner waits {self._limit_s:g} s.", self._place)
        noted.release()

"""What others are asked while someone waits: one deadline over all that one question asks of them.

    deadline = Deadline(QUESTION_S)
    deadline.ask(lambda: connection.getresponse())    # TimeoutError when the time is spent

It is over whole calls: names looked up, connecting, TLS and bytes that trickle. Time between two calls, in which
we do our own part, does not count.
"""

import _thread
import time

from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Answer = TypeVar("Answer")

QUESTION_S, EVENT_S = 2.0, 0.5  # a question of a person or a program; all that an event of a runner's hook asks


class Deadline:
    """How much longer others may be asked."""

    def __init__(self, seconds: float) -> None:
        self.seconds = self.left_s = seconds

    def ask(self, act: "Callable[[], Answer]", most_s: float | None = None) -> "Answer":
        """What `act` returns within what is left, and within `most_s`. Raises TimeoutError, and what it raises."""
        begun = time.monotonic()
        try:
            return in_time(self.left_s if most_s is None else min(self.left_s, most_s), act)
        finally:
            self.spend(time.monotonic() - begun)

    def spend(self, seconds: float) -> None:
        """So long was waited for others."""
        self.left_s = max(self.left_s - seconds, 0.0)


ENDLESS = Deadline(float("inf"))


def in_time(seconds: float, act: "Callable[[], Answer]") -> "Answer":
    """What `act` returns within so many seconds. Raises TimeoutError, and what it raises.

    It runs in a thread, since the system bounds neither the look-up of a name nor bytes that come one by one. After a
    TimeoutError that thread goes on by itself: `act` touches nothing that its caller uses afterwards.
    """
    answers: list[Answer] = []
    errors: list[BaseException] = []
    done = _thread.allocate_lock()
    done.acquire()

    def run() -> None:
        try:
            answers.append(act())
        except BaseException as error:  # raised below, in the thread of who asked
            errors.append(error)
        finally:
            done.release()

    if seconds > 0:
        _thread.start_new_thread(run, ())
    if seconds <= 0 or not done.acquire(timeout=seconds):
        raise TimeoutError(f"no answer within {seconds:g} s")
    if errors:
        raise errors.pop()  # so that no frame of its traceback holds it
    return answers[0]

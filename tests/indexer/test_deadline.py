"""One deadline over all that a question asks of others."""

import threading
import time

import pytest

from ctxrank.indexer.deadline import Deadline, in_time


def test_what_takes_too_long_is_not_waited_for() -> None:
    is_over = threading.Event()
    begun = time.monotonic()
    with pytest.raises(TimeoutError, match=r"no answer within 0\.2 s"):
        in_time(0.2, is_over.wait)
    assert time.monotonic() - begun < 2
    is_over.set()


def test_an_answer_and_an_error_come_as_they_are() -> None:
    assert in_time(5, lambda: "answer") == "answer"
    with pytest.raises(ZeroDivisionError):
        in_time(5, lambda: 1 // 0)


def test_calls_share_a_deadline_and_what_lies_between_them_does_not_count() -> None:
    deadline = Deadline(0.4)
    deadline.ask(lambda: time.sleep(0.15))
    time.sleep(0.5)
    assert 0 < deadline.left_s <= 0.25
    is_over = threading.Event()
    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        deadline.ask(is_over.wait)
    assert time.monotonic() - begun < 2 and deadline.left_s == 0
    is_over.set()
    with pytest.raises(TimeoutError):  # without asking
        deadline.ask(lambda: pytest.fail("asked after the deadline"))

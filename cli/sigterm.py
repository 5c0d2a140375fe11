"""How a process that works until it is told to end is told so."""

import contextlib
import signal
from collections.abc import Callable, Generator
from types import FrameType


@contextlib.contextmanager
def at_sigterm(end: Callable[[], None]) -> Generator[None, None, None]:
    """Within the block `end` is called where SIGTERM would end the process; what it raises is raised there."""

    def told(_: int, __: FrameType | None) -> None:
        end()

    before = signal.signal(signal.SIGTERM, told)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

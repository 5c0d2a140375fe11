"""How a process that works until it is told to end is told so."""

import contextlib
import signal
from collections.abc import Callable, Generator


@contextlib.contextmanager
def at_sigterm(end: Callable[[], None]) -> Generator[None, None, None]:
    """Within the block `end` is called where SIGTERM would end the process; what it raises is raised there."""
    before = signal.signal(signal.SIGTERM, lambda _, __: end())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

"""Run a command transparently: its streams pass through to ours, and a bounded copy is kept.

    finished = run_through(("make", "test"))
    finished.code, finished.stdout

stdin is the command's own. What it writes is passed on byte by byte as it comes, stdout to stdout and stderr to stderr;
between the two the order is that of arrival. It sees pipes where a terminal would be. Its exit code is
a shell's: 127 for a command that is not there, 126 for one that cannot be run, 128 + n for one that a signal ended.
"""

import contextlib
import os
import select
import selectors
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from types import FrameType

from ctxrank.indexer.errors.parse.capture import Capture
from ctxrank.indexer.light_typing import NamedTuple

NOT_FOUND, NOT_RUNNABLE, BY_SIGNAL = 127, 126, 128
_CHUNK_BYTES = 64 * 1024
# A command that has ended may have left others behind, which hold its pipes open for as long as they live.
_LOOK_EVERY_MS = 50
_GRACE_MS = 200
# A user or another process stopped it, which is no failure of its own.
INTERRUPTED = (BY_SIGNAL + signal.SIGINT, BY_SIGNAL + signal.SIGTERM, BY_SIGNAL + signal.SIGHUP)
_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT)


class Finished(NamedTuple):
    """A command that has ended; of one that could not be run `trouble` says why."""

    code: int
    stdout: bytes
    stderr: bytes
    trouble: str = ""


def run_through(command: Sequence[str]) -> Finished:
    """Run a command to its end, in this folder and with this environment."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    except (OSError, ValueError) as error:
        code = NOT_FOUND if isinstance(error, FileNotFoundError | NotADirectoryError) else NOT_RUNNABLE
        why = error.strerror if isinstance(error, OSError) else str(error)
        return Finished(code, b"", b"", f"{command[0]}: {why}")
    with _signals_to(process):
        stdout, stderr = _pass_on(process)
        code = process.wait()
    return Finished(code if code >= 0 else BY_SIGNAL - code, stdout.data(), stderr.data())


def _pass_on(process: "subprocess.Popen[bytes]") -> tuple[Capture, Capture]:
    """Its stdout to ours, its stderr to ours, as they come, until both have ended."""
    assert process.stdout is not None and process.stderr is not None, "both were asked for"
    captures = {1: Capture(), 2: Capture()}
    pipes = {1: process.stdout, 2: process.stderr}
    silent_ms = 0
    with selectors.PollSelector() as waiting:
        for target, pipe in pipes.items():
            waiting.register(pipe, selectors.EVENT_READ, target)
        while waiting.get_map() and silent_ms < _GRACE_MS:
            ready = waiting.select(_LOOK_EVERY_MS / 1000)
            for key, _ in ready:
                data = os.read(key.fd, _CHUNK_BYTES)
                captures[key.data].feed(data)
                if not data or not _is_written(key.data, data):
                    waiting.unregister(key.fd)
                    pipes[key.data].close()
            silent_ms = 0 if ready or process.poll() is None else silent_ms + _LOOK_EVERY_MS
    for pipe in pipes.values():
        pipe.close()
    return captures[1], captures[2]


def _is_written(target: int, data: bytes) -> bool:
    """False where our reader has gone: the command is to learn it by its next write, as it would without us."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(target, rest) :]
        except BlockingIOError:  # another process has made it non-blocking
            select.select([], [target], [])
        except OSError:
            return False
    return True


@contextlib.contextmanager
def _signals_to(process: "subprocess.Popen[bytes]") -> Generator[None, None, None]:
    """What would end us goes to the command, which decides; we end with it."""

    def forward(number: int, _: FrameType | None) -> None:
        # Ctrl-C and Ctrl-\ of a terminal have reached the command already: it is in our process group.
        if number in (signal.SIGINT, signal.SIGQUIT) and _is_in_foreground():
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)

    before = {number: signal.getsignal(number) for number in _FORWARDED}
    # What is ignored stays ignored, as under nohup.
    ours = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in ours:
        signal.signal(number, forward)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])


def _is_in_foreground() -> bool:
    """Whether a terminal's keys reach our process group."""
    with contextlib.suppress(OSError), open("/dev/tty", "rb") as terminal:
        return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    return False

"""Files whose n-th operation fails, once or from then on, as a full or a dying disk does.

with failing_files("/tmp/work/store/.ctxrank", Fault.FULL, 17, lasts=True) as fault:
    …
fault.has_struck
"""

import contextlib
import sys
from collections.abc import Generator
from enum import Enum
from typing import Any

import apsw
from quiet_connection import QuietConnection


class Fault(Enum):
    """What fails, and how SQLite hears of it."""

    FULL = "disk full while writing"
    WRITE = "I/O error while writing"
    SYNC = "I/O error while syncing"
    READ = "I/O error while reading"


class Countdown:
    """Counts the operations that a fault is about, and strikes at the chosen one."""

    def __init__(self, folder: str, fault: Fault, at: int, *, lasts: bool) -> None:
        self.folder = folder
        self.fault = fault
        self.left = at
        self.lasts = lasts
        self.has_struck = False

    def pass_or_fail(self, path: str, *faults: Fault) -> None:
        """Raise for an operation that fails."""
        if self.fault not in faults or not path.startswith(self.folder):
            return
        self.left -= 1
        if self.left == 0 or (self.left < 0 and self.lasts):
            self.has_struck = True
            raise _ERRORS[self.fault]("made to fail")


@contextlib.contextmanager
def failing_files(folder: str, fault: Fault, at: int, *, lasts: bool) -> Generator[Countdown, None, None]:
    """Make the n-th such operation on files below `folder` fail, on all connections that are opened inside."""
    countdown = Countdown(folder, fault, at, lasts=lasts)
    files = _FailingFiles(countdown)
    ordinary, apsw.Connection = apsw.Connection, QuietConnection  # type: ignore[misc]
    hook, sys.unraisablehook = sys.unraisablehook, _say_nothing
    try:
        yield countdown
    finally:
        sys.unraisablehook = hook
        apsw.Connection = ordinary  # type: ignore[misc]
        files.unregister()


def _say_nothing(report: "sys.UnraisableHookArgs") -> None:
    """What fails in a connection that nobody holds any more would be printed."""


_ERRORS: dict[Fault, type[apsw.Error]] = {
    Fault.FULL: apsw.FullError, Fault.WRITE: apsw.IOError, Fault.SYNC: apsw.IOError, Fault.READ: apsw.IOError,
}  # fmt: skip


class _FailingFiles(apsw.VFS):
    def __init__(self, countdown: Countdown) -> None:
        super().__init__("failing", "unix", makedefault=True)
        self.countdown = countdown

    def xOpen(self, name: "str | apsw.URIFilename | None", flags: list[int]) -> apsw.VFSFile:
        path = "" if name is None else name if isinstance(name, str) else name.filename()
        return _FailingFile(name, path, flags, self.countdown)


class _FailingFile(apsw.VFSFile):
    def __init__(
        self, name: "str | apsw.URIFilename | None", path: str, flags: list[int], countdown: Countdown
    ) -> None:
        super().__init__("unix", name, flags)
        self.path = path
        self.countdown = countdown

    def xWrite(self, data: Any, offset: int) -> None:
        self.countdown.pass_or_fail(self.path, Fault.FULL, Fault.WRITE)
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self.countdown.pass_or_fail(self.path, Fault.WRITE)
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        self.countdown.pass_or_fail(self.path, Fault.SYNC)
        super().xSync(flags)

    def xRead(self, amount: int, offset: int) -> bytes:
        self.countdown.pass_or_fail(self.path, Fault.READ)
        return super().xRead(amount, offset)

"""Files whose n-th operation is the last thing a process does.

be_doomed("/tmp/work/store 0", 17, random.Random(7))
"""

import os
import random
import signal
from typing import Any

import apsw
from quiet_connection import QuietConnection


class _Fate:
    """Counts operations on the store's files and kills this process at the chosen one."""

    def __init__(self, folder: str, fatal: int, rng: random.Random) -> None:
        self.folder = folder
        self.left = fatal
        self.rng = rng

    def is_due(self, name: str) -> bool:
        """Whether this operation is the one; `name` says on which file it is."""
        if name.startswith(self.folder):
            self.left -= 1
        return self.left == 0


def be_doomed(folder: str, fatal: int, rng: random.Random) -> None:
    """Kill this process at its n-th operation on files below `folder`: before it, after it, or half-way a write."""
    # The connection's default file system from now on; kept alive by SQLite's registration alone otherwise.
    _alive.append(_DoomedFiles(_Fate(folder, fatal, rng)))
    apsw.Connection = QuietConnection  # type: ignore[misc]


_alive: list[apsw.VFS] = []


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class _DoomedFiles(apsw.VFS):
    def __init__(self, fate: _Fate) -> None:
        super().__init__("doomed", "unix", makedefault=True)
        self.fate = fate

    def xOpen(self, name: "str | apsw.URIFilename | None", flags: list[int]) -> apsw.VFSFile:
        return _DoomedFile(name, flags, self.fate)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        if self.fate.is_due(filename):
            if self.fate.rng.random() < 0.5:
                super().xDelete(filename, syncdir)
            _die()
        super().xDelete(filename, syncdir)


class _DoomedFile(apsw.VFSFile):
    def __init__(self, name: "str | apsw.URIFilename | None", flags: list[int], fate: _Fate) -> None:
        super().__init__("unix", name, flags)
        self.name = "" if name is None else name if isinstance(name, str) else name.filename()
        self.fate = fate

    def xWrite(self, data: Any, offset: int) -> None:
        if self.fate.is_due(self.name):
            super().xWrite(data[: self.fate.rng.randint(0, len(data))], offset)
            _die()
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        if self.fate.is_due(self.name):
            if self.fate.rng.random() < 0.5:
                super().xSync(flags)
            _die()
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:
        if self.fate.is_due(self.name):
            if self.fate.rng.random() < 0.5:
                super().xTruncate(newsize)
            _die()
        super().xTruncate(newsize)

    def xLock(self, level: int) -> None:
        super().xLock(level)
        if self.fate.is_due(self.name):
            _die()

"""Bulk catch-up: a process that will apply everything that is missing in the index announces it meanwhile.

A search finds such a backlog while another process writes and indexes. Applying a part of it would slow the search down
without saving the other process time, because only one process at a time can write the index; so the search answers at
once and says how many changes are missing. A lock on a file distinguishes this from a backlog that no process works on;
the system releases the lock when its process dies.

    with LockFile(folder, FILE) as announcement:    the run: before each batch: another process may be asking
        announcement.take()
    bulk_catch_up_in_progress(folder)               every other process
"""

import contextlib
import fcntl
import os

from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.systems import give_to_owner_of_folder

if TYPE_CHECKING:
    from typing import Self

FILE = "follow.lock"
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # it may have come with a repository: a link, a named pipe


class LockFile:
    """A file of a store's folder that this process locks, if no other one has, until the block ends.

    Never waits and never raises.
    """

    def __init__(self, folder: str, name: str) -> None:
        self._path = os.path.join(folder, name)
        self._descriptor = -1
        self.is_held = False

    def __enter__(self) -> "Self":
        with contextlib.suppress(OSError):  # a folder that cannot be written
            self._descriptor = os.open(self._path, _FLAGS | os.O_CREAT | os.O_RDWR, 0o600)
            give_to_owner_of_folder(self._path)
        self.take()
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def take(self) -> None:
        """Lock it, if it is not: another process asked at that very moment, or another run was first."""
        if self._descriptor >= 0 and not self.is_held:
            with contextlib.suppress(OSError):
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.is_held = True


def bulk_catch_up_in_progress(folder: str) -> bool:
    """Whether some process has said so."""
    from ctxrank.indexer.store.one_process import held  # noqa: PLC0415  start-up: only a backlog asks

    return held(os.path.join(folder, FILE)) is not None

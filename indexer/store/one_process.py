"""One process a store for what must not run twice: a lock file, which the system gives free whenever the process ends.

with only_one(".ctxrank/watch.lock", "4711"):
    ...
holder(".ctxrank/watch.lock")      "4711" while the block runs, then ""
start_for("ctxrank.…", primary)    a process for a store that nobody waits for
"""

import fcntl
import os
import stat
import sys
import time
from collections.abc import Callable, Generator, Mapping

from ctxrank.indexer.exceptions import CtxrankError, LockedError, refused_by_system
from ctxrank.indexer.light_typing import contextmanager
from ctxrank.indexer.store.location import SERVE_LOCK, WATCH_LOCK
from ctxrank.indexer.systems import give_to_owner_of_folder

_MAX_BYTES = 300
_TRIES, _PAUSE_S = 3, 0.02
_started: set[int] = set()  # processes that `start_for` has started, and that may have ended meanwhile


@contextmanager
def only_one(
    path: str,
    says: str,
    refused: Callable[[str], CtxrankError] = lambda holder: LockedError(f"Process {holder} does so already."),
) -> Generator[None, None, None]:
    """Hold a lock file that says one line. Raises what `refused` makes of its holder's; CtxrankError for no file."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    with refused_by_system(f"{path} cannot be opened", "Remove it; it holds nothing."):
        descriptor = os.open(path, flags, 0o600)
        give_to_owner_of_folder(path)
    with open(descriptor, "r+b", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise CtxrankError(f"{path} is not a file.", "Remove it; it holds nothing.")
        for tries_left in reversed(range(_TRIES)):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:  # perhaps of who only asks
                if not tries_left:
                    raise refused(_line(file.read(_MAX_BYTES))) from error
            time.sleep(_PAUSE_S)
        file.truncate(0)
        file.write(f"{says}\n".encode())
        try:
            yield
        finally:
            file.truncate(0)


def holder(path: str) -> str:
    """What the process that holds a lock file says; '' where none does, or it cannot be asked."""
    return held(path) or ""


def held(path: str) -> str | None:
    """The same, and None where none does. Those who ask share the lock, so they never take each other for a holder."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except BlockingIOError:
        return _line(os.read(descriptor, _MAX_BYTES))
    except OSError:  # a file system without such locks
        return None
    finally:
        os.close(descriptor)


def processes_of(folder: str) -> dict[str, str]:
    """What works on a store until it is ended, by what it does: {"serve": "4711 http://127.0.0.1:8733"}."""
    held = {does: holder(os.path.join(folder, name)) for does, name in (("serve", SERVE_LOCK), ("watch", WATCH_LOCK))}
    return {does: says for does, says in held.items() if says}


def _line(data: bytes) -> str:
    text = data.decode("ascii", "replace").strip()
    return text if text.isprintable() else ""


def start_for(module: str, primary: str, environment: Mapping[str, str] | None = None) -> None:
    """Run a module for a store in a process of its own, that nobody waits for; where that fails the next call tries."""
    _forget_ended()
    if not sys.executable:
        return
    # -P: what is in the folder we were called from is not imported in place of a module of ours.
    command = [sys.executable, "-P", "-m", module, primary]
    nothing = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)]
    variables = {**os.environ, **(environment or {})}
    try:  # noqa: SIM105  contextlib costs a command half a millisecond
        # It costs no import, and less than a fork; in a group of its own, so that Ctrl-C here does not end it.
        _started.add(os.posix_spawn(sys.executable, command, variables, file_actions=nothing, setpgroup=0))
    except OSError:
        pass


def _forget_ended() -> None:
    """Ask for the exit codes of those that have ended: the system keeps each process until it is asked for."""
    for process in list(_started):
        try:
            has_ended = os.waitpid(process, os.WNOHANG)[0] == process
        except ChildProcessError:  # of the process that this one was forked from
            has_ended = True
        if has_ended:
            _started.discard(process)

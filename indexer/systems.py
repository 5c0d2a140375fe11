"""What differs between Linux and macOS, in one place: everything else asks here and not the system.

Each difference is chosen by what the running system offers; tests take both branches on any of them.
"""

import os
import sys

from ctxrank.indexer.light_typing import TYPE_CHECKING, contextmanager

if TYPE_CHECKING:
    import signal as signal
    from collections.abc import Generator, Iterable
    from importlib.machinery import ModuleSpec
    from typing import BinaryIO

    import apsw
else:
    # What is in C of it: its names of signals take a third of a bare start.
    import _signal as signal  # noqa: F401  for others

IS_MACOS = sys.platform == "darwin"

# A descriptor to open files by needs no right to list the folder where the system knows O_PATH (Linux).
FOLDER_ONLY = getattr(os, "O_PATH", os.O_RDONLY)

_MOUNTS = "/proc/self/mountinfo"
_SIZES = "/proc/self/statm"  # of this process, in pages; data is the sixth
_MOUNT_COMMAND = ("/sbin/mount",)  # of macOS; it prints what is mounted
_MOUNT_COMMAND_S = 5


def cores() -> int:
    """How many cores this process may use: those it is bound to, where the system says so."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def bound_memory(most_bytes: int) -> None:
    """Let this process have so much memory of its own, where the system can bound it: more is a MemoryError.

    Linux counts what is written to and not shared; macOS knows the limit and does not hold it. Files that are mapped,
    such as a large store, are no part of it. What is started inherits it. A process that has half of it already does
    more than this, and is left as it is.
    """
    try:
        import resource  # noqa: PLC0415  a query is not bounded

        with open(_SIZES, "rb") as file:
            used_bytes = int(file.read().split()[5]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if used_bytes * 2 < most_bytes and (soft == resource.RLIM_INFINITY or soft > most_bytes):
            resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, hard))
    except (ImportError, OSError, ValueError):
        pass  # it has no such limit


def unbound_memory() -> None:
    """Take that back, for what is to work on without it."""
    try:
        import resource  # noqa: PLC0415  as above

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    except (ImportError, OSError, ValueError):
        pass  # as above


def sync_to_the_disk(connection: "apsw.Connection", *, is_macos: bool = IS_MACOS) -> None:
    """Let a commit wait for the disk where `synchronous` alone does not.

    On macOS an fsync hands the bytes to the drive, which may still lose them; SQLite asks for more with `fullfsync`
    (sqlite.org/pragma.html#pragma_fullfsync).
    """
    if is_macos:
        connection.pragma("fullfsync", True)
        connection.pragma("checkpoint_fullfsync", True)


def sync(descriptor: int) -> None:
    """Wait until the disk has what was written to a descriptor.

    Raises:
        OSError: the bytes could not be written.
    """
    import fcntl  # noqa: PLC0415  start-up: a query writes no file itself

    full_sync = getattr(fcntl, "F_FULLFSYNC", None)
    if full_sync is not None:
        try:
            fcntl.fcntl(descriptor, full_sync)
            return
        except OSError:
            pass  # a file system that does not know it, as of a network
    os.fsync(descriptor)


def sync_path(path: str) -> None:
    """The same of what is there: the bytes of a file, the names in a folder. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def keep_for_next_process(path: str, data: bytes) -> None:
    """Keep bytes as Python keeps the code of modules: the next process sees the whole of them or what was there."""
    if not sys.dont_write_bytecode:
        try:
            with whole_file(path, 0o666) as file:
                file.write(data)
        except OSError:
            pass  # where nobody may write


def place_of_kept(spec: "ModuleSpec | None", name: str) -> str:
    """Where a module keeps something for the next process: beside its bytecode."""
    assert spec is not None and spec.origin is not None, "a module that was found in a file"
    return f"{(spec.cached or spec.origin).removesuffix('.pyc')}.{name}"


def state_of(paths: "Iterable[str]") -> bytes:
    """What is another one when one of these files is written. Raises OSError."""
    states = [(path, os.stat(path)) for path in paths]
    said = " ".join([f"{path} {state.st_size} {state.st_mtime_ns}" for path, state in states])
    return said.encode("utf-8", "surrogateescape")


@contextmanager
def whole_file(path: str, mode: int = 0o600) -> "Generator[BinaryIO, None, None]":
    """A new file, for its owner alone: it takes this one's place once the disk has it, else it goes. Raises OSError."""
    unfinished = f"{path}.{os.getpid()}-{os.urandom(4).hex()}"
    try:
        with open(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, mode), "wb") as file:
            yield file
            file.flush()
            sync(file.fileno())
        give_to_owner_of_folder(unfinished)
        os.replace(unfinished, path)
    finally:
        if os.path.lexists(unfinished):
            os.unlink(unfinished)


def give_to_owner_of_folder(path: str) -> None:
    """Give a file that root makes to the user of sudo whose folder it is in, who could not open it otherwise."""
    if os.geteuid() == 0:
        owner = os.stat(os.path.dirname(path)).st_uid
        if owner != 0 and str(owner) == os.environ.get("SUDO_UID"):
            os.chown(path, owner, -1, follow_symlinks=False)


def file_system_of(folder: str, *, is_macos: bool = IS_MACOS) -> str:
    """The kind of file system that a folder is on; '' where that is unknown."""
    path = os.path.realpath(folder)
    best, kind = "", ""
    for line in _mounts(is_macos).split("\n"):
        mount, its_kind = _mount_of_macos(line) if is_macos else _mount_of_linux(line)
        is_above = bool(mount) and (path == mount or path.startswith(mount.rstrip("/") + "/"))
        if is_above and len(mount) >= len(best):
            best, kind = mount, its_kind
    return kind


def _mounts(is_macos: bool) -> str:
    import subprocess  # noqa: PLC0415  only doctor asks

    try:
        if is_macos:
            return subprocess.run(
                _MOUNT_COMMAND, capture_output=True, text=True, timeout=_MOUNT_COMMAND_S, check=False
            ).stdout
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _mount_of_linux(line: str) -> tuple[str, str]:
    """Folder and kind of `36 35 98:0 / /data rw,noatime master:1 - ext3 /dev/sda rw` (man 5 proc_pid_mountinfo)."""
    before, _, after = line.partition(" - ")
    fields, kind = before.split(" "), after.partition(" ")[0]
    if len(fields) < 5 or not kind:
        return "", ""
    # Bytes, of which a few are written as octal numbers: a space is \040 there.
    return os.fsdecode(os.fsencode(fields[4]).decode("unicode_escape").encode("latin-1")), kind


def _mount_of_macos(line: str) -> tuple[str, str]:
    """Folder and kind of `//me@host/share on /Volumes/share (smbfs, nodev, nosuid, mounted by me)`."""
    before, _, options = line.rpartition(" (")
    _, separator, mount = before.partition(" on ")
    return (mount, options.rstrip(")").partition(",")[0]) if separator else ("", "")

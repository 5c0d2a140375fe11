"""What differs between Linux and macOS, in one place: everything else asks here and not the system.

Each difference is chosen by what the running system offers; tests take both branches on any of them.
"""

import os
import sys

from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

IS_MACOS = sys.platform == "darwin"

# A descriptor to open files by needs no right to list the folder where the system knows O_PATH (Linux).
FOLDER_ONLY = getattr(os, "O_PATH", os.O_RDONLY)

_MOUNTS = "/proc/self/mountinfo"
_MOUNT_COMMAND = ("/sbin/mount",)  # of macOS; it prints what is mounted
_MOUNT_COMMAND_S = 5


def cores() -> int:
    """How many cores this process may use: those it is bound to, where the system says so."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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


def file_system_of(folder: str, *, is_macos: bool = IS_MACOS, mounts: str = "") -> str:
    """The kind of file system that a folder is on; '' where that is unknown.

    `mounts` takes the place of what the system says is mounted.
    """
    path = os.path.realpath(folder)
    listed = mounts or (_mounts_of_macos() if is_macos else _mounts_of_linux())
    read = _mount_of_macos if is_macos else _mount_of_linux
    best, kind = "", ""
    for line in listed.splitlines():
        mount, its_kind = read(line)
        is_above = bool(mount) and (path == mount or path.startswith(mount.rstrip("/") + "/"))
        if is_above and len(mount) >= len(best):
            best, kind = mount, its_kind
    return kind


def _mounts_of_linux() -> str:
    try:
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def _mounts_of_macos() -> str:
    import subprocess  # noqa: PLC0415  only doctor asks

    try:
        return subprocess.run(
            _MOUNT_COMMAND, capture_output=True, text=True, timeout=_MOUNT_COMMAND_S, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _mount_of_linux(line: str) -> tuple[str, str]:
    """Folder and kind of `36 35 98:0 / /data rw,noatime master:1 - ext3 /dev/sda rw` (man 5 proc_pid_mountinfo)."""
    before, _, after = line.partition(" - ")
    fields, kinds = before.split(), after.split()
    if len(fields) < 5 or not kinds:
        return "", ""
    return fields[4].encode().decode("unicode_escape"), kinds[0]  # a space is \040 there


def _mount_of_macos(line: str) -> tuple[str, str]:
    """Folder and kind of `//me@host/share on /Volumes/share (smbfs, nodev, nosuid, mounted by me)`."""
    before, _, options = line.rpartition(" (")
    _, separator, mount = before.partition(" on ")
    return (mount, options.rstrip(")").partition(",")[0]) if separator else ("", "")

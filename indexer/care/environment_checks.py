"""What a store depends on: SQLite, the file system, free space, permissions, and what killed processes left behind."""

import os
import shutil
import stat
from collections.abc import Iterator

import apsw

from ctxrank.indexer.care.finding import Finding, find
from ctxrank.indexer.care.replacement import TRIAL
from ctxrank.indexer.store.connection import size_of
from ctxrank.indexer.store.location import BACKUPS, LOCK_FILES, Location, backup_folders, stats_of
from ctxrank.indexer.store.one_process import processes_of
from ctxrank.indexer.systems import file_system_of

_CONTENTLESS_DELETE_SINCE = (3, 43, 0)
# WAL needs shared memory and byte locks between all processes that have a file open: other machines share neither.
_NETWORK_FILE_SYSTEMS = """
    nfs nfs4 cifs smb3 smbfs afs 9p ceph glusterfs lustre beegfs gpfs ncpfs fuse.sshfs fuse.glusterfs fuse.rclone
    fuse.s3fs fuse.gcsfuse davfs fuse.davfs2
""".split()
_MIN_FREE_BYTES = 50 * 2**20
_LONG_WAL_BYTES = 64 * 2**20


def examine_surroundings(location: Location) -> Iterator[Finding]:
    """The checks that open no file of the store."""
    yield from examine_machine(location)
    logs = (f"{location.primary}-wal", f"{location.index_file}-wal")
    sizes = {os.path.basename(path): size_of(path) for path in logs}
    long = [f"{name} has {_megabytes(size)}" for name, size in sizes.items() if size > _LONG_WAL_BYTES]
    yield find("wal-size", "long" * bool(long), long="; ".join(long), size=_megabytes(sum(sizes.values())))
    owned = [path for path in (location.folder, location.primary) if os.path.exists(path)]
    foreign = [path for path in owned if os.geteuid() not in (os.stat(path).st_uid, 0)]
    wrong = [f"{os.path.basename(path)} has {has:o} and not {mode:o}" for path, has, mode in wrong_modes(location)]
    case = "foreign" if foreign else "wrong" * bool(wrong)
    yield find("permissions", case, path="".join(foreign[:1]), wrong="; ".join(wrong[:4]))
    places = [*location.database_files, *(os.path.join(location.folder, name) for name in (BACKUPS, *LOCK_FILES))]
    links = [os.path.basename(path) for path in places if os.path.islink(path)]  # the folder itself may be one
    yield find("links", "found" * bool(links), found=f"{', '.join(links)} {'are links' if links[1:] else 'is a link'}")
    left = ", ".join(map(os.path.basename, leftovers(location)))
    yield find("leftovers", "found" * bool(left), found=left)
    for does, says in processes_of(location.folder).items():
        yield find(does, says=says)


def examine_machine(location: Location) -> Iterator[Finding]:
    """The checks that are about no file of the store."""
    version = apsw.sqlite_lib_version()
    is_old = tuple(int(part) for part in version.split(".")) < _CONTENTLESS_DELETE_SINCE
    yield find("sqlite", "old" * is_old, version=version, apsw=apsw.apsw_version())
    yield find("fts5", "missing" * ("ENABLE_FTS5" not in apsw.compile_options))
    kind = file_system_of(location.folder)
    case = "network" * (kind in _NETWORK_FILE_SYSTEMS)
    yield find("file-system", case, folder=location.folder, kind=kind or "of a kind that this system does not tell")
    used = sum(map(size_of, location.database_files))
    free = shutil.disk_usage(location.folder).free
    is_little = free < _MIN_FREE_BYTES or free < used
    yield find("disk-space", "little" * is_little, free=_megabytes(free), used=_megabytes(used))


def _megabytes(size: int) -> str:
    return f"{size / 2**20:,.0f} MB" if size >= 10 * 2**20 else f"{size / 2**20:.1f} MB"


def wrong_modes(location: Location) -> Iterator[tuple[str, int, int]]:
    """(path, mode, the mode it should have) of what others may read, or we may not write."""
    wanted = {location.folder: 0o700} if os.path.basename(location.folder) == ".ctxrank" else {}
    backups = os.path.join(location.folder, BACKUPS)
    copies = [] if os.path.islink(backups) else backup_folders(location)
    wanted |= {**dict.fromkeys(location.database_files, 0o600), **dict.fromkeys(copies, 0o700)}
    for copy in copies:
        wanted |= {os.path.join(folder, name): 0o600 for folder, _, names in os.walk(copy) for name in names}
    for path, info in stats_of(wanted):
        has, mode = stat.S_IMODE(info.st_mode), wanted[path]
        if not stat.S_ISLNK(info.st_mode) and (has & 0o077 or has & mode != mode):
            yield path, has, mode


def leftovers(location: Location) -> list[str]:
    """Folders and files that a process left when it was killed, and that no living one uses."""
    found: list[str] = []
    for name in sorted(os.listdir(location.folder)):
        path = os.path.join(location.folder, name)
        if name.startswith(TRIAL) and not _is_alive(name.removeprefix(TRIAL)):
            found.append(path)
        if name.endswith("-journal") and path in location.database_files and not os.path.getsize(path):
            found.append(path)
    return found


def _is_alive(number: str) -> bool:
    try:
        os.kill(int(number), 0)
    except PermissionError:
        return True
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    return True

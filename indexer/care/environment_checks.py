"""What a store depends on: SQLite, the file system, free space, permissions, and what killed processes left behind."""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing

import apsw

from ctxrank.indexer.care.finding import Finding, Repair, fail, ok, warn
from ctxrank.indexer.care.replacement import TRIAL
from ctxrank.indexer.store.connection import LOG_SUFFIXES
from ctxrank.indexer.store.location import BACKUPS, LOCK_FILES, Location
from ctxrank.indexer.store.one_process import processes_of
from ctxrank.indexer.systems import file_system_of

_CONTENTLESS_DELETE_SINCE = (3, 43, 0)
# WAL needs shared memory and byte locks between all processes that have a file open: other machines share neither.
_NETWORK_FILE_SYSTEMS_TEXT = """
    nfs nfs4 cifs smb3 smbfs afs 9p ceph glusterfs lustre beegfs gpfs ncpfs fuse.sshfs fuse.glusterfs fuse.rclone
    fuse.s3fs fuse.gcsfuse davfs fuse.davfs2
"""
_NETWORK_FILE_SYSTEMS = frozenset(_NETWORK_FILE_SYSTEMS_TEXT.split())
_MIN_FREE_BYTES = 50 * 2**20
_LONG_WAL_BYTES = 64 * 2**20


def examine_surroundings(location: Location) -> list[Finding]:
    """The checks that open no file of the store."""
    return [
        *examine_machine(location),
        _wal(location),
        _permissions(location),
        _links(location),
        _leftovers(location),
        *_processes(location),
    ]


def examine_machine(location: Location) -> list[Finding]:
    """The checks that are about no file of the store."""
    return [_sqlite(), _fts5(), _file_system(location), _space(location)]


def _processes(location: Location) -> Iterator[Finding]:
    """What serves or follows the store at this moment."""
    for does, says in processes_of(location.folder).items():
        yield ok(does, f"process {says}")


def _sqlite() -> Finding:
    version = apsw.sqlite_lib_version()
    evidence = f"SQLite {version}, APSW {apsw.apsw_version()}"
    if tuple(int(part) for part in version.split(".")) < _CONTENTLESS_DELETE_SINCE:
        return fail("sqlite", evidence, "The index needs SQLite 3.43 or newer: pip install --upgrade apsw.")
    return ok("sqlite", evidence)


def _fts5() -> Finding:
    try:
        with closing(apsw.Connection(":memory:")) as connection:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
    except apsw.Error:
        step = "Answers come from heuristics. Install the apsw wheel of the package index: it has FTS5."
        return warn("fts5", "this SQLite has no FTS5", step)
    return ok("fts5", "FTS5 is there")


def _file_system(location: Location) -> Finding:
    kind = file_system_of(location.folder)
    if kind in _NETWORK_FILE_SYSTEMS:
        step = "Several processes can damage a database there. Put the store on a local disk, and name it with --db."
        return warn("file-system", f"{location.folder} is on a network file system ({kind})", step)
    return ok("file-system", f"{kind or 'of a kind that this system does not tell'}: {location.folder}")


def _space(location: Location) -> Finding:
    used = sum(os.path.getsize(path) for path in files_of(location) if os.path.exists(path))
    free = shutil.disk_usage(location.folder).free
    evidence = f"{_megabytes(free)} free; the store takes {_megabytes(used)}"
    if free < _MIN_FREE_BYTES or free < used:
        step = "Free some space: writing, and a repair even more, needs room for another copy of the store."
        return warn("disk-space", evidence, step)
    return ok("disk-space", evidence)


def _megabytes(size: int) -> str:
    return f"{size / 2**20:,.0f} MB" if size >= 10 * 2**20 else f"{size / 2**20:.1f} MB"


def _wal(location: Location) -> Finding:
    sizes = {
        path: os.path.getsize(path)
        for path in (location.primary + "-wal", location.index_file + "-wal")
        if os.path.exists(path)
    }
    long = [
        f"{os.path.basename(path)} has {_megabytes(size)}" for path, size in sizes.items() if size > _LONG_WAL_BYTES
    ]
    if long:
        step = "A process that reads for a long time keeps it from being merged: end it; the next write merges."
        return warn("wal-size", "; ".join(long), step)
    return ok("wal-size", f"{_megabytes(sum(sizes.values()))} not merged yet")


def files_of(location: Location) -> list[str]:
    """Every file that may hold what the store knows."""
    return [base + suffix for base in (location.primary, location.index_file) for suffix in ("", *LOG_SUFFIXES)]


def wrong_modes(location: Location) -> Iterator[tuple[str, int, int]]:
    """(path, mode, the mode it should have) of what others may read, or we may not write."""
    wanted = [(location.folder, 0o700)] if os.path.basename(location.folder) == ".ctxrank" else []
    wanted += [(path, 0o600) for path in files_of(location)]
    backups = os.path.join(location.folder, BACKUPS)
    wanted.append((backups, 0o700))
    for folder, _, names in () if os.path.islink(backups) else os.walk(backups):
        wanted += [(os.path.join(folder, name), 0o600) for name in names]
    for path, mode in wanted:
        try:
            info = os.lstat(path)
        except OSError:
            continue
        has = stat.S_IMODE(info.st_mode)
        if not stat.S_ISLNK(info.st_mode) and (has & 0o077 or has & mode != mode):
            yield path, has, mode


def _permissions(location: Location) -> Finding:
    wrong = list(wrong_modes(location))
    foreign = [path for path in (location.folder, location.primary) if os.path.exists(path) and not _is_ours(path)]
    if foreign:
        step = "Run ctxrank as that user, or give the files to this one with chown."
        return warn("permissions", f"{foreign[0]} belongs to another user", step)
    if wrong:
        shown = "; ".join(f"{os.path.basename(path)} has {has:o} and not {mode:o}" for path, has, mode in wrong[:4])
        step = "'ctxrank doctor --repair apply' makes them private to their owner."
        return warn("permissions", shown, step, Repair.PERMISSIONS)
    return ok("permissions", "the folder is 700, the files are 600")


def _is_ours(path: str) -> bool:
    return os.stat(path).st_uid == os.geteuid() or os.geteuid() == 0


def _links(location: Location) -> Finding:
    """Links in the place of what a store writes; its folder may be one where the store is named."""
    places = [*files_of(location), *(os.path.join(location.folder, name) for name in (BACKUPS, *LOCK_FILES))]
    found = [os.path.basename(path) for path in places if os.path.islink(path)]
    if found:
        step = "Remove the links: nothing of a store is read or written through one."
        return fail("links", f"{', '.join(found)} {'is a link' if len(found) == 1 else 'are links'}", step)
    return ok("links", "none in the place of a file that is written")


def leftovers(location: Location) -> list[str]:
    """Folders and files that a process left when it was killed, and that no living one uses."""
    found: list[str] = []
    for name in sorted(os.listdir(location.folder)):
        path = os.path.join(location.folder, name)
        if name.startswith(TRIAL) and not _is_alive(name.removeprefix(TRIAL)):
            found.append(path)
        if name.endswith("-journal") and path in files_of(location) and not os.path.getsize(path):
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


def _leftovers(location: Location) -> Finding:
    found = leftovers(location)
    if found:
        step = "'ctxrank doctor --repair apply' moves them into a backup."
        return warn("leftovers", ", ".join(map(os.path.basename, found)), step, Repair.LEFTOVERS)
    return ok("leftovers", "nothing was left behind")

"""Where a store is, and whether it acts for this user.

`--db` > `CTXRANK_DB` > the nearest `.ctxrank/` upwards; a linked git worktree shares the main one's. A store that is
named is taken at its name; one that is found acts only if it is trusted (trust.py).
"""

import os

import apsw

from ctxrank.indexer.exceptions import CtxrankError, NoStoreError, UsageError
from ctxrank.indexer.light_typing import NamedTuple

FOLDER = ".ctxrank"
PRIMARY_FILE = "ctxrank.db"
INDEX_FILE = "index.db"
WATCH_LOCK, SERVE_LOCK = "watch.lock", "serve.lock"
TEAM_LOCK = "team.lock"  # held by the process that exchanges with a team's log
LOCK_FILES = ("index.lock", "follow.lock", WATCH_LOCK, SERVE_LOCK, TEAM_LOCK)
_SQLITE_ENDS = ("-wal", "-shm", "-journal")
BACKUPS = "backups"  # what a repair kept of damaged files
MAX_STATE_BYTES = 64 * 1024
STATE_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
# The bits of a mode for the type of a file and for who can write to it besides its owner; the values that are required.
_KIND_AND_OTHERS, _FOLDER_OF_ONE, _FILE_OF_ONE = 0o170022, 0o040000, 0o100000
_KIND, _FILE = 0o170000, 0o100000
_HEADER_BYTES = 100
_LEAF_OF_ONE_ROW = b"\x0d\x00\x00\x00\x01"  # a leaf of a table without free blocks, and how many cells it has
_MAX_MARKER_BYTES = 64 * 1024  # a `.git` file is one line with a path, and so is what it leads to


class Location(NamedTuple):
    """The files of one store, all absolute.

    `root` is where this call's artifact paths start; `project` is the parent of the store's folder: the
    folder that the stored root '.' means, whatever this call's root is.
    """

    folder: str
    primary: str
    index_file: str
    root: str
    project: str
    must_prove: bool = False  # the file does not identify it: asked again once it is open


def find_store(db: str | None = None, root: str | None = None, start: str | None = None) -> Location:
    """The store that a call from `start` means.

    Raises NoStoreError with the hint `ctxrank init`, and UntrustedError with the hint `ctxrank trust`.
    """
    named = db or os.environ.get("CTXRANK_DB")
    if named:
        primary = os.path.abspath(os.path.join(named, PRIMARY_FILE) if os.path.isdir(named) else named)
        try:
            mode = os.stat(primary).st_mode
        except OSError:
            raise NoStoreError(f"There is no store at {primary}.", "Make one with 'ctxrank init'.") from None
        refuse_link(primary)
        if mode & _KIND != _FILE:
            raise CtxrankError(f"{primary} is no regular file.", "Name a store's database: .ctxrank/ctxrank.db.")
        return at(primary, root)
    here = os.path.abspath(start or os.getcwd())
    for folder in upwards(here):
        location = trusted_in(folder, root)
        if location is not None:
            return location
        _explain_unreachable(os.path.join(folder, FOLDER))
    linked = _linked_worktree(here)
    if linked is not None:
        main, top = linked
        # The store is shared; the files are the worktree's own.
        location = trusted_in(main, root or os.environ.get("CTXRANK_ROOT") or top)
        if location is not None:
            return location
    raise NoStoreError(f"There is no {FOLDER} folder in {here} or above it.", "Make one with 'ctxrank init'.")


def trusted_in(project: str, root: str | None = None) -> Location | None:
    """The store of a project folder; None where there is none. Raises UntrustedError for one that does not act."""
    primary = os.path.join(project, FOLDER, PRIMARY_FILE)
    if not os.path.lexists(primary):
        return None
    if _is_known(primary):
        return at(primary, root)
    from ctxrank.indexer.store.trust import is_trusted  # noqa: PLC0415  start-up: says what is wrong

    must_prove = not is_trusted(primary)
    return at(primary, root)._replace(must_prove=must_prove)


def _is_known(primary: str) -> bool:
    """Whether a store is known and only this user can write it, in the fewest calls; where not, trust.py says why."""
    user = os.geteuid()
    try:
        folder, file = os.lstat(os.path.dirname(primary)), os.lstat(primary)
        if not folder.st_uid == file.st_uid == user or folder.st_mode & _KIND_AND_OTHERS != _FOLDER_OF_ONE:
            return False
        if file.st_mode & _KIND_AND_OTHERS != _FILE_OF_ONE:
            return False
        if os.path.lexists(primary + "-wal") or os.path.lexists(primary + "-journal"):
            return False
        uuid, token = identity_in_file(primary)
        if "/" in uuid:
            return False  # a store made by another user could name a file of theirs
        descriptor = os.open(os.path.join(state_folder(), "stores", uuid), STATE_FLAGS)
        try:
            info = os.fstat(descriptor)
            if info.st_uid != user or info.st_mode & _KIND_AND_OTHERS != _FILE_OF_ONE:
                return False
            return f"\n{token} " in "\n" + os.read(descriptor, MAX_STATE_BYTES).decode()
        finally:
            os.close(descriptor)
    except (OSError, ValueError, IndexError, apsw.Error):
        return False


def identity_in_file(primary: str) -> tuple[str, str]:
    """The uuid and the token that the pages of a database say; what they do not say is something else of a length.

    They are read through SQLite's own layer for files: closing a descriptor of ours would drop the locks that other
    connections of this process hold. The table `store` is the first that schema.sql makes, so its one row
    (id, uuid, seq, created_at, token) is alone on the second page. Raises apsw.Error, IndexError, ValueError.
    """
    file = apsw.VFSFile("", primary, [apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB, 0])
    try:
        size = int.from_bytes(file.xRead(_HEADER_BYTES, 0)[16:18], "big")
        page = file.xRead(size, size)
    finally:
        file.xClose()
    if not page.startswith(_LEAF_OF_ONE_ROW):
        raise ValueError("the second page has no single row")
    # The cell: payload size, rowid, then the payload: its header, which begins with its own size, and the values.
    row = page[int.from_bytes(page[8:10], "big") :]
    uuid_at, end = 2 + row[2], 2 + row[0]
    return row[uuid_at : uuid_at + 36].decode("ascii"), row[end - 32 : end].decode("ascii")


def state_folder() -> str:
    """The folder `ctxrank` of the user's state; '' where the user has no home."""
    home = os.environ.get("XDG_STATE_HOME", "")
    if not home.startswith("/"):
        home = os.path.expanduser("~/.local/state")
    return home + "/ctxrank" if home.startswith("/") else ""


def refuse_link(primary: str) -> None:
    """Raises CtxrankError for a database that is a link: its log lies elsewhere, so it would be two stores."""
    if os.path.islink(primary):
        raise CtxrankError(
            f"{primary} is a link, and a store is opened by the name of its own file.",
            f"Remove the link, or name the file: --db {os.path.realpath(primary)}.",
        )


def _explain_unreachable(folder: str) -> None:
    """Say so where a store's folder is there and its primary database cannot be seen: it is not absent."""
    if not os.path.isdir(folder):
        return
    if not os.access(folder, os.X_OK):
        raise CtxrankError(f"{folder} cannot be read.", "Check its permissions: it is private to its owner.")
    if os.path.exists(os.path.join(folder, INDEX_FILE)):
        raise NoStoreError(
            f"{folder} holds an index, but {PRIMARY_FILE} is gone.",
            f"Restore {PRIMARY_FILE} from a backup; 'ctxrank init' starts an empty store.",
        )


def at(primary: str, root: str | None = None) -> Location:
    """The location of the store with this primary database; the root is the parent of its folder by default."""
    primary = os.path.abspath(primary)
    folder = os.path.dirname(primary)
    if os.path.basename(primary) == PRIMARY_FILE:
        index = os.path.join(folder, INDEX_FILE)
    else:
        index = os.path.splitext(primary)[0] + ".index.db"
    project = os.path.dirname(folder) if os.path.basename(folder) == FOLDER else folder
    chosen = os.path.abspath(root or os.environ.get("CTXRANK_ROOT") or project)
    if not os.path.isdir(chosen):
        source = f"--root {root}" if root else f"CTXRANK_ROOT, which is {chosen},"
        raise UsageError(f"{source} is not a folder.", "Give the folder that the artifacts' paths start from.")
    refuse_unwritable_name(primary)
    refuse_unwritable_name(chosen)
    return Location(folder, primary, index, chosen, project)


def own_files(location: Location) -> frozenset[str]:
    """The real paths of the files that a store keeps in its folder: no text of anyone."""
    databases = [path + end for path in (location.primary, location.index_file) for end in ("", *_SQLITE_ENDS)]
    locks = [os.path.join(location.folder, name) for name in LOCK_FILES]
    folder = os.path.realpath(location.folder)
    return frozenset(os.path.join(folder, os.path.basename(path)) for path in (*databases, *locks))


def refuse_unwritable_name(path: str) -> None:
    """Raises UsageError for a path that is no UTF-8: SQLite can neither open nor store it."""
    if path.isascii():
        return
    try:
        path.encode()
    except UnicodeEncodeError as error:
        shown = path.encode("utf-8", "backslashreplace").decode()
        raise UsageError(f"The path {shown} is not UTF-8.", "Rename the folder, or use another one.") from error


def upwards(folder: str) -> list[str]:
    """A folder and all folders that it lies in, the nearest first."""
    folders = [folder]
    while (parent := os.path.dirname(folder)) != folder:
        folders.append(parent)
        folder = parent
    return folders


def _linked_worktree(here: str) -> tuple[str, str] | None:
    """(the main worktree's folder, the linked one's) if `here` lies in a linked one."""
    for folder in upwards(here):
        main = main_worktree(folder)
        if main is not None:
            return main, folder
    return None


def main_worktree(folder: str) -> str | None:
    """The main worktree's folder, if this one is linked to it; None where it is not.

        FOLDER/.git                            gitdir: MAIN/.git/worktrees/NAME
        MAIN/.git/worktrees/NAME/gitdir        FOLDER/.git

    Both are needed: a `.git` file may point into any other project. A worktree of a bare repository has no main
    worktree: files next to that repository are not ours.
    """
    own = git_folder(folder) if os.path.isfile(os.path.join(folder, ".git")) else ""
    common, _, name = own.rpartition(os.sep + "worktrees" + os.sep)
    return os.path.dirname(common) if name and os.path.basename(common) == ".git" else None


def git_folder(folder: str) -> str:
    """The folder that git keeps for a checkout: its `.git`, or what that file names and what names it; '' for none."""
    from ctxrank.indexer.beneath import read_beneath  # noqa: PLC0415  most calls find a store above first

    marker = os.path.join(folder, ".git")
    if os.path.isdir(marker) and not os.path.islink(marker):
        return marker
    try:
        line = _first_line(read_beneath(folder, ".git", _MAX_MARKER_BYTES))
        own = os.path.normpath(os.path.join(folder, line.removeprefix("gitdir:").strip()))
        back = os.path.join(own, _first_line(read_beneath(own, "gitdir", _MAX_MARKER_BYTES)))
        return own if os.path.realpath(back) == os.path.realpath(marker) else ""
    except (OSError, ValueError):  # a path with a zero byte is no path
        return ""


def _first_line(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape").split("\n", 1)[0].strip()

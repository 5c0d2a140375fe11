"""Where a store is, and whether it acts for this user.

`--db` > `CTXRANK_DB` > the nearest `.ctxrank/` upwards; a linked git worktree shares the main one's. A store that is
named is taken at its name; one that is found acts only if its user made it, or chose to trust it:

    ctxrank.db, second page                    store.uuid, store.token
    $XDG_STATE_HOME/ctxrank/stores/UUID        a line for each store of that name: its token, where it was made
                                               (written by known_stores.py)

A store that is found by walking up may have come with a repository, in an archive or from another user of the machine.
It acts only if no one else can write it and the state folder knows its token. The uuid is no proof, as it travels with
every export; the token leaves the store for that folder alone. Both are read from the file's pages before SQLite opens
it: a write-ahead log or a schema of another user is not read to find out whose it is.
"""

import os
import stat
from collections.abc import Iterable, Iterator

import apsw

from ctxrank.indexer.exceptions import CtxrankError, NoStoreError, UntrustedError, UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import LOG_SUFFIXES, PAGE_BYTES, size_of
from ctxrank.indexer.text.lines import shell_word

FOLDER = ".ctxrank"
PRIMARY_FILE = "ctxrank.db"
INDEX_FILE = "index.db"
WATCH_LOCK, SERVE_LOCK = "watch.lock", "serve.lock"
TEAM_LOCK = "team.lock"  # held by the process that exchanges with a team's log
FLOOR_LOCK = "floor.lock"  # held by the process that measures the store's floor
LOCK_FILES = ("index.lock", "follow.lock", WATCH_LOCK, SERVE_LOCK, TEAM_LOCK, FLOOR_LOCK)
BACKUPS = "backups"  # what a repair kept of damaged files, each time in a folder with such a name
BACKUP_NAME = r"\d{8}T\d{6}Z(?:-\d+)?"
MAX_STATE_BYTES = 64 * 1024
_STATE_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_MAX_MARKER_BYTES = 64 * 1024  # a `.git` file is one line with a path, and so is what it leads to
UUID_CHARS = 36
TOKEN_CHARS = 32
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_LEAF_OF_ONE_ROW = b"\x0d\x00\x00\x00\x01"  # a leaf of a table without free blocks, and how many cells it has
# A store that is being made is one page long until its first transaction is merged from a log of about 0.6 MB.
_MAX_FIRST_LOG_BYTES = 16 * 1024 * 1024
_NAMED_STEP = "or name it with --db FILE, if you trust everyone who can write to it."


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

    @property
    def database_files(self) -> list[str]:
        """Every file that may hold what the store knows, there or not."""
        return [path + end for path in (self.primary, self.index_file) for end in ("", *LOG_SUFFIXES)]


class Identity(NamedTuple):
    """What identifies a store."""

    uuid: str
    token: str

    @property
    def is_formed(self) -> bool:
        """Whether both have the characters of one."""
        return has_form(self.uuid, UUID_CHARS) and has_form(self.token, TOKEN_CHARS)


def find_store(db: str | None = None, root: str | None = None, start: str | None = None) -> Location:
    """The store that a call from `start` means.

    Raises NoStoreError with the hint `ctxrank init`, and UntrustedError with the hint `ctxrank trust`.
    """
    named = db or os.environ.get("CTXRANK_DB")
    if named:
        return _named_store(os.path.abspath(os.path.join(named, PRIMARY_FILE) if os.path.isdir(named) else named), root)
    folders = upwards(os.path.abspath(start or os.getcwd()))
    for folder in folders:
        location = trusted_in(folder, root)
        if location is not None:
            return location
        home = os.path.join(folder, FOLDER)  # without a primary database that can be seen: that is not absent
        if os.path.isdir(home) and not os.access(home, os.X_OK):
            raise CtxrankError(f"{home} cannot be read.", "Check its permissions: it is private to its owner.")
        if os.path.isdir(home) and os.path.exists(os.path.join(home, INDEX_FILE)):
            raise NoStoreError(
                f"{home} holds an index, but {PRIMARY_FILE} is gone.",
                f"Restore {PRIMARY_FILE} from a backup; 'ctxrank init' starts an empty store.",
            )
    for folder in folders:
        main = main_worktree(folder)  # the store is shared; the files are the worktree's own
        if main and (location := trusted_in(main, root or os.environ.get("CTXRANK_ROOT") or folder)):
            return location
    raise NoStoreError(f"There is no {FOLDER} folder in {folders[0]} or above it.", "Make one with 'ctxrank init'.")


def _named_store(primary: str, root: str | None) -> Location:
    try:
        mode = os.stat(primary).st_mode
    except OSError:
        raise NoStoreError(f"There is no store at {primary}.", "Make one with 'ctxrank init'.") from None
    if os.path.islink(primary):  # its log lies elsewhere, so it would be two stores
        raise CtxrankError(
            f"{primary} is a link, and a store is opened by the name of its own file.",
            f"Remove the link, or name the file: --db {os.path.realpath(primary)}.",
        )
    if not stat.S_ISREG(mode):
        raise CtxrankError(f"{primary} is no regular file.", "Name a store's database: .ctxrank/ctxrank.db.")
    _refuse_pipes(primary)
    return at(primary, root)


def trusted_in(project: str, root: str | None) -> Location | None:
    """The store of a project folder; None where there is none. Raises UntrustedError for one that does not act."""
    primary = os.path.join(project, FOLDER, PRIMARY_FILE)
    if not os.path.lexists(primary):
        return None
    must_prove = not is_trusted(primary)
    return at(primary, root)._replace(must_prove=must_prove)


def is_trusted(primary: str) -> bool:
    """Whether this user's state folder knows the store in a file, which only they can write.

    False where the file cannot say who it is, and opening it is harmless: it is empty, is no database at all, or lies
    where a store of theirs was made. The caller asks `identity_of` once it is open. Raises UntrustedError, and
    CtxrankError for links in its place.
    """
    refuse_foreign(primary)
    identity = stated_identity(primary)
    if identity.uuid:
        if not is_known(identity):
            raise untrusted(primary)
        return True
    is_harmless = not (_is_database(primary) or size_of(f"{primary}-wal"))
    if is_harmless or shown_place(primary) in places_of_stores():
        return False
    raise UntrustedError(
        f"{primary} does not say whose store it is: it is damaged, or another user made it.",
        f"If you trust its source, run 'ctxrank trust {shell_word(os.path.dirname(os.path.dirname(primary)))}';"
        f" 'ctxrank --db {shell_word(primary)} doctor' examines it.",
    )


def untrusted(primary: str) -> UntrustedError:
    """The error for a store that the state folder does not know."""
    folder = os.path.dirname(primary)
    return UntrustedError(
        f"The store in {folder} was not made by you under this HOME: it may have come with a repository or an archive,"
        " or you made it under another HOME (a container, sudo, CI).",
        f"If you trust its source, run 'ctxrank trust {shell_word(os.path.dirname(folder))}'.",
    )


def refuse_foreign(primary: str) -> None:
    """Raises UntrustedError for a store that another user owns or can write, CtxrankError for links in its place."""
    for path, is_kind, kind in ((os.path.dirname(primary), stat.S_ISDIR, "folder"), (primary, stat.S_ISREG, "file")):
        info = os.lstat(path)
        if stat.S_ISLNK(info.st_mode):
            raise CtxrankError(
                f"{path} is a link, and a store that is found through one is not used.",
                "Remove the link; a store that lies elsewhere is named with --db FILE.",
            )
        if not is_kind(info.st_mode):
            raise UntrustedError(f"{path} is no {kind}.", "Remove it, and run 'ctxrank init'.")
        refuse_other_owner(path, info.st_uid)
        if info.st_mode & OTHERS_WRITE:
            raise UntrustedError(f"{path} can be written by other users.", f"Run 'chmod go-w {path}', {_NAMED_STEP}")
    _refuse_strange_logs(primary)
    _refuse_pipes(primary)


def refuse_other_owner(path: str, owner: int) -> None:
    """Raises UntrustedError for what belongs to another user."""
    if owner not in own_ids():
        raise UntrustedError(
            f"{path} was not made by you: it belongs to another user ({owner}).",
            f"Take it over with chown, {_NAMED_STEP}",
        )


def _refuse_strange_logs(primary: str) -> None:
    """SQLite plays a log into the database on opening; its own have the database's owner and permissions.

    A log that git wrote over an ignored name has those of every file of the checkout, mostly 644. A link is left to
    SQLite, which follows none.
    """
    database = os.lstat(primary)
    for path, info in stats_of((f"{primary}-wal", f"{primary}-journal")):
        is_wider = stat.S_IMODE(info.st_mode) & ~stat.S_IMODE(database.st_mode)
        if not stat.S_ISLNK(info.st_mode) and (is_wider or info.st_uid not in {database.st_uid, *own_ids()}):
            raise UntrustedError(
                f"{path} was not written together with its database: its owner or its permissions differ.",
                "If it came with a repository, remove it; else give it those of the database (chmod, chown).",
            )


def _refuse_pipes(primary: str) -> None:
    """SQLite opens a log that is there, and would wait for whoever writes into a named pipe."""
    for path, info in stats_of(primary + suffix for suffix in LOG_SUFFIXES):
        if not (stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode)):
            raise CtxrankError(f"{path} is no regular file.", "Remove it: SQLite keeps a log there.")


def stats_of(paths: Iterable[str]) -> Iterator[tuple[str, os.stat_result]]:
    """Each of the paths at which something is, with what it is: of a link, the link itself."""
    for path in paths:
        try:
            info = os.lstat(path)
        except OSError:
            continue  # it is not there, or opening says what is wrong
        yield path, info


def own_ids() -> tuple[int, ...]:
    """The ids of the users whose files are this user's own: root's include the user who became root by sudo."""
    user = os.geteuid()
    by_sudo = os.environ.get("SUDO_UID", "") if user == 0 else ""
    return (user, int(by_sudo)) if by_sudo.isdecimal() else (user,)


def stated_identity(primary: str) -> Identity:
    """What the file's pages say; empty where they do not: it is damaged, of an older schema, or being made."""
    try:
        identity = Identity(*identity_in_file(primary))
    except (apsw.Error, IndexError, ValueError):
        return Identity("", "")
    return identity if identity.is_formed else Identity("", "")


def identity_in_file(primary: str) -> tuple[str, str]:
    """The uuid and the token that the pages of a database say; what they do not say is something else of a length.

    They are read through SQLite's own layer for files: closing a descriptor of ours would drop the locks that other
    connections of this process hold. The table `store` is the first that schema.sql makes, so its one row
    (id, uuid, seq, created_at, token) is alone on the second page. Raises apsw.Error, IndexError, ValueError.
    """
    size = int.from_bytes(_read(primary, _HEADER_BYTES, 0)[16:18], "big")
    page = _read(primary, size, size)
    if not page.startswith(_LEAF_OF_ONE_ROW):
        raise ValueError("the second page has no single row")
    # The cell: payload size, rowid, then the payload: its header, which begins with its own size, and the values.
    row = page[int.from_bytes(page[8:10], "big") :]
    uuid_at, end = 2 + row[2], 2 + row[0]
    return row[uuid_at : uuid_at + UUID_CHARS].decode("ascii"), row[end - TOKEN_CHARS : end].decode("ascii")


def _read(primary: str, size: int, offset: int) -> bytes:
    file = apsw.VFSFile("", primary, [apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB, 0])
    try:
        return file.xRead(size, offset)
    finally:
        file.xClose()


def _is_database(primary: str) -> bool:
    try:
        return _read(primary, len(_MAGIC), 0) == _MAGIC
    except apsw.Error:
        return False


def identity_of(connection: apsw.Connection) -> Identity:
    """What a store that is open says."""
    return Identity(*(connection.execute("SELECT uuid, token FROM store WHERE id = 1").fetchone() or ("", "")))


def is_new(primary: str) -> bool:
    """Whether a file holds no store yet, or one that a process is just making: no page after the first."""
    return size_of(primary) <= PAGE_BYTES and size_of(f"{primary}-wal") <= _MAX_FIRST_LOG_BYTES


def is_known(identity: Identity) -> bool:
    """Whether the state folder has a store of this name with this token."""
    lines = known_lines(identity.uuid)
    return identity.is_formed and any(line.startswith(f"{identity.token} ") for line in lines)


def known_lines(uuid: str) -> list[str]:
    """What the state folder has of stores of a name, a line each: the token, a space, the place."""
    folder = state_folder()
    if not folder or not has_form(uuid, UUID_CHARS):
        return []
    return list(filter(None, read_state(os.path.join(folder, "stores", uuid)).split("\n")))


def places_of_stores() -> list[str]:
    """The primary databases that the state folder has; they may have gone, or be others' by now."""
    folder = os.path.join(state_folder() or os.devnull, "stores")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return list(dict.fromkeys(line.partition(" ")[2] for name in names for line in known_lines(name)))


def shown_place(path: str) -> str:
    """A path on one line: a folder's name may hold anything."""
    return path if path.isprintable() else ascii(path)


def has_form(name: str, length: int) -> bool:
    """Whether a uuid or a token has the characters of one: it is the name of a file, or part of a line."""
    return len(name) == length and set(name) <= set("0123456789abcdef-")


def read_state(path: str) -> str:
    """What a file of the state folder says; '' where it is not there, or others own it or can write it."""
    try:
        descriptor = os.open(path, _STATE_FLAGS)
    except OSError:
        return ""
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_uid not in own_ids() or info.st_mode & OTHERS_WRITE:
            return ""
        text = os.read(descriptor, MAX_STATE_BYTES).decode("utf-8", "replace")
        return text if info.st_size < MAX_STATE_BYTES else text.rpartition("\n")[0]  # half a path is another path
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def state_folder() -> str:
    """The folder `ctxrank` of the user's state; '' where the user has no home."""
    home = os.environ.get("XDG_STATE_HOME", "")
    if not home.startswith("/"):
        home = os.path.expanduser("~/.local/state")
    return home + "/ctxrank" if home.startswith("/") else ""


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


def root_name(root: str, project_root: str) -> str:
    """What a root folder is called in the primary database; the project's own root is '.', wherever it lies."""
    real = os.path.realpath(root)
    return "." if real == os.path.realpath(project_root) else real


def own_files(location: Location) -> frozenset[str]:
    """The real paths of the files that a store keeps in its folder: no text of anyone."""
    locks = [os.path.join(location.folder, name) for name in LOCK_FILES]
    folder = os.path.realpath(location.folder)
    return frozenset(os.path.join(folder, os.path.basename(path)) for path in (*location.database_files, *locks))


def backup_folders(location: Location) -> list[str]:
    """What holds copies that repairs kept: all of our own folder; beside a store that is named, what a repair named."""
    folder = os.path.join(location.folder, BACKUPS)
    names = os.listdir(folder) if os.path.isdir(folder) else []
    if names and os.path.basename(location.folder) == FOLDER:
        return [folder]
    import re  # noqa: PLC0415  only such a store needs it

    return [os.path.join(folder, name) for name in names if re.fullmatch(BACKUP_NAME, name)]


def refuse_unwritable_name(path: str) -> None:
    """Raises UsageError for a path that is no UTF-8: SQLite can neither open nor store it."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        shown = path.encode("utf-8", "backslashreplace").decode()
        raise UsageError(f"The path {shown} is not UTF-8.", "Rename the folder, or use another one.") from error


def upwards(folder: str) -> list[str]:
    """A folder and all folders that it lies in, the nearest first."""
    folders = [folder]
    while (parent := os.path.dirname(folders[-1])) != folders[-1]:
        folders.append(parent)
    return folders


def checkout_of(folder: str) -> str | None:
    """The folder with a .git that a folder lies in, or that it is; None where there is none."""
    return next((one for one in upwards(folder) if os.path.lexists(os.path.join(one, ".git"))), None)


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


def is_worktree(project: str, folder: str) -> bool:
    """Whether a folder is linked as a worktree to the project, whose real path is given."""
    main = main_worktree(folder)
    return main is not None and os.path.realpath(main) == project


def git_folder(folder: str) -> str:
    """The folder that git keeps for a checkout: its `.git`, or what that file names and what names it; '' for none."""
    marker = os.path.join(folder, ".git")
    if os.path.isdir(marker) and not os.path.islink(marker):
        return marker
    try:
        own = os.path.normpath(os.path.join(folder, _first_line(folder, ".git").removeprefix("gitdir:").strip()))
        back = os.path.join(own, _first_line(own, "gitdir"))
        return own if os.path.realpath(back) == os.path.realpath(marker) else ""
    except (OSError, ValueError):  # a path with a zero byte is no path
        return ""


def has_worktree(project: str, folder: str) -> bool:
    """Whether git still lists a folder as a worktree of a project, be it there or not. Raises OSError."""
    kept = os.path.join(project, ".git", "worktrees")
    names = os.listdir(kept) if os.path.isdir(kept) else []
    return os.path.join(folder, ".git") in [_first_line(os.path.join(kept, name), "gitdir") for name in names]


def _first_line(folder: str, name: str) -> str:
    from ctxrank.indexer.beneath import read_beneath  # noqa: PLC0415  most calls find a store above first

    return read_beneath(folder, name, _MAX_MARKER_BYTES).decode("utf-8", "surrogateescape").split("\n", 1)[0].strip()

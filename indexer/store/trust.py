"""Which stores are used for this user: those that the user made, or chose to trust.

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

import apsw

from ctxrank.indexer.exceptions import CtxrankError, UntrustedError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import read_row
from ctxrank.indexer.store.location import MAX_STATE_BYTES, STATE_FLAGS, identity_in_file, state_folder

UUID_CHARS = 36
TOKEN_CHARS = 32
_MAGIC = b"SQLite format 3\0"
# A store that is being made is one page long until its first transaction is merged from a log of about 0.3 MB.
_FIRST_PAGE_BYTES = 4096
_MAX_FIRST_LOG_BYTES = 16 * 1024 * 1024
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_NAMED_STEP = "or name it with --db FILE, if you trust everyone who can write to it."


class Identity(NamedTuple):
    """What identifies a store."""

    uuid: str
    token: str


def is_trusted(primary: str) -> bool:
    """Whether this user's state folder knows the store in a file, which only they can write.

    False where the file cannot say who it is, and opening it is harmless: it is empty, is no database at all, or lies
    where a store of theirs was made. The caller asks `identity_of` once it is open. Raises UntrustedError, and
    CtxrankError for links in its place.
    """
    refuse_foreign(primary)
    identity = _identity_of_file(primary)
    if identity is not None:
        if is_known(identity):
            return True
        raise untrusted(primary)
    if not _is_database(primary) and not _has_content(f"{primary}-wal"):
        return False
    from ctxrank.indexer.store.known_stores import is_known_place  # noqa: PLC0415  start-up: damaged files only

    if is_known_place(primary):
        return False
    raise UntrustedError(
        f"{primary} does not say whose store it is: it is damaged, or another user made it.",
        f"If you trust its source, run 'ctxrank trust {os.path.dirname(os.path.dirname(primary))}';"
        f" 'ctxrank --db {primary} doctor' examines it.",
    )


def _has_content(path: str) -> bool:
    try:
        return os.lstat(path).st_size > 0
    except OSError:
        return False


def untrusted(primary: str) -> UntrustedError:
    """The error for a store that the state folder does not know."""
    folder = os.path.dirname(primary)
    project = os.path.dirname(folder)
    return UntrustedError(
        f"The store in {folder} was not made by you: it may have come with a repository or an archive.",
        f"If you trust its source, run 'ctxrank trust {project}'.",
    )


def refuse_foreign(primary: str) -> None:
    """Raises UntrustedError for a store that another user owns or can write, CtxrankError for links in its place."""
    info = None
    for path, is_kind in ((os.path.dirname(primary), stat.S_ISDIR), (primary, stat.S_ISREG)):
        info = os.lstat(path)
        if stat.S_ISLNK(info.st_mode):
            raise CtxrankError(
                f"{path} is a link, and a store that is found through one is not used.",
                "Remove the link; a store that lies elsewhere is named with --db FILE.",
            )
        if not is_kind(info.st_mode):
            kind = "folder" if is_kind is stat.S_ISDIR else "file"
            raise UntrustedError(f"{path} is no {kind}.", "Remove it, and run 'ctxrank init'.")
        refuse_other_owner(path)
        if info.st_mode & OTHERS_WRITE:
            raise UntrustedError(f"{path} can be written by other users.", f"Run 'chmod go-w {path}', {_NAMED_STEP}")
    assert info is not None, "the database is the last of the two"
    _refuse_strange_logs(primary, info)


def refuse_other_owner(path: str) -> None:
    """Raises UntrustedError for what is there and belongs to another user."""
    try:
        owner = os.lstat(path).st_uid
    except OSError:
        return
    if owner not in own_ids():
        raise UntrustedError(
            f"{path} was not made by you: it belongs to another user ({owner}).",
            f"Take it over with chown, {_NAMED_STEP}",
        )


def _refuse_strange_logs(primary: str, database: os.stat_result) -> None:
    """SQLite plays a log into the database on opening; its own have the database's owner and permissions.

    A log that git wrote over an ignored name has those of every file of the checkout, mostly 644. A link is left to
    SQLite, which follows none.
    """
    for path in (f"{primary}-wal", f"{primary}-journal"):
        try:
            info = os.lstat(path)
        except OSError:
            continue
        is_wider = stat.S_IMODE(info.st_mode) & ~stat.S_IMODE(database.st_mode)
        if not stat.S_ISLNK(info.st_mode) and (is_wider or info.st_uid not in {database.st_uid, *own_ids()}):
            raise UntrustedError(
                f"{path} was not written together with its database: its owner or its permissions differ.",
                "If it came with a repository, remove it; else give it those of the database (chmod, chown).",
            )


def own_ids() -> tuple[int, ...]:
    """The ids of the users whose files are this user's own: root's include the user who became root by sudo."""
    user = os.geteuid()
    by_sudo = os.environ.get("SUDO_UID", "") if user == 0 else ""
    return (user, int(by_sudo)) if by_sudo.isdecimal() else (user,)


def _identity_of_file(primary: str) -> Identity | None:
    """What the file's pages say; None where they do not: it is damaged, of an older schema, or being made."""
    try:
        identity = Identity(*identity_in_file(primary))
    except (apsw.Error, IndexError, ValueError):
        return None
    return identity if has_form(identity.uuid, UUID_CHARS) and has_form(identity.token, TOKEN_CHARS) else None


def is_identified(primary: str) -> bool:
    """Whether the file says who it is, and the state folder knows it."""
    identity = _identity_of_file(primary)
    return identity is not None and is_known(identity)


def _is_database(primary: str) -> bool:
    try:
        file = apsw.VFSFile("", primary, [apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB, 0])
        try:
            return file.xRead(len(_MAGIC), 0) == _MAGIC
        finally:
            file.xClose()
    except apsw.Error:
        return False


def identity_of(connection: apsw.Connection) -> Identity:
    """What a store that is open says."""
    return read_row(connection, "SELECT uuid, token FROM store WHERE id = 1", (), Identity) or Identity("", "")


def is_new(primary: str) -> bool:
    """Whether a file holds no store yet, or one that a process is just making: no page after the first."""
    try:
        if os.stat(primary).st_size > _FIRST_PAGE_BYTES:
            return False
        return os.lstat(f"{primary}-wal").st_size <= _MAX_FIRST_LOG_BYTES
    except OSError:
        return True


def is_known(identity: Identity) -> bool:
    """Whether the state folder has a store of this name with this token."""
    uuid, token = identity
    if not has_form(uuid, UUID_CHARS) or not has_form(token, TOKEN_CHARS):
        return False
    folder = state_folder()
    return bool(folder) and f"\n{token} " in "\n" + read_state(os.path.join(folder, "stores", uuid))


def has_name_of_another(identity: Identity) -> bool:
    """Whether the state folder knows a store of this name, and it is not this one: a uuid travels with exports."""
    folder = state_folder()
    if not folder or not has_form(identity.uuid, UUID_CHARS) or is_known(identity):
        return False
    return bool(read_state(os.path.join(folder, "stores", identity.uuid)))


def has_form(name: str, length: int) -> bool:
    """Whether a uuid or a token has the characters of one: it is the name of a file, or part of a line."""
    return len(name) == length and set(name) <= set("0123456789abcdef-")


def read_state(path: str) -> str:
    """What a file of the state folder says; '' where it is not there, or others own it or can write it."""
    try:
        descriptor = os.open(path, STATE_FLAGS)
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

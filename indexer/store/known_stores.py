"""The stores that this user made or trusts, written down in their state folder (read by location.py at every call).

$XDG_STATE_HOME/ctxrank        700, its owner's alone
  stores/UUID                  600: TOKEN PLACE, a line for each store of that name
"""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Generator

from ctxrank.indexer.exceptions import CtxrankError, DamagedError, UsageError, refused_by_system
from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.store.connection import sqlite_errors
from ctxrank.indexer.store.location import (
    OTHERS_WRITE,
    TOKEN_CHARS,
    UUID_CHARS,
    Identity,
    has_form,
    identity_of,
    is_known,
    known_lines,
    own_ids,
    shown_place,
    state_folder,
)
from ctxrank.indexer.systems import give_to_owner_of_folder, whole_file

if TYPE_CHECKING:
    from ctxrank.indexer.store.store import Store


_MAX_WAIT_S, _PAUSE_S = 5.0, 0.01  # a file is replaced in milliseconds


def new_token() -> str:
    """128 random bits as hexadecimal digits."""
    return os.urandom(16).hex()


def trust(store: "Store") -> bool:
    """Make an open store this user's, and give it a token if it has none; returns whether it was not theirs before.

    Raises DamagedError where it has no proper name, UsageError where it has that of another store, and CtxrankError
    where the state folder cannot be written.
    """
    path = store.location.primary
    identity = identity_of(store.primary)
    is_new = not is_known(identity)
    if not has_form(identity.uuid, UUID_CHARS):
        raise DamagedError(f"{path} does not say which store it is.", "See 'ctxrank doctor'.")
    if is_new:
        places = [line.partition(" ")[2] for line in known_lines(identity.uuid)]
        if places and shown_place(path) not in places:  # what that one may, this one is not to
            known = os.path.join(state_folder(), "stores", identity.uuid)
            raise UsageError(
                f"{path} has the name of another store, {places[-1]}, and is no copy of it.",
                f"Name it with --db, or import an export of it; if the other one is gone, delete {known}.",
            )
        with store.write() as change:
            if not has_form(identity.token, TOKEN_CHARS):
                identity = Identity(identity.uuid, new_token())
                change.connection.execute("UPDATE store SET token = ?", (identity.token,))
            remember(identity, path)
        with sqlite_errors(path):  # the file itself says who it is, and not its log alone
            store.primary.execute("PRAGMA wal_checkpoint(FULL)").fetchall()
    return is_new


def trust_as_used(store: "Store") -> None:
    """Make a store this user's because they bring something into it by its name; what prevents that is no matter."""
    with contextlib.suppress(CtxrankError):
        trust(store)


def remember(identity: Identity, primary: str) -> None:
    """Write down that this user trusts a store. Raises CtxrankError where the state folder cannot be written."""
    folder = state_folder()
    step = "Set XDG_STATE_HOME to a folder of yours, or name the store in every call: --db FILE or CTXRANK_DB."
    if not folder:
        raise CtxrankError("There is no home folder to note the store in as yours.", step)
    stores = os.path.join(folder, "stores")
    path = os.path.join(stores, identity.uuid)
    with refused_by_system(f"The store cannot be noted as yours in {stores}", step):
        make_folder_of_ours(folder)
        make_folder_of_ours(stores)
        place = shown_place(primary)
        with alone_in(stores):
            others = [line for line in known_lines(identity.uuid) if line.partition(" ")[2] != place]
            write_privately(path, "".join(f"{line}\n" for line in [*others, f"{identity.token} {place}"]))


def make_folder_of_ours(folder: str) -> None:
    """Make a folder for its owner alone, with those above it. Raises OSError where others own it or can write it."""
    if not os.path.isdir(folder):
        os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.mkdir(folder, 0o700)
            give_to_owner_of_folder(folder)
    info = os.stat(folder)
    if info.st_uid not in own_ids() or info.st_mode & OTHERS_WRITE:
        raise PermissionError(errno.EPERM, "others own that folder, or can write it", folder)


@contextlib.contextmanager
def alone_in(folder: str) -> Generator[None, None, None]:
    """What reads a file of that folder and replaces it: no other process does so meanwhile. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        deadline = time.monotonic() + _MAX_WAIT_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_PAUSE_S)
            except OSError:  # a file system without locks
                break
        yield
    finally:
        os.close(descriptor)


def write_privately(path: str, text: str) -> None:
    """Write a small file whole or not at all, for its owner alone, and wait for the disk. Raises OSError."""
    with whole_file(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))

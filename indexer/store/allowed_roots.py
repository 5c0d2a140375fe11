"""Which folders a store may read files from: its own project, and those that its user named.

    $XDG_CONFIG_HOME/ctxrank/roots        UUID <tab> FOLDER, a line each; '#' begins a comment

What a store says of other folders (in its tables, in receipts) is no permission: it may have come with a
repository. `index --root` and `import --root` write the file, a person may edit it; `CTXRANK_ROOT` counts for its call.
"""

import os
from collections.abc import Iterable

import apsw

from ctxrank.indexer.beneath import is_inside
from ctxrank.indexer.exceptions import UsageError, refused_by_system
from ctxrank.indexer.store.connection import read_column, size_of
from ctxrank.indexer.store.location import (
    MAX_STATE_BYTES,
    Location,
    has_worktree,
    identity_of,
    is_known,
    is_worktree,
    known_lines,
    read_state,
)

_FILE = "roots"
_WORKTREES = "worktrees"  # a setting: the folders that git listed as worktrees of the project when they were indexed
_HEADER = "# Folders that a store may read files from besides its own project: the store's uuid, a tab, the folder.\n"


def allowed_folder(location: Location, connection: apsw.Connection, name: str) -> str | None:
    """The folder that a store calls by this name; None where nothing may be read in it."""
    if name == ".":
        return location.project
    project = os.path.realpath(location.project)
    if name == os.path.realpath(location.root) or _is_own(project, name) or name in _recorded(connection):
        return name
    return None


def unnamed_folders(location: Location, connection: apsw.Connection, tables: Iterable[str]) -> list[str]:
    """The folders that a store names in these tables, and in which nothing may be read."""
    names = [
        name
        for table in tables
        for name in read_column(connection, f"SELECT path FROM {table} WHERE path NOT LIKE '@%' ORDER BY id", (), str)
    ]
    return [name for name in dict.fromkeys(names) if allowed_folder(location, connection, name) is None]


def _is_own(project: str, folder: str) -> bool:
    """Whether a folder lies in the project, by no link, or is a worktree that git has linked to it."""
    is_below = is_inside(project, folder) and os.path.realpath(folder) == folder
    return os.path.isabs(folder) and (is_below or is_worktree(project, folder))


def is_new_worktree(location: Location, connection: apsw.Connection, folder: str) -> bool:
    """Whether a folder is a worktree of the project, and is not noted as one."""
    known = _worktrees(connection)
    return is_worktree(os.path.realpath(location.project), folder) and os.path.realpath(folder) not in known


def note_worktree(connection: apsw.Connection, folder: str) -> None:
    """Note that a folder is a worktree of the project: what is stored of it goes when git has removed it."""
    query = """
        INSERT INTO settings (key, value) VALUES (?1, json_array(?2))
            ON CONFLICT (key) DO UPDATE SET value = json_insert(value, '$[#]', ?2)
    """
    connection.execute(query, (_WORKTREES, os.path.realpath(folder)))


def _worktrees(connection: apsw.Connection) -> list[str]:
    query = "SELECT noted.value FROM settings AS s, json_each(s.value) AS noted WHERE s.key = ?"
    return read_column(connection, query, (_WORKTREES,), str)


def removed_worktrees(location: Location, connection: apsw.Connection) -> list[str]:
    """The roots that were worktrees, and that git has removed: nothing of them is shown, the next run forgets them."""
    names = read_column(connection, "SELECT path FROM roots WHERE path NOT LIKE '@%' AND path <> '.'", (), str)
    return [name for name in names if is_removed_worktree(location, connection, name)]


def is_removed_worktree(location: Location, connection: apsw.Connection, name: str) -> bool:
    """Whether a root was a worktree that git has removed: it is gone, git lists it no more, and no user named it.

    A worktree whose folder alone is gone is still listed until `git worktree prune`: its disk may come back. So may any
    folder that was not noted as a worktree.
    """
    if os.path.lexists(name) or name not in _worktrees(connection) or name in _recorded(connection):
        return False
    project = os.path.realpath(location.project)
    try:
        return os.path.isdir(os.path.join(project, ".git")) and not has_worktree(project, name)
    except (OSError, ValueError):  # what cannot be read proves nothing
        return False


def allow(location: Location, connection: apsw.Connection, folder: str) -> None:
    """Write down that files may be read from a folder that the user named. Raises UsageError, CtxrankError."""
    from ctxrank.indexer.store.known_stores import (  # noqa: PLC0415  start-up: a query writes nothing down
        alone_in,
        make_folder_of_ours,
        write_privately,
    )

    real = os.path.realpath(folder)
    if real == os.path.realpath(location.project) or real in _recorded(connection):
        return
    if not real.isprintable():
        raise UsageError(f"{real!a} cannot be noted: it is not one line of printable characters.", "Rename it.")
    path = _path()
    step = f"Give the folder in each call: CTXRANK_ROOT={real}."
    with refused_by_system(f"{path or 'The configuration'} cannot be written", step):
        if not path:
            raise FileNotFoundError(2, "there is no home folder")
        make_folder_of_ours(os.path.dirname(path))
        with alone_in(os.path.dirname(path)):
            line = f"{identity_of(connection).uuid}\t{real}\n"
            if size_of(path) + len(line.encode()) >= MAX_STATE_BYTES:  # what is behind that is not read
                raise UsageError(f"{path} is full.", f"Take lines of folders out of it that are gone. {step}")
            write_privately(path, f"{(read_state(path) or _HEADER).rstrip()}\n{line}")


def _recorded(connection: apsw.Connection) -> set[str]:
    """The folders that the user's configuration has for a store."""
    identity = identity_of(connection)
    if not is_known(identity) and known_lines(identity.uuid):  # another's name: it travels with exports
        return set()
    entries = [line.partition("\t") for line in read_state(_path()).split("\n")]
    return {folder.rstrip() for uuid, tab, folder in entries if tab and uuid == identity.uuid}


def _path() -> str:
    """The file; '' where the user has no home."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(home, "ctxrank", _FILE) if os.path.isabs(home) else ""

"""Where a store is.

`--db` > `CTXRANK_DB` > the nearest `.ctxrank/` upwards; a linked git worktree shares the main one's.
"""

import os

from ctxrank.indexer.exceptions import CtxrankError, NoStoreError, UsageError
from ctxrank.indexer.light_typing import NamedTuple

FOLDER = ".ctxrank"
PRIMARY_FILE = "ctxrank.db"
INDEX_FILE = "index.db"
BACKUPS = "backups"  # what a repair kept of damaged files
_MAX_MARKER_BYTES = 64 * 1024  # a `.git` file is one line with a path


class Location(NamedTuple):
    """The files of one store, all absolute.

    `root` is where this call's artifact paths start; `project` is the folder beside the store, which the stored root
    '.' means, whatever this call's root is.
    """

    folder: str
    primary: str
    index_file: str
    root: str
    project: str


def find_store(db: str | None = None, root: str | None = None, start: str | None = None) -> Location:
    """The store that a call from `start` means. Raises NoStoreError with the hint `ctxrank init`."""
    named = db or os.environ.get("CTXRANK_DB")
    if named:
        primary = os.path.abspath(os.path.join(named, PRIMARY_FILE) if os.path.isdir(named) else named)
        if not os.path.exists(primary):
            raise NoStoreError(f"There is no store at {primary}.", "Make one with 'ctxrank init'.")
        return at(primary, root)
    here = os.path.abspath(start or os.getcwd())
    for folder in _upwards(here):
        primary = os.path.join(folder, FOLDER, PRIMARY_FILE)
        if os.path.exists(primary):
            return at(primary, root)
        _explain_unreachable(os.path.join(folder, FOLDER))
    linked = _linked_worktree(here)
    if linked is not None:
        main, top = linked
        primary = os.path.join(main, FOLDER, PRIMARY_FILE)
        if os.path.exists(primary):
            # The store is shared; the files are the worktree's own.
            return at(primary, root or os.environ.get("CTXRANK_ROOT") or top)
    raise NoStoreError(f"There is no {FOLDER} folder in {here} or above it.", "Make one with 'ctxrank init'.")


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
    """The location of the store whose primary database is this file; the root is beside its folder unless given."""
    primary = os.path.abspath(primary)
    folder = os.path.dirname(primary)
    if os.path.basename(primary) == PRIMARY_FILE:
        index = os.path.join(folder, INDEX_FILE)
    else:
        index = os.path.splitext(primary)[0] + ".index.db"
    beside = os.path.dirname(folder) if os.path.basename(folder) == FOLDER else folder
    chosen = os.path.abspath(root or os.environ.get("CTXRANK_ROOT") or beside)
    if not os.path.isdir(chosen):
        source = f"--root {root}" if root else f"CTXRANK_ROOT, which is {chosen},"
        raise UsageError(f"{source} is not a folder.", "Give the folder that the artifacts' paths start from.")
    refuse_unwritable_name(primary)
    refuse_unwritable_name(chosen)
    return Location(folder, primary, index, chosen, beside)


def refuse_unwritable_name(path: str) -> None:
    """Raises UsageError for a path that is no UTF-8: SQLite can neither open nor store it."""
    if path.isascii():
        return
    try:
        path.encode()
    except UnicodeEncodeError as error:
        shown = path.encode("utf-8", "backslashreplace").decode()
        raise UsageError(f"The path {shown} is not UTF-8.", "Rename the folder, or use another one.") from error


def _upwards(folder: str) -> list[str]:
    folders = [folder]
    while (parent := os.path.dirname(folder)) != folder:
        folders.append(parent)
        folder = parent
    return folders


def _linked_worktree(here: str) -> tuple[str, str] | None:
    """(the main worktree's folder, the linked one's) if `here` lies in a linked one.

    There `.git` is a file, `gitdir: <main>/.git/worktrees/<name>`.
    """
    for folder in _upwards(here):
        marker = os.path.join(folder, ".git")
        if not os.path.isfile(marker):
            continue
        from ctxrank.indexer.beneath import read_beneath  # noqa: PLC0415  most calls find a store above first

        try:
            text = read_beneath(folder, ".git", _MAX_MARKER_BYTES, follow_link=True)
        except OSError:
            return None
        line = text.decode("utf-8", "surrogateescape").split("\n", 1)[0].strip()
        gitdir = os.path.normpath(os.path.join(folder, line.removeprefix("gitdir:").strip()))
        common, _, name = gitdir.rpartition(os.sep + "worktrees" + os.sep)
        # A worktree of a bare repository has no main one: what lies beside that repository is not ours.
        return (os.path.dirname(common), folder) if name and os.path.basename(common) == ".git" else None
    return None

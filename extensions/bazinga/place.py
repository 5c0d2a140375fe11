"""Where the store of a predecessor's command is.

    --db FILE > --project-root DIR > CTXRANK_DB > the nearest .ctxrank/ > a predecessor's project (BAZINGA_ROOT,
    else upwards: a folder with both `.claude` and `bazinga`)

Where the predecessor would make its database on the way, a store is made, and said so on stderr.
"""

import contextlib
import os
from collections.abc import Callable

import apsw

from ctxrank.indexer.exceptions import NoStoreError, UsageError, refused_by_system
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.opening import create_store, open_project_store, open_store
from ctxrank.indexer.store.connection import file_uri, read_value
from ctxrank.indexer.store.location import FOLDER, PRIMARY_FILE, upwards
from ctxrank.indexer.store.store import Store


class WrongPlaceError(UsageError):
    """The store that was named cannot be it; unlike a command's bad argument, which is 1 there, this is exit 2."""


class Place(NamedTuple):
    """What a call says about where its store is."""

    db: str | None = None
    project_root: str | None = None
    root: str | None = None


def open_store_of(place: Place, say: Callable[[str], None] | None = None) -> Store:
    """The store, made where it is missing and its place is known, which is said; without `say` it must be there.

    Raises CtxrankError.
    """
    if place.db:
        # A relative path starts at the project's root, where the predecessor works from.
        path = os.path.abspath(os.path.join(project_folder() or os.getcwd(), place.db))
        path = os.path.join(path, PRIMARY_FILE) if os.path.isdir(path) else path
        owner = project_of_database(path)
        if owner is None:
            return _open_file(path, place, say)
        try:
            return open_project_store(owner, root=place.root)
        except NoStoreError as error:
            raise WrongPlaceError(
                f"{path} is a database of BAZINGA, and its project {owner} has no ctxrank store.",
                f"'ctxrank bazinga install --project-root {owner}' makes one, and 'ctxrank import bazinga {path}'"
                " brings it into another.",
            ) from error
    if place.project_root:
        if not os.path.isdir(place.project_root):
            raise WrongPlaceError(
                f"There is no folder {place.project_root}.", "--project-root names the project's folder."
            )
        return _of_project(os.path.abspath(place.project_root), place, say)
    try:
        return open_store(root=place.root)
    except NoStoreError as error:
        project = None if os.environ.get("CTXRANK_DB") and say else project_folder()
        if project is None:
            hint = "Make one with 'ctxrank init', or name one: --db FILE or --project-root DIR."
            raise NoStoreError(error.message, hint if say else error.hint) from error
        return _of_project(project, place, say)


def _open_file(path: str, place: Place, say: Callable[[str], None] | None) -> Store:
    """The store in a file that --db names."""
    folder = os.path.dirname(path)
    if not os.path.exists(path) or (say is not None and os.path.getsize(path) == 0):
        if say is None:
            raise NoStoreError(f"There is no store at {path}.", "Make one with 'ctxrank init'.")
        say(f"There is no store at {path}: an empty one is made.")
        with refused_by_system(f"{path} cannot be made", "Check the permissions."):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
    root = place.root or place.project_root
    if root is None and os.path.basename(folder) != FOLDER and not os.environ.get("CTXRANK_ROOT"):
        root = os.path.dirname(folder) if os.path.basename(folder) == "bazinga" else project_folder()
    return open_store(path, root=root)


def project_of_database(path: str) -> str | None:
    """The project that a database of the predecessor belongs to: PROJECT/bazinga/bazinga.db, else its own folder.

    None for a file that is no such database. One of that name in a project that is still to be made is one.
    """
    folder = os.path.dirname(path)
    is_usual = os.path.basename(folder) == "bazinga" and os.path.basename(path) == "bazinga.db"
    if os.path.isfile(path) and os.path.getsize(path):
        if not _is_predecessors(path):
            return None
    elif not (is_usual and _is_project(os.path.dirname(folder))):
        return None
    return os.path.dirname(folder) if os.path.basename(folder) == "bazinga" else folder


def project_folder() -> str | None:
    """The predecessor's project that this call is in, or that BAZINGA_ROOT names."""
    named = os.environ.get("BAZINGA_ROOT")
    if named and _is_project(named):
        return os.path.abspath(named)
    return next(filter(_is_project, upwards(os.getcwd())), None)


def _is_project(folder: str) -> bool:
    return os.path.isdir(os.path.join(folder, ".claude")) and os.path.isdir(os.path.join(folder, "bazinga"))


def _of_project(folder: str, place: Place, say: Callable[[str], None] | None) -> Store:
    if say is None:
        return open_project_store(folder, root=place.root)
    is_new = not os.path.exists(os.path.join(folder, FOLDER, PRIMARY_FILE))
    store = create_store(folder, root=place.root)
    if is_new:
        say(f"There was no store in {folder}: one was made in {store.location.folder}.")
        old = os.path.join(folder, "bazinga", "bazinga.db")
        if os.path.exists(old) and os.path.getsize(old):
            say(f"'ctxrank import bazinga {old}' imports what it holds.")
    return store


def _is_predecessors(path: str) -> bool:
    query = "SELECT count(*) FROM sqlite_schema WHERE name IN ('schema_version', 'sessions', 'orchestration_logs')"
    try:
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        with contextlib.closing(apsw.Connection(file_uri(path, "mode=ro"), flags=flags)) as connection:
            return read_value(connection, query, (), int) == 3
    except apsw.Error:
        return False

"""Erasing: what was deleted is in no file of the store any more.

A deletion overwrites the row, but a page that was once split or moved may hold a copy in its unused part, and the log
next to the file holds pages as they were. So the primary database is rewritten as a whole, the index is rebuilt, and
both logs are merged and cut to nothing. A reader can keep a log from being cut: then the answer is no, and a later call
ends it.

That something is to be erased is noted in the transaction that deletes or changes it, so that no crash loses it. So
is a redaction that has not seen all texts yet: what it has changed is to be erased, and the rest is to be redacted.
"""

import contextlib
import os
from collections.abc import Iterable

import apsw

from ctxrank.indexer.exceptions import CtxrankError, LockedError, refused_by_system
from ctxrank.indexer.fulltext.fts5_engine import fts5_of, index_of
from ctxrank.indexer.store.connection import (
    keep_temporary_files_beside,
    put_setting,
    read_column,
    read_setting,
    sqlite_errors,
    vacuum,
)
from ctxrank.indexer.store.facets import id_list
from ctxrank.indexer.store.location import BACKUPS, backup_folders
from ctxrank.indexer.store.store import Change, Store

_NOTED = "erasing"
_REDACTING = "unfinished_redaction"
_SOUGHT = "unfinished_secrets"


def note_erasing(change: Change) -> None:
    """Keep that what this transaction deletes is to be erased."""
    put_setting(change.connection, _NOTED, '"deleted"')


def note_redacting(change: Change, *, is_done: bool = False) -> None:
    """Keep that texts are being redacted, copies of which are in the files; or that all were seen, to be erased."""
    put_setting(change.connection, _REDACTING, "" if is_done else "true")
    note_erasing(change)


def is_redaction_unfinished(primary: apsw.Connection) -> bool:
    """Whether a redaction was interrupted before it had seen all texts; another one ends it."""
    return read_setting(primary, _REDACTING) is not None


def note_secrets(change: Change, *, sought: Iterable[int] = (), found: Iterable[int] = ()) -> None:
    """Keep that secrets, by what keeps them out, are being looked for, or that all is found of them.

    What is left to do then is to erase, and whatever others were interrupted in.
    """
    left = {*_sought(change.connection), *sought}.difference(found)
    put_setting(change.connection, _SOUGHT, id_list(sorted(left)) if left else "")
    note_erasing(change)


def are_secrets_left(primary: apsw.Connection) -> bool:
    """Whether a search for secrets was interrupted: only who knows them can end it."""
    return bool(_sought(primary))


def _sought(primary: apsw.Connection) -> set[int]:
    """The secrets of which texts may be left. One that is allowed by now is not looked for any more."""
    query = """
        SELECT f.id FROM settings AS s, json_each(s.value) AS noted JOIN blocklist AS f ON f.id = noted.value
         WHERE s.key = ?
    """
    return set(read_column(primary, query, (_SOUGHT,), int))


def is_erasing_due(primary: apsw.Connection) -> bool:
    """Whether something that was deleted or redacted may still be in a file."""
    return any(read_setting(primary, key) for key in (_NOTED, _REDACTING)) or are_secrets_left(primary)


def erase(store: Store) -> bool:
    """Rewrite the files without what was deleted; False where another process kept a log from being cut, and where
    there are backups, which may hold all of it. Waits for others as long as the store does.
    """
    try:
        fts5_of(store).close()
        keep_temporary_files_beside(store.primary, store.location.primary)
        # Both, also where the first is kept: the less there is left, the better.
        is_erased = all([vacuum(store.primary, store.location.primary), _rebuild_index(store)])
    except LockedError:
        return False
    if is_erased and not backups_of(store):
        with store.write() as change:
            put_setting(change.connection, _NOTED, "")
        return True
    return False


def backups_of(store: Store) -> str:
    """The folder where repairs left copies of the store as it was; '' where there is none."""
    folder = os.path.join(store.location.folder, BACKUPS)
    return folder if backup_folders(store.location) else ""


def delete_backups(store: Store) -> None:
    """Delete them. Raises CtxrankError where the folder does not let us."""
    import shutil  # noqa: PLC0415  start-up: only for deleting backups

    folder = os.path.join(store.location.folder, BACKUPS)
    if os.path.islink(folder):
        raise CtxrankError(
            f"{folder} is a link to {os.path.realpath(folder)}, which is not followed: nothing was deleted.",
            "If there are copies of this store, delete them by hand; then delete the link.",
        )
    with refused_by_system(f"{folder} cannot be deleted", "Delete it by hand."):
        for copy in backup_folders(store.location):
            shutil.rmtree(copy)


def _rebuild_index(store: Store) -> bool:
    from ctxrank.indexer.fulltext.catch_up import rebuild  # noqa: PLC0415  start-up: rebuilding only

    before = index_of(store).generation
    rebuild(fts5_of(store))
    index = index_of(store)
    if index.is_usable and before is not None:
        with sqlite_errors(index.path):
            # One that could not be read for a moment may be the old one: emptied, it is of another generation.
            if index.state().generation != before:
                return vacuum(index.connection, index.path)
    fts5_of(store).close()
    for suffix in ("", "-wal", "-shm"):  # derived, and made when it is next needed
        with contextlib.suppress(FileNotFoundError):
            os.unlink(store.location.index_file + suffix)
    return True

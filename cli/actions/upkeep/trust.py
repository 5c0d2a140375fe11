"""`ctxrank trust`: a store that came from elsewhere, used from now on."""

import os

from ctxrank.cli.call import Call, Reply, shown
from ctxrank.indexer.care.status import read_status
from ctxrank.indexer.catalogue import folder_tables
from ctxrank.indexer.exceptions import NoStoreError
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.store.allowed_roots import unnamed_folders
from ctxrank.indexer.store.known_stores import trust as make_known
from ctxrank.indexer.store.location import FOLDER, PRIMARY_FILE, refuse_foreign


def trust(call: Call, path: str) -> Reply:
    """Write down that this user trusts a store, and say what it is."""
    primary = _database_of(path)
    refuse_foreign(primary)
    with open_store(primary, root=call.root) as store:
        is_new = make_known(store)
        documents = sum(read_status(store).documents.values())
        unread = unnamed_folders(store.location, store.primary, [one.name for one in folder_tables(store.primary)])
    folder = store.location.folder
    return Reply(
        lambda: {"store": folder, "known_before": not is_new, "documents": documents, "refused_roots": unread},
        [f"{'Trusted' if is_new else 'You trust already'} the store in {shown(folder)}: {documents} documents"],
        text_notes=tuple(
            f"it names {name}, which is not read: 'ctxrank index --root {name}' allows that." for name in unread
        ),
    )


def _database_of(path: str) -> str:
    """The database of a project folder, of a store's folder, or the file itself. Raises NoStoreError."""
    full = os.path.abspath(path)
    if os.path.isdir(full):
        inside = [os.path.join(full, FOLDER, PRIMARY_FILE), os.path.join(full, PRIMARY_FILE)]
        full = next((name for name in inside if os.path.lexists(name)), inside[0])
    if not os.path.lexists(full):
        raise NoStoreError(f"There is no store at {full}.", "Give a project's folder, its .ctxrank, or its ctxrank.db.")
    return full

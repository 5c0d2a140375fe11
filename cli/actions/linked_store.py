"""Opening the store for commands about `.contextia/`, which may be there without a store."""

import os

from ctxrank.cli.call import Call
from ctxrank.indexer.exceptions import NoStoreError
from ctxrank.indexer.store.store import Store


def open_for_links(call: Call) -> Store:
    """The store that this call means. Raises NoStoreError, which says where one is to be made."""
    try:
        return call.open()
    except NoStoreError as error:
        folder = os.getcwd()
        while not os.path.isdir(os.path.join(folder, ".contextia")):
            parent = os.path.dirname(folder)
            if parent == folder:
                raise
            folder = parent
        raise NoStoreError(
            f"{error.message} What is read from {os.path.join(folder, '.contextia')} is kept in a store.",
            f"Make one beside it with 'ctxrank init {folder}'.",
        ) from error

"""Opening a store together with its index: above both, so that the store need not know its index."""

from ctxrank.indexer.light_typing import TYPE_CHECKING, cast
from ctxrank.indexer.store.location import find_store
from ctxrank.indexer.store.store import IndexConsumer, Store, make_folder, open_at

if TYPE_CHECKING:
    from ctxrank.indexer.engine import Engine


def open_store(
    db: str | None = None, *, root: str | None = None, start: str | None = None, busy_ms: int | None = None
) -> Store:
    """Open the store that `db` names, or the nearest one from `start` (default: here) upwards.

    `root` is the folder that artifacts' paths start from (default: beside the store's folder).
    Raises NoStoreError, DamagedError, LockedError.
    """
    return open_at(find_store(db, root, start), _consumer_of, busy_ms)


def create_store(folder: str, *, root: str | None = None, busy_ms: int | None = None) -> Store:
    """Make `folder/.ctxrank`, private to its owner, or open it if it is there already."""
    return open_at(make_folder(folder, root), _consumer_of, busy_ms, create=True)


def engine_of(store: Store) -> "Engine":
    """The engine that answers for a store."""
    return cast("Engine", store.consumer)


def _consumer_of(store: Store) -> IndexConsumer:
    from ctxrank.indexer.fulltext.fts5_engine import Fts5Engine  # noqa: PLC0415  a call may need no index

    return Fts5Engine(store)

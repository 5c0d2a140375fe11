"""Opening a store together with its index: above both, so that the store need not know its index."""

import os

from ctxrank.indexer.exceptions import CtxrankError, NoStoreError, UsageError
from ctxrank.indexer.light_typing import TYPE_CHECKING, cast
from ctxrank.indexer.store.location import (
    FOLDER,
    PRIMARY_FILE,
    Identity,
    Location,
    at,
    find_store,
    is_new,
    is_trusted,
    refuse_foreign,
    refuse_other_owner,
    trusted_in,
)
from ctxrank.indexer.store.store import IndexConsumer, Store, make_folder, open_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from ctxrank.indexer.engine import ClusterIndex, Engine, Readiness, Statistics
    from ctxrank.indexer.store.config import Config

    Answer = TypeVar("Answer")
    Found = TypeVar("Found")

_CATCH_UP_MS = 50


def open_store(
    db: str | None = None, *, root: str | None = None, start: str | None = None, busy_ms: int | None = None
) -> Store:
    """Open the store that `db` names, or the nearest one from `start` (default: here) upwards.

    `root` is the folder that artifacts' paths start from (default: the folder that contains the store's folder).
    Raises NoStoreError, UntrustedError for one that was found and that this user neither made nor trusts,
    DamagedError, LockedError.
    """
    return open_location(find_store(db, root, start), busy_ms)


def open_location(location: Location, busy_ms: int | None) -> Store:
    """Open the store that was found. Raises DamagedError, LockedError, UntrustedError."""
    return open_at(location, _consumer_of, busy_ms, announce=_remember)


def open_project_store(folder: str, *, root: str | None = None) -> Store:
    """Open the store of a project folder. Raises NoStoreError, UntrustedError, DamagedError, LockedError."""
    location = trusted_in(folder, root)
    if location is None:
        primary = os.path.join(folder, FOLDER, PRIMARY_FILE)
        raise NoStoreError(f"There is no store at {primary}.", "Make one with 'ctxrank init'.")
    return open_location(location, None)


def create_store(folder: str, *, root: str | None = None, busy_ms: int | None = None) -> Store:
    """Make `folder/.ctxrank`, private to its owner, or open it if it is there already.

    A store that is made is written down as this user's, where their state folder can be written. Raises
    UntrustedError for one that is there and that they neither made nor trust.
    """
    primary = os.path.join(os.path.abspath(folder), FOLDER, PRIMARY_FILE)
    must_prove = False
    if not os.path.lexists(primary):
        home = os.path.dirname(primary)
        if os.path.lexists(home):
            refuse_other_owner(home, os.lstat(home).st_uid)
    elif is_new(primary):  # another process is just making it, or was killed before it was done
        refuse_foreign(primary)
        must_prove = True
    else:
        must_prove = not is_trusted(primary)
    location = make_folder(folder, root)._replace(must_prove=must_prove)
    return open_at(location, _consumer_of, busy_ms, create=True, announce=_remember)


def create_named_store(db: str, *, root: str | None = None) -> Store:
    """Make the store whose file is `db`, or open it if it is there already; its index lies beside it.

    The folder must be there, but for `.ctxrank` itself. Raises UsageError, DamagedError for another program's file.
    """
    path = os.path.abspath(db)
    folder, name = os.path.split(path)
    if name == PRIMARY_FILE and os.path.basename(folder) == FOLDER:
        return create_store(os.path.dirname(folder), root=root)
    if not os.path.isdir(folder) or os.path.isdir(path):
        why = "it is a folder" if os.path.isdir(path) else f"there is no folder {folder}"
        raise UsageError(f"{db} cannot be made: {why}.", "Name a file in a folder that is there.")
    return open_at(at(path, root), _consumer_of, None, create=True, announce=_remember)


def _remember(identity: Identity, primary: str) -> None:
    """Write down that a store was made; of a home that cannot be written `init` speaks."""
    import contextlib  # noqa: PLC0415  start-up: a query makes no store

    from ctxrank.indexer.store.known_stores import remember  # noqa: PLC0415  as above

    with contextlib.suppress(CtxrankError):
        remember(identity, primary)


def create_scratch_store(folder: str) -> Store:
    """Make a store, or open it, in a folder that is removed before anybody else could ask whose it is."""
    return open_at(make_folder(folder, None), _consumer_of, None, create=True)


def engine_of(store: Store) -> "Engine":
    """The engine that answers for a store."""
    if store.wide is not None:
        from ctxrank.indexer.extensions import ENGINE, provided  # noqa: PLC0415  only where a cluster is asked

        return cast("ClusterIndex", provided(ENGINE, "engine: opensearch")).engine_for(store, store.wide)
    return cast("Engine", store.consumer)


def _consumer_of(store: Store) -> IndexConsumer:
    from ctxrank.indexer.fulltext.fts5_engine import Fts5Engine  # noqa: PLC0415  a call may need no index

    return Fts5Engine(store)


def answer_of(
    store: Store, engine: "Engine", config: "Config", bound_ms: int, ask: "Callable[[Engine, Statistics], Answer]"
) -> "tuple[Answer | None, Readiness]":
    """What an index answers within one snapshot, asked once more where that helps; None where it cannot, and why.

    A fresh index helps against what the index has lost, and not against rows of the store that no index can show.
    Raises what a fresh one raises as well: it is not the index.
    """
    from ctxrank.indexer.engine import (  # noqa: PLC0415  a call may need no index
        ENGINE_ERRORS,
        INDEX_READ_ERRORS,
        SWITCHED_OFF,
        IndexHealth,
    )

    readiness = engine.make_ready(bound_ms) if config.has_index else SWITCHED_OFF
    for attempt in range(2):
        if not readiness.is_usable:
            break
        engine = readiness.stand_in or engine
        try:
            with engine.snapshot() as statistics:
                return ask(engine, statistics), readiness
        except INDEX_READ_ERRORS as error:
            from ctxrank.indexer.store.parents import has_corrupt_rows  # noqa: PLC0415  an assembly shows no hits

            is_of_engine = isinstance(error, ENGINE_ERRORS)
            if not is_of_engine and has_corrupt_rows(store.primary):
                return None, readiness._replace(health=IndexHealth.CORRUPT_ROWS)
            if attempt and not is_of_engine:
                raise
            readiness = engine.recover(error, bound_ms)
    # A fresh index has failed as the one before it did: it is the store that cannot be read.
    return None, readiness._replace(health=readiness.health or IndexHealth.STORE)


def from_index(store: Store, ask: "Callable[[Engine, Statistics], list[Found]]") -> "list[Found]":
    """The same of the store's own engine; nothing where it cannot answer, which is no place for a guess."""
    found, _ = answer_of(store, engine_of(store), store.config, _CATCH_UP_MS, ask)
    return found or []

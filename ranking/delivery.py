"""Delivery: the record of which packages a block has shown, to whom, at which iteration."""

from collections.abc import Iterable

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.errors import CtxrankError
from ctxrank.indexer.store import Store

LOCK_WAIT_MS = 250  # a spawn does not wait longer to be recorded


def mark_delivered(store: Store, package_ids: Iterable[int], *, group_id: int, agent: str, iteration: int) -> str:
    """Record a delivery; returns a note where the store could not be written. A group of 0 is session-wide."""
    moment = now_us()
    store.truth.set_busy_timeout(min(store.busy_ms, LOCK_WAIT_MS))
    # What a power cut takes of this is shown once more: not worth waiting for the disk before each spawn.
    store.truth.pragma("synchronous", 1)
    try:
        with store.write() as change:
            change.connection.executemany(
                "INSERT OR IGNORE INTO deliveries (package_id, group_id, agent, iteration, delivered_at)"
                " VALUES (?, ?, ?, ?, ?)",
                [(package_id, group_id, agent, iteration, moment) for package_id in package_ids],
            )
    except CtxrankError as error:
        return f"The delivery is not recorded: {error.message}"
    finally:
        store.truth.pragma("synchronous", 2)
        store.truth.set_busy_timeout(store.busy_ms)
    return ""

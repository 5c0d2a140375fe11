"""Delivery: the record of what a block has shown, to whom, at which iteration, with its receipt.

Packages are marked as delivered; prior reasoning leaves an event that says from whom it was handed to whom.
"""

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.receipts import NewReceipt, insert
from ctxrank.indexer.store.connection import wait_for_locks
from ctxrank.indexer.store.store import Change, Store

LOCK_WAIT_MS = 250  # a spawn does not wait longer to be recorded


class Delivery(NamedTuple):
    """What one block has shown; a `group_id` of None is session-wide, of -1 a group that is not there."""

    session_id: int
    group_id: int | None
    agent: str
    iteration: int
    package_ids: tuple[int, ...]
    reasoning_ids: tuple[int, ...]
    reasoning_chars: int


class Recorded(NamedTuple):
    """The receipt's id, or None and a note where the store could not be written."""

    receipt: int | None
    note: str


def record(store: Store, delivery: Delivery | None, receipt: NewReceipt | None) -> Recorded:
    """Record what was delivered and the receipt, in one transaction that does not wait for the disk."""
    receipt_id: int | None = None
    wait_for_locks(store.truth, min(store.busy_ms, LOCK_WAIT_MS))
    # What a power cut takes of this is shown once more: not worth waiting for the disk before each spawn.
    store.truth.pragma("synchronous", 1)
    try:
        with store.write() as change:
            if delivery is not None:
                _mark_packages(change, delivery)
                if delivery.reasoning_ids:
                    _record_handoff(change, delivery)
            if receipt is not None:
                receipt_id = insert(change, receipt)
    except CtxrankError as error:
        what = "receipt" if delivery is None else "delivery"
        return Recorded(None, f"The {what} is not recorded: {error.message}")
    finally:
        store.truth.pragma("synchronous", 2)
        wait_for_locks(store.truth, store.busy_ms)
    return Recorded(receipt_id, "")


def _mark_packages(change: Change, delivery: Delivery) -> None:
    moment = now_us()
    change.connection.executemany(
        "INSERT OR IGNORE INTO deliveries (package_id, group_id, agent, iteration, delivered_at)"
        " VALUES (?, ?, ?, ?, ?)",
        [(id_, delivery.group_id or 0, delivery.agent, delivery.iteration, moment) for id_ in delivery.package_ids],
    )


def _record_handoff(change: Change, delivery: Delivery) -> None:
    """The event of the hand-off; SQLite writes its JSON, so that a spawn loads no JSON library."""
    from ctxrank.indexer.records.events import REASONING_HANDOFF  # most spawns hand on no reasoning

    ids = ", ".join(map(str, delivery.reasoning_ids))
    distinct = "(SELECT json_group_array({0}) FROM (SELECT DISTINCT {0} FROM reasoning WHERE id IN ({1}) ORDER BY {0}))"
    agents, phases = distinct.format("agent", ids), distinct.format("phase", ids)
    change.connection.execute(
        f"""
        INSERT INTO events (session_id, group_id, subtype, payload, created_at)
        SELECT :session, max(:group, 0), :subtype,
               json_object('from_agents', json({agents}),
                           'to_agent', :agent,
                           'group', (SELECT name FROM groups WHERE id = :group),
                           'iteration', :iteration,
                           'phases', json({phases}),
                           'reasoning', json_array({ids}),
                           'content_length', :chars),
               :moment
        """,
        {
            "session": delivery.session_id,
            "subtype": REASONING_HANDOFF,
            "group": delivery.group_id or 0,
            "agent": delivery.agent,
            "iteration": delivery.iteration,
            "chars": delivery.reasoning_chars,
            "moment": now_us(),
        },
    )

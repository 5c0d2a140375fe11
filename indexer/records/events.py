"""Events: what happened between agents, kept in order; the only records that are not searched."""

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.store.rows import Value, insert
from ctxrank.indexer.store.store import Change


class StoredEvent(NamedTuple):
    """A stored event; `group` None is session-wide, `payload` is JSON, redacted already."""

    id: int
    session: str
    group: str | None
    subtype: str
    payload: str
    created_at: int


class RecordedEvent(NamedTuple):
    """The id of an event, and whether this call made it: a known key gives the first one again."""

    id: int
    is_new: bool


def record_event(
    change: Change,
    session_id: int,
    group_id: int | None,
    subtype: str,
    payload: str,
    *,
    idempotency_key: str | None = None,
) -> RecordedEvent:
    """Write an event inside the caller's transaction. Its texts are redacted already."""
    if idempotency_key is not None:
        query = "SELECT id FROM events WHERE session_id = ? AND subtype = ? AND group_id = ? AND idempotency_key = ?"
        known = read_value(change.connection, query, (session_id, subtype, group_id or 0, idempotency_key), int)
        if known is not None:
            return RecordedEvent(known, is_new=False)
    event: dict[str, Value] = {
        "session_id": session_id, "group_id": group_id or 0, "subtype": subtype, "payload": payload,
        "idempotency_key": idempotency_key, "created_at": now_us(),
    }  # fmt: skip
    return RecordedEvent(insert(change.connection, "events", event), is_new=True)

"""Agents at work: the task of each, and what it may know of what others have found since it began.

Kept as events (events.py), one for an agent of a session.
"""

import apsw

from ctxrank.indexer.light_typing import NamedTuple, is_list, object_of
from ctxrank.indexer.records.events import record_event
from ctxrank.indexer.store.connection import read_row, read_value
from ctxrank.indexer.store.store import Change
from ctxrank.indexer.text.light_json import dumps, loads

RUNNING = "hook_agent"
_MAIN = "main"


class RunningAgent(NamedTuple):
    """An agent's task, '' where it is not known; the newest document that it was told of or that was looked at for it,
    by its row id; and what it was told lately, as pairs of a moment and tokens, one after the other.
    """

    task: str
    seen: int
    told: tuple[int, ...] = ()


def newest_document(primary: apsw.Connection) -> int:
    """The row id of the newest document; 0 for none."""
    return read_value(primary, "SELECT max(id) FROM documents", (), int) or 0


def note_running(change: Change, session_id: int, agent: str, running: RunningAgent) -> None:
    """Note what is known of an agent; '' is a session's main one."""
    payload = dumps(running._asdict())
    event = record_event(change, session_id, None, RUNNING, payload, idempotency_key=agent or _MAIN)
    if not event.is_new:
        change.connection.execute("UPDATE events SET payload = ? WHERE id = ?", (payload, event.id))


def running_agent(primary: apsw.Connection, session_id: int, agent: str) -> RunningAgent | None:
    """What is known of an agent; None for one whose start was not seen. A main one begins with its session."""
    query = "SELECT payload FROM events WHERE session_id = ? AND subtype = ? AND group_id = 0 AND idempotency_key = ?"
    payload = read_value(primary, query, (session_id, RUNNING, agent or _MAIN), str)
    if payload is not None:
        return _read(payload)
    query = """
        SELECT coalesce(metadata ->> 'title', ''),
               coalesce((SELECT id FROM documents WHERE created_at < s.created_at ORDER BY id DESC LIMIT 1), 0)
          FROM sessions AS s WHERE id = ?
    """
    return None if agent else read_row(primary, query, (session_id,), RunningAgent)


def _read(payload: str) -> RunningAgent | None:
    """An agent of an event, which an import may have made of anything."""
    task, seen, told = map(object_of(loads(payload)).get, RunningAgent._fields)
    if not isinstance(task, str) or not isinstance(seen, int) or not is_list(told):
        return None
    return RunningAgent(task, seen, tuple(number for number in told if isinstance(number, int)))

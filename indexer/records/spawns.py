"""Agents that are about to start, with their tasks: a runner says only that one of a type has started."""

import json

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.records.events import record_event
from ctxrank.indexer.store.store import Change

SPAWN = "hook_spawn"
_WAITS_US = 10 * 60 * 1_000_000


def remember_spawn(change: Change, session_id: int, tool_use_id: str, agent_type: str, task: str) -> None:
    """Remember the task of an agent that is about to start; the task is redacted already."""
    payload = json.dumps({"type": agent_type, "task": task, "is_ambiguous": False})
    record_event(change, session_id, None, SPAWN, payload, idempotency_key=tool_use_id)


def forget_spawn(change: Change, session_id: int, tool_use_id: str) -> None:
    """A spawn has ended, or was never allowed."""
    change.connection.execute(
        "DELETE FROM events WHERE session_id = ? AND subtype = ? AND group_id = 0 AND idempotency_key = ?",
        (session_id, SPAWN, tool_use_id),
    )


def take_spawn(change: Change, session_id: int, agent_type: str) -> str:
    """The task of the one agent of this type that waits to start; '' where none waits, or it could be several.

    Where several wait, which of them has started is not known, now and for each that is left: the block of one agent's
    task before another one is worse than a block without a task.
    """
    connection = change.connection
    connection.execute(
        "DELETE FROM events WHERE session_id = ? AND subtype = ? AND created_at < ?",
        (session_id, SPAWN, now_us() - _WAITS_US),
    )
    query = """
        SELECT id, payload ->> 'task', payload ->> 'is_ambiguous' FROM events
         WHERE session_id = ? AND subtype = ? AND payload ->> 'type' = ?
         ORDER BY created_at, id
    """
    waiting = connection.execute(query, (session_id, SPAWN, agent_type)).fetchall()
    if not waiting:
        return ""
    first, task, is_ambiguous = waiting[0]
    connection.execute("DELETE FROM events WHERE id = ?", (first,))
    if len(waiting) == 1:
        return "" if is_ambiguous else str(task)
    connection.execute(
        """
        UPDATE events SET payload = json_set(payload, '$.is_ambiguous', json('true'))
         WHERE session_id = ? AND subtype = ? AND payload ->> 'type' = ?
        """,
        (session_id, SPAWN, agent_type),
    )
    return ""

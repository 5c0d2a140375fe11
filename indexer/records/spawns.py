"""Agents that are about to start, with their tasks: a runner says only that one of a type has started."""

import apsw

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.events import record_event
from ctxrank.indexer.records.running_agents import RunningAgent, newest_document
from ctxrank.indexer.store.connection import read_row
from ctxrank.indexer.store.store import Change
from ctxrank.indexer.text.light_json import dumps

SPAWN = "hook_spawn"
_WAITS_US = 10 * 60 * 1_000_000
_SETTING = "spawn:"  # and the runner's name


class LastSpawn(NamedTuple):
    """The prompt, by its digest, that a runner was last given back with a block, and whether a block has arrived.

    No prompt: blocks come at SubagentStart.
    """

    prompt: str | None
    has_arrived: int | None


def note_block(change: Change, runner: str, name: str, value: str | int) -> None:
    """Note a field of a runner's `LastSpawn`."""
    query = """
        INSERT INTO settings (key, value) VALUES (?1, json_object(?2, ?3))
            ON CONFLICT (key) DO UPDATE SET value = json_set(value, '$.' || ?2, ?3)
    """
    change.connection.execute(query, (_SETTING + runner, name, value))


def last_spawn(connection: apsw.Connection, runner: str) -> LastSpawn:
    """What is known of a runner's last spawn that was given a block."""
    query = "SELECT value ->> 'prompt', value ->> 'has_arrived' FROM settings WHERE key = ?"
    return read_row(connection, query, (_SETTING + runner,), LastSpawn) or LastSpawn(None, None)


def block_arrivals(connection: apsw.Connection) -> dict[str, LastSpawn]:
    """The last spawn of each runner of which it is known whether the block has arrived."""
    query = f"""
        SELECT substr(key, {len(_SETTING) + 1}), value ->> 'prompt', value ->> 'has_arrived' FROM settings
         WHERE key GLOB '{_SETTING}*' AND value ->> 'has_arrived' IS NOT NULL
         ORDER BY key
    """
    return {runner: LastSpawn(prompt, has_arrived) for runner, prompt, has_arrived in connection.execute(query)}


def remember_spawn(change: Change, session_id: int, tool_use_id: str, agent_type: str, running: RunningAgent) -> None:
    """Remember an agent that is about to start; its task is redacted already."""
    payload = dumps({"type": agent_type, "task": running.task, "seen": running.seen, "is_ambiguous": False})
    record_event(change, session_id, None, SPAWN, payload, idempotency_key=tool_use_id)


def forget_spawn(change: Change, session_id: int, tool_use_id: str) -> None:
    """A spawn has ended, or was never allowed."""
    query = "DELETE FROM events WHERE session_id = ? AND subtype = ? AND group_id = 0 AND idempotency_key = ?"
    change.connection.execute(query, (session_id, SPAWN, tool_use_id))


def take_spawn(change: Change, session_id: int, agent_type: str) -> RunningAgent:
    """The one agent of this type that waits to start; without a task where none waits, or it could be several.

    Where several wait, which of them has started is not known, now and for each that is left: the block of one agent's
    task before another one is worse than a block without a task. What the last of them may know of counts for all.
    """
    connection = change.connection
    query = "DELETE FROM events WHERE session_id = ? AND subtype = ? AND created_at < ?"
    connection.execute(query, (session_id, SPAWN, now_us() - _WAITS_US))
    query = """
        SELECT id, payload ->> 'task', payload ->> 'is_ambiguous', payload ->> 'seen' FROM events
         WHERE session_id = ? AND subtype = ? AND payload ->> 'type' = ?
         ORDER BY created_at, id
    """
    waiting = connection.execute(query, (session_id, SPAWN, agent_type)).fetchall()
    if not waiting:
        return RunningAgent("", newest_document(connection))
    first, task, is_ambiguous, _ = waiting[0]
    seen = max(int(row[-1] or 0) for row in waiting)
    connection.execute("DELETE FROM events WHERE id = ?", (first,))
    if len(waiting) == 1:
        return RunningAgent("" if is_ambiguous else str(task), seen)
    query = """
        UPDATE events SET payload = json_set(payload, '$.is_ambiguous', json('true'))
         WHERE session_id = ? AND subtype = ? AND payload ->> 'type' = ?
    """
    connection.execute(query, (session_id, SPAWN, agent_type))
    return RunningAgent("", seen)

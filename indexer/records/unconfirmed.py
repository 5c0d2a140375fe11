"""Reasoning that was kept without anybody having asked for it: a search finds it, and nothing shows it unasked.

The entry's own `agent_name` says so, because that stays with it through an export and a repair, whatever is pruned. An
entry is confirmed when its text is seen in a second session, or by saving it on purpose.
"""

import apsw

from ctxrank.indexer.records.reasoning import UNCONFIRMED, Reasoning, put_document
from ctxrank.indexer.store.connection import read_map, read_row, read_value
from ctxrank.indexer.store.store import Change, atomic


def unconfirmed_name(agent: str) -> str:
    """The `agent_name` of an entry that was kept unasked."""
    return f"{UNCONFIRMED}: {agent}" if agent else UNCONFIRMED


def is_unconfirmed(primary: apsw.Connection, number: int) -> bool:
    """Whether an entry was kept unasked and is not confirmed since; one that is not there is."""
    name = read_value(primary, "SELECT agent_name FROM reasoning WHERE id = ?", (number,), str)
    return name is None or name.startswith(UNCONFIRMED)


def count_unconfirmed(primary: apsw.Connection, session_id: int) -> int:
    """How many entries of a session were kept unasked."""
    query = "SELECT count(*) FROM reasoning WHERE session_id = ? AND substr(agent_name, 1, ?) = ?"
    return read_value(primary, query, (session_id, len(UNCONFIRMED), UNCONFIRMED), int) or 0


def same_entries(primary: apsw.Connection, content: str) -> dict[int, int]:
    """The sessions of the entries of exactly this content, by the entries' ids."""
    return read_map(primary, "SELECT id, session_id FROM reasoning WHERE content = ?", (content,), int, int)


@atomic
def confirm_entry(change: Change, number: int) -> None:
    """Say that an entry holds: it was seen in another session, too."""
    query = """
        SELECT session_id, group_id, agent, phase, content, created_at, agent_name, iteration, confidence, refs,
               redacted
          FROM reasoning WHERE id = ?
    """
    entry = read_row(change.connection, query, (number,), Reasoning)
    if entry is not None and entry.agent_name.startswith(UNCONFIRMED):
        name = entry.agent_name.removeprefix(UNCONFIRMED).lstrip(": ")
        change.connection.execute("UPDATE reasoning SET agent_name = ? WHERE id = ?", (name, number))
        put_document(change, number, entry._replace(agent_name=name))

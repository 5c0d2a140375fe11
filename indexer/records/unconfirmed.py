"""Reasoning that was kept without anybody having asked for it: a search finds it, and nothing shows it unasked.

The entry's own `agent_name` says so, because that stays with it through an export and a repair, whatever is pruned. An
entry is confirmed when its text is seen in a second session, or by saving it on purpose.
"""

import apsw

from ctxrank.indexer.agents import UNCONFIRMED
from ctxrank.indexer.store.connection import read_map, read_value
from ctxrank.indexer.store.ids import is_accepted
from ctxrank.indexer.store.parents import ParentDocument
from ctxrank.indexer.store.store import Change


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


def confirm_entry(change: Change, number: int) -> None:
    """Say that an entry holds: it was seen in another session, too."""
    from ctxrank.indexer.catalogue import KINDS  # noqa: PLC0415  start-up: writing only
    from ctxrank.indexer.record_table import revise  # noqa: PLC0415  as above

    name = read_value(change.connection, "SELECT agent_name FROM reasoning WHERE id = ?", (number,), str)
    if name is not None and name.startswith(UNCONFIRMED):
        revise(change, KINDS["reasoning"], number, {"agent_name": name.removeprefix(UNCONFIRMED).lstrip(": ")})


def may_be_said(primary: apsw.Connection, parent: ParentDocument, project: str) -> bool:
    """Whether a finding is this project's or none's, saved on purpose or confirmed since, and of an accepted store."""
    if parent.session is not None:
        query = "SELECT project FROM sessions WHERE name = ?"
        if read_value(primary, query, (parent.session,), str) not in (project, "default"):
            return False
    if parent.number < 0 and parent.kind != "error" and not is_accepted(primary, parent.number):
        return False
    if parent.kind == "error":
        query = "SELECT 1 FROM error_patterns WHERE id = ? AND state = 'confirmed'"
        return read_value(primary, query, (parent.number,), int) is not None
    return parent.kind != "reasoning" or not is_unconfirmed(primary, parent.number)

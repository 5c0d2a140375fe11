"""A runner's session as a person reads it: its title, when it ended, what was changed, what failed, what was decided.

    note_prompt(store, NewSession("3f0c…", "shop"), "codex", "make the tests pass")
    read_conversation(primary, session.id)      Conversation(changed=("prices.json",), failures=(…,), decisions=(…,))

The title is the first prompt, as one line; it, the runner and the changed files are in the session's metadata, so an
export, a redaction and a purge know them. The rest are records of the session. It ends when its runner says so, or a
week after the last that was recorded of it, and goes on with the next prompt.
"""

from collections.abc import Iterable

import apsw

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.sessions import (
    NewSession,
    create_session,
    end_session,
    find_session,
    has_session,
    set_session_status,
)
from ctxrank.indexer.store.connection import read_column, read_rows, read_value
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.light_json import dumps

TITLE_CHARS = 80
MAX_CHANGED = 50
_MAX_FAILURES, _MAX_DECISIONS = 20, 20
_SILENCE_US = 7 * DAY_US


class ConversationFailure(NamedTuple):
    """A failure of a session; `ended_by` is what is known to have ended it, '' for nothing."""

    error: str
    seen_at: int
    resolved_at: int | None
    ended_by: str


class Conversation(NamedTuple):
    """What came of a session, the oldest first."""

    changed: tuple[str, ...]
    failures: tuple[ConversationFailure, ...]
    decisions: tuple[str, ...]


def needs_note(primary: apsw.Connection, session: str) -> bool:
    """Whether a prompt of a session changes what is known of it: it is the first one, or the session had ended."""
    query = "SELECT ended_at IS NULL AND metadata ->> 'title' IS NOT NULL FROM sessions WHERE name = ?"
    return not read_value(primary, query, (session,), int)


def note_prompt(store: Store, new: NewSession, runner: str, title: str) -> None:
    """Make the session where it is new, entitle it, or let it go on; `title` is redacted, on one line.

    A new one ends those of which nothing was heard for a week. Raises UsageError for a name that is none, LockedError.
    """
    with store.write() as change:
        if not has_session(change.connection, new.name):
            _end_silent(change)
            create_session(change, new)
        elif find_session(change.connection, new.name).ended_at is not None:
            set_session_status(change, new.name, "active")
        entitle(change, new.name, runner, title)


def entitle(change: Change, session: str, runner: str, title: str) -> None:
    """Say what a runner's session is called, unless that is said already."""
    query = "UPDATE sessions SET metadata = json_patch(?, metadata) WHERE name = ? AND metadata ->> 'title' IS NULL"
    change.connection.execute(query, (dumps({"title": title, "runner": runner}, ensure_ascii=False), session))


def note_end(store: Store, session: str) -> None:
    """Say that a session is over, where there is one. Raises LockedError."""
    if has_session(store.primary, session):
        with store.write() as change:
            end_session(change, session)


def note_changed(change: Change, session_id: int, names: Iterable[str]) -> None:
    """Add files to those that were changed in a session, by their paths from the root, which hold no secret."""
    known = _changed(change.connection, session_id)
    changed = list(dict.fromkeys((*known, *names)))[:MAX_CHANGED]
    if changed != known:
        query = "UPDATE sessions SET metadata = json_set(metadata, '$.changed', json(?)) WHERE id = ?"
        change.connection.execute(query, (dumps(changed, ensure_ascii=False), session_id))


def read_conversation(primary: apsw.Connection, session_id: int) -> Conversation:
    """What came of a session."""
    failures = """
        SELECT f.error_text, f.seen_at, f.resolved_at, coalesce(p.solution, '')
          FROM error_sightings AS f
          LEFT JOIN error_patterns AS p ON f.resolved_at IS NOT NULL AND p.id = coalesce(f.pattern_id, (
               SELECT max(g.pattern_id) FROM error_signatures AS g WHERE g.instance = f.instance))
         WHERE f.session_id = ? ORDER BY f.seen_at, f.id LIMIT ?
    """
    decisions = "SELECT content FROM reasoning WHERE session_id = ? AND phase = 'decisions' ORDER BY created_at LIMIT ?"
    return Conversation(
        tuple(_changed(primary, session_id)),
        tuple(read_rows(primary, failures, (session_id, _MAX_FAILURES), ConversationFailure)),
        tuple(read_column(primary, decisions, (session_id, _MAX_DECISIONS), str)),
    )


def _changed(primary: apsw.Connection, session_id: int) -> list[str]:
    query = """
        SELECT CAST(value AS TEXT) FROM sessions AS s, json_each(s.metadata, '$.changed')
         WHERE s.id = ? AND typeof(key) = 'integer'
    """
    return read_column(primary, query, (session_id,), str)


def _end_silent(change: Change) -> None:
    """End the sessions of runners that recorded nothing for a week, as of the last that they recorded."""
    query = """
        WITH quiet (id, heard_at) AS (
            SELECT id, max(created_at,
                   coalesce((SELECT max(created_at) FROM documents WHERE session_id = s.id), 0),
                   coalesce((SELECT max(created_at) FROM events WHERE session_id = s.id), 0),
                   coalesce((SELECT max(seen_at) FROM error_sightings WHERE session_id = s.id), 0))
              FROM sessions AS s
             WHERE id > 0 AND status = 'active' AND created_at < ?1 AND json_valid(metadata)
               AND metadata ->> 'runner' IS NOT NULL)
        UPDATE sessions SET status = 'completed', ended_at = quiet.heard_at
          FROM quiet WHERE sessions.id = quiet.id AND quiet.heard_at < ?1
    """
    change.connection.execute(query, (now_us() - _SILENCE_US,))

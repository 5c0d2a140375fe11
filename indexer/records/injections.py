"""What was put before a model, in which session: so that nothing is shown twice, and none of it is kept as news.

Kept as events (events.py), which an export, a purge and `prune --kind event` know. What is lost with them is that a
finding may be shown a second time; whether a text may be trusted is never kept here.
"""

import apsw

from ctxrank.indexer.light_typing import NamedTuple, is_list, object_of
from ctxrank.indexer.records.events import StoredEvent, record_event
from ctxrank.indexer.store.connection import Page, read_column
from ctxrank.indexer.store.rows import list_where
from ctxrank.indexer.store.store import Change
from ctxrank.indexer.text.digests import digest_of
from ctxrank.indexer.text.light_json import dumps, loads

INJECTION = "hook_injection"
COMPACTION = "compaction"  # the event after which a session has in its context nothing of what it was shown
_LINE_BYTES = 6  # of a line's digest: one of 10^9 lines is taken for another by chance
_LEAST_LINE_CHARS = 24  # a shorter line may be anybody's
_INJECTIONS_COMPARED = 300
_MARKDOWN = " \t>*`-#|\\\"'"


class Injection(NamedTuple):
    """What was put before a model: at which event, which documents, and how much; `receipt` is that of a block.

    `agent` is the runner's id of the spawned agent that it was put before, '' for the session's main one.
    """

    event: str
    ids: tuple[str, ...]
    tokens: int
    characters: int
    receipt: int | None = None
    agent: str = ""


class StoredInjection(NamedTuple):
    """An injection as it is listed."""

    id: int
    session: str
    group: str | None
    injection: Injection
    created_at: int


def note_injection(change: Change, session_id: int, group_id: int | None, injection: Injection, text: str) -> None:
    """Remember what was injected, and the digests of its lines."""
    # Of the lines that are long enough to be known again, whatever Markdown stands around them.
    lines = sorted({line_digest(line) for line in text.split("\n") if is_comparable(line)})
    record_event(change, session_id, group_id, INJECTION, dumps({**injection._asdict(), "lines": lines}))


def shown_ids(primary: apsw.Connection, session_id: int, agent: str = "", at: str = "") -> frozenset[str]:
    """The documents that an agent of a session was shown: '' is the main one, which has not seen what others got.

    What a session began with, names and summaries, counts at an event of that kind alone; what came before its
    conversation was compacted, not at all.
    """
    query = """
        SELECT payload FROM events
         WHERE session_id = ?1 AND subtype = ?2 AND coalesce(payload ->> 'agent', '') = ?3
           AND payload ->> 'event' <> 'PreToolUse' AND (payload ->> 'event' <> 'SubagentStart' OR ?3 <> '')
           AND payload ->> 'event' <> iif(?4 = 'SessionStart', '', 'SessionStart')
           AND id > coalesce((SELECT max(id) FROM events WHERE session_id = ?1 AND subtype = ?2 AND ?3 = ''
                                 AND payload ->> 'event' = ?5), -1 << 62)
    """
    payloads = read_column(primary, query, (session_id, INJECTION, agent, at, COMPACTION), str)
    return frozenset(id_ for payload in payloads for id_ in _ids(payload))


def injected_lines(primary: apsw.Connection) -> frozenset[str]:
    """Digests of the lines that were injected lately, in any session: a text is pasted from one into another."""
    # By id and not by time, so that no other event is read; the ids of what another store made fall. What was imported
    # may be anything.
    query = """
        WITH injected AS MATERIALIZED (
            SELECT * FROM (SELECT payload FROM events WHERE subtype = ?1 AND id > 0 ORDER BY id DESC LIMIT ?2)
             UNION ALL
            SELECT * FROM (SELECT payload FROM events WHERE subtype = ?1 AND id < 0 ORDER BY id LIMIT ?2))
        SELECT DISTINCT line.value FROM injected, json_each(iif(json_valid(payload), payload, '{}'), '$.lines') AS line
         WHERE line.type = 'text'
    """
    return frozenset(read_column(primary, query, (INJECTION, _INJECTIONS_COMPARED), str))


def is_comparable(line: str) -> bool:
    """Whether a line says enough to be known again."""
    return len(line.strip(_MARKDOWN)) >= _LEAST_LINE_CHARS


def line_digest(line: str) -> str:
    """What a line is known by: its words, in lower case, without the marks around it."""
    return digest_of(" ".join(line.strip(_MARKDOWN).lower().split()), _LINE_BYTES)


def list_injections(primary: apsw.Connection, session: str | None, limit: int) -> Page[StoredInjection]:
    """What hooks have injected, the newest first; of one session, or of all."""
    events = list_where(primary, "events", StoredEvent, {"session": session, "subtype": INJECTION}, limit=limit)
    return Page(map(_stored, events), events.total)


def _stored(event: StoredEvent) -> StoredInjection:
    fields = object_of(loads(event.payload))
    numbers = [fields.get(name) for name in ("tokens", "characters", "receipt")]
    tokens, characters, receipt = (number if isinstance(number, int) else None for number in numbers)
    injection = Injection(str(fields.get("event", "")), _ids(event.payload), tokens or 0, characters or 0, receipt)
    return StoredInjection(event.id, event.session, event.group, injection, event.created_at)


def _ids(payload: str) -> tuple[str, ...]:
    """The documents that an event's payload names; what was imported may be any JSON."""
    found = object_of(loads(payload)).get("ids")
    return tuple(str(item) for item in found) if is_list(found) else ()

"""What all conversations recorded lately, and which failures wait for a fix: read from the store, for the first page.

lately(store.primary, since)[0]      LateRecord("package", 7, "found", "shop-2026-10", "developer", "Locked: …", …)
"""

import apsw

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import read_rows

MOST = 200  # records, the newest


class LateRecord(NamedTuple):
    """A record: found, decided, failed or mended, when last and how often; by an agent, or by its session's runner."""

    kind: str
    number: int
    did: str
    session: str | None
    agent: str
    title: str
    at: int
    times: int


def lately(primary: apsw.Connection, since: int, most: int = MOST) -> list[LateRecord]:
    """The records since a moment, the newest first; a failure that was seen again in a session is there once."""
    query = """
        WITH late (kind, id, did, session_id, agent, title, at) AS (
            SELECT 'package', id, iif(type = 'decisions', 'decided', 'found'), session_id, producer, summary,
                   created_at
              FROM packages WHERE created_at >= :since AND superseded_by IS NULL
             UNION ALL
            SELECT 'reasoning', id, 'decided', session_id, agent, content, created_at
              FROM reasoning WHERE created_at >= :since AND phase = 'decisions'
             UNION ALL
            SELECT 'failure', id, 'failed', session_id, '', error_text, max(seen_at)
              FROM error_sightings WHERE seen_at >= :since GROUP BY session_id, instance
             UNION ALL
            SELECT 'failure', id, 'mended', session_id, '', error_text, max(resolved_at)
              FROM error_sightings WHERE resolved_at >= :since GROUP BY session_id, instance
        )
        SELECT late.kind, late.id, did, s.name, coalesce(nullif(agent, ''), s.metadata ->> 'runner', ''), title, at, 1
          FROM late
          LEFT JOIN sessions AS s ON s.id = late.session_id AND s.id > 0
         ORDER BY at DESC, did DESC, late.kind DESC, late.id DESC LIMIT :most
    """
    return list(read_rows(primary, query, {"since": since, "most": most}, LateRecord))


def open_failures(primary: apsw.Connection, since: int, most: int) -> list[LateRecord]:
    """The failures since a moment that wait for a fix, the most frequent first."""
    query = """
        SELECT 'failure', f.id, 'failed', s.name, '', f.error_text, max(f.seen_at), count(*)
          FROM error_sightings AS f
          JOIN sessions AS s ON s.id = f.session_id
         WHERE f.seen_at >= :since AND f.resolved_at IS NULL AND f.pattern_id IS NULL
           AND NOT EXISTS (SELECT 1 FROM error_signatures AS known WHERE known.instance = f.instance)
         GROUP BY f.instance ORDER BY count(*) DESC, max(f.seen_at) DESC LIMIT :most
    """
    return list(read_rows(primary, query, {"since": since, "most": most}, LateRecord))


def frequent_errors(primary: apsw.Connection, most: int) -> list[LateRecord]:
    """The known errors that were seen more than once, the most frequent first."""
    query = """
        SELECT d.kind, d.record_id, 'failed', NULL, '', d.title, p.last_seen, p.occurrences
          FROM error_patterns AS p
          JOIN documents AS d ON d.kind = 'error' AND d.record_id = p.id
         WHERE p.occurrences > 1 ORDER BY p.occurrences DESC, p.last_seen DESC LIMIT :most
    """
    return list(read_rows(primary, query, {"most": most}, LateRecord))

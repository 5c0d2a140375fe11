"""Everything that a session recorded, in the order of time: what was found, thought, seen failing, fixed and handed on.

[record.kind for record in session_records(store.primary, session.id)]      ["package", "failure", "fix", …]
"""

import apsw

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import read_rows
from ctxrank.indexer.store.ids import public_id

MOST = 2000  # records of a session, the newest


class SessionRecord(NamedTuple):
    """One record at its moment; `of` is the id of what it fixes, delivers or recognises, '' for none.

    A kind is package, reasoning, skill, failure, fix, delivery, consumption or block.
    """

    id: str
    kind: str
    group: str | None
    agent: str
    title: str
    at: int
    of: str


def session_records(primary: apsw.Connection, session_id: int) -> list[SessionRecord]:
    """The records of a session, the oldest first."""
    query = """
        WITH found (id, rest, kind, group_id, agent, title, at, of_kind, of_id) AS (
            SELECT record_id, '', kind, group_id, agent, title, created_at, '', 0
              FROM documents
             WHERE session_id = :session AND kind IN ('package', 'reasoning', 'skill')
             UNION ALL
            SELECT id, '', 'failure', group_id, '', error_text, seen_at, iif(pattern_id IS NULL, '', 'error'),
                   coalesce(pattern_id, 0)
              FROM error_sightings WHERE session_id = :session
             UNION ALL
            SELECT id, '', 'fix', group_id, '', error_text, resolved_at, 'failure', id
              FROM error_sightings WHERE session_id = :session AND resolved_at IS NOT NULL
             UNION ALL
            SELECT d.package_id, '.' || d.group_id || '.' || d.iteration || '.' || d.agent,
                   'delivery', d.group_id, d.agent, p.summary, d.delivered_at, 'package', d.package_id
              FROM packages AS p
              JOIN deliveries AS d ON d.package_id = p.id
             WHERE p.session_id = :session
             UNION ALL
            SELECT c.id, '', 'consumption', coalesce(p.group_id, 0), c.agent, p.summary, c.consumed_at,
                   'package', c.package_id
              FROM packages AS p
              JOIN package_consumers AS c ON c.package_id = p.id
             WHERE p.session_id = :session AND c.consumed_at IS NOT NULL
             UNION ALL
            SELECT id, '', 'block', group_id, agent, tokens || ' tokens', created_at, '', 0
              FROM receipts WHERE session_id = :session
        )
        SELECT f.id, f.rest, f.kind, g.name, f.agent, f.title, f.at, f.of_kind, f.of_id
          FROM found AS f
          LEFT JOIN groups AS g ON g.id = f.group_id
         ORDER BY f.at DESC, f.kind DESC, f.id DESC, f.rest DESC LIMIT :most
    """
    return list(read_rows(primary, query, {"session": session_id, "most": MOST}, _record))[::-1]


def _record(
    id_: int, rest: str, kind: str, group: str | None, agent: str, title: str, at: int, of_kind: str, of_id: int
) -> SessionRecord:
    of = public_id(of_kind, of_id) if of_kind else ""
    return SessionRecord(public_id(kind, id_) + rest, kind, group, agent, title, at, of)

"""Packages as the predecessor's commands ask for them: what waits for an agent, who was given what.

pending_packages(store.primary, "shop-2026-11", "AUTH", "developer", limit=3)
record_consumption(store, Consumption("shop-2026-11", "AUTH", "developer", 0, 12))
"""

import apsw

from ctxrank.cli.bazinga.records.views import VIEWS, Rows, rows, scope_id
from ctxrank.indexer.exceptions import NotFoundError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.sessions import is_session_wide, require_group, require_session
from ctxrank.indexer.store.store import Store

GLOBAL = "global"

_BY_PRIORITY = (
    "CASE {0}.priority WHEN 'critical' THEN 1 WHEN 'high' THEN 2 WHEN 'medium' THEN 3 ELSE 4 END,"
    " {0}.created_at DESC, {0}.id DESC"
)


class Consumption(NamedTuple):
    """An agent was given a package at an iteration; a `group` of '' is the whole session."""

    session: str
    group: str
    agent: str
    iteration: int
    package_id: int

    @property
    def scope_id(self) -> str:
        """Its id, the same for the same values."""
        return scope_id(self.session, self.group, self.agent, self.iteration, self.package_id)


def pending_packages(primary: apsw.Connection, session: str, group: str, agent: str, *, limit: int) -> Rows:
    """What is designated for the agent, not consumed and not superseded: by priority, then the newest.

    A group means its own packages and global ones, 'global' global ones alone, '' all of the session.
    """
    is_global = group.strip().lower() == GLOBAL
    # The few that are wanted are found by their ids before any row of the view is made.
    query = f"""
        SELECT id, package_type, priority, summary, file_path, size_bytes, group_id
          FROM ({VIEWS["context_packages"]}
                 WHERE p.id IN (
                       SELECT q.id FROM main.packages AS q
                        WHERE q.session_id = (SELECT id FROM main.sessions WHERE name = ?1)
                          AND q.superseded_by IS NULL AND (NOT ?3 OR q.scope = 'global')
                          AND (?2 IS NULL OR q.scope = 'global' OR q.group_id = (
                               SELECT id FROM main.groups WHERE session_id = q.session_id AND name = ?2))
                          AND EXISTS (SELECT 1 FROM main.package_consumers AS c
                                       WHERE c.package_id = q.id AND c.agent = ?4 AND c.consumed_at IS NULL)
                        ORDER BY {_BY_PRIORITY.format("q")} LIMIT ?5)
                 ORDER BY {_BY_PRIORITY.format("p")} LIMIT ?5)
    """
    return rows(primary, query, (session, None if is_session_wide(group) else group, is_global, agent, limit))


def record_consumption(store: Store, new: Consumption) -> bool:
    """Record that an agent was given a package; False where it is recorded already.

    Raises NotFoundError for a session or a package of it that is not there, LockedError.
    """
    from ctxrank.indexer.records.packages import get_package, record_delivery  # noqa: PLC0415  readers do not need it

    with store.write() as change:
        session = require_session(change, new.session, create=False)
        if get_package(change.connection, new.package_id).session != session.name:
            raise NotFoundError(f"Package {new.package_id} is not of the session '{session.name}'.")
        group_id = 0 if is_session_wide(new.group) else require_group(change, session.id, new.group)
        return record_delivery(change, new.package_id, group_id, new.agent, new.iteration)


def consumptions(
    primary: apsw.Connection, session: str, *, group: str | None = None, agent: str | None = None, limit: int = 50
) -> Rows:
    """What agents of a session were given, the newest first; no group means all."""
    query = f"""{VIEWS["consumption_scope"]}
         WHERE s.name = ?1 AND (?2 IS NULL OR g.name = ?2) AND (?3 IS NULL OR d.agent = ?3)
         ORDER BY d.delivered_at DESC, d.package_id DESC, d.iteration DESC, d.agent LIMIT ?4
    """
    return rows(primary, query, (session, None if is_session_wide(group) else group, agent, limit))

"""Evidence that skills were invoked: an output in the store is it, of this one or an accepted one, and nothing else.

    check_evidence(primary, session, "developer", ("lint-check",), since_us=now_us() - 30 * 60 * SECOND_US)

What was saved without an agent, or without a group, counts for all of its session. An agent may have had a good reason
to leave a skill out, and a refusal would block a team for ever: what is missing is reported, never enforced.
"""

import apsw

from ctxrank.indexer.agents import fold_agent
from ctxrank.indexer.clock import SECOND_US
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.sessions import Session, is_session_wide
from ctxrank.indexer.store.connection import read_column
from ctxrank.indexer.store.ids import IS_ACCEPTED

RECENT_US = 30 * 60 * SECOND_US
_MAX_TRACES = 50


class SkillEvidence(NamedTuple):
    """Which skills have an output that counts and which have none, in the order they were asked for."""

    found: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing; so it is where nothing was asked for."""
        return not self.missing


def check_evidence(
    primary: apsw.Connection,
    session: Session,
    agent: str | None,
    skills: tuple[str, ...],
    *,
    group: str | None = None,
    since_us: int | None = None,
    before_us: int | None = None,
    iteration: int | None = None,
) -> SkillEvidence:
    """Which of these skills have an output in this session.

    An output counts from `since_us` on and up to `before_us` (None: without a limit); `iteration` is the number it must
    have. Of an `agent` or a `group` counts also what was saved without one; no agent and a session-wide group are any.
    """
    wanted = tuple(dict.fromkeys(skill.strip() for skill in skills))
    query = f"""
        SELECT DISTINCT o.skill FROM skill_outputs AS o
         WHERE o.session_id = :session AND {IS_ACCEPTED.format("o.id")}
           AND (:agent IS NULL OR o.agent IN (:agent, ''))
           AND (:group IS NULL OR o.group_id IS NULL
                OR o.group_id = (SELECT id FROM groups WHERE session_id = o.session_id AND name = :group))
           AND (:since IS NULL OR o.created_at >= :since) AND (:before IS NULL OR o.created_at < :before)
           AND (:iteration IS NULL OR o.iteration = :iteration)
    """
    values = {
        "session": session.id,
        "agent": fold_agent(agent) if agent is not None and agent.strip() else None,
        "group": None if is_session_wide(group) else group,
        "since": since_us,
        "before": before_us,
        "iteration": iteration,
    }
    reported = set(read_column(primary, query, values, str))
    return SkillEvidence(
        tuple(skill for skill in wanted if skill in reported),
        tuple(skill for skill in wanted if skill not in reported),
    )


class PreviousAgent(NamedTuple):
    """Who worked before, and from when on its outputs count."""

    agent: str
    since_us: int


def previous_agent(
    primary: apsw.Connection, session: Session, group_id: int | None, agent: str, iteration: int, *, before_us: int
) -> PreviousAgent | None:
    """Who was spawned or thought last in a group (None: in the session) before this try of this agent.

    Traces are the receipts of blocks and entries of reasoning. Its outputs count since it was spawned; where only its
    reasoning is known, since RECENT_US before that.
    """
    query = f"""
        SELECT agent, iteration, created_at, is_spawn
          FROM (SELECT * FROM (SELECT agent, iteration, created_at, 1 AS is_spawn FROM receipts
                                WHERE session_id = :session AND (:group IS NULL OR group_id = :group)
                                  AND kind = 'assemble' AND created_at < :before
                                ORDER BY id DESC LIMIT :most)
                UNION ALL
                SELECT * FROM (SELECT agent, iteration, created_at, 0 FROM reasoning
                                WHERE session_id = :session AND (:group IS NULL OR group_id = :group)
                                  AND created_at < :before AND {IS_ACCEPTED.format("id")}
                                ORDER BY created_at DESC LIMIT :most))
         ORDER BY created_at DESC, is_spawn
    """
    values = {"session": session.id, "group": group_id, "before": before_us, "most": _MAX_TRACES}
    found: tuple[str, int] | None = None
    since = 0
    for author, its_try, created_at, is_spawn in primary.execute(query, values):
        if found is None and (author, its_try) == (agent, iteration):
            continue  # this try itself, whose block is made again
        if found is not None and found != (author, its_try):
            break
        found = (author, its_try)
        since = created_at if is_spawn else created_at - RECENT_US
    return None if found is None else PreviousAgent(found[0], since)

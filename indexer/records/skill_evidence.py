"""Evidence that skills were invoked: an output in the store is it, and nothing else is tracked.

    check_evidence(primary, session, "developer", ("lint-check",), since_us=now_us() - 30 * 60 * SECOND_US)

An agent may have had a good reason to leave a skill out, and a refusal would block a team for ever: what is
missing is reported, never enforced.
"""

import apsw

from ctxrank.indexer.agents import fold_agent
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.sessions import Session, is_session_wide
from ctxrank.indexer.store.connection import read_column


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
    iteration: int | None = None,
) -> SkillEvidence:
    """Which of these skills have an output in this session.

    `since_us` is the moment from which on an output counts (None: ever); `iteration` the number it must have;
    no `agent` is any agent, a session-wide `group` all groups, any other group exactly that one.
    """
    wanted = tuple(dict.fromkeys(skill.strip() for skill in skills))
    conditions, values = ["o.session_id = ?"], list[str | int | None]([session.id])
    if agent is not None and agent.strip():
        conditions.append("o.agent = ?")
        values.append(fold_agent(agent))
    if not is_session_wide(group):
        conditions.append("o.group_id = (SELECT id FROM groups WHERE session_id = o.session_id AND name = ?)")
        values.append(group)
    if since_us is not None:
        conditions.append("o.created_at >= ?")
        values.append(since_us)
    if iteration is not None:
        conditions.append("o.iteration = ?")
        values.append(iteration)
    query = f"SELECT DISTINCT o.skill FROM skill_outputs AS o WHERE {' AND '.join(conditions)}"
    reported = set(read_column(primary, query, values, str))
    return SkillEvidence(
        tuple(skill for skill in wanted if skill in reported),
        tuple(skill for skill in wanted if skill not in reported),
    )

"""Memory: what the block holds in addition to packages: prior reasoning, known errors, strategies."""

import apsw

from ctxrank.indexer.agents import NO_TEAM, Team
from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.records.sessions import Group, Session
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.text.lines import shorten
from ctxrank.ranking.context.assembly.request import IncludedError, IncludedReasoning, IncludedStrategy
from ctxrank.ranking.retrieval.cleaning import cleaned

if TYPE_CHECKING:  # most assemblies have no failure to answer
    from ctxrank.ranking.errors.answer import ErrorAnswer

_ALWAYS_WITH_REASONING = ("qa_expert", "tech_lead", "senior_software_engineer", "investigator")
# Whose reasoning helps whom: the hand-offs of the workflow developer → QA → tech lead, and its escalations.
_RELEVANT_AGENTS = {
    "qa_expert": ("developer", "senior_software_engineer"),
    "tech_lead": ("developer", "senior_software_engineer", "qa_expert"),
    "senior_software_engineer": ("developer",),
    "investigator": ("developer", "senior_software_engineer", "qa_expert"),
    "developer": ("developer", "qa_expert", "tech_lead"),
}
# Who weighs results and not ways to them sees what every agent has completed.
_COMPLETIONS_ONLY = ("project_manager",)
_PHASE_ORDER = "CASE phase WHEN 'completion' THEN 0 WHEN 'decisions' THEN 1 WHEN 'understanding' THEN 2 ELSE 3 END"
MAX_ENTRIES_PER_AGENT = 2
MAX_ENTRIES = 5
MAX_PATTERNS = 3
MAX_STRATEGIES = 3
# An entry is shown up to here; at the level `full` first all are, and then as many as fit are shown longer.
MAX_REASONING_CHARS = 300
MAX_LONG_REASONING_CHARS = 900
MAX_INSIGHT_CHARS = 500
# Every record has a document, which knows the redaction rules it was stored under.
_DOCUMENT = "JOIN documents AS d ON d.kind = '{kind}' AND d.record_id = {table}.id"


def wants_reasoning(agent: str, iteration: int, override: bool | None) -> bool:
    """Whether an agent's block carries prior reasoning: as requested, else by agent and iteration."""
    if override is not None:
        return override
    return agent in _ALWAYS_WITH_REASONING or (agent == "developer" and iteration > 0)


def relevant_agents(agent: str, team: Team = NO_TEAM) -> tuple[str, ...] | None:
    """The agents whose reasoning an agent is given, and the roles that are like them; None is all."""
    relevant = _RELEVANT_AGENTS.get(team.like(agent))
    return None if relevant is None else team.with_roles(relevant)


def prior_reasoning(
    primary: apsw.Connection,
    session: Session,
    group: Group | None,
    agent: str,
    mode: RedactionMode,
    *,
    is_long: bool,
    team: Team = NO_TEAM,
) -> list[tuple[IncludedReasoning, ...]]:
    """At most two of each relevant agent and five in all: the most actionable phase first, of one phase the newest.

    Each entry is given as it is shown, and where it `is_long` and more can be shown, as it is shown longer.

    Of a retry chain (one agent's tries at one phase of one group) the latest try alone counts: what an earlier one
    thought has been thought again since. What only the earlier one wrote down stays, and says which try it is of.
    """
    condition = "session_id = ?"
    values: list[str | int] = [session.id]
    if group is not None:
        condition += " AND (group_id = ? OR group_id IS NULL)"
        values.append(group.id)
    relevant = relevant_agents(agent, team)
    if relevant is not None:
        condition += f" AND agent IN ({', '.join('?' * len(relevant))})"
        values += relevant
    if team.like(agent) in _COMPLETIONS_ONLY:
        condition += " AND phase = 'completion'"
    query = f"""
        SELECT id, agent, last_try
          FROM (SELECT id, agent, phase, created_at, iteration,
                       max(iteration) OVER (PARTITION BY group_id, agent, agent_name, phase) AS latest,
                       max(iteration) OVER (PARTITION BY group_id, agent, agent_name) AS last_try
                  FROM reasoning WHERE {condition})
         WHERE iteration = latest
         ORDER BY {_PHASE_ORDER}, created_at DESC, id DESC
    """
    counts: dict[str, int] = {}
    entries: list[tuple[IncludedReasoning, ...]] = []
    for id_, author, last_try in primary.execute(query, values):
        counts[author] = counts.get(author, 0) + 1
        if counts[author] <= MAX_ENTRIES_PER_AGENT:
            entries.append(_entry(primary, id_, last_try, mode, is_long=is_long))
        if len(entries) == MAX_ENTRIES:
            break
    return entries


def _entry(
    primary: apsw.Connection, id_: int, last_try: int, mode: RedactionMode, *, is_long: bool
) -> tuple[IncludedReasoning, ...]:
    """An entry as it is shown; one that a later try has not taken up again says which try it is of."""
    row = primary.execute(
        f"""
        SELECT r.agent, r.phase, r.content, r.confidence, r.iteration, d.ruleset
          FROM reasoning AS r {_DOCUMENT.format(kind="reasoning", table="r")} WHERE r.id = ?
        """,
        (id_,),
    ).fetchone()
    assert row is not None, "an entry and its document are written together"
    agent, phase, content, confidence, iteration, ruleset = row
    content = cleaned(content, ruleset, mode)
    of_try = f"(of try {iteration}, before try {last_try}) " if iteration < last_try else ""
    limits = [MAX_REASONING_CHARS]
    if is_long and len(content) > MAX_REASONING_CHARS:
        limits.append(MAX_LONG_REASONING_CHARS)
    return tuple(IncludedReasoning(id_, agent, phase, of_try + shorten(content, limit), confidence) for limit in limits)


def errors_of_failure(
    primary: apsw.Connection, failure: str, project: str, lang: str | None, now: int, mode: RedactionMode
) -> "tuple[list[IncludedError], ErrorAnswer]":
    """The known errors that a failure is, and the whole answer. A refuted solution is none to pass on."""
    from ctxrank.ranking.errors.answer import Asked, recognise  # noqa: PLC0415  the matcher's patterns load slowly

    answer = recognise(primary, failure, Asked(project, now, lang, MAX_PATTERNS, mode))
    errors = [
        IncludedError(
            id=fix.match.pattern_id,
            signature=_signature(fix.error_type, fix.message),
            solution=fix.solution,
            confidence=fix.match.confidence,
            occurrences=fix.occurrences,
            grade=fix.match.grade,
            state=fix.match.state,
            why=" ".join(fix.match.why),
        )
        for fix in answer.fixes
        if fix.match.state != "refuted"
    ]
    return errors, answer


def confirmed_errors(primary: apsw.Connection, ids: list[int], mode: RedactionMode) -> list[IncludedError]:
    """The known errors that a task's words have found (ranking/errors/relevance.py), in that order."""
    query = f"""
        SELECT e.error_type, e.message, e.solution, e.confidence, e.occurrences, e.state, d.ruleset
          FROM error_patterns AS e {_DOCUMENT.format(kind="error", table="e")}
         WHERE e.id = ?
    """
    errors: list[IncludedError] = []
    for id_ in ids:
        row = primary.execute(query, (id_,)).fetchone()
        if row is not None:
            type_, message, solution, confidence, occurrences, state, ruleset = row
            signature = _signature(type_, cleaned(message, ruleset, mode))
            errors.append(
                IncludedError(
                    id=id_,
                    signature=signature,
                    solution=cleaned(solution, ruleset, mode),
                    confidence=confidence,
                    occurrences=occurrences,
                    state=state,
                    why="Words of the task.",
                )
            )
    return errors


def _signature(error_type: str, message: str) -> str:
    return message if message.startswith(error_type) else f"{error_type}: {message}"


def strategies(
    primary: apsw.Connection, project: str, lang: str | None, framework: str | None, mode: RedactionMode
) -> list[IncludedStrategy]:
    """The project's most helpful strategies that fit the language and framework; those that name none fit all."""
    query = f"""
        SELECT s.id, s.topic, s.insight, d.ruleset
          FROM strategies AS s {_DOCUMENT.format(kind="strategy", table="s")}
         WHERE s.project = ? AND (s.lang IS NULL OR s.lang = ?) AND (s.framework IS NULL OR s.framework = ?)
         ORDER BY s.helpfulness DESC, s.last_seen DESC, s.id DESC
         LIMIT ?
    """
    return [
        IncludedStrategy(id_, topic, shorten(cleaned(insight, ruleset, mode), MAX_INSIGHT_CHARS))
        for id_, topic, insight, ruleset in primary.execute(query, (project, lang, framework, MAX_STRATEGIES))
    ]

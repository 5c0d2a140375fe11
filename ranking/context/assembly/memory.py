"""Memory: what the block holds in addition to packages: prior reasoning, known errors, strategies."""

import apsw

from ctxrank.indexer.agents import NO_TEAM, Team
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.records.sessions import DEFAULT_PROJECT, Group, Session
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
# What was decided and how it ended goes before the way there, and both before what else was thought.
_PHASE_ORDER = (
    "CASE phase WHEN 'completion' THEN 0 WHEN 'decisions' THEN 1 WHEN 'approach' THEN 2 WHEN 'understanding' THEN 3"
    " ELSE 4 END"
)
# Escalation: who takes over where others failed, and any retry, is given what stopped the failed tries, whole.
_ESCALATED_TO = ("senior_software_engineer", "investigator")
_CRITICAL_PHASES = ("blockers", "risks", "pivot")


class ReasoningLevel(NamedTuple):
    """What a level of detail holds; its tokens are in limits.py.

    `chars` are the lengths an entry is shown up to: first all are shown at the first, then as many as fit longer. Of an
    agent that has documented none of the phases, the most actionable of `stand_ins` is shown.
    """

    phases: tuple[str, ...]
    chars: tuple[int, ...]
    most_of_phase: int  # entries of one agent
    most: int  # entries in all: what a long session costs, not what fits
    stand_ins: tuple[str, ...] = ()


# The last is longer than any level's tokens hold, so that what fits is shown whole.
REASONING_CHARS = (300, 900, 2700, 8100)
# A team's phases by level: key decisions; with the approach, and what it was understood from; the complete chain.
REASONING_LEVELS = {
    "minimal": ReasoningLevel(
        ("decisions",), REASONING_CHARS[:1], most_of_phase=2, most=5, stand_ins=("completion",)
    ),
    "medium": ReasoningLevel(
        ("completion", "decisions", "approach", "understanding"), REASONING_CHARS[:1], most_of_phase=2, most=10,
        stand_ins=_CRITICAL_PHASES,
    ),
    "full": ReasoningLevel(
        ("completion", "decisions", "approach", "understanding", *_CRITICAL_PHASES), REASONING_CHARS,
        most_of_phase=10, most=40,
    ),
}  # fmt: skip
MAX_PATTERNS = 3
MAX_STRATEGIES = 3
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


def is_escalation(agent: str, iteration: int) -> bool:
    """Whether an agent follows failed tries: it is the one that others escalate to, or tries again."""
    return agent not in _COMPLETIONS_ONLY and (iteration > 0 or agent in _ESCALATED_TO)


class PriorReasoning(NamedTuple):
    """An entry as it can be shown, the shortest form first; what `is_critical` is shown whole before all others."""

    forms: tuple[IncludedReasoning, ...]
    is_critical: bool = False


def prior_reasoning(
    primary: apsw.Connection, session: Session, group: Group | None, wanted: "WantedReasoning", mode: RedactionMode
) -> list[PriorReasoning]:
    """The relevant agents' entries of a level: the most actionable phase first, of one phase the newest.

    Of a retry chain (one agent's tries at one phase of one group) the latest try alone counts, but at the level `full`:
    what an earlier one thought has been thought again since. What only the earlier one wrote down stays, and says which
    try it is of.

    An escalation begins with the newest blockers, risks and pivot of each of them, and of the agent's own tries.
    """
    level = REASONING_LEVELS[wanted.level]
    is_escalated = is_escalation(wanted.team.like(wanted.agent), wanted.iteration)
    rows = _candidates(primary, session, group, wanted, level)
    critical: dict[tuple[str, str], _Candidate] = {}
    if is_escalated:
        for row in sorted(rows, key=lambda row: (-row.created_at, -row.id)):
            if row.phase in _CRITICAL_PHASES:
                critical.setdefault((row.agent, row.phase), row)
    first = sorted(critical.values(), key=lambda row: (_CRITICAL_PHASES.index(row.phase), -row.created_at, -row.id))
    entries = [PriorReasoning(_forms(primary, row, REASONING_CHARS, mode), is_critical=True) for row in first]
    shown = [row for row in rows if row not in first and _is_of_level(row, wanted, level)]
    represented = {row.agent for row in shown if row.phase in level.phases}
    counts: dict[tuple[str, str], int] = {}
    for row in shown:
        if row.phase not in level.phases:
            if row.agent in represented:
                continue
            represented.add(row.agent)
        key = (row.agent, row.phase)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= level.most_of_phase and len(entries) - len(first) < level.most:
            entries.append(PriorReasoning(_forms(primary, row, level.chars, mode)))
    return entries


def _is_of_level(row: "_Candidate", wanted: "WantedReasoning", level: ReasoningLevel) -> bool:
    """Whether an entry is of a relevant agent, of a phase that the level can show, and of a try that counts."""
    relevant = relevant_agents(wanted.agent, wanted.team)
    if relevant is not None and row.agent not in relevant:
        return False
    if wanted.team.like(wanted.agent) in _COMPLETIONS_ONLY:
        return row.phase == "completion" and bool(row.is_latest)
    return row.phase in (*level.phases, *level.stand_ins) and (bool(row.is_latest) or wanted.level == "full")


class WantedReasoning(NamedTuple):
    """Whose prior reasoning is wanted, for which try, and how much of it."""

    agent: str
    iteration: int
    level: str
    team: Team = NO_TEAM


class _Candidate(NamedTuple):
    id: int
    agent: str
    phase: str
    created_at: int
    is_latest: int  # of this agent's tries at this phase: 0 or 1
    last_try: int  # of this agent, at any phase


def _candidates(
    primary: apsw.Connection, session: Session, group: Group | None, wanted: WantedReasoning, level: ReasoningLevel
) -> list[_Candidate]:
    """The entries that a level could hold, the most actionable first; of each agent and phase the newest."""
    condition = "session_id = ?"
    values: list[str | int] = [session.id]
    if group is not None:
        condition += " AND (group_id = ? OR group_id IS NULL)"
        values.append(group.id)
    relevant = relevant_agents(wanted.agent, wanted.team)
    if relevant is not None:
        agents = (*relevant, wanted.agent) if wanted.iteration > 0 else relevant
        condition += f" AND agent IN ({', '.join('?' * len(agents))})"
        values += agents
    query = f"""
        SELECT id, agent, phase, created_at, iteration = latest, last_try
          FROM (SELECT *, row_number() OVER (PARTITION BY agent, phase, iteration = latest
                                             ORDER BY created_at DESC, id DESC) AS place
                  FROM (SELECT id, agent, phase, created_at, iteration,
                               max(iteration) OVER (PARTITION BY group_id, agent, agent_name, phase) AS latest,
                               max(iteration) OVER (PARTITION BY group_id, agent, agent_name) AS last_try
                          FROM reasoning WHERE {condition}))
         WHERE place <= ?
         ORDER BY iteration < latest, {_PHASE_ORDER}, created_at DESC, id DESC
    """
    return [_Candidate(*row) for row in primary.execute(query, (*values, level.most_of_phase))]


def _forms(
    primary: apsw.Connection, candidate: _Candidate, limits: tuple[int, ...], mode: RedactionMode
) -> tuple[IncludedReasoning, ...]:
    """An entry at the lengths that differ; one that a later try has not taken up again says which try it is of."""
    row = primary.execute(
        f"""
        SELECT r.content, r.confidence, r.iteration, d.ruleset
          FROM reasoning AS r {_DOCUMENT.format(kind="reasoning", table="r")} WHERE r.id = ?
        """,
        (candidate.id,),
    ).fetchone()
    assert row is not None, "an entry and its document are written together"
    content, confidence, iteration, ruleset = row
    content = cleaned(content, ruleset, mode)
    last_try = candidate.last_try
    of_try = f"(of try {iteration}, before try {last_try}) " if iteration < last_try else ""
    forms: list[IncludedReasoning] = []
    for limit in limits:
        shown = of_try + shorten(content, limit)
        forms.append(IncludedReasoning(candidate.id, candidate.agent, candidate.phase, shown, confidence))
        if len(content) <= limit:
            break
    return tuple(forms)


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
            confidence=round(fix.match.confidence, 4),
            occurrences=fix.occurrences,
            grade=fix.match.grade,
            recognition=round(fix.match.recognition, 4),
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
        SELECT e.error_type, e.message, e.solution, e.confirmations, e.refutations, e.occurrences,
               e.state, d.ruleset
          FROM error_patterns AS e {_DOCUMENT.format(kind="error", table="e")}
         WHERE e.id = ?
    """
    from ctxrank.ranking.errors.confidence import confidence_in  # noqa: PLC0415  most spawns meet no error

    errors: list[IncludedError] = []
    for id_ in ids:
        row = primary.execute(query, (id_,)).fetchone()
        if row is not None:
            type_, message, solution, confirmations, refutations, occurrences, state, ruleset = row
            signature = _signature(type_, cleaned(message, ruleset, mode))
            errors.append(
                IncludedError(
                    id=id_,
                    signature=signature,
                    solution=cleaned(solution, ruleset, mode),
                    confidence=round(confidence_in(confirmations, refutations), 4),
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
    """The most helpful strategies of the project, and of none, that fit; no language or framework fits all."""
    query = f"""
        SELECT s.id, s.topic, s.insight, d.ruleset
          FROM strategies AS s {_DOCUMENT.format(kind="strategy", table="s")}
         WHERE s.project IN (:project, :any) AND (:lang IS NULL OR s.lang IS NULL OR lower(s.lang) = lower(:lang))
           AND (:framework IS NULL OR s.framework IS NULL OR lower(s.framework) = lower(:framework))
         ORDER BY s.helpfulness DESC, s.last_seen DESC, s.id DESC
         LIMIT :most
    """
    values = {
        "project": project, "any": DEFAULT_PROJECT, "lang": lang, "framework": framework, "most": MAX_STRATEGIES,
    }  # fmt: skip
    return [
        IncludedStrategy(id_, topic, shorten(cleaned(insight, ruleset, mode), MAX_INSIGHT_CHARS))
        for id_, topic, insight, ruleset in primary.execute(query, values)
    ]

"""Memory: what the block holds in addition to packages: prior reasoning, known errors, strategies."""

from itertools import accumulate

from ctxrank.indexer.agents import UNCONFIRMED, Team
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.sessions import DEFAULT_PROJECT
from ctxrank.indexer.store.freshness import GONE, gone_of
from ctxrank.indexer.store.ids import IS_ACCEPTED, public_id
from ctxrank.indexer.text.lines import error_title, shorten
from ctxrank.ranking.context.assembly import block
from ctxrank.ranking.context.assembly.shapes import (
    BlockCandidate,
    CurrentFailure,
    IncludedError,
    IncludedReasoning,
    IncludedStrategy,
    Spawn,
)
from ctxrank.ranking.context.budget import Item
from ctxrank.ranking.retrieval.cleaning import cleaned

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
    "CASE r.phase WHEN 'completion' THEN 0 WHEN 'decisions' THEN 1 WHEN 'approach' THEN 2 WHEN 'understanding' THEN 3"
    " ELSE 4 END"
)
# Escalation: who takes over where others failed, and any retry, is given what stopped the failed tries, whole.
_ESCALATED_TO = ("senior_software_engineer", "investigator")
# Who reviews is given every phase of those before.
_OF_ALL_PHASES = ("tech_lead",)
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


def relevant_agents(agent: str, team: Team) -> tuple[str, ...] | None:
    """The agents whose reasoning an agent is given, and the roles that are like them; None is all."""
    relevant = _RELEVANT_AGENTS.get(team.like(agent))
    return None if relevant is None else team.with_roles(relevant)


def prior_reasoning(spawn: Spawn) -> list[BlockCandidate]:
    """The relevant agents' entries of a level: the most actionable phase first, of one phase the newest.

    Of a retry chain (one agent's tries at one phase of one group) the latest try alone counts, but at the level `full`:
    what an earlier one thought has been thought again since. What only the earlier one wrote down stays, and says which
    try it is of.

    What nobody saved on purpose says so.

    An escalation begins with the newest blockers, risks and pivot of each of them, and of the agent's own tries.
    """
    request, team = spawn.request, spawn.config.team
    like, relevant = team.like(spawn.agent), relevant_agents(spawn.agent, team)
    if not wants_reasoning(like, request.iteration, request.include_reasoning):
        return []
    level = REASONING_LEVELS[request.reasoning_level]
    if like in _OF_ALL_PHASES and request.reasoning_level == "medium":
        level = level._replace(phases=(*level.phases, *level.stand_ins), stand_ins=())
    rows = _entries(spawn, level, relevant)
    critical: dict[tuple[str, str], _Entry] = {}
    # An agent follows failed tries: it is the one that others escalate to, or tries again.
    iteration = request.iteration
    if like not in _COMPLETIONS_ONLY and (iteration > 0 or like in _ESCALATED_TO):
        for row in sorted(rows, key=lambda row: (-row.created_at, -row.id)):
            if row.phase in _CRITICAL_PHASES:
                critical.setdefault((row.agent, row.phase), row)
    first = sorted(critical.values(), key=lambda row: (_CRITICAL_PHASES.index(row.phase), -row.created_at, -row.id))
    candidates = [_reasoning(spawn, row, REASONING_CHARS, is_first=True) for row in first]

    def is_of_level(row: _Entry) -> bool:
        """Whether an entry is of a relevant agent, of a phase that the level can show, and of a try that counts."""
        if like in _COMPLETIONS_ONLY:
            return row.phase == "completion" and bool(row.is_latest)
        is_shown = row.phase in (*level.phases, *level.stand_ins) and (relevant is None or row.agent in relevant)
        return is_shown and (bool(row.is_latest) or request.reasoning_level == "full")

    shown = [row for row in rows if row not in first and is_of_level(row)]
    represented = {row.agent for row in shown if row.phase in level.phases}
    counts: dict[tuple[str, str], int] = {}
    for row in shown:
        if row.phase not in level.phases:
            if row.agent in represented:
                continue
            represented.add(row.agent)
        key = (row.agent, row.phase)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= level.most_of_phase and len(candidates) - len(first) < level.most:
            candidates.append(_reasoning(spawn, row, level.chars))
    return candidates


class _Entry(NamedTuple):
    id: int
    agent: str
    phase: str
    created_at: int
    is_latest: int  # of this agent's tries at this phase: 0 or 1
    last_try: int  # of this agent, at any phase
    iteration: int
    content: str
    confidence: str | None
    ruleset: int
    is_unconfirmed: int


def _entries(spawn: Spawn, level: ReasoningLevel, relevant: tuple[str, ...] | None) -> list[_Entry]:
    """The entries that a level could hold, the most actionable first; of each agent and phase the newest."""
    condition = f"session_id = ? AND {IS_ACCEPTED.format('id')}"
    values: list[str | int] = [spawn.session.id]
    if spawn.group is not None:
        condition += " AND (group_id = ? OR group_id IS NULL)"
        values.append(spawn.group.id)
    if relevant is not None:
        agents = (*relevant, spawn.agent) if spawn.request.iteration > 0 else relevant
        condition += f" AND agent IN ({', '.join('?' * len(agents))})"
        values += agents
    query = f"""
        SELECT r.id, r.agent, r.phase, r.created_at, r.iteration = latest, last_try, r.iteration, r.content,
               r.confidence, d.ruleset, substr(r.agent_name, 1, {len(UNCONFIRMED)}) = '{UNCONFIRMED}'
          FROM (SELECT id, latest, last_try, row_number() OVER (PARTITION BY agent, phase, iteration = latest
                                                                ORDER BY created_at DESC, id DESC) AS place
                  FROM (SELECT id, agent, phase, created_at, iteration,
                               max(iteration) OVER (PARTITION BY group_id, agent, agent_name, phase) AS latest,
                               max(iteration) OVER (PARTITION BY group_id, agent, agent_name) AS last_try
                          FROM reasoning WHERE {condition})) AS ranked
          JOIN reasoning AS r ON r.id = ranked.id {_DOCUMENT.format(kind="reasoning", table="r")}
         WHERE place <= ?
         ORDER BY r.iteration < latest, {_PHASE_ORDER}, r.created_at DESC, r.id DESC
    """
    return list(map(_Entry._make, spawn.store.primary.execute(query, (*values, level.most_of_phase))))


def _reasoning(spawn: Spawn, entry: _Entry, limits: tuple[int, ...], *, is_first: bool = False) -> BlockCandidate:
    """An entry at the lengths that differ; it says of which earlier try it is, and that nobody saved it on purpose."""
    content = cleaned(entry.content, entry.ruleset, spawn.config.redaction_mode)
    head = f"(of try {entry.iteration}, before try {entry.last_try}) " if entry.iteration < entry.last_try else ""
    head += f"({UNCONFIRMED}) " if entry.is_unconfirmed else ""
    # Up to the first that holds all of it.
    count = next((at for at, limit in enumerate(limits, start=1) if len(content) <= limit), len(limits))
    forms = tuple(
        IncludedReasoning(entry.id, entry.agent, entry.phase, head + shorten(content, limit), entry.confidence)
        for limit in limits[:count]
    )
    # A longer form never costs less than the shorter one.
    texts = tuple(map(block.reasoning_entry, forms))
    prices = tuple(accumulate(map(spawn.prices.of, texts), max))
    levels = tuple(f"{limit} characters" for limit in limits[:count])
    item = Item(public_id("reasoning", entry.id), levels, prices, kind="reasoning", is_first=is_first)
    return BlockCandidate(item, forms, texts, entry.phase, f"{entry.phase} by {entry.agent}")


def known_errors(spawn: Spawn, task: str) -> tuple[list[BlockCandidate], CurrentFailure | None]:
    """What is known of the current failure; where nothing fails, what is confirmed, first what the task is about."""
    store, request, mode = spawn.store, spawn.request, spawn.config.redaction_mode
    text, source = _current_failure(spawn)
    if text:
        from ctxrank.ranking.errors.answer import Asked, recognise  # noqa: PLC0415  the matcher's patterns load slowly

        answer = recognise(store.primary, text, Asked(spawn.project, spawn.now, request.lang, MAX_PATTERNS, mode))
        errors = [
            IncludedError(
                fix.match.pattern_id,
                error_title(fix.error_type, fix.message),
                fix.solution,
                round(fix.match.confidence, 4),
                fix.occurrences,
                grade=fix.match.grade,
                recognition=round(fix.match.recognition, 4),
                state=fix.match.state,
                why=" ".join(fix.match.why),
                word=fix.match.word,
                gone="".join(why for why in fix.match.why if why.startswith(GONE)),
            )
            for fix in answer.fixes
            if fix.match.state != "refuted" and fix.match.is_vouched
        ]
        failure = CurrentFailure(source, answer.outcome, answer.reason, answer.unit)
        return [_entry(spawn, "errors", error, f"confidence {error.confidence:.2g}") for error in errors], failure
    if store.primary.execute("SELECT 1 FROM error_patterns WHERE state = 'confirmed' LIMIT 1").fetchone() is None:
        return [], None
    from ctxrank.ranking.errors.confidence import confidence_in  # noqa: PLC0415  most spawns meet no error
    from ctxrank.ranking.errors.relevance import OF_THE_PROJECT, relevant_errors  # noqa: PLC0415  the same

    query = f"""
        SELECT e.error_type, e.message, e.solution, e.confirmations, e.refutations, e.occurrences, e.state, d.ruleset
          FROM error_patterns AS e {_DOCUMENT.format(kind="error", table="e")}
         WHERE e.id = ?
    """
    asked_for = task if spawn.config.has_index else ""
    found = relevant_errors(
        store, asked_for, project=spawn.project, lang=request.lang, now=spawn.now, limit=MAX_PATTERNS
    )
    confirmed: list[BlockCandidate] = []
    for id_, why in found:
        row = store.primary.execute(query, (id_,)).fetchone()
        assert row is not None, "an error and its document are written together"
        type_, message, solution, confirmations, refutations, occurrences, state, ruleset = row
        signature, solution = error_title(type_, cleaned(message, ruleset, mode)), cleaned(solution, ruleset, mode)
        confidence = round(confidence_in(confirmations, refutations), 4)
        gone = cleaned(gone_of(store.primary, "error", id_), ruleset, mode)
        error = IncludedError(id_, signature, solution, confidence, occurrences, state=state, why=why, gone=gone)
        candidate = _entry(spawn, "errors", error, f"confidence {confidence:.2g}")
        # What no word of a task asks for takes what all else leaves.
        is_last = why == OF_THE_PROJECT and bool(task.strip())
        confirmed.append(candidate._replace(item=candidate.item._replace(is_last=is_last)))
    return confirmed, None


def _entry(spawn: Spawn, name: str, shown: IncludedError | IncludedStrategy, reason: str) -> BlockCandidate:
    """What is shown whole or not at all."""
    class_ = block.BLOCK_CLASSES[name]
    text = class_.text(shown)
    item = Item(public_id(class_.kind, shown.id), ("entry",), (spawn.prices.of(text),), kind=name)
    return BlockCandidate(item, (shown,), (text,), "entry", reason)


def _current_failure(spawn: Spawn) -> tuple[str, str]:
    """The text of the current failure, redacted, and where it comes from; '' for none."""
    if spawn.request.error_output is not None:
        from ctxrank.indexer.errors.failure_text import read_failure_text  # noqa: PLC0415  only where something failed

        return read_failure_text(spawn.request.error_output, spawn.config.redaction_mode).text, "given"
    query = "SELECT 1 FROM error_sightings WHERE session_id = ? LIMIT 1"
    if spawn.store.primary.execute(query, (spawn.session.id,)).fetchone() is None:
        return "", ""
    from ctxrank.indexer.errors.failures import last_failure  # noqa: PLC0415  only where something failed

    group_id = None if spawn.group is None else spawn.group.id
    return last_failure(spawn.store.primary, spawn.session.id, group_id, now=spawn.now), "last"


def strategies(spawn: Spawn) -> list[BlockCandidate]:
    """The most helpful strategies of the project, and of none, that fit; no language or framework fits all."""
    query = f"""
        SELECT s.id, s.topic, s.insight, d.ruleset
          FROM strategies AS s {_DOCUMENT.format(kind="strategy", table="s")}
         WHERE s.project IN (:project, :any) AND (:lang IS NULL OR s.lang IS NULL OR lower(s.lang) = lower(:lang))
           AND (:framework IS NULL OR s.framework IS NULL OR lower(s.framework) = lower(:framework))
           AND {IS_ACCEPTED.format("s.id")}
         ORDER BY s.helpfulness DESC, s.last_seen DESC, s.id DESC
         LIMIT :most
    """
    values = {
        "project": spawn.project,
        "any": DEFAULT_PROJECT,
        "lang": spawn.request.lang,
        "framework": spawn.request.framework,
        "most": MAX_STRATEGIES,
    }
    mode = spawn.config.redaction_mode
    candidates: list[BlockCandidate] = []
    for id_, topic, insight, ruleset in spawn.store.primary.execute(query, values):
        shown = IncludedStrategy(id_, topic, shorten(cleaned(insight, ruleset, mode), MAX_INSIGHT_CHARS))
        candidates.append(_entry(spawn, "strategies", shown, topic))
    return candidates

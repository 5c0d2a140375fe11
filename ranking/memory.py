"""What the block holds beside packages: prior reasoning, known errors, strategies."""

import apsw

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.records import NamedTuple
from ctxrank.indexer.sessions import Group, Session

_ALWAYS_WITH_REASONING = ("qa_expert", "tech_lead", "senior_software_engineer", "investigator")
# Whose reasoning helps whom: the hand-offs of the workflow developer → QA → tech lead, and its escalations.
_RELEVANT_AGENTS = {
    "qa_expert": ("developer", "senior_software_engineer"),
    "tech_lead": ("developer", "senior_software_engineer", "qa_expert"),
    "senior_software_engineer": ("developer",),
    "investigator": ("developer", "senior_software_engineer", "qa_expert"),
    "developer": ("developer", "qa_expert", "tech_lead"),
}
_PHASE_ORDER = {"completion": 0, "decisions": 1, "understanding": 2}
MAX_ENTRIES_PER_AGENT = 2
MAX_ENTRIES = 5
MAX_PATTERNS = 3
MAX_STRATEGIES = 3
MIN_CONFIDENCE = 0.7  # a pattern is shown above this, not at it


class ReasoningEntry(NamedTuple):
    """One entry that may be shown."""

    id: int
    agent: str
    phase: str
    content: str
    confidence: str | None
    created_at: int


class Pattern(NamedTuple):
    """One known error that may be shown."""

    id: int
    error_type: str
    message: str
    solution: str
    confidence: float
    occurrences: int


class Strategy(NamedTuple):
    """One strategy that may be shown."""

    id: int
    topic: str
    insight: str


def wants_reasoning(agent: str, iteration: int, override: bool | None) -> bool:
    """Whether an agent's block carries prior reasoning: as asked, else by who it is and which try it is."""
    if override is not None:
        return override
    return agent in _ALWAYS_WITH_REASONING or (agent == "developer" and iteration > 0)


def prior_reasoning(truth: apsw.Connection, session: Session, group: Group | None, agent: str) -> list[ReasoningEntry]:
    """At most two of each relevant agent and five in all: the newest, the most actionable phase first."""
    query = "SELECT id, agent, phase, content, confidence, created_at FROM reasoning WHERE session_id = ?"
    values: list[object] = [session.id]
    if group is not None:
        query += " AND (group_id = ? OR group_id IS NULL)"
        values.append(group.id)
    relevant = _RELEVANT_AGENTS.get(agent)
    if relevant is not None:
        query += f" AND agent IN ({', '.join('?' * len(relevant))})"
        values += relevant
    by_agent: dict[str, list[ReasoningEntry]] = {}
    for row in truth.execute(f"{query} ORDER BY created_at DESC, id DESC", values):
        entries = by_agent.setdefault(str(row[1]), [])
        if len(entries) < MAX_ENTRIES_PER_AGENT:
            entries.append(ReasoningEntry(*row))
    chosen = [entry for entries in by_agent.values() for entry in entries]
    chosen.sort(key=lambda entry: (_PHASE_ORDER.get(entry.phase, len(_PHASE_ORDER)), -entry.created_at, -entry.id))
    return chosen[:MAX_ENTRIES]


def known_errors(truth: apsw.Connection, project: str, lang: str | None, now: int) -> list[Pattern]:
    """The project's most trusted patterns that have not expired; a language excludes other languages."""
    query = """
        SELECT id, error_type, message, solution, confidence, occurrences FROM error_patterns
         WHERE project = ? AND confidence > ? AND last_seen + ttl_days * ? >= ? AND (lang IS NULL OR ? IS NULL OR lang = ?)
         ORDER BY confidence DESC, occurrences DESC, last_seen DESC, id DESC LIMIT ?
    """
    values = (project, MIN_CONFIDENCE, DAY_US, now, lang, lang, MAX_PATTERNS)
    return [Pattern(*row) for row in truth.execute(query, values)]


def strategies(truth: apsw.Connection, project: str, lang: str | None, framework: str | None) -> list[Strategy]:
    """The project's most helpful strategies that fit the language and framework; those that name none fit all."""
    query = """
        SELECT id, topic, insight FROM strategies
         WHERE project = ? AND (lang IS NULL OR lang = ?) AND (framework IS NULL OR framework = ?)
         ORDER BY helpfulness DESC, last_seen DESC, id DESC LIMIT ?
    """
    return [Strategy(*row) for row in truth.execute(query, (project, lang, framework, MAX_STRATEGIES))]

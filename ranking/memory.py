"""What the block holds beside packages: prior reasoning, known errors, strategies."""

import apsw

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.records import NamedTuple
from ctxrank.indexer.ruleset import RedactionMode
from ctxrank.indexer.sessions import Group, Session
from ctxrank.ranking.cleaning import cleaned

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
# Every record has a document, which knows the redaction rules it was stored under.
_DOCUMENT = "JOIN documents AS d ON d.kind = '{kind}' AND d.number = {table}.id"
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


def prior_reasoning(
    truth: apsw.Connection, session: Session, group: Group | None, agent: str, mode: RedactionMode
) -> list[ReasoningEntry]:
    """At most two of each relevant agent and five in all: the newest, the most actionable phase first."""
    query = f"""
        SELECT r.id, r.agent, r.phase, r.content, r.confidence, r.created_at, d.ruleset
          FROM reasoning AS r {_DOCUMENT.format(kind="reasoning", table="r")}
         WHERE r.session_id = ?
    """
    values: list[object] = [session.id]
    if group is not None:
        query += " AND (r.group_id = ? OR r.group_id IS NULL)"
        values.append(group.id)
    relevant = _RELEVANT_AGENTS.get(agent)
    if relevant is not None:
        query += f" AND r.agent IN ({', '.join('?' * len(relevant))})"
        values += relevant
    by_agent: dict[str, list[ReasoningEntry]] = {}
    for row in truth.execute(f"{query} ORDER BY r.created_at DESC, r.id DESC", values):
        entries = by_agent.setdefault(str(row[1]), [])
        if len(entries) < MAX_ENTRIES_PER_AGENT:
            entry = ReasoningEntry(*row[:6])
            entries.append(entry._replace(content=cleaned(entry.content, row[6], mode)))
    chosen = [entry for entries in by_agent.values() for entry in entries]
    chosen.sort(key=lambda entry: (_PHASE_ORDER.get(entry.phase, len(_PHASE_ORDER)), -entry.created_at, -entry.id))
    return chosen[:MAX_ENTRIES]


def known_errors(
    truth: apsw.Connection, project: str, lang: str | None, now: int, mode: RedactionMode
) -> list[Pattern]:
    """The project's most trusted patterns that have not expired; a language excludes other languages."""
    query = f"""
        SELECT e.id, e.error_type, e.message, e.solution, e.bazinga_confidence, e.occurrences, d.ruleset
          FROM error_patterns AS e {_DOCUMENT.format(kind="error", table="e")}
         WHERE e.project = ? AND e.bazinga_confidence > ? AND e.last_seen + e.ttl_days * ? >= ?
           AND (e.lang IS NULL OR ? IS NULL OR e.lang = ?)
         ORDER BY e.bazinga_confidence DESC, e.occurrences DESC, e.last_seen DESC, e.id DESC
         LIMIT ?
    """
    values = (project, MIN_CONFIDENCE, DAY_US, now, lang, lang, MAX_PATTERNS)
    patterns: list[Pattern] = []
    for row in truth.execute(query, values):
        pattern = Pattern(*row[:6])
        message, solution = (cleaned(text, row[6], mode) for text in (pattern.message, pattern.solution))
        patterns.append(pattern._replace(message=message, solution=solution))
    return patterns


def strategies(
    truth: apsw.Connection, project: str, lang: str | None, framework: str | None, mode: RedactionMode
) -> list[Strategy]:
    """The project's most helpful strategies that fit the language and framework; those that name none fit all."""
    query = f"""
        SELECT s.id, s.topic, s.insight, d.ruleset
          FROM strategies AS s {_DOCUMENT.format(kind="strategy", table="s")}
         WHERE s.project = ? AND (s.lang IS NULL OR s.lang = ?) AND (s.framework IS NULL OR s.framework = ?)
         ORDER BY s.helpfulness DESC, s.last_seen DESC, s.id DESC
         LIMIT ?
    """
    return [
        Strategy(id_, topic, cleaned(insight, ruleset, mode))
        for id_, topic, insight, ruleset in truth.execute(query, (project, lang, framework, MAX_STRATEGIES))
    ]

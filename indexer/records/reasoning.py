"""Reasoning: what an agent thought, phase by phase, kept for the one that comes after it.

save_reasoning(store, NewReasoning("shop-2026-11", "AUTH", "developer", "completion", "Tokens refresh once."))
check_phases(store.primary, "shop-2026-11", "AUTH", "developer").missing      ("understanding",)
"""

import apsw

from ctxrank.indexer.agents import Team, fold_agent, saved_agent
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import UsageError, require_word
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.sessions import is_session_wide, require_place
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import Page, read_column
from ctxrank.indexer.store.rows import Value, list_where
from ctxrank.indexer.store.store import CATCH_UP_AFTER_WRITE_MS, Store

PHASES = ("understanding", "approach", "decisions", "risks", "blockers", "pivot", "completion")
# Phases that are required: without the first a task was not read, without the second it was not finished.
MANDATORY_PHASES = ("understanding", "completion")
CONFIDENCES = ("high", "medium", "low")
_MAX_ITERATION = 1_000_000  # far above any loop of agents, far below what SQLite can hold


class NewReasoning(NamedTuple):
    """What an entry is saved from; `references` is a JSON list, a `created_at` of None now."""

    session: str
    group: str | None
    agent: str
    phase: str
    content: str
    agent_name: str = ""
    iteration: int = 0
    confidence: str | None = None
    references: str = "[]"
    created_at: int | None = None


class SavedReasoning(NamedTuple):
    """What saving did; `notes` are for a person and say what was redacted."""

    id: int
    session: str
    group: str | None
    agent: str
    phase: str
    created_at: int
    is_redacted: bool
    notes: tuple[str, ...]


class ReasoningEntry(NamedTuple):
    """A stored entry as it is listed; names instead of row ids, `refs` is a JSON list."""

    id: int
    session: str
    group: str | None
    agent: str
    agent_name: str
    iteration: int
    phase: str
    confidence: str | None
    content: str
    refs: str
    redacted: int  # whether something in it was
    created_at: int


class PhaseCheck(NamedTuple):
    """Which mandatory phases an agent has left out and documented, and all it has documented; in their order."""

    missing: tuple[str, ...]
    documented: tuple[str, ...]
    all_documented: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """Whether no mandatory phase is missing."""
        return not self.missing


def save_reasoning(
    store: Store,
    new: NewReasoning,
    *,
    create_session: bool = False,
    notes_agent: bool = True,
) -> SavedReasoning:
    """Save an entry, whole but for its secrets, and make it findable; a new group is made on the way.

    An agent that is not known is kept; where it `notes_agent`, with a note. Raises UsageError (which names what is
    allowed), NotFoundError for an unknown session, LockedError.
    """
    from ctxrank.indexer.catalogue import KINDS  # noqa: PLC0415  start-up: a list of entries loads no catalogue
    from ctxrank.indexer.record_table import insert  # noqa: PLC0415  as above

    config = load_config(store)
    checked = _checked(new, config.team)
    plain, clean = (_stored_texts(checked, rules) for rules in (RedactionMode.OFF, config.redaction_mode))
    notes: list[str] = []  # a sentence for each text that lost something
    if clean.content != plain.content:
        from ctxrank.indexer.redaction.engine import redact  # noqa: PLC0415  start-up: writing only

        notes.append(f"The content was redacted ({', '.join(redact(plain.content, config.redaction_mode).rules)}).")
    if clean.references != plain.references:
        notes.append("The references were redacted.")
    if (clean.agent, clean.agent_name) != (plain.agent, plain.agent_name):
        notes.append("The agent's name was redacted.")
    created_at = now_us() if new.created_at is None else new.created_at
    with store.write() as change:
        session, group_id = require_place(
            change, clean.session, clean.group, create=create_session, created_at=new.created_at
        )
        entry: dict[str, Value] = {**clean._asdict(), "session_id": session.id, "group_id": group_id}
        entry |= {"refs": clean.references, "redacted": int(bool(notes)), "created_at": created_at}
        number = insert(change, KINDS["reasoning"], entry)
    store.catch_up(CATCH_UP_AFTER_WRITE_MS)
    unknown = saved_agent(clean.agent, config.team)[1] if notes_agent else ""
    said = (*notes, unknown) if unknown else tuple(notes)
    return SavedReasoning(number, session.name, clean.group, clean.agent, clean.phase, created_at, bool(notes), said)


def normalise_phase(text: str) -> str:
    """`" Completion "` → `"completion"`. Raises UsageError, which names the phases."""
    return require_word(text.strip().lower(), PHASES, "a phase", "Phases", text.strip())


def _checked(new: NewReasoning, team: Team) -> NewReasoning:
    """The same entry with its values normalised. Raises UsageError for the first bad one."""
    agent = fold_agent(new.agent, team)
    if not agent:
        raise UsageError("Reasoning needs an agent.", "Name the one who thought it, such as developer.")
    phase = normalise_phase(new.phase)
    confidence = None if new.confidence is None else new.confidence.strip().lower()
    if confidence is not None:
        require_word(confidence, CONFIDENCES, "a confidence", "Confidences")
    if not new.content.strip():
        raise UsageError("There is no reasoning to save: the content is empty.", "Say what was thought.")
    if not 0 <= new.iteration <= _MAX_ITERATION:
        raise UsageError(f"{new.iteration} is not an iteration.", f"Give a whole number from 0 to {_MAX_ITERATION}.")
    import json  # noqa: PLC0415  start-up: reading parses no JSON

    try:
        is_list = isinstance(json.loads(new.references), list)
    except (ValueError, RecursionError):
        is_list = False
    if not is_list:
        raise UsageError("The references are not a JSON list.", 'Give one such as ["src/auth.py", "TASK-3"], or [].')
    group = None if is_session_wide(new.group) else new.group
    return new._replace(agent=agent, phase=phase, confidence=confidence, group=group)


def _stored_texts(new: NewReasoning, mode: RedactionMode) -> NewReasoning:
    """The entry with its texts as the store can hold them, redacted under the mode."""
    from ctxrank.indexer.redaction.incoming_texts import IncomingTexts  # noqa: PLC0415  start-up: writing only

    texts = IncomingTexts(mode).of_record((new.content, new.references, new.agent, new.agent_name))
    return new._replace(
        agent=texts.agent(new.agent),
        agent_name=texts.line(new.agent_name),
        content=texts.text(new.content),
        references=texts.json_list(new.references),
    )


def list_reasoning(
    primary: apsw.Connection,
    session: str,
    *,
    group: str | None = None,
    agent: str | None = None,
    phase: str | None = None,
    session_wide_only: bool = False,
    limit: int = -1,
    oldest_first: bool = False,
) -> Page[ReasoningEntry]:
    """Entries of a session, the newest first; a session-wide `group` means all groups.

    Entries with equal times are in the order in which they were saved. A filter that names nothing, and a
    session that is not there, have no entries.
    """
    wanted: dict[str, Value] = {
        "session": session,
        "group": None if is_session_wide(group) else group,
        "agent": None if agent is None else fold_agent(agent),
        "phase": None if phase is None else phase.strip().lower(),
    }
    conditions = ("t.group_id IS NULL",) * session_wide_only
    way = "ASC" if oldest_first else "DESC"
    order = f"t.created_at {way}, t.id {way}"
    return list_where(primary, "reasoning", ReasoningEntry, wanted, *conditions, order=order, limit=limit)


def check_phases(primary: apsw.Connection, session: str, group: str | None, agent: str) -> PhaseCheck:
    """Which phases an agent has documented; in exactly this group, or in any where the group is session-wide."""
    query = """
        SELECT DISTINCT r.phase
          FROM reasoning AS r
          JOIN sessions AS s ON s.id = r.session_id
          LEFT JOIN groups AS g ON g.id = r.group_id
         WHERE s.name = ?1 AND (?2 IS NULL OR g.name = ?2) AND r.agent = ?3
    """
    values = (session, None if is_session_wide(group) else group, fold_agent(agent))
    found = set(read_column(primary, query, values, str))
    return PhaseCheck(
        missing=tuple(phase for phase in MANDATORY_PHASES if phase not in found),
        documented=tuple(phase for phase in MANDATORY_PHASES if phase in found),
        all_documented=tuple(phase for phase in PHASES if phase in found),
    )

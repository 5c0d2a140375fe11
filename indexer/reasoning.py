"""Reasoning: what an agent thought, phase by phase, kept for the one that comes after it."""

from ctxrank.indexer import documents
from ctxrank.indexer.errors import UsageError
from ctxrank.indexer.records import NamedTuple
from ctxrank.indexer.redaction import RULESET_VERSION
from ctxrank.indexer.store import Change

PHASES = ("understanding", "approach", "decisions", "risks", "blockers", "pivot", "completion")
CONFIDENCES = ("high", "medium", "low")


class Reasoning(NamedTuple):
    """One entry, redacted already; `refs` is a JSON list, `group_id` None is session-wide."""

    session_id: int
    group_id: int | None
    agent: str
    phase: str
    content: str
    created_at: int
    agent_name: str = ""
    iteration: int = 0
    confidence: str | None = None
    refs: str = "[]"
    is_redacted: bool = False


def insert(change: Change, entry: Reasoning) -> int:
    """Write an entry and make it findable; returns its id. Raises UsageError for an unknown phase."""
    _check(entry)
    change.connection.execute(
        "INSERT INTO reasoning (session_id, group_id, agent, phase, content, created_at, agent_name, iteration,"
        " confidence, refs, redacted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*entry[:10], int(entry.is_redacted)),
    )
    number = change.connection.last_insert_rowid()
    _put_document(change, number, entry)
    return number


def replace(change: Change, number: int, entry: Reasoning) -> bool:
    """Write over the entry of this id; False if there is none. Raises UsageError for an unknown phase."""
    _check(entry)
    change.connection.execute(
        "UPDATE reasoning SET session_id = ?, group_id = ?, agent = ?, phase = ?, content = ?, created_at = ?,"
        " agent_name = ?, iteration = ?, confidence = ?, refs = ?, redacted = ? WHERE id = ?",
        (*entry[:10], int(entry.is_redacted), number),
    )
    if not change.connection.changes():
        return False
    _put_document(change, number, entry)
    return True


def _check(entry: Reasoning) -> None:
    if entry.phase not in PHASES:
        raise UsageError(f"'{entry.phase}' is not a phase.", f"Phases are {', '.join(PHASES)}.")
    if entry.confidence is not None and entry.confidence not in CONFIDENCES:
        raise UsageError(f"'{entry.confidence}' is not a confidence.", f"Confidences are {', '.join(CONFIDENCES)}.")


def _put_document(change: Change, number: int, entry: Reasoning) -> None:
    documents.put(
        change,
        documents.Document(
            kind="reasoning", number=number, title=f"{entry.agent} {entry.phase}", body=entry.content,
            session_id=entry.session_id, group_id=entry.group_id or 0, agent=entry.agent, type=entry.phase,
            created_at=entry.created_at, ruleset=RULESET_VERSION,
        ),
    )  # fmt: skip

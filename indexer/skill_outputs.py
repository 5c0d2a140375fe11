"""Skill outputs: what a skill reported, every invocation kept."""

from ctxrank.indexer import documents
from ctxrank.indexer.records import NamedTuple
from ctxrank.indexer.redaction import RULESET_VERSION
from ctxrank.indexer.store import Change


class SkillOutput(NamedTuple):
    """One invocation's output, redacted already; `output` is JSON."""

    session_id: int
    group_id: int | None
    agent: str
    skill: str
    iteration: int
    output: str
    created_at: int


def insert(change: Change, entry: SkillOutput) -> int:
    """Write an output and make it findable; returns its id."""
    change.connection.execute(
        "INSERT INTO skill_outputs (session_id, group_id, agent, skill, iteration, output, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        entry,
    )
    number = change.connection.last_insert_rowid()
    _put_document(change, number, entry)
    return number


def replace(change: Change, number: int, entry: SkillOutput) -> bool:
    """Write over the output of this id; False if there is none."""
    change.connection.execute(
        "UPDATE skill_outputs SET session_id = ?, group_id = ?, agent = ?, skill = ?, iteration = ?, output = ?,"
        " created_at = ? WHERE id = ?",
        (*entry, number),
    )
    if not change.connection.changes():
        return False
    _put_document(change, number, entry)
    return True


def _put_document(change: Change, number: int, entry: SkillOutput) -> None:
    documents.put(
        change,
        documents.Document(
            kind="skill", number=number, title=entry.skill, body=entry.output, session_id=entry.session_id,
            group_id=entry.group_id or 0, agent=entry.agent, type=entry.skill, created_at=entry.created_at,
            ruleset=RULESET_VERSION,
        ),
    )  # fmt: skip

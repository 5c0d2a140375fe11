"""Skill outputs: what a skill reported, every invocation kept."""

from typing import NamedTuple

from ctxrank.indexer import documents
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
    documents.put(
        change,
        documents.Document(
            kind="skill", number=number, title=entry.skill, body=entry.output, session_id=entry.session_id,
            group_id=entry.group_id or 0, agent=entry.agent, type=entry.skill, created_at=entry.created_at,
            ruleset=RULESET_VERSION,
        ),
    )  # fmt: skip
    return number

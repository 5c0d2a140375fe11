"""Records as rows, written as they are: redacted and checked already, with the row ids of their session and group."""

from typing import NamedTuple

from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.record_table import insert
from ctxrank.indexer.store.store import Change


class Reasoning(NamedTuple):
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
    redacted: int = 0


class SkillOutput(NamedTuple):
    session_id: int
    group_id: int | None
    agent: str
    skill: str
    iteration: int
    output: str
    created_at: int


class Strategy(NamedTuple):
    name: str
    project: str
    topic: str
    insight: str
    last_seen: int
    created_at: int
    helpfulness: int = 0
    lang: str | None = None
    framework: str | None = None


def write(change: Change, record: Reasoning | SkillOutput | Strategy) -> int:
    """Write a record by what the catalogue says of its kind; returns its id."""
    kinds: dict[type[tuple[object, ...]], str] = {Reasoning: "reasoning", SkillOutput: "skill", Strategy: "strategy"}
    return insert(change, KINDS[kinds[type(record)]], record._asdict())

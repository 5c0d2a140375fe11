"""Strategies: what worked, kept for a project."""

from ctxrank.indexer import documents
from ctxrank.indexer.records import NamedTuple
from ctxrank.indexer.redaction import RULESET_VERSION
from ctxrank.indexer.store import Change

TOPICS = ("implementation", "architecture", "methodology", "general")


class Strategy(NamedTuple):
    """One insight, redacted already; `name` is project_topic_hash."""

    name: str
    project: str
    topic: str
    insight: str
    last_seen: int
    created_at: int
    helpfulness: int = 0
    lang: str | None = None
    framework: str | None = None


def upsert(change: Change, strategy: Strategy) -> int:
    """Write a strategy, over the one of the same name if there is one; returns its id."""
    change.connection.execute(
        """
        INSERT INTO strategies (name, project, topic, insight, last_seen, created_at, helpfulness, lang, framework)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (name) DO UPDATE
           SET insight = excluded.insight, last_seen = excluded.last_seen, helpfulness = excluded.helpfulness,
               lang = excluded.lang, framework = excluded.framework
        """,
        strategy,
    )
    row = change.connection.execute("SELECT id FROM strategies WHERE name = ?", (strategy.name,)).fetchone()
    assert row is not None, "the row was written in the statement before"
    number = int(row[0])
    documents.put(
        change,
        documents.Document(
            kind="strategy", number=number, title=f"{strategy.topic} strategy", body=strategy.insight,
            type=strategy.topic, created_at=strategy.created_at, ruleset=RULESET_VERSION,
        ),
    )  # fmt: skip
    return number

"""Error patterns: a known error, its variable parts masked, with what fixed it."""

from ctxrank.indexer import documents
from ctxrank.indexer.records import NamedTuple
from ctxrank.indexer.redaction import RULESET_VERSION
from ctxrank.indexer.store import Change


class ErrorPattern(NamedTuple):
    """One pattern of a project, redacted already; hints and stack are JSON lists."""

    project: str
    pattern_hash: str
    error_type: str
    message: str
    solution: str
    last_seen: int
    created_at: int
    context_hints: str = "[]"
    stack_pattern: str = "[]"
    bazinga_confidence: float = 0.5  # the predecessor's, in its own steps
    occurrences: int = 1
    lang: str | None = None
    ttl_days: int = 90


def upsert(change: Change, pattern: ErrorPattern) -> int:
    """Write a pattern, over the one of the same hash and project if there is one; returns its id."""
    change.connection.execute(
        """
        INSERT INTO error_patterns (project, pattern_hash, error_type, message, solution, last_seen, created_at,
                                    context_hints, stack_pattern, bazinga_confidence, occurrences, lang, ttl_days)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (pattern_hash, project) DO UPDATE
           SET error_type = excluded.error_type, message = excluded.message, solution = excluded.solution,
               last_seen = excluded.last_seen, context_hints = excluded.context_hints,
               stack_pattern = excluded.stack_pattern, bazinga_confidence = excluded.bazinga_confidence,
               occurrences = excluded.occurrences, lang = excluded.lang, ttl_days = excluded.ttl_days
        """,
        pattern,
    )
    row = change.connection.execute(
        "SELECT id FROM error_patterns WHERE pattern_hash = ? AND project = ?",
        (pattern.pattern_hash, pattern.project),
    ).fetchone()
    assert row is not None, "the row was written in the statement before"
    number = int(row[0])
    documents.put(
        change,
        documents.Document(
            kind="error", number=number, title=f"{pattern.error_type}: {pattern.message}", body=pattern.solution,
            type=pattern.lang or "", created_at=pattern.created_at, ruleset=RULESET_VERSION,
        ),
    )  # fmt: skip
    return number

"""Error patterns: a known error with what fixed it, and the record of that solution.

    sighted      no one has said whether the solution helps
    confirmed    it helped, clearly more often than not: (c − r)² ≥ c + r with c > r
    refuted      it did not: the same with r > c

c and r count confirmations and refutations. The inequality says that one half lies outside the standard error of
c / (c + r) (the score test whose inversion is Wilson's interval, 1927), in whole numbers, so that SQL and Python agree.
"""

from functools import partial

import apsw

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.light_typing import Literal, NamedTuple
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.connection import read_row, read_value, require_value
from ctxrank.indexer.store.store import Change, atomic
from ctxrank.indexer.text.lines import error_title

State = Literal["sighted", "confirmed", "refuted"]
STATES: tuple[State, ...] = ("sighted", "confirmed", "refuted")
# SQL for a pattern `e` that has not outlived its time at the moment :now.
IS_ALIVE = f"e.last_seen + e.ttl_days * {DAY_US} >= :now"


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
    confidence: float = 0.5  # moves in steps: record_outcome; what is shown is ranking/errors/confidence.py
    occurrences: int = 1
    lang: str | None = None
    ttl_days: int = 90
    confirmations: int = 0
    refutations: int = 0


class CountedPattern(NamedTuple):
    """A pattern that was met once more, or for the first time."""

    id: int
    occurrences: int
    is_new: bool


class SolutionRecord(NamedTuple):
    """How often a solution helped and did not, before and after a report."""

    pattern_id: int
    before: State
    after: State
    confirmations: int
    refutations: int
    confidence_before: float  # the stored one, which moves in steps
    confidence: float


def state_of(confirmations: int, refutations: int) -> State:
    """What a record amounts to."""
    difference = confirmations - refutations
    if not difference or difference * difference < confirmations + refutations:
        return "sighted"
    return "confirmed" if difference > 0 else "refuted"


def record_of(confidence: float) -> tuple[int, int]:
    """(confirmations, refutations) that moved a confidence from 0.5 to here, by +0.1 and −0.2."""
    return max(0, round((confidence - 0.5) * 10)), max(0, round((0.5 - confidence) * 5))


title_of = error_title


def find(connection: apsw.Connection, project: str, pattern_hash: str) -> int | None:
    """The id of a project's pattern of this hash, or None."""
    query = "SELECT id FROM error_patterns WHERE pattern_hash = ? AND project = ?"
    return read_value(connection, query, (pattern_hash, project), int)


_INSERT = """
        INSERT INTO error_patterns (project, pattern_hash, error_type, message, solution, last_seen, created_at,
                                    context_hints, stack_pattern, confidence, occurrences, lang, ttl_days,
                                    confirmations, refutations, state)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


@atomic
def count(change: Change, pattern: ErrorPattern) -> CountedPattern:
    """Write a pattern, or count the known one of its hash and project, which takes over a longer solution.

    `solutions.put_signature` makes it recognisable. Raises UsageError for one that was purged.
    """
    is_new = find(change.connection, pattern.project, pattern.pattern_hash) is None
    query = f"""
        {_INSERT}
        ON CONFLICT (pattern_hash, project) DO UPDATE
           SET occurrences = occurrences + 1,
               last_seen = max(last_seen, excluded.last_seen),
               solution = CASE WHEN length(excluded.solution) > length(solution) THEN excluded.solution
                               ELSE solution END
        RETURNING id, occurrences
    """
    values = (*pattern, state_of(pattern.confirmations, pattern.refutations))
    counted = read_row(change.connection, query, values, partial(CountedPattern, is_new=is_new))
    assert counted is not None, "an upsert returns its row"
    put_document(change, counted.id, brought_by=pattern)
    return counted


@atomic
def upsert(change: Change, pattern: ErrorPattern) -> int:
    """Write a pattern, over the one of the same hash and project if there is one; returns its id.

    `solutions.put_signature` makes it recognisable. Raises UsageError for one that was purged.
    """
    query = f"""
        {_INSERT}
        ON CONFLICT (pattern_hash, project) DO UPDATE
           SET error_type = excluded.error_type, message = excluded.message, solution = excluded.solution,
               last_seen = excluded.last_seen, context_hints = excluded.context_hints,
               stack_pattern = excluded.stack_pattern, confidence = excluded.confidence,
               occurrences = excluded.occurrences, lang = excluded.lang, ttl_days = excluded.ttl_days,
               confirmations = excluded.confirmations, refutations = excluded.refutations, state = excluded.state
        RETURNING id
    """
    values = (*pattern, state_of(pattern.confirmations, pattern.refutations))
    number = require_value(change.connection, query, values, int)
    put_document(change, number, brought_by=pattern)
    return number


class _SearchedPattern(NamedTuple):
    error_type: str
    message: str
    solution: str
    lang: str | None
    created_at: int


def put_document(change: Change, pattern_id: int, *, brought_by: ErrorPattern | None = None) -> None:
    """Make a pattern findable as its row is now. Raises UsageError where the pattern that it was `brought_by` was
    purged; None where what is stored already has changed.
    """
    query = "SELECT error_type, message, solution, lang, created_at FROM error_patterns WHERE id = ?"
    row = read_row(change.connection, query, (pattern_id,), _SearchedPattern)
    assert row is not None, "the caller has just written the row"
    documents.put(
        change,
        documents.Document(
            kind="error",
            number=pattern_id,
            title=title_of(row.error_type, row.message),
            body=row.solution,
            type=row.lang or "",
            created_at=row.created_at,
            ruleset=RULESET_VERSION,
            source=None if brought_by is None else f"{brought_by.message}\n{brought_by.solution}",
        ),
    )


class _Record(NamedTuple):
    state: State
    confirmations: int
    refutations: int
    confidence: float


def record_outcome(change: Change, pattern_id: int, *, has_helped: bool, now: int) -> SolutionRecord | None:
    """Count that a solution helped, or did not; None for a pattern that is not there.

    The stored confidence moves by steps of its own beside the counts: +0.1 up to 1, −0.2 down to 0.1, rounded, so that
    steps up and down end where they began. Counted in one statement.
    """
    query = "SELECT state, confirmations, refutations, round(confidence, 4) FROM error_patterns WHERE id = ?"
    before = read_row(change.connection, query, (pattern_id,), _Record)
    query = """
        UPDATE error_patterns
           SET confirmations = confirmations + :helped,
               -- A store that says so of what only others have met has met it, too.
               occurrences = occurrences + coalesce(occurrences = (SELECT sum(c.occurrences) FROM origin_counts AS c
                                                                   WHERE c.kind = 'error' AND c.number = :id), 0),
               refutations = refutations + 1 - :helped,
               state = CASE WHEN confirmations + :helped = refutations + 1 - :helped
                              OR (confirmations - refutations + 2 * :helped - 1)
                                  * (confirmations - refutations + 2 * :helped - 1) < confirmations + refutations + 1
                            THEN 'sighted'
                            WHEN confirmations + :helped > refutations + 1 - :helped THEN 'confirmed'
                            ELSE 'refuted' END,
               confidence = CASE WHEN :helped THEN min(1.0, round(confidence + 0.1, 4))
                                         ELSE max(0.1, round(confidence - 0.2, 4)) END,
               last_seen = max(last_seen, :now)
         WHERE id = :id
        RETURNING state, confirmations, refutations, confidence
    """
    after = read_row(change.connection, query, {"helped": int(has_helped), "now": now, "id": pattern_id}, _Record)
    if before is None or after is None:
        return None
    return SolutionRecord(
        pattern_id=pattern_id,
        before=before.state,
        after=after.state,
        confirmations=after.confirmations,
        refutations=after.refutations,
        confidence_before=before.confidence,
        confidence=after.confidence,
    )

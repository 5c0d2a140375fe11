"""Error patterns: a known error with what fixed it, and the record of that solution.

    sighted      no one has said whether the solution helps
    confirmed    it helped, clearly more often than not: (c − r)² ≥ c + r with c > r
    refuted      it did not: the same with r > c

c and r count confirmations and refutations. The inequality says that one half lies outside the standard error of
c / (c + r) (the score test whose inversion is Wilson's interval, 1927), in whole numbers.
"""

import apsw

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.exceptions import NotFoundError
from ctxrank.indexer.light_typing import Literal, NamedTuple
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.store.store import Change

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


def find(connection: apsw.Connection, project: str, pattern_hash: str) -> int | None:
    """The id of a project's pattern of this hash, or None."""
    query = "SELECT id FROM error_patterns WHERE pattern_hash = ? AND project = ?"
    return read_value(connection, query, (pattern_hash, project), int)


def upsert(change: Change, pattern: ErrorPattern) -> int:
    """Write a pattern, over the one of the same hash and project if there is one; returns its id.

    `lookup.put_signature` makes it recognisable. Raises UsageError for one that was purged.
    """
    from ctxrank.indexer.catalogue import KINDS  # noqa: PLC0415  start-up: writing only
    from ctxrank.indexer.record_table import insert, revise  # noqa: PLC0415  as above

    values = {**pattern._asdict(), "state": state_of(pattern.confirmations, pattern.refutations)}
    number = find(change.connection, pattern.project, pattern.pattern_hash)
    if number is None:
        return insert(change, KINDS["error"], values)
    del values["created_at"]
    revise(change, KINDS["error"], number, values)
    return number


def record_outcome(change: Change, pattern_id: int, *, has_helped: bool, now: int) -> SolutionRecord:
    """Count that a solution helped, or did not. Raises NotFoundError.

    The stored confidence moves by steps of its own beside the counts: +0.1 up to 1, −0.2 down to 0.1, rounded, so that
    steps up and down end where they began.
    """
    query = "SELECT state, confirmations, refutations, round(confidence, 4) FROM error_patterns WHERE id = ?"
    row = change.connection.execute(query, (pattern_id,)).fetchone()
    if row is None:
        raise NotFoundError(f"There is no error {pattern_id}.", "'ctxrank list errors' shows what there is.")
    state, helped, not_helped, confidence = row
    helped, not_helped = helped + has_helped, not_helped + (not has_helped)
    moved = round(min(1.0, confidence + 0.1) if has_helped else max(0.1, confidence - 0.2), 4)
    record = SolutionRecord(
        pattern_id, state, state_of(helped, not_helped), helped, not_helped, confidence, confidence=moved
    )
    query = """
        UPDATE error_patterns
           SET state = :after, confirmations = :confirmations, refutations = :refutations, confidence = :confidence,
               -- A store that says so of what only others have met has met it, too.
               occurrences = occurrences + coalesce(occurrences = (SELECT sum(occurrences) FROM origin_counts
                                                                   WHERE kind = 'error' AND number = :pattern_id), 0),
               last_seen = max(last_seen, :now)
         WHERE id = :pattern_id
    """
    change.connection.execute(query, record._asdict() | {"now": now})
    return record

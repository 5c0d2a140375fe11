"""Error patterns in the predecessor's way: a signature's hash, and a confidence that moves in fixed steps.

    save_error(store, NewError("shop", "TimeoutError", "no answer from db", "raise the pool size"))

Counting and moving happen inside one statement each, so that concurrent calls lose nothing.
"""

import apsw

from ctxrank.cli.bazinga.records.signature import Signature, signature, signature_hash
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.errors.patterns import put_document, record_outcome, refuse_purged, title_of
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.store import FOLLOW_AFTER_WRITE_MS, Change, Store

if TYPE_CHECKING:
    from ctxrank.indexer.redaction.incoming_texts import IncomingTexts

START_CONFIDENCE = 0.5
TTL_DAYS = 90
INJECTABLE_FROM = 0.3  # below it a pattern is kept and watched, but shown to nobody

# By days, as there: a pattern lives through the last day of its time.
_IS_ALIVE = "date(last_seen / 1000000, 'unixepoch', '+' || ttl_days || ' days') >= date(:now / 1000000, 'unixepoch')"


class NewError(NamedTuple):
    """An error as it was met, and what fixed it."""

    project: str
    error_type: str
    message: str
    solution: str
    lang: str | None = None
    context_hints: tuple[str, ...] = ()
    stack_pattern: tuple[str, ...] = ()


class SavedError(NamedTuple):
    """What saving did; `is_new` if nobody had met this error in the project before."""

    pattern_hash: str
    is_new: bool
    occurrences: int
    is_redacted: bool


class KnownError(NamedTuple):
    """A stored pattern as it is listed; hints and stack are JSON lists."""

    pattern_hash: str
    error_type: str
    message: str
    context_hints: str
    stack_pattern: str
    solution: str
    confidence: float
    occurrences: int
    lang: str | None
    last_seen: int


class MovedConfidence(NamedTuple):
    """A pattern's confidence before and after a report."""

    before: float
    after: float


def save_error(store: Store, new: NewError, *, mode: RedactionMode = RedactionMode.PATTERN_ONLY) -> SavedError:
    """Save what fixed an error; one that is known is counted, and its solution replaced by a longer one.

    Raises UsageError for an empty project, LockedError.
    """
    if not new.project.strip():
        raise UsageError("An error pattern needs a project.", "Name the one it was met in, such as shop.")
    clean, is_redacted = _redacted(new, mode)
    signed = signature(clean.error_type, clean.message, clean.context_hints, clean.stack_pattern)
    pattern_hash = signature_hash(signed)
    with store.write() as change:
        known = change.connection.execute(
            "SELECT 1 FROM error_patterns WHERE pattern_hash = ? AND project = ?", (pattern_hash, clean.project)
        ).fetchone()
        occurrences = _count(change, clean, signed, pattern_hash, is_new=known is None)
    store.follow(FOLLOW_AFTER_WRITE_MS)
    return SavedError(pattern_hash, known is None, occurrences, is_redacted)


def _redacted(new: NewError, mode: RedactionMode) -> tuple[NewError, bool]:
    """The error with each field redacted on its own, and whether any lost something.

    Before masking and never as JSON: a secret at a field's end would take the quote with it, and a masked
    path can hide half a secret from the rules.
    """
    from ctxrank.indexer.redaction.incoming_texts import IncomingTexts  # the redaction rules: writing only

    plain, clean = (_texts(new, IncomingTexts(which)) for which in (RedactionMode.OFF, mode))
    return clean, clean != plain


def _texts(new: NewError, texts: "IncomingTexts") -> NewError:
    return NewError(
        texts.text(new.project.strip()),
        texts.text(new.error_type),
        texts.text(new.message),
        texts.text(new.solution),
        None if new.lang is None else texts.text(new.lang.strip()) or None,
        tuple(texts.text(hint) for hint in new.context_hints),
        tuple(texts.text(line) for line in new.stack_pattern),
    )


def _count(change: Change, clean: NewError, signed: Signature, pattern_hash: str, *, is_new: bool) -> int:
    """Write the pattern, or count the known one; returns how often it was met.

    A new one is signed as it was met, not masked, so that 'ctxrank error match' recognises it.
    """
    import json

    refuse_purged(change, signed.message, clean.solution)
    now = now_us()
    row = change.connection.execute(
        """
        INSERT INTO error_patterns (project, pattern_hash, error_type, message, context_hints, stack_pattern,
                                    solution, confidence, occurrences, lang, ttl_days, last_seen, created_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?)
        ON CONFLICT (pattern_hash, project) DO UPDATE
           SET occurrences = occurrences + 1,
               last_seen = max(last_seen, excluded.last_seen),
               solution = CASE WHEN length(excluded.solution) > length(solution) THEN excluded.solution
                               ELSE solution END
        RETURNING id, occurrences
        """,
        (
            clean.project, pattern_hash, signed.error_type, signed.message,
            json.dumps(signed.context_hints, ensure_ascii=False), json.dumps(signed.stack_pattern, ensure_ascii=False),
            clean.solution, START_CONFIDENCE, clean.lang, TTL_DAYS, now, now,
        ),
    ).fetchone()  # fmt: skip
    assert row is not None, "an upsert returns its row"
    put_document(change, int(row[0]))
    if is_new:
        from ctxrank.indexer.errors.solutions import put_signature

        put_signature(change, int(row[0]), clean.project, title_of(clean.error_type, clean.message))
    return int(row[1])


def list_errors(
    truth: apsw.Connection, project: str, *, lang: str | None = None, min_confidence: float = 0.7, limit: int = 5
) -> list[KnownError]:
    """The project's living patterns of at least this confidence, the most trusted first.

    A `lang` leaves out those that name none. A negative limit is none.
    """
    query = f"""
        SELECT pattern_hash, error_type, message, context_hints, stack_pattern, solution,
               round(confidence, 4), occurrences, lang, last_seen
          FROM error_patterns
         WHERE project = :project AND (:lang IS NULL OR lang = :lang) AND round(confidence, 4) >= :least
           AND {_IS_ALIVE}
         ORDER BY confidence DESC, occurrences DESC, last_seen DESC, id DESC LIMIT :limit
    """
    values = {"project": project, "lang": lang, "least": min_confidence, "limit": limit, "now": now_us()}
    return [KnownError(*row) for row in truth.execute(query, values)]


def move_confidence(store: Store, pattern_hash: str, project: str, *, has_helped: bool) -> MovedConfidence | None:
    """Add 0.1 for a solution that helped (at most 1), take 0.2 for one that did not (at least 0.1).

    It counts as a confirmation or a refutation too. None for a pattern that is not there.
    """
    with store.write() as change:
        row = change.connection.execute(
            "SELECT id FROM error_patterns WHERE pattern_hash = ? AND project = ?", (pattern_hash, project)
        ).fetchone()
        if row is None:
            return None
        record = record_outcome(change, int(row[0]), has_helped=has_helped, now=now_us())
    return None if record is None else MovedConfidence(record.confidence_before, record.confidence)


def remove_expired(store: Store, project: str | None = None) -> int:
    """Remove the patterns (of one project, or all) whose time is over; returns how many there were."""
    with store.write() as change:
        expired = change.connection.execute(
            f"DELETE FROM error_patterns WHERE (:project IS NULL OR project = :project) AND NOT ({_IS_ALIVE})"
            " RETURNING id",
            {"project": project, "now": now_us()},
        ).fetchall()
        for (number,) in expired:
            row = change.connection.execute(
                "SELECT id FROM documents WHERE kind = 'error' AND record_id = ?", (number,)
            ).fetchone()
            if row is not None:
                documents.remove(change, int(row[0]))
    store.follow(FOLLOW_AFTER_WRITE_MS)
    return len(expired)

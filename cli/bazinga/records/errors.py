"""Error patterns in the predecessor's way: a signature's hash, and a confidence that moves in fixed steps.

    save_error(store, NewError("shop", "TimeoutError", "no answer from db", "raise the pool size"))

Counting and moving happen inside one statement each, so that concurrent calls lose nothing.
"""

import apsw

from ctxrank.cli.bazinga.records.signature import Signature, signature, signature_hash
from ctxrank.cli.bazinga.records.views import VIEWS, Rows, rows
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.errors import patterns
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.connection import read_column
from ctxrank.indexer.store.store import CATCH_UP_AFTER_WRITE_MS, Store

if TYPE_CHECKING:
    from ctxrank.indexer.redaction.incoming_texts import IncomingTexts

START_CONFIDENCE = 0.5
TTL_DAYS = 90
INJECTABLE_FROM = 0.3  # below it a pattern is kept and counted, but never shown

# By days, as there: a pattern lives through the last day of its time.
_IS_ALIVE = "date(e.last_seen / 1000000, 'unixepoch', '+' || e.ttl_days || ' days') >= date({0} / 1000000, 'unixepoch')"


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
    """What saving did; `is_new` if this error is the first of its kind in the project."""

    pattern_hash: str
    is_new: bool
    occurrences: int
    is_redacted: bool


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
        counted = patterns.count(change, _pattern(clean, signed, pattern_hash))
        if counted.is_new:
            from ctxrank.indexer.errors.solutions import put_signature  # noqa: PLC0415  for new ones

            # Signed as it was met, not masked, so that 'ctxrank error match' recognises it.
            put_signature(change, counted.id, clean.project, patterns.title_of(clean.error_type, clean.message))
    store.catch_up(CATCH_UP_AFTER_WRITE_MS)
    return SavedError(pattern_hash, counted.is_new, counted.occurrences, is_redacted)


def _pattern(clean: NewError, signed: Signature, pattern_hash: str) -> patterns.ErrorPattern:
    import json  # noqa: PLC0415  writing only

    now = now_us()
    return patterns.ErrorPattern(
        project=clean.project,
        pattern_hash=pattern_hash,
        error_type=signed.error_type,
        message=signed.message,
        solution=clean.solution,
        last_seen=now,
        created_at=now,
        context_hints=json.dumps(signed.context_hints, ensure_ascii=False),
        stack_pattern=json.dumps(signed.stack_pattern, ensure_ascii=False),
        confidence=START_CONFIDENCE,
        lang=clean.lang,
        ttl_days=TTL_DAYS,
    )


def _redacted(new: NewError, mode: RedactionMode) -> tuple[NewError, bool]:
    """The error with each field redacted on its own, and whether any lost something.

    Before masking and never as JSON: a secret at a field's end would take the quote with it, and a masked
    path can hide half a secret from the rules.
    """
    from ctxrank.indexer.redaction.incoming_texts import IncomingTexts  # noqa: PLC0415  writing only

    fields = (new.message, new.solution, *new.context_hints, *new.stack_pattern)
    plain, clean = (_texts(new, IncomingTexts(which).of_record(fields)) for which in (RedactionMode.OFF, mode))
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


def list_errors(
    primary: apsw.Connection, project: str, *, lang: str | None = None, min_confidence: float = 0.7, limit: int = 5
) -> Rows:
    """The project's living patterns of at least this confidence in its view, the most trusted first.

    A `lang` leaves out those that name none. A negative limit is none.
    """
    query = f"""{VIEWS["error_patterns"]}
         WHERE e.project = ?1 AND (?2 IS NULL OR e.lang = ?2) AND round(e.confidence, 4) >= ?3
           AND {_IS_ALIVE.format("?5")}
         ORDER BY e.confidence DESC, e.occurrences DESC, e.last_seen DESC, e.id DESC LIMIT ?4
    """
    return rows(primary, query, (project, lang, min_confidence, limit, now_us()))


def move_confidence(store: Store, pattern_hash: str, project: str, *, has_helped: bool) -> MovedConfidence | None:
    """Add 0.1 for a solution that helped (at most 1), take 0.2 for one that did not (at least 0.1).

    It counts as a confirmation or a refutation too. None for a pattern that is not there.
    """
    with store.write() as change:
        pattern_id = patterns.find(change.connection, project, pattern_hash)
        if pattern_id is None:
            return None
        record = patterns.record_outcome(change, pattern_id, has_helped=has_helped, now=now_us())
    return None if record is None else MovedConfidence(record.confidence_before, record.confidence)


def remove_expired(store: Store, project: str | None = None) -> int:
    """Remove the patterns (of one project, or all) whose time is over; returns how many there were."""
    from ctxrank.indexer.privacy.removal import remove_records  # noqa: PLC0415  rarely needed

    query = f"SELECT e.id FROM main.error_patterns AS e WHERE (?1 IS NULL OR project = ?1) AND NOT ({_IS_ALIVE})"
    with store.write() as change:
        expired = read_column(change.connection, query.format("?2"), (project, now_us()), int)
        remove_records(change, "error", expired)
    store.catch_up(CATCH_UP_AFTER_WRITE_MS)
    return len(expired)

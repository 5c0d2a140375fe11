"""The predecessor's commands for error patterns: a signature's hash, and a confidence that moves in fixed steps.

    masked("No module named 'foo' at /home/u/app/x.py line 42")      "No module named '...' at .../x.py line N"

The same error in another folder, at another line or with another literal gives the same hash. Everything is redacted
first: masking would tear a secret in two that no rule then recognises.
"""

import json
import re
from collections.abc import Iterable

from ctxrank.extensions.bazinga.call import BazingaCall, Json, failure
from ctxrank.extensions.bazinga.records.views import VIEWS
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.errors import patterns
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.connection import read_column
from ctxrank.indexer.store.store import CATCH_UP_AFTER_WRITE_MS
from ctxrank.indexer.text.lines import error_title

_MAX_MESSAGE_CHARS = 500
# In this order: what one mask leaves is what the next one sees.
_MASKS = (
    (r"/[^\s]+/", ".../"),
    (r"[A-Z]:\\[^\s]+\\", r"...\\"),
    (r"line \d+", "line N"),
    (r"'[^']{1,50}'", "'...'"),
    (r'"[^"]{1,50}"', '"..."'),
)
_INJECTABLE_FROM = 0.3  # below it a pattern is kept and counted, but never shown
# By days, as there: a pattern lives through the last day of its time.
_IS_ALIVE = "date(e.last_seen / 1000000, 'unixepoch', '+' || e.ttl_days || ' days') >= date({0} / 1000000, 'unixepoch')"
_SHOWN = ("pattern_hash", "solution", "confidence", "occurrences", "lang", "last_seen")


def save_error_pattern(call: BazingaCall) -> Json:
    """Save what fixed an error, or count it once more; its solution is replaced by a longer one."""
    from ctxrank.indexer.catalogue import KINDS  # noqa: PLC0415  start-up: writing only
    from ctxrank.indexer.errors.lookup import put_signature  # noqa: PLC0415  as above
    from ctxrank.indexer.record_table import read, revise  # noqa: PLC0415  as above

    texts = (*call.positionals, *call.texts("--context_hints"), *call.texts("--stack_pattern"))
    if not texts[0].strip():
        raise UsageError("An error pattern needs a project.", "Name the one it was met in, such as shop.")
    lang, hint_count = call.get("--lang"), len(call.texts("--context_hints"))
    plain, clean = (_redacted(texts, lang, mode) for mode in (RedactionMode.OFF, call.mode))
    (project, error_type, message, solution, *lists), clean_lang = clean
    named, hints, stack = error_type.strip() or "Unknown", lists[:hint_count], lists[hint_count:]
    pattern_hash, now = signature_hash(named, masked(message), hints), now_us()
    pattern = patterns.ErrorPattern(
        project,
        pattern_hash,
        named,
        masked(message),
        solution,
        now,
        now,
        lang=clean_lang,
        context_hints=json.dumps(hints, ensure_ascii=False),
        stack_pattern=json.dumps(stack, ensure_ascii=False),
    )
    with call.store.write() as change:
        number = patterns.find(change.connection, project, pattern_hash)
        known = None if number is None else read(change.connection, KINDS["error"], number)
        if number is None or known is None:
            number, occurrences = patterns.upsert(change, pattern), 1
            # Signed as it was met, not masked, so that 'ctxrank error match' recognises it.
            put_signature(change, number, project, error_title(error_type, message))
        else:
            occurrences, last_seen = int(known["occurrences"] or 0) + 1, max(int(known["last_seen"] or 0), now)
            longer = max(str(known["solution"]), solution, key=len)
            revise(
                change, KINDS["error"], number, {"occurrences": occurrences, "last_seen": last_seen, "solution": longer}
            )
    call.store.catch_up(CATCH_UP_AFTER_WRITE_MS)
    answer: Json = {"success": True, "pattern_hash": pattern_hash, "operation": "updated", "occurrences": occurrences}
    if known is None:
        call.done(f"Saved new error pattern: {pattern_hash[:16]}...")
        answer |= {"operation": "created", "confidence": pattern.confidence}
    else:
        call.done(f"Updated error pattern (occurrences: {occurrences})")
    return {**answer, "redacted": plain != clean}


def masked(message: str) -> str:
    """The message without paths, line numbers and short literals, trimmed and cut."""
    for pattern, replacement in _MASKS:
        message = re.sub(pattern, replacement, message)
    return message.strip()[:_MAX_MESSAGE_CHARS]


def signature_hash(error_type: str, masked_message: str, context_hints: Iterable[str] = ()) -> str:
    """SHA-256 in hex; neither the stack nor the order of the hints counts."""
    import hashlib  # noqa: PLC0415  loads OpenSSL; few callers hash

    parts = f"{error_type}:{masked_message}:{','.join(sorted(context_hints))}"
    return hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest()


def _redacted(fields: tuple[str, ...], lang: str | None, mode: RedactionMode) -> tuple[list[str], str | None]:
    """The texts of an error and its language, each redacted on its own.

    Before masking and never as JSON: a secret at a field's end would take the quote with it, and a masked
    path can hide half a secret from the rules.
    """
    texts = IncomingTexts(mode).of_record(fields[2:])
    project, *others = fields
    clean_lang = None if lang is None else texts.text(lang.strip()) or None
    return [texts.text(project.strip()), *map(texts.text, others)], clean_lang


def get_error_patterns(call: BazingaCall) -> list[Json]:
    """A project's patterns that have not expired, the most trusted first; `--lang` leaves out those that name none."""
    text = call.get("--min_confidence") or "0.7"
    try:
        least = float(text)
    except ValueError as error:
        raise UsageError(f"--min_confidence must be a number, got {text!a}.") from error
    query = f"""{VIEWS["error_patterns"]}
         WHERE e.project = ?1 AND (?2 IS NULL OR e.lang = ?2) AND round(e.confidence, 4) >= ?3
           AND {_IS_ALIVE.format("?5")}
         ORDER BY e.confidence DESC, e.occurrences DESC, e.last_seen DESC, e.id DESC LIMIT ?4
    """
    limit = call.number("--limit", 5)
    found = call.select(query, call["project"], call.get("--lang") or None, least, limit, now_us())
    return [
        {**{key: pattern[key] for key in _SHOWN}, "signature": json.loads(str(pattern["signature_json"]))}
        for pattern in found
    ]


def update_error_confidence(call: BazingaCall) -> Json:
    """Add 0.1 for a solution that helped (at most 1), take 0.2 for one that did not (at least 0.1).

    It counts as a confirmation or a refutation too.
    """
    pattern_hash, project, outcome = call.positionals
    if outcome.lower() not in ("success", "failure"):
        raise UsageError(f"Outcome must be 'success' or 'failure', got {outcome!a}.")
    has_helped = outcome.lower() == "success"
    with call.store.write() as change:
        id_ = patterns.find(change.connection, project, pattern_hash)
        moved = None if id_ is None else patterns.record_outcome(change, id_, has_helped=has_helped, now=now_us())
    if moved is None:
        raise failure("Pattern not found")
    before, after = moved.confidence_before, moved.confidence
    call.done(f"Updated confidence: {before:.2f} → {after:.2f}")
    answer: Json = {"success": True, "pattern_hash": pattern_hash, "previous_confidence": before}
    return {**answer, "new_confidence": after, "injectable": after >= _INJECTABLE_FROM}


def cleanup_error_patterns(call: BazingaCall) -> Json:
    """Remove the expired patterns of one project, or all."""
    from ctxrank.indexer.privacy.removal import remove_records  # noqa: PLC0415  rarely needed

    project = call.get("project")
    query = f"SELECT e.id FROM main.error_patterns AS e WHERE (?1 IS NULL OR project = ?1) AND NOT ({_IS_ALIVE})"
    with call.store.write() as change:
        expired = read_column(change.connection, query.format("?2"), (project, now_us()), int)
        remove_records(change, "error", expired)
    call.store.catch_up(CATCH_UP_AFTER_WRITE_MS)
    call.done(f"Cleaned up {len(expired)} expired error patterns")
    return {"success": True, "deleted_count": len(expired), "project_id": project}

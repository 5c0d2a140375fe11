"""The predecessor's commands for error patterns."""

import json

from ctxrank.cli.bazinga.call import BazingaCall, objects
from ctxrank.cli.bazinga.records.errors import (
    INJECTABLE_FROM,
    START_CONFIDENCE,
    NewError,
    list_errors,
    move_confidence,
    remove_expired,
    save_error,
)
from ctxrank.indexer.exceptions import UsageError


def save_error_pattern(call: BazingaCall) -> int:
    """Save what fixed an error, or count it once more."""
    given = call.read()
    new = NewError(
        given[0], given[1], given[2], given[3], given.text("--lang"),
        given.texts("--context_hints"), given.texts("--stack_pattern"),
    )  # fmt: skip
    saved = save_error(call.store, new, mode=call.mode)
    answer: dict[str, object] = {"success": True, "pattern_hash": saved.pattern_hash}
    if saved.is_new:
        call.done(f"Saved new error pattern: {saved.pattern_hash[:16]}...")
        answer |= {"operation": "created", "occurrences": saved.occurrences, "confidence": START_CONFIDENCE}
    else:
        call.done(f"Updated error pattern (occurrences: {saved.occurrences})")
        answer |= {"operation": "updated", "occurrences": saved.occurrences}
    call.answer({**answer, "redacted": saved.is_redacted})
    return 0


def get_error_patterns(call: BazingaCall) -> int:
    """A project's patterns that have not expired, the most trusted first."""
    given = call.read()
    text = given.text("--min_confidence") or "0.7"
    try:
        least = float(text)
    except ValueError as error:
        raise UsageError(f"--min_confidence must be a number, got {text!a}.") from error
    found = list_errors(
        call.store.primary, given[0], lang=given.text("--lang") or None, min_confidence=least,
        limit=given.number("--limit", 5),
    )  # fmt: skip
    call.answer([_pattern_json(pattern) for pattern in objects(found)])
    return 0


def _pattern_json(pattern: dict[str, object]) -> dict[str, object]:
    shown = ("pattern_hash", "solution", "confidence", "occurrences", "lang", "last_seen")
    return {**{key: pattern[key] for key in shown}, "signature": json.loads(str(pattern["signature_json"]))}


def update_error_confidence(call: BazingaCall) -> int:
    """Trust a pattern more, or less."""
    given = call.read()
    outcome = given[2].lower()
    if outcome not in ("success", "failure"):
        raise UsageError(f"Outcome must be 'success' or 'failure', got {given[2]!a}.")
    moved = move_confidence(call.store, given[0], given[1], has_helped=outcome == "success")
    if moved is None:
        return call.failed("Pattern not found")
    call.done(f"Updated confidence: {moved.before:.2f} → {moved.after:.2f}")
    call.answer(
        {
            "success": True, "pattern_hash": given[0], "previous_confidence": moved.before,
            "new_confidence": moved.after, "injectable": moved.after >= INJECTABLE_FROM,
        }
    )  # fmt: skip
    return 0


def cleanup_error_patterns(call: BazingaCall) -> int:
    """Remove expired patterns."""
    project = call.read().optional(0)
    count = remove_expired(call.store, project)
    call.done(f"Cleaned up {count} expired error patterns")
    call.answer({"success": True, "deleted_count": count, "project_id": project})
    return 0

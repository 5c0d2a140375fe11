"""Saving what fixed an error, so that it is shown when the error occurs again.

    failure = read_failure_text(b"ModuleNotFoundError: No module named 'yaml'", mode)
    save_error(store, NewKnownError(failure.text, "pip install pyyaml"), mode=mode).id      1

Saved again it is counted, inside one transaction, so that sixty at once are sixty. The same error has the same message
with the same values, at the same place of the code where both say one; or it is what the caller recognised it as
(`known_id`, with other values) and has the same solution.
"""

import json

import apsw

from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.declarations import Value
from ctxrank.indexer.errors import lookup, patterns
from ctxrank.indexer.errors.lookup import Whose
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.patterns import ErrorPattern, State, state_of
from ctxrank.indexer.errors.signature import Signature, fingerprint, sign, told_by
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.record_table import revise
from ctxrank.indexer.records.anchor_passes import anchor_document
from ctxrank.indexer.records.sessions import DEFAULT_PROJECT
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.store.ids import DocumentRef
from ctxrank.indexer.store.origins import is_vouched, note_saved
from ctxrank.indexer.store.store import CATCH_UP_AFTER_WRITE_MS, Change, Store
from ctxrank.indexer.text.lines import one_line

MAX_SOLUTION_CHARS = 4000
MAX_HINTS = 20
# How a solution begins that a program has seen: what was changed, or ran, between a failure and its end.
CHANGED, RAN_NEXT = "After this failure, ", "Ran next, unconfirmed: "


class NewKnownError(NamedTuple):
    """A failure and what fixed it. `failure` comes from failure_text.py; the rest is redacted on the way.

    A `lang` of None is the one that the failure shows. `is_proposal`: no person vouches for the solution, so it takes
    the place of none; `is_final`: it takes the place of any. `is_counted`: the failure was, when it was seen.
    """

    failure: str
    solution: str
    project: str = DEFAULT_PROJECT
    lang: str | None = None
    hints: tuple[str, ...] = ()
    is_proposal: bool = False
    is_final: bool = False
    is_counted: bool = False
    known_id: int | None = None
    varying: tuple[str, ...] = ()  # values of that one in whose place this failure has others
    secrets: frozenset[str] = frozenset()  # what was redacted in the failure; never stored


class SavedKnownError(NamedTuple):
    """What saving did. `solution` is "new", "same", "replaced" or "kept"; `reason` says why one of the last two."""

    id: int
    is_new: bool
    occurrences: int
    state: State
    solution: str
    reason: str
    error_type: str
    message: str
    is_redacted: bool


def save_error(
    store: Store, new: NewKnownError, *, mode: RedactionMode = RedactionMode.PATTERN_ONLY
) -> SavedKnownError:
    """Save what fixed a failure; one that is known is counted. Raises UsageError, LockedError."""
    clean, is_redacted = _checked(new, mode)
    signature = sign(error_units(clean.failure)[0])
    now = now_us()
    with store.write() as change:
        number = pattern_of(change.connection, signature, clean.project, clean.lang)
        if number is None:  # or what the caller recognised it as, with the same solution
            query = "SELECT id FROM error_patterns WHERE id = ? AND project = ? AND solution = ?"
            number = read_value(change.connection, query, (clean.known_id, clean.project, clean.solution), int)
            if number is not None and clean.varying:
                lookup.let_vary(change, number, clean.varying)
        if number is None:
            number = _insert(change, signature, clean, now)
            lookup.put(change, number, clean.project, signature)
            done, reason = "new", ""
        else:
            done, reason = _count(change, number, clean, now)
        query = "SELECT occurrences, state, error_type, message FROM error_patterns WHERE id = ?"
        ((occurrences, state, error_type, message),) = change.connection.execute(query, (number,))
    anchor_document(store, DocumentRef("error", number))
    store.catch_up(CATCH_UP_AFTER_WRITE_MS)
    return SavedKnownError(number, done == "new", occurrences, state, done, reason, error_type, message, is_redacted)


def _checked(new: NewKnownError, mode: RedactionMode) -> tuple[NewKnownError, bool]:
    """The same with its values redacted and bounded, and whether the redaction changed any."""
    texts = IncomingTexts(mode, new.secrets).of_record((new.failure, new.solution, *new.hints))
    if not new.failure.strip():
        raise UsageError("There is no error to save.", "Give the failure's output, or --message TEXT.")
    if not new.solution.strip():
        raise UsageError("There is no solution.", "Say what fixed it with --solution TEXT.")
    if not new.project.strip():
        raise UsageError("An error pattern needs a project.", "Leave --project out for the store's.")
    if len(new.solution) > MAX_SOLUTION_CHARS:
        raise UsageError(
            f"The solution has {len(new.solution):,} characters.",
            f"At most {MAX_SOLUTION_CHARS:,}: say what to do, and save the rest as a package.",
        )
    hints = tuple(said for hint in new.hints if (said := texts.line(hint)))[:MAX_HINTS]
    clean = new._replace(
        failure=texts.text(new.failure), solution=texts.text(new.solution.strip()), project=texts.line(new.project),
        lang=texts.line(new.lang or "").lower() or None, hints=hints,
    )  # fmt: skip
    given_hints = tuple(said for hint in new.hints if (said := one_line(hint)))[:MAX_HINTS]
    given = (new.failure, new.solution.strip(), given_hints)
    return clean, (clean.failure, clean.solution, hints) != given


def pattern_of(connection: apsw.Connection, signature: Signature, project: str, lang: str | None = None) -> int | None:
    """The project's own pattern that an error is, the newest of several."""
    lang = lang or signature.language or None
    for known in lookup.same(connection, Whose(project, own_only=True), "instance", signature.instance):
        one = known.signature
        if one.is_traced and signature.is_traced and one.frames[-1].place != signature.frames[-1].place:
            continue  # they failed at different places of the code
        if one.reasons and signature.reasons and one.given_reason != signature.given_reason:
            continue  # or for different reasons
        said, stored = told_by(signature).keys(), told_by(one).keys()
        if not signature.frames and said - stored and stored - said:
            continue  # which other lines of their reports say
        query = "SELECT lang FROM error_patterns WHERE id = ?"
        if lang is None or read_value(connection, query, (known.pattern_id,), str) in (None, lang):
            return known.pattern_id
    return None


def _insert(change: Change, signature: Signature, new: NewKnownError, now: int) -> int:
    place = signature.frames[-1].place if signature.is_traced else ""
    # Twice the width of a fingerprint: as wide as the SHA-256 that other stores know a pattern by.
    alone = (signature.instance, place, new.lang or "", *filter(None, (signature.given_reason,)))
    of_place = fingerprint(signature.template, place)
    pattern_hash = fingerprint(*alone) + of_place
    if patterns.find(change.connection, new.project, pattern_hash) is not None:  # the message of another report
        pattern_hash = fingerprint(*alone, *map(" ".join, told_by(signature))) + of_place
    return patterns.upsert(
        change,
        ErrorPattern(
            new.project, pattern_hash, signature.error_type, signature.message, new.solution, now, now,
            json.dumps(new.hints, ensure_ascii=False), lang=new.lang or signature.language or None,
        ),
    )  # fmt: skip


def _count(change: Change, number: int, new: NewKnownError, now: int) -> tuple[str, str]:
    """Count a known error, and let the better solution stand; says what was done with it and why."""
    query = """
        UPDATE error_patterns
           SET occurrences = occurrences + (?1 IS NOT NULL), last_seen = max(last_seen, coalesce(?1, 0))
         WHERE id = ?2
        RETURNING solution, confirmations, refutations, context_hints
    """
    seen_at = None if new.is_counted else now
    ((old, confirmations, refutations, known_hints),) = list(change.connection.execute(query, (seen_at, number)))
    state, hints = state_of(confirmations, refutations), json.loads(known_hints)
    if more := [hint for hint in new.hints if hint not in hints]:
        change.connection.execute(
            "UPDATE error_patterns SET context_hints = ? WHERE id = ?",
            (json.dumps([*hints, *more][:MAX_HINTS], ensure_ascii=False), number),
        )
    is_stranger = not is_vouched(change.connection, "error", number)
    if new.solution == old:
        if not new.is_proposal:
            note_saved(change.connection, number)
        return "same", ""
    is_better, reason = (True, "the known one is a stranger's") if is_stranger else _judged(new, old, state)
    if not is_better:
        return "kept", reason
    note_saved(change.connection, number)
    values: dict[str, Value] = {"solution": new.solution}
    if state == "refuted" or old not in new.solution:  # one that only says more about the same thing keeps its record
        values |= {"confirmations": 0, "refutations": 0, "confidence": 0.5, "state": "sighted"}
    revise(change, KINDS["error"], number, values)
    return "replaced", reason


def _judged(new: NewKnownError, old: str, state: State) -> tuple[bool, str]:
    """Whether the new solution takes the old one's place, and why."""
    if new.is_final:
        return True, "as asked"
    if state == "refuted":
        return True, "the known one is refuted"
    if new.is_proposal:
        return False, "a proposal replaces no saved solution"
    if old in new.solution:
        return True, "it says more"
    if state == "confirmed":
        return False, "the known one is confirmed"
    if old.startswith((CHANGED, RAN_NEXT)):
        return True, "the known one is what was seen before the failure ended"
    if len(new.solution) > len(old):
        return True, "it is longer"
    return False, "the known one is longer"


def confirm(store: Store, pattern_id: int, *, has_helped: bool) -> patterns.SolutionRecord:
    """Count that a pattern's solution helped, or did not. Raises NotFoundError, LockedError."""
    with store.write() as change:
        return patterns.record_outcome(change, pattern_id, has_helped=has_helped, now=now_us())

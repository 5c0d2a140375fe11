"""`ctxrank error save`, `list`, `show`, `confirm` and `refute`: the known errors and their solutions."""

from collections.abc import Iterator

from ctxrank.cli.actions.errors.lookup import Whose, given_failure, record_words, save_solution
from ctxrank.cli.actions.given import number_of, others_know
from ctxrank.cli.call import Call, Reply, list_reply
from ctxrank.cli.declare import Extended
from ctxrank.cli.output.lines import SHOWN_CHARS, facts, indented, times
from ctxrank.indexer.clock import format_day, format_us, now_us
from ctxrank.indexer.errors.failures import last_failure, resolve
from ctxrank.indexer.errors.listing import Recognition, StoredError, get_error, list_errors, recognition_of
from ctxrank.indexer.errors.lookup import let_vary
from ctxrank.indexer.errors.parse.summaries import is_summary
from ctxrank.indexer.errors.patterns import record_outcome
from ctxrank.indexer.errors.solutions import SavedKnownError
from ctxrank.indexer.light_typing import Any
from ctxrank.indexer.records.older_rules import cleaned_page
from ctxrank.indexer.records.sessions import find_session
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import Page
from ctxrank.indexer.store.ids import public_id
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import error_title, one_line, shorten
from ctxrank.ranking.errors.answer import Asked, recognise
from ctxrank.ranking.errors.confidence import confidence_in
from ctxrank.ranking.retrieval.cleaning import cleaned_task

_KIND = "error"


def save(call: Call, store: Store, solution: str, hints: tuple[str, ...], is_final: bool, **options: Any) -> Reply:
    """Save what fixed a failure, or count a known one."""
    mode = load_config(store).redaction_mode
    failure = given_failure(options["file"], options["error_type"], options["message"], mode)
    whose = Whose(options["project"], options["session"], options["lang"])
    how = "Give the failure's output, or --type and --message."
    saved, project, answer = save_solution(
        store, failure, solution, whose, call.note, how, hints=hints, is_final=is_final
    )
    notes = [
        f"{one_line(one.project)} knows this error, too: {public_id(_KIND, one.match.pattern_id)}, {one.match.state}."
        for one in answer.elsewhere
    ]
    if saved.is_redacted:
        notes.append("secrets were taken out of the solution or the hints.")
    if is_summary(saved.message) or not (saved.message or saved.error_type):
        notes.append(
            "it says only that something failed, so nothing is recognised by it: save the output that says what."
        )
    title = error_title(saved.error_type, saved.message)
    record = Extended(saved, {"project": project, "error": title})
    return Reply(lambda: record, _saved_lines(saved, project, title), notes=tuple(notes))


def _saved_lines(saved: SavedKnownError, project: str, what: str) -> Iterator[str]:
    whose = f"{public_id(_KIND, saved.id)} of {one_line(project)}, {saved.state}"
    if saved.is_new:
        yield f"Saved {whose}: {what}"
        return
    yield f"Counted {whose}, seen {times(saved.occurrences)}: {what}"
    if saved.solution == "replaced":
        yield f"   The solution was replaced: {saved.reason}."
    elif saved.solution == "kept":
        yield f"   The solution was kept: {saved.reason}. --replace takes the new one."


def list_(call: Call, store: Store, project: str | None, state: str | None, **options: Any) -> Reply:
    """Read a page of known errors, the last seen first."""
    state = None if state is None else state.strip().lower()
    found = cleaned_page(store, _KIND, list_errors(store.primary, project=project, state=state, **options))
    elsewhere = others_know(store.primary, "error_patterns", project=project, lang=options["lang"])
    return list_reply(call, found, "errors", _error_lines, absent=(f"no known errors.{elsewhere}",), record=_error_json)


def show(call: Call, store: Store, error: str) -> Reply:
    """Read one known error and what it is recognised by."""
    found = get_error(store.primary, number_of(store.primary, error, _KIND, 3))
    (found,) = cleaned_page(store, _KIND, Page([found], 1))
    by, mode = recognition_of(store.primary, found.id), load_config(store).redaction_mode
    if by is not None:
        values = tuple(cleaned_task(value, mode) for value in by.values)
        headline, unit = cleaned_task(by.headline, mode), cleaned_task(by.unit, mode)
        by = by._replace(headline=headline, unit=unit, values=values)
    return Reply(
        lambda: {"error": _error_json(found), "recognised_by": by and Extended(by, {"masked": by.headline})},
        _details_lines(call, found, by),
    )


def confirm(call: Call, store: Store, error: str, session: str | None) -> Reply:
    """Count that a solution helped."""
    return _count(store, error, session, has_helped=True)


def refute(call: Call, store: Store, error: str) -> Reply:
    """Count that a solution did not help."""
    return _count(store, error, None, has_helped=False)


def _count(store: Store, error: str, session: str | None, *, has_helped: bool) -> Reply:
    session_id = None if session is None else find_session(store.primary, session).id
    before = get_error(store.primary, number_of(store.primary, error, _KIND, 3))
    varying, instance = ((), None) if session_id is None else _confirmed_of(store, session_id, before)
    with store.write() as change:
        record = record_outcome(change, before.id, has_helped=has_helped, now=now_us())
        if session_id is not None:
            resolve(change, session_id, pattern_id=before.id, instance=instance)
        if varying:
            let_vary(change, before.id, varying)
    after = before._replace(confirmations=record.confirmations, refutations=record.refutations)
    moved = f"{record.before} → {record.after}" if record.before != record.after else f"still {record.after}"
    more = {"id": before.id, "state": record.after, "confidence": _own_confidence(after)}
    counts = f"({record.confirmations} for, {record.refutations} against)"
    confidence = f"confidence {_own_confidence(before):.2f} → {_own_confidence(after):.2f}"
    return Reply(lambda: Extended(record, more), [f"{public_id(_KIND, before.id)}: {moved} {counts}, {confidence}"])


def _confirmed_of(store: Store, session_id: int, error: StoredError) -> tuple[tuple[str, ...], str | None]:
    """Where a session's last failure is of the same kind: the error's values that differ in it, and its fingerprint."""
    failure = last_failure(store.primary, session_id, None, now=now_us())
    answer = recognise(store.primary, failure, Asked(error.project, now_us()))
    for one in answer.same_kind:
        if one.match.pattern_id == error.id and one.match.grade == "template" and answer.signature is not None:
            return tuple(name.known for name in one.match.renamed), answer.signature.instance
    return (), None


def _error_lines(call: Call, error: StoredError) -> Iterator[str]:
    """One pattern in a list."""
    record = record_words(error.state, error.confirmations, error.refutations)
    about = facts(
        error.project, error.lang, f"seen {times(error.occurrences)}", f"last {format_day(error.last_seen)}",
        "expired" if error.is_expired else "",
    )  # fmt: skip
    yield (
        f"{call.bold(public_id('error', error.id))} {record}, confidence {_own_confidence(error):.2f} · "
        f"{call.dim(about)}"
    )
    yield f"   {shorten(error_title(error.error_type, error.message), SHOWN_CHARS)}"
    yield f"   Solution: {shorten(one_line(error.solution), SHOWN_CHARS)}"


def _details_lines(call: Call, error: StoredError, recognition: Recognition | None) -> Iterator[str]:
    """One pattern whole."""
    yield from _error_lines(call, error._replace(solution=error.solution.strip().split("\n")[0]))
    yield from list(indented(error.solution.strip()))[1:]
    for hint in error.hints:
        yield f"   Hint: {one_line(hint)}"
    yield f"   {'Expired' if error.is_expired else 'Expires'} {format_us(error.expires_at)}"
    if recognition is None:
        yield "   It is not recognised yet: the next 'ctxrank error match' signs it."
        return
    yield f"   Recognised by: {one_line(recognition.headline) or '(no words)'}"
    for name, values in (("Codes", recognition.codes), ("Masked", recognition.values), ("At", recognition.places)):
        if values:
            yield f"   {name}: {one_line(', '.join(values))}"
    for line in indented(recognition.unit):
        yield call.dim(f"   | {line[3:]}".rstrip())


def _error_json(error: StoredError) -> Extended:
    """One pattern as JSON."""
    return Extended(error, {"confidence": _own_confidence(error)})


def _own_confidence(error: StoredError) -> float:
    """The confidence in its solution where this very error occurs again."""
    return confidence_in(error.confirmations, error.refutations)

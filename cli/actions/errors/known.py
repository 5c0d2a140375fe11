"""`ctxrank error save`, `list`, `show`, `confirm` and `refute`: the known errors and their solutions."""

from collections.abc import Iterator

import apsw

from ctxrank.cli.actions.errors.failure_input import GivenFailure, read_given
from ctxrank.cli.actions.errors.recording import sign_older_errors
from ctxrank.cli.actions.errors.views import (
    details_lines,
    error_json,
    error_lines,
    own_confidence,
    recognition_json,
)
from ctxrank.cli.actions.errors.words import times
from ctxrank.cli.actions.given import others_know
from ctxrank.cli.call import Call, Reply, list_reply, shown
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.errors.failures import resolve
from ctxrank.indexer.errors.listing import get_error, list_errors, recognition_of
from ctxrank.indexer.errors.parse.summaries import is_summary
from ctxrank.indexer.errors.patterns import title_of
from ctxrank.indexer.errors.solutions import NewKnownError, SavedKnownError, save_error
from ctxrank.indexer.errors.solutions import confirm as count_outcome
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.records.sessions import find_session, project_in_force
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.ids import local_ref, public_id
from ctxrank.ranking.errors.answer import Asked, recognise

_KIND = "error"


def save(
    call: Call,
    file: str | None,
    solution: str,
    error_type: str | None,
    message: str | None,
    hints: tuple[str, ...],
    session: str | None,
    project: str | None,
    lang: str | None,
    is_final: bool,
) -> Reply:
    """Save what fixed a failure, or count a known one."""
    with call.open() as store:
        mode = load_config(store).redaction_mode
        failure = read_given(GivenFailure(file, error_type, message), mode)
        if failure.trouble:
            raise UsageError(failure.trouble, "Give the failure's output, or --type and --message.")
        place = project_in_force(store.primary, project, session)
        sign_older_errors(call, store)
        answer = recognise(store.primary, failure.text, Asked(place, now_us(), lang, mode=mode))
        # The matcher knows which other values make no other error.
        known = next((fix.match.pattern_id for fix in answer.fixes if fix.match.grade == "template"), None)
        new = NewKnownError(
            failure.text, solution, place, lang, hints, is_final=is_final, known_id=known, secrets=failure.secrets
        )
        saved = save_error(store, new, mode=mode)
    notes = [
        f"{shown(one.project)} knows this error, too: {public_id(_KIND, one.match.pattern_id)}, {one.match.state}."
        for one in answer.elsewhere
    ]
    if saved.is_redacted:
        notes.append("secrets were taken out of the solution or the hints.")
    if is_summary(saved.message):
        notes.append(
            "it says only that something failed, so nothing is recognised by it: save the output that says what."
        )
    return Reply(
        lambda: {
            "id": public_id(_KIND, saved.id), "new": saved.is_new, "occurrences": saved.occurrences,
            "state": saved.state, "solution": saved.solution, "reason": saved.reason or None, "project": place,
            "error": title_of(saved.error_type, saved.message), "redacted": saved.is_redacted,
        },
        _saved_lines(saved, place),
        notes=tuple(notes),
    )  # fmt: skip


def _saved_lines(saved: SavedKnownError, project: str) -> Iterator[str]:
    what = shown(title_of(saved.error_type, saved.message))
    whose = f"{public_id(_KIND, saved.id)} of {shown(project)}, {saved.state}"
    if saved.is_new:
        yield f"Saved {whose}: {what}"
        return
    yield f"Counted {whose}, seen {times(saved.occurrences)}: {what}"
    if saved.solution == "replaced":
        yield f"   The solution was replaced: {saved.reason}."
    elif saved.solution == "kept":
        yield f"   The solution was kept: {saved.reason}. --replace takes the new one."


def list_(
    call: Call, project: str | None, lang: str | None, state: str | None, with_expired: bool, limit: int
) -> Reply:
    """Read a page of known errors, the last seen first."""
    with call.open() as store:
        found = list_errors(
            store.primary, project=project, lang=lang, state=None if state is None else state.strip().lower(),
            with_expired=with_expired, limit=limit,
        )  # fmt: skip
        elsewhere = "" if found or project is None else others_know(store.primary, "error_patterns", project)
    return list_reply(
        found,
        lambda: {"errors": [error_json(error) for error in found]},
        (line for error in found for line in error_lines(call, error)),
        notes=() if found else (f"no known errors.{elsewhere}",),
    )


def show(call: Call, error: str) -> Reply:
    """Read one known error and what it is recognised by."""
    with call.open() as store:
        found = get_error(store.primary, _number(store.primary, error))
        recognition = recognition_of(store.primary, found.id)
    return Reply(
        lambda: {"error": error_json(found), "recognised_by": recognition_json(recognition)},
        details_lines(call, found, recognition),
    )


def confirm(call: Call, error: str, session: str | None) -> Reply:
    """Count that a solution helped."""
    return _count(call, error, has_helped=True, session=session)


def refute(call: Call, error: str) -> Reply:
    """Count that a solution did not help."""
    return _count(call, error, has_helped=False, session=None)


def _count(call: Call, error: str, *, has_helped: bool, session: str | None) -> Reply:
    with call.open() as store:
        session_id = None if session is None else find_session(store.primary, session).id
        before = get_error(store.primary, _number(store.primary, error))
        record = count_outcome(store, before.id, has_helped=has_helped)
        if session_id is not None:
            with store.write() as change:
                resolve(change, session_id, pattern_id=before.id)
    after = before._replace(confirmations=record.confirmations, refutations=record.refutations)
    moved = f"{record.before} → {record.after}" if record.before != record.after else f"still {record.after}"
    id_ = public_id(_KIND, before.id)
    return Reply(
        lambda: {
            "id": id_, "before": record.before, "state": record.after,
            "confirmations": record.confirmations, "refutations": record.refutations,
            "confidence": round(own_confidence(after), 4),
        },
        [
            f"{id_}: {moved} ({record.confirmations} for, {record.refutations} against), "
            f"confidence {own_confidence(before):.2f} → {own_confidence(after):.2f}"
        ],
    )  # fmt: skip


def _number(database: apsw.Connection, text: str) -> int:
    """`error:3` or 3. Raises UsageError, NotFoundError."""
    ref = local_ref(database, text, _KIND)
    if ref.kind != _KIND:
        raise UsageError(f"{ref} is not an error.", "Give an error's id, such as 3 or error:3.")
    return ref.number

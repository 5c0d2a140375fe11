"""`ctxrank error save`, `list`, `show`, `confirm` and `refute`: the known errors and their solutions."""

from collections.abc import Iterator

import apsw

from ctxrank.cli.actions.errors.failure_input import GivenFailure, read_given
from ctxrank.cli.actions.errors.lookup import Whose, save_solution
from ctxrank.cli.actions.errors.views import details_lines, error_json, error_lines, own_confidence
from ctxrank.cli.actions.given import others_know
from ctxrank.cli.call import Call, Extended, Reply, list_reply, shown
from ctxrank.cli.output.lines import times
from ctxrank.indexer.errors.failures import resolve
from ctxrank.indexer.errors.listing import get_error, list_errors, recognition_of
from ctxrank.indexer.errors.parse.summaries import is_summary
from ctxrank.indexer.errors.patterns import title_of
from ctxrank.indexer.errors.solutions import SavedKnownError
from ctxrank.indexer.errors.solutions import confirm as count_outcome
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import Any
from ctxrank.indexer.records.sessions import find_session
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.ids import local_ref, public_id

_KIND = "error"


def save(call: Call, solution: str, hints: tuple[str, ...], is_final: bool, **options: Any) -> Reply:
    """Save what fixed a failure, or count a known one."""
    with call.open() as store:
        given = GivenFailure(options["file"], options["error_type"], options["message"])
        failure = read_given(given, load_config(store).redaction_mode)
        saved, project, answer = save_solution(
            store, failure, solution, Whose(options["project"], options["session"], options["lang"]), call.note,
            "Give the failure's output, or --type and --message.", hints=hints, is_final=is_final,
        )  # fmt: skip
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
    title = title_of(saved.error_type, saved.message)
    return Reply(
        lambda: Extended(saved, {"project": project, "error": title}),
        _saved_lines(saved, project, shown(title)),
        notes=tuple(notes),
    )


def _saved_lines(saved: SavedKnownError, project: str, what: str) -> Iterator[str]:
    whose = f"{public_id(_KIND, saved.id)} of {shown(project)}, {saved.state}"
    if saved.is_new:
        yield f"Saved {whose}: {what}"
        return
    yield f"Counted {whose}, seen {times(saved.occurrences)}: {what}"
    if saved.solution == "replaced":
        yield f"   The solution was replaced: {saved.reason}."
    elif saved.solution == "kept":
        yield f"   The solution was kept: {saved.reason}. --replace takes the new one."


def list_(call: Call, project: str | None, state: str | None, **options: Any) -> Reply:
    """Read a page of known errors, the last seen first."""
    state = None if state is None else state.strip().lower()
    with call.open() as store:
        found = list_errors(store.primary, project=project, state=state, **options)
        elsewhere = "" if found or project is None else others_know(store.primary, "error_patterns", project)
    lines = (line for error in found for line in error_lines(call, error))
    notes = () if found else (f"no known errors.{elsewhere}",)
    return list_reply(found, "errors", lines, notes=notes, record=error_json)


def show(call: Call, error: str) -> Reply:
    """Read one known error and what it is recognised by."""
    with call.open() as store:
        found = get_error(store.primary, _number(store.primary, error))
        by = recognition_of(store.primary, found.id)
    return Reply(
        lambda: {"error": error_json(found), "recognised_by": by and Extended(by, {"masked": by.headline})},
        details_lines(call, found, by),
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
    more = {"id": before.id, "state": record.after, "confidence": own_confidence(after)}
    return Reply(
        lambda: Extended(record, more),
        [
            f"{public_id(_KIND, before.id)}: {moved} ({record.confirmations} for, {record.refutations} against), "
            f"confidence {own_confidence(before):.2f} → {own_confidence(after):.2f}"
        ],
    )


def _number(database: apsw.Connection, text: str) -> int:
    """`error:3` or 3. Raises UsageError, NotFoundError."""
    ref = local_ref(database, text, _KIND)
    if ref.kind != _KIND:
        raise UsageError(f"{ref} is not an error.", "Give an error's id, such as 3 or error:3.")
    return ref.number

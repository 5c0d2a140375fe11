"""`ctxrank error`: is this failure known, and what fixed it?"""

from ctxrank.cli import declare
from ctxrank.cli.call import Call, shown
from ctxrank.indexer.records import TYPE_CHECKING

if TYPE_CHECKING:  # help opens no database
    import apsw

    from ctxrank.indexer.store import Store
    from ctxrank.ranking.error_answer import ErrorAnswer


@declare.group()
def command() -> None:
    """Known errors: recognise a failure, say what fixed it, save it, and learn whether the fix holds."""


@command.command()
@declare.argument("file", metavar="[FILE]", required=False)
@declare.option("--type", "error_type", help="The error's type, with --message.")
@declare.option("--message", help="The error's message, instead of its output.")
@declare.option("--session", help="Record the failure for this session.")
@declare.option("--group", help="And for this task group; none, - or 'global' means the whole session.")
@declare.option("--create-session", is_flag=True, help="Make the session if it is not there.")
@declare.option("--project", help="Whose known errors [default: the session's project, else 'default'].")
@declare.option("--lang", help="Leave out the known errors of other languages.")
@declare.option("-n", "--limit", default=3, show_default=True, type=declare.Whole(1, 12), help="How many.")
def match(
    call: Call,
    file: str | None,
    error_type: str | None,
    message: str | None,
    session: str | None,
    group: str | None,
    create_session: bool,
    project: str | None,
    lang: str | None,
    limit: int,
) -> int:
    """Say whether a failure is known and what fixed it; silent, with exit code 1, where it is not.

    Reads a command's output from FILE or stdin. With --session the failure is recorded, as the last one of its
    group and as one more sighting of what it is.

    Example: ctxrank error match output.log --session S --group AUTH
    """
    from ctxrank.cli.error_answer_view import answer_json, print_answer
    from ctxrank.cli.failure_input import GivenFailure, read_given
    from ctxrank.indexer.clock import now_us
    from ctxrank.indexer.config import load_config
    from ctxrank.indexer.failures import seen_before
    from ctxrank.ranking.error_answer import Asked, ErrorAnswer, recognise

    with call.open() as store:
        mode = load_config(store).redaction_mode
        failure = read_given(GivenFailure(file, error_type, message), mode)
        place = project_of(store.truth, project, session)
        seen = None
        if failure.trouble:
            answer = ErrorAnswer("no_match", failure.trouble, (), None, "", 0)
        else:
            _sign_older(call, store)
            answer = recognise(store.truth, failure.text, Asked(place, now_us(), lang, limit, mode))
            if answer.signature is not None:
                seen = seen_before(store.truth, place, answer.signature.instance)
            if session is not None:
                _record(call, store, answer, session, group, create_session=create_session)
    if call.is_json:
        from ctxrank.cli.envelope import emit_json

        emit_json(answer_json(answer, seen), outcome=answer.outcome)
    else:
        print_answer(call, answer, seen)
    return 0 if answer.fixes else 1


@command.command()
@declare.argument("file", metavar="[FILE]", required=False)
@declare.option("--solution", required=True, help="What fixed it.")
@declare.option("--type", "error_type", help="The error's type, with --message.")
@declare.option("--message", help="The error's message, instead of its output.")
@declare.option("--hint", "hints", multiple=True, help="Where it happens: a tool, a folder, a version.")
@declare.option("--session", help="The session whose project it belongs to.")
@declare.option("--project", help="The project [default: the session's project, else 'default'].")
@declare.option("--lang", help="The language [default: the one that the output shows].")
@declare.option("--replace", "is_final", is_flag=True, help="Take this solution whatever is known.")
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
) -> None:
    """Save what fixed a failure, whose output is read from FILE or stdin; a known one is counted.

    Of two solutions the longer stays, a confirmed one stays, and a refuted one goes.

    Example: ctxrank error save output.log --solution "pip install pyyaml" --lang python
    """
    from ctxrank.cli.error_words import times
    from ctxrank.cli.failure_input import GivenFailure, read_given
    from ctxrank.indexer.clock import now_us
    from ctxrank.indexer.config import load_config
    from ctxrank.indexer.error_patterns import title_of
    from ctxrank.indexer.errors import UsageError
    from ctxrank.indexer.known_errors import NewKnownError, save_error
    from ctxrank.ranking.error_answer import Asked, recognise

    with call.open() as store:
        mode = load_config(store).redaction_mode
        failure = read_given(GivenFailure(file, error_type, message), mode)
        if failure.trouble:
            raise UsageError(failure.trouble, "Give the failure's output, or --type and --message.")
        place = project_of(store.truth, project, session)
        _sign_older(call, store)
        answer = recognise(store.truth, failure.text, Asked(place, now_us(), lang, mode=mode))
        # The matcher knows which other values make no other error.
        known = next((fix.match.pattern_id for fix in answer.fixes if fix.match.grade == "template"), None)
        new = NewKnownError(failure.text, solution, place, lang, hints, is_final=is_final, known_id=known)
        saved = save_error(store, new, mode=mode)
    if saved.is_redacted:
        call.note("secrets were taken out of the solution or the hints.")
    if call.is_json:
        from ctxrank.cli.envelope import emit_json

        emit_json(
            {
                "id": f"error:{saved.id}", "new": saved.is_new, "occurrences": saved.occurrences, "state": saved.state,
                "solution": saved.solution, "reason": saved.reason or None, "project": place,
                "error": title_of(saved.error_type, saved.message), "redacted": saved.is_redacted,
            }
        )  # fmt: skip
        return
    what = shown(title_of(saved.error_type, saved.message))
    if saved.is_new:
        print(f"Saved error:{saved.id} of {shown(place)}, {saved.state}: {what}")
        return
    print(f"Counted error:{saved.id} of {shown(place)}, {saved.state}, seen {times(saved.occurrences)}: {what}")
    if saved.solution == "replaced":
        print(f"   The solution was replaced: {saved.reason}.")
    elif saved.solution == "kept":
        print(f"   The solution stays what it was: {saved.reason}. --replace takes the new one.")


@command.command(is_interspersed=False)
@declare.argument("arguments", metavar="-- CMD [ARG]...", nargs=-1, required=True)
@declare.option("--session", help="Record a failure for this session.")
@declare.option("--group", help="And for this task group; none, - or 'global' means the whole session.")
@declare.option("--create-session", is_flag=True, help="Make the session if it is not there.")
@declare.option("--project", help="Whose known errors [default: the session's project, else 'default'].")
@declare.option("--lang", help="Leave out the known errors of other languages.")
def run(
    call: Call,
    arguments: tuple[str, ...],
    session: str | None,
    group: str | None,
    create_session: bool,
    project: str | None,
    lang: str | None,
) -> int:
    """Run a command and learn from it: its output and exit code are its own.

    A failure is remembered, and what is known of it is said on stderr. When the same command later succeeds in the
    same folder, the files that changed in between are saved as a sighted fix.

    Example: ctxrank error run --session S -- python -m pytest -q
    """
    from ctxrank.cli.error_run import RunPlace, run_and_learn
    from ctxrank.indexer.errors import UsageError

    if call.is_json:
        raise UsageError("'error run' has no JSON: stdout is the command's.", "'ctxrank error match --json' has.")
    return run_and_learn(call, arguments, RunPlace(session, group, create_session, project, lang))


@command.command("list")
@declare.option("--project", help="Only of this project.")
@declare.option("--lang", help="Leave out those of other languages.")
@declare.option("--state", help="Only sighted, confirmed or refuted ones.")
@declare.option("--expired", "with_expired", is_flag=True, help="Also those whose time is over.")
@declare.option("-n", "--limit", default=20, show_default=True, type=declare.Whole(1), help="How many.")
def list_(call: Call, project: str | None, lang: str | None, state: str | None, with_expired: bool, limit: int) -> int:
    """List known errors, the last seen first.

    Example: ctxrank error list --project shop --state confirmed
    """
    from ctxrank.cli.error_view import error_json, print_error
    from ctxrank.indexer.error_listing import list_errors

    with call.open() as store:
        found = list_errors(
            store.truth, project=project, lang=lang, state=None if state is None else state.strip().lower(),
            with_expired=with_expired, limit=limit + 1,
        )  # fmt: skip
    errors = found[:limit]
    if call.is_json:
        from ctxrank.cli.envelope import emit_json

        emit_json(
            {
                "total": len(errors), "has_more": len(found) > limit, "errors": [error_json(error) for error in errors],
            },
            outcome="matched" if errors else "no_match",
        )  # fmt: skip
    else:
        for error in errors:
            print_error(call, error)
        if len(found) > limit:
            call.note("there are more; -n shows more at once.")
    if not errors:
        call.note("no known errors.")
    return 0 if errors else 1


@command.command()
@declare.argument("error", metavar="ID")
def show(call: Call, error: str) -> None:
    """Show one known error: its solution, its record, and what it is recognised by.

    Example: ctxrank error show error:3
    """
    from ctxrank.cli.error_view import error_json, print_details, recognition_json
    from ctxrank.indexer.error_listing import get_error, recognition_of

    with call.open() as store:
        found = get_error(store.truth, _id(error))
        recognition = recognition_of(store.truth, found.id)
    if call.is_json:
        from ctxrank.cli.envelope import emit_json

        emit_json({"error": error_json(found), "recognised_by": recognition_json(recognition)})
    else:
        print_details(call, found, recognition)


@command.command()
@declare.argument("error", metavar="ID")
@declare.option("--session", help="The session that it helped: its failure is over.")
def confirm(call: Call, error: str, session: str | None) -> None:
    """Say that an error's solution helped.

    Example: ctxrank error confirm error:3 --session S
    """
    _move(call, error, has_helped=True, session=session)


@command.command()
@declare.argument("error", metavar="ID")
def refute(call: Call, error: str) -> None:
    """Say that an error's solution did not help.

    Example: ctxrank error refute error:3
    """
    _move(call, error, has_helped=False, session=None)


@command.command()
@declare.option("--project", help="Only of this project.")
@declare.option("--dry-run", is_flag=True, help="Count; remove nothing.")
def prune(call: Call, project: str | None, dry_run: bool) -> None:
    """Remove the known errors whose time is over, and count them.

    Example: ctxrank error prune --project shop --dry-run
    """
    from ctxrank.indexer.error_listing import prune_errors

    with call.open() as store:
        count = prune_errors(store, project=project, is_dry_run=dry_run)
    if call.is_json:
        from ctxrank.cli.envelope import emit_json

        emit_json({"deleted": count, "dry_run": dry_run})
    else:
        print(f"{'Would remove' if dry_run else 'Removed'} {count} expired {'error' if count == 1 else 'errors'}")


def project_of(truth: "apsw.Connection", project: str | None, session: str | None) -> str:
    """The project that is meant: as asked, else the session's where there is such a session, else 'default'."""
    from ctxrank.indexer.sessions import DEFAULT_PROJECT

    if project is not None and project.strip():
        return project.strip()
    row = truth.execute("SELECT project FROM sessions WHERE name = ?", (session or "",)).fetchone()
    return DEFAULT_PROJECT if row is None else str(row[0])


def _record(
    call: Call, store: "Store", answer: "ErrorAnswer", session: str, group: str | None, *, create_session: bool
) -> None:
    """Record the failure; an answer that was found is not lost because recording fails."""
    from ctxrank.indexer.errors import LockedError, NotFoundError
    from ctxrank.indexer.failures import Failure, Place, record_failure

    assert answer.signature is not None, "a failure with text has a signature"
    known = answer.fixes[0].match if answer.fixes else None
    failure = Failure(answer.signature, answer.unit, None if known is None else known.pattern_id)
    try:
        record_failure(store, Place(session, group), failure, create_session=create_session)
    except (NotFoundError, LockedError) as error:
        call.note(f"the failure is not recorded: {error.message} {error.hint}".rstrip())


def _sign_older(call: Call, store: "Store") -> None:
    from ctxrank.indexer.errors import LockedError
    from ctxrank.indexer.failures import sign_older

    try:
        sign_older(store)
    except LockedError:
        call.note("the store is locked: errors from before an upgrade are not recognised this time.")


def _move(call: Call, error: str, *, has_helped: bool, session: str | None) -> None:
    from ctxrank.cli.error_view import own_confidence
    from ctxrank.indexer.error_listing import get_error
    from ctxrank.indexer.failures import resolve
    from ctxrank.indexer.known_errors import confirm as count_outcome
    from ctxrank.indexer.sessions import find_session

    with call.open() as store:
        session_id = None if session is None else find_session(store.truth, session).id
        before = get_error(store.truth, _id(error))
        record = count_outcome(store, before.id, has_helped=has_helped)
        if session_id is not None:
            with store.write() as change:
                resolve(change, session_id, pattern_id=before.id)
    after = before._replace(confirmations=record.confirmations, refutations=record.refutations)
    if call.is_json:
        from ctxrank.cli.envelope import emit_json

        emit_json(
            {
                "id": f"error:{before.id}", "before": record.before, "state": record.after,
                "confirmations": record.confirmations, "refutations": record.refutations,
                "confidence": round(own_confidence(after), 4),
            }
        )  # fmt: skip
        return
    moved = f"{record.before} → {record.after}" if record.before != record.after else f"still {record.after}"
    print(
        f"error:{before.id}: {moved} ({record.confirmations} for, {record.refutations} against), "
        f"confidence {own_confidence(before):.2f} → {own_confidence(after):.2f}"
    )


def _id(text: str) -> int:
    """`error:3` or 3. Raises UsageError."""
    from ctxrank.indexer.documents import parse_ref
    from ctxrank.indexer.errors import UsageError

    ref = parse_ref(f"error:{text.strip()}" if text.strip().isdecimal() else text)
    if ref.kind != "error":
        raise UsageError(f"{ref} is not an error.", "Give an error's id, such as 3 or error:3.")
    return ref.number

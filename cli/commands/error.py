"""`ctxrank error`: is this failure known, and what fixed it?"""

from ctxrank.cli import declare
from ctxrank.cli.call import Call, shown


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
    from ctxrank.cli.commands.error_answer_view import answer_json, print_answer
    from ctxrank.cli.commands.error_recording import project_of, record_sighting, sign_older_errors
    from ctxrank.cli.commands.failure_input import GivenFailure, read_given
    from ctxrank.indexer.clock import now_us
    from ctxrank.indexer.errors.failures import seen_before
    from ctxrank.indexer.store.config import load_config
    from ctxrank.ranking.errors.answer import Asked, ErrorAnswer, recognise

    with call.open() as store:
        mode = load_config(store).redaction_mode
        failure = read_given(GivenFailure(file, error_type, message), mode)
        place = project_of(store.truth, project, session)
        seen = None
        if failure.trouble:
            answer = ErrorAnswer("no_match", failure.trouble, (), None, "", 0)
        else:
            sign_older_errors(call, store)
            answer = recognise(store.truth, failure.text, Asked(place, now_us(), lang, limit, mode))
            if answer.signature is not None:
                seen = seen_before(store.truth, place, answer.signature.instance)
            if session is not None:
                record_sighting(call, store, answer, session, group, create_session=create_session)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

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
    from ctxrank.cli.commands.error_recording import project_of, sign_older_errors
    from ctxrank.cli.commands.error_words import times
    from ctxrank.cli.commands.failure_input import GivenFailure, read_given
    from ctxrank.indexer.clock import now_us
    from ctxrank.indexer.errors.parse.summaries import is_summary
    from ctxrank.indexer.errors.patterns import title_of
    from ctxrank.indexer.errors.solutions import NewKnownError, save_error
    from ctxrank.indexer.exceptions import UsageError
    from ctxrank.indexer.store.config import load_config
    from ctxrank.ranking.errors.answer import Asked, recognise

    with call.open() as store:
        mode = load_config(store).redaction_mode
        failure = read_given(GivenFailure(file, error_type, message), mode)
        if failure.trouble:
            raise UsageError(failure.trouble, "Give the failure's output, or --type and --message.")
        place = project_of(store.truth, project, session)
        sign_older_errors(call, store)
        answer = recognise(store.truth, failure.text, Asked(place, now_us(), lang, mode=mode))
        # The matcher knows which other values make no other error.
        known = next((fix.match.pattern_id for fix in answer.fixes if fix.match.grade == "template"), None)
        new = NewKnownError(failure.text, solution, place, lang, hints, is_final=is_final, known_id=known)
        saved = save_error(store, new, mode=mode)
    if saved.is_redacted:
        call.note("secrets were taken out of the solution or the hints.")
    if is_summary(saved.message):
        call.note("it says only that something failed, so nothing is recognised by it: save the output that says what.")
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

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
    from ctxrank.cli.commands.error_run import RunPlace, run_and_learn
    from ctxrank.indexer.exceptions import UsageError

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
    from ctxrank.cli.commands.error_view import error_json, print_error
    from ctxrank.indexer.errors.listing import list_errors

    with call.open() as store:
        found = list_errors(
            store.truth, project=project, lang=lang, state=None if state is None else state.strip().lower(),
            with_expired=with_expired, limit=limit + 1,
        )  # fmt: skip
    errors = found[:limit]
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

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
    from ctxrank.cli.commands.error_outcome import number_of
    from ctxrank.cli.commands.error_view import error_json, print_details, recognition_json
    from ctxrank.indexer.errors.listing import get_error, recognition_of

    with call.open() as store:
        found = get_error(store.truth, number_of(error))
        recognition = recognition_of(store.truth, found.id)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

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
    from ctxrank.cli.commands.error_outcome import count_outcome

    count_outcome(call, error, has_helped=True, session=session)


@command.command()
@declare.argument("error", metavar="ID")
def refute(call: Call, error: str) -> None:
    """Say that an error's solution did not help.

    Example: ctxrank error refute error:3
    """
    from ctxrank.cli.commands.error_outcome import count_outcome

    count_outcome(call, error, has_helped=False, session=None)


@command.command()
@declare.option("--project", help="Only of this project.")
@declare.option("--dry-run", is_flag=True, help="Count; remove nothing.")
def prune(call: Call, project: str | None, dry_run: bool) -> None:
    """Remove the known errors whose time is over, and count them.

    Example: ctxrank error prune --project shop --dry-run
    """
    from ctxrank.indexer.privacy.retention import prune_errors

    with call.open() as store:
        count = prune_errors(store, project=project, is_dry_run=dry_run)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json({"deleted": count, "dry_run": dry_run})
    else:
        print(f"{'Would remove' if dry_run else 'Removed'} {count} expired {'error' if count == 1 else 'errors'}")

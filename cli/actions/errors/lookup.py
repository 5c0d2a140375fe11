"""What a command is given as a failure, what is known of it, and what is written down: for commands and the API."""

from collections.abc import Callable

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.errors.failure_text import FailureText, read_failure_text, told_failure
from ctxrank.indexer.errors.failures import FailurePlace, Sighting, record_failure
from ctxrank.indexer.errors.lookup import sign_older
from ctxrank.indexer.exceptions import LockedError, NotFoundError, UsageError, refused_by_system
from ctxrank.indexer.light_typing import TYPE_CHECKING, Any, NamedTuple
from ctxrank.indexer.records.sessions import project_in_force
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.errors.answer import MAX_FIXES, Asked, ErrorAnswer, recognise

if TYPE_CHECKING:
    from ctxrank.indexer.errors.solutions import SavedKnownError

Say = Callable[[str], None]


class Whose(NamedTuple):
    """Whose known errors are meant: a project, else a session's, else the store's; of one language or of all."""

    project: str | None = None
    session: str | None = None
    lang: str | None = None


def look_up(
    store: Store, failure: FailureText, whose: Whose, say: Say | None, limit: int = MAX_FIXES
) -> tuple[str, ErrorAnswer]:
    """The project that was asked, and its answer. Raises NotFoundError; LockedError where `say` is None."""
    project = project_in_force(store.primary, whose.project, whose.session)
    if failure.trouble:
        return project, ErrorAnswer("no_match", failure.trouble, (), None, "", 0)
    try:
        sign_older(store)
    except LockedError:
        if say is None:
            raise
        say("the store is locked: errors from before an upgrade are not recognised this time.")
    asked = Asked(project, now_us(), whose.lang, limit, load_config(store).redaction_mode)
    return project, recognise(store.primary, failure.text, asked)


def save_solution(
    store: Store, failure: FailureText, solution: str, whose: Whose, say: Say | None, how: str, **about: Any
) -> "tuple[SavedKnownError, str, ErrorAnswer]":
    """Keep what fixed a failure: what was saved, for which project, and what was known before.

    `how` says how to give a failure where there is none; `about` are further fields of NewKnownError. Raises
    UsageError.
    """
    from ctxrank.indexer.errors.solutions import NewKnownError, save_error  # noqa: PLC0415  a failure saves none

    if failure.trouble:
        raise UsageError(failure.trouble, how)
    project, answer = look_up(store, failure, whose, say)
    # The matcher knows which other values make no other error.
    alike = (*answer.fixes, *answer.same_kind)
    known = next(
        (fix.match for fix in alike if fix.match.grade == "template" and fix.solution == solution.strip()), None
    )
    if known is not None:
        about |= {"known_id": known.pattern_id, "varying": tuple(one.known for one in known.renamed)}
    new = NewKnownError(failure.text, solution, project, whose.lang, secrets=failure.secrets, **about)
    return save_error(store, new, mode=load_config(store).redaction_mode), project, answer


def record_sighting(say: Say, store: Store, answer: ErrorAnswer, place: FailurePlace, *, create_session: bool) -> None:
    """Record the failure for its session; an answer that was found is not lost because recording fails."""
    assert answer.signature is not None, "a failure with text has a signature"
    pattern_id = answer.fixes[0].match.pattern_id if answer.fixes else None
    try:
        sighting = Sighting(answer.signature, answer.unit, now_us())
        record_failure(store, place, sighting, pattern_id, create_session=create_session)
    except (NotFoundError, LockedError) as error:
        say(f"the failure is not recorded: {error.message} {error.hint}".rstrip())


def capture_given(file: str | None) -> bytes:
    """What a file or, for '-' and None, stdin holds, bounded. Raises UsageError where there is nothing to read from."""
    from ctxrank.cli.actions.given import OR_STDIN, or_piped, stdin_bytes  # noqa: PLC0415  a hook is given the failure
    from ctxrank.indexer.errors.parse.capture import capture_file, capture_stream  # noqa: PLC0415  as above

    file = or_piped(file)
    if file is None:
        raise UsageError(
            "There is no output to look at.", "Pipe it in, as in 'make 2>&1 | ctxrank error match', or name a FILE."
        )
    if file == "-":
        return capture_stream(stdin_bytes()).data()
    with refused_by_system(f"{file} cannot be read", OR_STDIN, UsageError):
        return capture_file(file).data()


def given_failure(file: str | None, error_type: str | None, message: str | None, mode: RedactionMode) -> FailureText:
    """The failure, redacted: a message with its type, else a file. Raises UsageError where it is given twice."""
    if message is None:
        if error_type is not None:
            raise UsageError("--type needs --message.", "Give both, or the failure's whole output.")
        return read_failure_text(capture_given(file), mode)
    if file is not None:
        raise UsageError("The failure is given twice.", f"Give {file}, or --message, not both.")
    return told_failure(error_type or "", message, mode)


def record_words(state: str, confirmations: int, refutations: int) -> str:
    """A solution's state, with its record where it has one."""
    return f"{state} ({confirmations} for, {refutations} against)" if confirmations or refutations else state

"""`ctxrank error run`: what a command's failure and its next success teach.

The command comes first: the store is opened after it has ended, and what is wrong with the store is a note on stderr.
"""

import os

from ctxrank.cli.actions.errors.lookup import record_sighting
from ctxrank.cli.call import Call, Reply
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.errors import failed_commands
from ctxrank.indexer.errors.command_keys import command_key
from ctxrank.indexer.errors.failed_commands import FailedCommand, TreeState, shown_command
from ctxrank.indexer.errors.failure_text import read_failure_text
from ctxrank.indexer.errors.failures import FailurePlace, resolve
from ctxrank.indexer.errors.lookup import sign_older
from ctxrank.indexer.errors.parse.summaries import is_summary
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.light_typing import TYPE_CHECKING, Any, NamedTuple
from ctxrank.indexer.records.conversations import note_changed
from ctxrank.indexer.records.sessions import project_in_force, session_id_of
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.ids import public_id
from ctxrank.indexer.store.location import checkout_of
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.errors.answer import Asked, ErrorAnswer, recognise

if TYPE_CHECKING:
    from ctxrank.cli.actions.errors.passthrough import Finished
    from ctxrank.indexer.errors.tree_changes import TreeChanges

_NAMES_SHOWN = 8
_LINES_SHOWN, _LINE_CHARS = 20, 160  # of what changed


class CommandRun(NamedTuple):
    """A command that has ended, where it belongs, and when it ran, in microseconds."""

    key: str
    command: str  # redacted, on one line
    folder: str
    project: str
    session: str | None
    group: str | None
    started_at: int
    ended_at: int
    mode: RedactionMode
    lang: str | None = None
    create_session: bool = True


def run(call: Call, arguments: tuple[str, ...], **options: Any) -> Reply:
    """Run a command and learn from how it ended; its exit code is ours, and its output has left already."""
    from ctxrank.cli.actions.errors.passthrough import INTERRUPTED, run_through  # noqa: PLC0415  a hook has had the command run

    started_at = now_us()
    finished = run_through(arguments)
    ended_at = now_us()
    if finished.trouble:
        call.note(finished.trouble)
    elif finished.code not in INTERRUPTED:
        try:
            with call.open() as store:
                _learn(call, store, arguments, finished, {**options, "started_at": started_at, "ended_at": ended_at})
        except Exception as error:  # a failure here must not change the command's result
            from ctxrank.cli.unexpected import explained  # noqa: PLC0415  rare

            reported = error if isinstance(error, CtxrankError) else explained(error, call.db, call.root)
            call.note(f"not recorded: {reported.message} {reported.hint}".rstrip())
    return Reply(exit_code=finished.code)


def _learn(call: Call, store: Store, command: tuple[str, ...], finished: "Finished", about: dict[str, Any]) -> None:
    from shlex import join  # noqa: PLC0415  a hook has the command as one line

    mode = load_config(store).redaction_mode
    project = project_in_force(store.primary, about.pop("project"), about["session"])
    line = join(command)
    key, folder = command_key(line, os.getcwd(), store.location.root, project)
    run = CommandRun(key=key, command=shown_command(line, mode), folder=folder, project=project, mode=mode, **about)
    if not finished.code:
        learn_from_success(call, store, run)
        return
    # Errors go to stderr; compilers and test runners write theirs to stdout. Apart, so that no line is torn.
    output = finished.stdout.rstrip(b"\n") + b"\n" + finished.stderr
    answer = learn_from_failure(call, store, run, output, f"exit code {finished.code}")
    for fix in answer.fixes[:1] if answer is not None else ():
        helped = "did not help" if fix.match.state == "refuted" else fix.match.state
        judged = f"{fix.match.grade}, confidence {fix.match.confidence:.2f}, {helped}"
        is_known = "known as" if fix.match.word == "known" else fix.match.word
        call.note(f"{is_known} {public_id('error', fix.match.pattern_id)} ({judged}): {fix.solution}")


def learn_from_failure(
    call: Call, store: Store, run: CommandRun, output: bytes, name: str = "the failure"
) -> ErrorAnswer | None:
    """Remember that a command failed, and say what is known of it; None where it printed nothing to know it by."""
    failure = read_failure_text(output, run.mode)
    if failure.trouble:
        call.note(f"{name} is not recorded. {failure.trouble}")
        return None
    sign_older(store)
    answer = _recognised(store, run, failure.text)
    known = failed_commands.recall(store.primary, run.key, now=run.ended_at)
    if known is None or known.unit != answer.unit:  # else the tree stays as it was noted, and git need not be asked
        _remember(store, run, answer.unit)
    elif known.ran:
        with store.write() as change:
            failed_commands.note_ran(change, run.key, ())
    if run.session is not None and answer.signature is not None:
        place = FailurePlace(run.session, run.group)
        record_sighting(call.note, store, answer, place, create_session=run.create_session)
    return answer


def _remember(store: Store, run: CommandRun, unit: str) -> None:
    tree = TreeState()
    if checkout_of(os.path.realpath(store.location.root)) is not None:
        from ctxrank.indexer.errors.tree_changes import note_tree  # noqa: PLC0415  a failure that is not noted yet
        from ctxrank.indexer.files.paths import without_secret  # noqa: PLC0415  the same

        commit, *lists = note_tree(store.location.root, store.location.folder)
        clean = [tuple(name for name in names if without_secret(name, run.mode) == name) for names in lists]
        tree = TreeState(commit, *clean)
    with store.write() as change:
        failed_commands.remember(change, FailedCommand(run.key, run.command, run.folder, unit, tree, run.ended_at))


def _recognised(store: Store, run: CommandRun, text: str) -> ErrorAnswer:
    return recognise(store.primary, text, Asked(run.project, run.ended_at, run.lang, mode=run.mode))


def learn_from_success(call: Call, store: Store, run: CommandRun) -> None:
    """Where the command failed before, keep what has changed since as a sighted solution."""
    failed = failed_commands.recall(store.primary, run.key, now=run.ended_at)
    if failed is None:
        return
    from ctxrank.indexer.errors.tree_changes import changes_between  # noqa: PLC0415  after a failure alone

    # What the successful run wrote itself is no fix of it.
    changes = changes_between(store.location.root, failed.tree, failed.failed_at, run.started_at, store.location.folder)
    answer = _recognised(store, run, failed.unit)
    known = next((fix for fix in answer.fixes if fix.match.state != "refuted"), None)
    if known is not None:
        id_ = public_id("error", known.match.pattern_id)
        call.note(f"{id_} no longer occurs. If its solution helped, confirm it: ctxrank error confirm {id_}")
    elif not (changes.names or failed.ran):
        call.note("it failed before and no file has changed since. 'ctxrank error save' records what helped.")
    elif answer.signature is not None and is_summary(answer.signature.message):
        call.note("its output said only that something failed. 'ctxrank error save' records the error and what helped.")
    else:
        _save_proposal(call, store, run, failed, changes)
    # Last: a process that is killed earlier still has the failure, and learns from the next success.
    with store.write() as change:
        failed_commands.forget(change, run.key)
        session_id = session_id_of(change.connection, run.session or "")
        if session_id is not None and answer.signature is not None:
            resolve(change, session_id, instance=answer.signature.instance)
        if session_id is not None:
            note_changed(change, session_id, changes.names)


def _save_proposal(call: Call, store: Store, run: CommandRun, failed: FailedCommand, changes: "TreeChanges") -> None:
    """Keep what was done between a failure and its end as a sighted solution: commands; lines, or the files' names."""
    from ctxrank.indexer.errors.solutions import (  # noqa: PLC0415  after a success alone
        CHANGED,
        RAN_NEXT,
        NewKnownError,
        save_error,
    )
    from ctxrank.indexer.errors.tree_changes import changed_lines  # noqa: PLC0415  the same
    from ctxrank.indexer.files.paths import without_secret  # noqa: PLC0415  the same
    from ctxrank.indexer.redaction.incoming_texts import IncomingTexts  # noqa: PLC0415  the same

    named = ", ".join(changes.names[:_NAMES_SHOWN])
    more = len(changes.names) - _NAMES_SHOWN
    if more > 0 or not changes.is_complete:
        named += f" and {more if changes.is_complete else 'many'} more"
    solution = f"{CHANGED}`{run.command}` succeeded once these changed: {named}" if named else ""
    if failed.ran:
        ran = ", then ".join(f"`{command}`" for command in failed.ran)
        solution = f"{RAN_NEXT}{'. '.join(filter(None, (ran, solution)))}"
    texts = IncomingTexts(run.mode)
    said = solution = texts.line(solution)
    own = tuple(name for name in changes.names if without_secret(name, run.mode) == name)
    if lines := changed_lines(store.location.root, failed.tree, own, store.location.folder):
        clean = texts.text("\n".join(lines)).split("\n")  # before anything is cut: half a secret is a secret
        kept = [line if len(line) <= _LINE_CHARS else f"{line[:_LINE_CHARS]}…" for line in clean[:_LINES_SHOWN]]
        kept += ["…"] * (len(clean) > _LINES_SHOWN)
        solution = "\n".join((f"{solution}\n", *kept))
    is_counted = run.session is not None  # its sighting was
    new = NewKnownError(failed.unit, solution, run.project, run.lang, is_proposal=True, is_counted=is_counted)
    saved = save_error(store, new, mode=run.mode)
    id_ = public_id("error", saved.id)
    call.note(
        f"saved as {id_}, {saved.state}: {said}. "
        f"'ctxrank error save' replaces it with a better one; 'ctxrank error confirm {id_}' confirms that it helped."
    )

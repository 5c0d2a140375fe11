"""PostToolUse and PostToolUseFailure: a known fix beside a failure, and what a later success teaches.

Claude Code says that a tool failed by the event's name, Codex in the file that it writes (rollout.py). Nearly all
calls succeed, so the first question is one row of the store, and no more is loaded for the answer "never failed".
"""

from collections.abc import Mapping

from ctxrank.cli.agents.event import CODEX, Event, line_of, text_of, texts_of
from ctxrank.cli.agents.injected_text import fenced, public_part, without_echo
from ctxrank.cli.agents.session import HookCall
from ctxrank.cli.call import Call
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.errors.command_keys import command_key
from ctxrank.indexer.light_typing import TYPE_CHECKING, object_of
from ctxrank.indexer.records.injections import injected_lines
from ctxrank.indexer.store.connection import read_map
from ctxrank.indexer.store.freshness import GONE
from ctxrank.indexer.store.ids import public_id
from ctxrank.indexer.text.lines import error_title, one_line

if TYPE_CHECKING:
    from ctxrank.cli.actions.errors.run import CommandRun
    from ctxrank.ranking.errors.answer import ErrorAnswer, Fix

COMMAND_TOOLS = ("Bash", "shell", "local_shell", "exec_command", "unified_exec")
FIX_TOKENS = 600
_SOLUTION_CHARS = 1200
_MAX_FIXES = 2
_MOST_US = 3600 * 1_000_000  # after a failure, what may have helped
MAX_OUTPUT_CHARS = 512 * 1024
_OUTPUTS = ("stdout", "output", "stderr", "error", "message")
_EXIT_CODE = "exit code "  # "Exit code 1" is the first line that Claude Code puts before what a command printed
_OWN = ("ctxrank ", "ctxrank\n")
_REFUTED = "This failure is known, and what was tried did not help:\n"


def on_tool_end(call: HookCall) -> str:
    """The known fix of a tool call that failed; '' where it did not, or none is known."""
    event = call.event
    failed = event.name == "PostToolUseFailure" or _has_failed(event)
    if failed is None or event.fields.get("is_interrupt") is True:
        return ""
    command = _command(call)
    if not failed:
        if command and call.settings.learn:
            _learn_from_success(call, command)
        return ""
    printed = public_part(_output(call))[:MAX_OUTPUT_CHARS]
    output = without_echo(printed, injected_lines(call.store.primary))
    if command and call.settings.learn:
        from ctxrank.cli.actions.errors.run import learn_from_failure  # noqa: PLC0415  only after a failure

        given = output.encode("utf-8", "replace")
        answer = learn_from_failure(Call(verbosity=-1), call.store, _run(call, command), given)
    else:
        answer = _recognised(call, output)
    if output != printed and not (answer and answer.fixes):  # a note may quote the very line that a tool prints
        answer = _recognised(call, printed)
    if answer is None or answer.signature is None:
        return ""
    known = [fix for fix in answer.fixes if fix.match.is_vouched]
    fixes = [fix for fix in known if fix.match.state != "refuted"][:_MAX_FIXES]
    if fixes:
        is_known = fixes[0].match.word == "known"
        title = "This failure is known:\n" if is_known else "This failure looks like one that is known:\n"
        return call.say(title, [_fix(fix, fix.solution) for fix in fixes], FIX_TOKENS)
    said = [_fix(fix, exchanged) for fix in answer.same_kind if (exchanged := _with_name_exchanged(fix))][:_MAX_FIXES]
    text = call.say("A failure of the same kind is known; name exchanged, not tried:\n", said, FIX_TOKENS)
    tried = [_fix(fix, fix.solution) for fix in known[:_MAX_FIXES]]
    return text or _said_in_findings(call, answer.signature.message) or call.say(_REFUTED, tried, FIX_TOKENS)


def _said_in_findings(call: HookCall, message: str) -> str:
    """The findings that quote the message of a failure that is not known."""
    from ctxrank.ranking.context.quotes import findings_that_quote  # noqa: PLC0415  only after a failure

    findings = findings_that_quote(call.store, message, call.config, call.news_filter())
    if not findings:
        return ""
    from ctxrank.cli.agents.prompts import told_finding  # noqa: PLC0415  seldom

    told = [told_finding(call.store, one) for one in findings]
    return call.say("This failure is not known, but said in a finding:\n", told, FIX_TOKENS)


def _command(call: HookCall) -> str:
    """The command that a tool ran, without what is private; '' for another tool's call, and for one of ours."""
    if call.event.text("tool_name") not in COMMAND_TOOLS:
        return ""
    given = call.event.object("tool_input").get("command", call.event.object("tool_input").get("cmd"))
    command = public_part(text_of(given) or line_of(texts_of(given))).strip()
    return "" if command.startswith(_OWN) else command


def _has_failed(event: Event) -> bool | None:
    """Whether a tool failed; None where that is not known. An object that says nothing of it is of one that has not."""
    response = event.fields.get("tool_response")
    if event.runner == CODEX and isinstance(response, str):
        from ctxrank.cli.agents.rollout import exit_code_of  # noqa: PLC0415  Codex alone

        code = exit_code_of(event.text("transcript_path"), event.text("tool_use_id"))
        return None if code is None else code != 0
    fields = object_of(response)
    for place in (fields, object_of(fields.get("metadata"))):
        told = place.get("exit_code", place.get("exitCode"))
        if isinstance(told, int) and not isinstance(told, bool):
            return told != 0
    return any(fields.get(name) is True for name in ("is_error", "isError")) or fields.get("success") is False


def _output(call: HookCall) -> str:
    """What a failed tool printed."""
    if text := call.event.text("error"):
        return without_exit_code(text)
    response = call.event.fields.get("tool_response")
    fields = object_of(response)
    texts = [text_of(response), *texts_of(response), *(text_of(fields.get(name)) for name in _OUTPUTS)]
    return "\n".join([*filter(None, texts), *texts_of(fields.get("content"))])


def without_exit_code(text: str) -> str:
    """What a command printed, without the line that Claude Code puts before it."""
    first, _, rest = text.partition("\n")
    return rest if first.lower().startswith(_EXIT_CODE) else text


def _key(call: HookCall, command: str) -> tuple[str, str]:
    return command_key(command, call.event.cwd, call.store.location.root, call.project)


def _run(call: HookCall, command: str) -> "CommandRun":
    from ctxrank.cli.actions.errors.run import CommandRun  # noqa: PLC0415  only after a failure
    from ctxrank.indexer.errors.failed_commands import shown_command  # noqa: PLC0415  as above

    session = call.session.name  # first: a session is older than what fails in it
    ended_at = now_us()
    took = call.event.fields.get("duration_ms")
    took_ms = took if isinstance(took, int | float) and not isinstance(took, bool) and 0 <= took < 1e9 else 0
    started_at, mode = ended_at - int(took_ms * 1000), call.config.redaction_mode
    (key, folder), kept = _key(call, command), shown_command(command, mode)
    return CommandRun(key, kept, folder, call.project, session, call.group, started_at, ended_at, mode)


def _learn_from_success(call: HookCall, command: str) -> None:
    query = "SELECT command_key, command FROM failed_commands WHERE command_key = ? OR (folder = ? AND failed_at >= ?)"
    key, folder = _key(call, command)
    waiting = read_map(call.store.primary, query, (key, folder, now_us() - _MOST_US), str, str)
    if key in waiting:
        from ctxrank.cli.actions.errors.run import learn_from_success  # noqa: PLC0415  only after a failure

        learn_from_success(Call(verbosity=-1), call.store, _run(call, command))
    elif waiting:
        _note_ran(call, command, waiting)


def _note_ran(call: HookCall, command: str, waiting: Mapping[str, str]) -> None:
    """Remember a command that succeeded after failures that wait for their end: it may be what helped."""
    from ctxrank.cli.agents.shell_line import is_looking, simple_commands  # noqa: PLC0415  only after a failure

    did = [part for part in simple_commands(command, "")[1] if not is_looking(part)]
    # Before they are redacted: that costs as much as all else here.
    parts = [part for part in did if any(_is_other(part, failed) for failed in waiting.values())]
    if not parts:
        return
    from ctxrank.indexer.errors.failed_commands import note_ran, shown_command  # noqa: PLC0415  looking helps nobody

    doing = [shown_command(part, call.config.redaction_mode) for part in parts]
    for key, failed in waiting.items():
        if ran := [one for one in doing if _is_other(one, failed)]:
            with call.store.write() as change:
                note_ran(change, key, ran)


def _is_other(command: str, failed: str) -> bool:
    """Whether a command does something else than one that failed: another program, or another verb of it."""
    words, others = command.split()[:2], failed.split()[:2]
    return words[:1] != others[:1] or (words != others and words[-1].isalpha() and len(words) > 1)


def _recognised(call: HookCall, output: str) -> "ErrorAnswer":
    """What is known of a failure that is not remembered: an edit that failed fails once."""
    from ctxrank.cli.actions.errors.lookup import Whose, look_up  # noqa: PLC0415  only after a failure
    from ctxrank.indexer.errors.failure_text import read_failure_text  # noqa: PLC0415  as above

    failure = read_failure_text(output.encode("utf-8", "replace"), call.config.redaction_mode)
    return look_up(call.store, failure, Whose(call.project), Call(verbosity=-1).note)[1]


def _with_name_exchanged(fix: "Fix") -> str:
    """What fixed a failure of the same kind, with this one's name; '' where it has none, or comes from elsewhere."""
    from ctxrank.ranking.errors.differences import exchanged  # noqa: PLC0415  only after a failure

    is_own = fix.match.pattern_id > 0 and fix.match.state != "refuted" and fix.match.grade != "near"
    return exchanged(fix.solution, fix.match.renamed) if is_own else ""


def _fix(fix: "Fix", said: str) -> tuple[str, str]:
    from ctxrank.cli.actions.errors.lookup import record_words  # noqa: PLC0415  only after a failure
    from ctxrank.cli.output.lines import times  # noqa: PLC0415  as above

    match = fix.match
    id_ = public_id("error", match.pattern_id)
    state = "unconfirmed" if match.state == "sighted" else match.state
    record = record_words(state, match.confirmations, match.refutations)
    judged = f"{match.word} ({match.grade}) · confidence {match.confidence:.2f} · {record}"
    about = f"{id_} · {judged} · seen {times(fix.occurrences)}"
    try_it = f"If it helps: `ctxrank error confirm {id_}`; if not: `ctxrank error refute {id_}`.\n"
    next_step = "`ctxrank error save` keeps what helps instead.\n" if match.state == "refuted" else try_it
    title = "Known error" if match.word == "known" else match.word.capitalize()
    gone = "".join(f"{one_line(why)}\n" for why in match.why if why.startswith(GONE))
    error = error_title(fix.error_type, fix.message)[:300]
    return id_, f"**{title}** {error}\n{about}\n\n{fenced(said, _SOLUTION_CHARS)}\n{gone}{next_step}"

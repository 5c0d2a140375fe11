"""SessionStart and UserPromptSubmit: what is said unasked, and mostly nothing.

What was kept unasked is not said here: a text from a tool or a final message, which nobody has confirmed, could be an
instruction to the next session.
"""

from collections.abc import Iterator

from ctxrank.cli.agents.injected_text import fenced, public_part
from ctxrank.cli.agents.log import note_failure
from ctxrank.cli.agents.session import HookCall
from ctxrank.indexer.clock import format_day
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.conversations import TITLE_CHARS, needs_note, note_prompt
from ctxrank.indexer.records.sessions import NewSession
from ctxrank.indexer.records.unconfirmed import is_unconfirmed
from ctxrank.indexer.store.connection import read_column, read_row, read_rows, read_value
from ctxrank.indexer.store.ids import PACKAGE, public_id
from ctxrank.indexer.store.parents import ParentDocument
from ctxrank.indexer.text.lines import one_line, shorten
from ctxrank.ranking.context.assembly.block import quoted_line
from ctxrank.ranking.context.findings import PromptFinding, relevant_findings
from ctxrank.ranking.retrieval.cleaning import cleaned, cleaned_task

PROMPT_TOKENS, START_TOKENS = 600, 200
_MAX_FINDINGS = 3
_MAX_PROMPT_CHARS = 20_000  # a longer one is a document
_MAX_TITLE_SOURCE_CHARS = 2_000
_PASSAGE_CHARS = 600
_SUMMARY_CHARS = 300
_NEWS = 5
_SHORT_SUMMARY_CHARS = 140
_PROGRAMS, _PROGRAM_CHARS = 3, 20


def on_prompt(call: HookCall) -> str:
    """The findings that a prompt is about and that this session was not shown; '' for none."""
    prompt = public_part(call.event.text("prompt"))[:_MAX_PROMPT_CHARS]
    if _is_runners_own(prompt):
        return ""
    if call.settings.learn and needs_note(call.store.primary, call.event.session):
        _note_prompt(call, prompt)
    shown, project = call.shown, call.project

    def is_wanted(parent: ParentDocument) -> bool:
        return public_id(parent.kind, parent.number) not in shown and _may_be_said(call, parent, project)

    findings = relevant_findings(call.store, prompt, call.config, _MAX_FINDINGS, is_wanted)
    heading = "What ctxrank has on this:\n"
    short = [_finding(one, is_short=True) for one in findings[:1]]
    return call.say(heading, list(map(_finding, findings)), PROMPT_TOKENS) or call.say(heading, short, PROMPT_TOKENS)


def _note_prompt(call: HookCall, prompt: str) -> None:
    """Entitle the session by its first prompt, or let it go on; a prompt is answered where that cannot be written."""
    clean = cleaned_task(prompt[:_MAX_TITLE_SOURCE_CHARS], call.config.redaction_mode)
    try:
        new = NewSession(call.event.session, call.project)
        note_prompt(call.store, new, call.event.runner, shorten(one_line(clean), TITLE_CHARS))
    except CtxrankError as error:
        note_failure(f"{call.event.name}: the session has no title: {error.message}", call.event.cwd)


def _is_runners_own(prompt: str) -> bool:
    """Whether a prompt is a command of the runner's own, `/clear`, and no path; or nothing."""
    first = prompt.split(maxsplit=1)[:1]
    return not first or (first[0].startswith("/") and first[0][1:].replace("-", "").isalpha())


def _may_be_said(call: HookCall, parent: ParentDocument, project: str) -> bool:
    """Whether a finding is this project's, and saved on purpose or confirmed since."""
    primary = call.store.primary
    if parent.session is not None:
        query = "SELECT project FROM sessions WHERE name = ?"
        if read_value(primary, query, (parent.session,), str) != project:
            return False
    if parent.kind == "reasoning":
        return not is_unconfirmed(primary, parent.number)
    if parent.kind == "error":
        query = "SELECT 1 FROM error_patterns WHERE id = ? AND state = 'confirmed'"
        return read_value(primary, query, (parent.number,), int) is not None
    return True


def _finding(finding: PromptFinding, *, is_short: bool = False) -> tuple[str, str]:
    """A finding's id, and what a block shows of it, with the words of the prompt that it shares."""
    parent = finding.parent
    id_ = public_id(parent.kind, parent.number)
    # An error is called one in its line: a line of its own is what a tool prints, and would count as our echo there.
    head = "**Known error** " if parent.kind == "error" else ""
    head = f"**[{parent.priority.upper()}]** " if parent.priority else head
    name = shorten(one_line(parent.path or parent.title), _SHORT_SUMMARY_CHARS)
    facts = [id_, parent.type, format_day(parent.created_at), f"shares {', '.join(map(one_line, finding.words[:3]))}"]
    summary = quoted_line(shorten(one_line(parent.body), _SUMMARY_CHARS))
    summary = "" if parent.body == parent.title else f"> {summary}\n\n"
    passage = "" if is_short or not finding.passage else f"\n{fenced(finding.passage, _PASSAGE_CHARS)}"
    return id_, f"{head}{name}\n{summary}{' · '.join(filter(None, facts))}\n{passage}"


class _LastSession(NamedTuple):
    id: int
    created_at: int


class _NewPackage(NamedTuple):
    number: int
    priority: str
    path: str
    summary: str
    ruleset: int


def on_start(call: HookCall) -> str:
    """What is new since this project's last session, and what still fails; '' where nothing is."""
    primary = call.store.primary
    project = call.project
    query = """
        SELECT id, created_at FROM sessions WHERE project = ? AND name <> ? ORDER BY created_at DESC, id DESC LIMIT 1
    """
    last = read_row(primary, query, (project, call.event.session), _LastSession)
    if last is None:
        return ""
    shown = call.shown
    failures = "" if shown else _open_failures(call, last)
    news = [_news(call, one) for one in _new_packages(call, project, last)]
    items = [("", failures)] * bool(failures) + [item for item in news if item[0] not in shown]
    return call.say(f"Since the last session here ({format_day(last.created_at)}):\n", items, START_TOKENS)


def _new_packages(call: HookCall, project: str, last: _LastSession) -> Iterator[_NewPackage]:
    query = """
        SELECT p.id, p.priority, p.path, p.summary, d.ruleset
          FROM packages AS p
          JOIN sessions AS s ON s.id = p.session_id
          JOIN documents AS d ON d.kind = 'package' AND d.record_id = p.id
         WHERE s.project = ? AND p.created_at >= ? AND p.superseded_by IS NULL
         ORDER BY CASE p.priority WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'medium' THEN 2 ELSE 3 END,
                  p.created_at DESC, p.id DESC
         LIMIT ?
    """
    return read_rows(call.store.primary, query, (project, last.created_at, _NEWS), _NewPackage)


def _news(call: HookCall, package: _NewPackage) -> tuple[str, str]:
    id_ = public_id(PACKAGE, package.number)
    summary = one_line(cleaned(package.summary, package.ruleset, call.config.redaction_mode))
    head = f"* **[{package.priority.upper()}]** {one_line(package.path)}"
    return id_, f"{head}: {shorten(summary, _SHORT_SUMMARY_CHARS)} ({id_})"


def _open_failures(call: HookCall, last: _LastSession) -> str:
    """What failed in the last session and is not over: how many, and which programs; nothing of what was printed."""
    primary = call.store.primary
    query = "SELECT count(DISTINCT instance) FROM error_sightings WHERE session_id = ? AND resolved_at IS NULL"
    count = read_value(primary, query, (last.id,), int) or 0
    if not count:
        return ""
    query = "SELECT command FROM failed_commands WHERE failed_at >= ? ORDER BY failed_at DESC LIMIT ?"
    commands = read_column(primary, query, (last.created_at, _PROGRAMS), str)
    programs = ", ".join(dict.fromkeys(f"`{name}`" for command in commands if (name := _program(command))))
    is_one = count == 1
    failures = f"{count} failure{'' if is_one else 's'} of that session {'is' if is_one else 'are'} still open"
    return f"* {failures}{f': {programs}' if programs else ''}.\n"


def _program(command: str) -> str:
    """The program of a command and what it was told to do, where these are plain words: `make test`."""
    from ctxrank.cli.agents.shell_line import simple_commands, words_of  # noqa: PLC0415  only after a failure

    _, parts = simple_commands(command, "")
    words = words_of(parts[-1])[:2] if parts else []
    is_plain = [word.replace("-", "").replace("_", "").replace(".", "").isalnum() for word in words]
    return " ".join(word[:_PROGRAM_CHARS] for word in words[: is_plain.index(False) if False in is_plain else 2])

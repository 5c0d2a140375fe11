"""UserPromptSubmit: what is said unasked, and mostly nothing.

What was kept unasked is not said here: a text from a tool or a final message, which nobody has confirmed, could be an
instruction to the next session.
"""

from ctxrank.cli.agents.injected_text import fenced, is_tagged, named, public_part
from ctxrank.cli.agents.log import note_failure
from ctxrank.cli.agents.session import HookCall, origin_of
from ctxrank.indexer.clock import format_day
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.records.cloned_notes import note_use, where_from
from ctxrank.indexer.records.conversations import TITLE_CHARS, needs_note, note_prompt
from ctxrank.indexer.records.sessions import NewSession
from ctxrank.indexer.store.ids import PACKAGE, public_id
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line, quoted_line, shorten
from ctxrank.ranking.context.floor import PromptFinding
from ctxrank.ranking.retrieval.cleaning import cleaned_task

PROMPT_TOKENS = 600
_MAX_FINDINGS = 3
_MAX_TITLE_SOURCE_CHARS = 2_000
_PASSAGE_CHARS = 600
_SUMMARY_CHARS = 300
_NAME_CHARS = 140


def on_prompt(call: HookCall) -> str:
    """The findings that a prompt is about and that this session was not shown; '' for none."""
    prompt = public_part(call.event.text("prompt"))
    # A spawned agent's prompt has its block already, with its task.
    if _is_runners_own(prompt) or (call.agent_id and is_tagged(call.event.text("prompt"))):
        return ""
    from ctxrank.ranking.context.findings import relevant_findings  # noqa: PLC0415  a failure's note reads no prompt

    if call.settings.learn and needs_note(call.store.primary, call.event.session):
        _note_prompt(call, prompt)
    findings = relevant_findings(call.store, prompt, call.config, _MAX_FINDINGS, call.news_filter())
    heading = "What ctxrank has on this:\n"
    said = call.say(heading, [told_finding(call.store, one) for one in findings], PROMPT_TOKENS)
    if findings and not said:
        said = call.say(heading, [told_finding(call.store, findings[0], is_short=True)], PROMPT_TOKENS)
    packages = [one.parent for one in findings if one.parent.kind == PACKAGE]
    if said and packages:
        shown = call.shown
        note_use(call.store, [one.number for one in packages if public_id(PACKAGE, one.number) in shown])
    return said


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


def told_finding(store: Store, finding: PromptFinding, *, is_short: bool = False) -> tuple[str, str]:
    """A finding's id, and what a block shows of it, with the words of the prompt that it shares."""
    parent = finding.parent
    id_ = public_id(parent.kind, parent.number)
    name, said = named(parent, _NAME_CHARS, _SUMMARY_CHARS)
    came = where_from(store.primary, parent.number) if parent.kind == PACKAGE else ""
    shares = f"shares {', '.join(map(one_line, finding.words[:3]))}"
    facts = (id_, parent.type, came, origin_of(store, parent.id, parent.number), format_day(parent.created_at), shares)
    summary = f"> {quoted_line(said)}\n\n" if said else ""
    passage = "" if is_short or not finding.passage else f"\n{fenced(finding.passage, _PASSAGE_CHARS)}"
    return id_, f"{name}\n{summary}{' · '.join(filter(None, facts))}\n{passage}"

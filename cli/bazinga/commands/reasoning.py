"""The predecessor's commands for reasoning."""

import json

from ctxrank.cli.actions.given import decoded, read_given, readable
from ctxrank.cli.bazinga.arguments import group_name
from ctxrank.cli.bazinga.call import BazingaCall, text_moment
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.records.reasoning import CONFIDENCES, PHASES, NewReasoning, check_phases, list_reasoning
from ctxrank.indexer.records.reasoning import save_reasoning as save
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.text.lines import one_line, printable

if TYPE_CHECKING:
    from ctxrank.indexer.records.reasoning import ReasoningEntry

_GLOBAL = "global"
_SUMMARY_ENTRIES = 5
_SHOWN_CHARS = 300


def save_reasoning(call: BazingaCall) -> int:
    """Save what an agent thought in one phase; agents of any name."""
    given = call.read()
    session, group, agent, phase = given.positionals[:4]
    content = _content(call, given.text("--content-file"), given.optional(4))
    confidence = given.text("--confidence")
    if phase not in PHASES:
        raise UsageError(f"Invalid reasoning_phase: {phase}. It must be one of {', '.join(PHASES)}.")
    if confidence is not None and confidence not in CONFIDENCES:
        raise UsageError(f"Invalid confidence: {confidence}. It must be one of {', '.join(CONFIDENCES)}.")
    new = NewReasoning(
        session, group_name(group), agent, phase, content, given.text("--agent_id") or "",
        given.number("--iteration", 0), confidence, json.dumps(given.texts("--references")),
    )  # fmt: skip
    try:
        saved = save(call.store, new, mode=call.mode, notes_agent=False)
    except NotFoundError as error:
        call.complain(f"Failed to save {agent} reasoning: {error.message}")
        return call.failed(error.message)
    for note in saved.notes:
        call.complain(f"Warning: {note}")
    query = "SELECT length(content) FROM reasoning WHERE id = ?"
    length = read_value(call.store.primary, query, (saved.id,), int) or 0
    call.done(f"Saved {saved.agent} reasoning ({phase}, log_id={saved.id}, {length} chars)")
    call.answer(
        {
            "success": True, "log_id": saved.id, "session_id": saved.session, "group_id": saved.group or _GLOBAL,
            "agent_type": saved.agent, "reasoning_phase": saved.phase, "content_length": length,
            "timestamp": text_moment(saved.created_at), "redacted": saved.is_redacted,
        }
    )  # fmt: skip
    return 0


def _content(call: BazingaCall, path: str | None, text: str | None) -> str:
    if path is not None:
        try:
            return decoded(read_given(call.path_of(path)), call.complain)
        except OSError as error:
            raise UsageError(f"The content file {path} cannot be read: {error.strerror}.") from error
    if text is None:
        raise UsageError(
            "Content is required.", "Give it as the fifth argument, or in --content-file FILE if it begins with '--'."
        )
    return readable(text, call.complain)


def get_reasoning(call: BazingaCall) -> int:
    """Entries of a session, the newest first; a group means exactly that one."""
    given = call.read()
    phase = given.text("--phase") or None
    if phase is not None and phase not in PHASES:
        raise UsageError(f"Invalid phase: {phase}. It must be one of {', '.join(PHASES)}.")
    format_ = _format(given.text("--format"), "prompt-summary")
    group = given.text("--group_id") or None
    entries = list_reasoning(
        call.store.primary, given[0], group=group, agent=given.text("--agent_type") or None, phase=phase,
        session_wide_only=_is_global(group), limit=given.number("--limit", 50),
    )  # fmt: skip
    if format_ == "json":
        call.answer([_entry_json(entry) for entry in entries])
    else:
        call.write(_summary(entries) + "\n")
    return 0


def _format(text: str | None, other: str) -> str:
    if text not in (None, "json", other):
        raise UsageError(f"--format must be 'json' or '{other}', got {text!a}.")
    return text or "json"


def _is_global(group: str | None) -> bool:
    return group is not None and group.strip().lower() == _GLOBAL


def _entry_json(entry: "ReasoningEntry") -> dict[str, object]:
    return {
        "id": entry.id,
        "session_id": entry.session,
        "group_id": entry.group or _GLOBAL,
        "agent_type": entry.agent,
        "agent_id": entry.agent_name or None,
        "iteration": entry.iteration,
        "reasoning_phase": entry.phase,
        "confidence_level": entry.confidence,
        "content": entry.content,
        "redacted": entry.is_redacted,
        "timestamp": text_moment(entry.created_at),
        "references": json.loads(entry.references),
    }


def _summary(entries: "list[ReasoningEntry]") -> str:
    """A table of the newest entries for a prompt, each on one line."""
    if not entries:
        return "No previous reasoning found for this context."
    lines = [
        "## Previous Agent Reasoning (Handoff Context)",
        "",
        "Prior agents documented their decision-making for this task:",
        "",
        "| Agent | Phase | Confidence | Key Points (max 300 chars) |",
        "|-------|-------|------------|----------------------------|",
    ]
    for entry in entries[:_SUMMARY_ENTRIES]:
        content = one_line(entry.content)
        if len(content) > _SHOWN_CHARS:
            content = content[: _SHOWN_CHARS - 3] + "..."
        agent, points = (one_line(text).replace("|", "\\|") for text in (entry.agent, content))
        lines.append(f"| {agent} | {entry.phase} | {entry.confidence or '-'} | {points} |")
    if len(entries) > _SUMMARY_ENTRIES:
        lines.append("")
        lines.append(f"*Showing {_SUMMARY_ENTRIES} of {len(entries)} entries (use --format json for full data)*")
    return "\n".join(
        [
            *lines,
            "",
            "**Use this to:**",
            "- Understand WHY prior decisions were made (not just WHAT)",
            "- Avoid repeating failed approaches (check `pivot` and `blockers` phases)",
            "- Build on prior agent's understanding",
        ]
    )


def reasoning_timeline(call: BazingaCall) -> int:
    """Entries of a session in the order they were saved."""
    given = call.read()
    format_ = _format(given.text("--format"), "markdown")
    group = given.text("--group_id") or None
    entries = list_reasoning(
        call.store.primary, given[0], group=group, session_wide_only=_is_global(group), oldest_first=True
    )
    if format_ == "markdown":
        call.write(_timeline(entries) + "\n")
        return 0
    shown: list[dict[str, object]] = []
    for entry in entries:
        value = _entry_json(entry)
        del value["session_id"], value["references"]
        shown.append({**value, "redacted": int(entry.is_redacted)})
    call.answer(shown)
    return 0


def _timeline(entries: "list[ReasoningEntry]") -> str:
    if not entries:
        return "# Reasoning Timeline\n\nNo reasoning entries found."
    lines = ["# Reasoning Timeline", ""]
    group: str | None = None
    for entry in entries:
        if (entry.group or _GLOBAL) != group:
            group = entry.group or _GLOBAL
            lines += [f"## Group: {one_line(group)}", ""]
        agent = one_line(f"{entry.agent} ({entry.agent_name})" if entry.agent_name else entry.agent)
        confidence = f" [{entry.confidence}]" if entry.confidence else ""
        lock = " 🔒" if entry.is_redacted else ""
        lines += [f"### [{text_moment(entry.created_at)}] {agent} - {entry.phase}{confidence}{lock}", ""]
        content = printable(entry.content)
        if len(content) > _SHOWN_CHARS:
            content = content[:_SHOWN_CHARS] + "..."
        # A fence that the content cannot close: a zero-width space is between its backticks.
        lines += ["```text", content.replace("```", "`\u200b`\u200b`"), "```", "", "---", ""]
    return "\n".join(lines)


def check_mandatory_phases(call: BazingaCall) -> int:
    """Whether an agent has documented what it must; 1 if not."""
    given = call.read()
    session, group, agent = given.positionals
    checked = check_phases(call.store.primary, session, group, agent)
    call.answer(
        {
            "complete": checked.is_complete,
            "missing": sorted(checked.missing),
            "documented": sorted(checked.documented),
            "all_documented": sorted(checked.all_documented),
            "session_id": session,
            "group_id": group,
            "agent_type": agent,
        }
    )
    return 0 if checked.is_complete else 1

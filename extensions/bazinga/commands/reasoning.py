"""The predecessor's commands for reasoning."""

import json

from ctxrank.cli.actions.given import decoded, read_given, readable
from ctxrank.extensions.bazinga.arguments import Arguments, group_name, one_of
from ctxrank.extensions.bazinga.call import BazingaCall, Failed, Json, text_moment
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.records import reasoning
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.text.lines import one_line, printable

_GLOBAL = "global"
_SUMMARY_ENTRIES = 5
_SHOWN_CHARS = 300
_SUMMARY_BEGINS = """\
## Previous Agent Reasoning (Handoff Context)

Prior agents documented their decision-making for this task:

| Agent | Phase | Confidence | Key Points (max 300 chars) |
|-------|-------|------------|----------------------------|"""
_SUMMARY_ENDS = """
**Use this to:**
- Understand WHY prior decisions were made (not just WHAT)
- Avoid repeating failed approaches (check `pivot` and `blockers` phases)
- Build on prior agent's understanding"""


def save_reasoning(call: BazingaCall, given: Arguments) -> Json:
    """Save what an agent thought in one phase; agents of any name."""
    session, group, agent, phase = given.positionals[:4]
    content = _content(call, given)
    confidence = given.get("--confidence")
    one_of("reasoning_phase", phase, reasoning.PHASES)
    one_of("confidence", confidence, reasoning.CONFIDENCES)
    references = json.dumps(given.texts("--references"))
    new = reasoning.NewReasoning(
        session, group_name(group), agent, phase, content, given.get("--agent_id", ""),
        given.number("--iteration", 0), confidence, references,
    )  # fmt: skip
    try:
        saved = reasoning.save_reasoning(call.store, new, mode=call.mode, notes_agent=False)
    except NotFoundError as error:
        raise call.failed(f"{agent} reasoning", error) from error
    for note in saved.notes:
        call.complain(f"Warning: {note}")
    query = "SELECT length(content) FROM reasoning WHERE id = ?"
    length = read_value(call.store.primary, query, (saved.id,), int) or 0
    call.done(f"Saved {saved.agent} reasoning ({phase}, log_id={saved.id}, {length} chars)")
    return {
        "success": True,
        "log_id": saved.id,
        "session_id": saved.session,
        "group_id": saved.group or _GLOBAL,
        "agent_type": saved.agent,
        "reasoning_phase": saved.phase,
        "content_length": length,
        "timestamp": text_moment(saved.created_at),
        "redacted": saved.is_redacted,
    }


def _content(call: BazingaCall, given: Arguments) -> str:
    path = given.get("--content-file")
    if path is not None:
        try:
            return decoded(read_given(call.path_of(path)), call.complain)
        except OSError as error:
            raise UsageError(f"The content file {path} cannot be read: {error.strerror}.") from error
    if "content" in given:
        return readable(given["content"], call.complain)
    hint = "Give it as the fifth argument, or in --content-file FILE if it begins with '--'."
    raise UsageError("Content is required.", hint)


def get_reasoning(call: BazingaCall, given: Arguments) -> list[Json] | None:
    """Entries of a session, the newest first; a group means exactly that one."""
    phase = given.get("--phase") or None
    one_of("phase", phase, reasoning.PHASES)
    is_json = _is_json(given, "prompt-summary")
    group = given.get("--group_id") or None
    entries = reasoning.list_reasoning(
        call.store.primary, given["session"], group=group, agent=given.get("--agent_type") or None, phase=phase,
        session_wide_only=_is_global(group), limit=given.number("--limit", 50),
    )  # fmt: skip
    if is_json:
        return [_entry_json(entry) for entry in entries]
    call.write(_summary(entries) + "\n")
    return None


def _is_json(given: Arguments, other: str) -> bool:
    format_ = given.get("--format")
    if format_ not in (None, "json", other):
        raise UsageError(f"--format must be 'json' or '{other}', got {format_!a}.")
    return format_ != other


def _is_global(group: str | None) -> bool:
    return group is not None and group.strip().lower() == _GLOBAL


def _entry_json(entry: reasoning.ReasoningEntry) -> Json:
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
        "redacted": bool(entry.redacted),
        "timestamp": text_moment(entry.created_at),
        "references": json.loads(entry.refs),
    }


def _summary(entries: list[reasoning.ReasoningEntry]) -> str:
    """A table of the newest entries for a prompt, each on one line."""
    if not entries:
        return "No previous reasoning found for this context."
    lines = [_SUMMARY_BEGINS]
    for entry in entries[:_SUMMARY_ENTRIES]:
        content = one_line(entry.content)
        if len(content) > _SHOWN_CHARS:
            content = content[: _SHOWN_CHARS - 3] + "..."
        agent, points = (one_line(text).replace("|", "\\|") for text in (entry.agent, content))
        lines.append(f"| {agent} | {entry.phase} | {entry.confidence or '-'} | {points} |")
    if len(entries) > _SUMMARY_ENTRIES:
        lines.append(f"\n*Showing {_SUMMARY_ENTRIES} of {len(entries)} entries (use --format json for full data)*")
    return "\n".join([*lines, _SUMMARY_ENDS])


def reasoning_timeline(call: BazingaCall, given: Arguments) -> list[Json] | None:
    """Entries of a session in the order they were saved."""
    is_json = _is_json(given, "markdown")
    group = given.get("--group_id") or None
    entries = reasoning.list_reasoning(
        call.store.primary, given["session"], group=group, session_wide_only=_is_global(group), oldest_first=True
    )
    if not is_json:
        call.write(_timeline(entries) + "\n")
        return None
    left_out = ("session_id", "references")
    shown = [{key: value for key, value in _entry_json(entry).items() if key not in left_out} for entry in entries]
    return [{**one, "redacted": int(bool(one["redacted"]))} for one in shown]


def _timeline(entries: list[reasoning.ReasoningEntry]) -> str:
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
        lock = " 🔒" if entry.redacted else ""
        content = printable(entry.content)
        if len(content) > _SHOWN_CHARS:
            content = content[:_SHOWN_CHARS] + "..."
        # A fence that the content cannot close: a zero-width space is between its backticks.
        content = content.replace("```", "`\u200b`\u200b`")
        lines += [f"### [{text_moment(entry.created_at)}] {agent} - {entry.phase}{confidence}{lock}", ""]
        lines += ["```text", content, "```", "", "---", ""]
    return "\n".join(lines)


def check_mandatory_phases(call: BazingaCall, given: Arguments) -> Json:
    """Whether an agent has documented what it must; 1 if not."""
    session, group, agent = given.positionals[:3]
    checked = reasoning.check_phases(call.store.primary, session, group, agent)
    answer: Json = {
        "complete": checked.is_complete,
        "missing": sorted(checked.missing),
        "documented": sorted(checked.documented),
        "all_documented": sorted(checked.all_documented),
        "session_id": session,
        "group_id": group,
        "agent_type": agent,
    }
    if not checked.is_complete:
        raise Failed(answer)
    return answer

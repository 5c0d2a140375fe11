"""The predecessor's commands for reasoning, strategies and skill outputs; what the last refuse is JSON on stderr."""

import json

from ctxrank.cli.actions.given import decoded, read_given, readable
from ctxrank.extensions.bazinga.arguments import group_name, one_of, whole_number
from ctxrank.extensions.bazinga.call import BazingaCall, Failed, Json, failure, text_moment
from ctxrank.extensions.bazinga.records.views import VIEWS
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import NotFoundError, UsageError, refused_by_system
from ctxrank.indexer.light_typing import Any
from ctxrank.indexer.records import reasoning, skill_outputs, strategies
from ctxrank.indexer.records.older_rules import cleaned_page
from ctxrank.indexer.records.sessions import find_session
from ctxrank.indexer.records.skill_evidence import check_evidence
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
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


def save_reasoning(call: BazingaCall) -> Json:
    """Save what an agent thought in one phase; agents of any name."""
    session, group, agent, phase = call.positionals[:4]
    content = _content(call)
    confidence = call.get("--confidence")
    one_of("reasoning_phase", phase, reasoning.PHASES)
    one_of("confidence", confidence, reasoning.CONFIDENCES)
    references = json.dumps(call.texts("--references"))
    new = reasoning.NewReasoning(
        session, group_name(group), agent, phase, content, call.get("--agent_id", ""),
        call.number("--iteration", 0), confidence, references,
    )  # fmt: skip
    try:
        saved = reasoning.save_reasoning(call.store, new, notes_agent=False)
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


def _content(call: BazingaCall) -> str:
    path = call.get("--content-file")
    if path is not None:
        with refused_by_system(f"The content file {path} cannot be read", kind=UsageError):
            return decoded(read_given(call.path_of(path)), call.complain)
    if "content" in call:
        return readable(call["content"], call.complain)
    hint = "Give it as the fifth argument, or in --content-file FILE if it begins with '--'."
    raise UsageError("Content is required.", hint)


def get_reasoning(call: BazingaCall) -> list[Json] | None:
    """Entries of a session, the newest first; a group means exactly that one."""
    phase = call.get("--phase") or None
    one_of("phase", phase, reasoning.PHASES)
    is_json = _is_json(call, "prompt-summary")
    group = call.get("--group_id") or None
    entries = _entries(
        call, group, agent=call.get("--agent_type") or None, phase=phase, limit=call.number("--limit", 50)
    )
    if is_json:
        return [_entry_json(entry) for entry in entries]
    call.write(_summary(entries) + "\n")
    return None


def _entries(call: BazingaCall, group: str | None, **asked: Any) -> list[reasoning.ReasoningEntry]:
    """Entries of the session, as today's redaction rules leave them."""
    is_global = group is not None and group.strip().lower() == _GLOBAL
    found = reasoning.list_reasoning(
        call.store.primary, call["session"], group=group, session_wide_only=is_global, **asked
    )
    return cleaned_page(call.store, "reasoning", found)


def _is_json(call: BazingaCall, other: str) -> bool:
    format_ = call.get("--format")
    if format_ not in (None, "json", other):
        raise UsageError(f"--format must be 'json' or '{other}', got {format_!a}.")
    return format_ != other


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


def reasoning_timeline(call: BazingaCall) -> list[Json] | None:
    """Entries of a session in the order they were saved."""
    is_json = _is_json(call, "markdown")
    entries = _entries(call, call.get("--group_id") or None, oldest_first=True)
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


def check_mandatory_phases(call: BazingaCall) -> Json:
    """Whether an agent has documented what it must; 1 if not."""
    session, group, agent = call.positionals[:3]
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


_MAX_INSIGHT_CHARS = 500
_MAX_LISTED = 100
_MAX_INCREMENT = 100


def save_strategy(call: BazingaCall) -> Json:
    """Save what worked, or count it once more; an unknown topic is 'general'."""
    topic = call["topic"].strip().lower()
    if topic not in strategies.TOPICS:
        known = ", ".join(strategies.TOPICS)
        call.complain(f"'{call['topic']}' is not a topic, so it is saved as 'general'. Topics are {known}.")
        topic = "general"
    texts = IncomingTexts(call.mode)
    project = texts.text(call["project"].strip())
    # Redacted before it is cut, so that no half of a secret is left; named by the whole, as there.
    insight = texts.text(call["insight"]).strip()
    name = call.get("--strategy_id") or strategies.strategy_name(project, topic, insight)
    new = strategies.NewStrategy(
        project, topic, insight[:_MAX_INSIGHT_CHARS], call.get("--lang"), call.get("--framework"), name
    )
    saved = strategies.save_strategy(call.store, new)
    call.done(f"Saved strategy: {saved.topic} for {saved.project}")
    return {"success": True, "strategy_id": saved.name, "project_id": saved.project, "topic": saved.topic}


def get_strategies(call: BazingaCall) -> list[Json]:
    """A project's strategies, the most helpful first."""
    topic = call.get("--topic") or None
    if topic is not None and topic not in strategies.TOPICS:
        call.complain(f"Invalid topic '{topic}'. Valid: {', '.join(strategies.TOPICS)}")
        return []
    query = f"""{VIEWS["strategies"]}
         WHERE t.project = ?1 AND (?2 IS NULL OR t.lang IS NULL OR t.lang = ?2)
           AND (?3 IS NULL OR t.framework IS NULL OR t.framework = ?3) AND (?4 IS NULL OR t.topic = ?4)
         ORDER BY t.helpfulness DESC, t.last_seen DESC, t.id DESC LIMIT ?5
    """
    limit = max(1, min(call.number("--limit", 5), _MAX_LISTED))
    lang, framework = call.get("--lang") or None, call.get("--framework") or None
    return call.select(query, call["project"], lang, framework, topic, limit)


def update_strategy_helpfulness(call: BazingaCall) -> Json:
    """Count a strategy up."""
    increment = max(0, min(whole_number(call.get("increment") or "1", "increment"), _MAX_INCREMENT))
    try:
        counted = strategies.add_helpfulness(call.store, call["strategy_id"], increment)
    except NotFoundError as error:
        raise failure("Strategy not found") from error
    call.done(f"Updated helpfulness: {counted.before} → {counted.after}")
    answer: Json = {"success": True, "strategy_id": counted.name}
    return {**answer, "previous_helpfulness": counted.before, "new_helpfulness": counted.after}


def extract_strategies(call: BazingaCall) -> Json:
    """Turn what the author of a group's success said of it into strategies."""
    session, group, project = call.positionals
    lang, framework = call.get("--lang"), call.get("--framework")
    try:
        saved = strategies.extract_strategies(
            call.store, session, group, project or None, lang=lang, framework=framework
        )
    except NotFoundError as error:
        raise NotFoundError(error.message, "Make it with create-session.") from error
    call.done(f"Extracted {len(saved)} strategies from group {group}")
    answer: Json = {"success": True, "extracted_count": len(saved), "session_id": session}
    return {**answer, "group_id": group, "project_id": project}


_MINUTE_US = 60 * 1_000_000
_RECENT_MINUTES = 30


def save_skill_output(call: BazingaCall) -> None:
    """Save what a skill reported; each invocation has a number of its own."""
    session, skill, text = call.positionals[:3]
    group, agent = group_name(call.get("--group", "")), call.get("--agent", "")
    saved = skill_outputs.save_skill_output(call.store, session, skill, text, agent=agent, group=group)
    for_whom = f" for {agent}" if agent else ""
    call.done(f"Saved {saved.skill} output{for_whom} (iteration {saved.iteration})")
    if saved.is_redacted:
        call.complain("Warning: the output was redacted.")
    if not call.is_quiet:
        call.write(json.dumps({"iteration": saved.iteration}) + "\n")


def get_skill_output(call: BazingaCall) -> None:
    """What a skill reported last, or null."""
    found = _outputs(call, 1)
    call.answer(json.loads(found[0].output) if found else None)


def _outputs(call: BazingaCall, limit: int = -1) -> list[skill_outputs.StoredSkillOutput]:
    """What a skill reported, the newest first, as today's redaction rules leave it."""
    session, skill = call.positionals[:2]
    agent = call.get("--agent")
    found = skill_outputs.list_skill_outputs(call.store.primary, session, skill, agent=agent, limit=limit)
    return cleaned_page(call.store, "skill", found)


get_latest_skill_output = get_skill_output  # the name that was promised and never made


def get_skill_output_all(call: BazingaCall) -> list[Json]:
    """Everything a skill reported, the newest first."""
    return [
        {
            "iteration": output.iteration,
            "agent_type": output.agent or None,
            "group_id": output.group,
            "timestamp": text_moment(output.created_at),
            "output_data": json.loads(output.output),
        }
        for output in _outputs(call)
    ]


def check_skill_evidence(call: BazingaCall) -> Json:
    """Which of some skills have an output of late; 0 whatever is missing."""
    minutes = call.number("--since", _RECENT_MINUTES)
    if minutes < 1:
        raise UsageError(f"--since must be a positive integer, got {minutes}")
    wanted = tuple(skill.strip() for skill in call.positionals[1].split(",") if skill.strip())
    found: tuple[str, ...] = ()
    try:
        if wanted:
            session, since = find_session(call.store.primary, call["session"]), now_us() - minutes * _MINUTE_US
            found = check_evidence(call.store.primary, session, call.get("--agent"), wanted, since_us=since).found
    except NotFoundError as error:
        call.complain(error.message)
    missing = [skill for skill in wanted if skill not in found]
    return {
        "complete": not missing,
        "missing": missing,
        "found": [skill for skill in wanted if skill in found],
        "mandatory": list(wanted),
        "recency_window_minutes": minutes,
    }

"""PostToolUse: beside what failures.py says, what other agents have found since, while an agent is at work.

    * **[HIGH]** notes/locks.md: A read that becomes a write fails at once in WAL mode. (package:7)

A finding is told to an agent whose task it is about (prompts.py has the floor), in one line, once, and not to the one
that wrote it. Nearly always nothing is new, so the first question is one number: the newest document's row id.
"""

import os

from ctxrank.cli.agents.failures import on_tool_end as on_failure
from ctxrank.cli.agents.injected_text import named, public_part, reference, tokens_of
from ctxrank.cli.agents.session import HookCall, origin_of
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.records.injections import Injection
from ctxrank.indexer.records.running_agents import RunningAgent, newest_document, note_running, running_agent
from ctxrank.indexer.records.sessions import session_id_of
from ctxrank.indexer.store.connection import read_column
from ctxrank.indexer.store.ids import PACKAGE, public_id
from ctxrank.indexer.text.light_json import dumps

if TYPE_CHECKING:
    from ctxrank.indexer.store.parents import ParentDocument
    from ctxrank.ranking.context.floor import PromptFinding

TOKENS_AN_HOUR = 150
_LEAST_TOKENS = 60  # a line with what stands around it
_HOUR_US = 3600 * 1_000_000
_HEADING = "Found by others since this task began:\n"
_MAX_NEW = 400
_NAME_CHARS, _SUMMARY_CHARS = 70, 140
_WRITING_TOOLS = ("Write", "apply_patch")


def on_tool_end(call: HookCall) -> str:
    """What goes before the model after a tool call: the known fix of what failed, else what others have found."""
    if call.settings.learn and call.event.text("tool_name") in _WRITING_TOOLS:
        _keep_written_notes(call)
    return on_failure(call) or _found_since(call)


def _keep_written_notes(call: HookCall) -> None:
    """Take in a note as it is written: others may need it before its agent stops."""
    written = dumps(call.event.object("tool_input"), ensure_ascii=False)
    if any(f"{folder}/" in written for folder in call.settings.folders):
        from ctxrank.cli.agents.stops import take_in_notes  # noqa: PLC0415  few files are notes

        take_in_notes(call)


def _found_since(call: HookCall) -> str:
    primary = call.store.primary
    session_id = session_id_of(primary, call.event.session)
    agent = None if session_id is None else running_agent(primary, session_id, call.agent_id)
    newest = newest_document(primary)
    if session_id is None or agent is None or newest <= agent.seen:
        return ""
    now = now_us()
    told = [pair for pair in zip(agent.told[::2], agent.told[1::2], strict=False) if pair[0] > now - _HOUR_US]
    room = TOKENS_AN_HOUR - sum(tokens for _, tokens in told)
    if room < _LEAST_TOKENS:
        return ""
    findings = _findings(call, agent)
    text, count = reference(_HEADING, [_line(call, one) for one in findings], room)
    if text:
        ids = tuple(public_id(one.parent.kind, one.parent.number) for one in findings[:count])
        tokens = tokens_of(text)
        call.note(Injection(call.event.name, ids, tokens, len(text), agent=call.agent_id), text)
        told.append((now, tokens))
    # What has no room now is looked at again in an hour, unless it has none in a whole hour's.
    waiting = [one.parent.id for one in findings[count:]] if told else []
    if waiting:
        told.append((now, TOKENS_AN_HOUR))
        newest = min(waiting) - 1
    with call.store.write() as change:
        flat = tuple(number for pair in told for number in pair)
        note_running(change, session_id, call.agent_id, agent._replace(seen=newest, told=flat))
    return text


def _findings(call: HookCall, agent: RunningAgent) -> "list[PromptFinding]":
    """What is new to an agent and about its task, best first."""
    from ctxrank.indexer.records.cloned_notes import where_from  # noqa: PLC0415  as below
    from ctxrank.ranking.context.findings import relevant_findings  # noqa: PLC0415  only where something is new
    from ctxrank.ranking.context.floor import KINDS  # noqa: PLC0415  as above

    task = agent.task or _task_of(call)
    primary = call.store.primary
    kinds = ", ".join("?" * len(KINDS))
    query = f"SELECT id FROM documents WHERE id > ? AND kind IN ({kinds}) ORDER BY id DESC LIMIT ?"
    new = frozenset(read_column(primary, query, (agent.seen, *KINDS, _MAX_NEW), int))
    if not (task and new):
        return []
    shown, is_news = call.shown, call.news_filter()
    of_call = f"{call.event.fields.get('tool_input')}\n{call.event.fields.get('tool_response')}"

    def is_wanted(parent: "ParentDocument") -> bool:
        id_ = public_id(parent.kind, parent.number)
        # What this very call names is this agent's own, or was read by it.
        is_named = any(not rest[:1].isdigit() for rest in of_call.split(id_)[1:])
        return (
            not (is_named or (parent.path and parent.path in of_call))
            and is_news(parent)
            and not _is_known(call, parent, shown)
            and not (parent.kind == PACKAGE and where_from(primary, parent.number))  # a stranger's is not told unasked
        )

    return relevant_findings(call.store, task, call.config, len(new), is_wanted, new)


def _is_known(call: HookCall, parent: "ParentDocument", shown: frozenset[str]) -> bool:
    """Whether an agent was shown an earlier version of a package."""
    query = "SELECT id FROM packages WHERE superseded_by = ?"
    replaced = read_column(call.store.primary, query, (parent.number,), int) if parent.kind == PACKAGE else []
    return any(public_id(PACKAGE, number) in shown for number in replaced)


def _task_of(call: HookCall) -> str:
    """The task of a spawned agent by its own transcript, where its runner keeps one beside that of the session."""
    from ctxrank.cli.agents.arrivals import given_texts  # noqa: PLC0415  only where several agents started at once

    folder, _ = os.path.splitext(call.event.text("transcript_path"))
    given = given_texts(os.path.join(folder, "subagents", f"agent-{call.agent_id}.jsonl"))
    return public_part("".join(given[:1]))


def _line(call: HookCall, finding: "PromptFinding") -> str:
    """A finding in one line."""
    parent = finding.parent
    name, said = named(parent, _NAME_CHARS, _SUMMARY_CHARS)
    facts = filter(None, (public_id(parent.kind, parent.number), origin_of(call.store, parent.id, parent.number)))
    return f"* {name}{f': {said}' if said else ''} ({', '.join(facts)})"

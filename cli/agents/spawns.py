"""PreToolUse of the tool that spawns, and SubagentStart: the block for the agent that is spawned.

    spawn: prompt    the tool's input comes back with the block before its prompt: task and block are paired exactly,
                     and SubagentStart says nothing
    spawn: start     SubagentStart, which is told no task, gives the block for the one that PreToolUse remembers

Where a prompt's block did not arrive (arrivals.py), and `spawn` is not set, it is `start` from then on.

Neither allows anything: without a decision of ours the runner asks whom it would have asked. Codex takes a changed
input only together with an `allow`, so `start` is its default; Claude Code's is `prompt`.
"""

from collections.abc import Mapping

from ctxrank.cli.agents.event import CODEX, SPAWNING_TOOLS, text_of
from ctxrank.cli.agents.injected_text import (
    MAX_CHARACTERS,
    MAX_CONTEXT_CHARACTERS,
    ROOM_FOR_JSON,
    is_tagged,
    public_part,
    tagged,
)
from ctxrank.cli.agents.session import HookCall, group_id, role_of
from ctxrank.indexer.records.injections import Injection
from ctxrank.indexer.records.running_agents import RunningAgent, newest_document, note_running
from ctxrank.indexer.records.sessions import Session
from ctxrank.indexer.records.spawns import forget_spawn, last_spawn, note_block, remember_spawn, take_spawn
from ctxrank.indexer.text.digests import digest_of
from ctxrank.ranking.context.assembly.assemble import make_assembly
from ctxrank.ranking.context.assembly.receipt import record_assembly
from ctxrank.ranking.context.assembly.shapes import AssembleRequest
from ctxrank.ranking.retrieval.cleaning import cleaned_task
from ctxrank.ranking.retrieval.query import bounded_text

_PROMPT_FIELDS = ("prompt", "message")
_TYPE_FIELDS = ("subagent_type", "agent_type")
_UNNAMED = {CODEX: "default"}  # the type of an agent that is started where a spawn names none
_LEAST_CHARACTERS = 400  # a block that is cut to less says too little
_TRIES = 3
_NO_BLOCK = ("", None)


def on_spawn(call: HookCall) -> Mapping[str, object] | None:
    """The spawning tool's input with the block before its prompt; None where nothing is to be said."""
    tool_input = call.event.object("tool_input")
    field = next((name for name in _PROMPT_FIELDS if text_of(tool_input.get(name))), None)
    if call.event.text("tool_name") not in SPAWNING_TOOLS or field is None:
        return None
    prompt = text_of(tool_input[field])
    if is_tagged(prompt):  # it has a block already
        return None
    named = (text for name in _TYPE_FIELDS if (text := text_of(tool_input.get(name))))
    agent_type = next(named, _UNNAMED.get(call.event.runner, ""))
    tool_use_id, session = call.event.text("tool_use_id"), call.session
    task = cleaned_task(bounded_text(public_part(prompt)), call.config.redaction_mode)
    running = RunningAgent(task, newest_document(call.store.primary))
    room = _room(*tool_input.values())
    block, injection = _block(call, session, agent_type, prompt, room) if _way(call) == "prompt" else _NO_BLOCK
    with call.store.write() as change:
        if injection is not None:
            call.note_in(change, session.id, injection, block)
            note_block(change, call.event.runner, "prompt", digest_of(prompt.strip()))
        if tool_use_id:
            remember_spawn(change, session.id, tool_use_id, agent_type, running)
    return {**tool_input, field: f"{block}\n{prompt}"} if block else None


def on_agent_start(call: HookCall) -> str:
    """The block for an agent that has started, where it did not get one with its prompt."""
    agent_type = call.event.text("agent_type")
    session = call.session
    with call.store.write() as change:
        running = take_spawn(change, session.id, agent_type)
        if call.agent_id:
            note_running(change, session.id, call.agent_id, running)
    if _way(call) != "start" and _room(running.task) >= _LEAST_CHARACTERS:
        return ""
    block, injection = _block(call, session, agent_type, running.task, MAX_CONTEXT_CHARACTERS)
    if injection is not None:
        call.note(injection, block)
    return block


def on_spawn_end(call: HookCall) -> None:
    """A spawn has ended: no agent waits for its task any more. In Codex one that has an id is about to start."""
    tool_use_id = call.event.text("tool_use_id")
    if call.event.runner == CODEX and '"agent_id"' in call.event.text("tool_response"):
        return
    if tool_use_id and call.event.text("tool_name") in SPAWNING_TOOLS:
        session_id = call.session.id
        with call.store.write() as change:
            forget_spawn(change, session_id, tool_use_id)


def _room(*fields: object) -> int:
    """How many characters an answer has for a block beside these fields of the tool."""
    return MAX_CHARACTERS - ROOM_FOR_JSON - sum(len(repr(field)) for field in fields)


def _way(call: HookCall) -> str:
    if call.settings.spawn:
        return call.settings.spawn
    runner = call.event.runner
    return "start" if runner == CODEX or last_spawn(call.store.primary, runner).has_arrived == 0 else "prompt"


def _block(call: HookCall, session: Session, agent_type: str, task: str, room: int) -> tuple[str, Injection | None]:
    """The block for a task, in so many characters, and what is to be noted of it; _NO_BLOCK where it would be empty,
    or too short to say much.
    """
    if call.group is not None:
        with call.store.write() as change:
            group_id(change, session.id, call.group)
    budget = call.settings.spawn_tokens
    role, asked = role_of(call.config, call.settings, agent_type), bounded_text(public_part(task))
    for _ in range(_TRIES):
        if room < _LEAST_CHARACTERS or not budget:
            break
        request = AssembleRequest(
            session.name, role, call.group, asked, budget=budget, reach="project", is_explained=False
        )
        result, spawn = make_assembly(call.store, request, call.config)
        if spawn is None or not (result.packages or result.reasoning or result.errors or result.linked):
            break
        text = tagged(result.text)
        if len(text) <= room:
            receipt = record_assembly(spawn, result).receipt
            ids = tuple(entry.id for entry in result.entries)
            return text, Injection(call.event.name, ids, result.used, len(text), receipt, call.agent_id)
        budget = budget * room * 9 // (len(text) * 10)
    return _NO_BLOCK

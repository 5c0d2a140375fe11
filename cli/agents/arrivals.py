"""Whether a block arrived: a runner may drop the changed input of the tool that spawns, and says nothing of it.

The agent's own transcript, which SubagentStop names, begins with the prompt that it was given: the one with the block,
or the one that we were shown. Where the last one had none, the next agents get theirs at SubagentStart (spawns.py).
"""

from ctxrank.cli.agents.event import object_of, text_of, texts_of
from ctxrank.cli.agents.injected_text import is_tagged
from ctxrank.cli.agents.session import HookCall
from ctxrank.indexer.beneath import read_start
from ctxrank.indexer.records.spawns import last_spawn, note_block_arrival
from ctxrank.indexer.text.digests import digest_of
from ctxrank.indexer.text.light_json import loads

_START_BYTES = 256 * 1024


def note_arrival(call: HookCall) -> None:
    """Note whether the agent that stops had its block, where its transcript says so."""
    path, runner = call.event.text("agent_transcript_path"), call.event.runner
    sent = last_spawn(call.store.primary, runner)
    if not path or not sent.prompt:
        return
    prompt = _first_prompt(path)
    has_arrived = is_tagged(prompt)
    if (has_arrived or digest_of(prompt.strip()) == sent.prompt) and has_arrived != sent.has_arrived:
        with call.store.write() as change:
            note_block_arrival(change, runner, has_arrived=has_arrived)


def _first_prompt(path: str) -> str:
    """The first message of an agent's transcript; '' where it cannot be read."""
    try:
        lines = read_start(path, _START_BYTES).split(b"\n")
    except (OSError, ValueError):
        return ""
    for line in lines:
        if b'"user"' in line:
            try:
                fields = object_of(loads(line.decode("utf-8", "replace")))
            except (ValueError, RecursionError):
                continue
            content = object_of(fields.get("message")).get("content")
            if fields.get("type") == "user":
                return text_of(content) or "\n".join(texts_of(content))
    return ""

"""Whether a block arrived: a runner may drop the changed input of the tool that spawns, and says nothing of it.

The agent's own transcript, which SubagentStop names, begins with the prompt that it was given: the one with the block,
or the one that we were shown. Where the last one had none, the next agents get theirs at SubagentStart (spawns.py).
Codex writes what came at SubagentStart beside the prompt.
"""

import time

from ctxrank.cli.agents.event import CODEX, object_of_line, text_of, texts_of
from ctxrank.cli.agents.injected_text import is_tagged
from ctxrank.cli.agents.session import HookCall
from ctxrank.indexer.beneath import read_part
from ctxrank.indexer.light_typing import object_of
from ctxrank.indexer.records.spawns import last_spawn, note_block
from ctxrank.indexer.text.digests import digest_of

_START_BYTES = 256 * 1024
_LOOKS, _PAUSE_S = 10, 0.05


def note_arrival(call: HookCall) -> None:
    """Note whether the agent that stops had its block, where its transcript says so."""
    path, runner = call.event.text("agent_transcript_path"), call.event.runner
    sent = last_spawn(call.store.primary, runner)
    if not path:
        return
    given = given_texts(path)
    looks = _LOOKS if sent.prompt else 0
    while looks and not given:  # Claude Code writes the file a moment after it calls
        time.sleep(_PAUSE_S)
        given, looks = given_texts(path), looks - 1
    has_arrived = any(map(is_tagged, given[:1] if sent.prompt else given))
    if sent.prompt:
        is_known = has_arrived or digest_of("".join(given[:1]).strip()) == sent.prompt
    else:  # it came at SubagentStart, which this one was told something at
        is_known = runner == CODEX and bool(given and call.shown)
    if is_known and has_arrived != sent.has_arrived:
        with call.store.write() as change:
            note_block(change, runner, "has_arrived", int(has_arrived))


def given_texts(path: str) -> list[str]:
    """What an agent was given before it said anything, by its transcript; nothing where that cannot be read."""
    try:
        lines = read_part(path, _START_BYTES).split(b"\n")
    except (OSError, ValueError):
        return []
    given: list[str] = []
    for line in lines:
        if b'"user"' in line or b'"developer"' in line:
            fields = object_of_line(line)
            # Claude Code: {"type": "user", "message": {…}}, Codex: {"type": "response_item", "payload": {…}}.
            message = object_of(fields.get("message")) or object_of(fields.get("payload"))
            content = message.get("content")
            if text_of(message.get("role")) in ("user", "developer"):
                given.append(text_of(content) or "\n".join(texts_of(content)))
    return given

"""What Codex wrote down of a command that has ended: its PostToolUse tells what was printed, and no exit code.

    {"type": "event_msg", "payload": {"type": "item_completed", "item": {
        "type": "CommandExecution", "id": "<tool_use_id>", "exit_code": 2, …}}}

The line is in the session's file before the hook is called.
"""

from collections.abc import Mapping

from ctxrank.cli.agents.event import object_of_line
from ctxrank.indexer.beneath import read_part
from ctxrank.indexer.light_typing import object_of
from ctxrank.indexer.text.light_json import dumps

# Of the file's end: few commands print so much that their line is longer than the first of these.
_END_BYTES = (256 * 1024, 4 * 1024 * 1024)


def item_of(fields: Mapping[str, object]) -> Mapping[str, object]:
    """What a line says has been completed; empty for any other line."""
    payload = object_of(fields.get("payload"))
    return object_of(payload.get("item")) if payload.get("type") == "item_completed" else {}


def exit_code_of(path: str, tool_use_id: str) -> int | None:
    """The exit code of a command; None where the file does not say, as of one that still runs."""
    id_ = dumps(tool_use_id).encode()
    for most in _END_BYTES:
        try:
            end = read_part(path, most, is_end=True)
        except (OSError, ValueError):
            return None
        for line in reversed(end.split(b"\n")):
            if b'"CommandExecution"' not in line or id_ not in line:
                continue
            item = item_of(object_of_line(line))
            code = item.get("exit_code")
            if item.get("id") == tool_use_id:
                return code if isinstance(code, int) else None
        if len(end) < most:
            return None
    return None

"""One event of an agent runner, as far as it says what we need; what else it says is passed over.

Claude Code and Codex send one JSON object with nearly the same fields. Codex says in which turn an event is
(`turn_id`). What other runners send is put into these words first (dialects.py).
"""

import os
from collections.abc import Mapping

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple, is_list, object_of
from ctxrank.indexer.text.light_json import is_deep, loads
from ctxrank.indexer.text.tables import rows

RUNNERS = ("claude-code", "codex")  # those whose words are ours
CLAUDE_CODE, CODEX = RUNNERS
# Events that are there and say nothing that we answer or keep.
PASSED_OVER = ("PreCompact", "PostCompact", "Notification", "PermissionRequest")
SPAWNING_TOOLS = ("Agent", "Task", "spawn_agent")


class EventKind(NamedTuple):
    """What is done at an event: how long it waits for other writers, and what answers it, loaded when it comes."""

    wait_ms: int
    answer: str
    answer_to_spawn: str


_ROWS = list(rows(__file__, "events"))
LIMITS_S = {name: float(limit_s) for name, limit_s, *_ in _ROWS}  # how long a runner waits for an answer
CODEX_LIMITS_S = {"SessionEnd": 3.0}  # it waits no longer, whatever it is told
KINDS = {name: EventKind(int(wait_ms), *answers) for name, _, wait_ms, *answers in _ROWS}


class Event(NamedTuple):
    """An event: who says it, what it is, in which session and folder, and its other fields."""

    runner: str
    name: str
    session: str
    cwd: str
    fields: Mapping[str, object]

    @property
    def limit_s(self) -> float:
        """How long the runner waits for the answer."""
        limit_s = CODEX_LIMITS_S.get(self.name) if self.runner == CODEX else None
        return LIMITS_S[self.name] if limit_s is None else limit_s

    def text(self, name: str) -> str:
        """A field that is a text; '' for none."""
        return text_of(self.fields.get(name))

    def object(self, name: str) -> Mapping[str, object]:
        """A field that is an object; empty for none."""
        return object_of(self.fields.get(name))


def read_event(data: bytes, runner: str | None) -> Event | None:
    """The event, or None for one that we pass over. Raises UsageError for what is none, without quoting it."""
    text = data.decode("utf-8", "replace")
    if is_deep(text):
        raise UsageError("The event is nested too deeply.")
    try:
        value: object = loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError("The event is no JSON.") from error
    fields: Mapping[str, object] = object_of(value)
    # Cursor and Copilot CLI read Claude Code's settings beside their own, and call its hook.
    if runner == CLAUDE_CODE and ("cursor_version" in fields or "COPILOT_PROJECT_DIR" in os.environ):
        return None
    if runner is not None and runner not in RUNNERS:
        from ctxrank.cli.agents.dialects import ours, rows_of  # noqa: PLC0415  only other runners have other words

        runner = runner if rows_of(runner) else None
        fields = fields if runner is None else ours(runner, fields)
        if not fields:
            return None
    name = text_of(fields.get("hook_event_name"))
    if name in PASSED_OVER:
        return None
    if name not in KINDS:
        raise UsageError("The event is of a kind that is not known." if name else "What came is no event.")
    session, cwd = text_of(fields.get("session_id")).strip(), text_of(fields.get("cwd"))
    if not session:
        raise UsageError(f"{name} without a session_id.")
    if not os.path.isdir(cwd):
        raise UsageError(f"{name} of a folder that is not there.")
    is_codex = "turn_id" in fields or "/.codex/" in text_of(fields.get("transcript_path"))
    return Event(runner or (CODEX if is_codex else CLAUDE_CODE), name, session, cwd, fields)


def text_of(value: object) -> str:
    """A value that is a text, as a store can hold it; '' for anything else."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def object_of_line(line: bytes) -> Mapping[str, object]:
    """What a line of JSON says that is an object; empty for any other line."""
    try:
        return object_of(loads(line.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return {}


def texts_of(value: object) -> list[str]:
    """The texts of a list; of MCP's content parts, what their `text` says."""
    if not is_list(value):
        return []
    items: list[object] = list(value)
    return [text for item in items if (text := text_of(item) or text_of(object_of(item).get("text")))]


def line_of(words: list[str]) -> str:
    """The line that a model wrote, of a command in words: without the shell that was given it."""
    from shlex import join  # noqa: PLC0415  Codex alone gives words

    return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else join(words)

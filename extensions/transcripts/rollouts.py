"""What Codex writes down of a session, a rollout: the same steps in other words.

    {"type": "session_meta", "payload": {"session_id": …, "id": …, "cwd": …, "git": {"branch": …}}}
    {"type": "event_msg", "timestamp": …, "payload": {"type": "item_completed", "item": {"type": "AgentMessage", …}}}

The first line says whose the file is: of an agent that another one started, `id` is its own and `session_id` is not.
"""

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from ctxrank.cli.agents.event import line_of, object_of_line, text_of, texts_of
from ctxrank.cli.agents.rollout import item_of
from ctxrank.extensions.transcripts.steps import Called, Said, Where, moment_of, output_of
from ctxrank.indexer.light_typing import object_of


def rollout_of(line: bytes) -> Where | None:
    """Whose a rollout is, by its first line; None for the first line of another file."""
    if b'"session_meta"' not in line:
        return None
    fields = object_of_line(line)
    if fields.get("type") != "session_meta":
        return None
    told = object_of(fields.get("payload"))
    own = text_of(told.get("id"))
    session = text_of(told.get("session_id")) or own
    branch = text_of(object_of(told.get("git")).get("branch"))
    return Where(session, text_of(told.get("cwd")), branch, "" if own == session else own)


def steps_of(fields: Mapping[str, object], where: Where, start: int, end: int) -> Iterator[Said | Called]:
    """The steps that a line tells: a text, a command that has ended, or the files that were changed."""
    item, at_us = item_of(fields), moment_of(fields.get("timestamp"))
    if at_us is None:
        return
    kind, id_ = item.get("type"), text_of(item.get("id"))
    if kind in ("UserMessage", "AgentMessage"):
        yield Said(where, at_us, "\n".join(texts_of(item.get("content"))), kind == "UserMessage", end)
    elif kind == "CommandExecution":
        code = item.get("exit_code")
        if isinstance(code, int):
            there = where._replace(cwd=unquote(text_of(item.get("cwd")).removeprefix("file://")) or where.cwd)
            given, output = (
                {"command": line_of(texts_of(item.get("command")))},
                output_of(item.get("aggregated_output")),
            )
            yield Called(there, at_us, id_, "exec_command", given, output, code != 0, start, end)
    elif kind == "FileChange":
        has_failed = item.get("status") != "completed"
        for path, change in object_of(item.get("changes")).items():
            given = {"file_path": path} | _edit(object_of(change))
            yield Called(where, at_us, id_, "Edit", given, "", has_failed, start, end)


def _edit(change: Mapping[str, object]) -> dict[str, str]:
    """What a change took away and what it put in, as Claude Code's tools say it."""
    lines = text_of(change.get("unified_diff")).split("\n")
    old, new = ("\n".join(line[1:] for line in lines if line.startswith(sign)) for sign in "-+")
    return {"old_string": old, "new_string": new or text_of(change.get("content"))}

"""The events of the runners that have other words for them than ours, and our answers in their words.

    ours("gemini-cli", {"hook_event_name": "BeforeAgent", …})     {"hook_event_name": "UserPromptSubmit", …}
    theirs("cursor", {"additionalContext": "…"})                  {"additional_context": "…"}

Each runner's words are rows of dialects.tsv; one without rows speaks ours. These modules load for such runners alone.
"""

from collections.abc import Mapping

from ctxrank.indexer.light_typing import NamedTuple, is_dict, is_list
from ctxrank.indexer.text.light_json import loads
from ctxrank.indexer.text.tables import rows

_MAX_DIGITS = 9  # a command may print a line that only looks like its exit code


class Row(NamedTuple):
    """A row of the table, of one runner: what kind of word it has, its word, ours, and the tools of an event."""

    kind: str
    theirs: str
    ours: str
    tools: str = ""


def rows_of(runner: str) -> list[Row]:
    """The rows of a runner; none for one that speaks our words, or is not known."""
    return [Row(*cells) for name, *cells in rows(__file__, "dialects") if name == runner]


def ours(runner: str, fields: Mapping[str, object]) -> Mapping[str, object]:
    """An event's fields in our words, and those that have none; empty for the end of a command that still runs."""
    table = rows_of(runner)
    words = {(row.kind, row.theirs): row.ours for row in table}
    told = dict(fields)
    for name, kind in (("hook_event_name", "event"), ("tool_name", "tool")):
        told[name] = words.get((kind, str(fields.get(name))), fields.get(name))
    for row in table:
        value = _at(fields, row.theirs) if row.kind in ("field", "json", "default") else None
        if value is not None and not (row.kind == "default" and told.get(row.ours)):
            told[row.ours] = _value_of(value) if row.kind == "json" and isinstance(value, str) else value
    if told["hook_event_name"] != "PostToolUse":
        return told
    if isinstance(told.get("error"), str) and told["error"]:
        return {**told, "hook_event_name": "PostToolUseFailure"}
    printed = next((row for row in table if row.kind == "printed"), None)
    if printed is None or told["tool_name"] != "Bash":
        return told
    exit_row = next(row for row in table if row.kind == "exit")
    response = _shell_response(str(told.get("tool_response")), printed, exit_row)
    return {} if response is None else {**told, "tool_response": response}


def theirs(runner: str, output: Mapping[str, object], event: str) -> Mapping[str, object]:
    """The whole answer to an event, by our name of it, in a runner's words."""
    words = {row.ours: row.theirs for row in rows_of(runner) if row.kind == "answer"}
    answer: dict[str, object] = {}
    for name, value in output.items():
        *above, last = words.get(name, f"hookSpecificOutput.{name}").split(".")
        place = {last: value}
        answer.update({above[0]: {"hookEventName": event, **place}} if above else place)
    return answer


def _at(fields: Mapping[str, object], way: str) -> object:
    """What a way of names and numbers leads to; None where it leads nowhere."""
    value: object = fields
    for name in way.split("."):
        if is_list(value):
            items: list[object] = list(value)
            value = items[int(name)] if name.isdigit() and int(name) < len(items) else None
        else:
            value = value.get(name) if is_dict(value) else None
    return value


def _value_of(text: str) -> object:
    """What a text of JSON says; any other text as it is."""
    try:
        return loads(text)
    except (ValueError, RecursionError):
        return text


def _shell_response(text: str, printed: Row, exit_row: Row) -> Mapping[str, object] | None:
    """What a command printed and its exit code; None where that is not said, as of a command that still runs."""
    _, begin, output = f"\n{text}".partition(f"\n{printed.theirs}")
    if not begin:
        return None
    before, mark, after = f"\n{output}".rpartition(f"\n{printed.ours}")
    code = after.partition(exit_row.theirs)[2] if exit_row.theirs else after
    digits = code[: len(code) - len(code.lstrip("0123456789"))]
    if mark and digits:
        return {"output": before[1:], "exit_code": int(digits[:_MAX_DIGITS])}
    return {"output": output, "exit_code": int(exit_row.ours)} if exit_row.ours else None

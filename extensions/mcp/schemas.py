"""What the tools of `tools.tsv` take and answer, as a model is told and as it is checked.

arguments(tools()["search"], {"query": "locked"})     {"query": "locked", "limit": 5, "kinds": () …
arguments(tools()["search"], {"queri": "locked"})     UsageError: 'search' has no argument 'queri'. It has query, …
"""

from ctxrank.cli.command_table import command_table
from ctxrank.cli.declare import Command, Group, OneOf, Parameter, Shape, Whole
from ctxrank.cli.parse import converted
from ctxrank.cli.schema import value_schema
from ctxrank.extensions.mcp.protocol import Json, named
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import cache, is_dict, is_list

_READING = ("search", "read", "why")


@cache
def tools() -> dict[str, Command]:
    """Every tool by its name."""
    group = command_table("ctxrank.extensions.mcp", "tools").declared()
    assert isinstance(group, Group)
    return group.commands


def described(tool: Command) -> Json:
    """The tool as `tools/list` names it."""
    title, _, description = tool.help.partition("\n\n")
    return {
        "name": tool.name,
        "title": title,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": {one.name: _argument_schema(one) for one in tool.parameters},
            "required": [one.name for one in tool.parameters if one.required],
        },
        "outputSchema": value_schema(*tool.answer),
        "annotations": {
            **({"readOnlyHint": True} if tool.name in _READING else {}),
            "destructiveHint": False,
            "openWorldHint": False,
        },
    }


def _argument_schema(one: Parameter) -> Json:
    value: Json = {"type": "string"}
    if one.is_flag:
        value = {"type": "boolean"}
    elif one.is_many:
        value = {"type": "array", "items": {"type": "string"}}
    elif isinstance(one.type, OneOf):
        value = {"enum": list(one.type.words)}
    elif isinstance(one.type, Whole):
        value = {"type": "integer", "minimum": one.type.least, "maximum": one.type.most}
    more = {"default": one.default, "description": one.help}
    return {key: part for key, part in {**value, **more}.items() if part not in (None, "")}


def arguments(tool: Command, given: Json) -> dict[str, object]:
    """The value of every argument: given, else its default. Raises UsageError, which names those that there are."""
    known = {one.name: one for one in tool.parameters}
    for name in given:
        if name not in known:
            raise UsageError(f"'{tool.name}' has no argument {name!a}.", f"It has {', '.join(known)}.")
    missing = [one.name for one in tool.parameters if one.required and given.get(one.name) is None]
    if missing:
        raise UsageError(f"'{tool.name}' needs {' and '.join(missing)}.", f"It takes {', '.join(known)}.")
    values: dict[str, object] = {}
    for name, one in known.items():
        read = _read(one, given.get(name))
        if read is None:
            raise UsageError(f"'{name}' is {_meant(one)}, not {ascii(given[name])[:60]}.", "")
        values |= read
    return values


def _read(one: Parameter, value: object) -> dict[str, object] | None:
    """The argument as the tool takes it; None for a value that it does not take. Some models write "5" and "true"."""
    if value is None:
        return converted({}, (one,))
    if one.is_flag:
        truth = {"true": True, "false": False}.get(str(value).lower())
        return None if truth is None else {one.name: truth}
    many = value if is_list(value) and one.is_many else [value]
    if any(isinstance(word, bool) or not isinstance(word, str | int) for word in many):
        return None
    words = tuple(str(word) for word in many)
    return converted({one.name: words if one.is_many else words[0]}, (one,))


def _meant(one: Parameter) -> str:
    if one.is_flag:
        return "true or false"
    if one.is_many:
        return "a list of texts"
    if isinstance(one.type, Whole):
        most = "" if one.type.most is None else f" to {one.type.most}"
        return f"a whole number from {one.type.least}{most}"
    return f"one of {', '.join(filter(None, one.type.words))}" if isinstance(one.type, OneOf) else "a text"


def picked(shape: Shape, value: object) -> object:
    """Of a value what its shape names."""
    if is_dict(shape) and is_dict(value):
        fields = named(value)
        return {str(name): picked(one, fields[str(name)]) for name, one in shape.items()}
    if is_list(shape) and is_list(value):
        return [picked(shape[0], one) for one in value]
    return value

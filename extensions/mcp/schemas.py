"""What the tools of `tools.tsv` take and answer, as a model is told."""

from ctxrank.cli.command_table import command_table
from ctxrank.cli.declare import Command, Group, OneOf, Parameter, Shape, Whole
from ctxrank.cli.schema import value_schema
from ctxrank.extensions.mcp.protocol import Json
from ctxrank.indexer.light_typing import cache, is_dict, is_list, object_of

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


def picked(shape: Shape, value: object) -> object:
    """Of a value what its shape names."""
    if is_dict(shape) and is_dict(value):
        fields = object_of(value)
        return {str(name): picked(one, fields[str(name)]) for name, one in shape.items()}
    if is_list(shape) and is_list(value):
        return [picked(shape[0], one) for one in value]
    return value

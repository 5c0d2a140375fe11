"""`ctxrank schema`: what commands take and answer, as JSON, from their declarations.

    answer_schema(({"id": "id", "hits": [{"score": "number"}]},))     a JSON Schema of the whole answer

Fields may be added to any answer, so no schema forbids what it does not name.
"""

from collections.abc import Mapping

from ctxrank.cli.call import Call, Reply
from ctxrank.cli.command_table import GLOBALS
from ctxrank.cli.declare import Command, Declared, Fields, Nullable, OneOf, Parameter, Path, Shape, Whole
from ctxrank.cli.main import declared_commands
from ctxrank.cli.output.envelope import SCHEMA_VERSION
from ctxrank.indexer.exceptions import (
    CtxrankError,
    DamagedError,
    LockedError,
    NoStoreError,
    NotFoundError,
    UntrustedError,
    UsageError,
)
from ctxrank.indexer.light_typing import Any, is_dict, is_list, is_tuple, object_of
from ctxrank.indexer.text.tables import json_of

DRAFT = "https://json-schema.org/draft/2020-12/schema"
OUTCOMES = ("matched", "no_match", "degraded", "stale")
_FAILURES = (NotFoundError, UsageError, NoStoreError, UntrustedError, DamagedError, CtxrankError, LockedError)
_KINDS = {one.kind: one.exit_code for one in _FAILURES}
_SAID: dict[str, dict[str, Any]] = json_of(__file__, "schema")
EXIT_CODES = {int(code): meaning for code, meaning in _SAID["exit_codes"].items()}
_WORDS: Mapping[str, Mapping[str, object]] = _SAID["words"]  # what a word of a shape is
_TYPE_NAMES = {type(None): "string", Whole: "integer", OneOf: "choice", Path: "path"}
_Json = dict[str, object]


def schema(call: Call, words: tuple[str, ...]) -> Reply:
    """Describe all commands, or those that the words name; the answer is JSON in either form."""
    commands = dict(commands_of(declared_commands()))
    chosen = {name: one for name, one in commands.items() if tuple(name.split()[: len(words)]) == words}
    if not chosen:
        raise UsageError(f"There is no command '{' '.join(words)}'.", "'ctxrank --help' lists them.")
    payload = {
        "commands": {name: _command_json(one) for name, one in chosen.items()},
        "global_options": [_parameter_json(one) for one in GLOBALS],
        "exit_codes": EXIT_CODES,
        "failure": failure_schema(),
    }
    return Reply(lambda: payload, form="json")


def commands_of(declared: Mapping[str, Declared]) -> list[tuple[str, Command]]:
    """Every command by its whole name: `package list`."""
    return [
        (f"{name} {inner}".rstrip(), command)
        for name, one in declared.items()
        for inner, command in ({"": one} if isinstance(one, Command) else one.listed).items()
    ]


def _command_json(command: Command) -> _Json:
    failures = {code: EXIT_CODES[code] for code in (*_KINDS.values(), 130)}
    value: _Json = {
        "help": command.help.replace("\b\n", ""),
        "parameters": [_parameter_json(one) for one in command.parameters],
        "exit_codes": dict(sorted({**failures, **command.exits}.items())),
        "answer": answer_schema(command.answer) if command.answer else None,
    }
    if command.prints:
        value["stdout"] = command.prints[0]
    if command.line:
        value["jsonl_line"] = {"$schema": DRAFT, **value_schema(command.fields(*command.line))}
    return value


def _parameter_json(one: Parameter) -> _Json:
    kind = "flag" if one.is_flag else "option" if one.is_option else "argument"
    value: _Json = {
        "name": one.name,
        "kind": kind,
        "type": "boolean" if one.is_flag else _TYPE_NAMES[type(one.type)],
        "words": [*one.on_words, *one.off_words],
        "required": one.required,
        "multiple": one.is_many,
        "default": None if one.required else one.nothing_given,
        "metavar": one.metavar,
        "help": one.help,
    }
    if isinstance(one.type, OneOf):
        value["choices"] = list(one.type.words)
    if isinstance(one.type, Whole):
        value["minimum"], value["maximum"] = one.type.least, one.type.most
    return value


def answer_schema(forms: tuple[Fields, ...]) -> _Json:
    """The JSON Schema of a command's whole answer."""
    head: Fields = {"schema_version": (SCHEMA_VERSION,), "outcome": OUTCOMES}
    schemas = [value_schema({**head, **form}) for form in forms]
    return {"$schema": DRAFT, **schemas[0]} if len(schemas) == 1 else {"$schema": DRAFT, "anyOf": schemas}


def failure_schema() -> _Json:
    """The JSON Schema of what is printed with --json where a command fails."""
    error: Fields = {
        "code": tuple(dict.fromkeys(_KINDS.values())),
        "kind": tuple(_KINDS),
        "message": "string",
        "hint": "string",
        "retryable": "boolean",
    }
    return {"$schema": DRAFT, **value_schema({"schema_version": (SCHEMA_VERSION,), "error": error})}


def value_schema(shape: Shape) -> _Json:
    """The JSON Schema of a value of this shape."""
    if isinstance(shape, str):
        known = _WORDS[shape.removesuffix("?").partition(":")[0]]
        if not shape.endswith("?"):
            return dict(known)
        types = known["type"]
        return {**known, "type": [*(types if is_list(types) else (types,)), "null"]}
    if isinstance(shape, Nullable):
        return {"anyOf": [value_schema(shape.shape), {"type": "null"}]}
    if is_tuple(shape):
        return {"enum": list(shape)}
    if is_list(shape):
        return {"type": "array", "items": value_schema(shape[0])}
    assert is_dict(shape), f"{shape!r} is no shape"
    fields = object_of(shape)
    others = fields.pop("*", None)
    return {
        "type": "object",
        "properties": {key.removesuffix("?"): value_schema(one) for key, one in fields.items()},
        "required": [key for key in fields if not key.endswith("?")],
        "additionalProperties": True if others is None else value_schema(others),
    }

"""The JSON that a recorded call printed, held against what its command declares."""

import json
import re
import shlex
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from ctxrank.cli import declare
from ctxrank.cli.command_table import GLOBALS
from ctxrank.cli.main import declared_commands
from ctxrank.cli.names import renamed
from ctxrank.cli.schema import answer_schema, commands_of, failure_schema

# And the kinds' own lists, which are answered as they were.
DECLARED = dict(commands_of(declared_commands())) | {
    f"{name} {inner}": command
    for name, one in declared_commands().items()
    if isinstance(one, declare.Group)
    for inner, command in one.commands.items()
}
_NAME = re.compile(r"^\$ (?:\w+=\S+ )*ctxrank (.*)$")
_GLOBAL_VALUES = {word for one in GLOBALS if not one.is_flag for word in one.on_words}


def checked_command(transcript: str) -> str:
    """The name of a command that answered in JSON, which is as declared; '' for anything but such an answer.

    Of an answer that is kept as a digest, what was checked when it was made.
    """
    first, _, rest = transcript.partition("\n")
    called = _NAME.match(first)
    if called and " lines of JSON, sha256 " in rest.partition("\n")[0]:
        return _command(shlex.split(called[1]))
    text = rest.partition("--- stdout\n")[2].partition("\n--- stderr\n")[0]
    if called is None or not text.startswith('{\n  "schema_version"'):
        return ""
    answer = json.loads(text.replace("<n>", "0"))  # a size that differs by machine
    if "outcome" not in answer:
        _failures().validate(answer)
        return ""
    name = _command(shlex.split(called[1]))
    _answers_of(name).validate(answer)
    return name


def validator(schema: dict[str, object]) -> Any:
    """What checks a value by a schema."""
    return Draft202012Validator(schema)


@cache
def _answers_of(name: str) -> Any:
    declared = DECLARED[name].answer
    assert declared, name
    return validator(answer_schema(declared))


@cache
def _failures() -> Any:
    return validator(failure_schema())


def _command(words: list[str]) -> str:
    """The whole name of the command that a call names, by today's name; '' for none."""
    words = renamed(["-q", *words])
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _GLOBAL_VALUES else 1
    names = words[at : at + 2]
    return next((name for name in (" ".join(names), *names[:1]) if name in DECLARED), "")

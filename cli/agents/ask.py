"""Any command asked from inside a process: by its declaration, as the command line asks it, and answered as a value.

    ask(Call(), "search", query=("locked",), limit=3).payload["hits"]

One table of commands serves all who ask, so a tool, an HTTP request and a shell take the same parameters, check them
the same way and give the same answers.
"""

from collections.abc import Mapping

from ctxrank.cli.actions.given import instead_of_stdin
from ctxrank.cli.call import Call, act
from ctxrank.cli.declare import Command, Group, OneOf, Parameter, Path, Whole
from ctxrank.cli.main import find_command
from ctxrank.cli.parse import converted
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple, cast, is_list, is_tuple


class CommandAnswer(NamedTuple):
    """A command's answer: the JSON's own fields, what was said beside it, and whether there was anything."""

    payload: dict[str, object]
    notes: tuple[str, ...]
    outcome: str  # matched, no_match, degraded, stale
    engine: str
    exit_code: int


def ask(call: Call, name: str, given: Mapping[str, object], stdin: bytes = b"") -> CommandAnswer:
    """The answer of the command of this whole name (`package list`) to parameters by name; `stdin` is what '-' means.

    Raises UsageError for a command or parameter that is not there and for a value that it does not take, and whatever
    the command raises.
    """
    command = command_of(name)
    quiet = call._replace(is_json=True, verbosity=-1, is_colored=False)
    with instead_of_stdin(stdin):
        reply = act(command, quiet, values_of(command, given))
    payload = {} if reply.payload is None else dict(cast("Mapping[str, object]", reply.payload()))
    return CommandAnswer(payload, (*reply.text_notes, *reply.notes), reply.outcome, reply.engine, reply.exit_code)


def command_of(name: str) -> Command:
    """The declaration of a command by its whole name. Raises UsageError."""
    first, _, second = name.partition(" ")
    found = find_command(first)
    if isinstance(found, Group):
        found = found.command(second)
    elif second:
        found = None
    if not isinstance(found, Command):
        raise UsageError(f"There is no command {name!a}.", "'ctxrank schema' lists them.")
    return found


def values_of(command: Command, given: Mapping[str, object]) -> dict[str, object]:
    """The value of every parameter: given, else its default. Raises UsageError, which names those that there are."""
    known = {one.name: one for one in command.parameters}
    for name in given:
        if name not in known:
            raise UsageError(f"'{command.name}' has no parameter {name!a}.", f"It has {', '.join(known)}.")
    missing = [one.name for one in command.parameters if one.required and given.get(one.name) is None]
    if missing:
        raise UsageError(f"'{command.name}' needs {' and '.join(missing)}.", f"It takes {', '.join(known)}.")
    values: dict[str, object] = {}
    for name, one in known.items():
        read = _read(one, given.get(name))
        if read is None:
            raise UsageError(f"'{name}' is {_meant(one)}, not {ascii(given[name])[:60]}.", "")
        values |= read
    return values


def _read(one: Parameter, value: object) -> dict[str, object] | None:
    """The parameter as an action takes it; None for a value that it does not take. Some models write "5" and "true"."""
    if value is None:
        return converted({}, (one,))
    if one.is_flag:
        truth = {"true": True, "false": False}.get(str(value).lower())
        return None if truth is None else {one.name: truth}
    many = value if one.is_many and (is_list(value) or is_tuple(value)) else [value]
    if any(isinstance(word, bool) or not isinstance(word, str | int | float) for word in many):
        return None
    words = tuple(str(word) for word in many)
    return converted({one.name: words if one.is_many else words[0]}, (one,))


def _meant(one: Parameter) -> str:
    if one.is_flag:
        return "true or false"
    if isinstance(one.type, Whole):
        bounds = zip(("from", "to"), one.type, strict=True)
        return " ".join(["a whole number", *(f"{word} {bound}" for word, bound in bounds if bound is not None)])
    if isinstance(one.type, OneOf):
        return f"one of {', '.join(filter(None, one.type.words))}"
    return "a list of texts" if one.is_many else "a path to read" if isinstance(one.type, Path) else "a text"

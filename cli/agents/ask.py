"""Any command asked from inside a process: by its declaration, as the command line asks it, and answered as a value.

    ask(Call(), "search", query=("locked",), limit=3).payload["hits"]

One table of commands serves all who ask, so a tool, an HTTP request and a shell take the same parameters, check them
the same way and give the same answers.
"""

from collections.abc import Mapping

from ctxrank.cli.actions.given import instead_of_stdin
from ctxrank.cli.call import Call, act
from ctxrank.cli.declare import Command, Group
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
        reply = act(command, quiet, _values(command, given))
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


def _values(command: Command, given: Mapping[str, object]) -> dict[str, object]:
    known = {parameter.name: parameter for parameter in command.parameters}
    words: dict[str, object] = {}
    for name, value in given.items():
        parameter = known.get(name)
        if parameter is None:
            raise UsageError(f"'{command.name}' has no parameter {name!a}.", f"It has {', '.join(known)}.")
        if value is None:
            continue
        if parameter.is_flag:
            if not isinstance(value, bool):
                raise UsageError(f"'{name}' is true or false, not {_short(value)}.", "Leave it out for the default.")
            words[name] = value
        elif parameter.is_many:
            many = value if is_list(value) or is_tuple(value) else [value]
            words[name] = tuple(_word(name, one) for one in many)
        else:
            words[name] = _word(name, value)
    values = converted(words, command.parameters)
    if values is None:
        missing = [one.name for one in command.parameters if one.required and one.name not in words]
        wrong = [name for name in words if converted({name: words[name]}, (known[name],)) is None]
        if missing:
            raise UsageError(f"'{command.name}' needs {', '.join(missing)}.", "Give it.")
        shown = ", ".join(f"{name} {_short(words[name])}" for name in wrong)
        raise UsageError(
            f"'{command.name}' does not take {shown}.", f"'ctxrank schema {command.name}' says what it takes."
        )
    return values


def _word(name: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"'{name}' is a text or a number, not {_short(value)}.", "See 'ctxrank schema'.")
    return str(value)


def _short(value: object) -> str:
    return ascii(value)[:60]

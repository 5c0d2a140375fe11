"""The arguments of the predecessor's commands: positionals, then `--flag value`.

    given = read(("shop", "--limit", "3"), COMMANDS["get-strategies"])
    given[0], given.number("--limit", 5)                                        ("shop", 3)

Its commands treat what they do not know in different ways, each as it is there: see Unknown.
"""

from enum import Enum

from ctxrank.cli.declare import Command, Parameter
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple, is_list


class Unknown(Enum):
    """What becomes of a flag that a command has not, and of arguments after its positionals."""

    REFUSED = "refused"
    IGNORED = "ignored"
    POSITIONAL = "positional"  # flags may be anywhere, and all else is a positional
    DROPPED = "dropped"  # the same, and surplus positionals are dropped


class Declaration(NamedTuple):
    """A command as ours are declared, and what it does with words that it does not know."""

    command: Command
    unknown: Unknown


class Given:
    """The arguments of one call."""

    __slots__ = ("_flags", "positionals")

    def __init__(self, positionals: list[str], flags: dict[str, str]) -> None:
        self.positionals = positionals
        self._flags = flags

    def __getitem__(self, place: int) -> str:
        return self.positionals[place]

    def optional(self, place: int) -> str | None:
        """A positional that may be left out."""
        return self.positionals[place] if place < len(self.positionals) else None

    def text(self, flag: str) -> str | None:
        """A flag's value; the last one counts."""
        return self._flags.get(flag)

    def number(self, flag: str, default: int) -> int:
        """A flag's value as a whole number. Raises UsageError."""
        text = self._flags.get(flag)
        return default if text is None else whole_number(text, flag)

    def texts(self, flag: str) -> tuple[str, ...]:
        """A flag's value, which is a JSON array of strings; none is empty. Raises UsageError."""
        text = self._flags.get(flag)
        return () if text is None else strings(text, flag)


def read(arguments: tuple[str, ...], declaration: Declaration) -> Given:
    """What was given, as the command declares it. Raises UsageError."""
    command, unknown = declaration
    flags = tuple(one.declared[0] for one in command.parameters if one.is_option)
    words = [one for one in command.parameters if not one.is_option]
    needed = sum(one.required for one in words)
    most = len(arguments) if unknown is Unknown.DROPPED else len(words)
    flags_stand_anywhere = unknown in (Unknown.POSITIONAL, Unknown.DROPPED)
    positionals: list[str] = []
    values: dict[str, str] = {}
    at = 0
    while at < len(arguments):
        argument = arguments[at]
        flag = _flag(argument, flags) if len(positionals) >= needed or flags_stand_anywhere else None
        if flag is not None and at + 1 < len(arguments):
            values[flag] = arguments[at + 1]
            at += 2
            continue
        if not flags_stand_anywhere and len(positionals) >= needed:
            if flag is not None and unknown is Unknown.REFUSED:
                raise UsageError(f"{argument} needs a value.")
            # A command that has no flags takes any text for what it is.
            if (flags and argument.startswith("--")) or len(positionals) >= most:
                if unknown is Unknown.REFUSED:
                    raise UsageError(_why_refused(argument, flags))
                at += 1
                continue
        positionals.append(argument)
        at += 1
    if len(positionals) < needed:
        raise UsageError(f"Too few arguments: it takes {_usage(words)}.", _flags_hint(flags))
    if len(positionals) > most and flags_stand_anywhere:
        raise UsageError(f"Unexpected argument {positionals[most]!a}: it takes {_usage(words)}.", _flags_hint(flags))
    return Given(positionals, values)


def _usage(words: list[Parameter]) -> str:
    return " ".join(f"<{one.metavar}>" if one.required else f"[{one.metavar}]" for one in words)


def _flag(argument: str, flags: tuple[str, ...]) -> str | None:
    """The flag that an argument is; `-` and `_` inside its name are the same."""
    if not argument.startswith("--"):
        return None
    plain = argument[2:].replace("-", "_")
    return next((flag for flag in flags if flag[2:].replace("-", "_") == plain), None)


def _why_refused(argument: str, flags: tuple[str, ...]) -> str:
    if argument.startswith("--"):
        return f"Unknown flag {argument!a}. {_flags_hint(flags) or 'It takes no flags.'}"
    return f"Unexpected argument {argument!a}. {_flags_hint(flags)}".rstrip()


def _flags_hint(flags: tuple[str, ...]) -> str:
    return f"Flags are {', '.join(flags)}." if flags else ""


def whole_number(text: str, what: str) -> int:
    """A whole number. Raises UsageError."""
    try:
        number = int(text)
    except ValueError as error:
        raise UsageError(f"{what} must be a whole number, got {text!a}.") from error
    if abs(number) >= 1 << 63:
        raise UsageError(f"{what} is too large: {text}.")
    return number


def strings(text: str, what: str) -> tuple[str, ...]:
    """A JSON array of strings. Raises UsageError."""
    items = json_list(text, what)
    if not all(isinstance(item, str) for item in items):
        raise UsageError(f"{what} must be a JSON array of strings.")
    return tuple(str(item) for item in items)


def json_list(text: str, what: str) -> list[object]:
    """A JSON array. Raises UsageError."""
    import json  # noqa: PLC0415  only an argument that is JSON

    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"Invalid JSON for {what}: {error}.") from error
    if not is_list(value):
        raise UsageError(f"{what} must be a JSON array.")
    return list(value)


def group_name(text: str, *, may_be_global: bool = True) -> str | None:
    """The name of a group that something is saved for; None is the whole session. Raises UsageError."""
    from ctxrank.cli.bazinga.records.groups import name_problem  # noqa: PLC0415  declarations open no database
    from ctxrank.indexer.records.sessions import is_session_wide  # noqa: PLC0415  declarations open no database

    if text.strip().lower() == "global" and not may_be_global:
        raise UsageError("group_id cannot be 'global' here.", "Name a task group, or give '' for the whole session.")
    if is_session_wide(text):
        return None
    problem = name_problem(text)
    if problem:
        raise UsageError(f"{problem}.")
    return text

"""The predecessor's commands, and the arguments of a call: positionals, then `--flag value`.

    given = Arguments()
    given.read(("shop", "--limit", "3"), COMMANDS["get-strategies"])
    given["project"], given.number("--limit", 5)                               ("shop", 3)

`commands.txt` has a line for each command: its family (a module of `commands/`, imported when one of its commands is
called; the function has the command's name, with underscores), what becomes of words it does not know, its arguments.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from enum import Enum

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple, is_list


class Unknown(Enum):
    """What becomes of a flag that a command has not, and of arguments after its positionals."""

    REFUSED = "refused"
    IGNORED = "ignored"
    POSITIONAL = "positional"  # flags may be anywhere, and all else is a positional
    DROPPED = "dropped"  # the same, and surplus positionals are dropped
    RAW = "raw"  # the command reads its own


class Declaration(NamedTuple):
    """A command: `words` are its `<needed>` and `[optional]` positionals."""

    family: str
    name: str
    unknown: Unknown
    words: tuple[str, ...]
    flags: tuple[str, ...]


class Arguments(dict[str, str]):
    """The arguments of one call by their names, `session` and `--limit`; of a flag the last value counts."""

    positionals: tuple[str, ...] = ()

    def read(self, arguments: tuple[str, ...], declaration: Declaration) -> None:
        """Take what was given, as the command declares it. Raises UsageError."""
        _, _, unknown, words, flags = declaration
        if unknown is Unknown.RAW:
            self.positionals = arguments
            return
        needed = sum(word.startswith("<") for word in words)
        most = len(arguments) if unknown is Unknown.DROPPED else len(words)
        is_anywhere = unknown in (Unknown.POSITIONAL, Unknown.DROPPED)
        hint = f"Flags are {', '.join(flags)}." if flags else ""
        by_name = {flag.replace("-", "_"): flag for flag in flags}  # `-` and `_` inside a flag's name are the same
        positionals: list[str] = []
        rest = list(arguments)
        while rest:
            argument = rest.pop(0)
            looks_like_flag = argument.startswith("--")
            may_be_flag = looks_like_flag and (is_anywhere or len(positionals) >= needed)
            flag = by_name.get(argument.replace("-", "_")) if may_be_flag else None
            if flag is not None and rest:
                self[flag] = rest.pop(0)
            elif is_anywhere or len(positionals) < (needed if flags and looks_like_flag else most):
                positionals.append(argument)
            elif unknown is Unknown.REFUSED and flag is not None:
                raise UsageError(f"{argument} needs a value.")
            elif unknown is Unknown.REFUSED and looks_like_flag:
                raise UsageError(f"Unknown flag {argument!a}. {hint or 'It takes no flags.'}")
            elif unknown is Unknown.REFUSED:
                raise UsageError(f"Unexpected argument {argument!a}. {hint}".rstrip())
        if len(positionals) < needed:
            raise UsageError(f"Too few arguments: it takes {' '.join(words)}.", hint)
        if len(positionals) > most and is_anywhere:
            raise UsageError(f"Unexpected argument {positionals[most]!a}: it takes {' '.join(words)}.", hint)
        self.positionals = tuple(positionals)
        self.update(zip((word.strip("<>[]") for word in words), positionals, strict=False))

    def number(self, name: str, default: int) -> int:
        """A value as a whole number. Raises UsageError."""
        text = self.get(name)
        return default if text is None else whole_number(text, name)

    def texts(self, name: str) -> tuple[str, ...]:
        """A value that is a JSON array of strings; none is empty. Raises UsageError."""
        items = json_list(self.get(name, "[]"), name)
        if not all(isinstance(item, str) for item in items):
            raise UsageError(f"{name} must be a JSON array of strings.")
        return tuple(map(str, items))


def data(name: str) -> str:
    """A file of this folder."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), encoding="utf-8") as file:
        return file.read()


def _declared() -> Iterator[Declaration]:
    for line in data("commands.txt").splitlines()[1:]:
        family, name, unknown, *words = line.split()
        flags = tuple(word for word in words if word.startswith("--"))
        yield Declaration(family, name, Unknown(unknown), tuple(words[: len(words) - len(flags)]), flags)


COMMANDS = {one.name: one for one in _declared()}


def leading_options(
    words: Sequence[str], valued: Collection[str], switches: Collection[str], *, lacking: str = "{} needs a value."
) -> tuple[dict[str, str], list[str]]:
    """The options that the words begin with, as `--name value` or `--name=value`, and what follows them.

    Raises UsageError, in the words of `lacking`, for one without its value.
    """
    given: dict[str, str] = {}
    rest = list(words)
    while rest:
        name, has_value, value = rest[0].partition("=")
        if rest[0] in switches:
            given[name] = ""
        elif name not in valued:
            break
        elif not has_value and len(rest) == 1:
            raise UsageError(lacking.format(name))
        else:
            given[name] = value if has_value else rest.pop(1)
        del rest[0]
    return given, rest


def one_of(what: str, text: str | None, words: tuple[str, ...]) -> None:
    """Raises UsageError for a text that is none of these words; None is fine."""
    if text is not None and text not in words:
        raise UsageError(f"Invalid {what}: {text}. It must be one of {', '.join(words)}.")


def whole_number(text: str, what: str) -> int:
    """A whole number. Raises UsageError."""
    try:
        number = int(text)
    except ValueError as error:
        raise UsageError(f"{what} must be a whole number, got {text!a}.") from error
    if abs(number) >= 1 << 63:
        raise UsageError(f"{what} is too large: {text}.")
    return number


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
    from ctxrank.extensions.bazinga.records.groups import name_problem  # noqa: PLC0415  declarations open no database
    from ctxrank.indexer.records.sessions import is_session_wide  # noqa: PLC0415  declarations open no database

    if text.strip().lower() == "global" and not may_be_global:
        raise UsageError("group_id cannot be 'global' here.", "Name a task group, or give '' for the whole session.")
    if is_session_wide(text):
        return None
    problem = name_problem(text)
    if problem:
        raise UsageError(f"{problem}.")
    return text

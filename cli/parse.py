"""Ordinary calls, read without click: what a command declares is all that is needed for most of them.

    read(["search", "database", "-n", "3"], find)      PlainCall(search, values={"query": ("database",), "limit": 3 …

It says None where there is anything to think about (help, mistakes, `-n3`, `-qv`): click reads those. What it does
read, it reads as click would; tests/cli/test_parse.py holds both against each other.
"""

import os
from collections.abc import Callable

from ctxrank.cli.call import Call, run_command
from ctxrank.cli.command_table import GLOBAL_NAMES, GLOBALS
from ctxrank.cli.declare import Command, Declared, Group, OneOf, Parameter, Type, Whole
from ctxrank.indexer.light_typing import NamedTuple, is_tuple

_MAX_DIGITS = 15
_Values = dict[str, object]


class PlainCall(NamedTuple):
    """A command, the global options before its name, and those after it, and what is its own."""

    command: Command
    before: _Values
    after: _Values
    values: _Values


class _Split(NamedTuple):
    """Words as options and others; `rest` is what was not looked at."""

    given: _Values
    others: list[str]
    rest: list[str]


def read(arguments: list[str], find: Callable[[str], Declared | None]) -> PlainCall | None:
    """The call that these words mean, or None where click has to say; `find` gives the command of a name."""
    before = _split(arguments, GLOBALS, is_interspersed=False)
    if before is None or not before.rest:
        return None
    name, *rest = before.rest
    found = find(name)
    if isinstance(found, Group) and rest:
        found = found.command(rest.pop(0))
    if not isinstance(found, Command) or found.usage is not None:
        return None
    options = tuple(parameter for parameter in found.parameters if parameter.is_option)
    split = _split(rest, (*options, *GLOBALS), is_interspersed=found.is_interspersed)
    if split is None:
        return None
    arguments_ = tuple(parameter for parameter in found.parameters if not parameter.is_option)
    given = _with_arguments(split.given, [*split.others, *split.rest], arguments_)
    if given is None:
        return None
    values = converted(given, found.parameters)
    if values is None:
        return None
    return PlainCall(found, before.given, {name: given[name] for name in GLOBAL_NAMES if name in given}, values)


def run_plain(plain: PlainCall) -> int:
    """Call the command; returns its exit code."""
    return run_command(plain.command, Call.at_start().merged(plain.before).merged(plain.after), plain.values)


def _split(words: list[str], options: tuple[Parameter, ...], *, is_interspersed: bool) -> _Split | None:
    """Options with their values, apart from the other words."""
    on = {word: option for option in options for word in option.on_words}
    off = {word: option for option in options for word in option.off_words}
    given: _Values = {}
    others: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if len(word) < 2 or word[0] != "-":
            if not is_interspersed:
                return _Split(given, others, words[at - 1 :])
            others.append(word)
            continue
        if word == "--":
            return _Split(given, others, words[at:])
        name, has_value, value = word.partition("=")
        option = on.get(name) or off.get(name)
        if option is None or (has_value and (option.is_flag or name[:2] != "--")):
            return None
        if option.is_flag:
            given[option.name] = name in on
            continue
        if not has_value:
            if at == len(words):
                return None
            value = words[at]
            at += 1
        if option.multiple:
            earlier = given.get(option.name, ())
            assert isinstance(earlier, tuple)
            given[option.name] = (*earlier, value)
        else:
            given[option.name] = value
    return _Split(given, others, [])


def _with_arguments(given: _Values, words: list[str], parameters: tuple[Parameter, ...]) -> _Values | None:
    """The words given to the arguments, in turn; at most the last one takes more than one."""
    values = dict(given)
    for parameter in parameters:
        if parameter.nargs == -1:
            values[parameter.name] = tuple(words)
            words = []
        elif words:
            values[parameter.name] = words[0]
            words = words[1:]
    return None if words else values


def converted(given: _Values, parameters: tuple[Parameter, ...]) -> _Values | None:
    """Every parameter's value: given, else its default. None where one is needed or not allowed."""
    values: _Values = {}
    for parameter in parameters:
        value = given.get(parameter.name, ())
        if value == ():
            if parameter.required:
                return None
            value = parameter.nothing_given
        elif parameter.type is not None:
            read_values = [_typed(one, parameter.type) for one in (value if is_tuple(value) else (value,))]
            if None in read_values:
                return None
            value = tuple(read_values) if is_tuple(value) else read_values[0]
        values[parameter.name] = value
    return values


def _typed(value: object, type_: Type) -> object:
    """The value of a type; None where click has to say what is wrong with it."""
    text = str(value)
    if isinstance(type_, Whole):
        return _whole(text, type_)
    if isinstance(type_, OneOf):
        return text if text in type_.words else None
    is_usable = not type_.is_folder or not os.path.exists(text) or (os.path.isdir(text) and os.access(text, os.R_OK))
    return text if is_usable else None


def _whole(text: str, limits: Whole) -> int | None:
    if not (text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS):
        return None
    number = int(text)
    is_inside = (limits.least is None or number >= limits.least) and (limits.most is None or number <= limits.most)
    return number if is_inside else None

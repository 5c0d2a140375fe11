"""Ordinary calls, read without click: what a command declares is all that is needed for most of them.

    read(["search", "database", "-n", "3"], find)      (search, Call(), {"query": ("database",), "limit": 3 …

It says None where there is anything to think about (help, mistakes, `-n3`, `-qv`): click reads those. What it does
read, it reads as click would; tests/cli/test_parse.py holds both against each other.
"""

import os
from collections.abc import Callable

from ctxrank.cli.call import Call
from ctxrank.cli.command_table import GLOBAL_NAMES, GLOBALS
from ctxrank.cli.declare import Command, Declared, Group, OneOf, Parameter, Type, Whole
from ctxrank.indexer.light_typing import is_tuple

MAX_DIGITS = 15  # of a whole number: more might not fit a column
_Values = dict[str, object]


# What `run_command` takes: a command, the call with its global options, and the values of its parameters.
PlainCall = tuple[Command, Call, _Values]


def read(arguments: list[str], find: Callable[[str], Declared | None]) -> PlainCall | None:
    """The call that these words mean, or None where click has to say; `find` gives the command of a name."""
    before = _split(arguments, GLOBALS, is_interspersed=False)
    if before is None or not before[1]:
        return None
    name, *rest = before[1]
    found = find(name)
    if isinstance(found, Group) and rest:
        found = found.command(rest.pop(0))
    if not isinstance(found, Command) or found.usage is not None:
        return None
    options = tuple(parameter for parameter in found.parameters if parameter.is_option)
    split = _split(rest, (*options, *GLOBALS), is_interspersed=found.is_interspersed)
    if split is None:
        return None
    given, words = split
    call = Call.at_start().merged(before[0])
    call = call.merged({name: given.pop(name) for name in GLOBAL_NAMES if name in given})
    for parameter in found.parameters:
        if not parameter.is_option and parameter.is_many:
            given[parameter.name] = tuple(words)
            words = []
        elif not parameter.is_option and words:
            given[parameter.name] = words.pop(0)
    values = None if words else converted(given, found.parameters)
    return None if values is None else (found, call, values)


def _split(
    words: list[str], options: tuple[Parameter, ...], *, is_interspersed: bool
) -> tuple[_Values, list[str]] | None:
    """Options with their values, and the other words, all from the first of them on where it is not interspersed."""
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
                return given, words[at - 1 :]
            others.append(word)
            continue
        if word == "--":
            return given, [*others, *words[at:]]
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
        if option.is_many:
            earlier = given.get(option.name, ())
            assert isinstance(earlier, tuple)
            given[option.name] = (*earlier, value)
        else:
            given[option.name] = value
    return given, others


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
        number, (least, most) = whole_number(text.removeprefix("-")), type_
        if number is None:
            return None
        number = -number if text[0] == "-" else number
        return number if (least is None or number >= least) and (most is None or number <= most) else None
    if isinstance(type_, OneOf):
        return text if text in type_.words else None
    is_usable = not type_.is_folder or not os.path.exists(text) or (os.path.isdir(text) and os.access(text, os.R_OK))
    return text if is_usable and "\0" not in text else None


def whole_number(text: str) -> int | None:
    """A whole number from 0 as it is typed, of at most MAX_DIGITS; None for any other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS else None

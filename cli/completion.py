"""`ctxrank completion`: a shell's completion script: a list of words, and an awk program that reads it.

A press of TAB starts no Python: that takes longer than a person waits for a completion, and the words change only with
the version. A line of the list is a point of a command line, a word that may follow, and what that takes, between tabs:

    package save   --title   *              any value
    show           --depth   meta summary full
    *              --json                   nothing; a global option, which may stand everywhere
    index                    <file>         no option: what an argument may be

`shells/` has a script for each shell, and the program, `words.awk`: its arguments are the words behind `ctxrank`, up to
the one that is being typed, and the list is its input.
"""

import os
from collections.abc import Iterator, Mapping

from ctxrank.cli.call import Call, Reply
from ctxrank.cli.command_table import GLOBALS, parameter
from ctxrank.cli.declare import Command, Declared, OneOf, Parameter, Path
from ctxrank.cli.main import declared_commands


def completion(call: Call, shell: str) -> Reply:
    """Write the script of a shell."""
    script = script_of(shell, declared_commands())
    return Reply(lambda: {"shell": shell, "script": script}, text=script)


def script_of(shell: str, declared: Mapping[str, Declared]) -> str:
    """The script of bash, zsh or fish: that of `shells/`, with the list and the program in it."""
    words = "\n".join("\t".join(line) for line in word_list(declared))
    return _script(f"completion.{shell}").replace("@AWK@", _script("words.awk")).replace("@WORDS@", words)


def _script(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), "shells", name), encoding="utf-8") as file:
        return file.read()


def word_list(declared: Mapping[str, Declared]) -> Iterator[tuple[str, str, str]]:
    """(point of a command line, word or '' for an argument, what it takes), for all that can be completed."""
    yield "", "", " ".join(declared)
    yield from _words_of("*", (*GLOBALS, parameter("flag", "-h --help")))
    for name, one in declared.items():
        if isinstance(one, Command):
            yield from _words_of(name, one.parameters)
            continue
        yield name, "", " ".join(one.listed)
        for inner, command in one.listed.items():
            yield from _words_of(f"{name} {inner}", command.parameters)


def _words_of(place: str, parameters: tuple[Parameter, ...]) -> Iterator[tuple[str, str, str]]:
    yield place, "", ""
    for one in parameters:
        takes = "" if one.is_flag else "*"
        if isinstance(one.type, OneOf):
            takes = " ".join(one.type.words)
        elif isinstance(one.type, Path):
            takes = "<folder>" if one.type.is_folder else "<file>"
        yield from ((place, word, takes) for word in ((*one.on_words, *one.off_words) if one.is_option else ("",)))

"""Tables of expressions and words in files beside the code: one row an entry, columns between tabs.

    # a comment
    =   either    ['`](?P<{0}>\\w+)['`]         a piece: «either:a» stands for it in a later row, with a in place of {0}

Read when first asked for, and compiled where a row's signs are met: most calls have no error to look at.
"""

import os
import re
from collections.abc import Iterator
from functools import cache

from ctxrank.indexer.errors.parse.kept import compiled
from ctxrank.indexer.text.tables import kept_from_tables

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "tables")
_PIECE = r"«(\w+)(?::(\w+))?»"


@cache
def rows(name: str) -> list[list[str]]:
    """The rows of a table by its name, each as its columns."""
    return [line.split("\t") for line in _tables()[name].splitlines()]


@cache
def _tables() -> dict[str, str]:
    return kept_from_tables(__spec__, _read, _FOLDER)


def _read() -> dict[str, str]:
    """All tables, without comments and with their pieces in place."""
    return {file_name.removesuffix(".tsv"): "".join(_lines(file_name)) for file_name in os.listdir(_FOLDER)}


def _lines(file_name: str) -> Iterator[str]:
    pieces: dict[str, str] = {}

    def piece(found: re.Match[str]) -> str:
        return pieces[found[1]].replace("{0}", found[2] or "")

    with open(os.path.join(_FOLDER, file_name), encoding="utf-8") as file:
        for line in file:
            filled = line if line.startswith("#") else re.sub(_PIECE, piece, line)
            if filled.startswith("=\t"):
                _, name, pieces[name] = filled.rstrip("\n").split("\t")
            elif not filled.startswith("#"):
                yield filled


class Expressions(dict[str, re.Pattern[str]]):
    """The expressions of a module, by their names; each is compiled when it is first asked for."""

    def __init__(self, module: str) -> None:
        self._patterns = {name: pattern for of, name, pattern in rows("expressions") if of == module}

    def __missing__(self, name: str) -> re.Pattern[str]:
        found = self[name] = compiled(self._patterns[name])
        return found


@cache
def signed_rows(name: str) -> tuple[tuple[list[str], str], ...]:
    """The rows of a table of two columns: strings of which a text must hold one, and an expression."""
    return tuple((signs.split("¦"), pattern) for signs, pattern in rows(name))


def listed(name: str) -> frozenset[str]:
    """The words of a short list, by its name."""
    return frozenset(dict(rows("lists"))[name].split())


def words(name: str) -> frozenset[str]:
    """The words of a table of words."""
    return frozenset(word for (word,) in rows(name))

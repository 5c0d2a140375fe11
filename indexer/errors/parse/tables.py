"""Tables of expressions and words in files beside the code: one row an entry, columns between tabs.

    # a comment
    =   either    ['`](?P<{0}>\\w+)['`]         a piece: «either:a» stands for it in a later row, with a in place of {0}

Read when first asked for, and compiled where a row's signs are met: most calls have no error to look at.
"""

import os
import re
from collections.abc import Iterator

from ctxrank.indexer.errors.parse.kept import compiled
from ctxrank.indexer.light_typing import cache
from ctxrank.indexer.text.tables import words_of

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "tables")
_PIECE = r"«(\w+)(?::(\w+))?»"


def rows(name: str) -> Iterator[list[str]]:
    """The rows of a table by its name, each as its columns."""
    pieces: dict[str, str] = {}

    def piece(found: re.Match[str]) -> str:
        return pieces[found[1]].replace("{0}", found[2] or "")

    with open(os.path.join(_FOLDER, f"{name}.tsv"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                continue
            columns = (compiled(_PIECE).sub(piece, line) if "«" in line else line).rstrip("\n").split("\t")
            if columns[0] == "=":
                pieces[columns[1]] = columns[2]
            else:
                yield columns


@cache
def _expressions() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for module, name, pattern in rows("expressions"):
        found.setdefault(module, {})[name] = pattern
    return found


class Expressions(dict[str, re.Pattern[str]]):
    """The expressions of a module, by their names; each is compiled when it is first asked for."""

    def __init__(self, module: str) -> None:
        self.module = module

    def __missing__(self, name: str) -> re.Pattern[str]:
        found = self[name] = compiled(_expressions()[self.module][name])
        return found


def signed_rows(name: str) -> tuple[tuple[list[str], str], ...]:
    """The rows of a table of two columns: strings of which a text must hold one, and an expression."""
    return tuple((signs.split("¦"), pattern) for signs, pattern in rows(name))


_lists = cache(lambda: {name: frozenset(members.split()) for name, members in rows("lists")})


def listed(name: str) -> frozenset[str]:
    """The words of a short list, by its name."""
    return _lists()[name]


def words(name: str) -> frozenset[str]:
    """The words of a table of words."""
    return words_of(__file__, f"../tables/{name}")

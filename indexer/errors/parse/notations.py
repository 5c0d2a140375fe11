"""How tools write that something failed, one row of notations.tsv for each notation, and such lines taken apart.

    headline_of("src/a.ts(3,1): error TS2304: Cannot find name 'x'.")  ->  tool "tsc", code TS2304, the message

A row is tried only on lines that hold one of its `signs`, and its expression is compiled when that first happens:
compiling all of them would cost a cold start some thirty milliseconds. Named groups are what an expression may
find: message, type (of an exception), code, place (file:line), function.
"""

import re
from functools import cache

from ctxrank.indexer.errors.parse import kept
from ctxrank.indexer.errors.parse.tables import Expressions, rows
from ctxrank.indexer.light_typing import NamedTuple

# How much a unit explains; the smallest leads.
CAUSE = 0  # an exception, a compiler's diagnostic, a failed assertion
TOOL = 1  # a tool that says what it could not do
# 2: a summary, or a parent that reports a child's failure
WARNING = 3
TEXT = 4  # a line that merely speaks of an error
_RANKS = ("cause", "tool", "consequence", "warning")

NOTHING = r"(?!)"  # matches no line
STRUCTURE = "a message in a structure"  # why a notation of that kind is where it is
STRUCTURE_SIGNS = ("essage", "msg", "reason", "detail")
_LINES = Expressions("notations")
SIGNAL = _LINES["signal"]  # what makes a line worth a closer look; most lines of a log have none of it
MARK = _LINES["mark"]
# What announces an error comes early; expressions are not run over more than this.
_LONGEST = 800


class Notation(NamedTuple):
    """One way to write an error."""

    family: str  # "trace", "compiler", "test", "tool" or "text"
    tool: str
    rank: int
    owns: str  # what a following line that belongs to it begins with; "" for none
    signs: tuple[str, ...]
    pattern: str
    why: str


@cache
def notations() -> tuple[Notation, ...]:
    """All of them, in the order in which they are tried."""
    return tuple(
        Notation(family, tool, _RANKS.index(rank), owns, tuple(signs.split("¦")), pattern, why)
        for family, tool, rank, owns, signs, pattern, why in rows("notations")
    )


@cache
def ways(name: str) -> dict[str, str]:
    """What is particular of tools (see tools.tsv): their expressions for one of their ways."""
    return {tool: pattern for tool, of, pattern in rows("tools") if of == name}


def way(name: str, tool: str) -> str:
    """A tool's expression for one of its ways; what matches nothing where it has none."""
    return ways(name).get(tool, NOTHING)


class Headline(NamedTuple):
    """One announcing line, taken apart."""

    notation: Notation
    tool: str
    message: str
    error_type: str = ""
    codes: tuple[str, ...] = ()
    place: str = ""
    function: str = ""


def headline_of(line: str, following: str = "") -> Headline | None:
    """The announcement in this line; the line after it tells apart notations that begin alike."""
    if SIGNAL.search(line) is None:
        return None
    line = line[:_LONGEST]
    mark = re.match(MARK, line)
    for said in (line,) if mark is None else (line, line[mark.end() :]):
        for notation in notations():
            if any(sign in said for sign in notation.signs) and (match := kept.match(notation.pattern, said)):
                return _taken_apart(match, notation, following)
    return None


def _taken_apart(match: re.Match[str], notation: Notation, following: str) -> Headline:
    named = match.groupdict("")
    message = (named.get("message") or named.get("said", "")).strip()
    codes = tuple(code for key in ("code", "code2", "flag") if (code := named.get(key)))
    tool = notation.tool
    place_below = ways("place below").get(tool)
    if place_below and notation.family == "compiler" and not codes and not kept.match(place_below, following):
        tool = ""  # `error: …` alone is written by many
    if codes:  # "E07003" is none of rustc's
        own = (one for one, pattern in ways("has code").items() if any(kept.match(pattern, code) for code in codes))
        tool = next(own, "" if tool in ways("has code") else tool)
    if not codes and (place_below or not tool):
        tool = next((name for name, pattern in ways("says").items() if kept.compiled(pattern).search(message)), tool)
    error_type = re.split(r"\.|::", named.get("type", ""))[-1]
    return Headline(notation, tool, message, error_type, codes, named.get("place", ""), named.get("function", ""))

"""Lines that announce an error, taken apart by the notations of tools (`indexer/errors/tables/notations.tsv`).

headline_of("src/a.ts(3,1): error TS2304: Cannot find name 'x'.")  ->  tool "tsc", code TS2304, the message
"""

import re

from ctxrank.indexer.errors.parse import kept
from ctxrank.indexer.errors.parse.notations import Notation, notations, ways
from ctxrank.indexer.errors.parse.tables import Expressions
from ctxrank.indexer.light_typing import NamedTuple

_LINES = Expressions("headlines")
_SIGNAL = _LINES["signal"]
MARK = _LINES["mark"]
# What announces an error comes early; expressions are not run over more than this.
_LONGEST = 800


class Headline(NamedTuple):
    """One announcing line, taken apart."""

    notation: Notation
    tool: str
    message: str
    error_type: str = ""
    codes: tuple[str, ...] = ()
    place: str = ""
    function: str = ""


def may_announce(line: str) -> bool:
    """Whether this line is worth a closer look; cheap, and false for most lines of a log."""
    return bool(line) and _SIGNAL.search(line) is not None


def headline_of(line: str, following: str = "") -> Headline | None:
    """The announcement in this line; the line after it tells apart notations that begin alike."""
    if not may_announce(line):
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
    place_below = ways()["place below"].get(tool)
    if place_below and notation.family == "compiler" and not codes and not kept.match(place_below, following):
        tool = ""  # `error: …` alone is written by many
    for code in codes:
        tool = next((name for name, pattern in ways()["has code"].items() if kept.match(pattern, code)), tool)
    if not codes and (place_below or not tool):
        tool = next((name for name, pattern in ways()["says"].items() if kept.compiled(pattern).search(message)), tool)
    error_type = re.split(r"\.|::", named.get("type", ""))[-1]
    return Headline(notation, tool, message, error_type, codes, named.get("place", ""), named.get("function", ""))

"""How tools write that something failed: one row of notations.tsv for each notation.

A row is tried only on lines that hold one of its `signs`, and its expression is compiled when that first happens:
compiling all of them would cost a cold start some thirty milliseconds. Named groups are what an expression may
find: message, type (of an exception), code, place (file:line), function.
"""

from ctxrank.indexer.errors.parse.tables import rows
from ctxrank.indexer.light_typing import NamedTuple, cache

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
def ways() -> dict[str, dict[str, str]]:
    """What is particular of tools (see tools.tsv): expressions by what they are for, and by tool."""
    found: dict[str, dict[str, str]] = {}
    for tool, way, pattern in rows("tools"):
        found.setdefault(way, {})[tool] = pattern
    return found


def way(name: str, tool: str) -> str:
    """A tool's expression for one of its ways; what matches nothing where it has none."""
    return ways()[name].get(tool, NOTHING)

"""What a report says beside its message: the lines that give the reason, or name what it is about.

    reasons_beside("GPG check FAILED", ["Public key for x.rpm is not installed", "Error: GPG check FAILED"], 1, 2)
        ->  Reasons(("Public key for x.rpm is not installed",), 0, 2)

Two failures with one message and two reasons are two failures. Below the message each line counts that is no excerpt,
frame, advice, summary or progress; above it only one of the same block that itself says what is wrong, unless the
message says nothing. Found by what lines look like in any tool.
"""

from ctxrank.indexer.errors.parse.notations import headline_of
from ctxrank.indexer.errors.parse.structure import concludes, may_lead, names_something, without_stamp
from ctxrank.indexer.errors.parse.tables import Expressions
from ctxrank.indexer.light_typing import NamedTuple

_SHAPES = Expressions("structure")
_SAID = Expressions("reasons")
_UNITS = Expressions("units")
_MOST_BELOW = 12  # lines looked at
_MOST_KEPT = 6  # lines on either side
_LONGEST = 400


class Reasons(NamedTuple):
    """Lines of a report that say something beside its message, and the first line and the one after the last."""

    lines: tuple[str, ...]
    begin: int
    end: int


def reasons_beside(message: str, lines: list[str], begin: int, end: int) -> Reasons | None:
    """What is said beside the message that stands in the lines from `begin` to `end`; None where nothing is."""
    says_nothing = concludes(message) or not names_something(message)
    above = [at for at in _block_above(lines, begin) if tells(lines, at) and (says_nothing or _denies(lines[at]))]
    below = [at for at in _block_below(lines, end) if tells(lines, at)]
    found = [at for at in (*above, *below[:_MOST_KEPT]) if without_stamp(lines[at]) != message]
    said = tuple(without_stamp(lines[at])[:_LONGEST] for at in found)
    return Reasons(said, min(begin, found[0]), max(end, found[-1] + 1)) if found else None


def _denies(line: str) -> bool:
    return _SHAPES["loud"].search(line) is not None or _UNITS["absence"].search(line) is not None


def _block_above(lines: list[str], begin: int) -> list[int]:
    """The lines above, down to the message; an empty line begins another block unless the message stands alone."""
    found: list[int] = []
    for at in range(begin - 1, max(-1, begin - 1 - _MOST_KEPT), -1):
        if not lines[at].strip() and found:
            break
        found.append(at)
    return found[::-1]


def _block_below(lines: list[str], end: int) -> list[int]:
    """The lines below, to the first that begins another error: in a paragraph of its own, or by its place."""
    found: list[int] = []
    for at in range(end, min(len(lines), end + _MOST_BELOW)):
        is_paragraph = not lines[at - 1].strip() and any(lines[end:at])  # and not the first one
        if _SAID["another"].match(lines[at]) or (is_paragraph and any(map(headline_of, lines[at : at + 2]))):
            break
        found.append(at)
    return found


def tells(lines: list[str], at: int) -> bool:
    """Whether a line of a report may say what is wrong: no call, advice, count, progress, code, or a mark below it."""
    is_marked = _SAID["marks"].match("".join(lines[at + 1 : at + 2])) is not None
    return may_lead(lines[at]) and not is_marked and _SAID["nothing"].search(without_stamp(lines[at])) is None

"""What a report says beside its message: the lines that give the reason, or name what it is about.

    next(reasons_beside("GPG check FAILED", ["Public key for x.rpm is not installed", "Error: GPG check FAILED"], 1, 2))
        ->  Reasons(("Public key for x.rpm is not installed",), 0, 2)

Two failures with one message and two reasons are two failures. Below the message each line counts that is no excerpt,
frame, advice, summary or progress; above it only one of the same block that itself says what is wrong, unless the
message says nothing. Found by what lines look like in any tool.
"""

from collections.abc import Iterator

from ctxrank.indexer.errors.parse.structure import concludes, may_lead, names_something, without_stamp
from ctxrank.indexer.errors.parse.tables import Expressions
from ctxrank.indexer.light_typing import NamedTuple

_SHAPES = Expressions("structure")
_SAID = Expressions("reasons")
_UNITS = Expressions("units")
_MOST_ABOVE = 6  # lines
_MOST_BELOW = 12
_MOST_KEPT = 6
_LONGEST = 400


class Reasons(NamedTuple):
    """Lines of a report that say something beside its message, and the first line and the one after the last."""

    lines: tuple[str, ...]
    begin: int
    end: int


def reasons_beside(message: str, lines: list[str], begin: int, end: int) -> Iterator[Reasons]:
    """What is said beside the message that stands in the lines from `begin` to `end`: all of it, then less and less."""
    says_nothing = concludes(message) or not names_something(message)
    above = [at for at in _block_above(lines, begin) if _tells(lines, at) and (says_nothing or _denies(lines[at]))]
    below = [at for at in _block_below(lines, end) if _tells(lines, at)]
    if says_nothing and not below and (paragraph := _paragraph_below(lines, end)):
        yield Reasons((" ".join(lines[at].strip() for at in paragraph)[:_LONGEST],), begin, paragraph[-1] + 1)
        return
    found = [at for at in (*above[-_MOST_KEPT:], *below[:_MOST_KEPT]) if without_stamp(lines[at]) != message]
    while found:
        said = tuple(without_stamp(lines[at])[:_LONGEST] for at in found)
        yield Reasons(said, min(begin, found[0]), max(end, found[-1] + 1))
        del found[0 if found[-1] < begin else -1]


def _denies(line: str) -> bool:
    return _SHAPES["loud"].search(line) is not None or _UNITS["absence"].search(line) is not None


def _block_above(lines: list[str], begin: int) -> list[int]:
    """The lines above, down to the message; an empty line begins another block unless the message stands alone."""
    found: list[int] = []
    for at in range(begin - 1, max(-1, begin - 1 - _MOST_ABOVE), -1):
        if not lines[at].strip() and found:
            break
        found.append(at)
    return found[::-1]


def _block_below(lines: list[str], end: int) -> list[int]:
    """The lines below, to the first that begins something else: one after an empty line that lists or names nothing."""
    found: list[int] = []
    for at in range(end, min(len(lines), end + _MOST_BELOW)):
        if _SAID["another"].match(lines[at]):
            break
        if at > end and not lines[at - 1].strip() and lines[at].strip() and not _SAID["goes on"].match(lines[at]):
            break
        found.append(at)
    return found


def _paragraph_below(lines: list[str], end: int) -> list[int]:
    """The paragraph that explains a title, below the empty line that parts them."""
    begin = end + 1
    if lines[end:begin] != [""] or not _SAID["sentence"].match("".join(lines[begin : begin + 1])):
        return []
    stop = next((at for at in range(begin, len(lines)) if not lines[at].strip()), len(lines))
    return [at for at in range(begin, min(stop, begin + _MOST_KEPT)) if _tells(lines, at)]


def _tells(lines: list[str], at: int) -> bool:
    line, below = lines[at], lines[at + 1] if at + 1 < len(lines) else ""
    is_marked = _SAID["marks"].match(below) is not None
    return may_lead(line) and not is_marked and _SAID["nothing"].search(without_stamp(line)) is None

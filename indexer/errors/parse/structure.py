"""Which line of a report says what is wrong, where the one that was read first only concludes, or names nothing.

    better_line("Aborted", ['a.pas(7,9) Error: Identifier not found "x"', "Fatal: Aborted"], 1).text
        ->  'Identifier not found "x"'

By what lines look like in any tool: a name in it, a word of failure, a row of a table. A line that
counts, aborts or concludes is no message whatever its tool is called.
"""

import functools
import re

from ctxrank.indexer.errors.missing import missing_name
from ctxrank.indexer.errors.parse.frames import frame_of
from ctxrank.indexer.errors.parse.summaries import is_advice, is_summary
from ctxrank.indexer.errors.parse.tables import Expressions, words
from ctxrank.indexer.light_typing import cache

_SHAPES = Expressions("structure")
_MOST_LOOKED_AT = 60  # lines on either side
_LONGEST_NAMELESS = 16  # words
_LEAST = 5
_LOUD, _NAMED, _ROW, _AT_MARGIN = 4, 2, 5, 1
_concluding = cache(lambda: words("concluding"))


def better_line(message: str, lines: list[str], at: int) -> int | None:
    """The line that leads instead of this message, which was read from line `at`; None where this one stands."""
    is_closing = concludes(message) or frame_of(lines[at]) is not None
    if not is_closing and (names_something(message) or len(message.split()) > _LONGEST_NAMELESS):
        return None
    near = range(max(0, at - _MOST_LOOKED_AT), min(len(lines), at + _MOST_LOOKED_AT))
    others = [i for i in near if i != at and may_lead(lines[i]) and (is_closing or _is_loud_and_named(lines[i]))]
    weight, place = max(((_weight(lines[i]), -i) for i in others), default=(0, 0))
    return None if weight < _LEAST else -place


def without_stamp(line: str) -> str:
    """A line without the time, level and place that it begins with."""
    cut = _SHAPES["leading"].sub("", line.strip(" ^|\u2502\u00b7\t"))
    return cut if re.search(r"[^\W\d_]{3}", cut) else line.strip(" ^|\u2502\u00b7\t")


@functools.lru_cache(maxsize=256)
def names_something(message: str) -> bool:
    """Whether a message has a name or a value in it."""
    return _SHAPES["named"].search(message) is not None or bool(missing_name(message))


def concludes(message: str) -> bool:
    """Whether these are nearly all words that conclude: "Exiting due to 1 error(s)"."""
    if _SHAPES["quoted"].search(message):
        return False
    said = _SHAPES["word"].findall(_SHAPES["no word"].sub(" ", message).lower())
    known = sum(word in _concluding() for word in said)
    return known > 0 and len(said) - known <= len(said) // 6 and _SHAPES["ends"].search(message) is not None


def may_lead(line: str) -> bool:
    """Whether a line may say what is wrong: no summary, advice, call, conclusion or code."""
    said = without_stamp(line)
    if not said or is_summary(said) or is_advice(said) or frame_of(line) is not None or concludes(said):
        return False
    return _SHAPES["excerpt"].match(line) is None


def _is_loud(line: str) -> bool:
    return _SHAPES["loud"].search(line) is not None


def _is_loud_and_named(line: str) -> bool:
    return _is_loud(line) and _SHAPES["quoted"].search(line) is not None


def _weight(line: str) -> int:
    return (
        _LOUD * _is_loud(line)
        + _NAMED * (_SHAPES["quoted"].search(line) is not None)
        + _ROW * (_SHAPES["row"].match(line) is not None)
        + _AT_MARGIN * (not line[:1].isspace())
    )

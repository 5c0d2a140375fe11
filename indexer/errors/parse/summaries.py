"""Lines that say only that something failed: of make, npm, cargo, test runners and build servers.

    is_summary("*** [Makefile:2: all] Error 1")          ->  True
    is_summary("*** No rule to make target 'x'. Stop.")  ->  False

The failures are above them. Such a line is no error of its own where the output has another; alone it is the same for
every cause, so that nothing is recognised by it.
"""

import re

from ctxrank.indexer.errors.parse import kept
from ctxrank.indexer.errors.parse.tables import Expressions, rows
from ctxrank.indexer.light_typing import TYPE_CHECKING, cache

if TYPE_CHECKING:
    from ctxrank.indexer.text.pattern_sets import PatternSet

_WORDED = Expressions("summaries")
_LONGEST = 400
_LONG = 120  # what is tried in some hundred ways at most is not worth the time that the other engine takes to load


def is_summary(message: str) -> bool:
    """Whether a line says that something failed and not what."""
    if len(message) > _LONGEST:
        return False
    low = message.lower()
    if _WORDED["signs"].search(low) is None:
        return False
    if len(low) > _LONG:
        return _in_linear_time().last_match(low.encode("utf-8", "replace")) is not None
    return kept.match(_pattern(), low) is not None


_said = cache(lambda: tuple(pattern for (pattern,) in rows("summaries")))
_pattern = cache(lambda: rf"\s*{_WORDED['before'].pattern}(?:{'|'.join(_said())})[.! =]*$")


@cache
def _in_linear_time() -> "PatternSet":
    """The same for an engine that goes back over no text, and so has no signs that forbid it."""
    from ctxrank.indexer.text.pattern_sets import PatternSet  # noqa: PLC0415  start-up: only long lines need it

    parts = (re.sub(r"(?<=[*+])\+", "", part).replace("(?>", "(?:") for part in (_WORDED["before"].pattern, *_said()))
    before, *said = parts
    return PatternSet(rf"\s*{before}(?:{one})[.! =]*".encode() for one in said)


def is_advice(line: str) -> bool:
    """Whether a line says what to do, and not what is wrong."""
    return _WORDED["advice"].match(line) is not None

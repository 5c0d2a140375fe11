"""Lines that say only that something failed: of make, npm, cargo, test runners and build servers.

    is_summary("*** [Makefile:2: all] Error 1")          ->  True
    is_summary("*** No rule to make target 'x'. Stop.")  ->  False

The failures are above them. Such a line is no error of its own where the output has another; alone it is the same for
every cause, so that nothing is recognised by it.
"""

from ctxrank.indexer.errors.parse import kept
from ctxrank.indexer.errors.parse.tables import Expressions, rows
from ctxrank.indexer.light_typing import cache

_WORDED = Expressions("summaries")
_LONGEST = 240


def is_summary(message: str) -> bool:
    """Whether a line says that something failed and not what."""
    if len(message) > _LONGEST:
        return False
    low = message.lower()
    return _WORDED["signs"].search(low) is not None and kept.match(_pattern(), low) is not None


_pattern = cache(
    lambda: rf"\s*{_WORDED['before'].pattern}(?:{'|'.join(said for (said,) in rows('summaries'))})[.! =]*$"
)


def is_advice(line: str) -> bool:
    """Whether a line says what to do, and not what is wrong."""
    return _WORDED["advice"].match(line) is not None

"""The expressions of `expressions.tsv`: what a line of a file means."""

import re
from functools import cache

from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.text.tables import rows

if TYPE_CHECKING:
    from types import ModuleType


@cache
def _expressions() -> dict[str, str]:
    found: dict[str, str] = {}
    for name, text in rows(__file__, "expressions"):
        found[name] = re.sub(r"«(\w+)»", lambda piece: found[piece[1]], text)
    return found


@cache  # compiled at first use: start-up time
def expression(name: str) -> re.Pattern[str]:
    """The expression of a name."""
    return re.compile(_expressions()[name])


@cache
def compiled_code() -> "ModuleType | None":
    """What does the same for lines of code in ASCII; None where this installation was made without a C compiler."""
    try:
        from ctxrank.indexer.text import _code  # noqa: PLC0415  only where code is read
    except ImportError:
        return None
    return _code

"""The expressions of `expressions.tsv`: what a line of a file means."""

import re
from functools import cache

from ctxrank.indexer.text.tables import rows


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

"""Lines that say only that something failed: of make, npm, cargo, test runners and build servers.

    is_summary("*** [Makefile:2: all] Error 1")          ->  True
    is_summary("*** No rule to make target 'x'. Stop.")  ->  False

The failures are above them. Such a line is no error of its own where the output has another; alone it is the same for
every cause, so that nothing is recognised by it.
"""

import re

from ctxrank.indexer.errors.parse.tables import rows
from ctxrank.indexer.light_typing import TYPE_CHECKING, cache

if TYPE_CHECKING:
    from ctxrank.indexer.text.pattern_sets import PatternSet

# The quick test that most messages fail.
_SIGNS = (
    r"error|fail|exit|compil|elifecycle|errno|non-zero|waiting for|code |problem|\t|did not run|returned|aborted|found"
    r"|passed|issue|warning|exception|offen|violation|finding|would |spec|during build|could not create|subprocess-"
    r"|incomplete|marked build"
)
# Before the summary stand a bracketed level or the name of who speaks. Each text is read in one way alone: of two ways
# a line with twenty of them would be tried in a million.
_BEFORE = r"(?:\[\w+\] ?|#{1,2}\[error\]|>+ |=++ ?|error |failed |elifecycle +|\w[\w.+-]*(?:\[\d+\])?: )*"
_LONGEST = 400
_LONG = 120  # what is tried in some hundred ways at most is not worth the time that the other engine takes to load


def is_summary(message: str) -> bool:
    """Whether a line says that something failed and not what."""
    if len(message) > _LONGEST:
        return False
    low = message.lower()
    if re.search(_SIGNS, low) is None:
        return False
    if len(low) > _LONG:
        return _in_linear_time().last_match(low.encode("utf-8", "replace")) is not None
    return re.match(_pattern(), low) is not None


@cache
def _said() -> tuple[str, ...]:
    return tuple(pattern for (pattern,) in rows("summaries"))


@cache
def _pattern() -> str:
    return rf"\s*{_BEFORE}(?:{'|'.join(_said())})[.! =]*$"


@cache
def _in_linear_time() -> "PatternSet":
    """The same for an engine that goes back over no text, and so has no signs that forbid it."""
    from ctxrank.indexer.text.pattern_sets import PatternSet  # noqa: PLC0415  start-up: only long lines need it

    parts = (re.sub(r"(?<=[*+])\+", "", part).replace("(?>", "(?:") for part in (_BEFORE, *_said()))
    before, *said = parts
    return PatternSet(rf"\s*{before}(?:{one})[.! =]*".encode() for one in said)


# What to do about it, or where to read more.
_ADVICE = (
    r"\W{0,4}(?:(?i:please|try|see|consider|make sure|did you mean|perhaps|maybe|you (?:can|may|might|should|need to)"
    r"|for (?:more|help|details|usage)|more info|learn more|read more|note|hint|tip|help|suggestion|usage"
    r"|a complete log"
    r"|the full (?:traceback|log))\b|(?:Use|use) (?!of\b)|(?:Run|run) [`'\"\w]+ (?!failed|aborted)"
    r"|(?:To|to) (?:see|report|fix|get|learn|suppress|ignore|disable|enable|make|show|list)\b|https?://\S+$)"
)


def is_advice(line: str) -> bool:
    """Whether a line says what to do, and not what is wrong."""
    return re.match(_ADVICE, line) is not None

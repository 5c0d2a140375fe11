"""Prices: what a text may cost in tokens of the model that reads it, so that a budget can be kept.

    price = cautious count of o200k_base tokens × the model family's factor, rounded up

A text that an exact counter has counted costs that. For all others the estimate of `indexer.tokens`, which
is fitted to come out right on average, is raised until it is not below the exact count: by a margin, and
by what capitals, punctuation, lone digits, long machine words and wide characters cost beyond the average.
On 85,233 lines of documents and code (2026-11) 79 single lines were still above their price, the worst by
14 %, and no whole text was. Random letters and rare CJK characters may be: only counting tells.
"""

import re
from functools import cache
from math import ceil

from ctxrank.indexer.records import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.tokens import ESTIMATE, estimate_tokens

if TYPE_CHECKING:  # linked artifacts have prices too, and no passages
    from ctxrank.ranking.request import IncludedPassage

MARGIN = 1.15
PER_LATER_CAPITAL = 0.35  # ORCHESTRATOR is four tokens, Orchestrator two
PER_LATER_PUNCTUATION = 0.6  # |---|---| and rulers
PER_LATER_MACHINE_CHARACTER = 0.45  # base64, hashes: few of their parts are in the vocabulary
PER_LONE_DIGIT = 0.5  # a digit never takes the space before it into its token
PER_DENSE_CHARACTER = 0.5  # CJK, symbols
PER_ASTRAL_CHARACTER = 1.8  # emoji: two or three tokens each
_FIRST_OF_DENSE, _FIRST_OF_ASTRAL = bytes(range(0xE2, 0x100)), bytes(range(0xF0, 0x100))


class StoredPassage(NamedTuple):
    """A passage that could be shown, with its stored token count and who counted."""

    shown: "IncludedPassage"
    tokens: int
    counter: str


class Prices:
    """Prices in tokens of one model."""

    def __init__(self, factor: float) -> None:
        self._factor = factor

    def of(self, *texts: str) -> int:
        """Of parts of a block that no counter has seen; each with the blank line after it, '' is nothing."""
        return sum(ceil(cautious_tokens(text) * self._factor) + 1 for text in texts if text)

    def of_counted(self, tokens: int) -> int:
        """Of a part that an exact counter has counted, with the blank line after it."""
        return ceil(tokens * self._factor) + 1

    def of_passage(self, passage: StoredPassage) -> int:
        """Of a passage in its fence."""
        from ctxrank.ranking import block

        tokens: float = passage.tokens
        if passage.counter == ESTIMATE:
            tokens = MARGIN * tokens + _surcharge(passage.shown.text)
        return ceil(tokens * self._factor) + self.of(block.passage(passage.shown._replace(text="")))


def cautious_tokens(text: str) -> float:
    """A count of o200k_base tokens that the exact one is rarely above."""
    return MARGIN * estimate_tokens(text) + _surcharge(text)


def _surcharge(text: str) -> float:
    """What a text that is not of the usual make costs beyond its estimate."""
    patterns = _patterns()
    tokens = (
        PER_LATER_CAPITAL * _later(patterns.capitals, text)
        + PER_LATER_PUNCTUATION * _later(patterns.punctuation, text)
        + PER_LATER_MACHINE_CHARACTER * _later(patterns.machine_word, text)
        + PER_LONE_DIGIT * len(patterns.lone_digit.findall(text))
    )
    if not text.isascii():
        # Characters are told by the first byte of their UTF-8, which is counted at C speed.
        raw = text.encode("utf-8", "replace")
        tokens += PER_DENSE_CHARACTER * (len(raw) - len(raw.translate(None, _FIRST_OF_DENSE)))
        tokens += PER_ASTRAL_CHARACTER * (len(raw) - len(raw.translate(None, _FIRST_OF_ASTRAL)))
    return tokens


class _Patterns:
    """Compiled with the first price, not with the import."""

    def __init__(self) -> None:
        self.capitals = re.compile("[A-Z]{3}([A-Z]+)")
        self.punctuation = re.compile(r"[!-/:-@\[-`{-~]{3}([!-/:-@\[-`{-~]+)")
        self.machine_word = re.compile("[A-Za-z0-9+/=]{12}([A-Za-z0-9+/=]{12,})")
        self.lone_digit = re.compile(" [0-9]")


@cache
def _patterns() -> _Patterns:
    return _Patterns()


def _later(pattern: re.Pattern[str], text: str) -> int:
    """The characters beyond the first few of each run."""
    return sum(map(len, pattern.findall(text)))

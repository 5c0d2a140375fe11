"""Prices: what a text may cost in tokens of the model that reads it, so that a budget can be kept.

    price = cautious count of o200k_base tokens × the model family's factor, rounded up

A text that an exact counter has counted costs that; indexer/text/tokens.py describes how all others are counted.
"""

from math import ceil

from ctxrank.indexer.text.tokens import ESTIMATE, MARGIN, cautious_tokens, surcharge


class Prices:
    """Prices in tokens of one model."""

    def __init__(self, factor: float) -> None:
        self._factor = factor

    def of(self, *texts: str) -> int:
        """Of parts of a block that no counter has seen, and of what joins each to the next; '' is nothing."""
        # A run of line ends is one token: a blank line after a part that ends its line costs no more.
        return sum([ceil(cautious_tokens(text) * self._factor) + (text[-1] != "\n") for text in texts if text])

    def of_counted(self, tokens: float) -> int:
        """Of a part that was counted exactly or cautiously, with the blank line after it."""
        return ceil(tokens * self._factor) + 1

    def of_stored(self, text: str, tokens: int, counter: str) -> int:
        """Of a text whose tokens `counter` has counted, without a blank line; an estimate gets its margin here."""
        cautious = MARGIN * tokens + surcharge(text) if counter == ESTIMATE else tokens
        return ceil(cautious * self._factor)

"""A line of a text as a page shows it."""

from ctxrank.indexer.light_typing import NamedTuple


class TextLine(NamedTuple):
    """A line of a text, with its number from 1, and what it is: added or removed in a comparison, a hit, or ''."""

    number: int
    text: str
    change: str = ""

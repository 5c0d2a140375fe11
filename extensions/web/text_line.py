"""A line of a text as a page shows it."""

from ctxrank.indexer.light_typing import NamedTuple


class TextLine(NamedTuple):
    """A line of a text, with its number from 1, and in a comparison what became of it: added, removed or ''."""

    number: int
    text: str
    change: str = ""

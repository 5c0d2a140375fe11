"""Words that messages are made of, to tell them from names: another word is another error, another name is not.

    is_ordinary("started")  ->  True
    is_ordinary("frobq")    ->  False

Levelled forms (see `error_masks.level`) of the words that stand most often in the comments and docstrings of Python's
standard library and common packages, and of terms of compilers, shells and databases. Words whose ending tells are
not listed.
"""

from ctxrank.indexer.light_typing import cache
from ctxrank.indexer.text.tables import rows  # no expression is read: a spawn asks, too

_ENDINGS = tuple(dict(rows(__file__, "tables/lists"))["endings"].split())
_SHORTEST_WITH_ENDING = 6


def is_ordinary(word: str) -> bool:
    """Whether this levelled word is one that people write messages with."""
    return word in _words() or (len(word) >= _SHORTEST_WITH_ENDING and word.endswith(_ENDINGS))


@cache
def _words() -> frozenset[str]:
    return frozenset(word for (word,) in rows(__file__, "tables/ordinary_words"))

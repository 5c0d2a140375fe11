"""Words that messages are made of, to tell them from names: another word is another error, another name is not.

    is_ordinary("started")  ->  True
    is_ordinary("frobq")    ->  False

Levelled forms (see `error_masks.level`) of the words that stand most often in the comments and docstrings of Python's
standard library and common packages, and of terms of compilers, shells and databases. Words whose ending tells are
not listed.
"""

from ctxrank.indexer.light_typing import cache
from ctxrank.indexer.text.tables import rows  # no expression is read: a spawn asks, too

_LISTS = dict(rows(__file__, "tables/lists"))
_ENDINGS, _TYPED = (tuple(_LISTS[name].split()) for name in ("endings", "typed"))
_SHORTEST_WITH_ENDING = 6


def is_ordinary(word: str) -> bool:
    """Whether this levelled word is one that people write messages with."""
    return word in _words() or (len(word) >= _SHORTEST_WITH_ENDING and word.endswith(_ENDINGS))


def is_mistyped(word: str, before: str) -> bool:
    """Whether somebody typed this, as the word before it says, and meant one with two letters exchanged, or one more or
    less: that it was typed wrong is the failure, and not that it is missing.
    """
    if before not in _TYPED or not word.isalpha() or is_ordinary(word):
        return False
    low = word.lower()
    exchanged = (low[:i] + low[i + 1] + low[i] + low[i + 2 :] for i in range(len(low) - 1))
    without = (low[:i] + low[i + 1 :] for i in range(len(low)))
    with_one_more = (low[:i] + letter + low[i:] for i in range(1, len(low)) for letter in _LETTERS)
    return any(one in _words() for ways in (exchanged, without, with_one_more) for one in ways)


_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@cache
def _words() -> frozenset[str]:
    return frozenset(word for (word,) in rows(__file__, "tables/ordinary_words"))

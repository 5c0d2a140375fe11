"""Impact bounds: for each term, the shortest document at each level of how often documents have it.

BM25 grows with a term's frequency and falls with the document's length, so these few lengths bound what the term can
add to any document's score (`ranking/retrieval/candidates/bounds.py`), whatever the average length becomes and however
the formula is tuned. A search leaves alone the rows that cannot reach the best ones.

    weighted occurrences    up to 1    2     3     5     8   more
    shortest document            34   41    60    52  NONE   NONE

The lengths only fall: a document that goes leaves its lengths behind, which is safe, and loose until the index is
rebuilt. The levels were chosen by how many rows may be among the first 30, on average over 200 questions each to
100,000 made documents and 48,714 pieces of real ones (2026-11): 869 and 393 with every term's true maximum, 1,044 and
480 with these levels, 1,329 and 655 with the levels 1, 2 and 5.
"""

from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import add, mul

from ctxrank.indexer.engine import FieldWeights, ImpactBound
from ctxrank.indexer.fulltext.forward import unpack_counts

# How much an occurrence in each column counts here. What is read with other weights is scaled.
WEIGHTS = FieldWeights(body=1.0, title=2.5, path=1.5, identifiers=1.0)
LEVELS = (1.0, 2.0, 3.0, 5.0, 8.0)  # and one more for whatever is above
COLUMNS = (
    "min_length_tf_1", "min_length_tf_2", "min_length_tf_3", "min_length_tf_5", "min_length_tf_8", "min_length_tf_more",
)  # fmt: skip
NONE = 32767  # two bytes; a longer document counts as one less, which is safe
_REMEMBERED_MAX = 200_000  # lengths that are known, about 20 MB: most documents then have no news
_PLACES = 8  # of a level within a key: the next power of two above their number


class _Levels(dict[int, int]):
    """The level of packed counts; few different ones occur."""

    def __missing__(self, packed: int) -> int:
        title, body, path, identifiers = unpack_counts(packed)
        occurrences = (
            WEIGHTS.title * title + WEIGHTS.body * body + WEIGHTS.path * path + WEIGHTS.identifiers * identifiers
        )
        level = self[packed] = sum(occurrences > most for most in LEVELS)
        return level


_LEVEL_OF = _Levels()


def weights_above(weights: FieldWeights) -> float:
    """How much more an occurrence can count by these weights than the levels count it."""
    return max(weight / own for weight, own in zip(weights, WEIGHTS, strict=True))


def read_bound(shortest: Sequence[int], scale: float) -> ImpactBound:
    """The bound of one term from its row; nothing for one with documents above the last level, or none at all."""
    if shortest[-1] != NONE:
        return ()
    levels = zip(LEVELS, shortest, strict=False)
    return tuple((level * scale, length) for level, length in levels if length < NONE)


class ImpactBounds:
    """The shortest documents of one run; observed at C speed, one step a document instead of one a term."""

    def __init__(self) -> None:
        self._observed: list[tuple[int, list[int]]] = []
        self._known: dict[int, int] = {}

    def observe(self, ids: Iterable[int], packed: Iterable[int], length: int) -> None:
        """One document: its terms' ids, their packed counts in the same order, and its length in tokens."""
        keys = map(add, map(mul, ids, repeat(_PLACES)), map(_LEVEL_OF.__getitem__, packed))
        self._observed.append((min(length, NONE - 1), list(keys)))

    def take_changes(self) -> dict[int, list[int]]:
        """What was observed since the last time and is shorter than all before it: the lengths by term id."""
        shortest: dict[int, int] = {}
        for length, keys in sorted(self._observed, key=_longest_first):
            shortest.update(dict.fromkeys(keys, length))  # the shorter one is written over the longer
        self._observed.clear()
        known = self._known.get
        shorter = {key: length for key, length in shortest.items() if length < known(key, NONE)}
        if len(self._known) > _REMEMBERED_MAX:
            self._known.clear()
        self._known.update(shorter)
        lengths: dict[int, list[int]] = {}
        for key, length in shorter.items():
            term_id = key // _PLACES
            if term_id not in lengths:
                lengths[term_id] = [NONE] * len(COLUMNS)
            lengths[term_id][key % _PLACES] = length
        return lengths

    def forget(self) -> None:
        """The terms have other ids now."""
        self._observed.clear()
        self._known.clear()


def _longest_first(observed: tuple[int, list[int]]) -> int:
    return -observed[0]

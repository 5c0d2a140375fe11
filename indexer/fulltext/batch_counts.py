"""What the documents of one batch change in the statistics of their terms, and each document's forward list.

    counts = BatchCounts(tokens, ids, UNITS, LEVEL_OF)      # tokens: a function, the terms of a text
    blob, length = counts.add(body, title, identifiers, fixed, more)
    counts.remove(term_ids)                                 # of a document that goes, or that add() replaces
    counts.take()                                           # [(df change, shortest at each level…, term id), …]
    counts.forget()                                         # terms have other ids from now on

`ids` is a dict of terms that gives new ones an id. `body`, `title` and `identifiers` are texts; `fixed` has packed
counts of further terms, `more` the number of tokens that these are. There are two of it: the one here, and
`_batch_counts.c`, which does the same, asks for the terms of each word once, and is taken where it was compiled.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

from ctxrank.indexer.fulltext import forward
from ctxrank.indexer.fulltext.impact_bounds import LEVEL_OF, LEVELS, NONE
from ctxrank.indexer.light_typing import cast

# What each count of a column packs to, in the order in which `add` takes the columns; the last is for all above, too.
UNITS = (forward.BODY, forward.TITLE, forward.IDENTIFIERS)
_NOTHING = [0, *[NONE] * (len(LEVELS) + 1)]


class PureBatchCounts:
    """The counts in Python."""

    def __init__(
        self,
        tokens: Callable[[str], list[str]],
        ids: dict[str, int],
        units: tuple[tuple[int, ...], ...] = UNITS,
        levels: Mapping[int, int] = LEVEL_OF,
    ) -> None:
        self._tokens = tokens
        self._ids = ids
        self._units = units
        self._levels = levels
        self._changes: defaultdict[int, list[int]] = defaultdict(_NOTHING.copy)

    def add(
        self,
        body: str,
        title: str,
        identifiers: str,
        fixed: Sequence[tuple[int, int]],
        more: int,
    ) -> tuple[bytes, int]:
        """The forward list and the length in tokens of one more document."""
        packed: dict[int, int] = {}
        length = more
        for text, units in zip((body, title, identifiers), self._units, strict=True):
            tokens = self._tokens(text) if text else []
            length += len(tokens)
            most = len(units) - 1
            for id_, count in Counter(map(self._ids.__getitem__, tokens)).items():
                packed[id_] = packed.get(id_, 0) | units[min(count, most)]
        packed.update(fixed)
        shortest = min(length, NONE - 1)
        for id_, counts in packed.items():
            changes = self._changes[id_]
            changes[0] += 1
            level = 1 + self._levels[counts]
            changes[level] = min(changes[level], shortest)
        return forward.encode(packed), length

    def remove(self, ids: Sequence[int]) -> None:
        """The terms of a document that is there no more."""
        for id_ in ids:
            self._changes[id_][0] -= 1

    def take(self) -> list[tuple[int, ...]]:
        """What has changed since the last time, a row a term, in no order."""
        rows = [(*changes, id_) for id_, changes in self._changes.items()]
        self._changes.clear()
        return rows

    def forget(self) -> None:
        """Terms have other ids from now on."""


BatchCounts: type[PureBatchCounts]
try:
    from ctxrank.indexer.fulltext import _batch_counts

    BatchCounts = cast("type[PureBatchCounts]", _batch_counts.BatchCounts)
except ImportError:  # not compiled here
    BatchCounts = PureBatchCounts

"""BM25 of rows from their forward lists: the inner loop of every query.

A session's rows are scored one by one, so what can be known before the first row is worked out before it, and the usual
query (each term one id, in any column) has a loop of its own without a call for each term.
"""

from binascii import crc32
from bisect import bisect_left
from collections.abc import Iterable
from math import fsum

import apsw

from ctxrank.indexer.fulltext.forward import (
    CHECK_BYTES,
    HEAD_BYTES,
    WHOLE,
    counts_written_out,
    large_ids,
    packed_counts,
    small_ids,
    unpack_counts,
)
from ctxrank.ranking.formulas.bm25 import FieldWeights, saturated
from ctxrank.ranking.formulas.tuning import DEFAULT, Tuning
from ctxrank.ranking.retrieval.plan import QueryTerm


class Scorer:
    """Scores rows for the terms of one query."""

    def __init__(self, terms: tuple[QueryTerm, ...], average: float, tuning: Tuning = DEFAULT) -> None:
        self._average = average
        self._k1, self._b = tuning.k1, tuning.b
        self._values = [term.value for term in terms]
        self._columns = [term.column for term in terms]
        self._places: dict[int, list[int]] = {}  # term id → which of the query's terms it counts for
        for place, term in enumerate(terms):
            for term_id in term.ids:
                self._places.setdefault(term_id, []).append(place)
        self._wanted = frozenset(self._places)
        self._weighted = _Weighted(tuning.weights)
        # Words of one stem are several terms with one id: their worth adds up.
        self._is_plain = all(len(term.ids) == 1 for term in terms) and not any(self._columns)

    def scores(self, rows: Iterable[tuple[bytes, int]]) -> list[float]:
        """BM25 of rows given as (forward list, length in tokens), in their order."""
        try:
            return self._plain_scores(rows) if self._is_plain else [self._score(blob, length) for blob, length in rows]
        except (IndexError, ValueError) as error:  # whoever reads the index knows what to do with damage
            raise apsw.CorruptError("a forward list is damaged") from error

    def frequencies(self, blob: bytes) -> list[tuple[int, float]]:
        """(place of the term, weighted tf) of the query's terms that occur in one row."""
        found: dict[int, float] = {}
        for term_id, packed in packed_counts(blob, self._wanted):
            for at in self._places[term_id]:
                tf = self._weighted[packed, self._columns[at]]
                if tf:
                    found[at] = found.get(at, 0.0) + tf
        return list(found.items())

    def _score(self, blob: bytes, length: int) -> float:
        """BM25 of one row; `fsum`, because ids and with them the order of the summands differ by machine."""
        average, values, k1, b = self._average, self._values, self._k1, self._b
        return fsum([values[at] * saturated(tf, length, average, k1, b) for at, tf in self.frequencies(blob)])

    def _plain_scores(self, rows: Iterable[tuple[bytes, int]]) -> list[float]:
        """The same, written out: `packed_counts` and `saturated` without their calls (half the time)."""
        wanted = self._wanted
        worth = {
            term_id: fsum([self._values[place] for place in places]) * (self._k1 + 1)
            for term_id, places in self._places.items()
        }
        frequency = _Plain(self._weighted)
        fixed, by_length = self._k1 * (1 - self._b), self._k1 * self._b / self._average
        scores: list[float] = []
        for blob, length in rows:
            if crc32(blob) != WHOLE:
                raise ValueError("a forward list is damaged")
            norm = fixed + by_length * length
            ids = small_ids(blob)
            small = len(ids)
            counts_at = HEAD_BYTES + 2 * small
            summands: list[float] = []
            rest = len(blob) - CHECK_BYTES - counts_at - small
            if rest and rest != 2 * (blob[2] | blob[3] << 8):
                large = large_ids(blob, small)
                counts_at += 4 * len(large)
                for term_id in wanted.intersection(large):
                    at = counts_at + small + bisect_left(large, term_id)
                    tf = frequency[blob[at] or counts_written_out(blob, counts_at, at)]
                    summands.append(worth[term_id] * tf / (tf + norm))
            for term_id in wanted.intersection(ids):
                at = counts_at + bisect_left(ids, term_id)
                tf = frequency[blob[at] or counts_written_out(blob, counts_at, at)]
                summands.append(worth[term_id] * tf / (tf + norm))
            scores.append(fsum(summands))
        return scores


class _Weighted(dict[tuple[int, str], float]):
    """The weighted tf of packed counts in a column, '' for all; few different ones occur."""

    def __init__(self, weights: FieldWeights) -> None:
        super().__init__()
        self._weights = weights

    def __missing__(self, key: tuple[int, str]) -> float:
        packed, column = key
        weights = self._weights
        title, body, path, identifiers = unpack_counts(packed)
        if column == "title":
            tf = weights.title * title
        elif column == "body":
            tf = weights.body * body
        else:
            tf = weights.title * title + weights.body * body + weights.path * path + weights.identifiers * identifiers
        self[key] = tf
        return tf


class _Plain(dict[int, float]):
    """The weighted tf of packed counts over all columns, without a key to be made for each look."""

    def __init__(self, weighted: _Weighted) -> None:
        super().__init__()
        self._weighted = weighted

    def __missing__(self, packed: int) -> float:
        tf = self[packed] = self._weighted[packed, ""]
        return tf

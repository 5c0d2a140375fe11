"""BM25 of rows from the frequencies of their terms: the inner loop of every query.

A session's rows are scored one by one, so what can be known before the first row is worked out before it, and the usual
query (each term one id, in any column) has a loop of its own without a call for each term.
"""

from collections.abc import Iterable, Iterator
from math import fsum

from ctxrank.indexer.engine import Engine, FieldWeights, Row
from ctxrank.ranking.formulas.bm25 import tf_saturation
from ctxrank.ranking.formulas.tuning import DEFAULT, Tuning
from ctxrank.ranking.retrieval.plan import QueryTerm


class Scorer:
    """Scores rows of an engine for the terms of one query."""

    def __init__(
        self, engine: Engine, terms: tuple[QueryTerm, ...], average_length: float, tuning: Tuning = DEFAULT
    ) -> None:
        self._engine = engine
        self._average_length = average_length
        self._k1, self._b = tuning.k1, tuning.b
        self._weights = tuning.weights
        self._values = [term.value for term in terms]
        # By column: term id → which of the query's terms it counts for.
        self._places: dict[str, dict[int, list[int]]] = {}
        # The same word in paths: its term id → what an occurrence counts there.
        self._scales: dict[int, float] = {}
        for place, term in enumerate(terms):
            places = self._places.setdefault(term.column, {})
            for term_id in term.ids + term.path_ids:
                places.setdefault(term_id, []).append(place)
            self._scales.update(dict.fromkeys(term.path_ids, term.path_scale))
        # Words of one stem are several terms with one id: their worth adds up.
        self._is_plain = all(len(term.ids) == 1 and not term.column for term in terms)
        self._text_id = {id_: term.ids[0] for term in terms for id_ in term.path_ids}

    def scores(self, rows: list[Row]) -> list[float]:
        """BM25 of rows, in their order; `fsum`, because the order of the summands differs by engine."""
        if self._is_plain:
            return self._plain_scores(rows)
        average_length, values, k1, b = self._average_length, self._values, self._k1, self._b
        return [
            fsum([values[at] * tf_saturation(tf, row[2], average_length, k1, b) for at, tf in found])
            for row, found in zip(rows, self.frequencies(rows), strict=True)
        ]

    def frequencies(self, rows: list[Row]) -> Iterator[list[tuple[int, float]]]:
        """For each row (place of the term, weighted tf) of the query's terms that it holds."""
        counted = [
            (places, self._engine.frequencies(rows, places.keys(), _of_column(self._weights, column)))
            for column, places in self._places.items()
        ]
        for _ in rows:
            found: dict[int, float] = {}
            for places, per_row in counted:
                for term_id, tf in next(per_row):
                    counted_tf = tf * self._scales.get(term_id, 1.0)
                    for at in places[term_id] if tf else ():
                        found[at] = found.get(at, 0.0) + counted_tf
            yield list(found.items())

    def _plain_scores(self, rows: list[Row]) -> list[float]:
        """The same, written out: `tf_saturation` without its call (half the time)."""
        places = self._places.get("", {})
        worth = {
            term_id: fsum([self._values[place] for place in places_of]) * (self._k1 + 1)
            for term_id, places_of in places.items()
        }
        fixed, by_length = self._k1 * (1 - self._b), self._k1 * self._b / self._average_length
        scores: list[float] = []
        counted: Iterable[list[tuple[int, float]]] = self._engine.frequencies(rows, worth.keys(), self._weights)
        if self._text_id:
            counted = map(self._joined, counted)
        for row, found in zip(rows, counted, strict=True):
            norm = fixed + by_length * row[2]
            summands: list[float] = []
            for term_id, tf in found:
                summands.append(worth[term_id] * tf / (tf + norm))
            scores.append(fsum(summands))
        return scores

    def _joined(self, found: list[tuple[int, float]]) -> list[tuple[int, float]]:
        """The frequencies of one row, with those of words in its path added to the same words of its texts."""
        text_id = self._text_id
        in_path = [one for one in found if one[0] in text_id]
        if not in_path:
            return found
        joined = {term_id: tf for term_id, tf in found if term_id not in text_id}
        for term_id, tf in in_path:
            word = text_id[term_id]
            joined[word] = joined.get(word, 0.0) + tf * self._scales[term_id]
        return list(joined.items())


def _of_column(weights: FieldWeights, column: str) -> FieldWeights:
    """The weights of one column alone; all of them for ''."""
    if not column:
        return weights
    return FieldWeights(0.0, 0.0, 0.0, 0.0)._replace(**{column: getattr(weights, column)})

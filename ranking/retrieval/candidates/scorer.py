"""BM25 of rows from the frequencies of their terms: the inner loop of every query.

The usual query (each term one id, in any column) is handed to the engine as a formula with its numbers; the others are
added up here.
"""

from collections.abc import Iterator
from math import fsum

from ctxrank.indexer.engine import Engine, FieldWeights, Row, SaturatedSum
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
            return self._engine.sums(rows, self._formula(), self._weights)
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

    def _formula(self) -> SaturatedSum:
        """The same for the usual query, as numbers: the engine adds up where its counts are."""
        places = self._places.get("", {})
        place_of = {id_: place for place, id_ in enumerate(id_ for id_ in places if id_ not in self._text_id)}
        worth = tuple(fsum([self._values[at] for at in places[id_]]) * (self._k1 + 1) for id_ in place_of)
        terms = [(id_, place_of[self._text_id.get(id_, id_)], self._scales.get(id_, 1.0)) for id_ in places]
        return SaturatedSum(
            tuple(sorted(terms)), worth, self._k1 * (1 - self._b), self._k1 * self._b / self._average_length
        )


def _of_column(weights: FieldWeights, column: str) -> FieldWeights:
    """The weights of one column alone; all of them for ''."""
    if not column:
        return weights
    return FieldWeights(0.0, 0.0, 0.0, 0.0)._replace(**{column: getattr(weights, column)})

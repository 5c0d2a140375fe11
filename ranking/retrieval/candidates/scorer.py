"""BM25 of rows from the frequencies of their terms: the inner loop of every query."""

from collections.abc import Iterator
from math import fsum

from ctxrank.indexer.engine import Engine, FieldWeights, Row
from ctxrank.ranking.formulas.tuning import DEFAULT, Tuning
from ctxrank.ranking.retrieval.plan import QueryTerm


class Scorer:
    """Scores rows of an engine for the terms of one query."""

    def __init__(
        self, engine: Engine, terms: tuple[QueryTerm, ...], average_length: float, tuning: Tuning = DEFAULT
    ) -> None:
        self._engine = engine
        self._weights = tuning.weights
        # `tf_saturation` with its numbers filled in: worth · tf / (tf + fixed + by_length · tokens).
        k1, b = tuning.k1, tuning.b
        self._worth = [term.value * (k1 + 1) for term in terms]
        self._fixed, self._by_length = k1 * (1 - b), k1 * b / average_length
        # By column: term id → which of the query's terms it counts for, and what an occurrence counts there.
        self._places: dict[str, dict[int, list[tuple[int, float]]]] = {}
        for place, term in enumerate(terms):
            places = self._places.setdefault(term.column, {})
            for term_id in term.ids:
                places.setdefault(term_id, []).append((place, 1.0))
            for term_id in term.path_ids:
                places.setdefault(term_id, []).append((place, term.path_scale))

    def scores(self, rows: list[Row]) -> list[float]:
        """BM25 of rows, in their order; `fsum`, because the order of the summands differs by engine."""
        worth, fixed, by_length = self._worth, self._fixed, self._by_length
        scores: list[float] = []
        for row, found in zip(rows, self.frequencies(rows), strict=True):
            norm = fixed + by_length * row[2]
            scores.append(fsum([worth[at] * tf / (tf + norm) for at, tf in found.items()]))
        return scores

    def frequencies(self, rows: list[Row]) -> Iterator[dict[int, float]]:
        """For each row the weighted tf of the query's terms that it holds, by the place of the term."""
        counted = [
            (places, self._engine.frequencies(rows, places.keys(), _of_column(self._weights, column)))
            for column, places in self._places.items()
        ]
        for _ in rows:
            found: dict[int, float] = {}
            for places, per_row in counted:
                for term_id, tf in next(per_row):
                    for at, scale in places[term_id] if tf else ():
                        found[at] = found.get(at, 0.0) + tf * scale
            yield found


def _of_column(weights: FieldWeights, column: str) -> FieldWeights:
    """The weights of one column alone; all of them for ''."""
    if not column:
        return weights
    return FieldWeights(0.0, 0.0, 0.0, 0.0)._replace(**{column: getattr(weights, column)})

"""BM25 of rows from the frequencies of their terms: the inner loop of every query."""

from collections.abc import Iterable, Iterator, Mapping
from math import fsum

from ctxrank.indexer.engine import FieldWeights, Row
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.ranking.formulas.bm25 import tf_saturation
from ctxrank.ranking.retrieval.plan import Plan, QueryTerm


class TermScore(NamedTuple):
    """What one term gave to one row: for explanations."""

    term: QueryTerm
    tf: float
    length: int
    average_length: float
    score: float


class Whole(NamedTuple):
    """All passages of a document, as if they were one text."""

    rowids: list[int]  # in order
    length: int
    frequencies: dict[int, float]  # by the place of the term


class Scorer:
    """Scores rows for the terms of one query."""

    def __init__(self, plan: Plan) -> None:
        self._engine = plan.engine
        self._weights = plan.tuning.weights
        # `tf_saturation` with its numbers filled in: worth · tf / (tf + fixed + by_length · tokens).
        k1, b = plan.tuning.k1, plan.tuning.b
        self._worth = [term.value * (k1 + 1) for term in plan.terms]
        self._fixed, self._by_length = k1 * (1 - b), k1 * b / plan.statistics.average_length
        # By column: term id → which of the query's terms it counts for, and what an occurrence counts there.
        self._places: dict[str, dict[int, list[tuple[int, float]]]] = {}
        for place, term in enumerate(plan.terms):
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

    def wholes(self, document_ids: Iterable[int]) -> dict[int, Whole]:
        """The whole of each of these documents that has passages."""
        found: dict[int, Whole] = {}
        rows = self._engine.passages_of(document_ids)
        for (rowid, owner_id, length, _), counted in zip(rows, self.frequencies(rows), strict=True):
            rowids, before, frequencies = found.get(owner_id) or Whole([], 0, {})
            rowids.append(rowid)
            for place, tf in counted.items():
                frequencies[place] = frequencies.get(place, 0.0) + tf
            found[owner_id] = Whole(rowids, before + length, frequencies)
        return found


def term_scores_of(plan: Plan, frequencies: Mapping[int, float], length: int, average_length: float) -> list[TermScore]:
    """The summands of BM25 of a text of so many tokens, the largest first."""
    k1, b = plan.tuning.k1, plan.tuning.b
    parts: list[TermScore] = []
    for at, tf in frequencies.items():
        term = plan.terms[at]
        score = term.value * tf_saturation(tf, length, average_length, k1, b)
        parts.append(TermScore(term, tf, length, average_length, score))
    return sorted(parts, key=lambda part: (-part.score, part.term.text))


def _of_column(weights: FieldWeights, column: str) -> FieldWeights:
    """The weights of one column alone; all of them for ''."""
    if not column:
        return weights
    return FieldWeights(0.0, 0.0, 0.0, 0.0)._replace(**{column: getattr(weights, column)})

"""Candidates: the index's rows that match a plan, with their BM25 score.

Matches are enumerated by the engine and scored here, from the frequencies of their terms and our own statistics: a
scoped search never asks the engine to rank, which walks every posting list of the whole index. Where an unscoped query
matches too many rows, only those are scored that may be among the best (threshold.py).
"""

from _operator import attrgetter, itemgetter, sub
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate, chain, compress, groupby, repeat

from ctxrank.indexer.engine import FieldWeights, Row, RowQuery
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.store.facets import Scope, index_rowid
from ctxrank.ranking.formulas.bm25 import CountedColumn, saturated_sums, tf_saturation, weighted_tfs
from ctxrank.ranking.retrieval.plan import Plan, QueryTerm, row_query

if TYPE_CHECKING:
    from ctxrank.ranking.retrieval.candidates.threshold import ThresholdFn

# Up to so many rows that hold any term, all are scored.
MAX_ENUMERATED = 1500
# A long query in a scope: rows are fetched by its essential terms, the most valuable ones that are worth this share of
# it. A row that holds none of them could have no more than the rest, and most rows are such: a task text is mostly
# common words. For 120 tasks on a real store: half the time, the same first package in all, and 98.7 % of the same
# five.
_SHORT_QUERY_TERMS = 8
ESSENTIAL_SHARE = 0.7
_ENOUGH_SCOPED = 50


class Bonus(NamedTuple):
    """A row's proximity bonus on top of BM25: for two words near each other or, for one word, its typed form.

    A passage of a file that the query names with a line has that.
    """

    first: str
    second: str
    score: float
    line: int = 0


class Candidate(NamedTuple):
    """One matching row: the document it belongs to, and its score with all bonuses."""

    rowid: int
    owner_id: int
    score: float
    bonuses: tuple[Bonus, ...] = ()


def best_first(rows: Iterable[Candidate]) -> list[Candidate]:
    """These rows by falling score, equal ones by their rowid."""
    # Two sorts by a field take half the time of one by both.
    return sorted(sorted(rows, key=attrgetter("rowid")), key=attrgetter("score"), reverse=True)


class Candidates(NamedTuple):
    """What was found."""

    rows: list[Candidate]
    is_complete: bool  # whether these are all rows that match
    pruned_count: int = 0  # documents that match and were found to be none of the best
    fetched: Iterable[Row] = ()  # the index's rows that were scored


class TermScore(NamedTuple):
    """What one term gave to one row: for explanations."""

    term: QueryTerm
    tf: float
    length: int
    average_length: float
    score: float


class WholeMatch(NamedTuple):
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
        """BM25 of rows, in their order."""
        lengths = [row[2] for row in rows]
        return saturated_sums(self._counted(rows), lengths, self._worth, self._fixed, self._by_length)

    def frequencies(self, rows: list[Row]) -> Callable[[int], dict[int, float]]:
        """What gives of one of these rows the weighted tf of the query's terms that it holds, by the term's place."""
        columns, places = self._counted(rows), {row[0]: place for place, row in enumerate(rows)}
        return lambda rowid: weighted_tfs(columns, places[rowid]) if rowid in places else {}

    def _counted(self, rows: list[Row]) -> list[CountedColumn]:
        none = FieldWeights(0.0, 0.0, 0.0, 0.0)
        return [
            (places, self._engine.frequencies(
                rows, places.keys(),
                none._replace(**{column: getattr(self._weights, column)}) if column else self._weights,
            ))
            for column, places in self._places.items()
        ]  # fmt: skip

    def wholes(self, document_ids: Iterable[int], most: int | None = None) -> dict[int, WholeMatch]:
        """The whole of each of these documents that has passages, and no more than so many."""
        rows = self._engine.passages_of(document_ids, most)
        columns = self._counted(rows)
        found: dict[int, WholeMatch] = {}
        end = 0
        for owner_id, passages in groupby(rows, itemgetter(1)):
            rowids, _, lengths, _ = zip(*passages, strict=True)
            start, end = end, end + len(rowids)
            together: list[CountedColumn] = []
            for places, counted in columns:
                sums: dict[int, float] = {}
                for term_id, tf in chain.from_iterable(counted[start:end]):
                    sums[term_id] = sums.get(term_id, 0.0) + tf
                together.append((places, [[*sums.items()]]))
            found[owner_id] = WholeMatch([*rowids], sum(lengths), weighted_tfs(together, 0))
        return found


def term_scores_of(plan: Plan, frequencies: Mapping[int, float], length: int, average_length: float) -> list[TermScore]:
    """The summands of BM25 of a text of so many tokens, the largest first."""
    k1, b = plan.tuning.k1, plan.tuning.b
    parts: list[TermScore] = []
    for at, tf in frequencies.items():
        term = plan.terms[at]
        score = term.value * tf_saturation(tf, length, average_length, k1, b)
        parts.append(TermScore._make((term, tf, length, average_length, score)))
    return sorted(parts, key=lambda part: (-part.score, part.term.text))


def no_threshold(scores: list[float]) -> float:
    """That every row matters, so that as many are scored as can be afforded."""
    return 0.0


def find_candidates(
    plan: Plan, scope: Scope, *, threshold_of: "ThresholdFn" = no_threshold, essential_share: float = ESSENTIAL_SHARE
) -> Candidates:
    """All rows that match, or those that may be among the best, scored; in no particular order.

    `threshold_of` says of the scores so far which rows of a large index still matter; `essential_share` is how much of
    a long query's worth the terms have that rows of a scope are fetched by.
    """
    if not (plan.terms or plan.required):  # the index holds nothing of what was asked for
        return Candidates([], is_complete=True)
    engine, query = plan.engine, row_query(plan, scope)
    scored = Scorer(plan).scores
    is_complete, pruned_count, scores = True, 0, list[float]()
    if engine.row_limit is not None:
        rows = engine.best_rows(query, plan.tuning.weights, engine.row_limit)
        is_complete = len(rows) < engine.row_limit
    elif scope.is_narrow:
        rows, is_complete = _scoped_rows(plan, query, essential_share)
    elif not plan.required and sum(term.df + term.path_df for term in plan.terms) <= MAX_ENUMERATED:
        rows = engine.rows(query)
    else:
        from ctxrank.ranking.retrieval.candidates.threshold import (  # noqa: PLC0415  only where a store is large
            generate_candidates,
        )

        rows, scores, is_complete, pruned_count = generate_candidates(plan, query, scored, threshold_of)
    scores = scores or scored(rows)
    found = _candidates(rows, scores)
    # A prefix selects by stems, and so may select a row that holds no word with that beginning.
    return Candidates(found if plan.required else [*compress(found, scores)], is_complete, pruned_count, rows)


def scored_rows(plan: Plan, rows: list[Row]) -> list[Candidate]:
    """These rows with what they score, in their order."""
    return _candidates(rows, Scorer(plan).scores(rows))


def _candidates(rows: list[Row], scores: list[float]) -> list[Candidate]:
    # Without a step of Python for each: there may be thousands.
    parts = zip(map(itemgetter(0), rows), map(itemgetter(1), rows), scores, repeat((), len(rows)), strict=True)
    return [*map(Candidate._make, parts)]


def term_scores(plan: Plan, rows: list[Row]) -> Callable[[int], list[TermScore]]:
    """What gives the summands of the score of each of these rows, the largest first: what `find_candidates` added up.

    They are made for each row that is asked about; a row that is gone has none.
    """
    frequencies, lengths = Scorer(plan).frequencies(rows), {row[0]: row[2] for row in rows}
    return lambda rowid: term_scores_of(plan, frequencies(rowid), lengths.get(rowid, 0), plan.statistics.average_length)


def _scoped_rows(plan: Plan, query: RowQuery, essential_share: float) -> tuple[list[Row], bool]:
    """The rows of a scope by the terms that are worth most, and whether these are all."""
    terms, scope = plan.terms, query.scope
    if len(terms) > _SHORT_QUERY_TERMS and not plan.required:
        values = [term.value for term in terms]
        rooms = accumulate(values, sub, initial=essential_share * sum(values))
        terms = tuple(term for term, room in zip(terms, rooms, strict=False) if room > 0)
    if len(terms) < len(plan.terms):
        rows = plan.engine.rows(row_query(plan._replace(terms=terms), scope))
        if len(rows) >= _ENOUGH_SCOPED:
            if scope.document_ids is None or len(scope.session_ids) != 1:
                return rows, False
            # The own rows (title, summary, path) of wanted documents come, too.
            own = {index_rowid(scope.session_ids[0], document_id) for document_id in scope.document_ids}
            return rows + plan.engine.rows_of(sorted(own.difference(row[0] for row in rows))), False
        # The rare terms are not where the filters look, or hardly: the others must do.
    return plan.engine.rows(query), True

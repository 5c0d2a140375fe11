"""Threshold-driven candidate generation: of the rows that an unscoped query matches, those that may be among the best.

A question of ten words matches a third of a million documents, too many to score. Each round asks the index for the
rows whose terms' bounds (bounds.py) add up to more than a threshold, and scores those that are new; the next round's
threshold comes from what was found. What is still unseen then scores at most `remaining_upper_bound`, which is proven.

    round 1    rows that can score 21, by chance 300        the best scores so far say that 13 is the threshold
    round 2    rows that can score 13, 2,600 more           13 still holds: nothing unseen can be among the best

Where that would be too many rows, a round goes as deep as MAX_SCORED allows, and the answer does not claim to be exact.

Where the engine can say of each matching row how much it can score (`Engine.row_bounds`, compiled code), the rounds are
the same, with rows in the place of clauses: those of the highest bounds first, then all above what these say.
"""

from collections.abc import Callable
from math import inf

from ctxrank.indexer.engine import PATH, TEXT, Engine, ListedWord, Row, RowQuery, Statistics
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.store.facets import Scope
from ctxrank.ranking.formulas.bm25 import tf_saturation
from ctxrank.ranking.retrieval.candidates.bounds import Bounds, bounded_terms
from ctxrank.ranking.retrieval.plan import Plan

if TYPE_CHECKING:
    from ctxrank.indexer.engine import RowBounds

EVERYWHERE = Scope()
FIRST_ROWS = 200  # of the highest bounds: enough to know what the best ones score
BEST_ROWS = 500  # rows that the engine's own order picks where nothing else can
FIRST_COST = 600
MAX_SCORED = 4000  # about 5 µs each
_MAX_ROUNDS = 4
# Words of one subject are found together more often than by chance, so a round may find so many times what it expected.
MAX_SELECTIVITY_ERROR = 3
# Rows that a round did not expect show how far the estimate is off in this query; one round shows it roughly.
_LEAST_RATIO, _MOST_RATIO = 0.05, 50.0
_JUST_BELOW = 0.999

# From the scores so far, the best first: the score below which no row matters.
ThresholdFn = Callable[[list[float]], float]
Scoring = Callable[[list[Row]], list[float]]


class GeneratedCandidates(NamedTuple):
    """Rows with their scores. Whatever is not among them scores at most `remaining_upper_bound`; None: unknown.

    `pruned_count` counts the documents that were found and cannot be among the best.
    """

    rows: list[Row]
    scores: list[float]
    remaining_upper_bound: float | None
    pruned_count: int


def generate_candidates(
    engine: Engine, statistics: Statistics, plan: Plan, query: RowQuery, scored: Scoring, threshold_of: ThresholdFn
) -> GeneratedCandidates:
    """The rows that may be among the best, as many as can be afforded; `query` finds all that match."""
    listed = _row_bounds(engine, statistics, plan, query)
    if listed is not None:
        return _by_row_bounds(engine, listed, scored, threshold_of)
    terms = bounded_terms(engine, plan.terms, statistics, plan.tuning)
    if terms is None:
        return _best_by_engine(engine, plan, query, scored)
    bounds = Bounds(terms, statistics.documents)
    rows: list[Row] = []
    scores: list[float] = []
    known: set[int] = set()
    remaining_upper_bound: float | None = None
    needed = 0.0
    theta, ratio = min(bounds.threshold_for_cost(FIRST_COST), bounds.max_score * _JUST_BELOW), 1.0
    for _ in range(_MAX_ROUNDS):
        candidates = bounds.candidates_above(theta)
        if candidates is None:
            break
        narrowed = query._replace(clause=candidates.clause)
        found = engine.row_ids(narrowed, MAX_SELECTIVITY_ERROR * MAX_SCORED + 1)
        if len(found) > MAX_SELECTIVITY_ERROR * MAX_SCORED:
            if not rows:
                # Every word is everywhere: these rows differ in nothing but their scores.
                return _best_by_engine(engine, plan, narrowed, scored)
            ratio *= 4
            deeper = bounds.threshold_for_cost(MAX_SCORED / ratio)
        else:
            new = engine.rows_of(rowid for rowid in found if rowid not in known)
            known.update(found)
            rows += new
            scores += scored(new)
            remaining_upper_bound = theta
            needed = threshold_of(sorted(scores, reverse=True))
            if theta <= needed:
                break
            ratio = min(max(len(found) / max(candidates.rows, 1.0), _LEAST_RATIO), _MOST_RATIO)
            deeper = max(needed, bounds.threshold_for_cost(MAX_SCORED / ratio))
        if remaining_upper_bound is not None and deeper >= remaining_upper_bound * _JUST_BELOW:
            break
        theta = deeper
    return _kept(rows, scores, needed, remaining_upper_bound)


def _kept(
    rows: list[Row], scores: list[float], needed: float, remaining_upper_bound: float | None
) -> GeneratedCandidates:
    """The rows that matter; the bound covers the others as it does those that were not fetched.

    Without them all that follows is short.
    """
    prune_below = min(needed, remaining_upper_bound or 0.0)
    kept = [(row, score) for row, score in zip(rows, scores, strict=True) if score >= prune_below]
    documents, kept_documents = {row[1] for row in rows}, {row[1] for row, _ in kept}
    return GeneratedCandidates(
        rows=[row for row, _ in kept], scores=[score for _, score in kept],
        remaining_upper_bound=remaining_upper_bound, pruned_count=len(documents) - len(kept_documents),
    )  # fmt: skip


def _by_row_bounds(
    engine: Engine, bounds: "RowBounds", scored: Scoring, threshold_of: ThresholdFn
) -> GeneratedCandidates:
    """The rows that may be among the best, by the bound of each."""
    theta = bounds.threshold(FIRST_ROWS)
    rowids = bounds.between(theta, inf, MAX_SCORED)
    if not rowids:  # more rows than that have the highest bound of all
        highest, theta = theta, bounds.threshold(MAX_SCORED)
        rowids = bounds.between(theta if theta < highest else highest * _JUST_BELOW, inf, MAX_SCORED)
    rows: list[Row] = []
    scores: list[float] = []
    while True:
        new = engine.rows_of(sorted(rowids))
        rows += new
        scores += scored(new)
        needed, seen = threshold_of(sorted(scores, reverse=True)), theta
        theta = max(needed, bounds.threshold(MAX_SCORED))
        if theta >= seen * _JUST_BELOW or len(rows) >= MAX_SCORED:
            return _kept(rows, scores, needed, seen)
        rowids = bounds.between(theta, seen, MAX_SCORED - len(rows))


def _row_bounds(engine: Engine, statistics: Statistics, plan: Plan, query: RowQuery) -> "RowBounds | None":
    """What each row that the query finds can score; None where there are filters, or the engine cannot say.

    Of 32 words clauses of the dearest few are asked in half the time, but find half of the ten best rows of a million.
    """
    words = None if query.excluded or query.required or query.scope != EVERYWHERE else listed_words(plan)
    if words is None:
        return None
    average_length, tuning = statistics.average_length, plan.tuning

    def saturation(tf: float, length: int) -> float:
        return tf_saturation(tf, length, average_length, tuning.k1, tuning.b)

    return engine.row_bounds(words, tuning.weights, saturation, MAX_SCORED + 1)


def _best_by_engine(engine: Engine, plan: Plan, query: RowQuery, scored: Scoring) -> GeneratedCandidates:
    rows = engine.best_rows(query, plan.tuning.weights, BEST_ROWS)
    return GeneratedCandidates(rows, scored(rows), None, 0)


def listed_words(plan: Plan) -> list[ListedWord] | None:
    """The words of the query by what they are worth; None where one is more than a word: a prefix, or one of a column.

    A defined name is no word of its own in the index: whatever has its first word among its identifiers may define it.
    """
    words: dict[str, ListedWord] = {}
    for term in plan.terms:
        if term.column or len(term.ids) != 1 or not term.stems:
            return None
        stem = term.stems[0]
        word = words.get(stem, ListedWord(stem, 0.0))
        if word.value and term.field in (TEXT, PATH):
            return None
        if term.field == TEXT:
            word = word._replace(
                value=term.value, id=term.ids[0], path_id=next(iter(term.path_ids), None), path_scale=term.path_scale
            )
        elif term.field == PATH:
            word = word._replace(value=term.value, path_id=term.ids[0], path_scale=1.0)
        else:
            word = word._replace(name_value=word.name_value + term.value * (plan.tuning.k1 + 1))
        words[stem] = word
    return list(words.values())

"""Threshold-driven candidate generation: of the rows that an unscoped query matches, those that may be among the best.

A question of ten words matches a third of a million documents, too many to score. Each round asks the index for the
rows whose terms' bounds (bounds.py) add up to more than a threshold, and scores those that are new; the next round's
threshold comes from what was found. What is still unseen then scores at most `remaining_upper_bound`, which is proven.

    round 1    rows that can score 21, by chance 300        the best scores so far say that 13 is the threshold
    round 2    rows that can score 13, 2,600 more           13 still holds: nothing unseen can be among the best

Where that would be too many rows, a round goes as deep as MAX_SCORED allows, and the answer does not claim to be exact.
"""

from collections.abc import Callable

from ctxrank.indexer.engine import Engine, Row, RowQuery, Statistics
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.ranking.retrieval.candidates.bounds import Bounds, bounded_terms
from ctxrank.ranking.retrieval.plan import Plan

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
    # The bound covers these rows as it does those that were not fetched; without them all that follows is short.
    prune_below = min(needed, remaining_upper_bound or 0.0)
    kept = [(row, score) for row, score in zip(rows, scores, strict=True) if score >= prune_below]
    documents, kept_documents = {row[1] for row in rows}, {row[1] for row, _ in kept}
    return GeneratedCandidates(
        rows=[row for row, _ in kept], scores=[score for _, score in kept],
        remaining_upper_bound=remaining_upper_bound, pruned_count=len(documents) - len(kept_documents),
    )  # fmt: skip


def _best_by_engine(engine: Engine, plan: Plan, query: RowQuery, scored: Scoring) -> GeneratedCandidates:
    rows = engine.best_rows(query, plan.tuning.weights, BEST_ROWS)
    return GeneratedCandidates(rows, scored(rows), None, 0)

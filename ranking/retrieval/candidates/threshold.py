"""Selection: of the rows that an unscoped query matches, those that may be among the best, scored.

A question of ten words matches a third of a million documents, and nobody scores them all. Each round asks FTS5 for the
rows whose terms' bounds (bounds.py) add up to more than some score, and scores those that are new; the next round's
score comes from what was found. What is still unseen then scores at most `unseen`, by proof and not by luck.

    round 1    rows that can score 21, by chance 300        the best scores so far say that 13 is what matters
    round 2    rows that can score 13, 2,600 more           13 still matters: nothing unseen can be among the best

Where that would be too many rows, a round goes as deep as MAX_SCORED allows, and the answer does not claim to be exact.
"""

from collections.abc import Callable

from ctxrank.indexer.fulltext.index_file import Index, IndexState
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.ranking.retrieval.candidates.bounds import BoundedTerm, Bounds, most_of
from ctxrank.ranking.retrieval.candidates.matcher import BEST_BY_BM25, Matcher, Mattering, Row
from ctxrank.ranking.retrieval.plan import Plan, fragment_of, within

FIRST_COST = 600
MAX_SCORED = 4000  # about 5 µs each
_MAX_ROUNDS = 4
# Words of one subject stand together more often than by chance, so a round may find so many times what it expected.
_SURPRISE = 3
# Rows that a round did not expect tell how far chance is off in this query; one round tells it roughly.
_LEAST_RATIO, _MOST_RATIO = 0.05, 50.0
_JUST_BELOW = 0.999

Scoring = Callable[[list[Row]], list[float]]


class Selection(NamedTuple):
    """Rows with their scores. Whatever is not among them scores at most `unseen`; None: nobody knows.

    `passed_over` counts the documents that were found and cannot be among the best.
    """

    rows: list[Row]
    scores: list[float]
    unseen: float | None
    passed_over: int


def select(
    index: Index, state: IndexState, plan: Plan, matcher: Matcher, scored: Scoring, mattering: Mattering
) -> Selection:
    """The rows that may be among the best, as many as can be afforded."""
    most = most_of(index.connection, plan.terms, state.average_length, plan.tuning)
    bounds = Bounds(
        [
            BoundedTerm(fragment_of(term), bound, min(term.df / state.documents, 1.0))
            for term, bound in zip(plan.terms, most, strict=True)
        ],
        state.documents,
    )
    rows: list[Row] = []
    scores: list[float] = []
    known: set[int] = set()
    unseen: float | None = None
    matters = 0.0
    least, ratio = min(bounds.least_for(FIRST_COST), bounds.most * _JUST_BELOW), 1.0
    for _ in range(_MAX_ROUNDS):
        reach = bounds.reach(least)
        if reach is None:
            break
        found = matcher.rowids(within(reach.expression, matcher.facets), _SURPRISE * MAX_SCORED + 1)
        if len(found) > _SURPRISE * MAX_SCORED:
            if not rows:
                # Every word is everywhere: nothing tells these rows apart but their scores.
                rows = matcher.best_by_bm25(within(reach.expression, matcher.facets), BEST_BY_BM25)
                return Selection(rows, scored(rows), None, 0)
            ratio *= 4
            deeper = bounds.least_for(MAX_SCORED / ratio)
        else:
            new = matcher.rows_of(rowid for rowid in found if rowid not in known)
            known.update(found)
            rows += new
            scores += scored(new)
            unseen = least
            matters = mattering(sorted(scores, reverse=True))
            if least <= matters:
                break
            ratio = min(max(len(found) / max(reach.rows, 1.0), _LEAST_RATIO), _MOST_RATIO)
            deeper = max(matters, bounds.least_for(MAX_SCORED / ratio))
        if unseen is not None and deeper >= unseen * _JUST_BELOW:
            break
        least = deeper
    # The bound covers these rows as it does those that nobody fetched; without them all that follows is short.
    dull = min(matters, unseen or 0.0)
    kept = [(row, score) for row, score in zip(rows, scores, strict=True) if score >= dull]
    documents, kept_documents = {row[1] for row in rows}, {row[1] for row, _ in kept}
    return Selection(
        [row for row, _ in kept], [score for _, score in kept], unseen, len(documents) - len(kept_documents)
    )

"""Threshold-driven candidate generation: of the rows that a query matches in a large store, those that may be among
the best.

A question of ten words matches a third of a million documents, too many to score. The engine says of each matching row
how much it can score (`Engine.row_bounds`). Those of the highest bounds are scored first; the threshold for the others
comes from what was found (top_k.py). What is still unseen then scores at most the last threshold.

    first       200 rows, down to a bound of 21          the best scores so far say that 13 is the threshold
    then        2,600 more, down to a bound of 13        13 still holds: nothing unseen can be among the best

Where that would be too many rows, it goes as deep as MAX_SCORED allows. Where filters, phrases, columns or exclusions
leave fewer rows than the words have, few are all scored; of many the engine says which of the best by bounds match.
"""

from collections.abc import Callable
from math import inf, nextafter

from ctxrank.indexer.engine import PATH, TEXT, ListedWord, Row, RowQuery
from ctxrank.indexer.store.facets import Scope
from ctxrank.ranking.formulas.bm25 import tf_saturation
from ctxrank.ranking.retrieval.plan import Plan

EVERYWHERE = Scope()
FIRST_ROWS = 200  # of the highest bounds: enough to know what the best ones score
FEW_ROWS = 1500  # that filters leave: all are scored
BEST_ROWS = 500  # rows that the engine's own order picks where nothing else can
MAX_SCORED = 4000  # about 5 µs each
_JUST_BELOW = 0.999
# Of rows that filters leave so many of, each is asked whether it matches; of fewer FTS5 lists all that do.
_LEAST_SHARE = 0.125

# From the scores so far, the best first: the score below which no row matters.
ThresholdFn = Callable[[list[float]], float]
Scoring = Callable[[list[Row]], list[float]]


def generate_candidates(
    plan: Plan, query: RowQuery, scored: Scoring, threshold_of: ThresholdFn
) -> tuple[list[Row], list[float], bool, int]:
    """The rows that may be among the best, as many as can be afforded; `query` finds all that match.

    With their scores, whether these are all that match, and how many documents were found that cannot be among
    the best.
    """
    engine, tuning, average_length = plan.engine, plan.tuning, plan.statistics.average_length
    needs_list = bool(query.required) or "passage" in query.scope.kinds or any(term.column for term in plan.terms)
    is_filtered = query.scope != EVERYWHERE or bool(query.excluded)
    if needs_list or is_filtered:
        rowids = engine.row_ids(query, FEW_ROWS + 1)
        if len(rowids) <= FEW_ROWS:
            rows = engine.rows_of(rowids)
            return rows, scored(rows), True, 0

    def saturation(tf: float, length: int) -> float:
        return tf_saturation(tf, length, average_length, tuning.k1, tuning.b)

    wanted = None if needs_list or is_filtered else MAX_SCORED + 1
    bounds = engine.row_bounds(listed_words(plan), tuning.weights, saturation, wanted)
    if bounds is None:
        rows = engine.best_rows(query, tuning.weights, BEST_ROWS)
        return rows, scored(rows), False, 0
    share = 1.0
    if is_filtered and not needs_list:
        first = bounds.between(bounds.threshold(FIRST_ROWS), inf, FIRST_ROWS)
        share = len(engine.rows_of(first, query)) / len(first) if first else 0.0
        needs_list = share < _LEAST_SHARE
    if needs_list:
        bounds, share, is_filtered = bounds.among(engine.row_ids(query)), 1.0, False
    most = int(MAX_SCORED / share)
    deepest = bounds.threshold(most)
    theta = bounds.threshold(FIRST_ROWS)
    rowids = bounds.between(theta, inf, most)
    if not rowids:  # more rows than that have the highest bound of all
        highest, theta = theta, deepest
        rowids = bounds.between(theta if theta < highest else nextafter(highest, 0.0), inf, most)
    found: list[tuple[Row, float]] = []
    while True:
        most -= len(rowids)
        rows = engine.rows_of(sorted(rowids), query if is_filtered else None)
        found += zip(rows, scored(rows), strict=True)
        needed, seen = threshold_of(sorted([score for _, score in found], reverse=True)), theta
        theta = max(needed, deepest)
        if theta >= seen * _JUST_BELOW or most <= 0:
            break
        rowids = bounds.between(theta, seen, most)
    # Without the rows that do not matter all that follows is short.
    kept = [(row, score) for row, score in found if score >= min(needed, seen)]
    pruned_count = len({row[1] for row, _ in found}) - len({row[1] for row, _ in kept})
    return [row for row, _ in kept], [score for _, score in kept], seen == 0.0, pruned_count


def listed_words(plan: Plan) -> list[ListedWord]:
    """The words of the query by what they are worth at most; of a prefix all that it was completed to.

    A defined name is no word of its own in the index: whatever has its first word among its identifiers may define it.
    """
    words: dict[str, ListedWord] = {}
    for term in plan.terms:
        if term.field not in (TEXT, PATH):
            word = words.get(term.stems[0], ListedWord(term.stems[0], 0.0))
            words[word.term] = word._replace(name_value=word.name_value + term.value * (plan.tuning.k1 + 1))
            continue
        in_texts = dict(zip(term.stems, term.ids, strict=True)) if term.field == TEXT else {}
        in_paths = dict(zip(term.path_stems, term.path_ids, strict=True))
        scale = term.path_scale
        if term.field == PATH:
            in_paths, scale = dict(zip(term.stems, term.ids, strict=True)), 1.0
        for stem in in_texts | in_paths:
            word = words.get(stem, ListedWord(stem, 0.0))
            words[stem] = word._replace(
                value=word.value + term.value,
                id=in_texts.get(stem, word.id),
                path_id=in_paths.get(stem, word.path_id),
                path_scale=max(scale, word.path_scale),
            )
    return list(words.values())

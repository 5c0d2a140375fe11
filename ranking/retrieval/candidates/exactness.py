"""Exactness: whether a row that was not looked at could change the hits that are shown.

The rows that a search leaves alone score at most u, the `remaining_upper_bound` (threshold.py). A hit is more than a
row: passages support each other, the best rows get a bonus for the order and form of their words, and priority and age
lift what matches less. So the hits are exact where

    the rows that are reranked would be the same           u < the MAX_RERANKEDth best row
    the last hit shown is above all that may come          w·T(m · u) + (1 − w)·H_max / 21.5 < its score

m is 1 where no file has passages, else all shares of grouping.py together; such a store proves nothing unless every
matching row was scored, since a hit may rest on rows that were not. H_max is what the highest priority in the
store and the age of nothing give (a search knows of no group or agent).
"""

from ctxrank.indexer.engine import Engine
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.ranking.formulas.blend import blended, calibrated, uncalibrated
from ctxrank.ranking.formulas.static_features import BLENDED_RECENCY, PRIORITY_FACTOR, PRIORITY_WEIGHTS
from ctxrank.ranking.retrieval.candidates.candidates import Candidates
from ctxrank.ranking.retrieval.grouping import OTHERS_SHARE, OWN_SHARE, SHOWN_PASSAGES
from ctxrank.ranking.retrieval.rerank import MAX_RERANKED

if TYPE_CHECKING:
    from ctxrank.ranking.retrieval.candidates.threshold import ThresholdFn

_USUAL_PRIORITY = "medium"
# Bounds are sums in another order than scores.
_ROUNDING = 1e-9
_SHOWN_ROUNDING = 1e-6  # of the scores of hits


class FeatureLimits(NamedTuple):
    """What may put a document above one of a higher text score."""

    rows: float  # how much more than one row's score a document's score is at most
    heuristic: float  # the highest H in the store
    half: float  # of the query, see blend.py
    weight: float  # of the text

    def highest(self, score: float) -> float:
        """The score of the best document that no row scores more for than this."""
        return blended(calibrated(self.rows * score, self.half), self.heuristic, self.weight)


def feature_limits(engine: Engine, half: float, weight: float) -> FeatureLimits:
    """The limits in this store."""
    bounds = engine.feature_bounds(PRIORITY_WEIGHTS)
    rows = 1.0 + OWN_SHARE + OTHERS_SHARE * (SHOWN_PASSAGES - 1) if bounds.has_passages else 1.0
    weights = [PRIORITY_WEIGHTS[priority] for priority in bounds.priorities]
    highest = PRIORITY_FACTOR * max(weights, default=PRIORITY_WEIGHTS[_USUAL_PRIORITY]) + BLENDED_RECENCY
    return FeatureLimits(rows, highest, half, weight)


def top_k_threshold(limit: int, limits: FeatureLimits) -> "ThresholdFn":
    """How low a row may score and still change the best hits, if the last of them is an old one of usual priority."""
    usual = PRIORITY_FACTOR * PRIORITY_WEIGHTS[_USUAL_PRIORITY]

    def threshold_of(scores: list[float]) -> float:
        if limit <= 0 or len(scores) < max(limit, MAX_RERANKED):
            return 0.0
        last = blended(calibrated(scores[limit - 1], limits.half), usual, limits.weight)
        needed = (last - blended(0.0, limits.heuristic, limits.weight)) / limits.weight if limits.weight else 0.0
        # A little lower than what must be undercut.
        row = uncalibrated(max(needed, 0.0), limits.half) / limits.rows
        return max(min(row, scores[MAX_RERANKED - 1]) * (1 - _ROUNDING) - _ROUNDING, 0.0)

    return threshold_of


def is_top_k_exact(found: Candidates, limits: FeatureLimits, last_score: float | None) -> bool:
    """Whether the hits would be the same if every row had been scored; `last_score` is None where places are left."""
    if found.remaining_upper_bound == 0.0:
        return True
    if found.remaining_upper_bound is None or last_score is None or limits.rows > 1 or len(found.rows) < MAX_RERANKED:
        return False
    remaining = found.remaining_upper_bound + _ROUNDING
    if remaining >= sorted((row.score for row in found.rows), reverse=True)[MAX_RERANKED - 1]:
        return False
    return limits.highest(remaining) < last_score - _SHOWN_ROUNDING

"""Top k: how low a row may score and still change the hits that are shown.

A hit is more than a row: passages support each other, the best rows get a bonus for the order and form of their words,
and priority and age lift what matches less. So rows matter down to the lower of

    the rows that are reranked       the MAX_RERANKEDth best row
    the last hit shown               s with  w·T(m · s) + (1 − w)·H_max / 21.5 = its score

m is 1 where no file has passages, else all shares of grouping.py together. H_max is what the highest priority in the
store and the age of nothing give (a search knows of no group or agent). It decides which rows of a large index are
fetched (threshold.py), and proves nothing of the others: a hit may rest on rows that were not.
"""

from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.ranking.formulas.blend import blended, calibrated, half_score, uncalibrated
from ctxrank.ranking.formulas.static_features import BLENDED, PRIORITY_WEIGHTS, Signals, heuristic
from ctxrank.ranking.retrieval.grouping import OTHERS_SHARE, OWN_SHARE, SHOWN_PASSAGES
from ctxrank.ranking.retrieval.plan import Plan
from ctxrank.ranking.retrieval.rerank import MAX_RERANKED

if TYPE_CHECKING:
    from ctxrank.ranking.retrieval.candidates.threshold import ThresholdFn

_USUAL_PRIORITY = "medium"
_LONG_AGO_DAYS = 1_000_000
# What else may lift a document: all but what a search does not know.
_BESIDES = sum(part.maximum for part in BLENDED[1:] if part.share != "group")
# Bounds are sums in another order than scores.
_ROUNDING = 1e-9


class FeatureLimits(NamedTuple):
    """What may put a document above one of a higher text score."""

    rows: float  # how much more than one row's score a document's score is at most
    heuristic: float  # the highest H in the store
    half: float  # of the query, see blend.py
    weight: float  # of the text
    has_passages: bool


def feature_limits(plan: Plan) -> FeatureLimits:
    """The limits of a query in its store."""
    bounds = plan.engine.feature_bounds(PRIORITY_WEIGHTS)
    rows = 1.0 + OWN_SHARE + OTHERS_SHARE * (SHOWN_PASSAGES - 1) if bounds.has_passages else 1.0
    highest = max(bounds.priorities or (_USUAL_PRIORITY,), key=PRIORITY_WEIGHTS.__getitem__)
    priority = heuristic(Signals(highest), BLENDED).values[0]
    return FeatureLimits(rows, priority + _BESIDES, half_score(plan.values), plan.tuning.text, bounds.has_passages)


def top_k_threshold(limit: int, limits: FeatureLimits) -> "ThresholdFn":
    """How low a row may score and still change the best hits, if the last of them is an old one of usual priority."""
    usual = heuristic(Signals(_USUAL_PRIORITY, days=_LONG_AGO_DAYS), BLENDED).total

    def threshold_of(scores: list[float]) -> float:
        if limit <= 0 or len(scores) < max(limit, MAX_RERANKED):
            return 0.0
        last = blended(calibrated(scores[limit - 1], limits.half), usual, limits.weight)
        needed = (last - blended(0.0, limits.heuristic, limits.weight)) / limits.weight if limits.weight else 0.0
        # A little lower than what must be undercut.
        row = uncalibrated(max(needed, 0.0), limits.half) / limits.rows
        return max(min(row, scores[MAX_RERANKED - 1]) * (1 - _ROUNDING) - _ROUNDING, 0.0)

    return threshold_of

"""Exactness: whether a row that nobody looked at could change the hits that are shown.

The rows that a search leaves alone score at most `unseen` (threshold.py). A hit is more than a row: passages support
each other, the best rows get a bonus for the order and form of their words, and priority and age lift what matches
less. So the hits are exact where

    the rows that were read again would be the same        unseen < the MAX_REFINEDth best row
    the last hit shown stands above all that may come      w·T(m · unseen) + (1 − w)·H_max / 21.5 < its score

m is 1 where no file has passages, else all shares of evidence.py together; such a store proves nothing unless every
matching row was scored, since a hit may rest on rows that were not. H_max is what the highest priority in the
store and the age of nothing give (a search knows of no group or agent).
"""

from ctxrank.indexer.fulltext.index_file import Index
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.ranking.formulas.blend import blended, calibrated, uncalibrated
from ctxrank.ranking.formulas.static_features import BLENDED_RECENCY, PRIORITY_FACTOR, PRIORITY_WEIGHTS
from ctxrank.ranking.retrieval.candidates.candidates import Candidates
from ctxrank.ranking.retrieval.candidates.matcher import Mattering
from ctxrank.ranking.retrieval.grouping import OTHERS_SHARE, OWN_SHARE, SHOWN_PASSAGES
from ctxrank.ranking.retrieval.rerank import MAX_REFINED

_USUAL_PRIORITY = "medium"
# Bounds are sums in another order than scores.
_ROUNDING = 1e-9
_SHOWN_ROUNDING = 1e-6  # of the scores of hits


class Lift(NamedTuple):
    """What may stand a document above one of a higher text score."""

    rows: float  # how much more than one row's score a document's evidence is at most
    heuristic: float  # the highest H in the store
    half: float  # of the query, see blend.py
    weight: float  # of the text

    def highest(self, score: float) -> float:
        """The score of the best document that no row scores more for than this."""
        return blended(calibrated(self.rows * score, self.half), self.heuristic, self.weight)


def lift_of(index: Index, half: float, weight: float) -> Lift:
    """The lift that is possible in this store."""
    execute = index.connection.execute
    has_passages = execute("SELECT 1 FROM primary_db.documents WHERE owner_id > 0 LIMIT 1").fetchone() is not None
    rows = 1.0 + OWN_SHARE + OTHERS_SHARE * (SHOWN_PASSAGES - 1) if has_passages else 1.0
    priorities = ", ".join(f"'{name}'" for name in PRIORITY_WEIGHTS)
    weights = [
        PRIORITY_WEIGHTS[str(name)]
        for (name,) in execute(f"SELECT text FROM primary_db.labels WHERE text IN ({priorities})")
    ]
    highest = PRIORITY_FACTOR * max(weights, default=PRIORITY_WEIGHTS[_USUAL_PRIORITY]) + BLENDED_RECENCY
    return Lift(rows, highest, half, weight)


def matters_for(limit: int, lift: Lift) -> Mattering:
    """How low a row may score and still change the best hits, if the last of them is an old one of usual priority."""
    usual = PRIORITY_FACTOR * PRIORITY_WEIGHTS[_USUAL_PRIORITY]

    def matters(scores: list[float]) -> float:
        if limit <= 0 or len(scores) < max(limit, MAX_REFINED):
            return 0.0
        last = blended(calibrated(scores[limit - 1], lift.half), usual, lift.weight)
        needed = (last - blended(0.0, lift.heuristic, lift.weight)) / lift.weight if lift.weight else 0.0
        # A little lower than what must be undercut.
        row = uncalibrated(max(needed, 0.0), lift.half) / lift.rows
        return max(min(row, scores[MAX_REFINED - 1]) * (1 - _ROUNDING) - _ROUNDING, 0.0)

    return matters


def is_proven(found: Candidates, lift: Lift, last_score: float | None) -> bool:
    """Whether the hits would be the same if every row had been scored; `last_score` is None where places are left."""
    if found.unseen == 0.0:
        return True
    if found.unseen is None or last_score is None or lift.rows > 1 or len(found.rows) < MAX_REFINED:
        return False
    unseen = found.unseen + _ROUNDING
    if unseen >= sorted((row.score for row in found.rows), reverse=True)[MAX_REFINED - 1]:
        return False
    return lift.highest(unseen) < last_score - _SHOWN_ROUNDING

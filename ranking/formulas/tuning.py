"""The constants of the ranking that a configuration may change, under `ranking:`; each has its reason next to it."""

from collections.abc import Mapping

from ctxrank.indexer.engine import FieldWeights
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.ranking.formulas.blend import SEARCH_TEXT_WEIGHT
from ctxrank.ranking.formulas.bm25 import K1, WEIGHTS, B
from ctxrank.ranking.formulas.proximity import EXACT_WEIGHT, NEAR_WEIGHT


class Tuning(NamedTuple):
    """What a score is calculated with: bm25.py, proximity.py, and w of a search in blend.py."""

    k1: float = K1
    b: float = B
    title: float = WEIGHTS.title
    path: float = WEIGHTS.path
    identifiers: float = WEIGHTS.identifiers
    near: float = NEAR_WEIGHT
    exact: float = EXACT_WEIGHT
    text: float = SEARCH_TEXT_WEIGHT

    @property
    def weights(self) -> FieldWeights:
        """What an occurrence counts in each column."""
        return FieldWeights(self.title, WEIGHTS.body, self.path, self.identifiers)


DEFAULT = Tuning()


def tuned(settings: Mapping[str, float]) -> Tuning:
    """The defaults with a configuration's settings over them; their names and ranges were checked there."""
    return DEFAULT._replace(**settings) if settings else DEFAULT

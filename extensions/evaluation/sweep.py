"""The sweep: settings tuned on one's own labels, and judged on queries that took no part in it.

    queries ──► two halves ──► one setting at a time is moved while the first half gains ──► the second half judges

Coordinate ascent: for each setting in turn a few values around the present one, until a round changes nothing. A gain
on the held-out half that a paired bootstrap does not tell from chance is no reason to change anything. Source of the
test, and of comparing query by query: Smucker, Allan and Carterette, A Comparison of Statistical Significance Tests for
Information Retrieval Evaluation (2007).
"""

import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from ctxrank.extensions.evaluation.collection import Collection, JudgedQuery
from ctxrank.extensions.evaluation.evaluate import IndexedCollection, Progress, indexed, ndcg, ranked_ids
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.settings import RANKING_RANGES
from ctxrank.ranking.formulas.tuning import tuned

_FACTORS = (0.0, 0.6, 0.8, 1.25, 1.6, 2.5)
_ROUNDS = 3
# Every label says the same of text alone; priorities and ages are not in a collection, so `text` cannot be tuned here.
_TUNABLE = ("title", "near", "exact", "identifiers", "path", "b", "k1")
_MIN_QUERIES = 20
_MIN_GAIN = 0.001  # of the mean nDCG@10 on the tuned half: less is noise
_SAMPLES = 2000
_TAIL = 0.025


class Sweep(NamedTuple):
    """What was found; `settings` are the whole of what to put under `ranking:`, `changes` (before, after) by name."""

    settings: Mapping[str, float]
    changes: Mapping[str, tuple[float, float]]
    tried: int
    tuned_queries: int
    held_out_queries: int
    tuned_before: float
    tuned_after: float
    held_out_before: float
    held_out_after: float
    low: float  # of the gain on the held-out half, a 95 % interval
    high: float

    @property
    def is_worth_it(self) -> bool:
        """Whether the gain on the held-out half is more than chance."""
        return bool(self.changes) and self.low > 0


class _Bench:
    """The indexed collections, and the measure of one half of the queries under some settings."""

    def __init__(self, config: Config, indexes: Sequence[IndexedCollection], seed: int) -> None:
        asked = [(index, query) for index in indexes for query in index.collection.queries]
        random.Random(seed).shuffle(asked)
        self._config = config
        self.tuned = asked[::2]
        self.held_out = asked[1::2]
        self.tried = 0

    def ndcg(self, asked: list[tuple[IndexedCollection, JudgedQuery]], settings: Mapping[str, float]) -> list[float]:
        """nDCG@10 of each query."""
        config = self._config._replace(ranking=settings)
        return [ndcg(ranked_ids(index, query, config), query.grades) for index, query in asked]

    def mean(self, settings: Mapping[str, float]) -> float:
        """The mean over the tuned half."""
        self.tried += 1
        return _mean(self.ndcg(self.tuned, settings))


def sweep(collections: Sequence[Collection], config: Config, seed: int = 0, progress: Progress | None = None) -> Sweep:
    """Tune. `progress(tried, most)` counts settings. Raises UsageError for few queries."""
    count = sum(len(collection.queries) for collection in collections)
    if count < _MIN_QUERIES:
        raise UsageError(
            f"{count} queries with answers are too few to tune and to judge by.", f"Give {_MIN_QUERIES} or more."
        )
    with ExitStack() as stack:
        indexes = [stack.enter_context(indexed(collection, config)) for collection in collections]
        bench = _Bench(config, indexes, seed)
        before = bench.mean(config.ranking)
        settings, after = _ascend(bench, config.ranking, before, progress)
        held_before = bench.ndcg(bench.held_out, config.ranking)
        held_after = bench.ndcg(bench.held_out, settings)
    low, high = interval([new - old for new, old in zip(held_after, held_before, strict=True)], seed)
    old, new = tuned(config.ranking)._asdict(), tuned(settings)._asdict()
    changes = {name: (old[name], new[name]) for name in old if old[name] != new[name]}
    return Sweep(
        settings if changes else {}, changes, bench.tried, len(bench.tuned), len(bench.held_out),
        before, after, _mean(held_before), _mean(held_after), low, high,
    )  # fmt: skip


def _ascend(
    bench: _Bench, start: Mapping[str, float], score: float, progress: Progress | None
) -> tuple[dict[str, float], float]:
    settings = dict(start)
    most = _ROUNDS * len(_TUNABLE) * len(_FACTORS)
    for _ in range(_ROUNDS):
        is_changed = False
        for name in _TUNABLE:
            present = float(getattr(tuned(settings), name))
            best = settings
            for factor in _FACTORS:
                least, greatest = RANKING_RANGES[name]
                value = round(min(max(present * factor, least), greatest), 4)
                candidate = {**settings, name: value}
                if value != present and (found := bench.mean(candidate)) > score + _MIN_GAIN:
                    best, score, is_changed = candidate, found, True
                if progress is not None:
                    progress(min(bench.tried, most), most)
            settings = best
        if not is_changed:
            break
    return settings, score


def interval(differences: Sequence[float], seed: int = 0) -> tuple[float, float]:
    """A 95 % interval of the mean of paired differences, by bootstrap: resampled with replacement, _SAMPLES times."""
    chance = random.Random(seed)
    means = sorted(_mean(chance.choices(differences, k=len(differences))) for _ in range(_SAMPLES))
    return means[int(_SAMPLES * _TAIL)], means[int(_SAMPLES * (1 - _TAIL)) - 1]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)

"""How good one ranking is, from 0 to 1."""

import math
from collections.abc import Callable, Sequence

from public.shapes import Place, Question, Wanted

DEPTH = 10
_STRICT_DEPTH = 5


def answers(place: Place, wanted: Wanted) -> bool:
    """Whether a place is what is wanted: the path, or the end of it, and lines that overlap."""
    path, other = f"/{place.path}", f"/{wanted.path}"
    if not (path.endswith(other) or other.endswith(path)):
        return False
    return not wanted.end or (place.start <= wanted.end and place.end >= wanted.start)


def _ranks(places: Sequence[Place], question: Question) -> list[int]:
    """The rank of the first place for each thing that is wanted; 0 where there is none."""
    return [next((rank for rank, place in enumerate(places, 1) if answers(place, one)), 0) for one in question.wanted]


def ndcg(places: Sequence[Place], question: Question) -> float:
    """nDCG@10 as semble counts it: each wanted thing at its first place, a place once."""
    gains = [0.0] * DEPTH
    for rank, one in zip(_ranks(places, question), question.wanted, strict=True):
        if 0 < rank <= DEPTH:
            gains[rank - 1] = max(gains[rank - 1], one.grade)
    return _discounted(gains) / _discounted(sorted((one.grade for one in question.wanted), reverse=True)[:DEPTH])


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def accuracy(places: Sequence[Place], question: Question) -> float:
    """Strict Acc@5: all that is wanted is among the first five."""
    return float(all(0 < rank <= _STRICT_DEPTH for rank in _ranks(places, question)))


def reciprocal_rank(places: Sequence[Place], question: Question) -> float:
    """1 / rank of the first place that answers, of ten."""
    first = _first(places, question)
    return 1 / first if first else 0.0


def _first(places: Sequence[Place], question: Question) -> int:
    return min((rank for rank in _ranks(places[:DEPTH], question) if rank), default=0)


MEASURES: dict[str, Callable[[Sequence[Place], Question], float]] = {
    "nDCG@10": ndcg,
    "Acc@5": accuracy,
    "hit@1": lambda places, question: float(_first(places, question) == 1),
    "hit@5": lambda places, question: float(0 < _first(places, question) <= _STRICT_DEPTH),
    "MRR@10": reciprocal_rank,
    "empty": lambda places, question: float(not places and bool(question)),
}

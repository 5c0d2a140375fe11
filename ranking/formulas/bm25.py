"""BM25, the text score.

    score(d, q) = Σₜ qₜ · idf(t) · tf · (k1 + 1) / (tf + k1 · (1 − b + b · |d| / avgdl))
    idf(t)      = ln(1 + (N − n + 0.5) / (n + 0.5))
    tf          = Σ_f w_f · tf_f
    qₜ          = qtfₜ · (k3 + 1) / (qtfₜ + k3)

    qtfₜ   how often the query asks for t     N      documents in the index
    tf_f   occurrences of t in field f        n      documents that hold t
    w_f    weight of field f                  |d|    tokens of d; avgdl: of the average document

Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009), section 3;
the weighted tf is their simple BM25F without a length per field; the idf, which is never negative, is
Lucene's. FTS5's own bm25() is the same with k1 = 1.2, b = 0.75 and another idf, and smaller is better
there; here bigger is better.
"""

from math import fsum, log

from ctxrank.indexer.engine import FieldWeights

# What is counted in one column, or in all together: by the id of an index's term the places of the query's terms that
# it counts for, with what an occurrence counts there; and of each text its [(id, tf)].
CountedColumn = tuple[dict[int, list[tuple[int, float]]], list[list[tuple[int, float]]]]

# The best single setting on six public collections (macro nDCG@10; k1 0.9 and b 0.4 were worse on most).
K1 = 1.5
B = 0.6
# A word that is asked for twice is worth 1.9 times as much, one asked for eight times 5.2 times. Only the 60-word
# questions of cisi can tell (nDCG@10, 2026-11: 4 0.407, 8 0.405, 16 0.411, 99 0.406; with the stop words as they are
# now 8 0.409, 12 0.414); collections of short questions stay within 0.001.
K3 = 12.0


# A word in a title is worth two to three in a body on all six; a part of an identifier as much as a word (on
# functions 0.002 more than with 0.7 and recall@100 0.842 against 0.838; on the files of commits 0.004 less by itself).
WEIGHTS = FieldWeights(title=2.5, body=1.0, path=1.5, identifiers=1.0)


def inverse_document_frequency(documents: int, holding: float) -> float:
    """How rare a term is, in nats: N documents, n of which hold it."""
    return log(1 + (documents - holding + 0.5) / (holding + 0.5))


def query_tf_saturation(times: float) -> float:
    """qₜ: what a term that is asked for so often counts; up to once, it is what it is."""
    return times * (K3 + 1) / (times + K3) if times > 1 else times


def tf_saturation(tf: float, length: int, average_length: float, k1: float = K1, b: float = B) -> float:
    """The tf part of the sum: from 0 towards k1 + 1 as tf grows; long documents need more."""
    return tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average_length))


def weighted_tfs(columns: list[CountedColumn], text: int) -> dict[int, float]:
    """The weighted tf of the query's terms that the text at this place holds, by the place of the term."""
    found: dict[int, float] = {}
    for places, counted in columns:
        for term_id, tf in counted[text]:
            for at, scale in places[term_id] if tf else ():
                found[at] = found.get(at, 0.0) + tf * scale
    return found


def pure_saturated_sums(
    columns: list[CountedColumn], lengths: list[int], worths: list[float], fixed: float, by_length: float
) -> list[float]:
    """Of each text the sum of worth · tf / (tf + fixed + by_length · length) over the terms of a query.

    That is `tf_saturation` with its numbers filled in. By `fsum`, because the order of the summands differs by engine.
    `_bm25.c` does the same, and is taken where it was compiled.
    """
    scores: list[float] = []
    for text, length in enumerate(lengths):
        norm = fixed + by_length * length
        scores.append(fsum([worths[at] * tf / (tf + norm) for at, tf in weighted_tfs(columns, text).items()]))
    return scores


try:
    from ctxrank.ranking.formulas import _bm25

    saturated_sums = _bm25.saturated_sums
except ImportError:  # not compiled here
    saturated_sums = pure_saturated_sums

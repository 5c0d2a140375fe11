"""Did you mean: words of the index that are near to words it does not hold."""

from math import log2

from ctxrank.indexer.engine import Engine

MAX_SUGGESTIONS = 5
_MIN_SIMILARITY = 70.0
_MAX_COMPARED = 50_000
_LOOKED_AT = 30
# Among words that are about as near, the one that the corpus uses more is the likelier one.
_PER_DOUBLING = 2.0


def suggested_words(engine: Engine, words: tuple[str, ...]) -> list[str]:
    """Up to five words of the corpus that look like these, the nearest first."""
    from rapidfuzz import fuzz, process  # noqa: PLC0415  22 ms, and only where nothing was found

    found: dict[str, float] = {}
    for word in words:
        stem = " ".join(engine.tokens(word)) or word.lower()
        # A misspelt ending is not stemmed away, so the right stem may be shorter by several letters.
        frequencies = engine.terms_of_length(max(len(stem) - 4, 2), len(stem) + 2, _MAX_COMPARED)
        for term, similarity, _ in process.extract(
            stem, list(frequencies), scorer=fuzz.ratio, limit=_LOOKED_AT, score_cutoff=_MIN_SIMILARITY
        ):
            found[term] = max(found.get(term, 0.0), similarity + _PER_DOUBLING * log2(frequencies[term] + 1))
    nearest = sorted(found, key=lambda term: (-found[term], term))[:MAX_SUGGESTIONS]
    return list(dict.fromkeys(engine.word_of(term) for term in nearest))

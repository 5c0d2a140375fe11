"""Did you mean: words of the index that are near to words it does not hold."""

from math import log2

from ctxrank.indexer.engine import Engine
from ctxrank.ranking.retrieval.query import MAX_CORRECTED_CHARS

MAX_SUGGESTIONS = 5
_MIN_SIMILARITY = 70.0
_MAX_COMPARED = 50_000
_LOOKED_AT = 30
# Among words that are about as near, the one that the corpus uses more is the likelier one.
_PER_DOUBLING = 2.0


def suggested_words(engine: Engine, words: tuple[str, ...]) -> list[str]:
    """Up to five words of the corpus that look like these, the nearest first."""
    from rapidfuzz import fuzz, process  # noqa: PLC0415  22 ms, and only where nothing was found

    found: dict[tuple[str, str], float] = {}
    for word in words:
        if len(word) > MAX_CORRECTED_CHARS:
            continue
        stem = " ".join(engine.tokens(word)) or word.lower()
        # A misspelt ending is not stemmed away, so the right stem may be shorter by several letters.
        frequencies = engine.terms_of_length(max(len(stem) - 4, 2), len(stem) + 2, _MAX_COMPARED)
        for term, similarity, _ in process.extract(
            stem, list(frequencies), scorer=fuzz.ratio, limit=_LOOKED_AT, score_cutoff=_MIN_SIMILARITY
        ):
            found[term, word] = similarity + _PER_DOUBLING * log2(frequencies[term] + 1)
    suggested: list[str] = []
    for term, word in sorted(found, key=lambda pair: (-found[pair], pair)):
        shown = engine.word_of(term)
        # A stem may be near where its word is not: "asdfqwer" and the stem of "answering".
        if shown not in suggested and fuzz.ratio(word.lower(), shown.lower()) >= _MIN_SIMILARITY:
            suggested.append(shown)
            if len(suggested) == MAX_SUGGESTIONS:
                break
    return suggested

"""Did you mean: words of the index that are near to words it does not hold."""

from math import log2

from ctxrank.indexer.engine import Engine
from ctxrank.ranking.retrieval.expansion import words_of
from ctxrank.ranking.retrieval.query import MAX_CORRECTED_CHARS

MAX_SUGGESTIONS = 5
_MIN_SIMILARITY = 70.0
_MAX_COMPARED = 100
# Among words that are about as near, the one that the corpus uses more is the likelier one.
_PER_DOUBLING = 2.0


def suggested_words(engine: Engine, words: tuple[str, ...]) -> list[str]:
    """Up to five words of the corpus that look like these, the nearest first."""
    from rapidfuzz import fuzz  # noqa: PLC0415  22 ms, and only where nothing was found

    found: dict[tuple[str, str], float] = {}
    for word in words:
        if len(word) > MAX_CORRECTED_CHARS:
            continue
        stem = " ".join(engine.tokens(word)) or word.lower()
        for _, text, df in engine.near_terms(stem, _MAX_COMPARED):
            if (similarity := fuzz.ratio(stem, text)) >= _MIN_SIMILARITY:
                found[text, word] = similarity + _PER_DOUBLING * log2(df + 1)
    suggested: list[str] = []
    for term, word in sorted(found, key=lambda pair: (-found[pair], pair)):
        _, shown = words_of(engine, term)
        # A stem may be near where its word is not: "asdfqwer" and the stem of "answering".
        if shown not in suggested and fuzz.ratio(word.lower(), shown.lower()) >= _MIN_SIMILARITY:
            suggested.append(shown)
            if len(suggested) == MAX_SUGGESTIONS:
                break
    return suggested

"""Did you mean: words of the index that are near to words it does not hold."""

from math import log2

from ctxrank.indexer.fulltext.index_file import Index

MAX_SUGGESTIONS = 5
_MIN_SIMILARITY = 70.0
_MAX_COMPARED = 50_000
_LOOKED_AT = 30
# Among words that are about as near, the one that the corpus uses more is the likelier one.
_PER_DOUBLING = 2.0


def near_terms(index: Index, words: tuple[str, ...]) -> list[str]:
    """Up to five words of the corpus that look like these, the nearest first."""
    from rapidfuzz import fuzz, process  # 22 ms, and only when nothing was found

    found: dict[str, float] = {}
    for word in words:
        stem = " ".join(index.tokens(word)) or word.lower()
        # A misspelt ending is not stemmed away, so the right stem may be shorter by several letters.
        frequencies = {
            str(term): int(df)
            for term, df in index.connection.execute(
                """
                SELECT term, df FROM main.terms
                 WHERE df > 0 AND length(term) BETWEEN ? AND ? ORDER BY df DESC LIMIT ?
                """,
                (max(len(stem) - 4, 2), len(stem) + 2, _MAX_COMPARED),
            )
        }
        for term, similarity, _ in process.extract(
            stem, list(frequencies), scorer=fuzz.ratio, limit=_LOOKED_AT, score_cutoff=_MIN_SIMILARITY
        ):
            found[term] = max(found.get(term, 0.0), similarity + _PER_DOUBLING * log2(frequencies[term] + 1))
    nearest = sorted(found, key=lambda term: (-found[term], term))[:MAX_SUGGESTIONS]
    return list(dict.fromkeys(_word_of(index, term) for term in nearest))


def _word_of(index: Index, term: str) -> str:
    """A word that a stemmed term came from: the one in the first document that holds it."""
    connection = index.connection
    connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.instances USING fts5vocab('main', 'fts', 'instance')")
    row = connection.execute(
        """
        SELECT d.title || ' ' || d.body || ' ' || d.path || ' ' || d.identifiers
          FROM temp.instances AS i
          JOIN primary_db.documents AS d ON d.id = i.doc & 0xffffffff
         WHERE i.term = ? LIMIT 1
        """,
        (term,),
    ).fetchone()
    if row is None:
        return term
    encoded = str(row[0]).encode("utf-8", "replace")
    for start, end, token in index.tokens_at(str(row[0])):
        if token == term:
            return encoded[start:end].decode("utf-8", "replace").lower()
    return term

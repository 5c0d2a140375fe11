"""The rarer questions to the dictionary of the index: unfinished words, near terms, bounds of terms."""

import json
from collections.abc import Collection, Sequence

import apsw

from ctxrank.indexer.engine import FieldWeights, ImpactBound, IndexTerm
from ctxrank.indexer.fulltext.impact_bounds import COLUMNS, read_bound, weights_above
from ctxrank.indexer.fulltext.index_file import FIRST_UNMARKED, PRIMARY, TOKENIZER, Index
from ctxrank.indexer.light_typing import cast
from ctxrank.indexer.store.connection import read_rows
from ctxrank.indexer.store.facets import document_id_of, id_list


def unstemmed(index: Index, surface: str) -> str:
    """A word as the tokenizer makes it before it is stemmed."""
    name, arguments = TOKENIZER[1][0], list(TOKENIZER[1][1:])
    tokenize = index.connection.fts5_tokenizer(name, arguments)
    tokens = tokenize(
        surface.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
    )
    return " ".join(cast("list[str]", tokens))


def terms_with_beginning(
    index: Index, beginning: str, also: Collection[str], most: int, mark: str = ""
) -> list[IndexTerm]:
    """Terms with a field's mark that begin so and those of `also` that there are, the most frequent first."""
    query = """
        SELECT id, substr(term, ?4), df FROM main.terms
         WHERE (term >= ?1 AND term < ?1 || char(0x10ffff) OR term IN (SELECT value FROM json_each(?2))) AND df > 0
         ORDER BY df DESC, term LIMIT ?3
    """
    marked = json.dumps([mark + term for term in also])
    return list(read_rows(index.connection, query, (mark + beginning, marked, most, len(mark) + 1), IndexTerm))


def impact_bounds(index: Index, term_ids: Sequence[int], weights: FieldWeights) -> list[ImpactBound]:
    """The shortest document of each level of each term, the levels as high as these weights can make them."""
    scale = weights_above(weights)
    query = f"SELECT id, {', '.join(COLUMNS)} FROM main.terms WHERE id IN (SELECT value FROM json_each(?))"
    rows = index.connection.execute(query, (id_list(term_ids),))
    bounds = {row[0]: read_bound(row[1:], scale) for row in rows}
    return [bounds[term_id] for term_id in term_ids]


def terms_of_length(index: Index, shortest: int, longest: int, most: int) -> dict[str, int]:
    """Words of texts of a length in characters with their df, the most frequent ones."""
    rows = index.connection.execute(
        "SELECT term, df FROM main.terms"
        " WHERE df > 0 AND term >= ? AND length(term) BETWEEN ? AND ? ORDER BY df DESC LIMIT ?",
        (FIRST_UNMARKED, shortest, longest, most),
    )
    return dict(rows)


def word_of(index: Index, term: str) -> str:
    """A word that a stemmed term came from: the one in the first document that holds it."""
    connection = index.connection
    connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.instances USING fts5vocab('main', 'fts', 'instance')")
    row = connection.execute(
        f"""
        SELECT d.title || ' ' || d.body || ' ' || d.path || ' ' || d.identifiers
          FROM temp.instances AS i
          JOIN {PRIMARY}.documents AS d ON d.id = i.doc & {document_id_of(-1)}
         WHERE i.term = ? LIMIT 1
        """,
        (term,),
    ).fetchone()
    if row is None:
        return term
    text = str(row[0])
    encoded = text.encode("utf-8", "replace")
    for start, end, token in index.tokens_at(text):
        if token == term:
            return encoded[start:end].decode("utf-8", "replace").lower()
    return term

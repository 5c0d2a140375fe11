"""The rarer questions to the dictionary of the index: unfinished words, near terms.

Near terms come from `term_trigrams`, an FTS5 table over the terms themselves: what shares trigrams with a word is spelt
nearly like it, and what has the trigrams of a part one after another contains it. Measured at 500,000 terms, 19 ms and
0.5 ms.
"""

from collections.abc import Collection

import apsw

from ctxrank.indexer.engine import IndexTerm
from ctxrank.indexer.fulltext.index_file import DF, Index, quoted
from ctxrank.indexer.store.connection import read_rows
from ctxrank.indexer.text.identifiers import FIRST_CJK

TRIGRAM = 3
_LONGEST_SPELT = 48  # characters: nothing longer is a word that somebody types


def terms_with_beginning(
    index: Index, beginning: str, also: Collection[str], most: int, mark: str = ""
) -> list[IndexTerm]:
    """Terms with a field's mark that begin so and those of `also` that there are, the most frequent first."""
    query = f"""
        SELECT id, substr(term, ?1), {DF} AS found FROM main.terms
         WHERE (term >= ?2 AND term < ?2 || char(0x10ffff) OR term IN ({", ".join("?" * len(also))})) AND df > 0
         ORDER BY found DESC, term LIMIT ?
    """
    values: list[str | int] = [len(mark) + 1, mark + beginning, *(mark + term for term in also), most]
    return list(read_rows(index.connection, query, values, IndexTerm))


def has_trigrams(term: str) -> bool:
    """Whether a term is in `term_trigrams`: words of texts, no numbers, hashes, machine text or runs of CJK."""
    return TRIGRAM <= len(term) <= _LONGEST_SPELT and term[0].isalpha() and max(term) < FIRST_CJK


def trigrams_of(word: str) -> list[str]:
    """Each three letters of a word that follow one another, in order."""
    return [word[at : at + TRIGRAM] for at in range(len(word) - TRIGRAM + 1)]


# Those that share the most and rarest trigrams first; the shortest first, then by text.
NEAREST = f"""
    SELECT t.id, t.term, {DF}
      FROM (SELECT rowid, rank AS r FROM main.term_trigrams WHERE term_trigrams MATCH ? ORDER BY rank LIMIT ?) AS g
     CROSS JOIN main.terms AS t ON t.id = g.rowid
     WHERE t.df > 0
     ORDER BY g.r, g.rowid
"""
SHORTEST = f"""
    SELECT t.id, t.term, {DF}
      FROM main.term_trigrams AS g CROSS JOIN main.terms AS t ON t.id = g.rowid
     WHERE g.term_trigrams MATCH ? AND t.df > 0
     ORDER BY length(t.term), t.term LIMIT ?
"""


def terms_with_trigrams(index: Index, query: str, expression: str, most: int) -> list[IndexTerm]:
    """What a question to the trigrams finds. Raises CorruptError where they are lost: FTS5 takes that for an answer."""
    found = list(read_rows(index.connection, query, (expression, most), IndexTerm))
    if not found:
        known = """
            SELECT id, term, df FROM main.terms
             WHERE term BETWEEN 'a' AND 'zz' AND length(term) BETWEEN 4 AND 24 AND df > 0 LIMIT 1
        """
        held = "SELECT 1 FROM main.term_trigrams WHERE rowid = ? AND term_trigrams MATCH ?"
        for term in read_rows(index.connection, known, (), IndexTerm):
            if has_trigrams(term.term) and not index.connection.execute(held, (term.id, quoted(term.term))).fetchone():
                raise apsw.CorruptError("the trigrams of terms are missing one that there is")
    return found

"""From a parsed query to what the index is asked: terms with their statistics, and a MATCH expression.

What was typed is tokenised by the index's own tokenizer, and every piece that reaches FTS5 is quoted, so
no text is a syntax error there.
"""

from typing import cast

import apsw

from ctxrank.indexer.fts import TOKENIZER, Index, IndexState
from ctxrank.indexer.identifiers import split_word
from ctxrank.indexer.records import NamedTuple
from ctxrank.ranking.bm25 import inverse_document_frequency
from ctxrank.ranking.query import Query, Term
from ctxrank.ranking.stopwords import STOPWORDS

MAX_TERMS = 32  # more cost time and gain nothing on queries of 60 words; the rarest stay
MAX_EXPANSIONS = 64  # terms a prefix stands for, the most frequent first
# What an unfinished word is completed with before it is stemmed: the index holds `authent`, which does not
# begin with `authenticat`. Each is looked up, so a completion that is no word costs 5 µs and does no harm.
_COMPLETIONS = (
    "", "d", "e", "s", "n", "g", "r", "y", "ed", "er", "es", "al", "ic", "on", "or", "ly", "ion", "ing", "ive",
    "ity", "ous", "ble", "ance", "ence", "able", "ment", "ness", "tion", "ation", "ization",
)  # fmt: skip
# The parts of getUserById found one by one say less than the whole: measured on code search.
PART_WEIGHT = 0.5
_TEXT_COLUMNS = "{title body path identifiers}"


class QueryTerm(NamedTuple):
    """One term to score; `ids` are the index's terms it stands for (several for a prefix)."""

    text: str  # as typed
    ids: tuple[int, ...]
    stems: tuple[str, ...]  # the same terms as the index writes them
    weight: float  # qtf: how often the query asks for it
    df: int
    idf: float
    column: str
    fragments: tuple[str, ...]  # what FTS5 is asked, any of them, without the column

    @property
    def value(self) -> float:
        """qtf·idf: what one saturated occurrence is worth."""
        return self.weight * self.idf


class Plan(NamedTuple):
    """What a query comes down to on this index; `unknown` are words that no document holds."""

    terms: tuple[QueryTerm, ...]  # the most valuable first
    required: tuple[str, ...]  # MATCH fragments of phrases, all of which a document must hold somewhere
    excluded: tuple[str, ...]  # MATCH fragments, none of which it may hold anywhere
    unknown: tuple[str, ...]
    unknown_value: float = 0.0  # what one such word would be worth: it counts in the ideal, see blend.py

    @property
    def values(self) -> list[float]:
        """qtf·idf of all that was asked for, found or not."""
        return [term.value for term in self.terms] + [self.unknown_value] * len(self.unknown)

    @property
    def can_match(self) -> bool:
        """False where the index holds none of what was asked for."""
        return bool(self.terms or self.required)


class _Wanted(NamedTuple):
    """One token of a query, before it is looked up; `term` is as the index holds it."""

    surface: str
    term: str
    is_prefix: bool
    column: str


class _Found(NamedTuple):
    """What a token stands for in the index."""

    ids: tuple[int, ...]
    stems: tuple[str, ...]
    df: int
    fragments: tuple[str, ...]


def make_plan(query: Query, index: Index, state: IndexState) -> Plan:
    """The plan of a query in the current snapshot of the index."""
    wholes = [whole for term in query.terms for whole in _tokens(term, index)]
    # A query of nothing but stop words keeps them all.
    told = [whole for whole in wholes if whole.is_prefix or whole.surface.lower() not in STOPWORDS] or wholes
    known: dict[_Wanted, _Found] = {}
    weights: dict[_Wanted, float] = {}
    unknown: dict[str, None] = {}
    for whole in told:
        parts = _parts(whole, index)
        for wanted, weight in ((whole, 1.0), *((part, PART_WEIGHT) for part in parts)):
            if wanted not in known:
                known[wanted] = _look_up(index, wanted)
            weights[wanted] = weights.get(wanted, 0.0) + weight
        if not any(known[wanted].ids for wanted in (whole, *parts)):
            unknown[whole.surface] = None
    terms = [_term(wanted, weight, known[wanted], state) for wanted, weight in weights.items() if known[wanted].ids]
    terms.sort(key=lambda term: (-term.value, term.text, term.column))
    required = [fragment for term in query.terms if term.is_phrase and (fragment := _fragment(term, index))]
    excluded = [fragment for term in query.excluded if (fragment := _fragment(term, index))]
    return Plan(
        tuple(terms[:MAX_TERMS]), tuple(required), tuple(excluded), tuple(unknown),
        inverse_document_frequency(state.documents, 0),
    )  # fmt: skip


def match_expression(plan: Plan, terms: tuple[QueryTerm, ...], scope: tuple[str, ...]) -> str:
    """FTS5's syntax for: any of the required phrases, or else of these terms, and all facets."""
    parts = [f"({' OR '.join(plan.required or map(_any_of, terms))})", *(f"scope:({facet})" for facet in scope)]
    return " AND ".join(parts)


def quoted(text: str) -> str:
    """An FTS5 string: the only way that text from outside enters an expression."""
    return '"' + text.replace('"', '""') + '"'


def _any_of(term: QueryTerm) -> str:
    return f"{term.column or _TEXT_COLUMNS}:({' OR '.join(term.fragments)})"


def _term(wanted: _Wanted, weight: float, found: _Found, state: IndexState) -> QueryTerm:
    df = min(found.df, state.documents)
    idf = inverse_document_frequency(state.documents, df)
    return QueryTerm(wanted.surface, found.ids, found.stems, weight, df, idf, wanted.column, found.fragments)


def _tokens(term: Term, index: Index) -> list[_Wanted]:
    """The tokens of a term; of a prefix only the last one is open."""
    encoded = term.text.encode("utf-8", "replace")
    cuts = index.tokens_at(term.text)
    return [
        _Wanted(encoded[start:end].decode("utf-8", "replace"), token, term.is_prefix and at == len(cuts), term.column)
        for at, (start, end, token) in enumerate(cuts, start=1)
    ]


def _parts(whole: _Wanted, index: Index) -> list[_Wanted]:
    """The parts of an identifier or of a CJK run, as they stand in the column of split identifiers."""
    parts: list[_Wanted] = []
    for part in split_word(whole.surface):
        # A run of CJK is stored in pairs, so a single character is the beginning of a pair.
        is_prefix = part == whole.surface and len(part) == 1
        if is_prefix or part not in STOPWORDS:
            parts += [_Wanted(part, token, is_prefix, whole.column) for token in index.tokens(part)]
    return [part for part in parts if part != whole]


def _fragment(term: Term, index: Index) -> str:
    """The MATCH fragment of a whole term as typed; empty where the tokenizer leaves nothing of it."""
    tokens = _tokens(term, index)
    if not tokens:
        return ""
    whole = f"{term.column or _TEXT_COLUMNS}:{quoted(term.text)}{'*' if term.is_prefix else ''}"
    if term.text.isascii() or term.column:
        return whole
    # The tokenizer takes a run of CJK as one token; its pairs one after the other find it inside a longer run.
    pairs = [(token, split_word(token.surface)) for token in tokens]
    if not any(parts for _, parts in pairs):
        return whole
    inside = " AND ".join(
        f"identifiers:{quoted(' '.join(parts))}{'*' if len(parts) == 1 and len(parts[0]) == 1 else ''}"
        if parts
        else f"{_TEXT_COLUMNS}:{quoted(token.surface)}{'*' if token.is_prefix else ''}"
        for token, parts in pairs
    )
    return f"({whole} OR ({inside}))"


def _look_up(index: Index, wanted: _Wanted) -> _Found:
    """The index's terms that a token stands for, and how FTS5 is asked for them."""
    if wanted.is_prefix:
        return _look_up_prefix(index, wanted)
    rows = index.connection.execute(
        "SELECT id, df, term FROM main.terms WHERE term = ? AND df > 0", (wanted.term,)
    ).fetchall()
    return _found(cast("list[tuple[int, int, str]]", rows), (quoted(wanted.surface),))


def _look_up_prefix(index: Index, wanted: _Wanted) -> _Found:
    """Terms that begin so, and the stems of words that do."""
    import json  # a millisecond that only a prefix pays

    beginning = _unstemmed(index, wanted.surface)
    completed = {
        stem: quoted(beginning + ending) for ending in _COMPLETIONS for stem in index.tokens(beginning + ending)
    }
    rows = index.connection.execute(
        """
        SELECT id, df, term FROM main.terms
         WHERE (term >= ?1 AND term < ?1 || char(0x10ffff) OR term IN (SELECT value FROM json_each(?2))) AND df > 0
         ORDER BY df DESC, term LIMIT ?3
        """,
        (beginning, json.dumps(list(completed)), MAX_EXPANSIONS),
    ).fetchall()
    stems = [completed[term] for _, _, term in rows if term in completed]
    return _found(cast("list[tuple[int, int, str]]", rows), (f"{quoted(wanted.surface)}*", *stems))


def _unstemmed(index: Index, surface: str) -> str:
    """A token without case and accents but not stemmed, as words begin in the index."""
    name, arguments = TOKENIZER[1][0], list(TOKENIZER[1][1:])
    tokenize = index.connection.fts5_tokenizer(name, arguments)
    tokens = tokenize(
        surface.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
    )
    return " ".join(cast("list[str]", tokens))


def _found(rows: list[tuple[int, int, str]], fragments: tuple[str, ...]) -> _Found:
    return _Found(tuple(row[0] for row in rows), tuple(row[2] for row in rows), sum(row[1] for row in rows), fragments)

"""From a parsed query to what the index is asked: terms with their statistics, and a MATCH expression.

What was typed is tokenised by the index's own tokenizer, and every piece that reaches FTS5 is quoted, so
no text is a syntax error there.
"""

from typing import cast

from ctxrank.indexer.forward import term_key
from ctxrank.indexer.fts import Index, IndexState
from ctxrank.indexer.identifiers import split_word
from ctxrank.indexer.records import NamedTuple
from ctxrank.ranking.bm25 import inverse_document_frequency
from ctxrank.ranking.query import Query, Term
from ctxrank.ranking.stopwords import STOPWORDS

MAX_TERMS = 32  # more cost time and gain nothing on queries of 60 words; the rarest stay
MAX_EXPANSIONS = 64  # terms a prefix stands for, the most frequent first
# The parts of getUserById found one by one say less than the whole: measured on code search.
PART_WEIGHT = 0.5
_TEXT_COLUMNS = "{title body path identifiers}"


class QueryTerm(NamedTuple):
    """One term to score: `keys` are the forward-list keys it stands for (several for a prefix)."""

    text: str  # as FTS5 is asked for it, unquoted
    keys: tuple[bytes, ...]
    weight: float  # qtf: how often the query asks for it
    df: int
    idf: float
    is_prefix: bool
    column: str

    @property
    def value(self) -> float:
        """qtf·idf: what one saturated occurrence is worth."""
        return self.weight * self.idf


class Plan(NamedTuple):
    """What a query comes down to on this index; `unknown` are words that no document holds."""

    terms: tuple[QueryTerm, ...]  # the most valuable first
    required: tuple[str, ...]  # MATCH fragments of phrases, all of which must occur
    excluded: tuple[str, ...]  # MATCH fragments, none of which may occur
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
    surface: str
    term: str
    is_prefix: bool
    column: str


def make_plan(query: Query, index: Index, state: IndexState) -> Plan:
    """The plan of a query in the current snapshot of the index."""
    wanted: dict[_Wanted, float] = {}
    required: list[str] = []
    only_stopwords = all(not term.is_phrase and term.text.lower() in STOPWORDS for term in query.terms)
    for term in query.terms:
        if not term.is_phrase and not term.is_prefix and term.text.lower() in STOPWORDS and not only_stopwords:
            continue
        if term.is_phrase:
            fragment = _fragment(term, index)
            if fragment:
                required.append(fragment)
        for piece, weight in _pieces(term, index):
            wanted[piece] = wanted.get(piece, 0.0) + weight
    terms: list[QueryTerm] = []
    unknown: list[str] = []
    for piece, weight in wanted.items():
        found = _look_up(index, piece)
        df = sum(count for _, count in found)
        if not found:
            unknown.append(piece.surface)
            continue
        df = min(df, state.documents)
        terms.append(
            QueryTerm(
                piece.surface, tuple(term_key(term_id) for term_id, _ in found), weight, df,
                inverse_document_frequency(state.documents, df), piece.is_prefix, piece.column,
            )
        )  # fmt: skip
    terms.sort(key=lambda term: (-term.value, term.text, term.column))
    excluded = [fragment for term in query.excluded if (fragment := _fragment(term, index))]
    return Plan(
        tuple(terms[:MAX_TERMS]), tuple(required), tuple(excluded), tuple(unknown),
        inverse_document_frequency(state.documents, 0),
    )  # fmt: skip


def match_expression(plan: Plan, terms: tuple[QueryTerm, ...], scope: tuple[str, ...]) -> str:
    """FTS5's syntax for: any of these terms, all required phrases, none of the excluded, all facets."""
    anything = " OR ".join(term_fragment(term) for term in terms)
    parts = [*plan.required]
    if anything and not plan.required:
        parts.append(f"({anything})")
    parts += [f"scope:({facet})" for facet in scope]
    expression = " AND ".join(parts)
    return f"({expression}) NOT ({' OR '.join(plan.excluded)})" if plan.excluded else expression


def term_fragment(term: QueryTerm) -> str:
    """The MATCH fragment of one term."""
    return f"{term.column or _TEXT_COLUMNS}:{quoted(term.text)}{'*' if term.is_prefix else ''}"


def quoted(text: str) -> str:
    """An FTS5 string: the only way that text from outside enters an expression."""
    return '"' + text.replace('"', '""') + '"'


def _fragment(term: Term, index: Index) -> str:
    """The fragment of a whole term as typed; empty where the tokenizer leaves nothing of it."""
    if not index.tokens(term.text):
        return ""
    return f"{term.column or _TEXT_COLUMNS}:{quoted(term.text)}{'*' if term.is_prefix else ''}"


def _pieces(term: Term, index: Index) -> list[tuple[_Wanted, float]]:
    """The single tokens of a term, and the parts of the identifiers among them."""
    encoded = term.text.encode("utf-8", "replace")
    cuts = index.tokens_at(term.text)
    pieces: list[tuple[_Wanted, float]] = []
    for position, (start, end, token) in enumerate(cuts):
        surface = encoded[start:end].decode("utf-8", "replace")
        is_prefix = term.is_prefix and position == len(cuts) - 1
        pieces.append((_Wanted(surface, surface.lower() if is_prefix else token, is_prefix, term.column), 1.0))
        for part in split_word(surface):
            for part_token in index.tokens(part):
                pieces.append((_Wanted(part, part_token, False, term.column), PART_WEIGHT))
    return pieces


def _look_up(index: Index, piece: _Wanted) -> list[tuple[int, int]]:
    """(term id, df) of what a piece stands for."""
    if piece.is_prefix:
        query = """
            SELECT id, df FROM main.terms
             WHERE term >= ?1 AND term < ?1 || char(0x10ffff) AND df > 0
             ORDER BY df DESC, id LIMIT ?2
        """
        rows = index.connection.execute(query, (piece.term, MAX_EXPANSIONS)).fetchall()
    else:
        query = "SELECT id, df FROM main.terms WHERE term = ? AND df > 0"
        rows = index.connection.execute(query, (piece.term,)).fetchall()
    return cast("list[tuple[int, int]]", rows)

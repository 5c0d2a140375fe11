"""From a parsed query to what the index is asked: terms with their statistics, and a MATCH expression.

What was typed is tokenised by the index's own tokenizer, and every piece that reaches FTS5 is quoted, so
no text is a syntax error there.
"""

from collections.abc import Iterable
from itertools import islice, pairwise

import apsw

from ctxrank.indexer.fulltext.index_file import TOKENIZER, Index, IndexState
from ctxrank.indexer.light_typing import NamedTuple, cast
from ctxrank.indexer.text.identifiers import split_word
from ctxrank.ranking.formulas.bm25 import asked, inverse_document_frequency
from ctxrank.ranking.formulas.tuning import DEFAULT, Tuning
from ctxrank.ranking.retrieval.query import Query, Term
from ctxrank.ranking.retrieval.stopwords import STOPWORDS

MAX_TERMS = 32  # more cost time and gain nothing on queries of 60 words; the rarest stay
MAX_EXPANSIONS = 64  # terms a prefix stands for, the most frequent first
# What an unfinished word is completed with before it is stemmed: the index holds `authent`, which does not
# begin with `authenticat`. Each is looked up, so a completion that is no word costs 5 µs and does no harm.
_COMPLETIONS = (
    "", "d", "e", "s", "n", "g", "r", "y", "ed", "er", "es", "al", "ic", "on", "or", "ly", "ion", "ing", "ive",
    "ity", "ous", "ble", "ance", "ence", "able", "ment", "ness", "tion", "ation", "ization",
)  # fmt: skip
# Two words of a query are neighbours with up to two stop words between them, and never across the end of a sentence.
_NEIGHBOUR_TOKENS = 3
_SENTENCE_ENDS = (".", "?", "!", ";", ":")
# The parts of getUserById found one by one say less than the whole: measured on code search.
PART_WEIGHT = 0.5
_TEXT_COLUMNS = "{title body path identifiers}"


class QueryTerm(NamedTuple):
    """One term to score; `ids` are the index's terms it stands for (several for a prefix)."""

    text: str  # as typed
    ids: tuple[int, ...]
    stems: tuple[str, ...]  # the same terms as the index writes them
    weight: float  # q: how often the query asks for it, saturated
    df: int
    idf: float
    column: str
    fragments: tuple[str, ...]  # what FTS5 is asked, any of them, without the column
    forms: tuple[tuple[str, float], ...] = ()  # how it was written, in lower case, and how often so

    @property
    def value(self) -> float:
        """q·idf: what one saturated occurrence is worth."""
        return self.weight * self.idf


class QueryPair(NamedTuple):
    """Two neighbours of a query, as the index writes them."""

    first: str
    second: str
    times: float  # how often the query has them, saturated
    idf: float  # the mean of both


class Plan(NamedTuple):
    """What a query comes down to on this index; `unknown` are words that no document holds."""

    terms: tuple[QueryTerm, ...]  # the most valuable first
    required: tuple[str, ...]  # MATCH fragments of phrases, all of which a document must hold somewhere
    excluded: tuple[str, ...]  # MATCH fragments, none of which it may hold anywhere
    unknown: tuple[str, ...]
    unknown_value: float = 0.0  # what one such word would be worth: it counts in the ideal, see blend.py
    pairs: tuple[QueryPair, ...] = ()
    tuning: Tuning = DEFAULT

    @property
    def values(self) -> list[float]:
        """q·idf of all that was asked for, found or not."""
        return [term.value for term in self.terms] + [self.unknown_value] * len(self.unknown)

    @property
    def can_match(self) -> bool:
        """False where the index holds none of what was asked for."""
        return bool(self.terms or self.required)


class _Wanted(NamedTuple):
    """One token of a query, before it is looked up; `term` is as the index holds it, a prefix as it was typed."""

    term: str
    is_prefix: bool
    column: str


class _Token(NamedTuple):
    """A token where it stands in the query."""

    surface: str
    wanted: _Wanted
    position: int  # in tokens, and far from the last one where a sentence ended between them


class _Found(NamedTuple):
    """What a token stands for in the index."""

    ids: tuple[int, ...]
    stems: tuple[str, ...]
    df: int
    fragments: tuple[str, ...]


class _Asked:
    """How often, and in which forms, the query asks for one term."""

    def __init__(self, surface: str, found: _Found) -> None:
        self.surface = surface
        self.found = found
        self.times = 0.0
        self.forms: dict[str, float] = {}


def make_plan(query: Query, index: Index, state: IndexState, tuning: Tuning = DEFAULT) -> Plan:
    """The plan of a query in the current snapshot of the index."""
    tokens = _in_order(query, index)
    # A query of nothing but stop words keeps them all.
    told = [token for token in tokens if token.wanted.is_prefix or token.surface.lower() not in STOPWORDS] or tokens
    wishes: dict[_Wanted, _Asked] = {}
    unknown: dict[str, None] = {}

    def ask(token: _Token, weight: float) -> _Asked:
        wish = wishes.get(token.wanted)
        if wish is None:
            wish = wishes[token.wanted] = _Asked(token.surface, _look_up(index, token))
        wish.times += weight
        return wish

    for token in told:
        whole = ask(token, 1.0)
        form = token.surface.lower()
        whole.forms[form] = whole.forms.get(form, 0.0) + 1.0
        parts = [ask(part, PART_WEIGHT) for part in _parts(token, index)]
        if not any(wish.found.ids for wish in (whole, *parts)):
            unknown[token.surface] = None
    _refuse_lost_terms(index, unknown)
    terms = [_term(wanted, wish, state) for wanted, wish in wishes.items() if wish.found.ids]
    terms.sort(key=lambda term: (-term.value, term.text, term.column))
    del terms[MAX_TERMS:]
    required = [fragment for term in query.terms if term.is_phrase and (fragment := _fragment(term, index))]
    excluded = [fragment for term in query.excluded if (fragment := _fragment(term, index))]
    return Plan(
        tuple(terms), tuple(required), tuple(excluded), tuple(unknown),
        inverse_document_frequency(state.documents, 0), _pairs(told, terms), tuning,
    )  # fmt: skip


def _refuse_lost_terms(index: Index, unknown: Iterable[str]) -> None:
    """Raises CorruptError where FTS5 has a word that our list of terms has not: a page of the list is another's."""
    words = " OR ".join(map(quoted, islice(unknown, MAX_TERMS)))
    query = "SELECT 1 FROM main.fts WHERE fts MATCH ? LIMIT 1"
    if words and index.connection.execute(query, (f"{_TEXT_COLUMNS}:({words})",)).fetchone():
        raise apsw.CorruptError("the index's list of terms lacks one that its documents have")


def _pairs(told: list[_Token], terms: list[QueryTerm]) -> tuple[QueryPair, ...]:
    """Each two neighbours of the query that are both scored; of prefixes and columns there are none."""
    idf = {term.stems[0]: term.idf for term in terms if len(term.stems) == 1 and not term.column}
    times: dict[tuple[str, str], float] = {}
    for token, following in pairwise(told):
        first, second = token.wanted.term, following.wanted.term
        is_plain = not (token.wanted.is_prefix or following.wanted.is_prefix)
        is_near = following.position - token.position <= _NEIGHBOUR_TOKENS
        if is_plain and is_near and first != second and first in idf and second in idf:
            times[first, second] = times.get((first, second), 0.0) + 1.0
    return tuple(
        QueryPair(first, second, asked(count), (idf[first] + idf[second]) / 2)
        for (first, second), count in times.items()
    )


def match_expression(plan: Plan, terms: tuple[QueryTerm, ...], scope: tuple[str, ...]) -> str:
    """FTS5's syntax for: any of the required phrases, or else of these terms, and all facets."""
    return within(" OR ".join(plan.required or map(fragment_of, terms)), scope)


def within(expression: str, scope: tuple[str, ...]) -> str:
    """The same expression where all facets hold."""
    return " AND ".join((f"({expression})", *(f"scope:({facet})" for facet in scope)))


def quoted(text: str) -> str:
    """An FTS5 string: the only way that text from outside enters an expression."""
    return '"' + text.replace('"', '""') + '"'


def fragment_of(term: QueryTerm) -> str:
    """FTS5's syntax for one term, in any text column or in its own.

    Asking for columns makes FTS5 read each row's positions, a quarter of its time; it is left out where no facet can be
    taken for the term.
    """
    fragments = term.fragments
    if len(fragments) == 1 and not term.column and not fragments[0].endswith("*") and not term.stems[0][1:].isdigit():
        return fragments[0]
    return f"{term.column or _TEXT_COLUMNS}:({' OR '.join(term.fragments)})"


def _term(wanted: _Wanted, wish: _Asked, state: IndexState) -> QueryTerm:
    found = wish.found
    df = min(found.df, state.documents)
    idf = inverse_document_frequency(state.documents, df)
    return QueryTerm(
        wish.surface, found.ids, found.stems, asked(wish.times), df, idf, wanted.column, found.fragments,
        tuple(wish.forms.items()),
    )  # fmt: skip


def _in_order(query: Query, index: Index) -> list[_Token]:
    """All tokens of a query in the order in which they were typed."""
    tokens: list[_Token] = []
    position = 0
    for term in query.terms:
        for token in _tokens(term, index):
            tokens.append(_Token(token.surface, token.wanted, position))
            position += 1
        if term.text.endswith(_SENTENCE_ENDS):
            position += _NEIGHBOUR_TOKENS
    return tokens


def _tokens(term: Term, index: Index) -> list[_Token]:
    """The tokens of a term; of a prefix only the last one is open."""
    encoded = term.text.encode("utf-8", "replace")
    cuts = index.tokens_at(term.text)
    tokens: list[_Token] = []
    for at, (start, end, token) in enumerate(cuts, start=1):
        surface = encoded[start:end].decode("utf-8", "replace")
        is_prefix = term.is_prefix and at == len(cuts)
        tokens.append(_Token(surface, _Wanted(surface if is_prefix else token, is_prefix, term.column), at))
    return tokens


def _parts(whole: _Token, index: Index) -> list[_Token]:
    """The parts of an identifier or of a CJK run, as they stand in the column of split identifiers."""
    parts: list[_Token] = []
    for part in split_word(whole.surface):
        # A run of CJK is stored in pairs, so a single character is the beginning of a pair.
        is_prefix = part == whole.surface and len(part) == 1
        if is_prefix or part not in STOPWORDS:
            parts += [
                _Token(part, _Wanted(part if is_prefix else token, is_prefix, whole.wanted.column), whole.position)
                for token in index.tokens(part)
            ]
    return [part for part in parts if part.wanted != whole.wanted]


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
        else f"{_TEXT_COLUMNS}:{quoted(token.surface)}{'*' if token.wanted.is_prefix else ''}"
        for token, parts in pairs
    )
    return f"({whole} OR ({inside}))"


def _look_up(index: Index, token: _Token) -> _Found:
    """The index's terms that a token stands for, and how FTS5 is asked for them."""
    if token.wanted.is_prefix:
        return _look_up_prefix(index, token.surface)
    rows = index.connection.execute(
        "SELECT id, df, term FROM main.terms WHERE term = ? AND df > 0", (token.wanted.term,)
    ).fetchall()
    return _found(cast("list[tuple[int, int, str]]", rows), (quoted(token.surface),))


def _look_up_prefix(index: Index, surface: str) -> _Found:
    """Terms that begin so, and the stems of words that do."""
    import json  # a millisecond that only a prefix pays

    beginning = _unstemmed(index, surface)
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
    return _found(cast("list[tuple[int, int, str]]", rows), (f"{quoted(surface)}*", *stems))


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

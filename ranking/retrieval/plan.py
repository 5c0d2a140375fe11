"""From a parsed query to what the index is asked: terms with their statistics, and a tree of clauses.

What was typed is tokenised by the index's own tokenizer, and an engine is given values and never syntax, so no text is
a syntax error there.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise, starmap

from ctxrank.indexer.engine import (
    DEFINITION,
    HEADING,
    PATH,
    TEXT,
    AllOf,
    AnyClause,
    Clause,
    Engine,
    IndexTerm,
    PhraseClause,
    RowQuery,
    Statistics,
    TermClause,
)
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.store.facets import Scope
from ctxrank.indexer.text.identifiers import FIRST_CJK, letter_kinds, split_word
from ctxrank.ranking.formulas.bm25 import inverse_document_frequency, query_tf_saturation
from ctxrank.ranking.formulas.tuning import DEFAULT, Tuning
from ctxrank.ranking.retrieval.query import (
    COMPLETIONS,
    LINKERS,
    MAX_CORRECTED_CHARS,
    STOPWORDS,
    Query,
    Term,
    TermKey,
    Token,
)

if TYPE_CHECKING:
    from ctxrank.ranking.retrieval.expansion import Expansion

MAX_TERMS = 32  # more cost time and gain nothing on queries of 60 words; the rarest stay
MAX_EXPANDED = 12  # words of a query; what has more is a text, whose unknown words are no typing mistakes
MAX_EXPANSIONS = 64  # terms that a prefix expands to, the most frequent first
_LEAST_JOINED = 3  # letters of each half
# Two words of a query are neighbours with up to two stop words between them.
NEIGHBOUR_TOKENS = 3
# A name that a text of code defines is worth so much more than its words, and that of a heading so much: definitions
# stand above uses. With 1.4 to 3 the definitions of scrapy are found alike (MRR 0.99; 0.68 without), and calls with
# arguments, whose names are used and not defined, a little worse with more (benchmarks/typed).
DEFINITION_WEIGHT = 2.0
HEADING_WEIGHT = 0.7
_MAX_NAME_WORDS = 4  # typed apart
_MAX_NAMES = 16  # of one query; a task has more, and then they say little
# The parts of getUserById found one by one say less than the whole: measured on code search.
PART_WEIGHT = 0.5


class QueryTerm(NamedTuple):
    """One term to score; `ids` are the index's terms it matches (several for a prefix).

    A word of texts is a term with its place in paths (`path_*`); one that only paths have is a term of that field. What
    is `extra` adds to a score and not to what a whole match is worth, as what stands in for a word that was `typed`.
    """

    text: str  # as typed
    ids: tuple[int, ...]
    stems: tuple[str, ...]  # the same terms as the index writes them
    weight: float  # q: how often the query asks for it, saturated
    df: int
    idf: float
    column: str
    surfaces: tuple[str, ...]  # words whose terms these are
    prefix: str = ""
    forms: tuple[tuple[str, float], ...] = ()  # how it was written, in lower case, and how often so
    field: str = TEXT
    is_extra: bool = False
    path_ids: tuple[int, ...] = ()  # of the same word in paths
    path_stems: tuple[str, ...] = ()
    path_df: int = 0
    path_scale: float = 0.0  # what an occurrence in a path counts over one in a text: the idf there over the idf here
    typed: str = ""  # what it stands in for; '' is a term that was typed itself

    @property
    def value(self) -> float:
        """q·idf: what one saturated occurrence is worth."""
        return self.weight * self.idf


class Correction(NamedTuple):
    """What was typed, and the words of the index that were searched for, too."""

    typed: str
    used: tuple[str, ...]


class Plan(NamedTuple):
    """What a query comes down to in a snapshot of an index; `unknown` are words that no document holds."""

    engine: Engine
    statistics: Statistics
    terms: tuple[QueryTerm, ...]  # the most valuable first
    required: tuple[Clause, ...]  # phrases, all of which a document must hold somewhere
    excluded: tuple[Clause, ...]  # what it may hold nowhere
    unknown: tuple[str, ...]
    unknown_value: float = 0.0  # what one such word would be worth: it counts in the ideal, see blend.py
    # Each two neighbours as the index writes them, how often the query has them (saturated), and the mean idf of both.
    pairs: tuple[tuple[str, str, float, float], ...] = ()
    tuning: Tuning = DEFAULT
    corrections: tuple[Correction, ...] = ()
    # Words one after the other that something typed as one stands for, and what a row gains that holds them so.
    wholes: tuple[tuple[PhraseClause, float], ...] = ()

    @property
    def values(self) -> list[float]:
        """q·idf of all that was asked for, found or not, each word once."""
        return [term.value for term in self.terms if not term.is_extra] + [self.unknown_value] * len(self.unknown)

    @property
    def stems(self) -> dict[str, float]:
        """What the query's words are in the index's texts, and how much each is worth."""
        values: dict[str, float] = {}
        for term in self.terms:
            if term.column in ("", "body"):
                values |= {stem: max(term.value, values.get(stem, 0.0)) for stem in term.stems}
        return values


class _Lookup(NamedTuple):
    """The index's terms of one field that a token matches; no terms where no document holds it."""

    ids: tuple[int, ...]
    terms: tuple[str, ...]
    df: int
    surfaces: tuple[str, ...]
    prefix: str = ""


class _QueryCount(NamedTuple):
    """How often, and in which forms, the query asks for one term."""

    surface: str
    by_field: dict[str, _Lookup]  # those where it was found
    times: list[float]  # what each place in the query that asks for it counts
    forms: dict[str, float]


def make_plan(
    query: Query, engine: Engine, statistics: Statistics, tuning: Tuning = DEFAULT, *, expands: bool = False
) -> Plan:
    """The plan of a query in the current snapshot of the engine.

    Where it `expands`, words that the index lacks are joined by what stands in for them (expansion.py).
    """
    tokens: list[Token] = []
    position = 0
    for place, term in enumerate(query.terms):
        found = _tokens(term, engine, position, place)
        tokens += found
        position += len(found)
    # A query of nothing but stop words keeps them all.
    content_tokens = [
        token for token in tokens if token.key.is_prefix or token.surface.lower() not in STOPWORDS
    ] or tokens
    query_terms: dict[TermKey, _QueryCount] = {}
    unknown: dict[str, None] = {}
    parts_of = [_parts(token, engine) for token in content_tokens]
    names = query_names(query)
    engine.expect(
        [token.key.term for some in (content_tokens, *parts_of) for token in some if not token.key.is_prefix],
        [*names, *map(str.lower, names)],
    )
    for token, parts in zip(content_tokens, parts_of, strict=True):
        is_known = False
        times = query.terms[token.typed].times
        for one in (token, *parts):
            counted = query_terms.get(one.key)
            if counted is None:
                counted = query_terms[one.key] = _QueryCount(one.surface, _look_up(engine, one), [], {})
            counted.times.append(times * (1.0 if one is token else PART_WEIGHT))
            is_known = is_known or bool(counted.by_field)
        forms, form = query_terms[token.key].forms, token.surface.lower()
        forms[form] = forms.get(form, 0.0) + times
        if not is_known:
            unknown[token.surface] = None
    engine.check_unknown(tuple(unknown))
    terms = [_term(key, counted, statistics) for key, counted in query_terms.items() if counted.by_field]
    terms.sort(key=lambda term: (-term.value, term.text, term.column))
    del terms[MAX_TERMS:]
    terms += _names(query, names, len(tokens), engine, statistics)
    expansions = _expansions(query, content_tokens, query_terms, engine) if expands else []
    stand_ins = _stand_ins(expansions, terms, engine, statistics)
    terms += stand_ins
    terms.sort(key=lambda term: (-term.value, term.text, term.column, term.field))
    used: dict[str, tuple[str, ...]] = {}
    for stand_in in stand_ins:
        used[stand_in.typed] = (*used.get(stand_in.typed, ()), stand_in.text)
    unknown_value = inverse_document_frequency(statistics.documents, 0)
    required = [clause for term in query.terms if term.is_phrase and (clause := _phrase(term, engine))]
    excluded = [clause for term in query.excluded if (clause := _phrase(term, engine))]
    return Plan(
        engine, statistics, tuple(terms), tuple(required), tuple(excluded), tuple(unknown),
        unknown_value=unknown_value,
        pairs=tuple(_pairs(query, content_tokens, terms, expansions)), tuning=tuning,
        corrections=tuple(starmap(Correction, used.items())),
        wholes=tuple(_wholes(content_tokens, expansions, terms, unknown_value)) if expands else (),
    )  # fmt: skip


def _wholes(
    content_tokens: list[Token], expansions: "list[Expansion]", terms: list[QueryTerm], unknown_value: float
) -> Iterator[tuple[PhraseClause, float]]:
    """The pairs of each run of CJK, which are worth what they are, and the parts of each name written together."""
    values = {term.text: term.value for term in terms if not term.field}
    for token in content_tokens:
        if max(token.surface) >= FIRST_CJK and not token.key.column and len(pairs := split_word(token.surface)) > 1:
            yield PhraseClause(" ".join(pairs), "identifiers"), sum(values.get(pair, 0.0) for pair in pairs)
    for expansion in expansions:
        if expansion.parts:
            yield PhraseClause(expansion.parts), unknown_value


def _pairs(
    query: Query, content_tokens: list[Token], terms: list[QueryTerm], expansions: "list[Expansion]"
) -> Iterator[tuple[str, str, float, float]]:
    """Each two neighbours of the query that are both scored; of prefixes and columns there are none."""
    idf = {term.stems[0]: term.idf for term in terms if len(term.stems) == 1 and not (term.column or term.field)}
    stand_ins: dict[int, list[str]] = {}
    for expansion in expansions:
        for stand_in in expansion.stand_ins:
            stand_ins.setdefault(stand_in.position, []).append(stand_in.term.term)
    times: dict[tuple[str, str], float] = {}
    for token, following in pairwise(content_tokens):
        if token.key.is_prefix or following.key.is_prefix or following.position - token.position > NEIGHBOUR_TOKENS:
            continue
        both = min(query.terms[one.typed].times for one in (token, following))
        for first in (token.key.term, *stand_ins.get(token.position, ())):
            for second in (following.key.term, *stand_ins.get(following.position, ())):
                if first != second and first in idf and second in idf:
                    times[first, second] = times.get((first, second), 0.0) + both
    for (first, second), count in times.items():
        yield first, second, query_tf_saturation(count), (idf[first] + idf[second]) / 2


def _expansions(
    query: Query, content_tokens: list[Token], query_terms: dict[TermKey, _QueryCount], engine: Engine
) -> "list[Expansion]":
    """What stands in for words of the query that no document holds; of phrases, prefixes and machine text nothing."""
    tokens = [
        token
        for token in content_tokens
        if not (token.key.is_prefix or query.terms[token.typed].is_phrase) and len(token.surface) <= MAX_CORRECTED_CHARS
    ]
    if len(tokens) > MAX_EXPANDED:
        return []
    tokens = [
        token._replace(
            is_known=bool(query_terms[token.key].by_field) and not _is_cut_part(token),
            is_name=query.terms[token.typed].text.replace("_", "").isalnum(),
        )
        for token in tokens
    ]
    joined = _joined(tokens, engine)
    # A name of several words may be cut where it stands nowhere as it was typed.
    has_name = any(token.is_name and token.typed == following.typed for token, following in pairwise(tokens))
    if all(token.is_known for token in tokens) and not joined and not has_name:
        return []
    from ctxrank.ranking.retrieval.expansion import expansions_of  # noqa: PLC0415  most queries need none

    return expansions_of(tokens, joined, engine)


def _is_cut_part(token: Token) -> bool:
    """Whether the stemmer took the one letter that is left of a name's last part: ImportE is no import."""
    end = token.surface[-2:]
    return end[:1].islower() and end[1:].isupper() and token.key.term != token.surface.lower()


def _joined(tokens: list[Token], engine: Engine) -> dict[int, list[IndexTerm]]:
    """The terms that two neighbours are when they are written together, by the position of the first one."""
    pairs: list[Token] = []
    together: list[str] = []
    for token, following in pairwise(tokens):
        is_apart = token.typed != following.typed and token.position + 1 == following.position
        halves = (token.surface, following.surface)
        are_words = all(half.isalpha() and len(half) >= _LEAST_JOINED and max(half) < FIRST_CJK for half in halves)
        if is_apart and are_words and token.key.column == following.key.column:
            pairs.append(token)
            together += [token.surface + linker + following.surface for linker in LINKERS]
    found: dict[int, list[IndexTerm]] = {}
    stems = engine.tokens(" ".join(together)) if pairs else []
    if not pairs or len(stems) != len(together):
        return found
    engine.expect(stems)
    for place, token in enumerate(pairs):
        own = dict.fromkeys(stems[place * len(LINKERS) : (place + 1) * len(LINKERS)])
        if terms := [term for stem in own if (term := engine.look_up(stem))]:
            found[token.position] = terms
    return found


def _stand_ins(
    expansions: "list[Expansion]", terms: list[QueryTerm], engine: Engine, statistics: Statistics
) -> list[QueryTerm]:
    """Stand-ins as terms of the query; one that was typed itself is there already."""
    known = {(stem, term.column) for term in terms if not term.is_extra for stem in term.stems}
    found: list[QueryTerm] = []
    for typed, stand_ins, _ in expansions:
        for stand_in in stand_ins:
            key = TermKey(stand_in.term.term, is_prefix=False, column=stand_in.column)
            if (key.term, key.column) in known:
                continue
            known.add((key.term, key.column))
            if by_field := _look_up(engine, Token(stand_in.surface, key, stand_in.position, 0)):
                forms = dict.fromkeys(stand_in.forms, stand_in.weight)
                term = _term(key, _QueryCount(stand_in.word, by_field, [], forms), statistics)
                found.append(term._replace(weight=stand_in.weight, typed=typed, is_extra=True))
    return found


def row_query(plan: Plan, scope: Scope) -> RowQuery:
    """Rows that hold any of the required phrases, or else any of the terms."""
    # A word in any column is also one in a path, and a passage that defines a name has its words.
    covered = {stem for term in plan.terms if not (term.field or term.column) for stem in term.stems}
    terms = [term for term in plan.terms if not term.field or covered.isdisjoint(term.stems)]
    clause = AnyClause(plan.required or tuple(map(clause_of, terms)))
    names = tuple(clause_of(term) for term in plan.terms if term.field in (DEFINITION, HEADING))
    return RowQuery(clause, scope, plan.required, plan.excluded, names)


def clause_of(term: QueryTerm) -> TermClause:
    """Rows that hold one term."""
    return TermClause(term.stems, term.surfaces, term.prefix, _COLUMN_OF[term.field] or term.column, term.weight)


# The column that terms of a field are found in.
_COLUMN_OF = {TEXT: "", PATH: "path", DEFINITION: "identifiers", HEADING: "identifiers"}


def _term(key: TermKey, counted: _QueryCount, statistics: Statistics) -> QueryTerm:
    field, found = next(iter(counted.by_field.items()))
    df = min(found.df, statistics.documents)
    idf = inverse_document_frequency(statistics.documents, df)
    term = QueryTerm(
        text=counted.surface, ids=found.ids, stems=found.terms, weight=query_tf_saturation(sum(counted.times)), df=df,
        idf=idf, column=key.column, surfaces=found.surfaces, prefix=found.prefix,
        forms=tuple(counted.forms.items()), field=field,
    )  # fmt: skip
    in_paths = counted.by_field.get(PATH)
    if field == PATH or in_paths is None:
        return term
    path_idf = inverse_document_frequency(statistics.documents, min(in_paths.df, statistics.documents))
    return term._replace(
        path_ids=in_paths.ids, path_stems=in_paths.terms, path_df=in_paths.df, path_scale=min(1.0, path_idf / idf)
    )


def _names(
    query: Query,
    names: Mapping[str, float],
    tokens: int,
    engine: Engine,
    statistics: Statistics,
) -> list[QueryTerm]:
    """The names that a query of so many tokens asks for and a text defines.

    The more of the query a name is, the more likely its definition is meant; among other words it is likelier used.
    """
    terms: list[QueryTerm] = []
    together = "".join(term.text for term in query.terms).lower()
    # A name with what it is in, and without arguments.
    path = query.terms[0].text.removesuffix("()") if len(query.terms) == 1 else ""
    is_alone = path != "" and all(char.isalnum() or char in "_$.:#>-" for char in path)
    for name, times in names.items():
        stems = tuple(engine.tokens(name))
        if not stems:  # `_("text")` calls a name without a word
            continue
        for field, weight in ((DEFINITION, DEFINITION_WEIGHT), (HEADING, HEADING_WEIGHT)):
            found = engine.look_up(name, field) or engine.look_up(name.lower(), field)
            if found is not None:
                idf = inverse_document_frequency(statistics.documents, min(found.df, statistics.documents))
                is_whole = is_alone or name.replace("_", "") == together
                share = 1.0 if is_whole else min(1.0, len(stems) / tokens)
                terms.append(QueryTerm(
                    text=name, ids=(found.id,), stems=stems,
                    weight=weight * share * share * query_tf_saturation(times), df=found.df, idf=idf, column="",
                    surfaces=(name,), field=field, is_extra=True,
                ))  # fmt: skip
    return terms


def query_names(query: Query) -> dict[str, float]:
    """What in a query is the name of something in code, and how often it is asked for.

    A single word may be one; among others only what no prose has: a_b, aB, a(, a.b, a::b. A few words may be one when
    they are written together.
    """
    names: dict[str, float] = {}
    are_few = 1 < len(query.terms) <= _MAX_NAME_WORDS
    if are_few and all(term.is_plain and term.text.isalpha() for term in query.terms):
        words = [term.text.lower() for term in query.terms]
        names = {"".join(words): 1.0, "_".join(words): 1.0}
    is_alone = len(query.terms) == 1
    for term in query.terms:
        if term.is_prefix or term.column or (term.is_phrase and not is_alone):
            continue
        text = term.text
        if is_alone or "_" in text or "(" in text or "." in text or ":" in text or not text[1:].islower():
            # All that look like a name, and what stands last in a path of names.
            places = _name_places(text)
            for start, end in places:
                name, kinds = text[start:end], letter_kinds(text[start:end])
                is_camel_case = "aA" in kinds or "0A" in kinds or "AAa" in kinds  # aB, 2B, ABc
                is_last = end == len(text) and len(places) > 1 and text[start - 1] in ".:#>"
                is_called = text.startswith("(", end)
                is_whole = is_alone and len(places) == 1
                if "_" in name.strip("_") or is_camel_case or is_called or is_last or is_whole:
                    names[name] = names.get(name, 0.0) + term.times
                    if len(names) == _MAX_NAMES:
                        return names
    return names


def _name_places(text: str) -> list[tuple[int, int]]:
    """Where the names of a text begin and end: letters, digits, _ and $, from the first that is no digit and no $."""
    places: list[tuple[int, int]] = []
    start = -1
    for at, char in enumerate(text):
        if not (char.isalnum() or char in "_$"):
            if start >= 0:
                places.append((start, at))
            start = -1
        elif start < 0 and not char.isdecimal() and char != "$":
            start = at
    return [*places, (start, len(text))] if start >= 0 else places


def _tokens(term: Term, engine: Engine, position: int = 0, place: int = 0) -> list[Token]:
    """The tokens of the `place`-th term of a query; of a prefix only the last one is open."""
    encoded = term.text.encode("utf-8", "replace")
    cuts = engine.tokens_at(encoded)
    tokens: list[Token] = []
    for start, end, token in cuts:
        surface = encoded[start:end].decode("utf-8", "replace")
        is_prefix = term.is_prefix and len(tokens) == len(cuts) - 1
        key = TermKey(surface if is_prefix else token, is_prefix, term.column)
        tokens.append(Token(surface, key, position + len(tokens), place))
    return tokens


def _parts(whole: Token, engine: Engine) -> list[Token]:
    """The parts of an identifier or of a CJK run, as they stand in the column of split identifiers."""
    parts: list[Token] = []
    for part in split_word(whole.surface):
        # A run of CJK is stored in pairs, so a single character is the beginning of a pair.
        is_prefix = part == whole.surface and len(part) == 1
        if is_prefix or part not in STOPWORDS:
            parts += [
                whole._replace(surface=part, key=TermKey(part if is_prefix else token, is_prefix, whole.key.column))
                for token in engine.tokens(part)
            ]
    return [part for part in parts if part.key != whole.key]


def _phrase(term: Term, engine: Engine) -> Clause | None:
    """A whole term as typed; None where the tokenizer leaves nothing of it."""
    tokens = _tokens(term, engine)
    if not tokens:
        return None
    whole = PhraseClause(term.text, term.column, term.is_prefix)
    if term.text.isascii() or term.column:
        return whole
    # The tokenizer takes a run of CJK as one token; its pairs one after the other find it inside a longer run.
    pairs = [(token, split_word(token.surface)) for token in tokens]
    if not any(parts for _, parts in pairs):
        return whole
    inside = tuple(
        PhraseClause(" ".join(parts), "identifiers", is_prefix=len(parts) == 1 and len(parts[0]) == 1)
        if parts
        else PhraseClause(token.surface, is_prefix=token.key.is_prefix)
        for token, parts in pairs
    )
    return AnyClause((whole, AllOf(inside)))


def _look_up(engine: Engine, token: Token) -> dict[str, _Lookup]:
    """The index's terms that a token matches, by the fields that have some."""
    by_field: dict[str, _Lookup] = {}
    for field in (TEXT,) if token.key.column else (TEXT, PATH):
        if token.key.is_prefix:
            found = _look_up_prefix(engine, token.surface, field)
            if found.ids:
                by_field[field] = found
        elif term := engine.look_up(token.key.term, field):
            by_field[field] = _Lookup((term.id,), (term.term,), term.df, (token.surface,))
    return by_field


def _look_up_prefix(engine: Engine, surface: str, field: str) -> _Lookup:
    """Terms of a field that begin so, and the terms of words that do."""
    beginning = engine.unstemmed(surface)
    completed = {term: beginning + ending for ending in COMPLETIONS for term in engine.tokens(beginning + ending)}
    found = engine.look_up_prefix(beginning, completed.keys(), MAX_EXPANSIONS, field)
    return _Lookup(
        ids=tuple(term.id for term in found), terms=tuple(term.term for term in found),
        df=sum(term.df for term in found),
        surfaces=tuple(completed[term.term] for term in found if term.term in completed), prefix=surface,
    )  # fmt: skip

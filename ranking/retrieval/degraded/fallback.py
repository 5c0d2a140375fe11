"""Search without the index: substrings, then near words, then like titles, over the primary database itself.

    T = weight of the query's words that occur / weight of all of them        weight = length of the word

Slower (every document is read) and blunter than BM25, but it answers whatever has happened to FTS5, and
the result says that it did.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.engine import Readiness
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.facets import Scope
from ctxrank.indexer.store.parents import ParentDocument, StoredPassage, parents_in_scope, passages_of_parent
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import searchable
from ctxrank.ranking.formulas.blend import SEARCH_TEXT_WEIGHT, blended
from ctxrank.ranking.formulas.explanation import Explanation
from ctxrank.ranking.formulas.static_features import HeuristicParts, Signals, blended_heuristic
from ctxrank.ranking.retrieval.cleaning import cleaned
from ctxrank.ranking.retrieval.explain import explain_heuristic
from ctxrank.ranking.retrieval.filters import Filters
from ctxrank.ranking.retrieval.hits import (
    Foldable,
    Hit,
    PassageHit,
    SearchRequest,
    SearchResult,
    cleaned_parent,
    corrupt_row_notes,
    make_hit,
    make_passage_hit,
)
from ctxrank.ranking.retrieval.query import MAX_CORRECTED_CHARS, STOPWORDS, Query, Term, shown_query
from ctxrank.ranking.retrieval.snippets import Match, Reading, Snippet, Span, cut_snippet, shown_text

if TYPE_CHECKING:
    from ctxrank.ranking.retrieval.plan import Correction

_SNIPPET_CHARS = 200
# A word this near (rapidfuzz ratio, of 100) stands in where no word of the query occurs anywhere, and a title this like
# the query (partial ratio) is a hit where no word is near. Shorter words are near of everything.
_LIKE_ENOUGH = 75.0
_LEAST_LETTERS, _MOST_LETTERS, _MOST_WORDS = 4, 48, 12
_LIKENESS_WEIGHT = 0.5
_MAX_ALIKE = 50
_WORD = re.compile(r"\w+")


class _Match(NamedTuple):
    """How much of the query a document holds, and which passage holds most: None is its own title and body."""

    text: float
    passage: StoredPassage | None


class _Found(NamedTuple):
    parent: ParentDocument
    match: _Match
    parts: HeuristicParts
    score: float


class _Words(NamedTuple):
    """A query for substrings: `column` by word, '' for any."""

    column_of: dict[str, str]
    phrases: tuple[Term, ...]
    excluded: tuple[Term, ...]


class _NearWords(NamedTuple):
    """What stands in for words that occur nowhere, by the word; and how near that is to the whole query, up to 1."""

    stand_ins: dict[str, str]
    nearness: float

    def of(self, words: _Words) -> _Words:
        """The query with the words that stand in, and no other."""
        return words._replace(column_of={near: words.column_of[word] for word, near in self.stand_ins.items()})

    def corrections(self) -> "tuple[Correction, ...]":
        """The same for the answer."""
        from ctxrank.ranking.retrieval.plan import Correction  # noqa: PLC0415  only where a word was mistyped

        return tuple(Correction(typed, (used,)) for typed, used in self.stand_ins.items())


class _Texts(NamedTuple):
    """One piece of a document in lower case: its own row, or a passage."""

    title: str
    body: str
    path: str

    def hold(self, word: str, column: str) -> bool:
        """Whether a word or phrase in lower case occurs in a column, '' for any."""
        places = {"title": (self.title,), "body": (self.body,)}.get(column, self)
        return any(word in place for place in places)


def search_primary(
    store: Store,
    request: SearchRequest,
    query: Query,
    filters: Filters,
    readiness: Readiness,
    mode: RedactionMode,
) -> SearchResult:
    """The same answer as a search of the index would give, by simpler means."""
    words = _words(query)
    found: list[_Found] = []
    corrupt: set[int] = set()
    corrections: tuple[Correction, ...] = ()
    if not filters.is_impossible and words.column_of:
        today = (now_us() if request.as_of is None else request.as_of) // DAY_US
        stored = parents_in_scope(store.primary, filters.scope)
        corrupt.update(stored.corrupt)
        parents = [cleaned_parent(parent, mode) for parent in stored.rows]
        matches = {
            parent.id: match
            for parent in parents
            if (match := _match(parent, _passages(store, parent, corrupt), words, filters.scope))
        }
        if not matches and not words.phrases:
            near = _near_words((_texts(one, _passages(store, one, corrupt)) for one in parents), words)
            for parent in parents if near.stand_ins else ():
                match = _match(parent, _passages(store, parent, corrupt), near.of(words), filters.scope)
                if match is not None:
                    matches[parent.id] = match._replace(text=match.text * _LIKENESS_WEIGHT * near.nearness)
            if matches:
                words, corrections = near.of(words), near.corrections()
        if not matches and not words.phrases:
            matches = {
                parent.id: match
                for parent, match in _alike(parents, words)
                if not _is_excluded(_texts(parent, _passages(store, parent, corrupt)), words)
            }
        for parent in parents:
            if parent.id in matches:
                days = today - parent.created_at // DAY_US
                parts = blended_heuristic(Signals(parent.priority, is_same_group=False, is_designated=False, days=days))
                match = matches[parent.id]
                found.append(_Found(parent, match, parts, blended(match.text, parts.total, SEARCH_TEXT_WEIGHT)))
    found.sort(
        key=lambda hit: (
            hit.parent.superseded_by is not None,
            -hit.score,
            -hit.parent.created_at,
            -hit.parent.id,
        )
    )
    hits = _page(store, found, words, request, mode)
    return SearchResult(
        query=shown_query(query), outcome="degraded", engine="heuristic", reason=readiness.health,
        stale=readiness.stale, total=len(found), is_capped=False, is_exact=False, hits=hits, suggestions=(),
        notes=(*filters.notes, *corrupt_row_notes(corrupt)), corrections=corrections,
    )  # fmt: skip


def _words(query: Query) -> _Words:
    """The words to look for in lower case, without stop words unless there is nothing else."""
    words = [(word, term.column) for term in query.terms for word in _WORD.findall(term.text.lower())]
    content_words = [(word, column) for word, column in words if word not in STOPWORDS] or words
    return _Words(dict(content_words), tuple(term for term in query.terms if term.is_phrase), query.excluded)


def _passages(store: Store, parent: ParentDocument, corrupt: set[int]) -> list[StoredPassage]:
    """The passages of a document, without the corrupt ones, whose row ids are added to `corrupt`."""
    found = passages_of_parent(store.primary, parent.id)
    corrupt.update(found.corrupt)
    return found.rows


def _match(parent: ParentDocument, passages: list[StoredPassage], words: _Words, scope: Scope) -> _Match | None:
    """What one document holds, or None. A phrase must occur, an excluded term must not."""
    texts = _texts(parent, passages)
    if _is_excluded(texts, words) or not all(_occurs(term, texts) for term in words.phrases):
        return None
    own = texts[0]
    whole = sum(map(len, words.column_of))
    is_own_wanted = not scope.kinds or parent.kind in scope.kinds
    best, best_at = 0.0, -1
    for at, text in enumerate(texts):
        if at == 0 and not is_own_wanted:
            continue
        held = [word for word, column in words.column_of.items() if text.hold(word, column)]
        also = [word for word, column in words.column_of.items() if word not in held and own.hold(word, column)]
        share = sum(map(len, held + also)) / whole
        if held and share > best:
            best, best_at = share, at
    if best_at < 0:
        return None
    return _Match(best, passages[best_at - 1] if best_at > 0 else None)


def _texts(parent: ParentDocument, passages: list[StoredPassage]) -> list[_Texts]:
    """The document's own row, then its passages."""
    own = _Texts(_folded(parent.title), _folded(parent.body), _folded(parent.path))
    return [own, *(_Texts(_folded(passage.heading), _folded(passage.body), "") for passage in passages)]


def _is_excluded(texts: list[_Texts], words: _Words) -> bool:
    return any(_occurs(term, texts) for term in words.excluded)


def _occurs(term: Term, texts: list[_Texts]) -> bool:
    return any(text.hold(_folded(term.text), term.column) for text in texts)


def _folded(text: str) -> str:
    """Lower case, on one line."""
    return " ".join(searchable(text).lower().split())


def _near_words(documents: Iterable[list[_Texts]], words: _Words) -> _NearWords:
    """The nearest word of the texts for each word of the query: none of a number, and of many words none."""
    typed = [word for word in words.column_of if word.isalpha() and _LEAST_LETTERS <= len(word) <= _MOST_LETTERS]
    if not typed or len(words.column_of) > _MOST_WORDS:
        return _NearWords({}, 0.0)
    from rapidfuzz import fuzz, process  # noqa: PLC0415  22 ms, and only where no substring was found

    uses: dict[str, int] = {}
    for texts in documents:
        for word in {word for text in texts for part in text for word in _WORD.findall(part) if word.isalpha()}:
            uses[word] = uses.get(word, 0) + 1
    known = [word for word in uses if _LEAST_LETTERS <= len(word) <= _MOST_LETTERS]
    stand_ins: dict[str, str] = {}
    near = 0.0
    for word in typed:
        if word in uses:
            continue  # it is elsewhere than where it was asked for
        found = process.extract(word, known, scorer=fuzz.ratio, limit=None, score_cutoff=_LIKE_ENOUGH)
        if found:
            best, ratio, _ = max(found, key=lambda one: (one[1], uses[one[0]], one[0]))
            stand_ins[word] = best
            near += len(word) * ratio / 100
    return _NearWords(stand_ins, near / sum(map(len, words.column_of)))


def _alike(parents: list[ParentDocument], words: _Words) -> list[tuple[ParentDocument, _Match]]:
    """Documents whose title or summary is like the query, where no word of it occurs anywhere."""
    from rapidfuzz import fuzz, process  # noqa: PLC0415  22 ms, and only where no substring was found

    texts = [f"{parent.title} {parent.body[:_SNIPPET_CHARS]}".lower() for parent in parents]
    wanted = " ".join(word for word in words.column_of if len(word) <= MAX_CORRECTED_CHARS)
    near = process.extract(wanted, texts, scorer=fuzz.partial_ratio, limit=None, score_cutoff=_LIKE_ENOUGH)
    # Those that are as alike as the last come, too: documents' numbers do not decide.
    least = near[_MAX_ALIKE - 1][1] if len(near) >= _MAX_ALIKE else _LIKE_ENOUGH
    return [(parents[at], _Match(_LIKENESS_WEIGHT * ratio / 100, None)) for _, ratio, at in near if ratio >= least]


def _page(
    store: Store, found: list[_Found], words: _Words, request: SearchRequest, mode: RedactionMode
) -> tuple[Hit, ...]:
    """The hits that are shown; folding reads as many as it needs."""
    limit = max(request.limit, 0)
    if not request.is_folded:
        return tuple(_hit(store, one, words, request, mode).hit for one in found[:limit])
    from ctxrank.ranking.retrieval.folding import folded_page  # noqa: PLC0415  only where a page is read

    return tuple(folded_page((_hit(store, one, words, request, mode) for one in found), limit))


def _hit(store: Store, found: _Found, words: _Words, request: SearchRequest, mode: RedactionMode) -> Foldable:
    parent, match = found.parent, found.match
    if match.passage is None:
        shown: tuple[PassageHit, ...] = ()
        text = parent.body
        snippet = _cut(text, words)
    else:
        id_, heading, start, end, body, ruleset = match.passage
        text = cleaned(body, ruleset, mode)
        snippet = _cut(text, words, parent.path, start)
        shown = (make_passage_hit(id_, cleaned(heading, ruleset, mode), start, end, snippet, match.text),)
    explanation = None
    if request.is_explained:
        explanation = Explanation(
            found.score,
            "score = words that occur + what is known",
            (
                Explanation(SEARCH_TEXT_WEIGHT * match.text, f"{match.text:.2f} of the query's words, by length"),
                explain_heuristic(found.parts, 1 - SEARCH_TEXT_WEIGHT),
            ),
        )

    def terms() -> frozenset[str]:
        place = f"{parent.title} {parent.path}".lower()
        return snippet.terms | {word for word in words.column_of if word in place}

    return Foldable(make_hit(store, parent, found.score, snippet, shown, explanation), text, terms)


def _cut(text: str, words: _Words, path: str = "", first_line: int = 1) -> Snippet:
    """The text around the words that occur."""
    text = shown_text(text)
    longest_first = sorted(words.column_of, key=lambda word: (-len(word), word))
    pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)
    tokens: list[Span] = [match.span() for match in _WORD.finditer(text)]
    starts = [start for start, _ in tokens]
    values = {word: float(len(word)) for word in longest_first}
    matches = [
        Match(max(bisect_right(starts, match.start()) - 1, 0), match.start(), match.end(), term)
        for match in pattern.finditer(text)
        if (term := match[0].lower()) in values
    ]
    spans = [place for token in tokens for place in token]
    return cut_snippet(Reading(text, spans, matches, values), path=path, first_line=first_line)

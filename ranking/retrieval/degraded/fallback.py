"""Search without the index: substrings, over the primary database itself.

    T = weight of the query's words that occur / weight of all of them        weight = length of the word

Slower (every document is read) and blunter than BM25, but it answers whatever has happened to FTS5, and
the result says that it did.
"""

import re
from bisect import bisect_right
from itertools import islice

from ctxrank.indexer.engine import Readiness
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.facets import Scope
from ctxrank.indexer.store.parents import ParentDocument, StoredPassage, parents_in_scope, passages_of_parent
from ctxrank.indexer.text.lines import searchable
from ctxrank.ranking.formulas.blend import SEARCH_TEXT_WEIGHT, blended
from ctxrank.ranking.formulas.explanation import Explanation
from ctxrank.ranking.formulas.static_features import BLENDED, HeuristicParts, heuristic
from ctxrank.ranking.retrieval.checkouts import files_of_others
from ctxrank.ranking.retrieval.cleaning import cleaned_parent
from ctxrank.ranking.retrieval.explain import explain_heuristic
from ctxrank.ranking.retrieval.hits import (
    Foldable,
    Question,
    SearchResult,
    ShownText,
    corrupt_row_notes,
    make_hit,
    show_passage,
    signals_of,
)
from ctxrank.ranking.retrieval.query import STOPWORDS, Term, shown_query
from ctxrank.ranking.retrieval.snippets import Match, MatchedText, Snippet, Span, cut_snippet, shown_text

_SNIPPET_CHARS = 200
_WORD = re.compile(r"\w+")


class _TextMatch(NamedTuple):
    """How much of the query a document holds, and which passage holds most: None is its own title and body."""

    text: float
    passage: StoredPassage | None


class _Words(NamedTuple):
    """A query for substrings: `column` by word, '' for any."""

    column_of: dict[str, str]
    phrases: tuple[Term, ...]
    excluded: tuple[Term, ...]


class _PieceTexts(NamedTuple):
    """One piece of a document in lower case: its own row, or a passage."""

    title: str
    body: str
    path: str

    def hold(self, word: str, column: str) -> bool:
        """Whether a word or phrase in lower case occurs in a column, '' for any."""
        places = {"title": (self.title,), "body": (self.body,)}.get(column, self)
        return any(word in place for place in places)


def search_primary(question: Question, readiness: Readiness) -> SearchResult:
    """The same answer as a search of the index would give, by simpler means."""
    store, request, query, filters, config = question
    typed = [(word, term.column) for term in query.terms for word in _WORD.findall(term.text.lower())]
    # Without stop words, unless there is nothing else.
    content_words = [(word, column) for word, column in typed if word not in STOPWORDS] or typed
    words = _Words(dict(content_words), tuple(term for term in query.terms if term.is_phrase), query.excluded)
    corrupt: set[int] = set()
    parents: list[ParentDocument] = []
    matches: dict[int, _TextMatch] = {}
    if not filters.is_impossible and words.column_of:
        stored, unreadable = parents_in_scope(store.primary, filters.scope)
        corrupt.update(unreadable)
        parents = [cleaned_parent(parent, config.redaction_mode) for parent in stored]
        for parent in parents:
            passages, unreadable = passages_of_parent(store.primary, parent.id)
            corrupt.update(unreadable)
            if match := _match(parent, passages, words, filters.scope):
                matches[parent.id] = match
    found = [parent for parent in parents if parent.id in matches]
    known = {parent.id: heuristic(signals_of(parent, request.today), BLENDED) for parent in found}
    scores = {id_: blended(matches[id_].text, parts.total, SEARCH_TEXT_WEIGHT) for id_, parts in known.items()}
    elsewhere = files_of_others(store, matches)

    def order(one: ParentDocument) -> tuple[bool, float, bool, int, int]:
        return one.superseded_by is not None, -scores[one.id], one.id in elsewhere, -one.created_at, -one.id

    found.sort(key=order)
    shown = ((one, _hit(question, one, matches[one.id], known[one.id], words)) for one in found)
    ranked = (one._replace(hit=one.hit._replace(checkout=elsewhere.get(parent.id, ""))) for parent, one in shown)
    if request.is_folded:
        from ctxrank.ranking.retrieval.folding import folded_page  # noqa: PLC0415  only where a page is read

        hits = folded_page(ranked, max(request.limit, 0))
    else:
        hits = [one.hit for one in islice(ranked, max(request.limit, 0))]
    return SearchResult(
        shown_query(query), "degraded", reason=readiness.health, stale=readiness.stale, total=len(found),
        hits=tuple(hits), notes=(*filters.notes, *corrupt_row_notes(corrupt)),
    )  # fmt: skip


def _match(parent: ParentDocument, passages: list[StoredPassage], words: _Words, scope: Scope) -> _TextMatch | None:
    """What one document holds, or None. A phrase must occur, an excluded term must not."""
    own = _PieceTexts(_folded(parent.title), _folded(parent.body), _folded(parent.path))
    texts = [own, *(_PieceTexts(_folded(passage.heading), _folded(passage.body), "") for passage in passages)]
    if any(_occurs(term, texts) for term in words.excluded) or not all(_occurs(term, texts) for term in words.phrases):
        return None
    whole = sum(map(len, words.column_of))
    best: _TextMatch | None = None
    for text, passage in zip(texts, (None, *passages), strict=True):
        if passage is None and scope.kinds and parent.kind not in scope.kinds:
            continue
        held = [word for word, column in words.column_of.items() if text.hold(word, column)]
        also = [word for word, column in words.column_of.items() if word not in held and own.hold(word, column)]
        share = sum(map(len, held + also)) / whole
        if held and (best is None or share > best.text):
            best = _TextMatch(share, passage)
    return best


def _occurs(term: Term, texts: list[_PieceTexts]) -> bool:
    return any(text.hold(_folded(term.text), term.column) for text in texts)


def _folded(text: str) -> str:
    """Lower case, on one line."""
    return " ".join(searchable(text).lower().split())


def _hit(
    question: Question, parent: ParentDocument, match: _TextMatch, parts: HeuristicParts, words: _Words
) -> Foldable:
    score = blended(match.text, parts.total, SEARCH_TEXT_WEIGHT)

    def cut(text: str, first_line: int = 1) -> Snippet:
        return _cut(text, words, parent.path if match.passage else "", first_line)

    if match.passage is None:
        best = ShownText(parent.body, cut(parent.body))
    else:
        best = show_passage(match.passage, question.config.redaction_mode, cut, match.text)
    explanation = None
    if question.request.is_explained:
        explanation = Explanation(
            score,
            "score = words that occur + what is known",
            (
                Explanation(SEARCH_TEXT_WEIGHT * match.text, f"{match.text:.2f} of the query's words, by length"),
                explain_heuristic(parts, 1 - SEARCH_TEXT_WEIGHT),
            ),
        )

    def terms() -> frozenset[str]:
        place = f"{parent.title} {parent.path}".lower()
        return best.snippet.terms | {word for word in words.column_of if word in place}

    passages = (best.passage,) if best.passage else ()
    hit = make_hit(question.store, parent, score, best.snippet, passages, explanation)
    return Foldable(hit, best.text, terms)


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
    return cut_snippet(MatchedText(text, spans, matches, values), path=path, first_line=first_line)

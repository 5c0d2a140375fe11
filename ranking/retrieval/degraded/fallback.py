"""Search without the index: substrings, then near words, then like titles, over the primary database itself.

    T = weight of the query's words that occur / weight of all of them        weight = length of the word

Slower (every document is read) and blunter than BM25, but it answers whatever has happened to FTS5, and
the result says that it did.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from ctxrank.indexer.engine import Readiness
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.facets import Scope
from ctxrank.indexer.store.freshness import FileStates
from ctxrank.indexer.store.parents import ParentDocument, StoredPassage, parents_in_scope, passages_of_parent
from ctxrank.indexer.text.lines import searchable
from ctxrank.ranking.formulas.blend import SEARCH_TEXT_WEIGHT, blended
from ctxrank.ranking.formulas.explanation import Explanation
from ctxrank.ranking.formulas.static_features import BLENDED, HeuristicParts, heuristic
from ctxrank.ranking.retrieval.checkouts import files_elsewhere
from ctxrank.ranking.retrieval.cleaning import cleaned_parent
from ctxrank.ranking.retrieval.explain import explain_heuristic
from ctxrank.ranking.retrieval.hits import (
    Foldable,
    Question,
    SearchResult,
    ShownText,
    corrupt_row_notes,
    facets_of,
    make_hit,
    show_passage,
    signals_of,
)
from ctxrank.ranking.retrieval.plan import Correction
from ctxrank.ranking.retrieval.query import MAX_CORRECTED_CHARS, STOPWORDS, Term, shown_query
from ctxrank.ranking.retrieval.snippets import Match, MatchedText, Snippet, Span, cut_snippet, shown_text

_SNIPPET_CHARS = 200
# A word this near (rapidfuzz ratio, of 100) stands in where no word of the query occurs anywhere, and a title this like
# the query (partial ratio) is a hit where no word is near. Shorter words are near of everything.
_LIKE_ENOUGH = 75.0
_LEAST_LETTERS, _MOST_LETTERS, _MOST_WORDS = 4, 48, 12
_LIKENESS_WEIGHT = 0.5
_MAX_ALIKE = 50
_WORD = re.compile(r"\w+")


class _TextMatch(NamedTuple):
    """How much of the query a document holds, and which passage holds most: None is its own title and body."""

    parent: ParentDocument
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


# A document, its passages, and what each piece of it says, its own row first.
_Document = tuple[ParentDocument, list[StoredPassage], list[_PieceTexts]]


def search_primary(question: Question, readiness: Readiness) -> SearchResult:
    """The same answer as a search of the index would give, by simpler means."""
    store, request, query, filters, config, today = question
    typed = [(word, term.column) for term in query.terms for word in _WORD.findall(term.text.lower())]
    # Without stop words, unless there is nothing else.
    content_words = [(word, column) for word, column in typed if word not in STOPWORDS] or typed
    column_of: dict[str, str] = {}
    for word, column in content_words:
        column_of[word] = column if column_of.get(word, column) == column else ""
    words = _Words(column_of, tuple(term for term in query.terms if term.is_phrase), query.excluded)
    corrupt: set[int] = set()
    corrections: tuple[Correction, ...] = ()
    matches: list[_TextMatch] = []
    if not filters.is_impossible and words.column_of:
        stored, unreadable = parents_in_scope(store.primary, filters.scope)
        corrupt.update(unreadable)
        parents = [cleaned_parent(parent, config.redaction_mode) for parent in stored]

        def documents() -> Iterator[_Document]:
            """Each document with its passages, or each passage: one at a time, since they may be many."""
            for parent in parents:
                found, unreadable = passages_of_parent(store.primary, parent.id)
                corrupt.update(unreadable)
                if request.is_by_passage:
                    yield from (_as_document(parent, passage, config.redaction_mode) for passage in found)
                    continue
                own = _PieceTexts(_folded(parent.title), _folded(parent.body), _folded(parent.path))
                parts = (_PieceTexts(_folded(passage.heading), _folded(passage.body), "") for passage in found)
                yield parent, found, [own, *parts]

        def matching(words: _Words, weight: float = 1.0) -> list[_TextMatch]:
            found = filter(None, (_match(*one, words, filters.scope) for one in documents()))
            return [match._replace(text=match.text * weight) for match in found]

        matches = matching(words)
        if not matches and not words.phrases:
            near, nearness = _near_words((texts for _, _, texts in documents()), words)
            if near:
                others = words._replace(column_of={used: words.column_of[word] for word, used in near.items()})
                if matches := matching(others, _LIKENESS_WEIGHT * nearness):
                    words, corrections = others, tuple(Correction(typed, (used,)) for typed, used in near.items())
            if not matches and not request.is_by_passage:
                excluding = {parent.id for parent, _, texts in documents() if _is_excluded(texts, words)}
                matches = [match for match in _alike(parents, words) if match.parent.id not in excluding]
    removed, elsewhere = files_elsewhere(store, [match.parent.id for match in matches])
    matches = [match for match in matches if match.parent.id not in removed]
    known = {parent.id: heuristic(signals_of(parent, today), BLENDED) for parent, _, _ in matches}

    def order(match: _TextMatch) -> tuple[bool, float, bool, int, int]:
        one = match.parent
        score = blended(match.text, known[one.id].total, SEARCH_TEXT_WEIGHT)
        return one.superseded_by is not None, -score, one.id in elsewhere, -one.created_at, -one.id

    matches.sort(key=order)
    states = FileStates(store)
    ranked = (
        _hit(question, states, match, known[match.parent.id], words, elsewhere.get(match.parent.id, ""))
        for match in matches
    )
    if request.is_folded:
        from ctxrank.ranking.retrieval.folding import folded_page  # noqa: PLC0415  only where a page is read

        hits = folded_page(ranked, max(request.limit, 0))
    else:
        hits = [one.hit for one in islice(ranked, max(request.limit, 0))]
    return SearchResult(
        shown_query(query), "degraded", reason=readiness.health, stale=readiness.stale, total=len(matches),
        hits=tuple(hits), notes=(*filters.notes, *corrupt_row_notes(corrupt)), corrections=corrections,
        facets=facets_of(question, lambda: [match.parent for match in matches]),
    )  # fmt: skip


def _as_document(parent: ParentDocument, passage: StoredPassage, mode: RedactionMode) -> _Document:
    """A passage as a document of its own."""
    id_, title, _, _, body, ruleset = passage
    own = parent._replace(id=id_, number=id_, title=title, body=body, ruleset=ruleset, kind="passage", artifact_id=None)
    texts = _PieceTexts(_folded(title), _folded(body), _folded(parent.path))
    return cleaned_parent(own, mode), [passage], [_PieceTexts("", "", ""), texts]


def _match(
    parent: ParentDocument, passages: list[StoredPassage], texts: list[_PieceTexts], words: _Words, scope: Scope
) -> _TextMatch | None:
    """What one document holds, or None. A phrase must occur, an excluded term must not."""
    if _is_excluded(texts, words) or not all(_occurs(term, texts) for term in words.phrases):
        return None
    own = texts[0]
    whole = sum(map(len, words.column_of))
    best: _TextMatch | None = None
    for text, passage in zip(texts, (None, *passages), strict=True):
        if passage is None and scope.kinds and parent.kind not in scope.kinds:
            continue
        held = [word for word, column in words.column_of.items() if text.hold(word, column)]
        also = [word for word, column in words.column_of.items() if word not in held and own.hold(word, column)]
        share = sum(map(len, held + also)) / whole
        if held and (best is None or share > best.text):
            best = _TextMatch(parent, share, passage)
    return best


def _is_excluded(texts: list[_PieceTexts], words: _Words) -> bool:
    return any(_occurs(term, texts) for term in words.excluded)


def _occurs(term: Term, texts: list[_PieceTexts]) -> bool:
    return any(text.hold(_folded(term.text), term.column) for text in texts)


def _folded(text: str) -> str:
    """Lower case, on one line."""
    return " ".join(searchable(text).lower().split())


def _near_words(documents: Iterable[list[_PieceTexts]], words: _Words) -> tuple[dict[str, str], float]:
    """The nearest word of the texts for each word of the query: none of a number, and of many words none.

    And how near these are to the whole query, up to 1.
    """
    typed = [word for word in words.column_of if word.isalpha() and _LEAST_LETTERS <= len(word) <= _MOST_LETTERS]
    if not typed or len(words.column_of) > _MOST_WORDS:
        return {}, 0.0
    from rapidfuzz import fuzz, process  # noqa: PLC0415  22 ms, and only where no substring was found

    uses: Counter[str] = Counter()
    for texts in documents:
        uses.update({word for text in texts for part in text for word in _WORD.findall(part) if word.isalpha()})
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
    return stand_ins, near / sum(map(len, words.column_of))


def _alike(parents: list[ParentDocument], words: _Words) -> list[_TextMatch]:
    """Documents whose title or summary is like the query, where no word of it occurs anywhere."""
    from rapidfuzz import fuzz, process  # noqa: PLC0415  22 ms, and only where no substring was found

    texts = [f"{parent.title} {parent.body[:_SNIPPET_CHARS]}".lower() for parent in parents]
    wanted = " ".join(word for word in words.column_of if len(word) <= MAX_CORRECTED_CHARS)
    near = process.extract(wanted, texts, scorer=fuzz.partial_ratio, limit=None, score_cutoff=_LIKE_ENOUGH)
    # Those that are as alike as the last come, too: documents' numbers do not decide.
    least = near[_MAX_ALIKE - 1][1] if len(near) >= _MAX_ALIKE else _LIKE_ENOUGH
    return [_TextMatch(parents[at], _LIKENESS_WEIGHT * ratio / 100, None) for _, ratio, at in near if ratio >= least]


def _hit(
    question: Question, states: FileStates, match: _TextMatch, parts: HeuristicParts, words: _Words, checkout: str
) -> Foldable:
    parent = match.parent
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
    hit = make_hit(states, parent, score, best.snippet, passages, explanation, checkout=checkout)
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

"""Search without the index: substrings, then likeness, over the truth itself.

    T = weight of the query's words that occur / weight of all of them        weight = length of the word

Slower (every document is read) and blunter than BM25, but it answers whatever has happened to FTS5, and
the result says that it did.
"""

import re

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line
from ctxrank.ranking.formulas.blend import SEARCH_TEXT_WEIGHT, blended
from ctxrank.ranking.formulas.explanation import Explanation
from ctxrank.ranking.formulas.static_features import HeuristicParts, Signals, blended_heuristic
from ctxrank.ranking.retrieval.cleaning import cleaned
from ctxrank.ranking.retrieval.degraded.readiness import Readiness
from ctxrank.ranking.retrieval.degraded.snippets import ELLIPSIS, MARK, without_marks
from ctxrank.ranking.retrieval.explain import explain_heuristic
from ctxrank.ranking.retrieval.filters import Filters, documents_condition
from ctxrank.ranking.retrieval.hits import Hit, PassageHit, SearchRequest, SearchResult
from ctxrank.ranking.retrieval.parents import (
    PASSAGE_TYPES,
    OwnerRow,
    all_owners,
    cleaned_owner,
    is_sound,
    make_hit,
    torn_notes,
)
from ctxrank.ranking.retrieval.query import Query, Term
from ctxrank.ranking.retrieval.stopwords import STOPWORDS

_SNIPPET_CHARS = 200
_BEFORE_CHARS = 60
# A title this alike (rapidfuzz partial ratio, of 100) is a hit where no word of the query occurs anywhere.
_LIKE_ENOUGH = 75.0
_LIKENESS_WEIGHT = 0.5
_MAX_ALIKE = 50
_WORD = re.compile(r"\w+")


class _StoredPassage(NamedTuple):
    id: int
    heading: str
    start_line: int
    end_line: int
    body: str
    ruleset: int


class _Match(NamedTuple):
    """How much of the query a document holds, and where most of it stands: None is its own title and body."""

    text: float
    passage: _StoredPassage | None


class _Found(NamedTuple):
    owner: OwnerRow
    match: _Match
    parts: HeuristicParts
    score: float


class _Words(NamedTuple):
    """A query for substrings: `column` by word, '' for any."""

    column_of: dict[str, str]
    phrases: tuple[Term, ...]
    excluded: tuple[Term, ...]


class _Texts(NamedTuple):
    """One piece of a document in lower case: its own row, or a passage."""

    title: str
    body: str
    path: str

    def hold(self, word: str, column: str) -> bool:
        """Whether a word or phrase in lower case occurs in a column, '' for any."""
        places = {"title": (self.title,), "body": (self.body,)}.get(column, self)
        return any(word in place for place in places)


def search_truth(
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
    torn: set[int] = set()
    if not filters.is_impossible and words.column_of:
        today = (now_us() if request.as_of is None else request.as_of) // DAY_US
        condition, values = documents_condition(filters)
        stored = all_owners(store.truth, condition, values)
        torn.update(stored.torn)
        owners = [cleaned_owner(owner, mode) for owner in stored.rows]
        matches = {
            owner.id: match
            for owner in owners
            if (match := _match(owner, _passages(store, owner, torn), words, filters))
        }
        if not matches and not words.phrases:
            matches = {
                owner.id: match
                for owner, match in _alike(owners, words)
                if not _is_excluded(_texts(owner, _passages(store, owner, torn)), words)
            }
        for owner in owners:
            if owner.id in matches:
                days = today - owner.created_at // DAY_US
                parts = blended_heuristic(Signals(owner.priority, is_same_group=False, is_designated=False, days=days))
                match = matches[owner.id]
                found.append(_Found(owner, match, parts, blended(match.text, parts.total, SEARCH_TEXT_WEIGHT)))
    found.sort(
        key=lambda hit: (
            hit.owner.superseded_by is not None,
            -hit.score,
            -hit.owner.created_at,
            -hit.owner.id,
        )
    )
    hits = tuple(_hit(store, hit, words, request, mode) for hit in found[: max(request.limit, 0)])
    return SearchResult(
        query=str(query), outcome="degraded", engine="heuristic", reason=readiness.trouble.value,
        stale=readiness.stale, total=len(found), is_capped=False, is_exact=False, hits=hits, suggestions=(),
        notes=(*filters.notes, *torn_notes(torn)),
    )  # fmt: skip


def _words(query: Query) -> _Words:
    """The words to look for in lower case, without stop words unless there is nothing else."""
    words = [(word, term.column) for term in query.terms for word in _WORD.findall(term.text.lower())]
    told = [(word, column) for word, column in words if word not in STOPWORDS] or words
    return _Words(dict(told), tuple(term for term in query.terms if term.is_phrase), query.excluded)


def _passages(store: Store, owner: OwnerRow, torn: set[int]) -> list[_StoredPassage]:
    """The passages of a document, without the torn ones, whose row ids are added to `torn`."""
    query = """
        SELECT id, title, start_line, end_line, body, ruleset FROM documents
         WHERE owner_id = ? ORDER BY start_line, id
    """
    found: list[_StoredPassage] = []
    for row in store.truth.execute(query, (owner.id,)):
        if is_sound(row, PASSAGE_TYPES):
            found.append(_StoredPassage(*row))
        else:
            torn.add(int(row[0]))
    return found


def _match(owner: OwnerRow, passages: list[_StoredPassage], words: _Words, filters: Filters) -> _Match | None:
    """What one document holds, or None. A phrase must occur, an excluded term must not."""
    texts = _texts(owner, passages)
    if _is_excluded(texts, words) or not all(_occurs(term, texts) for term in words.phrases):
        return None
    own = texts[0]
    whole = sum(map(len, words.column_of))
    is_own_wanted = not filters.kinds or owner.kind in filters.kinds
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


def _texts(owner: OwnerRow, passages: list[_StoredPassage]) -> list[_Texts]:
    """The document's own row, then its passages."""
    own = _Texts(_folded(owner.title), _folded(owner.body), _folded(owner.path))
    return [own, *(_Texts(_folded(passage.heading), _folded(passage.body), "") for passage in passages)]


def _is_excluded(texts: list[_Texts], words: _Words) -> bool:
    return any(_occurs(term, texts) for term in words.excluded)


def _occurs(term: Term, texts: list[_Texts]) -> bool:
    return any(text.hold(_folded(term.text), term.column) for text in texts)


def _folded(text: str) -> str:
    """Lower case, on one line."""
    return " ".join(text.lower().split())


def _alike(owners: list[OwnerRow], words: _Words) -> list[tuple[OwnerRow, _Match]]:
    """Documents whose title or summary is like the query, where no word of it occurs anywhere."""
    from rapidfuzz import fuzz, process  # 22 ms, and only where no substring was found

    texts = [f"{owner.title} {owner.body[:_SNIPPET_CHARS]}".lower() for owner in owners]
    wanted = " ".join(words.column_of)
    near = process.extract(wanted, texts, scorer=fuzz.partial_ratio, limit=_MAX_ALIKE, score_cutoff=_LIKE_ENOUGH)
    return [(owners[at], _Match(_LIKENESS_WEIGHT * ratio / 100, None)) for _, ratio, at in near]


def _hit(store: Store, found: _Found, words: _Words, request: SearchRequest, mode: RedactionMode) -> Hit:
    owner, match = found.owner, found.match
    if match.passage is None:
        shown: tuple[PassageHit, ...] = ()
        text = _cut(owner.body, words)
    else:
        id_, heading, start, end, body, ruleset = match.passage
        text = _cut(cleaned(body, ruleset, mode), words)
        shown = (PassageHit(id_, cleaned(heading, ruleset, mode), start, end, text, round(match.text, 6)),)
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
    return make_hit(store, owner, found.score, text, shown, explanation)


def _cut(text: str, words: _Words) -> str:
    """The text around the first word that occurs, with the words marked."""
    text = without_marks(text)
    longest_first = sorted(words.column_of, key=lambda word: (-len(word), word))
    pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)
    first = pattern.search(text)
    start = max(0, first.start() - _BEFORE_CHARS) if first else 0
    piece = text[start : start + _SNIPPET_CHARS]
    marked = one_line(pattern.sub(lambda match: f"{MARK}{match[0]}{MARK}", piece))
    before = f"{ELLIPSIS} " if start else ""
    return f"{before}{marked}{f' {ELLIPSIS}' if start + _SNIPPET_CHARS < len(text) else ''}"

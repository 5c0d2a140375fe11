"""Search without the index: substrings, then likeness, over the truth itself.

    T = weight of the query's words that occur / weight of all of them        weight = length of the word

Slower (every document is read) and blunter than BM25, but it answers whatever has happened to FTS5, and
the result says that it did.
"""

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.lines import one_line
from ctxrank.indexer.records import NamedTuple
from ctxrank.indexer.store import Store
from ctxrank.ranking.blend import TEXT_WEIGHT, blended
from ctxrank.ranking.explanation import Explanation
from ctxrank.ranking.filters import Filters, truth_condition
from ctxrank.ranking.heuristic import HeuristicParts, Signals, heuristic
from ctxrank.ranking.hits import Hit, PassageHit, SearchRequest, SearchResult
from ctxrank.ranking.owners import OwnerRow, all_owners, make_hit
from ctxrank.ranking.query import Query, Term
from ctxrank.ranking.readiness import Readiness
from ctxrank.ranking.reasons import explain_heuristic
from ctxrank.ranking.stopwords import STOPWORDS

_SNIPPET_CHARS = 200
_BEFORE_CHARS = 60
# A title this alike (rapidfuzz partial ratio, of 100) is a hit where no word of the query occurs anywhere.
_LIKE_ENOUGH = 75.0
_LIKENESS_WEIGHT = 0.5


class _StoredPassage(NamedTuple):
    id: int
    heading: str
    start_line: int
    end_line: int
    body: str


class _Found(NamedTuple):
    owner: OwnerRow
    text: float
    passage: _StoredPassage | None
    parts: HeuristicParts
    score: float


def scan(store: Store, request: SearchRequest, query: Query, filters: Filters, readiness: Readiness) -> SearchResult:
    """The same answer as a search of the index would give, by simpler means."""
    words = _words(query)
    found: list[_Found] = []
    if not filters.is_impossible and (words or query.terms):
        today = (now_us() if request.as_of is None else request.as_of) // DAY_US
        condition, values = _condition(filters)
        owners = all_owners(store.truth, condition, values)
        matches = {owner.id: match for owner in owners if (match := _match(store, owner, query, words)) is not None}
        if not matches and words:
            matches = _alike(owners, " ".join(words))
        for owner in owners:
            if owner.id in matches:
                text, passage = matches[owner.id]
                parts = heuristic(Signals(owner.priority, False, False, today - owner.created_at // DAY_US))
                found.append(_Found(owner, text, passage, parts, blended(text, parts.total)))
    found.sort(key=lambda hit: (hit.owner.superseded_by is not None, -hit.score, -hit.owner.created_at, -hit.owner.id))
    hits = tuple(_hit(store, hit, words, request) for hit in found[: max(request.limit, 0)])
    return SearchResult(
        query=str(query), outcome="degraded", engine="heuristic", reason=readiness.trouble.value,
        stale=readiness.stale, total=len(found), is_capped=False, hits=hits, suggestions=(), notes=filters.notes,
    )  # fmt: skip


def _words(query: Query) -> tuple[str, ...]:
    """The words to look for, lower case, without stop words unless there is nothing else."""
    words = [word for term in query.terms for word in term.text.lower().split()]
    return tuple(dict.fromkeys([word for word in words if word not in STOPWORDS] or words))


def _condition(filters: Filters) -> tuple[str, tuple[object, ...]]:
    conditions: list[str] = []
    values: list[object] = []
    for column, wanted in (
        ("kind", filters.kinds), ("session_id", filters.session_ids), ("group_id", filters.group_ids),
        ("agent", filters.agents), ("type", filters.types), ("priority", filters.priorities),
    ):  # fmt: skip
        if wanted:
            conditions.append(f"d.{column} IN ({', '.join('?' * len(wanted))})")
            values += wanted
    more, more_values = truth_condition(filters._replace(kinds=()))
    return " AND ".join([*conditions, more] if more else conditions), (*values, *more_values)


def _match(
    store: Store, owner: OwnerRow, query: Query, words: tuple[str, ...]
) -> tuple[float, _StoredPassage | None] | None:
    """(T, best passage) of one document, or None. A phrase must occur, an excluded term must not."""
    rows = store.truth.execute(
        "SELECT id, title, start_line, end_line, body FROM documents WHERE owner_id = ? ORDER BY start_line, id",
        (owner.id,),
    )
    passages = [_StoredPassage(*row) for row in rows]
    own = f"{owner.title}\n{owner.body}\n{owner.path}".lower()
    texts = [own, *(f"{heading}\n{body}".lower() for _, heading, _, _, body in passages)]
    if any(_occurs(term, texts) for term in query.excluded):
        return None
    if not all(_occurs(term, texts) for term in query.terms if term.is_phrase):
        return None
    whole = sum(len(word) for word in words)
    if not whole:
        return None
    best, best_at = 0.0, -1
    for at, text in enumerate(texts):
        share = sum(len(word) for word in words if word in text or word in own) / whole
        if any(word in text for word in words) and share > best:
            best, best_at = share, at
    if best_at < 0:
        return None
    return best, passages[best_at - 1] if best_at > 0 else None


def _occurs(term: Term, texts: list[str]) -> bool:
    return any(term.text.lower() in text for text in texts)


def _alike(owners: list[OwnerRow], words: str) -> dict[int, tuple[float, _StoredPassage | None]]:
    """Documents whose title or summary is like the query, where no word of it occurs anywhere."""
    from rapidfuzz import fuzz, process  # 22 ms, and only where no substring was found

    texts = {owner.id: f"{owner.title} {owner.body[:_SNIPPET_CHARS]}".lower() for owner in owners}
    near = process.extract(words, texts, scorer=fuzz.partial_ratio, limit=50, score_cutoff=_LIKE_ENOUGH)
    return {owner_id: (_LIKENESS_WEIGHT * ratio / 100, None) for _, ratio, owner_id in near}


def _hit(store: Store, found: _Found, words: tuple[str, ...], request: SearchRequest) -> Hit:
    owner = found.owner
    if found.passage is None:
        shown: tuple[PassageHit, ...] = ()
        text = _cut(owner.body, words)
    else:
        id_, heading, start, end, body = found.passage
        text = _cut(body, words)
        shown = (PassageHit(id_, heading, start, end, text, round(found.text, 6)),)
    explanation = None
    if request.is_explained:
        explanation = Explanation(
            found.score,
            "score = words that occur + what is known",
            (
                Explanation(TEXT_WEIGHT * found.text, f"{found.text:.2f} of the query's words, by length"),
                explain_heuristic(found.parts, 1 - TEXT_WEIGHT),
            ),
        )
    return make_hit(store, owner, found.score, text, shown, explanation)


def _cut(text: str, words: tuple[str, ...]) -> str:
    """The text around the first word that occurs, with the words marked."""
    lower = text.lower()
    places = [at for word in words if (at := lower.find(word)) >= 0]
    start = max(0, min(places, default=0) - _BEFORE_CHARS)
    piece = text[start : start + _SNIPPET_CHARS]
    for word in sorted(words, key=len, reverse=True):
        at = piece.lower().find(word)
        if at >= 0 and "**" not in piece[max(0, at - 2) : at]:
            piece = f"{piece[:at]}**{piece[at : at + len(word)]}**{piece[at + len(word) :]}"
    return f"{'… ' if start else ''}{one_line(piece)}{' …' if start + _SNIPPET_CHARS < len(text) else ''}"

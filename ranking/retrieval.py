"""Search: a query in, ranked hits with reasons out.

FTS5 selects, our own score ranks: candidates by BM25, grouped into one hit a file or package, the best of
them blended with what is known of them (blend.py). Without a usable index the same request is answered
from the truth (scan.py), and the answer says so.
"""

from typing import NamedTuple

import apsw

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.config import Config
from ctxrank.indexer.connection import snapshot
from ctxrank.indexer.facets import document_id_of
from ctxrank.indexer.fts import Index, IndexState
from ctxrank.indexer.store import Store
from ctxrank.ranking.blend import TEXT_WEIGHT, blended, calibrated, half_score
from ctxrank.ranking.candidates import Candidate, find_candidates, term_scores
from ctxrank.ranking.explanation import Explanation
from ctxrank.ranking.filters import Filters, facet_scope, resolve_filters
from ctxrank.ranking.heuristic import MAXIMUM, HeuristicParts, Signals, heuristic
from ctxrank.ranking.hits import Hit, PassageHit, SearchRequest, SearchResult
from ctxrank.ranking.owners import OwnerRow, make_hit, read_owners
from ctxrank.ranking.plan import Plan, make_plan
from ctxrank.ranking.query import Query, parse_query
from ctxrank.ranking.readiness import Readiness, make_ready, recover
from ctxrank.ranking.snippets import snippet

CATCH_UP_MS = 2000
# The blend can lift a document by at most (1 − w) over its text score; below this rank by text none can win.
BLENDED_BEST = 200
SHOWN_PASSAGES = 3
# A file's own row (its title, summary and path) and its other passages support its best passage.
OWN_SHARE = 0.4
OTHERS_SHARE = 0.1


def search(store: Store, request: SearchRequest, config: Config | None = None) -> SearchResult:
    """Ranked past findings. Raises UsageError for a kind or a time that is none, CtxrankError.

    `config` is the store's own where none is given.
    """
    if config is None:
        from ctxrank.indexer.config import load_config

        config = load_config(store)
    query = parse_query(request.text)
    filters = resolve_filters(store.truth, request, query)
    readiness = make_ready(store, is_enabled=config.fts5, bound_ms=CATCH_UP_MS)
    for _ in range(2):
        if not readiness.is_usable:
            break
        try:
            return _search_index(store, request, query, filters, readiness)
        except apsw.Error as error:
            readiness = recover(store, error, bound_ms=CATCH_UP_MS)
    from ctxrank.ranking.scan import scan  # only where the index cannot answer

    return scan(store, request, query, filters, readiness)


class _Evidence:
    """What one owning document was found by."""

    __slots__ = ("own", "passages")

    def __init__(self) -> None:
        self.own: Candidate | None = None
        self.passages: list[Candidate] = []

    @property
    def score(self) -> float:
        """Best row, plus a share of the file's own row and of the other passages."""
        best = self.passages[0].score if self.passages else 0.0
        own = self.own.score if self.own else 0.0
        others = sum(candidate.score for candidate in self.passages[1:SHOWN_PASSAGES])
        return max(best, own) + OWN_SHARE * min(best, own) + OTHERS_SHARE * others


def _search_index(
    store: Store, request: SearchRequest, query: Query, filters: Filters, readiness: Readiness
) -> SearchResult:
    index = store.index()
    with snapshot(index.connection):
        state = index.state()  # pins the index first, the truth by the next read
        plan = make_plan(query, index, state)
        if filters.is_impossible or query.is_empty:
            evidence: dict[int, _Evidence] = {}
            is_complete = True
        else:
            found = find_candidates(index, state, plan, facet_scope(store.truth, filters))
            evidence, is_complete = _grouped(found.rows), found.is_complete
        half = half_score(term.value for term in plan.terms)
        hits = _ranked(store, index, state, plan, request, evidence, half)
        suggestions: list[str] = []
        if not hits and plan.unknown:
            from ctxrank.ranking.suggestions import near_terms  # only where nothing was found

            suggestions = near_terms(index, plan.unknown)
    outcome = "stale" if readiness.stale else "matched" if hits else "no_match"
    return SearchResult(
        query=str(query), outcome=outcome, engine="fts5", reason="", stale=readiness.stale,
        total=len(evidence), is_capped=not is_complete, hits=tuple(hits), suggestions=tuple(suggestions),
        notes=filters.notes,
    )  # fmt: skip


def _grouped(rows: list[Candidate]) -> dict[int, _Evidence]:
    """Candidates by owning document, the passages of each in order of their score."""
    evidence: dict[int, _Evidence] = {}
    for row in rows:
        entry = evidence.get(row.owner_id)
        if entry is None:
            entry = evidence[row.owner_id] = _Evidence()
        if row.rowid & 0xFFFFFFFF == row.owner_id:
            entry.own = row
        else:
            entry.passages.append(row)
    for entry in evidence.values():
        entry.passages.sort(key=lambda row: (-row.score, row.rowid))
    return evidence


class _Ranked(NamedTuple):
    """A hit before it is shown: its document, evidence and score."""

    owner: OwnerRow
    evidence: _Evidence
    text: float
    parts: HeuristicParts
    score: float


def _ranked(
    store: Store,
    index: Index,
    state: IndexState,
    plan: Plan,
    request: SearchRequest,
    evidence: dict[int, _Evidence],
    half: float,
) -> list[Hit]:
    best = sorted(evidence, key=lambda owner_id: (-evidence[owner_id].score, -owner_id))[:BLENDED_BEST]
    today = (now_us() if request.as_of is None else request.as_of) // DAY_US
    ranked: list[_Ranked] = []
    for owner in read_owners(index.connection, best, state.applied_seq):
        entry = evidence[owner.id]
        text = calibrated(entry.score, half)
        parts = heuristic(signals_of(owner, request, today))
        ranked.append(_Ranked(owner, entry, text, parts, blended(text, parts.total)))
    ranked.sort(key=lambda hit: order_of(hit.owner, hit.score))
    terms = {token for term in plan.terms if not term.is_prefix for token in index.tokens(term.text)}
    prefixes = {term.text.lower() for term in plan.terms if term.is_prefix}
    hits: list[Hit] = []
    for row in ranked[: max(request.limit, 0)]:
        passages = _passage_hits(index, row, half, terms, prefixes)
        shown = passages[0].snippet if passages else snippet(index, row.owner.body, terms, prefixes)
        explanation = _explain(index, state, plan, row) if request.is_explained else None
        hits.append(make_hit(store, row.owner, row.score, shown, passages, explanation))
    return hits


def signals_of(owner: OwnerRow, request: SearchRequest, today: int) -> Signals:
    """What the heuristic may use in a search: nobody asks, so no group or agent is favoured."""
    return Signals(owner.priority, False, False, today - owner.created_at // DAY_US)


def order_of(owner: OwnerRow, score: float) -> tuple[bool, float, int, int]:
    """Best first; what is superseded never stands before what is current; then the newest."""
    return owner.superseded_by is not None, -score, -owner.created_at, -owner.id


def _passage_hits(
    index: Index, row: _Ranked, half: float, terms: set[str], prefixes: set[str]
) -> tuple[PassageHit, ...]:
    shown: list[PassageHit] = []
    for candidate in row.evidence.passages[:SHOWN_PASSAGES]:
        found = index.connection.execute(
            "SELECT id, title, start_line, end_line, body FROM truth.documents WHERE id = ?",
            (document_id_of(candidate.rowid),),
        ).fetchone()
        if found is not None:
            id_, heading, start, end, body = found
            text = snippet(index, body, terms, prefixes)
            shown.append(PassageHit(id_, heading, start, end, text, round(calibrated(candidate.score, half), 6)))
    return tuple(shown)


def _explain(index: Index, state: IndexState, plan: Plan, row: _Ranked) -> Explanation:
    """The tree behind a hit's score: text and heuristic, each down to its summands."""
    text_value = TEXT_WEIGHT * row.text
    total = row.evidence.score
    rows = [(share, candidate, name) for share, candidate, name in _shares(row) if candidate.score > 0]
    rows_shown: list[Explanation] = []
    for share, candidate, name in rows:
        value = text_value * share * candidate.score / total
        terms = term_scores(index, state, plan, candidate.rowid)
        leaves = tuple(
            Explanation(
                value * part.score / candidate.score,
                f"'{part.term.text}': idf {part.term.idf:.2f} × {part.term.weight:g} asked, tf {part.tf:.1f}, "
                f"{part.length} tokens against {part.average_length:.0f} on average = {part.score:.2f}",
            )
            for part in terms
        )
        rows_shown.append(Explanation(value, f"{name}, BM25 {candidate.score:.2f} × {share:g}", leaves))
    text = Explanation(
        text_value, f"text: {TEXT_WEIGHT:g} × {row.text:.3f} (BM25 {total:.2f}, calibrated)", tuple(rows_shown)
    )
    known = explain_heuristic(row.parts, 1 - TEXT_WEIGHT)
    return Explanation(row.score, "score = text + what is known", (text, known))


def explain_heuristic(parts: HeuristicParts, weight: float) -> Explanation:
    """The heuristic's summands, each scaled by its weight in the blend."""
    scale = weight / MAXIMUM
    leaves = (
        Explanation(parts.priority * scale, f"priority {parts.priority:g} of {MAXIMUM}"),
        Explanation(parts.same_group * scale, f"same group {parts.same_group:g}"),
        Explanation(parts.agent * scale, f"designated for the agent {parts.agent:g}"),
        Explanation(parts.recency * scale, f"recency {parts.recency:.3f}"),
    )
    return Explanation(
        parts.total * scale, f"known: {weight:g} × {parts.total:.2f} / {MAXIMUM}", tuple(leaf for leaf in leaves if leaf.value)
    )


def _shares(row: _Ranked) -> list[tuple[float, Candidate, str]]:
    """Which rows make the evidence's score, and with which share: see _Evidence.score."""
    own, passages = row.evidence.own, row.evidence.passages
    is_own_best = own is not None and (not passages or own.score > passages[0].score)
    shares: list[tuple[float, Candidate, str]] = []
    if own is not None:
        shares.append((1.0 if is_own_best else OWN_SHARE, own, "title, summary and path"))
    if passages:
        shares.append((OWN_SHARE if is_own_best else 1.0, passages[0], "best passage"))
    shares += [(OTHERS_SHARE, passage, "another passage") for passage in passages[1:SHOWN_PASSAGES]]
    return shares

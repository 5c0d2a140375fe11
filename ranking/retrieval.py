"""Search: a query in, ranked hits with reasons out.

FTS5 selects, our own score ranks: candidates by BM25, grouped into one hit a file or package, the best of
them blended with what is known of them (blend.py). Without a usable index the same request is answered
from the truth (scan.py), and the answer says so.
"""

import apsw

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.config import Config
from ctxrank.indexer.connection import snapshot
from ctxrank.indexer.facets import document_id_of
from ctxrank.indexer.fts import Index, IndexState
from ctxrank.indexer.records import NamedTuple
from ctxrank.indexer.store import Store
from ctxrank.ranking.blend import blended, calibrated, half_score
from ctxrank.ranking.candidates import find_candidates
from ctxrank.ranking.evidence import SHOWN_PASSAGES, Evidence, grouped
from ctxrank.ranking.filters import Filters, facet_scope, resolve_filters
from ctxrank.ranking.heuristic import HeuristicParts, Signals, heuristic
from ctxrank.ranking.hits import Hit, PassageHit, SearchRequest, SearchResult
from ctxrank.ranking.owners import OwnerRow, make_hit, read_owners
from ctxrank.ranking.plan import Plan, make_plan
from ctxrank.ranking.query import Query, parse_query
from ctxrank.ranking.readiness import Readiness, make_ready, recover
from ctxrank.ranking.reasons import explain_blend
from ctxrank.ranking.snippets import snippet

CATCH_UP_MS = 2000
# The blend can lift a document by at most (1 − w) over its text score; below this rank by text none can win.
BLENDED_BEST = 200


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


def _search_index(
    store: Store, request: SearchRequest, query: Query, filters: Filters, readiness: Readiness
) -> SearchResult:
    index = store.index()
    with snapshot(index.connection):
        state = index.state()  # pins the index first, the truth by the next read
        plan = make_plan(query, index, state)
        if filters.is_impossible or query.is_empty:
            evidence: dict[int, Evidence] = {}
            is_complete = True
        else:
            found = find_candidates(index, state, plan, facet_scope(store.truth, filters))
            evidence, is_complete = grouped(found.rows), found.is_complete
        half = half_score(plan.values)
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


class _Ranked(NamedTuple):
    """A hit before it is shown: its document, evidence and score."""

    owner: OwnerRow
    evidence: Evidence
    text: float
    parts: HeuristicParts
    score: float


def _ranked(
    store: Store,
    index: Index,
    state: IndexState,
    plan: Plan,
    request: SearchRequest,
    evidence: dict[int, Evidence],
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
        explanation = None
        if request.is_explained:
            explanation = explain_blend(index, state, plan, row.evidence, row.text, row.parts)
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

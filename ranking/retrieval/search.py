"""Search: a query in, ranked hits with reasons out.

FTS5 selects, our own score ranks: candidates by BM25, grouped into one hit a file or package, then
blended with what is known of them (blend.py). Without a usable index the same request is answered
from the truth (fallback.py), and the answer says so.
"""

import apsw

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.fulltext.index_file import BROKEN, Index, IndexState, Trouble
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.connection import snapshot
from ctxrank.indexer.store.facets import document_id_of
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.formulas.blend import blended, calibrated, half_score
from ctxrank.ranking.formulas.static_features import HeuristicParts, Signals, blended_heuristic
from ctxrank.ranking.formulas.tuning import tuned
from ctxrank.ranking.retrieval.candidates.candidates import Candidates, all_matter, find_candidates
from ctxrank.ranking.retrieval.candidates.exactness import is_proven, lift_of, matters_for
from ctxrank.ranking.retrieval.cleaning import cleaned
from ctxrank.ranking.retrieval.degraded.readiness import Readiness, beyond_healing, make_ready, recover
from ctxrank.ranking.retrieval.degraded.snippets import snippet
from ctxrank.ranking.retrieval.explain import explain_blend
from ctxrank.ranking.retrieval.filters import Filters, facet_scope, resolve_filters, with_real_filters
from ctxrank.ranking.retrieval.grouping import SHOWN_PASSAGES, Evidence, grouped
from ctxrank.ranking.retrieval.hits import Hit, PassageHit, SearchRequest, SearchResult
from ctxrank.ranking.retrieval.parents import (
    PASSAGE_TYPES,
    Standing,
    cleaned_owner,
    has_torn_rows,
    make_hit,
    read_owners,
    read_standings,
    require_sound,
)
from ctxrank.ranking.retrieval.plan import Plan, make_plan
from ctxrank.ranking.retrieval.query import Query, parse_query, plain_query
from ctxrank.ranking.retrieval.rerank import refined

CATCH_UP_MS = 2000
# Documents blended at a time, best text score first: first some for each that is shown, as each is a page of the truth.
_FIRST_CHUNK = 2
_CHUNK = 200


def search(store: Store, request: SearchRequest, config: Config | None = None) -> SearchResult:
    """Ranked past findings. Raises UsageError for a kind that is none, CtxrankError.

    `config` is the store's own where none is given.
    """
    if config is None:
        from ctxrank.indexer.store.config import load_config

        config = load_config(store)
    notes: tuple[str, ...] = ()
    query = plain_query(request.text)
    if not request.is_plain:
        query, notes = with_real_filters(parse_query(request.text))
    filters = resolve_filters(store.truth, request, query)
    filters = filters._replace(notes=(*notes, *filters.notes))
    if query.is_empty and not query.excluded and filters.is_any:
        from ctxrank.ranking.retrieval.degraded.listing import list_documents  # nothing to look for: the filters alone

        return list_documents(store, request, query, filters, config.redaction_mode)
    readiness = make_ready(store, is_enabled=config.fts5, bound_ms=CATCH_UP_MS)
    for attempt in range(2):
        if not readiness.is_usable:
            break
        try:
            return _search_index(store, request, query, filters, readiness, config)
        except BROKEN as error:
            if not isinstance(error, apsw.Error):
                if has_torn_rows(store.truth):  # it is not the index: a fresh one would lead to the same rows
                    readiness = readiness._replace(trouble=Trouble.TORN)
                    break
                if attempt:
                    raise
            readiness = recover(store, error, bound_ms=CATCH_UP_MS)
    readiness = beyond_healing(readiness)
    from ctxrank.ranking.retrieval.degraded.fallback import search_truth  # only where the index cannot answer

    return search_truth(store, request, query, filters, readiness, config.redaction_mode)


def _search_index(
    store: Store,
    request: SearchRequest,
    query: Query,
    filters: Filters,
    readiness: Readiness,
    config: Config,
) -> SearchResult:
    index = store.index()
    with snapshot(index.connection):
        state = index.state()  # pins the index first, the truth by the next read
        plan = make_plan(query, index, state, tuned(config.ranking))
        lift = lift_of(index, half_score(plan.values), plan.tuning.text)
        call = _Call(store, index, state, plan, request, lift.half, lift.heuristic, config.redaction_mode)
        found, evidence = Candidates([], 0.0), dict[int, Evidence]()
        first: list[frozenset[int]] = []
        if not filters.is_impossible:
            scope = facet_scope(store.truth, filters)
            # A passage has the support of its whole file, so a low row may still stand high.
            mattering = all_matter if request.is_by_passage else matters_for(request.limit, lift)
            found = find_candidates(index, state, plan, scope, mattering=mattering)
            if "-" in request.text and not request.is_by_passage:
                from ctxrank.ranking.retrieval.exact_names import is_name, with_rows_of_name  # a name has a hyphen

                if is_name(query):
                    found, first = with_rows_of_name(index, state, query, plan.tuning, scope, found)
            rows = refined(index, state, plan, found).rows
            if request.is_by_passage:
                from ctxrank.ranking.retrieval.passage_hits import parts_of  # only on request

                evidence = parts_of(index, state, plan, rows)
            else:
                evidence = grouped(rows)
        hits = _hits(call, evidence, first)
        # What is superseded stands behind everything current, and a passage has the support of its file: no bound.
        is_bounded = len(hits) == request.limit > 0 and not (request.is_by_passage or hits[-1].superseded_by)
        last_score = hits[-1].score if is_bounded else None
        suggestions: list[str] = []
        if not hits and plan.unknown:
            from ctxrank.ranking.retrieval.degraded.suggestions import near_terms  # only where nothing was found

            suggestions = near_terms(index, plan.unknown)
    outcome = "stale" if readiness.stale else "matched" if hits else "no_match"
    return SearchResult(
        query=str(query), outcome=outcome, engine="fts5", reason="", stale=readiness.stale,
        total=len(evidence) + found.passed_over, is_capped=not found.is_complete,
        is_exact=is_proven(found, lift, last_score), hits=tuple(hits), suggestions=tuple(suggestions),
        notes=filters.notes,
    )  # fmt: skip


class _Call(NamedTuple):
    """What all steps of one search share."""

    store: Store
    fts: Index
    state: IndexState
    plan: Plan
    request: SearchRequest
    half: float
    highest: float  # H that any document can have
    mode: RedactionMode


class _Ranked(NamedTuple):
    """A document before it is shown: its evidence and its score."""

    standing: Standing
    evidence: Evidence
    text: float
    parts: HeuristicParts
    score: float


def _hits(call: _Call, evidence: dict[int, Evidence], first: list[frozenset[int]]) -> list[Hit]:
    ranked = _ranked_in_groups(call, evidence, first) if first else _ranked(call, evidence, call.request.limit)
    owners = read_owners(call.fts.connection, [row.standing.id for row in ranked])
    stems = {stem for term in call.plan.terms if term.column in ("", "body") for stem in term.stems}
    hits: list[Hit] = []
    for row in ranked:
        owner = cleaned_owner(owners[row.standing.id], call.mode)
        passages = () if call.request.is_by_passage else _passage_hits(call, row, stems)
        shown = passages[0].snippet if passages else _snippet(call, owner.body, stems)
        explanation = None
        if call.request.is_explained:
            explanation = explain_blend(
                call.fts, call.state, call.plan, row.evidence, row.text, row.parts, call.plan.tuning.text
            )
        hits.append(make_hit(call.store, owner, row.score, shown, passages, explanation))
    return hits


def _ranked_in_groups(call: _Call, evidence: dict[int, Evidence], first: list[frozenset[int]]) -> list[_Ranked]:
    """The same where some documents come first, whatever their score; superseded ones stay last."""
    best: list[_Ranked] = []
    waiting = dict(evidence)
    for group in (*first, frozenset(evidence)):
        some = {id_: waiting.pop(id_) for id_ in group if id_ in waiting}
        best += _ranked(call, some, call.request.limit - len(best))
    return sorted(best, key=lambda row: row.standing.is_superseded)  # sorting is stable


def _ranked(call: _Call, evidence: dict[int, Evidence], limit: int) -> list[_Ranked]:
    """The best documents in order, as many as were asked for.

    They are blended by falling text score, until no heuristic could lift what is left above what is found.
    """
    limit = max(limit, 0)
    today = (now_us() if call.request.as_of is None else call.request.as_of) // DAY_US
    by_text = sorted(evidence, key=lambda owner_id: (-evidence[owner_id].score, -owner_id))
    best: list[_Ranked] = []
    weight = call.plan.tuning.text
    start, end = 0, min(_FIRST_CHUNK * limit, _CHUNK)
    while limit and start < len(by_text):
        highest = blended(calibrated(evidence[by_text[start]].score, call.half), call.highest, weight)
        if len(best) == limit and not best[-1].standing.is_superseded and best[-1].score > highest:
            break
        some = by_text[start:end]
        for standing in read_standings(call.fts.connection, some, call.state.applied_seq):
            entry = evidence[standing.id]
            text = calibrated(entry.score, call.half)
            parts = blended_heuristic(known_of(standing.priority, standing.created_at, today))
            best.append(_Ranked(standing, entry, text, parts, blended(text, parts.total, weight)))
        best.sort(key=lambda row: order_of(row.standing, row.score))
        del best[limit:]
        start, end = end, end + _CHUNK
    return best


def known_of(priority: str, created_at: int, today: int) -> Signals:
    """What the heuristic may use in a search: nobody asks, so no group or agent is favoured."""
    return Signals(priority, is_same_group=False, is_designated=False, days=today - created_at // DAY_US)


def order_of(standing: Standing, score: float) -> tuple[bool, float, int, int]:
    """Best first; what is superseded never stands before what is current; then the newest."""
    return standing.is_superseded, -score, -standing.created_at, -standing.id


def _passage_hits(call: _Call, row: _Ranked, stems: set[str]) -> tuple[PassageHit, ...]:
    shown: list[PassageHit] = []
    for candidate in row.evidence.passages[:SHOWN_PASSAGES]:
        found = call.fts.connection.execute(
            "SELECT id, title, start_line, end_line, body, ruleset FROM primary_db.documents WHERE id = ?",
            (document_id_of(candidate.rowid),),
        ).fetchone()
        if found is not None:
            require_sound(found, PASSAGE_TYPES)
            id_, heading, start, end, body, ruleset = found
            text = _snippet(call, cleaned(body, ruleset, call.mode), stems)
            score = round(calibrated(candidate.score, call.half), 6)
            shown.append(PassageHit(id_, cleaned(heading, ruleset, call.mode), start, end, text, score))
    return tuple(shown)


def _snippet(call: _Call, text: str, stems: set[str]) -> str:
    return snippet(call.fts, text, stems) if call.request.has_snippets else ""

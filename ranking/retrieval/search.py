"""Search: a query in, ranked hits with reasons out.

The engine selects, our own score ranks: candidates by BM25, grouped into one hit a file or package, then
blended with their ranking signals (blend.py). Without a usable index the same request is answered
from the primary database (fallback.py), and the answer says so.
"""

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.engine import (
    ENGINE_ERRORS,
    INDEX_READ_ERRORS,
    SWITCHED_OFF,
    Engine,
    IndexHealth,
    RankingSignals,
    Readiness,
    Statistics,
)
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.opening import engine_of
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.config import Config, load_config
from ctxrank.indexer.store.facets import document_id_of
from ctxrank.indexer.store.parents import StoredPassage, has_corrupt_rows
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.formulas.blend import blended, calibrated, half_score
from ctxrank.ranking.formulas.static_features import HeuristicParts, Signals, blended_heuristic
from ctxrank.ranking.formulas.tuning import tuned
from ctxrank.ranking.retrieval.candidates.candidates import Candidate, Candidates, find_candidates, no_threshold
from ctxrank.ranking.retrieval.candidates.top_k import FeatureLimits, feature_limits, top_k_threshold
from ctxrank.ranking.retrieval.cleaning import cleaned
from ctxrank.ranking.retrieval.filters import Filters, resolve_filters
from ctxrank.ranking.retrieval.grouping import SHOWN_PASSAGES, HitGroup, grouped
from ctxrank.ranking.retrieval.hits import (
    Foldable,
    Hit,
    PassageHit,
    SearchRequest,
    SearchResult,
    cleaned_parent,
    make_hit,
    make_passage_hit,
)
from ctxrank.ranking.retrieval.plan import Plan, make_plan
from ctxrank.ranking.retrieval.query import (
    MAX_QUERY_CHARS,
    Query,
    bounded_text,
    is_line_of_code,
    is_pasted,
    parse_query,
    plain_query,
    shown_query,
    shown_word,
)
from ctxrank.ranking.retrieval.rerank import reranked
from ctxrank.ranking.retrieval.snippets import NOTHING, Snippet, snippet, terms_in

CATCH_UP_MS = 2000
_RELAXED = "Nothing has all of that: the query was asked again as plain words."
_TOO_LONG = f"The query has {{:,}} characters: its first and last {MAX_QUERY_CHARS // 2:,} were asked."
_LEAST_CHOICE = 10
# Documents blended at a time, best text score first: first some for each that is shown, as each is a page to read, then
# each time twice as many.
_FIRST_CHUNK = 2
_CHUNK = 200
# A page whose hits fold is filled from further ones: so many for each that is missing, at least so many, and at most
# twice as many as before; until so many times the page have been read.
_READ_PER_MISSING, _LEAST_READ, _MOST_PAGES_READ = 4, 10, 16


def search(
    store: Store, request: SearchRequest, config: Config | None = None, engine: Engine | None = None
) -> SearchResult:
    """Ranked past findings. Raises UsageError for a kind, a phase or a moment that is none, CtxrankError.

    `config` and `engine` are the store's own where none are given.
    """
    if config is None:
        config = load_config(store)
    if engine is None:
        engine = engine_of(store)
    given, request = request.text, request._replace(text=bounded_text(request.text))
    query = query_of(request)
    filters = resolve_filters(store.primary, request, query)
    if request.text != given:
        filters = filters._replace(notes=(*filters.notes, _TOO_LONG.format(len(given))))
    with store.one_question():
        result = _answer(store, engine, request, query, filters, config)
        if result.hits or request.is_syntax or filters.is_impossible or not query.may_ask_too_much:
            return result
        relaxed = _answer(store, engine, request, query.as_plain_words(), filters, config)
    if not relaxed.hits:
        return result
    return relaxed._replace(query=result.query, is_relaxed=True, notes=(*relaxed.notes, _RELAXED))


def query_of(request: SearchRequest) -> Query:
    """The text as a query: what was typed by its syntax, what was pasted as words."""
    if request.is_syntax or not (request.is_plain or is_pasted(request.text)):
        return parse_query(request.text)
    return plain_query(request.text)


def _answer(
    store: Store, engine: Engine, request: SearchRequest, query: Query, filters: Filters, config: Config
) -> SearchResult:
    """The hits of one query, from the index or else from the primary database."""
    if query.is_empty and not query.excluded and filters.is_any:
        # Nothing to look for: the filters alone.
        from ctxrank.ranking.retrieval.degraded.listing import list_documents  # noqa: PLC0415  only then

        return list_documents(store, request, query, filters, config.redaction_mode)
    readiness = engine.make_ready(CATCH_UP_MS) if config.has_index else SWITCHED_OFF
    for attempt in range(2):
        if not readiness.is_usable:
            break
        engine = readiness.stand_in or engine
        try:
            return _search_index(store, engine, request, query, filters, readiness, config)
        except INDEX_READ_ERRORS as error:
            if not isinstance(error, ENGINE_ERRORS):
                if has_corrupt_rows(store.primary):  # it is not the index: a fresh one would lead to the same rows
                    readiness = readiness._replace(health=IndexHealth.CORRUPT_ROWS)
                    break
                if attempt:
                    raise
            readiness = engine.recover(error, CATCH_UP_MS)
    readiness = readiness.beyond_healing
    from ctxrank.ranking.retrieval.degraded.fallback import search_primary  # noqa: PLC0415  only without an index

    return search_primary(store, request, query, filters, readiness, config.redaction_mode)


def _search_index(
    store: Store,
    engine: Engine,
    request: SearchRequest,
    query: Query,
    filters: Filters,
    readiness: Readiness,
    config: Config,
) -> SearchResult:
    with engine.snapshot() as statistics:
        plan = make_plan(query, engine, statistics, tuned(config.ranking), expands=True)
        limits = feature_limits(engine, half_score(plan.values), plan.tuning.text)
        wants_prose = not request.is_by_passage and _wants_prose(request, query)
        call = _Call(
            store=store, engine=engine, statistics=statistics, plan=plan, request=request, half=limits.half,
            highest=limits.heuristic, mode=config.redaction_mode, wants_prose=wants_prose,
        )  # fmt: skip
        limit = request.limit
        page = _ranked_page(call, query, filters, limits, limit)
        hits = [one.hit for one in page.shown]
        if request.is_folded and len(page.shown) > 1:
            from ctxrank.ranking.retrieval.folding import folded_page  # noqa: PLC0415  a page of one hit has no copies

            hits = folded_page(page.shown, request.limit)
            while len(hits) < request.limit and len(page.shown) == limit < _MOST_PAGES_READ * request.limit:
                missing = request.limit - len(hits)
                limit = min(2 * limit, limit + max(_READ_PER_MISSING * missing, _LEAST_READ))
                if page.found.is_complete:  # no other rows could come
                    page = page._replace(shown=[*page.shown, *_hits(call, page, limit, len(page.shown))])
                else:
                    page = _ranked_page(call, query, filters, limits, limit)
                hits = folded_page(page.shown, request.limit)
        found, groups = page.found, page.groups
        suggestions: list[str] = []
        if not hits and plan.unknown:
            from ctxrank.ranking.retrieval.degraded.suggestions import (  # noqa: PLC0415  only where nothing was found
                suggested_words,
            )

            suggestions = suggested_words(engine, plan.unknown)
        facets = None
        if request.has_facets:
            from ctxrank.ranking.retrieval.facet_counts import facets_of  # noqa: PLC0415  few searches ask for them

            facets = facets_of(store.primary, sorted(groups, key=lambda id_: -groups[id_].score), now_us())
    outcome = "stale" if readiness.stale else "matched" if hits else "no_match"
    if readiness.reason:
        outcome = "degraded"
    return SearchResult(
        query=shown_query(query), outcome=outcome, engine=engine.name, reason=readiness.reason, stale=readiness.stale,
        total=len(groups) + found.pruned_count, is_capped=not found.is_complete,
        is_exact=found.is_complete, hits=tuple(hits), suggestions=tuple(suggestions),
        notes=filters.notes, corrections=plan.corrections, unknown=tuple(map(shown_word, plan.unknown)), facets=facets,
    )  # fmt: skip


class _Call(NamedTuple):
    """What all steps of one search share."""

    store: Store
    engine: Engine
    statistics: Statistics
    plan: Plan
    request: SearchRequest
    half: float
    highest: float  # H that any document can have
    mode: RedactionMode
    wants_prose: bool  # whole files count, too


class _Page(NamedTuple):
    """The best hits in order, and all that they were chosen from."""

    found: Candidates
    groups: dict[int, HitGroup]
    first: list[frozenset[int]]  # documents that come first, whatever their score
    shown: list[Foldable]


class _Ranked(NamedTuple):
    """A document before it is shown: its rows and its score."""

    signals: RankingSignals
    group: HitGroup
    text: float
    parts: HeuristicParts
    score: float


def _ranked_page(call: _Call, query: Query, filters: Filters, limits: FeatureLimits, limit: int) -> _Page:
    """The best `limit` hits of the index."""
    engine, statistics, plan, request = call.engine, call.statistics, call.plan, call.request
    if filters.is_impossible:
        return _Page(Candidates([], is_complete=True), {}, [], [])
    # A passage has the support of its whole file, so a low row may still come out high.
    # A file of prose may have that of its whole, and a short page must not have fewer files to choose from.
    least = _LEAST_CHOICE if call.wants_prose else 0
    threshold_of = no_threshold if request.is_by_passage else top_k_threshold(max(limit, least), limits)
    found = find_candidates(engine, statistics, plan, filters.scope, threshold_of=threshold_of)
    first: list[frozenset[int]] = []
    if not request.is_by_passage and (_may_name(request.text, query) or _is_line_of_code(request)):
        found, first = _with_rows_of_name(call, query, filters, found)
    rows = reranked(engine, statistics, plan, found).rows
    if request.is_by_passage:
        from ctxrank.ranking.retrieval.passage_hits import passage_groups  # noqa: PLC0415  only on request

        groups = passage_groups(engine, statistics, plan, rows)
    else:
        groups = grouped(rows)
    if call.wants_prose:
        from ctxrank.ranking.retrieval.whole_files import add_wholes  # noqa: PLC0415  few queries ask for prose

        add_wholes(engine, statistics, plan, rows, groups)
    page = _Page(found, groups, first, [])
    return page._replace(shown=_hits(call, page, limit))


def _may_name(text: str, query: Query) -> bool:
    """Whether a name or a file may be meant: it has a hyphen or a dot, and a file among other words has a line, too."""
    return ("-" in text or "." in text) and (len(query.terms) == 1 or ":" in text or ", line " in text)


def _is_line_of_code(request: SearchRequest) -> bool:
    return not request.is_syntax and is_line_of_code(request.text)


def _wants_prose(request: SearchRequest, query: Query) -> bool:
    """Whether a sentence was typed that asks for an explanation; what was pasted is a text and no question."""
    if is_pasted(request.text) or not query.is_sentence:
        return False
    from ctxrank.ranking.retrieval.questions import asks_for_prose  # noqa: PLC0415  few queries are sentences

    return asks_for_prose(query)


def _with_rows_of_name(
    call: _Call, query: Query, filters: Filters, found: Candidates
) -> tuple[Candidates, list[frozenset[int]]]:
    """For a name, a line of code or named files: also what holds it as typed, and the documents that come first."""
    from ctxrank.ranking.retrieval.exact_names import (  # noqa: PLC0415  few queries are names
        is_name,
        named_files,
        with_rows_of_files,
        with_rows_of_line,
        with_rows_of_name,
    )

    if files := named_files(query, call.request.text):
        return with_rows_of_files(call.engine, call.statistics, call.plan, filters.scope, found, files)
    if _is_line_of_code(call.request):
        line = call.request.text.strip()
        return with_rows_of_line(call.engine, call.statistics, call.plan, filters.scope, found, line)
    if not is_name(query):
        return found, []
    from ctxrank.indexer.extensions import NAMED_DOCUMENTS, is_installed, provided  # noqa: PLC0415  as above

    named = frozenset[int]()
    if is_installed("links"):
        named = provided(NAMED_DOCUMENTS, "search")(call.store.primary, query.terms[0].text)
    return with_rows_of_name(call.engine, call.statistics, query, call.plan.tuning, filters.scope, found, named)


def _hits(call: _Call, page: _Page, limit: int, start: int = 0) -> list[Foldable]:
    """The best `limit` hits of all that were found, from the `start`-th on."""
    first = page.first
    ranked = _ranked_in_groups(call, page.groups, first, limit) if first else _ranked(call, page.groups, limit)
    del ranked[:start]
    parents = call.engine.parents([row.signals.id for row in ranked])
    shown_ids = [document_id_of(shown.rowid) for row in ranked for shown in _shown_rows(call, row)]
    stored = call.engine.passages(shown_ids) if shown_ids else {}
    values = _term_values(call.plan)
    folders: dict[str, str | None] = {}
    hits: list[Foldable] = []
    for row in ranked:
        parent = cleaned_parent(parents[row.signals.id], call.mode)
        read = _read_passages(call, row, stored, parent.path, values)
        best = read[0] if read else _ReadPassage(parent.body, _snippet(call, parent.body, values), None)
        explanation = shares = None
        if call.request.is_explained:
            from ctxrank.ranking.retrieval.explain import (  # noqa: PLC0415  only where the trees are read
                explain_blend,
                score_shares,
            )

            explanation = explain_blend(
                call.engine, call.statistics, call.plan, row.group, row.text, row.parts, call.plan.tuning.text
            )
            shares = score_shares(call.engine, call.statistics, call.plan, row.group, row.text, row.parts)
        passages = tuple(one.hit for one in read if one.hit is not None)
        hit = make_hit(call.store, parent, row.score, best.snippet, passages, explanation, folders, shares)

        def terms(hit: Hit = hit, best: _ReadPassage = best) -> frozenset[str]:
            unread = "" if call.request.has_snippets else best.text
            return best.snippet.terms | terms_in(call.engine, f"{hit.title}\n{hit.path}\n{unread}", values)

        hits.append(Foldable(hit, best.text, terms))
    return hits


def _term_values(plan: Plan) -> dict[str, float]:
    """What the query's words are in the index, and how much each is worth."""
    values: dict[str, float] = {}
    for term in plan.terms:
        if term.column in ("", "body"):
            for stem in term.stems:
                values[stem] = max(term.value, values.get(stem, 0.0))
    return values


def _ranked_in_groups(
    call: _Call, groups: dict[int, HitGroup], first: list[frozenset[int]], limit: int
) -> list[_Ranked]:
    """The same where some documents come first, whatever their score; superseded ones stay last."""
    best: list[_Ranked] = []
    waiting = dict(groups)
    for ids in (*first, frozenset(groups)):
        some = {id_: waiting.pop(id_) for id_ in ids if id_ in waiting}
        best += _ranked(call, some, limit - len(best))
    return sorted(best, key=lambda row: row.signals.is_superseded)  # sorting is stable


def _ranked(call: _Call, groups: dict[int, HitGroup], limit: int) -> list[_Ranked]:
    """The best documents in order, as many as were asked for.

    They are blended by falling text score, until no heuristic could lift what is left above what is found.
    """
    limit = max(limit, 0)
    today = (now_us() if call.request.as_of is None else call.request.as_of) // DAY_US
    by_text = sorted([(group.score, parent_id) for parent_id, group in groups.items()], reverse=True)
    best: list[_Ranked] = []
    weight = call.plan.tuning.text
    start, end = 0, min(_FIRST_CHUNK * limit, _CHUNK)
    while limit and start < len(by_text):
        highest = blended(calibrated(by_text[start][0], call.half), call.highest, weight)
        if len(best) == limit and not best[-1].signals.is_superseded and best[-1].score > highest:
            break
        for signals in call.engine.signals([parent_id for _, parent_id in by_text[start:end]]):
            group = groups[signals.id]
            text = calibrated(group.score, call.half)
            parts = blended_heuristic(static_features(signals.priority, signals.created_at, today))
            best.append(_Ranked(signals, group, text, parts, blended(text, parts.total, weight)))
        best.sort(key=lambda row: order_of(row.signals, row.score))
        del best[limit:]
        start, end = end, end + min(2 * (end - start), _CHUNK)
    return best


def static_features(priority: str, created_at: int, today: int) -> Signals:
    """What the heuristic may use in a search: no agent asks, so no group or agent is favoured."""
    return Signals(priority, is_same_group=False, is_designated=False, days=today - created_at // DAY_US)


def order_of(signals: RankingSignals, score: float) -> tuple[bool, float, int, int]:
    """Best first; what is superseded never comes before what is current; then the newest."""
    return signals.is_superseded, -score, -signals.created_at, -signals.id


def _shown_rows(call: _Call, row: _Ranked) -> list[Candidate]:
    """The passages that a hit shows; a passage that is a hit of its own shows itself."""
    return row.group.passages[: 1 if call.request.is_by_passage else SHOWN_PASSAGES]


class _ReadPassage(NamedTuple):
    """A text of a hit, what is shown of it, and the passage that it is."""

    text: str
    snippet: Snippet
    hit: PassageHit | None


def _read_passages(
    call: _Call, row: _Ranked, stored: dict[int, StoredPassage], path: str, values: dict[str, float]
) -> list[_ReadPassage]:
    read: list[_ReadPassage] = []
    for candidate in _shown_rows(call, row):
        passage = stored.get(document_id_of(candidate.rowid))
        if passage is not None:
            id_, heading, start, end, body, ruleset = passage
            text = cleaned(body, ruleset, call.mode)
            shown = _snippet(call, text, values, path, start)
            score = calibrated(candidate.score, call.half)
            hit = make_passage_hit(id_, cleaned(heading, ruleset, call.mode), start, end, shown, score)
            read.append(_ReadPassage(text, shown, hit))
    return read


def _snippet(call: _Call, text: str, values: dict[str, float], path: str = "", first_line: int = 1) -> Snippet:
    if not call.request.has_snippets:
        return NOTHING
    return snippet(call.engine, text, values, path=path, first_line=first_line)

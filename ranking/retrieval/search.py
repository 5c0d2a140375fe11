"""Search: a query in, ranked hits with reasons out.

The engine selects, our own score ranks: candidates by BM25, grouped into one hit a file or package, then
blended with their ranking signals (blend.py). Without a usable index the same request is answered
from the primary database (fallback.py), and the answer says so.
"""

from collections.abc import Collection, Iterator, Mapping

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.engine import PATH, Engine, Statistics
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.opening import answer_of, engine_of
from ctxrank.indexer.store.config import Config, load_config
from ctxrank.indexer.store.facets import document_id_of
from ctxrank.indexer.store.freshness import FileStates, has_roots
from ctxrank.indexer.store.parents import ParentDocument, RankingSignals
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.formulas.blend import blended, calibrated
from ctxrank.ranking.formulas.static_features import BLENDED, HeuristicParts, heuristic
from ctxrank.ranking.formulas.tuning import tuned
from ctxrank.ranking.retrieval.candidates.candidates import Candidates, find_candidates, no_threshold
from ctxrank.ranking.retrieval.candidates.top_k import FeatureLimits, feature_limits, top_k_threshold
from ctxrank.ranking.retrieval.cleaning import cleaned_parent
from ctxrank.ranking.retrieval.filters import notes_on_paths, resolve_filters
from ctxrank.ranking.retrieval.grouping import SHOWN_PASSAGES, HitGroup, grouped
from ctxrank.ranking.retrieval.hits import (
    MOST_COUNTED,
    Foldable,
    Hit,
    Question,
    SearchRequest,
    SearchResult,
    ShownText,
    facets_of,
    make_hit,
    show_passage,
    signals_of,
)
from ctxrank.ranking.retrieval.plan import Plan, make_plan
from ctxrank.ranking.retrieval.query import (
    MAX_QUERY_CHARS,
    Query,
    bounded_text,
    is_line_of_code,
    is_pasted,
    parse_query,
    shown_query,
    shown_word,
)
from ctxrank.ranking.retrieval.rerank import reranked
from ctxrank.ranking.retrieval.snippets import NOTHING, Snippet, snippet, terms_in

if TYPE_CHECKING:
    from ctxrank.ranking.retrieval.file_kinds import Priors

CATCH_UP_MS = 2000
_RELAXED = "Nothing has all of that: the query was asked again as plain words."
_TOO_LONG = f"The query has {{:,}} characters: its first and last {MAX_QUERY_CHARS // 2:,} were asked."
_LEAST_CHOICE_OF_FILES = 60
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
    config = config or load_config(store)  # it says which engine answers
    engine = engine or engine_of(store)
    length = len(request.text)
    request = request._replace(text=bounded_text(request.text))
    query = query_of(request)
    filters = resolve_filters(store.primary, request, query)
    if length > MAX_QUERY_CHARS:
        filters = filters._replace(notes=(*filters.notes, _TOO_LONG.format(length)))
    today = (now_us() if request.as_of is None else request.as_of) // DAY_US
    question = Question(store, request, query, filters, config, today)
    with store.one_question():
        result = _answer(question, engine)
        if not result.hits:
            result = result._replace(notes=(*result.notes, *notes_on_paths(store.primary, filters.scope.paths)))
        if result.hits or request.is_syntax or filters.is_impossible or not query.may_ask_too_much:
            return result
        relaxed = _answer(question._replace(query=query.as_plain_words()), engine)
    if not relaxed.hits:
        return result
    return relaxed._replace(query=result.query, is_relaxed=True, notes=(*relaxed.notes, _RELAXED))


def query_of(request: SearchRequest) -> Query:
    """The text as a query: what was typed by its syntax, what was pasted as words."""
    if request.is_syntax or not (request.is_plain or is_pasted(request.text)):
        return parse_query(request.text)
    from ctxrank.ranking.retrieval.task_text import pasted_query  # noqa: PLC0415  start-up: most queries are typed

    return pasted_query(request.text)


def _answer(question: Question, engine: Engine) -> SearchResult:
    """The hits of one query, from the index or else from the primary database."""
    query = question.query
    if not query.terms and not query.excluded and question.filters.is_any:
        # Nothing to look for: the filters alone. Exclusions alone thin a search, and start none.
        from ctxrank.ranking.retrieval.degraded.listing import list_documents  # noqa: PLC0415  only then

        return list_documents(question)

    def ask(engine: Engine, statistics: Statistics) -> SearchResult:
        plan = make_plan(query, engine, statistics, tuned(question.config.ranking), expands=True)
        return _search_index(question, plan)

    found, readiness = answer_of(question.store, engine, question.config, CATCH_UP_MS, ask)
    if found is not None:
        outcome = "degraded" if readiness.reason else "stale" if readiness.stale else found.outcome
        return found._replace(outcome=outcome, reason=readiness.reason, stale=readiness.stale)
    from ctxrank.ranking.retrieval.degraded.fallback import search_primary  # noqa: PLC0415  only without an index

    return search_primary(question, readiness)


def _search_index(question: Question, plan: Plan) -> SearchResult:
    """The answer of an index, in the caller's snapshot."""
    request, query, filters = question.request, question.query, question.filters
    call = _Call(question, plan, feature_limits(plan))
    limit = request.limit
    page = _ranked_page(call, limit)
    hits = [one.hit for one in page.shown]
    if request.is_folded and len(page.shown) > 1:
        from ctxrank.ranking.retrieval.folding import folded_page  # noqa: PLC0415  a page of one hit has no copies

        hits = folded_page(page.shown, request.limit)
        while len(hits) < request.limit and len(page.shown) == limit < _MOST_PAGES_READ * request.limit:
            missing = request.limit - len(hits)
            limit = min(2 * limit, limit + max(_READ_PER_MISSING * missing, _LEAST_READ))
            if page.found.is_complete:  # no other rows could come
                page.shown.extend(_hits(call, page, limit, len(page.shown)))
            else:
                page = _ranked_page(call, limit)
            hits = folded_page(page.shown, request.limit)
    suggestions: list[str] = []
    if not hits and plan.unknown:
        from ctxrank.ranking.retrieval.degraded.suggestions import (  # noqa: PLC0415  only where nothing was found
            suggested_words,
        )

        suggestions = suggested_words(plan.engine, plan.unknown)

    def counted() -> Collection[ParentDocument]:
        best_first = sorted(page.groups, key=lambda id_: -page.groups[id_].score)
        return plan.engine.parents(best_first[:MOST_COUNTED]).values()

    return SearchResult(
        shown_query(query), "matched" if hits else "no_match", plan.engine.name,
        total=len(page.groups) + page.found.pruned_count, is_capped=not page.found.is_complete,
        is_exact=page.found.is_complete, hits=tuple(hits), suggestions=tuple(suggestions), notes=filters.notes,
        corrections=plan.corrections, unknown=tuple(map(shown_word, plan.unknown)), facets=facets_of(question, counted),
    )  # fmt: skip


class _Call(NamedTuple):
    """What all steps of one search of an index share."""

    question: Question
    plan: Plan
    limits: FeatureLimits


class _Page(NamedTuple):
    """The best hits in order, and all that they were chosen from."""

    found: Candidates
    groups: dict[int, HitGroup]
    first: list[frozenset[int]]  # documents that come first, whatever their score
    shown: list[Foldable]
    known: dict[int, RankingSignals]  # of those that were read
    priors: "Priors | None" = None  # of files, where any has passages
    others: Mapping[int, str] = {}  # files of another checkout, and where that is


class _Ranked(NamedTuple):
    """A document before it is shown: its rows and its score."""

    signals: RankingSignals
    group: HitGroup
    text: float
    parts: HeuristicParts
    score: float


def _ranked_page(call: _Call, limit: int) -> _Page:
    """The best `limit` hits of the index."""
    plan, (_, request, query, filters, *_) = call.plan, call.question
    if filters.is_impossible:
        return _Page(Candidates([], is_complete=True), {}, [], [], {})
    # A passage has the support of its whole file, so a low row may still come out high.
    # So may one of a file whose kind counts less leave its place to others.
    least = _LEAST_CHOICE_OF_FILES if call.limits.has_passages else 0
    threshold_of = no_threshold if request.is_by_passage else top_k_threshold(max(limit, least), call.limits)
    found = find_candidates(plan, filters.scope, threshold_of=threshold_of)
    first: list[frozenset[int]] = []
    # A name, a file or a line of code may be meant: a file among other words has a line, too.
    text = request.text
    is_one = len(query.terms) == 1
    may_be = is_one or ":" in text or ", line " in text
    may_name = (may_be and ("-" in text or "." in text)) or (not request.is_syntax and is_line_of_code(text))
    if may_name and not request.is_by_passage:
        from ctxrank.ranking.retrieval.exact_names import with_what_is_named  # noqa: PLC0415  few queries are names

        found, first = with_what_is_named(plan, call.question, found)
    elif is_one and not request.is_by_passage and any(term.path_ids or term.field == PATH for term in plan.terms):
        from ctxrank.ranking.retrieval.named_paths import with_named_paths  # noqa: PLC0415  only where paths have it

        found = with_named_paths(plan, found, query.terms[0])
    if plan.wholes and not plan.required:
        from ctxrank.ranking.retrieval.exact_names import with_rows_of_wholes  # noqa: PLC0415  few queries have any

        found = with_rows_of_wholes(plan, filters.scope, found)
    rows = reranked(plan, found).rows
    if request.is_by_passage:
        from ctxrank.ranking.retrieval.passage_hits import passage_groups  # noqa: PLC0415  only on request

        groups = passage_groups(plan, rows)
    else:
        groups = grouped(rows)
    priors = None
    if call.limits.has_passages:
        from ctxrank.ranking.retrieval.file_kinds import Priors  # noqa: PLC0415  start-up: only files have passages

        priors = Priors(plan, text, query, groups, _LEAST_CHOICE_OF_FILES, is_by_passage=request.is_by_passage)
        # A sentence that was typed may ask for an explanation; what was pasted is a text and no question.
        if not request.is_by_passage and query.is_sentence and not is_pasted(text):
            from ctxrank.ranking.retrieval.whole_files import add_wholes  # noqa: PLC0415  few queries are sentences

            add_wholes(query, plan, rows, groups, priors)
    others: Mapping[int, str] = {}
    if has_roots(call.question.store.primary):
        from ctxrank.ranking.retrieval.checkouts import files_elsewhere  # noqa: PLC0415  most projects have one checkout

        removed, others = files_elsewhere(call.question.store, groups)
        for id_ in removed:
            del groups[id_]
    page = _Page(found, groups, first, [], priors.known if priors else {}, priors, others)
    page.shown.extend(_hits(call, page, limit))
    return page


def _hits(call: _Call, page: _Page, limit: int, start: int = 0) -> Iterator[Foldable]:
    """The best `limit` hits of all that were found, from the `start`-th on."""
    (store, request, _, _, config, _), plan, engine = call.question, call.plan, call.plan.engine
    ranked = _ranked(call, page, limit)[start:]
    parents = engine.parents([row.signals.id for row in ranked])
    # A passage that is a hit of its own shows itself.
    most = 1 if request.is_by_passage else SHOWN_PASSAGES
    shown_ids = [document_id_of(shown.rowid) for row in ranked for shown in row.group.passages[:most]]
    stored = engine.passages(shown_ids) if shown_ids else {}
    values = plan.stems
    states = FileStates(store)
    states.expect(parent.artifact_id for parent in parents.values())
    for row in ranked:
        parent = cleaned_parent(parents[row.signals.id], config.redaction_mode)

        named = [bonus.line for one in row.group.passages[:most] for bonus in one.bonuses if bonus.line]

        def cut(text: str, first_line: int = 1, path: str = parent.path, named: list[int] = named) -> Snippet:
            return snippet(engine, text, values, path, first_line, named) if request.has_snippets else NOTHING

        read = [
            show_passage(stored[id_], config.redaction_mode, cut, calibrated(one.score, call.limits.half))
            for one in row.group.passages[:most]
            if (id_ := document_id_of(one.rowid)) in stored
        ]
        best = read[0] if read else ShownText(parent.body, cut(parent.body, path=""))
        explanation = shares = None
        if request.is_explained:
            from ctxrank.ranking.retrieval.explain import explain_blend  # noqa: PLC0415  only where trees are read

            explanation, shares = explain_blend(plan, row.group, row.text, row.parts, plan.tuning.text)
        passages = tuple(one.passage for one in read if one.passage is not None)
        checkout = page.others.get(row.signals.id, "")
        hit = make_hit(states, parent, row.score, best.snippet, passages, explanation, shares, checkout)

        def terms(hit: Hit = hit, best: ShownText = best) -> frozenset[str]:
            unread = "" if request.has_snippets else best.text
            return best.snippet.terms | terms_in(engine, f"{hit.title}\n{hit.path}\n{unread}", values)

        yield Foldable(hit, best.text, terms)


def _ranked(call: _Call, page: _Page, limit: int) -> list[_Ranked]:
    """The best documents in order: those that come first, then all others; superseded ones last.

    They are blended by falling text score, until no heuristic could lift what is left above what is found.
    """
    ranked: list[_Ranked] = []
    groups, taken = page.groups, set[int]()
    half, weight, today = call.limits.half, call.plan.tuning.text, call.question.today
    most_lifted = page.priors.highest if page.priors else 1.0
    for ids in (*page.first, groups.keys()):
        by_text = sorted([(groups[id_].score, id_) for id_ in ids if id_ in groups and id_ not in taken], reverse=True)
        taken |= ids
        best: list[_Ranked] = []
        wanted = max(limit, 0) - len(ranked)
        start, end = 0, min(_FIRST_CHUNK * wanted, _CHUNK)
        while wanted and start < len(by_text):
            highest = blended(calibrated(by_text[start][0] * most_lifted, half), call.limits.heuristic, weight)
            if len(best) == wanted and not best[-1].signals.is_superseded and best[-1].score > highest:
                break
            ids_read = [parent_id for _, parent_id in by_text[start:end]]
            unread = [id_ for id_ in ids_read if id_ not in page.known]
            page.known.update({one.id: one for one in call.plan.engine.signals(unread)} if unread else {})
            for signals in [page.known[id_] for id_ in ids_read if id_ in page.known]:
                group = groups[signals.id]
                if page.priors:
                    page.priors.give(group, signals)
                text = calibrated(group.worth, half)
                parts = heuristic(signals_of(signals, today), BLENDED)
                score = blended(text, parts.total, weight)
                best.append(_Ranked(signals, group, text, parts, score))
            best = _in_order(best, page.others, has_copies=not call.question.request.is_by_passage)[:wanted]
            start, end = end, end + min(2 * (end - start), _CHUNK)
        ranked += best
    return sorted(ranked, key=lambda row: row.signals.is_superseded)  # sorting is stable


def _in_order(ranked: list[_Ranked], others: Collection[int], *, has_copies: bool) -> list[_Ranked]:
    """Best first, then the newest; what is superseded never comes before what is current.

    What is in another checkout is behind those with the same score, and a file there behind the own file of its path.
    """
    lead: dict[str, float] = {}  # a path → the best score of its copies elsewhere
    for row in ranked if others and has_copies else ():
        if row.signals.path and row.signals.id in others:
            lead[row.signals.path] = max(row.score, lead.get(row.signals.path, 0.0))

    def order(row: _Ranked) -> tuple[bool, float, bool, float, int, int]:
        id_, _, created_at, is_superseded, path = row.signals
        score = row.score if id_ in others else max(row.score, lead.get(path, 0.0))
        return is_superseded, -score, id_ in others, -row.score, -created_at, -id_

    return sorted(ranked, key=order)

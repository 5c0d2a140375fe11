"""A search of filters alone: what there is, by what is known of it, the newest first among equals."""

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.engine import IndexHealth
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.parents import ParentDocument, ReadParents, parents_in_scope
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line
from ctxrank.ranking.formulas.static_features import HeuristicParts, Signals, heuristic
from ctxrank.ranking.retrieval.explain import explain_heuristic
from ctxrank.ranking.retrieval.filters import Filters
from ctxrank.ranking.retrieval.hits import SearchRequest, SearchResult, cleaned_parent, corrupt_row_notes, make_hit
from ctxrank.ranking.retrieval.query import Query, shown_query
from ctxrank.ranking.retrieval.snippets import NOTHING

_SHOWN_CHARS = 200


def list_documents(
    store: Store, request: SearchRequest, query: Query, filters: Filters, mode: RedactionMode
) -> SearchResult:
    """All documents that pass the filters, by the heuristic alone: without a score, and nothing is folded."""
    today = (now_us() if request.as_of is None else request.as_of) // DAY_US
    read = ReadParents([], []) if filters.is_impossible else parents_in_scope(store.primary, filters.scope)
    parents, corrupt = read

    def order(parent: ParentDocument) -> tuple[bool, float, int, int]:
        return parent.superseded_by is not None, -_known(parent, today).total, -parent.created_at, -parent.id

    parents.sort(key=order)
    hits = tuple(
        make_hit(
            store, parent, None, NOTHING._replace(text=one_line(parent.body[:_SHOWN_CHARS])), (),
            explain_heuristic(_known(parent, today)) if request.is_explained else None,
        )
        for parent in (cleaned_parent(parent, mode) for parent in parents[: max(request.limit, 0)])
    )  # fmt: skip
    facets = None
    if request.has_facets:
        from ctxrank.ranking.retrieval.facet_counts import FacetRow, counted  # noqa: PLC0415  few searches ask for them

        rows = (FacetRow(parent.kind, parent.session, parent.priority, parent.created_at) for parent in parents)
        facets = counted(rows, now_us())
    outcome = "degraded" if corrupt else "matched" if hits else "no_match"
    return SearchResult(
        query=shown_query(query), outcome=outcome, engine="heuristic",
        reason=IndexHealth.CORRUPT_ROWS if corrupt else "", stale=0,
        total=len(parents), is_capped=False, is_exact=not corrupt, hits=hits, suggestions=(),
        notes=(*filters.notes, *corrupt_row_notes(corrupt)), facets=facets,
    )  # fmt: skip


def _known(parent: ParentDocument, today: int) -> HeuristicParts:
    return heuristic(Signals(parent.priority, False, False, today - parent.created_at // DAY_US))

"""A search of filters alone: what there is, by what is known of it, the newest first among equals."""

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.fulltext.index_file import Trouble
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line
from ctxrank.ranking.formulas.static_features import HeuristicParts, Signals, heuristic
from ctxrank.ranking.retrieval.explain import explain_heuristic
from ctxrank.ranking.retrieval.filters import Filters, documents_condition
from ctxrank.ranking.retrieval.hits import SearchRequest, SearchResult
from ctxrank.ranking.retrieval.parents import OwnerRow, Owners, all_owners, cleaned_owner, make_hit, torn_notes
from ctxrank.ranking.retrieval.query import Query

_SHOWN_CHARS = 200


def list_documents(
    store: Store, request: SearchRequest, query: Query, filters: Filters, mode: RedactionMode
) -> SearchResult:
    """All documents that pass the filters, by the heuristic alone; no index is asked."""
    today = (now_us() if request.as_of is None else request.as_of) // DAY_US
    condition, values = documents_condition(filters)
    owners, torn = Owners([], []) if filters.is_impossible else all_owners(store.truth, condition, values)

    def order(owner: OwnerRow) -> tuple[bool, float, int, int]:
        return owner.superseded_by is not None, -_known(owner, today).total, -owner.created_at, -owner.id

    owners.sort(key=order)
    hits = tuple(
        make_hit(
            store, owner, _known(owner, today).total, one_line(owner.body[:_SHOWN_CHARS]), (),
            explain_heuristic(_known(owner, today)) if request.is_explained else None,
        )
        for owner in (cleaned_owner(owner, mode) for owner in owners[: max(request.limit, 0)])
    )  # fmt: skip
    outcome = "degraded" if torn else "matched" if hits else "no_match"
    return SearchResult(
        query=str(query), outcome=outcome, engine="heuristic", reason=Trouble.TORN.value if torn else "", stale=0,
        total=len(owners), is_capped=False, is_exact=not torn, hits=hits, suggestions=(),
        notes=(*filters.notes, *torn_notes(torn)),
    )  # fmt: skip


def _known(owner: OwnerRow, today: int) -> HeuristicParts:
    return heuristic(Signals(owner.priority, False, False, today - owner.created_at // DAY_US))

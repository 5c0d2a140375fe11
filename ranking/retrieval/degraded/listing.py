"""A search of filters alone: what there is, by what is known of it, the newest first among equals."""

from ctxrank.indexer.engine import IndexHealth
from ctxrank.indexer.store.freshness import FileStates
from ctxrank.indexer.store.parents import ParentDocument, parents_in_scope
from ctxrank.indexer.text.lines import one_line
from ctxrank.ranking.formulas.static_features import heuristic
from ctxrank.ranking.retrieval.checkouts import files_elsewhere
from ctxrank.ranking.retrieval.cleaning import cleaned_parent
from ctxrank.ranking.retrieval.explain import explain_heuristic
from ctxrank.ranking.retrieval.hits import (
    Question,
    SearchResult,
    corrupt_row_notes,
    facets_of,
    make_hit,
    signals_of,
)
from ctxrank.ranking.retrieval.query import shown_query
from ctxrank.ranking.retrieval.snippets import NOTHING

_SHOWN_CHARS = 200


def list_documents(question: Question) -> SearchResult:
    """All documents that pass the filters, by the heuristic alone: without a score, and nothing is folded."""
    store, request, query, filters, config, today = question
    parents, corrupt = ([], []) if filters.is_impossible else parents_in_scope(store.primary, filters.scope)
    removed, others = files_elsewhere(store, [parent.id for parent in parents])
    parents = [parent for parent in parents if parent.id not in removed]

    def order(parent: ParentDocument) -> tuple[bool, float, bool, int, int]:
        known = heuristic(signals_of(parent, today)).total
        return parent.superseded_by is not None, -known, parent.id in others, -parent.created_at, -parent.id

    parents.sort(key=order)
    states = FileStates(store)
    hits = tuple(
        make_hit(
            states, parent, None, NOTHING._replace(text=one_line(parent.body[:_SHOWN_CHARS])), (),
            explain_heuristic(heuristic(signals_of(parent, today))) if request.is_explained else None,
            checkout=others.get(parent.id, ""),
        )
        for parent in (cleaned_parent(parent, config.redaction_mode) for parent in parents[: max(request.limit, 0)])
    )  # fmt: skip
    return SearchResult(
        shown_query(query), "degraded" if corrupt else "matched" if hits else "no_match",
        reason=IndexHealth.CORRUPT_ROWS if corrupt else "", total=len(parents), is_exact=not corrupt, hits=hits,
        notes=(*filters.notes, *corrupt_row_notes(corrupt)), facets=facets_of(question, lambda: parents),
    )  # fmt: skip

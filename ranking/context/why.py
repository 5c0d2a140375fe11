"""Why a document was in a block or a context, or was not: from the receipt, and where that is silent from the store.

why(store, DocumentRef("package", 12), get_receipt(store.primary, 7))     "rank 9 of limit 5"
why(store, "NORM-API-001", get_receipt(store.primary, 8))
    "linked by no artifact that TASK-042 reaches: SPEC-API-001 lists it, but TASK-042 does not reach SPEC-API-001"
"""

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.receipts import Entry, Receipt
from ctxrank.indexer.store.ids import DocumentRef
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.assembly.absence import why_no_candidate
from ctxrank.ranking.context.assembly.order import DELIVERED
from ctxrank.ranking.context.links.absence import load_graph_of, why_not_reached


class Why(NamedTuple):
    """What became of a document in one assembly or context; `reasons` has the decisive one first."""

    id: str
    is_included: bool
    detail: str
    tokens: int
    reasons: tuple[str, ...]


def why(store: Store, document: DocumentRef | str, receipt: Receipt) -> Why:
    """What became of a document, or of the artifact of `.contextia/` with an id, in the text of a receipt.

    Raises NotFoundError for an id that never was.
    """
    if isinstance(document, DocumentRef):
        id_ = str(document)
        entry = receipt.entry(id_)
        return _absent(id_, why_no_candidate(store, document, receipt)) if entry is None else _of_entry(entry, receipt)
    graph = load_graph_of(store, receipt)
    by_fold = {known.lower(): known for known in (*graph.nodes, *(entry.id for entry in receipt.entries))}
    id_ = by_fold.get(document.lower(), document)
    entry = receipt.entry(id_)
    if entry is not None:
        return Why(id_, entry.is_included, entry.detail, entry.tokens, tuple(entry.reason.split("; ")))
    return _absent(id_, why_not_reached(store, graph, id_, receipt))


def _of_entry(entry: Entry, receipt: Receipt) -> Why:
    # Deliveries count within one iteration: that of the receipt.
    reasons = [entry.reason.replace(DELIVERED, f"delivered at iteration {receipt.iteration}")]
    reasons += [
        f"not {other.detail or 'more'} of it: {other.reason}"
        for other in receipt.entries
        if other.id == entry.id and entry.is_included and not other.is_included
    ]
    return Why(entry.id, entry.is_included, entry.detail, entry.tokens, tuple(filter(None, reasons)))


def _absent(id_: str, reasons: tuple[str, ...]) -> Why:
    return Why(id_, is_included=False, detail="", tokens=0, reasons=reasons)

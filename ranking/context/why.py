"""Why a document was in a block or a context, or was not: from the receipt, and where that is silent from the store.

why(store, DocumentRef("package", 12), get_receipt(store.primary, 7))     "rank 9 of limit 5"
why(store, "NORM-API-001", get_receipt(store.primary, 8))
    "linked by no artifact that TASK-042 reaches: SPEC-API-001 lists it, but TASK-042 does not reach SPEC-API-001"
"""

from ctxrank.indexer.records.receipts import Entry, Receipt
from ctxrank.indexer.store.ids import DocumentRef
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.assembly.absence import why_no_candidate
from ctxrank.ranking.context.assembly.order import DELIVERED
from ctxrank.ranking.context.section import Why, any_section


def why(store: Store, document: DocumentRef | str, receipt: Receipt) -> Why:
    """What became of a document, or of an item of a section with an id of its own, in the text of a receipt.

    Raises NotFoundError for an id that never was, UsageError for an item whose extension is absent.
    """
    if not isinstance(document, DocumentRef):
        return any_section("why").why(store, document, receipt)
    id_ = str(document)
    entry = receipt.entry(id_)
    if entry is None:
        return Why(id_, reasons=why_no_candidate(store, document, receipt))
    return _of_entry(entry, receipt)


def _of_entry(entry: Entry, receipt: Receipt) -> Why:
    # Deliveries count within one iteration: that of the receipt.
    reasons = [entry.reason.replace(DELIVERED, f"delivered at iteration {receipt.iteration}")]
    reasons += [
        f"not {other.detail or 'more'} of it: {other.reason}"
        for other in receipt.entries
        if other.id == entry.id and entry.is_included and not other.is_included
    ]
    return Why(entry.id, entry.is_included, entry.detail, entry.tokens, tuple(filter(None, reasons)))

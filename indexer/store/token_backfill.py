"""Exact token counts for documents that were only estimated when they came."""

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.vocabulary import ENCODING, local_counter

_BATCH_DOCUMENTS = 500


class _Uncounted(NamedTuple):
    id: int
    seq: int
    body: str


def backfill_counts(store: Store) -> int:
    """Count every document that the local vocabulary has not counted yet; returns how many.

    Without a local vocabulary it does nothing. It counts between short transactions; a document that is
    changed meanwhile keeps its estimate for the next run.
    """
    query = "SELECT EXISTS (SELECT 1 FROM documents WHERE token_counter <> ?)"
    if not store.primary.execute(query, (ENCODING,)).get:
        return 0
    counter = local_counter()  # loads the vocabulary, hence not before there is something to count
    if counter is None:
        return 0
    counted = last_id = 0
    while True:
        rows = store.primary.execute(
            "SELECT id, seq, body FROM documents WHERE id > ? AND token_counter <> ? ORDER BY id LIMIT ?",
            (last_id, counter.name, _BATCH_DOCUMENTS),
        ).fetchall()
        if not rows:
            return counted
        counts = [
            (id_, seq, documents.TextCount(counter.count(body), counter.name))
            for id_, seq, body in map(_Uncounted._make, rows)
        ]
        last_id = counts[-1][0]
        with store.write() as change:
            unchanged = [
                (id_, count)
                for id_, seq, count in counts
                if change.connection.execute("SELECT 1 FROM documents WHERE id = ? AND seq = ?", (id_, seq)).get
            ]
            documents.recount(change, unchanged)
        counted += len(unchanged)

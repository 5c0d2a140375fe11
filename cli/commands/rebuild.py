"""`ctxrank rebuild`: the index anew."""

import gc

from ctxrank.cli import declare
from ctxrank.cli.call import Call


@declare.command()
def command(call: Call) -> int:
    """Make the index anew from the store; the store itself is not touched.

    Never needed in ordinary use: a missing or damaged index is rebuilt by the next call.

    Example: ctxrank rebuild
    """
    from ctxrank.indexer.fulltext.catch_up import rebuild
    from ctxrank.indexer.fulltext.fts5_engine import fts5_of, index_of

    gc.enable()  # this may take a while: see cli/entry.py
    with call.open() as store:
        missing = rebuild(fts5_of(store))
        trouble = index_of(store).health.value
        documents = 0 if trouble else index_of(store).state().documents
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            {"documents": documents, "stale": missing, "reason": trouble or None},
            outcome="degraded" if trouble else "stale" if missing else "matched",
            engine="heuristic" if trouble else "fts5",
        )
    elif trouble:
        call.note(f"the index could not be rebuilt: {trouble}.")
    else:
        print(f"Rebuilt the index: {documents} documents")
    return 6 if trouble else 0

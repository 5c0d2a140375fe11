"""Saves, changes and removes single documents in a store, and prints how long each took until the index had followed.

    python benchmarks/save_each.py FOLDER LINES COUNT       # LINES: texts to save, one a line

A text is redacted and put in a transaction of its own, and the index follows within the bound that every save has.
"""

import itertools
import json
import sys
import time

from ctxrank.indexer import open_store
from ctxrank.indexer.redaction.engine import RULESET_VERSION, redact
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.ids import DocumentRef
from ctxrank.indexer.store.store import CATCH_UP_AFTER_WRITE_MS, Store

_FIRST_NUMBER = 1_000_000_000
_SAVED_AT = 1_767_225_600_000_000


def main(folder: str, lines: str, count: int) -> None:
    """Milliseconds of wall and of CPU time by kind, and how often the index was left behind, as JSON."""
    took: dict[str, list[list[float]]] = {"saved": [], "changed": [], "removed": []}
    behind = 0
    with open_store(start=folder) as store, open(lines, encoding="utf-8") as file:
        texts = [line.rstrip("\n") for line in itertools.islice(file, count + 1)]
        _put(store, 0, texts[0])  # opens the index and compiles the rules
        for kind, shift in (("saved", 0), ("changed", 1), ("removed", None)):
            for number in range(count):
                started, started_cpu = time.perf_counter(), time.process_time()
                lag = _remove(store, number) if shift is None else _put(store, number, texts[number + shift])
                behind += lag > 0
                took[kind].append([(time.perf_counter() - started) * 1000, (time.process_time() - started_cpu) * 1000])
    print(json.dumps({"took": took, "behind": behind}))


def _put(store: Store, number: int, text: str) -> int:
    body = redact(text).text
    with store.write() as change:
        documents.put(
            change, documents.Document("artifact", _FIRST_NUMBER + number, "", body, _SAVED_AT, RULESET_VERSION)
        )
    return store.catch_up(CATCH_UP_AFTER_WRITE_MS)


def _remove(store: Store, number: int) -> int:
    id_ = documents.document_id(store.primary, DocumentRef("artifact", _FIRST_NUMBER + number))
    with store.write() as change:
        documents.remove(change, id_)
    return store.catch_up(CATCH_UP_AFTER_WRITE_MS)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

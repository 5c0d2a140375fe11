"""Puts every line of a file into a store as a document, with everything that is done to a text, and indexes it.

    python benchmarks/bulk_put.py LINES FOLDER       # FOLDER/.ctxrank is made

Each line is redacted, its identifiers are split, its tokens counted; a second process lets the index follow, as it does
for `ctxrank index`.
"""

import itertools
import sys

from ctxrank.indexer import create_store
from ctxrank.indexer.fulltext.background import background_indexer
from ctxrank.indexer.redaction.engine import RULESET_VERSION, redact
from ctxrank.indexer.store import documents

_A_TRANSACTION = 1000
_NUDGED_AFTER = 20  # transactions: some 6 MB
_MADE_AT = 1_735_689_600_000_000


def main(lines: str, folder: str) -> None:
    """Put and follow."""
    with create_store(folder) as store:
        with background_indexer(store) as other, open(lines, encoding="utf-8") as file:
            numbered = enumerate(file, start=1)
            for chunk in itertools.count(1):
                texts = [
                    (number, redact(line.rstrip("\n")).text)
                    for number, line in itertools.islice(numbered, _A_TRANSACTION)
                ]
                if not texts:
                    break
                with store.write() as change:
                    for number, text in texts:
                        documents.put(
                            change, documents.Document("artifact", number, "", text, _MADE_AT, RULESET_VERSION)
                        )
                if other is not None and chunk % _NUDGED_AFTER == 0:
                    other()
        store.catch_up()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])

"""A process that writes and indexes at full speed: scale_writer.py STORE SECONDS; prints how many documents it wrote.

What it writes it takes out again, so that the store is as it was.
"""

import sys
import time

from ctxrank.indexer import open_store
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store import documents

_BATCH = 500


def main(folder: str, seconds: float) -> None:
    """Write until the time is over."""
    written: list[int] = []
    ends_at = time.monotonic() + seconds
    with open_store(start=folder) as store:
        bodies = [str(row[0]) for row in store.primary.execute("SELECT body FROM documents LIMIT ?", (_BATCH,))]
        while time.monotonic() < ends_at:
            with store.write() as change:
                for body in bodies:
                    new = documents.Document("passage", None, "", body, created_at=0, ruleset=RULESET_VERSION)
                    written.append(documents.put(change, new))
            store.catch_up()
        with store.write() as change:
            for id_ in written:
                documents.remove(change, id_)
        store.catch_up()
    print(len(written))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))

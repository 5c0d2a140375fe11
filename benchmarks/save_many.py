"""One of a crowd: saves reasoning through the Python API when told to, and prints how long each save took.

python benchmarks/save_many.py DB WHO COUNT       waits for a line on stdin after it has opened the store
"""

import json
import sys
import time

from ctxrank.indexer import open_store
from ctxrank.indexer.records.reasoning import NewReasoning, save_reasoning

SESSION = "crowd"
_TEXT = "BEGIN IMMEDIATE takes the lock first: a deferred transaction that turns into a write fails at once. " * 4


def main() -> None:
    """Save COUNT entries, one after the other; milliseconds of each as JSON."""
    db, who, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    took: list[float] = []
    with open_store(db) as store:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(count):
            entry = NewReasoning(SESSION, f"G{who}", "developer", "decisions", f"{who}-{number}: {_TEXT}")
            started = time.perf_counter_ns()
            save_reasoning(store, entry)
            took.append((time.perf_counter_ns() - started) / 1e6)
    print(json.dumps(took))


if __name__ == "__main__":
    main()

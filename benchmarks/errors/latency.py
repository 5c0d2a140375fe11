"""How long one lookup takes in a store of many patterns, in a process that holds it open, and in one that just started.

Patterns are made from the corpus: each text with other names, numbers and words in its message, until there are
enough. The questions are made the same way; a third are texts of the corpus as they are.
"""

import gc
import random
import re
import subprocess
import sys
import tempfile
import time

from errors.corpus import Row
from errors.ours import PROJECT, save
from timing import percentile

from ctxrank.indexer.errors.lookup import Whose
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.signature import sign
from ctxrank.indexer.opening import create_store
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.errors.match import match_errors

SIZES = (10_000, 100_000)
LIMITS_MS = {10_000: 5.0, 100_000: 25.0}
_QUESTIONS = 600
_BATCH = 5000
_WARM_UP = 20
_WORDS_TEXT = """
    socket buffer index parser lexer tensor kernel packet header cursor ledger invoice account ticket queue topic shard
    replica tenant quota bucket object record schema column migration worker thread fiber signal timer clock device
    driver
"""
_WORDS = _WORDS_TEXT.split()

_COLD = """
import sys, time
start = time.perf_counter()
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.errors.parse.console import clean
from ctxrank.ranking.errors.answer import Asked, recognise
loaded = time.perf_counter()
store = open_store(start=sys.argv[1])
text = clean(sys.stdin.buffer.read().decode("utf-8", "replace"))
recognise(store.primary, text, Asked("default", 0))
print((loaded - start) * 1000, (time.perf_counter() - loaded) * 1000)
"""


def measured(rows: list[Row]) -> list[dict[str, object]]:
    """Milliseconds of cutting, signing and matching one text, by size of the store."""
    found: list[dict[str, object]] = []
    print("\nlookup, ms                     p50     p95    p95 of CPU     max   limit   (units, signature, match)")
    with tempfile.TemporaryDirectory(prefix="ctxrank-bench-") as folder:
        store = create_store(folder)
        filled = 0
        for size in SIZES:
            _fill(store, rows, filled, size)
            filled = size
            times, cpu = _timed(store, rows)
            p50, p95, cpu95 = percentile(times, 0.5), percentile(times, 0.95), percentile(cpu, 0.95)
            print(
                f"{size:9,} patterns       {p50:10.2f}{p95:8.2f}{cpu95:14.2f}{max(times):8.2f}{LIMITS_MS[size]:8.1f}",
                flush=True,
            )
            found.append(
                {
                    "patterns": size, "p50_ms": round(p50, 3), "p95_ms": round(p95, 3), "cpu_p95_ms": round(cpu95, 3),
                    "limit_ms": LIMITS_MS[size], "values": [round(value, 3) for value in times],
                }
            )  # fmt: skip
        found.append(_cold(folder, rows))
        store.close()
    return found


def _fill(store: Store, rows: list[Row], first: int, last: int) -> None:
    random_ = random.Random(first)
    for start in range(first, last, _BATCH):
        with store.write() as change:
            for number in range(start, min(start + _BATCH, last)):
                save(change, f"p{number}", _variant(rows[number % len(rows)].text, random_))


def _variant(text: str, random_: random.Random) -> str:
    """The text with other words in its message: a tenth of a store's patterns differ in values only."""
    head, newline, rest = text.partition("\n")
    if random_.random() < 0.9:
        head = f"{head} {' '.join(random_.choices(_WORDS, k=2))}"
    head = re.sub(r"\b\d+\b", lambda _: str(random_.randrange(1000)), head)
    return re.sub(r"'(\w+)'", lambda _: f"'{random_.choice(_WORDS)}_{random_.randrange(9999)}'", head) + newline + rest


def _timed(store: Store, rows: list[Row]) -> tuple[list[float], list[float]]:
    """Milliseconds of each question, by the clock and of CPU: the machine may be shared."""
    random_ = random.Random(7)
    questions = [random_.choice(rows).text for _ in range(_QUESTIONS)]
    questions = [_variant(text, random_) if at % 3 else text for at, text in enumerate(questions)]
    times: list[float] = []
    cpu: list[float] = []
    gc.collect()
    for text in questions[:_WARM_UP] + questions:
        start, cpu_start = time.perf_counter_ns(), time.thread_time_ns()
        any(match_errors(store.primary, sign(unit), Whose(PROJECT), 3).matches for unit in error_units(text)[:3])
        cpu.append((time.thread_time_ns() - cpu_start) / 1e6)
        times.append((time.perf_counter_ns() - start) / 1e6)
    return times[_WARM_UP:], cpu[_WARM_UP:]


def _cold(folder: str, rows: list[Row]) -> dict[str, object]:
    """A process of its own for each question: importing our modules, then opening, reading and matching."""
    runs: list[tuple[float, float]] = []
    for row in random.Random(11).sample(rows, 15):
        done = subprocess.run(
            [sys.executable, "-c", _COLD, folder], input=row.text.encode(), check=True, capture_output=True
        )
        loading, asking = map(float, done.stdout.split())
        runs.append((loading, asking))
    loading, asking = (percentile([run[i] for run in runs], 0.5) for i in (0, 1))
    print(f"cold process: {loading:.1f} ms to import, {asking:.1f} ms to open and answer (medians of {len(runs)})")
    return {"cold_import_ms": round(loading, 2), "cold_answer_ms": round(asking, 2), "values": runs}

"""Load test: many processes use one store at once for a bounded time; reports failures, lost records and latencies.

    report = run_crowd("/data/shop/.ctxrank/.stress-4711", processes=8, seconds=5)
    report.failed, report.lost, report.save_p95_ms

That is what `doctor --stress` runs: every process opens the store again for each call, as commands do, and searches
three times for each package that it saves. Afterwards each acknowledged package must be stored and found, and the index
is checked against the store. `press` runs any other workload on a store, for tests and benchmarks.
"""

import contextlib
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterable
from typing import Any

from ctxrank.indexer.care.examination import examine
from ctxrank.indexer.care.finding import Result
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.opening import create_scratch_store
from ctxrank.indexer.records.packages import NewPackage, save_package
from ctxrank.indexer.store.connection import read_column
from ctxrank.ranking import SearchRequest, search

_SEARCHES_PER_SAVE = 3
_GRACE_S = 120  # beyond the time a worker is given: the last call may wait for a lock
_SESSION, _GROUP = "stress", "CROWD"


class CrowdReport(NamedTuple):
    """The result of a run. `lost` counts packages that were acknowledged and are not stored, or not found."""

    processes: int
    seconds: float
    saves: int
    searches: int
    failed: int
    lost: int
    save_p95_ms: float
    search_p95_ms: float
    problems: tuple[str, ...]

    @property
    def is_well(self) -> bool:
        """Whether nothing failed, nothing was lost, and the index is correct."""
        return not (self.failed or self.lost or self.problems)


class Work(NamedTuple):
    """What one process did: the durations of its calls by name, the facts its workload reported, and what failed."""

    took_ms: dict[str, list[float]]
    reported: list[Any]
    problems: list[str]


class Worker:
    """One process, as its workload sees it: the store's folder, the number of the process, and an argument."""

    def __init__(self, folder: str, number: int, given: int) -> None:
        self.folder = folder
        self.number = number
        self.given = given
        self.work = Work({}, [], [])

    def report(self, fact: object) -> None:
        """Pass a fact to the process that started this one, as JSON."""
        self.work.reported.append(fact)

    @contextlib.contextmanager
    def timed(self, name: str) -> Generator[None, None, None]:
        """Measure one call; a call that fails is not counted."""
        start = time.perf_counter()
        yield
        self.work.took_ms.setdefault(name, []).append((time.perf_counter() - start) * 1000)


# A function of a module. It prepares before the start; the step that it returns is called with 1, 2, 3, …
Workload = Callable[[Worker], Callable[[int], None]]


def press(
    folder: str, workload: Workload, *, processes: int, seconds: float, steps: int | None = None, given: int = 0,
    environment: dict[str, str] | None = None,
) -> list[Work]:  # fmt: skip
    """Start the processes, let all begin at once, and collect what each did in `seconds`, or in `steps`."""
    code = (
        "import json, sys; sys.path[:], *rest = json.loads(sys.argv[1]);"
        "from ctxrank.cli.actions.upkeep.crowd import work; work(*rest)"
    )
    reading, start = os.pipe()
    children: list[subprocess.Popen[str]] = []
    try:
        for number in range(processes):
            rest = (workload.__module__, workload.__name__, folder, number, given, seconds, steps)
            child = subprocess.Popen(
                [sys.executable, "-c", code, json.dumps((sys.path, *rest))], cwd=folder, env=environment,
                stdin=reading, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            children.append(child)
        for child in children:
            assert child.stdout is not None, "it was asked for"
            child.stdout.readline()  # it is ready, or it has ended
        os.close(start)
        start = -1
        return [_outcome(child, number, seconds) for number, child in enumerate(children)]
    finally:
        for descriptor in (reading, start):
            if descriptor >= 0:
                os.close(descriptor)
        for child in children:
            if child.poll() is None:
                child.kill()
                child.wait()


def _outcome(child: "subprocess.Popen[str]", number: int, seconds: float) -> Work:
    try:
        printed, complaint = child.communicate(timeout=seconds + _GRACE_S)
    except subprocess.TimeoutExpired:
        return Work({}, [], [f"process {number} did not end"])
    try:
        return Work(*json.loads(printed))
    except (ValueError, TypeError):
        last = complaint.strip().split("\n")[-1]
        return Work({}, [], [f"process {number} ended with {child.returncode}: {last}"])


def work(module: str, name: str, folder: str, number: int, given: int, seconds: float, steps: int | None) -> None:
    """The main function of one process: wait for the start, work until the end, then print the result as JSON."""
    worker = Worker(folder, number, given)
    step: Callable[[int], None] = getattr(importlib.import_module(module), name)(worker)
    print(flush=True)
    sys.stdin.read()
    end = time.monotonic() + seconds
    done = 0
    while time.monotonic() < end and done != steps:
        done += 1
        try:
            step(done)
        except Exception as error:  # any error is reported, and the other processes go on
            worker.work.problems.append(f"{type(error).__name__}: {error}")
    print(json.dumps(worker.work))


def took_ms(works: Iterable[Work], name: str | None = None) -> list[float]:
    """How long the calls of this name took [default: all calls]."""
    return [ms for done in works for called, took in done.took_ms.items() if name in (None, called) for ms in took]


def percentile(values: list[float], share: float) -> float:
    """The value that this share of the values does not exceed; 0 without values."""
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))], 1) if ordered else 0.0


def run_crowd(folder: str, *, processes: int, seconds: float) -> CrowdReport:
    """Make a store in an empty folder and run the load test on it; the caller removes the folder."""
    os.makedirs(os.path.join(folder, "notes"), mode=0o700, exist_ok=True)
    create_scratch_store(folder).close()
    environment = {name: value for name, value in os.environ.items() if name not in ("CTXRANK_DB", "CTXRANK_ROOT")}
    works = press(folder, _save_and_search, processes=processes, seconds=seconds, environment=environment)
    failed = [problem for done in works for problem in done.problems]
    lost, problems = _verify(folder, works)
    return CrowdReport(
        processes=processes,
        seconds=seconds,
        saves=sum(len(done.reported) for done in works),
        searches=len(took_ms(works, "search")),
        failed=len(failed),
        lost=lost,
        save_p95_ms=percentile(took_ms(works, "save"), 0.95),
        search_p95_ms=percentile(took_ms(works, "search"), 0.95),
        problems=tuple(dict.fromkeys([*failed, *problems])),
    )


def _save_and_search(worker: Worker) -> Callable[[int], None]:
    """Each step saves a package and searches for it three times; the numbers of acknowledged packages are reported."""

    def step(number: int) -> None:
        with worker.timed("save"):
            _save(worker.folder, worker.number, number)
        worker.report(number)
        for _ in range(_SEARCHES_PER_SAVE):
            with worker.timed("search"):
                _search(worker.folder, worker.number, number)

    return step


def _request(worker: int, number: int) -> SearchRequest:
    """A search for that word as a phrase, which no other package's word stands in for."""
    return SearchRequest(f'"{_word(worker, number)}"', is_syntax=True)


def _word(worker: int, number: int) -> str:
    """A word that only this package has, of consonants alone, which no stemmer changes."""
    digits = str.maketrans("0123456789", "bcdfghjkmp")
    return f"z{str(worker).translate(digits)}x{str(number).translate(digits)}"


def _save(folder: str, worker: int, number: int) -> None:
    path = f"notes/{worker}-{number}.md"
    with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
        file.write(f"# Note {number}\n\nThe word of this note is {_word(worker, number)}.\n")
    with create_scratch_store(folder) as store:
        new = NewPackage(_SESSION, _GROUP, "research", path, "developer", f"About {_word(worker, number)}.", "medium")
        save_package(store, new, create_session=True)


def _search(folder: str, worker: int, number: int) -> None:
    """Find a package whose save was acknowledged. Raises LookupError where it is missing."""
    with create_scratch_store(folder) as store:
        found = search(store, _request(worker, number))
    if len(found.hits) != 1 and found.outcome not in ("stale", "degraded"):
        raise LookupError(f"a saved package was not found: {found.outcome}, {len(found.hits)} hits")


def _verify(folder: str, works: list[Work]) -> tuple[int, list[str]]:
    """How many acknowledged packages are not stored or not found, and what is wrong with the store."""
    lost = 0
    with create_scratch_store(folder) as store:
        store.catch_up()
        paths = set(read_column(store.primary, "SELECT path FROM packages", (), str))
        for worker, done in enumerate(works):
            for number in done.reported:
                hits = search(store, _request(worker, number)).hits
                lost += f"notes/{worker}-{number}.md" not in paths or len(hits) != 1
        location = store.location
    findings = examine(location, is_deep=True)
    return lost, [f"{finding.id}: {finding.evidence}" for finding in findings if finding.result is Result.FAIL]

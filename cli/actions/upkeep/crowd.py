"""Many processes on one store at once, for a bounded time: what failed, what was lost, how long a call took.

    report = run_crowd("/data/shop/.ctxrank/.stress-4711", processes=8, seconds=5)
    report.failed, report.lost, report.save_p95_ms

Every process opens the store again for each call, as commands do, and searches three times for each package that it
saves. Afterwards each package that was acknowledged has to be there and to be found, and the index is proved.
"""

import json
import os
import subprocess
import sys
import time

from ctxrank.indexer.care.examination import examine
from ctxrank.indexer.care.finding import Result
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.opening import create_store
from ctxrank.indexer.records.packages import NewPackage, save_package
from ctxrank.indexer.store.connection import read_column
from ctxrank.ranking import SearchRequest, search

_SEARCHES_PER_SAVE = 3
_GRACE_S = 90  # beyond the time a worker is given: the last call may wait for a lock
_SESSION, _GROUP = "stress", "CROWD"


class CrowdReport(NamedTuple):
    """What a crowd did. `lost` are packages that were acknowledged and are not there, or not found."""

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
        """Whether nothing failed, nothing was lost, and the index is what it should be."""
        return not (self.failed or self.lost or self.problems)


class _Work(NamedTuple):
    """What one process did: numbers of the packages whose save was acknowledged, and how long its calls took."""

    saved: list[int]
    save_ms: list[float]
    search_ms: list[float]
    problems: list[str]


def run_crowd(folder: str, *, processes: int, seconds: float) -> CrowdReport:
    """Make a store in an empty folder and set the crowd on it; the caller removes the folder."""
    os.makedirs(os.path.join(folder, "notes"), mode=0o700, exist_ok=True)
    create_store(folder).close()
    code = "import sys; from ctxrank.cli.actions.upkeep.crowd import work as w;w(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))"  # noqa: E501
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code, folder, str(number), str(seconds)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
            env={name: value for name, value in os.environ.items() if name not in ("CTXRANK_DB", "CTXRANK_ROOT")},
        )
        for number in range(processes)
    ]  # fmt: skip
    works: list[_Work] = []
    try:
        for number, child in enumerate(children):
            works.append(_outcome(child, number, seconds))
    finally:
        for child in children:
            if child.poll() is None:
                child.kill()
                child.wait()
    failed = [problem for done in works for problem in done.problems]
    lost, problems = _verify(folder, works)
    return CrowdReport(
        processes, seconds, sum(len(done.saved) for done in works), sum(len(done.search_ms) for done in works),
        len(failed), lost, _p95([ms for done in works for ms in done.save_ms]),
        _p95([ms for done in works for ms in done.search_ms]), tuple(dict.fromkeys([*failed, *problems])),
    )  # fmt: skip


def _outcome(child: "subprocess.Popen[str]", number: int, seconds: float) -> _Work:
    try:
        printed, complaint = child.communicate(timeout=seconds + _GRACE_S)
    except subprocess.TimeoutExpired:
        return _Work([], [], [], [f"process {number} did not end"])
    try:
        return _Work(*json.loads(printed))
    except (ValueError, TypeError):
        last = complaint.strip().split("\n")[-1]
        return _Work([], [], [], [f"process {number} ended with {child.returncode}: {last}"])


def _p95(values: list[float]) -> float:
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, len(ordered) * 95 // 100)], 1) if ordered else 0.0


def _word(worker: int, number: int) -> str:
    """A word that this package alone has: only consonants, which no stemmer touches."""
    digits = str.maketrans("0123456789", "bcdfghjkmp")
    return f"z{str(worker).translate(digits)}x{str(number).translate(digits)}"


def work(folder: str, worker: int, seconds: float) -> None:
    """One process of the crowd: save and search until the time is over, then print what happened as JSON."""
    done = _Work([], [], [], [])
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        number += 1
        try:
            start = time.perf_counter()
            _save(folder, worker, number)
            done.save_ms.append((time.perf_counter() - start) * 1000)
            done.saved.append(number)
            for _ in range(_SEARCHES_PER_SAVE):
                start = time.perf_counter()
                _search(folder, worker, number)
                done.search_ms.append((time.perf_counter() - start) * 1000)
        except (CtxrankError, LookupError) as error:
            done.problems.append(f"{type(error).__name__}: {error}")
    print(json.dumps(done))


def _save(folder: str, worker: int, number: int) -> None:
    path = f"notes/{worker}-{number}.md"
    with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
        file.write(f"# Note {number}\n\nThe word of this note is {_word(worker, number)}.\n")
    with create_store(folder) as store:
        new = NewPackage(_SESSION, _GROUP, "research", path, "developer", f"About {_word(worker, number)}.", "medium")
        save_package(store, new, create_session=True)


def _search(folder: str, worker: int, number: int) -> None:
    """Find a package whose save was acknowledged. Raises LookupError where it is missing."""
    with create_store(folder) as store:
        found = search(store, SearchRequest(_word(worker, number)))
    if len(found.hits) != 1 and found.outcome not in ("stale", "degraded"):
        raise LookupError(f"a saved package was not found: {found.outcome}, {len(found.hits)} hits")


def _verify(folder: str, works: list[_Work]) -> tuple[int, list[str]]:
    """How many acknowledged packages are not there or not found, and what is wrong with the store."""
    lost = 0
    with create_store(folder) as store:
        store.catch_up()
        paths = set(read_column(store.primary, "SELECT path FROM packages", (), str))
        for worker, done in enumerate(works):
            for number in done.saved:
                hits = search(store, SearchRequest(_word(worker, number))).hits
                lost += f"notes/{worker}-{number}.md" not in paths or len(hits) != 1
        location = store.location
    findings = examine(location, is_deep=True)
    return lost, [f"{finding.id}: {finding.evidence}" for finding in findings if finding.result is Result.FAIL]

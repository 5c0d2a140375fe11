"""Many processes run one workload at once for a bounded time: what each call took, what was reported, what failed.

works = run_processes(folder, workload, processes=8, seconds=5)
percentile(took_ms(works, "save"), 0.95)
"""

import contextlib
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterable
from typing import Any, NamedTuple

_GRACE_S = 120  # beyond the time a worker is given: the last call may wait for a lock


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


def run_processes(
    folder: str, workload: Workload, *, processes: int, seconds: float, steps: int | None = None, given: int = 0,
    environment: dict[str, str] | None = None,
) -> list[Work]:  # fmt: skip
    """Start the processes, let all begin at once, and collect what each did in `seconds`, or in `steps`."""
    code = "import json, sys; sys.path[:], *rest = json.loads(sys.argv[1]);from processes import work; work(*rest)"
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

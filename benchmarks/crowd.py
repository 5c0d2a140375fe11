"""Eight processes save into one store at once, by the Python API and by commands: nothing fails, nothing is lost."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "tests" / "torture"))  # its runner of processes

from figures import Figure, Findings, figure
from processes import Worker, Workload, run_processes, took_ms
from timing import CommandFailed, clean_environment, percentile, run_once
from workspace import Workspace

from ctxrank.indexer import create_store, open_store
from ctxrank.indexer.records.reasoning import NewReasoning, save_reasoning
from ctxrank.indexer.records.sessions import NewSession, create_session

PROCESSES = 8
_LONGEST_S = 600.0
_SESSION = "crowd"
_TEXT = "BEGIN IMMEDIATE takes the lock first: a deferred transaction that turns into a write fails at once. " * 4
MAX_P50_MS, MAX_P99_MS, MAX_MS = 3.0, 250.0, 2000.0
MAX_COMMAND_P50_MS = 350.0


def measure(workspace: Workspace) -> Findings:
    """Both crowds, one after the other, each into a store of its own."""
    saves, commands = workspace.sizes.saves, workspace.sizes.rounds
    figures: list[Figure] = []
    with workspace.scratch("crowd-api") as folder:
        took, lost = _pressed(folder, save_through_the_api, saves)
    figures += [
        figure(f"{PROCESSES} × {saves} saves through the API, p50", "ms", took, limit=MAX_P50_MS),
        _of_all(f"{PROCESSES} × {saves} saves through the API, p99", took, percentile(took, 0.99), MAX_P99_MS),
        _of_all(f"{PROCESSES} × {saves} saves through the API, longest", took, max(took), MAX_MS),
        figure("saves through the API that were lost or failed", "saves", [float(lost)], limit=0.0),
    ]
    with workspace.scratch("crowd-commands") as folder:
        took, lost = _pressed(folder, save_by_command, commands)
    figures += [
        figure(f"{PROCESSES} × {commands} save commands, p50", "ms", took, limit=MAX_COMMAND_P50_MS),
        _of_all(f"{PROCESSES} × {commands} save commands, p99", took, percentile(took, 0.99)),
        figure("save commands whose record was lost", "saves", [float(lost)], limit=0.0),
    ]
    return Findings(figures, ["A save is one entry of reasoning of 400 characters, redacted, durable and searchable."])


def _of_all(name: str, took: list[float], value: float, limit: float | None = None) -> Figure:
    return Figure(name, "ms", value, tuple(took), limit)


def _pressed(folder: str, workload: Workload, saves: int) -> tuple[list[float], int]:
    """(milliseconds of each save, how many are not in the store or cannot be found)."""
    with create_store(folder) as store:
        with store.write() as change:
            create_session(change, NewSession(_SESSION))
        store.catch_up()
    works = run_processes(
        folder, workload, processes=PROCESSES, seconds=_LONGEST_S, steps=saves, environment=clean_environment()
    )
    for problem in (problem for done in works for problem in done.problems):
        raise CommandFailed(problem)
    with open_store(start=folder) as store:
        assert store.catch_up() == 0, "the index did not catch up"
        saved = store.primary.execute(
            "SELECT min((SELECT count(*) FROM reasoning), (SELECT count(*) FROM documents WHERE kind = 'reasoning'))"
        ).get
    return took_ms(works), PROCESSES * saves - int(saved)


def save_through_the_api(worker: Worker) -> Callable[[int], None]:
    """One of the crowd that keeps the store open."""
    store = open_store(start=worker.folder)

    def step(number: int) -> None:
        content = f"{worker.number}-{number}: {_TEXT}"
        entry = NewReasoning(_SESSION, f"G{worker.number}", "developer", "decisions", content)
        with worker.timed("save"):
            save_reasoning(store, entry)

    return step


def save_by_command(worker: Worker) -> Callable[[int], None]:
    """One of the crowd whose every save is a process."""

    db = os.path.join(worker.folder, ".ctxrank", "ctxrank.db")

    def step(number: int) -> None:
        command = Workspace.ctxrank(
            "reasoning", "save", "--db", db, "--session", _SESSION, "--group", f"G{worker.number}",
            "--agent", "developer", "--phase", "decisions",
            "--content", f"{worker.number}-{number}: the lock is taken first",
        )  # fmt: skip
        with worker.timed("save"):
            run_once(command)

    return step

"""Eight processes that save into one store at once: through the Python API, and each save a command of its own.

Nothing may fail and nothing may be lost; both are counted after the run.
"""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from figures import Figure, Findings, figure
from save_many import SESSION
from timing import clean_environment, percentile, run_once
from workspace import Workspace

from ctxrank.indexer import create_store
from ctxrank.indexer.records.sessions import NewSession, create_session

PROCESSES = 8
MAX_P50_MS, MAX_P99_MS, MAX_MS = 3.0, 250.0, 2000.0
MAX_COMMAND_P50_MS = 350.0
_SAVE_MANY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "save_many.py")


def measure(workspace: Workspace) -> Findings:
    """Both crowds, one after the other, each into a store of its own."""
    saves, commands = workspace.sizes.saves, workspace.sizes.rounds
    figures: list[Figure] = []
    with workspace.scratch("crowd-api") as folder:
        took, lost = _through_the_api(_new_store(folder), saves)
    figures += [
        figure(f"{PROCESSES} × {saves} saves through the API, p50", "ms", took, limit=MAX_P50_MS),
        _of_all(f"{PROCESSES} × {saves} saves through the API, p99", took, percentile(took, 0.99), MAX_P99_MS),
        _of_all(f"{PROCESSES} × {saves} saves through the API, longest", took, max(took), MAX_MS),
        figure("saves through the API that were lost or failed", "saves", [float(lost)], limit=0.0),
    ]
    with workspace.scratch("crowd-commands") as folder:
        took, lost = _as_commands(workspace, _new_store(folder), commands)
    figures += [
        figure(f"{PROCESSES} × {commands} save commands, p50", "ms", took, limit=MAX_COMMAND_P50_MS),
        _of_all(f"{PROCESSES} × {commands} save commands, p99", took, percentile(took, 0.99)),
        figure("save commands whose record was lost", "saves", [float(lost)], limit=0.0),
    ]
    return Findings(figures, ["A save is one entry of reasoning of 400 characters, redacted, durable and searchable."])


def _of_all(name: str, took: list[float], value: float, limit: float | None = None) -> Figure:
    return Figure(name, "ms", value, tuple(took), limit)


def _new_store(folder: str) -> str:
    with create_store(folder) as store:
        with store.write() as change:
            create_session(change, NewSession(SESSION))
        store.catch_up()
        return store.location.primary


def _through_the_api(db: str, saves: int) -> tuple[list[float], int]:
    """(milliseconds of each save, how many are not in the store)."""
    processes = [
        subprocess.Popen(
            [sys.executable, _SAVE_MANY, db, str(who), str(saves)], env=clean_environment(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        for who in range(PROCESSES)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None, "it was asked for"
        assert process.stdout.readline() == "ready\n", "a saver could not open the store"
    took: list[float] = []
    for process in processes:
        assert process.stdin is not None, "it was asked for"
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        printed, _ = process.communicate(timeout=600)
        took += json.loads(printed)
    return took, PROCESSES * saves - _saved(db)


def _as_commands(workspace: Workspace, db: str, rounds: int) -> tuple[list[float], int]:
    """(milliseconds of each command, how many are not in the store)."""

    def saver(who: int) -> list[float]:
        took: list[float] = []
        for number in range(rounds):
            command = workspace.ctxrank(
                "reasoning", "save", "--db", db, "--session", SESSION, "--group", f"G{who}", "--agent", "developer",
                "--phase", "decisions", "--content", f"{who}-{number}: the lock is taken first",
            )  # fmt: skip
            started = time.perf_counter_ns()
            run_once(command)
            took.append((time.perf_counter_ns() - started) / 1e6)
        return took

    with ThreadPoolExecutor(PROCESSES) as pool:
        took = [one for part in pool.map(saver, range(PROCESSES)) for one in part]
    return took, PROCESSES * rounds - _saved(db)


def _saved(db: str) -> int:
    """How many entries are there and can be found."""
    from ctxrank.indexer import open_store

    with open_store(db) as store:
        assert store.catch_up() == 0, "the index did not catch up"
        row = store.primary.execute(
            "SELECT min((SELECT count(*) FROM reasoning), (SELECT count(*) FROM documents WHERE kind = 'reasoning'))"
        ).fetchone()
        return int(row[0]) if row else 0

"""A crowd: many processes read and write one store at once, cold starts among them, and one that holds the lock long.

Half of the processes keep the store open, as a server would; the other half start anew for each call, as agents do.
Right is: no call fails, nothing that was acknowledged is missing afterwards, and whoever is told to wait less than the
lock is held is told that it is locked, never that it is damaged.

    crowd("/tmp/work", seed=7, seconds=60)      Crowd(processes=16, calls=2400, …, failures=())
"""

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from acts import ACTS, SESSION, Errand, Unrecorded, new
from builders import word
from examine import troubles_of
from processes import Worker, percentile, run_processes, took_ms
from promises import Ledger, Shape

from ctxrank.indexer.opening import create_store, open_store
from ctxrank.indexer.records.sessions import NewSession, create_session

PROCESSES = 16
_FAILURES_KEPT = 20
_LONGEST_HOLD_S = 20.0
_IMPATIENT_MS = 1000


class Crowd(NamedTuple):
    """What a run came to. Milliseconds are of whole calls: cold ones with the start of their process."""

    seed: int
    processes: int
    seconds: float
    calls: int
    cold_calls: int
    acknowledged: int
    p50_ms: float
    p95_ms: float
    cold_p95_ms: float
    longest_ms: float
    hold_s: float
    waited_calls: int
    locked_calls: int
    failures: tuple[str, ...]


def crowd(
    work: str,
    *,
    seed: int,
    seconds: float,
    processes: int = PROCESSES,
    hold_s: float | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Crowd:
    """Let `processes` read and write for a while; then hold the lock for `hold_s` [a third of that, at most 20 s]."""
    home = os.path.join(work, "store")
    os.makedirs(home)
    with create_store(home) as store, store.write() as change:
        create_session(change, NewSession(SESSION))
    ledger = Ledger()
    failures: list[str] = []
    # From the first call on there is something to find: a search that finds nothing has failed.
    ACTS["save_through_the_api"](Errand(home, "", random.Random(seed), 500_000, ledger.hear, {}))
    works = run_processes(home, read_and_write, processes=processes, seconds=seconds, given=seed)
    for who, done in enumerate(works):
        for line in done.reported:
            ledger.hear(line)
        failures += [f"member {who}: {problem}" for problem in done.problems]
    took, cold = took_ms(works), took_ms(works, "cold")
    say(f"{len(took)} calls, {len(failures)} failures")
    hold = min(_LONGEST_HOLD_S, seconds / 3) if hold_s is None else hold_s
    waited, locked = _hold_the_lock(home, hold, ledger, failures)
    say(f"the lock was held for {hold:g} s: {waited} calls waited, {locked} were told so")
    failures += troubles_of(home, ledger.promises, random.Random(seed), is_thorough=True)
    return Crowd(
        seed, processes, seconds, len(took), len(cold), ledger.kept, percentile(took, 0.5), percentile(took, 0.95),
        percentile(cold, 0.95), percentile(took, 1.0), hold, waited, locked, tuple(failures[:_FAILURES_KEPT]),
    )  # fmt: skip


def _hold_the_lock(home: str, hold_s: float, ledger: Ledger, failures: list[str]) -> tuple[int, int]:
    """One process holds the lock: patient ones wait and succeed, an impatient one is told, an assembly is printed."""
    texts = [word(700_000_000 + number) for number in range(4)]
    environment = {**os.environ, "CTXRANK_BUSY_TIMEOUT_MS": str(_IMPATIENT_MS)}
    waited = locked = 0
    with open_store(os.path.join(home, ".ctxrank", "ctxrank.db"), root=home) as store, store.write():
        started = time.monotonic()
        patient = [
            subprocess.Popen(_save(home, text), stdout=subprocess.PIPE, stderr=subprocess.PIPE) for text in texts
        ]
        refused = subprocess.run(_save(home, "nobody"), env=environment, capture_output=True, text=True, check=False)
        error = json.loads(refused.stdout or "{}").get("error", {})
        if (refused.returncode, error.get("kind"), error.get("retryable")) == (7, "locked", True) and error["hint"]:
            locked += 1
        else:
            failures.append(f"whoever waits {_IMPATIENT_MS} ms gets {refused.returncode}: {refused.stdout}")
        block = subprocess.run(
            [*_ctxrank(home), "assemble", "--session", SESSION, "--agent", "developer"], capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        if block.returncode != 0 or "## Context" not in block.stdout:
            failures.append(f"an assembly behind the lock ends with {block.returncode}: {block.stderr}")
        found = subprocess.run([*_ctxrank(home), "search", "lock"], capture_output=True, text=True, check=False)
        if found.returncode not in (0, 1):
            failures.append(f"a search behind the lock ends with {found.returncode}: {found.stderr}")
        if any(saver.poll() is not None for saver in patient):
            failures.append("a save ended while another process held the lock")
        time.sleep(max(0.0, hold_s - (time.monotonic() - started)))
    for text, saver in zip(texts, patient, strict=True):
        _, said = saver.communicate(timeout=60)
        if saver.returncode == 0:
            waited += 1
            ledger.hear({"begin": [[text, [Shape.REASONING.name, "", ""]]]})
            ledger.hear({"done": [text]})
        else:
            failures.append(f"whoever waits 30 s for {hold_s:g} s gets {saver.returncode}: {said.decode()}")
    return waited, locked


def _ctxrank(home: str) -> list[str]:
    return [sys.executable, "-m", "ctxrank.cli", "--db", os.path.join(home, ".ctxrank", "ctxrank.db"), "--root", home]


def _save(home: str, text: str) -> list[str]:
    return [
        *_ctxrank(home), "--json", "reasoning", "save", "--session", SESSION, "--agent", "developer",
        "--phase", "risks", f"Behind the lock: {text}.",
    ]  # fmt: skip


_READS = (["search", "lock", "sentence"], ["status"], ["reasoning", "timeline", "--session", SESSION])
_WRITES = ("save_through_the_api", "save_reasoning_by_command", "save_package", "save_skill_output", "assemble")


def read_and_write(worker: Worker) -> Callable[[int], None]:
    """One of the processes: it reports what it promises; every other one starts a process for each call."""
    rng = random.Random(f"{worker.given} member {worker.number}")
    errand = Errand(worker.folder, "", rng, (worker.number + 1) * 1_000_000, worker.report, {})
    is_cold = worker.number % 2 == 0

    def step(number: int) -> None:
        with worker.timed("cold" if is_cold else "warm"):
            (_cold_call if is_cold else _warm_call)(errand)

    return step


def _warm_call(errand: Errand) -> None:
    if errand.rng.random() < 1 / 2:
        errand.call(*errand.rng.choice(_READS))
        return
    with contextlib.suppress(Unrecorded):
        ACTS[errand.rng.choice(_WRITES)](errand)


def _cold_call(errand: Errand) -> None:
    """A process of its own, as an agent's shell starts it."""
    if errand.rng.random() < 1 / 2:
        subprocess.run([*_ctxrank(errand.folder), *errand.rng.choice(_READS)], check=True, capture_output=True)
        return
    text = errand.new_word()
    with errand.promising({text: new(Shape.REASONING)}):
        subprocess.run(_save(errand.folder, text), check=True, capture_output=True)

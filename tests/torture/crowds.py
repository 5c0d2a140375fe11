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
from pathlib import Path
from typing import Any, NamedTuple

from acts import ACTS, SESSION, Errand, Unrecorded, new
from builders import make_store, word
from examine import troubles_of
from promises import Ledger, Shape

from ctxrank.indexer.opening import open_store
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


class _Call(NamedTuple):
    """One call of a member of the crowd."""

    name: str
    took_ms: float
    is_cold: bool


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
    with make_store(Path(home)) as store, store.write() as change:
        create_session(change, NewSession(SESSION))
    ledger = Ledger()
    failures: list[str] = []
    # From the first call on there is something to find: a search that finds nothing has failed.
    ACTS["save_through_the_api"](Errand(home, "", random.Random(seed), 500_000, ledger.hear, {}))
    calls = _press(home, seed, seconds, processes, ledger, failures)
    say(f"{len(calls)} calls, {len(failures)} failures")
    hold = min(_LONGEST_HOLD_S, seconds / 3) if hold_s is None else hold_s
    waited, locked = _hold_the_lock(home, hold, ledger, failures)
    say(f"the lock was held for {hold:g} s: {waited} calls waited, {locked} were told so")
    failures += troubles_of(home, ledger.promises, random.Random(seed), is_thorough=True)
    took = sorted(call.took_ms for call in calls)
    cold = sorted(call.took_ms for call in calls if call.is_cold)
    return Crowd(
        seed, processes, seconds, len(took), len(cold), ledger.kept, _share(took, 0.5), _share(took, 0.95),
        _share(cold, 0.95), _share(took, 1.0), hold, waited, locked, tuple(failures[:_FAILURES_KEPT]),
    )  # fmt: skip


def _share(ordered: list[float], share: float) -> float:
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))], 1) if ordered else 0.0


def _press(home: str, seed: int, seconds: float, processes: int, ledger: Ledger, failures: list[str]) -> list[_Call]:
    """Everybody at once, from cold starts on."""
    members = [
        subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), home, str(seed), str(who), str(seconds)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdout=subprocess.PIPE, text=True,
        )
        for who in range(processes)
    ]  # fmt: skip
    calls: list[_Call] = []
    for who, member in enumerate(members):
        printed, _ = member.communicate(timeout=seconds + 120)
        if member.returncode != 0:
            failures.append(f"member {who} ended with {member.returncode}")
        for line in map(json.loads, printed.splitlines()):
            ledger.hear(line)
            if "call" in line:
                calls.append(_Call(*line["call"]))
            if "failed" in line:
                failures.append(f"member {who}: {line['failed']}")
    return calls


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


def _member(home: str, seed: int, who: int, seconds: float) -> None:
    """One of the crowd: prints what it promises, and how long its calls took."""
    os.chdir(home)
    rng = random.Random(f"{seed} member {who}")
    is_cold = who % 2 == 0

    def tell(line: dict[str, Any]) -> None:
        print(json.dumps(line))

    errand = Errand(home, "", rng, (who + 1) * 1_000_000, tell, {})
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        started = time.perf_counter()
        try:
            name = _cold_call(errand) if is_cold else _warm_call(errand)
        except Exception as error:
            tell({"failed": f"{type(error).__name__}: {error}"})
            continue
        tell({"call": [name, (time.perf_counter() - started) * 1000, is_cold]})


def _warm_call(errand: Errand) -> str:
    if errand.rng.random() < 1 / 2:
        words = errand.rng.choice(_READS)
        errand.call(*words)
        return " ".join(words[:2])
    name = errand.rng.choice(_WRITES)
    with contextlib.suppress(Unrecorded):
        ACTS[name](errand)
    return name


def _cold_call(errand: Errand) -> str:
    """A process of its own, as an agent's shell starts it."""
    if errand.rng.random() < 1 / 2:
        words = errand.rng.choice(_READS)
        subprocess.run([*_ctxrank(errand.folder), *words], check=True, capture_output=True)
        return " ".join(words[:2])
    text = errand.new_word()

    with errand.promising({text: new(Shape.REASONING)}):
        subprocess.run(_save(errand.folder, text), check=True, capture_output=True)
    return "reasoning save"


if __name__ == "__main__":
    _member(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))

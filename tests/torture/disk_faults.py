"""A failing disk: each act is repeated with its first, second, third … operation failing, until it meets no fault.

Right is: the call succeeds and its record is there; or it ends with exit code 6 and a sentence, and its record is not
there or, where only the very end failed, whole. It is never called damage, and afterwards the store is as it should be.

    fail_everywhere("/tmp/work", seed=7, acts=("save_package",), step=1)      DiskFaults(calls=480, …, failures=())
"""

import json
import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import apsw
import templates
from acts import ACTS, SESSION, Errand, Failed
from examine import mended, troubles_of
from failing_files import Fault, failing_files
from promises import Ledger

from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.opening import create_store
from ctxrank.indexer.records.sessions import NewSession, create_session

_FAILURES_KEPT = 20
_WORD = 5000


class DiskFaults(NamedTuple):
    """What a run came to: how many calls met a fault, and how they took it."""

    calls: int
    seed: int
    refused: int
    succeeded: int
    acts: dict[str, int]
    failures: tuple[str, ...]
    seconds: float


def fail_everywhere(
    work: str,
    *,
    seed: int,
    acts: Iterable[str] = tuple(ACTS),
    step: int = 1,
    faults: Iterable[Fault] = tuple(Fault),
    say: Callable[[str], None] = lambda line: None,
) -> DiskFaults:
    """Let every `step`-th operation of each act fail, in each way."""
    started = time.monotonic()
    templates_folder = os.path.join(work, "templates")
    os.makedirs(templates_folder)
    templates.make_templates(templates_folder)
    base = os.path.join(work, "base")
    known = _make_base(base, templates_folder)
    tally: Counter[str] = Counter()
    met: Counter[str] = Counter()
    failures: list[str] = []
    for act in acts:
        for fault in faults:
            for lasts in (True, False):
                at = random.Random(f"{seed} {act} {fault.name} {lasts}").randint(1, step)
                while True:
                    outcome = _one(work, base, known, templates_folder, _Case(act, fault, at, lasts))
                    if not outcome.has_struck:
                        break
                    met[act] += 1
                    tally["refused" if outcome.is_refused else "succeeded"] += 1
                    how = "from then on" if lasts else "once"
                    for trouble in outcome.troubles:
                        failures.append(f"{act}, operation {at}, {fault.value}, {how}: {trouble}")
                        say(failures[-1])
                    at += step
        say(f"{act}: {met[act]} calls that met a fault, {len(failures)} failures so far")
    return DiskFaults(
        sum(met.values()), seed, tally["refused"], tally["succeeded"], dict(met), tuple(failures[:_FAILURES_KEPT]),
        round(time.monotonic() - started, 1),
    )  # fmt: skip


class _Case(NamedTuple):
    """One call, and what fails in it."""

    act: str
    fault: Fault
    at: int
    lasts: bool


class _Outcome(NamedTuple):
    """How a call took its fault."""

    has_struck: bool
    is_refused: bool
    troubles: list[str]


def _make_base(base: str, templates_folder: str) -> list[dict[str, Any]]:
    """A store with a few records; returns what was promised of them."""
    heard: list[dict[str, Any]] = []
    os.makedirs(base)
    with create_store(base) as store, store.write() as change:
        create_session(change, NewSession(SESSION))
    errand = Errand(base, templates_folder, random.Random("base"), 1000, heard.append, {})
    for name in ("save_through_the_api", "save_package", "index_files", "save_known_error", "assemble"):
        ACTS[name](errand)
    return heard


def _one(work: str, base: str, known: list[dict[str, Any]], templates_folder: str, case: _Case) -> _Outcome:
    """The act on a fresh copy of the store, in a process of its own, and a look at what it leaves."""
    home = os.path.join(work, "store")
    shutil.copytree(base, home)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            _act(home, templates_folder, case, writing)
        finally:
            os._exit(1)  # _act has ended the process where all went as it should
    os.close(writing)
    with open(reading, "rb") as pipe:
        said: list[dict[str, Any]] = [json.loads(line) for line in pipe]
    _, status = os.waitpid(pid, 0)
    ledger = Ledger()
    for line in (*known, *said):
        ledger.hear(line)
    error = next((line for line in said if "error" in line), dict[str, Any]())
    troubles = [] if status == 0 else [f"the process ended with status {status}"]
    if error and not error["is_honest"]:
        troubles.append(f"it says: {error['error']}")
    rng = random.Random(repr(case))
    troubles += mended(home, ledger)
    troubles += troubles_of(home, ledger.promises, rng, is_thorough=rng.random() < 0.05)
    shutil.rmtree(home)
    shutil.rmtree(f"{home}-incoming", ignore_errors=True)
    return _Outcome(bool(said and said[-1].get("struck")), bool(error), troubles)


def _act(home: str, templates_folder: str, case: _Case, pipe: int) -> None:
    def tell(line: dict[str, Any]) -> None:
        os.write(pipe, json.dumps(line).encode() + b"\n")

    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    os.chdir(home)
    errand = Errand(home, templates_folder, random.Random(case.act), _WORD, tell, {})
    with failing_files(os.path.join(home, ".ctxrank"), case.fault, case.at, lasts=case.lasts) as countdown:
        try:
            ACTS[case.act](errand)
        except Failed as error:
            # 6 is the system's refusal. The words of the hint are a person's way out.
            tell({"error": str(error)[:300], "is_honest": _is_honest(error)})
        except CtxrankError as error:
            tell({"error": f"{type(error).__name__} {error}", "is_honest": error.exit_code == 6})
        except apsw.Error as error:
            tell({"error": f"not translated: {type(error).__name__}: {error}", "is_honest": False})
    tell({"struck": countdown.has_struck})
    os._exit(0)


def _is_honest(error: Failed) -> bool:
    """Whether it is called a refusal of the system, in words: the store is not damaged, and nothing is our mistake."""
    text = str(error)
    if "SystemError: <built-in method __exit__ of apsw.Backup" in text:
        return True  # copying, over a file system in Python; over SQLite's own it raises an error of SQLite's
    if error.code == 5 and text.startswith("doctor "):
        return "made to fail" in text  # a finding like any other, and told as what it is
    return error.code == 6 and not any(word in text for word in ("Traceback", "damaged", "Internal error", "no note"))

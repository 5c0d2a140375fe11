"""Kill anywhere: writers are killed at random instants, and the store they leave is looked at.

Each kill is one instance. A writer is killed by time (its parent sends SIGKILL after a random while) or by operation
(it sends SIGKILL to itself before, in the middle of or after the n-th operation on a file, which is the same instant
whenever the seed is). In a part of the instances others write at the same time, and have to get on.

    kill_many("/tmp/work", seed=7, count=1000)      Kills(kills=1000, …, failures=())
"""

import contextlib
import json
import math
import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import templates
from acts import ACTS, ALONE, SESSION, Errand, Unrecorded, import_again
from doomed_files import be_doomed
from examine import mended, troubles_of
from promises import SECRETS, Ledger, Promise, Shape, State, settled

from ctxrank.indexer.opening import create_store, open_store
from ctxrank.indexer.records.sessions import NewSession, create_session

_KILLS_PER_STORE = 20
_ACTS_PER_WRITER = 30
_LATEST_KILL_S = 0.9
_MOST_OPERATIONS = 4000
_WORDS_PER_WRITER = 1000
_MOST_WAIT_S = 120.0
# A failure is kept with what it left behind; more than a few are the same one again.
_FAILURES_KEPT = 20


class Kills(NamedTuple):
    """What a run came to. `acts` counts what was under way when the kill came; `failures` are sentences."""

    kills: int
    seed: int
    by_operation: int
    with_others: int
    ended_before: int
    acknowledged: int
    acts: dict[str, int]
    failures: tuple[str, ...]
    seconds: float


class _Writer(NamedTuple):
    """A writing process, and where it tells what it does."""

    pid: int
    pipe: int


def kill_many(
    work: str, *, seed: int, count: int, first: int = 0, say: Callable[[str], None] = lambda line: None
) -> Kills:
    """Kill `count` writers, one after the other; a new store is begun every twenty.

    `first` is the number of the first instance: a multiple of twenty, to repeat one store of a longer run.
    """
    started = time.monotonic()
    templates_folder = os.path.join(work, "templates")
    os.makedirs(templates_folder)
    templates.make_templates(templates_folder)
    tally: Counter[str] = Counter()
    acts: Counter[str] = Counter()
    failures: list[str] = []
    house: _House | None = None
    for number in range(first, first + count):
        if house is None or number % _KILLS_PER_STORE == 0:
            if house is not None and not house.is_failed:
                house.remove()
            house = _House(os.path.join(work, f"store {number}"), templates_folder, seed, number)
        for trouble in house.kill_one(number, tally, acts):
            failures.append(f"seed {seed}, instance {number}: {trouble}")
            say(failures[-1])
        if house.is_failed:
            house = None  # what is broken once is broken in every instance that follows
        if (number + 1) % 100 == 0:
            say(f"{number + 1 - first} kills, {tally['acknowledged']} words acknowledged, {len(failures)} failures")
    if house is not None:
        house.remove()
    return Kills(
        count, seed, tally["by operation"], tally["with others"], tally["ended before"], tally["acknowledged"],
        dict(sorted(acts.items())), tuple(failures[:_FAILURES_KEPT]), round(time.monotonic() - started, 1),
    )  # fmt: skip


class _House:
    """One store, the promises it made, and the writers that come and go."""

    def __init__(self, folder: str, templates_folder: str, seed: int, number: int) -> None:
        self.folder = folder
        self.is_failed = False
        self._templates = templates_folder
        self._seed = seed
        self._ledger = Ledger()
        rng = random.Random(f"{seed} store {number}")
        os.makedirs(folder)
        if rng.random() < 1 / 2:
            with create_store(folder) as store, store.write() as change:
                create_session(change, NewSession(SESSION))
        # else: the first writer makes it.

    def kill_one(self, number: int, tally: Counter[str], acts: Counter[str]) -> list[str]:
        """One writer is born and killed; returns what is wrong afterwards."""
        rng = random.Random(f"{self._seed} instance {number}")
        is_by_operation = rng.random() < 1 / 2
        others = rng.choice((0, 0, 0, 1, 2))
        heard_before = self._ledger.kept
        fatal = _operation(rng, _MOST_OPERATIONS) if is_by_operation else 0
        writers = [self._start(number, who, fatal if who == 0 else 0, others > 0) for who in range(1 + others)]
        if not is_by_operation:
            time.sleep(rng.random() * _LATEST_KILL_S)
            with contextlib.suppress(ProcessLookupError):
                os.kill(writers[0].pid, signal.SIGKILL)
        troubles: list[str] = []
        for who, writer in enumerate(writers):
            status, said = self._listen(writer)
            is_killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
            troubles += [f"writer {who} could not: {text}" for text in said]
            if who == 0:
                tally["ended before"] += not is_killed
                acts[self._under_way if is_killed else "none: it had ended"] += 1
            elif is_killed or status != 0:
                troubles.append(f"writer {who}, which nobody killed, ended with status {status}")
        tally["by operation"] += is_by_operation
        tally["with others"] += others > 0
        tally["acknowledged"] += self._ledger.kept - heard_before
        is_last = number % _KILLS_PER_STORE == _KILLS_PER_STORE - 1
        if os.path.exists(os.path.join(self.folder, ".ctxrank", "ctxrank.db")):
            troubles += mended(self.folder, self._ledger)
            troubles += troubles_of(self.folder, self._ledger.promises, rng, is_thorough=is_last or rng.random() < 0.1)
            if not troubles:
                with open_store(self.folder + "/.ctxrank/ctxrank.db") as store:
                    self._ledger.promises = settled(self._ledger.promises, store.primary)
        elif any(one.state is State.KEPT for one in self._ledger.promises.values()):
            troubles.append("the store is gone")
        self.is_failed = bool(troubles)
        return troubles

    def remove(self) -> None:
        """Take the store from the disk."""
        for folder in (self.folder, f"{self.folder}-incoming"):
            shutil.rmtree(folder, ignore_errors=True)

    def _start(self, number: int, who: int, fatal: int, has_company: bool) -> _Writer:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            code = 1
            try:
                code = self._write(number, who, fatal, has_company, writing)
            finally:
                os._exit(code)
        os.close(writing)
        return _Writer(pid, reading)

    def _write(self, number: int, who: int, fatal: int, has_company: bool, pipe: int) -> int:
        """The life of a writer, in a process of its own."""

        def tell(line: dict[str, Any]) -> None:
            os.write(pipe, json.dumps(line).encode() + b"\n")

        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        rng = random.Random(f"{self._seed} instance {number} writer {who}")
        if fatal:
            be_doomed(self.folder, fatal, rng)
        try:
            tell({"act": "opening"})
            with create_store(self.folder, busy_ms=30_000) as store:
                if store.primary.execute("SELECT 1 FROM sessions WHERE name = ?", (SESSION,)).fetchone() is None:
                    self._make_session(store)
            os.chdir(self.folder)
            promises = self._ledger.promises if who == 0 else {}
            words = (number * 4 + who + 1) * _WORDS_PER_WRITER
            errand = Errand(self.folder, self._templates, rng, words, tell, promises)
            for source, unfinished in _unfinished_imports(promises).items():
                tell({"act": "import_again"})
                import_again(errand, source, unfinished)
            for _ in range(_ACTS_PER_WRITER if who == 0 else 5):
                name = rng.choice([name for name in ACTS if not has_company or name not in ALONE])
                tell({"act": name})
                with contextlib.suppress(Unrecorded):
                    ACTS[name](errand)
        except Exception as error:
            tell({"failed": f"{type(error).__name__}: {error}"})
        return 0

    @staticmethod
    def _make_session(store: Any) -> None:
        from ctxrank.indexer.exceptions import UsageError

        with contextlib.suppress(UsageError), store.write() as change:  # another writer may have been faster
            create_session(change, NewSession(SESSION))

    def _listen(self, writer: _Writer) -> tuple[int, list[str]]:
        """Hear a writer to its end: (its status, what it could not do)."""
        failed: list[str] = []
        with open(writer.pipe, "rb") as pipe:
            for raw in pipe:
                if not raw.endswith(b"\n"):
                    break  # the kill came in the middle of the word
                line = json.loads(raw)
                self._ledger.hear(line)
                if "act" in line:
                    self._under_way = str(line["act"])
                if "failed" in line:
                    failed.append(str(line["failed"]))
        _, status = os.waitpid(writer.pid, 0)
        return status, failed

    _under_way = "starting"


def _operation(rng: random.Random, most: int) -> int:
    """Which operation is the last: the early ones are as likely as the many late ones."""
    return int(math.exp(rng.random() * math.log(most))) + 1


def _unfinished_imports(promises: dict[str, Promise]) -> dict[str, dict[str, Promise]]:
    found: dict[str, dict[str, Promise]] = {}
    kinds = (Shape.REASONING, Shape.STRATEGY, Shape.SKILL)
    sources = {
        one.file
        for one in promises.values()
        if one.shape in kinds and one.state is State.ADDING and one.file not in ("", *SECRETS)
    }
    for word, promise in promises.items():
        if promise.file in sources:
            found.setdefault(promise.file, {})[word] = promise
    return found

"""Power cuts: a session of writes is recorded once, and the disk is made up as it may have been at many instants of it.

What is promised: an acknowledged record, and an acknowledged removal, survive a power cut (`synchronous` is FULL). What
an assembly notes (deliveries, receipts) does not wait for the disk: a cut may take the newest of it, whole, and
never what came before an acknowledged record. The index may lose what it likes: it catches up.

    cut_many("/tmp/work", seed=7, sessions=5, cuts=200)      Cuts(states=1000, …, failures=())
"""

import os
import pickle
import random
import shutil
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import apsw
import templates
from acts import ACTS, SESSION, Errand
from disk_after import Disk
from examine import mended, troubles_of
from promises import Ledger, Promises, Shape, State, rows_by_word
from recorded_files import Kind, Operation, record_files

from ctxrank.indexer.fulltext.fts5_engine import index_of
from ctxrank.indexer.opening import create_store
from ctxrank.indexer.records.sessions import NewSession, create_session

_ACTS_PER_SESSION = 25
_FAILURES_KEPT = 20
# Small, so that the log is merged into the file again and again while somebody else has it open.
_FEW_PAGES = 30


class Cuts(NamedTuple):
    """What a run came to: the disks that were looked at, out of how many recorded operations."""

    states: int
    seed: int
    operations: int
    acknowledged: int
    receipts_lost: int
    failures: tuple[str, ...]
    seconds: float


def cut_many(work: str, *, seed: int, sessions: int, cuts: int, say: Callable[[str], None] = lambda line: None) -> Cuts:
    """Record `sessions` sessions and cut the power `cuts` times in each."""
    started = time.monotonic()
    templates_folder = os.path.join(work, "templates")
    os.makedirs(templates_folder)
    templates.make_templates(templates_folder)
    states = acknowledged = operations = lost = 0
    failures: list[str] = []
    for number in range(sessions):
        rng = random.Random(f"{seed} session {number}")
        home = os.path.join(work, f"session {number}")
        recorded = _recorded(home, templates_folder, rng)
        operations += len(recorded)
        session = _Session(work, recorded)
        for point in sorted(_points(recorded, rng, cuts)):
            for trouble in session.cut(point, random.Random(f"{seed} session {number} cut {point}")):
                failures.append(f"seed {seed}, session {number}, operation {point}: {trouble}")
                say(failures[-1])
            states += 1
        acknowledged += session.ledger.kept
        lost += session.receipts_lost
        say(f"session {number}: {len(recorded)} operations, {states} disks so far, {len(failures)} failures")
        shutil.rmtree(home)
    return Cuts(
        states, seed, operations, acknowledged, lost, tuple(failures[:_FAILURES_KEPT]),
        round(time.monotonic() - started, 1),
    )  # fmt: skip


class _Session:
    """The recording, played up to some point."""

    def __init__(self, work: str, recorded: list[Operation]) -> None:
        self.ledger = Ledger()
        self.receipts_lost = 0
        self._disk = Disk()
        self._recorded = recorded
        self._played = 0
        self._after = os.path.join(work, "after the cut")
        self._unsynced: set[str] = set()  # receipts since the last record that waited for the disk

    def cut(self, point: int, rng: random.Random) -> list[str]:
        """Play on to this operation, cut the power, and look at what is left. Points only grow."""
        for operation in self._recorded[self._played : point]:
            if operation.kind is Kind.NOTE:
                self._hear(operation.line)
            else:
                self._disk.do(operation)
        self._played = point
        home = os.path.join(self._after, ".ctxrank")
        os.makedirs(home)
        try:
            self._disk.write_after_cut(home, rng)
            promises = self._promises()
            if not os.path.exists(os.path.join(home, "ctxrank.db")):
                return ["the store is gone"] if any(one.state is State.KEPT for one in promises.values()) else []
            was_damaged = self.ledger.is_damaged
            troubles = mended(self._after, self.ledger)
            self.ledger.is_damaged = was_damaged  # that was one of its disks
            troubles += troubles_of(self._after, promises, rng, is_thorough=rng.random() < 0.1)
            if not troubles:
                self.receipts_lost += len(self._unsynced) - self._receipts_left(os.path.join(home, "ctxrank.db"))
            return troubles
        finally:
            shutil.rmtree(self._after)

    def _receipts_left(self, db: str) -> int:
        connection = apsw.Connection(db)
        try:
            return len(self._unsynced & rows_by_word(connection).keys())
        finally:
            connection.close()

    def _hear(self, line: dict[str, Any]) -> None:
        self.ledger.hear(line)
        done = {word for word in line.get("done", ()) if self.ledger.promises[word].shape is Shape.RECEIPT}
        if done:
            self._unsynced |= done
        elif line.get("done") or line.get("removed") or line.get("forgotten"):
            self._unsynced.clear()

    def _promises(self) -> Promises:
        """What a power cut may not take."""
        return {
            word: one._replace(state=State.ADDING) if word in self._unsynced else one
            for word, one in self.ledger.promises.items()
        }


def _points(recorded: list[Operation], rng: random.Random, cuts: int) -> set[int]:
    """Half of them anywhere, half right behind an acknowledgement or around a sync."""
    critical = [
        point + shift
        for point, operation in enumerate(recorded)
        for shift in (0, 1)
        if operation.kind is Kind.SYNC or (operation.kind is Kind.NOTE and "done" in operation.line)
    ]
    anywhere = rng.sample(range(1, len(recorded) + 1), min(cuts // 2, len(recorded)))
    return {*anywhere, *rng.sample(critical, min(cuts - len(anywhere), len(critical)))}


def _recorded(home: str, templates_folder: str, rng: random.Random) -> list[Operation]:
    """The operations of one session of writes, which a process of its own makes."""
    os.makedirs(home)
    result = os.path.join(home, "recorded")
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            _write_a_session(home, templates_folder, rng, result)
            code = 0
        except Exception as error:
            with open(f"{result}.failed", "w", encoding="utf-8") as file:
                file.write(f"{type(error).__name__}: {error}")
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    if status != 0:
        with open(f"{result}.failed", encoding="utf-8") as file:
            raise AssertionError(f"the session that was to be recorded failed: {file.read()}")
    with open(result, "rb") as file:
        operations: list[Operation] = pickle.load(file)
    return operations


def _write_a_session(home: str, templates_folder: str, rng: random.Random, result: str) -> None:
    with open(os.devnull, "rb+") as silence:
        for stream in (0, 1, 2):
            os.dup2(silence.fileno(), stream)
    root = os.path.join(home, "root")
    os.makedirs(root)
    os.chdir(root)
    record = record_files(os.path.join(root, ".ctxrank"))
    if rng.random() < 1 / 2:
        apsw.connection_hooks.append(lambda connection: connection.wal_autocheckpoint(_FEW_PAGES))
    is_watched = rng.random() < 1 / 2
    with create_store(root) as store:
        with store.write() as change:
            create_session(change, NewSession(SESSION))
        if is_watched:
            store.catch_up()
    watcher = create_store(root) if is_watched else None  # keeps the logs from being merged at every close
    if watcher is not None:
        index_of(watcher)
    errand = Errand(root, templates_folder, rng, 1000, record.note, {})
    errand.damages = ()  # the recorded disk knows what SQLite does, and nothing else
    names = [*ACTS, "assemble", "assemble", "save_through_the_api"]
    for _ in range(_ACTS_PER_SESSION):
        ACTS[rng.choice(names)](errand)
    if watcher is not None:
        watcher.close()
    with open(result, "wb") as file:
        pickle.dump(record.operations, file)

"""A team's log under load: so many machines, each a process with a store of its own, that write, read and follow.

    benchmarks/team.py "host=127.0.0.1 user=postgres" --stores 20 --seconds 60
    benchmarks/team.py "host=127.0.0.1 user=postgres" --begin STORE   # a new machine, from a snapshot

Each machine writes a note every --write seconds and assembles a block every --read seconds (at times drawn for each),
and follows the log as `team follow` does. In the end all of them have to hold the same documents and find the same ten
hits for ten questions, with the same scores. The database is the one of an administrator of a PostgreSQL that is there;
a project is made in it, and roles that are called ctxrank_bench_…: a server whose pg_hba.conf trusts this machine.
"""

import argparse
import contextlib
import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

from psycopg import connect as connect_database
from psycopg.conninfo import make_conninfo

from ctxrank.extensions.team import sync
from ctxrank.extensions.team.log import connect
from ctxrank.extensions.team.schema import prepare
from ctxrank.extensions.team.snapshot import bring_snapshot, write_snapshot
from ctxrank.extensions.team.sync import Synced
from ctxrank.extensions.team.watch import LogWatch
from ctxrank.indexer.opening import create_store
from ctxrank.indexer.records.reasoning import NewReasoning, save_reasoning
from ctxrank.indexer.store.ids import digits_of, origin_and_number, origins_of
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.assembly.assemble import assemble
from ctxrank.ranking.context.assembly.shapes import AssembleRequest
from ctxrank.ranking.retrieval.hits import SearchRequest
from ctxrank.ranking.retrieval.search import search

WORDS = ("zebra", "walrus", "heron", "token", "lock", "queue", "retry", "schema", "index", "cursor", "vacuum", "shard")
QUESTIONS = tuple(f"{one} {WORDS[(3 * number + 1) % len(WORDS)]}" for number, one in enumerate(WORDS))[:10]
_SETTLE_S = 60.0


class Lags:
    """How long what others wrote took to come here, from their clock to ours: all run on one machine."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._last = 0
        self.seconds: list[float] = []

    def note(self, _: Synced) -> None:
        """Look at what has come in."""
        query = """
            SELECT l.seq, r.created_at FROM record_log AS l JOIN reasoning AS r ON r.id = l.number
             WHERE l.kind = 'reasoning' AND l.number < 0 AND l.gone = 0 AND l.seq > ?
        """
        now = time.time()
        for seq, created_at in list(self._store.primary.execute(query, (self._last,))):
            self._last = max(self._last, seq)
            self.seconds.append(now - created_at / 1e6)


def machine(
    folder: str, dsn: str, project: str, code: str, seed: int, seconds: float, write_s: float, read_s: float
) -> None:
    """One machine: works for so long, then follows until stdin ends; prints what it saw of it."""
    drawn = random.Random(seed)
    with create_store(folder) as store, connect(dsn, project) as log:
        sync.join(store, log, code)
    following: dict[str, Any] = {}
    ready = threading.Event()

    def follow() -> None:
        with create_store(folder) as store:
            lags = Lags(store)
            following["follower"], following["lags"] = LogWatch(store, dsn, lags.note), lags
            ready.set()
            following["follower"].run()

    thread = threading.Thread(target=follow)
    thread.start()
    ready.wait()
    print("ready", flush=True)
    started_s = _cpu_s()
    sys.stdin.readline()  # all begin together: starting so many processes is none of the log's work
    written, read_ms = 0, list[float]()
    with create_store(folder) as store:
        until = time.monotonic() + seconds
        writes, reads = time.monotonic() + drawn.random() * write_s, time.monotonic() + drawn.random() * read_s
        while (now := time.monotonic()) < until:
            if now >= writes:
                text = " ".join(drawn.choices(WORDS, k=12)) + f" note {written} of machine {seed}"
                new = NewReasoning("S", "G", "developer", "decisions", text)
                save_reasoning(store, new, create_session=True)
                written, writes = written + 1, writes + drawn.uniform(0.5, 1.5) * write_s
            elif now >= reads and written:
                begun = time.perf_counter()
                assemble(store, AssembleRequest("S", "developer", task=" ".join(drawn.choices(WORDS, k=4))))
                read_ms.append((time.perf_counter() - begun) * 1000)
                reads += drawn.uniform(0.5, 1.5) * read_s
            else:
                time.sleep(min(0.02, max(min(writes, reads) - now, 0)))
    used_s = _cpu_s() - started_s
    print("done", flush=True)
    sys.stdin.read()
    following["follower"].stop()
    thread.join()
    with create_store(folder) as store:
        facts = {
            "written": written, "lags": following["lags"].seconds, "read_ms": read_ms,
            "cpu_s": used_s, "change": sync.state_of(store).applied,
            "documents": store.primary.execute("SELECT count(*) FROM documents").get, "digest": _digest(store),
        }  # fmt: skip
    print(json.dumps(facts), flush=True)


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _digest(store: Store) -> str:
    """Of all notes by key, and of the ten hits of each question with their scores to six places."""
    uuids = origins_of(store.primary)

    def key(number: int) -> str:
        code, there = origin_and_number(number)
        return f"{digits_of(uuids[code])} {there}"

    rows = sorted(
        f"{key(number)} {text}" for number, text in store.primary.execute("SELECT id, content FROM reasoning")
    )
    for question in QUESTIONS:
        found = search(store, SearchRequest(question, limit=10, as_of=1_900_000_000_000_000))
        rows += [f"{question}: {hit.snippet} {hit.score or 0:.6f}" for hit in found.hits]
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


@contextlib.contextmanager
def _machines(commands: list[list[str]]) -> Generator[list["subprocess.Popen[str]"], None, None]:
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for command in commands
    ]
    try:
        yield processes
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
            process.wait()


def run(dsn: str, stores: int, seconds: float, write_s: float, read_s: float) -> dict[str, Any]:
    """All machines on one log; what they saw, and whether they are the same in the end."""
    project = f"bench {os.getpid()} {time.time_ns()}"
    roles = [f"ctxrank_bench_{number}" for number in range(stores)]
    codes = prepare(dsn, project, roles).codes
    with (
        tempfile.TemporaryDirectory(prefix="ctxrank-team-") as home,
        connect_database(dsn, autocommit=True) as database,
    ):
        commands: list[list[str]] = []
        for number, role in enumerate(roles):
            folder = Path(home) / role
            folder.mkdir()
            values = [
                str(folder),
                make_conninfo(dsn, user=role),
                project,
                codes[role],
                number,
                seconds,
                write_s,
                read_s,
            ]
            commands.append([sys.executable, __file__, "--machine", json.dumps(values)])
        before = _traffic(database, project)
        with _machines(commands) as processes:
            for process in processes:
                assert process.stdout is not None and process.stdout.readline() == "ready\n"
            for process in processes:
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.flush()
            for process in processes:
                assert process.stdout is not None and process.stdout.readline() == "done\n"
            worked_until = time.monotonic()
            settled_s = _settle(database, project, stores, worked_until)
            facts: list[dict[str, Any]] = []
            for process in processes:
                out, _ = process.communicate()
                facts.append(json.loads(out))
        after = _traffic(database, project)
    lags = sorted(lag for one in facts for lag in one["lags"])
    reads = sorted(ms for one in facts for ms in one["read_ms"])
    return {
        "stores": stores, "seconds": seconds, "notes": sum(one["written"] for one in facts), "assemblies": len(reads),
        "arrivals": len(lags), "lag_p50_s": _at(lags, 0.5), "lag_p95_s": _at(lags, 0.95), "lag_max_s": _at(lags, 1.0),
        "assemble_p50_ms": _at(reads, 0.5), "assemble_p95_ms": _at(reads, 0.95),
        "cpu_percent_of_a_core_a_machine": round(100 * sum(one["cpu_s"] for one in facts) / stores / seconds, 1),
        "log_bytes": after - before, "settled_after_s": round(settled_s, 1),
        "documents": facts[0]["documents"], "same": len({one["digest"] for one in facts}) == 1,
    }  # fmt: skip


def begin(dsn: str, folder: str) -> dict[str, Any]:
    """A store gives all it has to a log; a new machine begins with a snapshot of it.

    The store becomes a member of the log: give a copy.
    """
    project = f"bench {os.getpid()} {time.time_ns()}"
    roles = ["ctxrank_bench_0", "ctxrank_bench_1"]
    codes = prepare(dsn, project, roles).codes
    facts: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="ctxrank-team-", dir=Path(folder).parent) as home:
        snapshot, new = str(Path(home) / "snapshot"), Path(home) / "new"
        with create_store(folder) as store, connect(make_conninfo(dsn, user=roles[0]), project) as log:
            facts["documents"] = store.primary.execute("SELECT count(*) FROM documents").get
            with _timed(facts, "push"):
                sync.join(store, log, codes[roles[0]])
                while sync.synchronize(store, log).pushed:
                    pass
            with _timed(facts, "write_snapshot"):
                facts["lines"], _ = write_snapshot(log, snapshot)
            facts["snapshot_bytes"] = os.path.getsize(snapshot)
        new.mkdir()
        with (
            create_store(str(new)) as store, connect(make_conninfo(dsn, user=roles[1]), project) as log,
            _timed(facts, "begin"),
        ):  # fmt: skip
            sync.join(store, log, codes[roles[1]])
            taken = bring_snapshot(store, log, snapshot, None)
            while sync.synchronize(store, log).pulled:
                pass
        facts |= {"taken": taken.taken, "refused": taken.refused}
        with create_store(str(new)) as store, _timed(facts, "first_search"):
            search(store, SearchRequest("zebra walrus", limit=10))
            facts["documents_there"] = store.primary.execute("SELECT count(*) FROM documents").get
    facts["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return facts


@contextlib.contextmanager
def _timed(facts: dict[str, Any], name: str) -> Generator[None, None, None]:
    wall, cpu = time.monotonic(), time.process_time()
    yield
    facts[f"{name}_s"] = round(time.monotonic() - wall, 1)
    facts[f"{name}_cpu_s"] = round(time.process_time() - cpu, 1)


def _traffic(database: Any, project: str) -> int:
    """The bytes of the project's lines: each is pushed once, and pulled by every other machine."""
    query = """
        SELECT coalesce(sum(octet_length(r.line) + 32), 0) FROM ctxrank.records AS r
          JOIN ctxrank.projects AS p ON p.id = r.project WHERE p.name = %s
    """
    return int(database.execute(query, (project,)).fetchone()[0])


def _settle(database: Any, project: str, stores: int, since: float) -> float:
    """Wait until every machine has said that it has all; how long that took."""
    query = """
        SELECT count(*) FROM ctxrank.members AS m JOIN ctxrank.projects AS p ON p.id = m.project
         WHERE p.name = %s AND m.applied >= (
            SELECT max(r.n) FROM ctxrank.records AS r WHERE r.project = p.id AND r.origin <> m.origin)
    """
    quiet_since = None
    while time.monotonic() - since < _SETTLE_S:
        if database.execute(query, (project,)).fetchone()[0] == stores:
            quiet_since = quiet_since or time.monotonic()
            if time.monotonic() - quiet_since > 2:
                return quiet_since - since
        else:
            quiet_since = None
        time.sleep(0.2)
    return time.monotonic() - since


def _at(values: list[float], share: float) -> float:
    return round(values[min(int(len(values) * share), len(values) - 1)], 3) if values else 0.0


def main() -> None:
    """Run one, or be one of its machines."""
    parser = argparse.ArgumentParser(description="A team's log under load.")
    parser.add_argument("dsn", nargs="?", default="")
    parser.add_argument("--stores", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--write", type=float, default=2.0, help="seconds between two notes of a machine")
    parser.add_argument("--read", type=float, default=1.0, help="seconds between two assemblies of a machine")
    parser.add_argument(
        "--begin", metavar="STORE", help="let a new machine begin with what this store has (give a copy)"
    )
    parser.add_argument("--machine", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.machine:
        machine(*json.loads(given.machine))
        return
    if given.begin:
        facts = begin(given.dsn, given.begin)
    else:
        facts = run(given.dsn, given.stores, given.seconds, given.write, given.read)
    for name, value in facts.items():
        print(f"{name:<32} {value}")


if __name__ == "__main__":
    main()

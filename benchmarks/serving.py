"""One process that serves 32 clients: 60 % hooks, 30 % searches, 10 % saves, a request a second from each.

    python benchmarks/serving.py --seconds 60 --out benchmarks/results/serving.json

Prints p50 and p95 of each kind, what failed, what a request costs in CPU, the process's memory every ten seconds, and
what HTTP adds to a hook called in process, in pairs. At the end the process is killed, and
every save that was acknowledged is looked for in the store.
"""

import argparse
import http.client
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from generate import Asked, StoreShape, asked, write_store
from machine import facts
from timing import clean_environment, percentile

from ctxrank.cli.agents.hook import answer_of
from ctxrank.cli.call import Call
from ctxrank.indexer import open_store
from ctxrank.indexer.store.one_process import holder
from ctxrank.indexer.store_pool import StorePool

_KINDS = ("hook",) * 6 + ("search",) * 3 + ("save",)
_START_S = 30.0
_CURVE_S = 10.0
_PAIRS = 200


class Client(threading.Thread):
    """Asks once a second until a moment; keeps how long each answer took, and which saves were acknowledged."""

    def __init__(self, number: int, port: int, token: str, questions: list[Asked], ends: float, folder: str) -> None:
        super().__init__()
        self._number = number
        self._port = port
        self._token = token
        self._questions = questions
        self._ends = ends
        self._folder = folder
        self.took: dict[str, list[float]] = {kind: [] for kind in _KINDS}
        self.failed: list[str] = []
        self.saved: list[int] = []

    def run(self) -> None:
        chance = random.Random(self._number)
        time.sleep(chance.random())
        turn = 0
        while time.monotonic() < self._ends:
            begins = time.monotonic()
            kind = chance.choice(_KINDS)
            path, body = self.request(kind, chance.choice(self._questions), turn)
            try:
                status, answer = self.ask(path, body)
            except OSError as error:
                status, answer = 0, str(error)
            self.took[kind].append((time.monotonic() - begins) * 1000)
            if status != 200:
                self.failed.append(f"{kind}: {status} {answer[:200]}")
            elif kind == "save":
                self.saved.append(json.loads(answer)["id"])
            turn += 1
            time.sleep(max(0.0, begins + 1 - time.monotonic()))

    def request(self, kind: str, question: Asked, turn: int) -> tuple[str, dict[str, object]]:
        """The path and the body of a request."""
        if kind == "hook":
            event: dict[str, object] = {
                "hook_event_name": "UserPromptSubmit", "session_id": f"runner-{self._number}", "cwd": self._folder,
                "prompt": question.task,
            }  # fmt: skip
            return "/hook", event
        if kind == "search":
            return "/api/search", {"query": [question.query]}
        text = f"client {self._number} in turn {turn} found: {question.task}"
        given: dict[str, object] = {
            "session": question.session,
            "agent": "developer",
            "phase": "decisions",
            "content": text,
        }
        return "/api/reasoning/save", given

    def ask(self, path: str, body: dict[str, object]) -> tuple[int, str]:
        """The status and the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {self._token}"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    shape = StoreShape(given.documents, max(1, given.documents // 100))
    with tempfile.TemporaryDirectory(prefix="ctxrank-serving-") as folder:
        write_store(folder, shape)
        found = _measured(folder, asked(shape, 500), given.seconds, given.clients)
    found = {"machine": facts(), "clients": given.clients, "documents": given.documents, **found}
    print(json.dumps(found, indent=2))
    if given.out:
        given.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def _measured(folder: str, questions: list[Asked], seconds: float, count: int) -> dict[str, object]:
    command = [sys.executable, "-m", "ctxrank.cli", "serve", "--port", "0"]
    process = subprocess.Popen(command, cwd=folder, env=clean_environment())
    try:
        port = _port(process, folder)
        token = Path(folder, ".ctxrank", "serve.token").read_text(encoding="ascii").strip()
        warm = Client(count, port, token, questions, time.monotonic() + 5, folder)
        warm.start()
        warm.join()
        before = _memory_mb(process.pid)
        ends = time.monotonic() + seconds
        clients = [Client(number, port, token, questions, ends, folder) for number in range(count)]
        for client in clients:
            client.start()
        curve = [before]
        cpu = _cpu_ms(process.pid)
        while time.monotonic() < ends:
            time.sleep(min(_CURVE_S, max(0.0, ends - time.monotonic())))
            curve.append(_memory_mb(process.pid))
        for client in clients:
            client.join()
        cpu = _cpu_ms(process.pid) - cpu
        added = _added_by_http(port, token, questions, folder)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    took = {kind: [one for client in clients for one in client.took[kind]] for kind in dict.fromkeys(_KINDS)}
    every = [one for values in took.values() for one in values]
    saved = [id_ for client in (*clients, warm) for id_ in client.saved]
    with open_store(os.path.join(folder, ".ctxrank", "ctxrank.db")) as store:
        there = {row[0] for row in store.primary.execute("SELECT id FROM reasoning")}
    return {
        "seconds": seconds, "requests": len(every),
        "p50_ms": round(percentile(every, 0.5), 1), "p95_ms": round(percentile(every, 0.95), 1),
        "longest_ms": round(max(every), 1),
        "by_kind": {
            kind: {"requests": len(values), "p50_ms": round(percentile(values, 0.5), 1),
                   "p95_ms": round(percentile(values, 0.95), 1)}
            for kind, values in took.items() if values
        },
        "failed": [one for client in clients for one in client.failed][:10],
        "memory_mb": curve, "cpu_ms_per_request": round(cpu / len(every), 2), "http_adds_ms": added,
        "saves": len(saved), "saves_lost_after_kill": len(set(saved) - there),
    }  # fmt: skip


def _added_by_http(port: int, token: str, questions: list[Asked], folder: str) -> float:
    """What a hook costs over HTTP more than in process, the median of pairs, in milliseconds."""
    client = Client(0, port, token, questions, 0.0, folder)
    call = Call(pool=StorePool())
    added: list[float] = []
    for turn, question in enumerate(questions[:_PAIRS]):
        path, body = client.request("hook", question, turn)
        event = json.dumps(body).encode()
        begun = time.perf_counter()
        answer_of(event, None, call)
        between = time.perf_counter()
        client.ask(path, body)
        if turn >= _PAIRS // 10:  # both are warm
            added.append((time.perf_counter() - between) - (between - begun))
    return round(statistics.median(added) * 1000, 2)


def _cpu_ms(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def _port(process: "subprocess.Popen[bytes]", folder: str) -> int:
    ends = time.monotonic() + _START_S
    while time.monotonic() < ends and process.poll() is None:
        says = holder(os.path.join(folder, ".ctxrank", "serve.lock"))
        if says:
            return int(says.rpartition(":")[2])
        time.sleep(0.05)
    raise SystemExit("the server did not start")


def _memory_mb(pid: int) -> float:
    """Resident memory, in megabytes."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").split("\n") if "VmRSS" in line)
    return round(int(line.split()[1]) / 1024, 1)


if __name__ == "__main__":
    main()

"""How search grows with documents, words and results, and beside what others make of the same documents.

    python run_scale.py [--sizes N ...] [--folder DIR] [--peers PYTHON] [--questions N] [--out DIR]

`--folder` keeps stores and peers' indexes for the next run (3 GB for a million documents). Writes results/scale.json
and, where --peers has matplotlib, results/scale-*.png. Times are CPU time, except those called wall.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import machine
from scale_store import Asked, questions, write_store
from timing import percentile

from ctxrank.indexer import Store, open_store
from ctxrank.ranking import AssembleRequest, SearchRequest, assemble, search
from ctxrank.ranking.retrieval.candidates import candidates

_HERE = os.path.dirname(os.path.abspath(__file__))
_SIZES = (10_000, 100_000, 1_000_000)
_WORDS = (1, 2, 4, 8, 16, 32)
_LIMITS = (10, 30, 100, 300, 1000)
_EXHAUSTIVE = 30  # questions whose every matching row is scored, to compare
_WARM_UP = 10
_WRITER_S = 30.0


def main() -> None:
    """Measure all sizes, and write what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(_SIZES))
    parser.add_argument("--folder", help="keeps stores; gigabytes")
    parser.add_argument("--peers", default=sys.executable, help="an interpreter with apsw, tantivy and matplotlib")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--out", default=os.path.join(os.path.dirname(_HERE), "results"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ctxrank-scale-") as temporary:
        folder = options.folder or temporary
        found: dict[str, Any] = {"machine": machine.facts(), "sizes": []}
        for size in options.sizes:
            store = os.path.join(folder, str(size))
            if not os.path.isdir(store):
                os.makedirs(store)
                write_store(store, size)
            # In a process of its own, so that its memory is its own.
            measured = _child("size", store, folder, options.peers, options.questions)
            found["sizes"].append({"documents": size, **measured})
            print(json.dumps(_summary(found["sizes"][-1])), flush=True)
        largest = os.path.join(folder, str(options.sizes[-1]))
        found["largest"] = _child("largest", largest, folder, options.peers, options.questions)
    path = os.path.join(options.out, "scale.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(_as_lines(found))
    curves = os.path.join(_HERE, "scale_curves.py")
    subprocess.run([options.peers, curves, path, options.out], check=False)


def _as_lines(found: dict[str, Any]) -> str:
    """JSON with one size on each line."""
    sizes = ",\n  ".join(json.dumps(size) for size in found["sizes"])
    machine_, largest = json.dumps(found["machine"]), json.dumps(found["largest"])
    return f'{{\n"machine": {machine_},\n"sizes": [\n  {sizes}\n],\n"largest": {largest}\n}}\n'


def _summary(size: dict[str, list[float] | float | str]) -> dict[str, Any]:
    return {
        name: [round(percentile(value, 0.5), 2), round(percentile(value, 0.95), 2)]
        if isinstance(value, list)
        else value
        for name, value in size.items()
        if not isinstance(value, dict)
    }


def _child(what: str, store: str, folder: str, peers: str, count: int) -> dict[str, Any]:
    command = [sys.executable, os.path.abspath(__file__), "--child", what, store, folder, peers, str(count)]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    measured: dict[str, Any] = json.loads(answer)
    return measured


def child(what: str, folder: str, kept: str, peers: str, count: int) -> None:
    """One process's part; prints JSON."""
    asked = questions(folder, count)
    with open_store(start=folder) as store:
        found = _size(store, asked, folder, kept, peers) if what == "size" else _largest(store, folder, count)
    print(json.dumps(found))


def _size(store: Store, asked: list[Asked], folder: str, kept: str, peers: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "search_ms": _timed(asked, lambda one: _search(store, one.words)),
        "session_ms": _timed(asked, lambda one: _search(store, one.words, session=one.session)),
        "assemble_ms": _timed(asked, lambda one: _assemble(store, one)),
    }
    found["rss_mb"] = _peak_mb()
    found["overlap"] = _agreement(store, asked)
    found["index_bytes"] = os.path.getsize(os.path.join(folder, ".ctxrank", "index.db"))
    for engine in ("naive", "tantivy"):
        found |= _peer(engine, asked, folder, kept, peers)
    return found


def _peer(engine: str, asked: list[Asked], folder: str, kept: str, peers: str) -> dict[str, Any]:
    place = os.path.join(kept, f"peers-{os.path.basename(folder)}")
    os.makedirs(place, exist_ok=True)
    listed = os.path.join(place, "questions.json")
    with open(listed, "w", encoding="utf-8") as file:
        json.dump([one.words for one in asked], file)
    command = [peers, os.path.join(_HERE, "scale_peers.py"), engine, folder, place, listed, "10"]
    run = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        return {}
    answer = json.loads(run.stdout)
    return {f"{engine}_ms": answer["ms"], f"{engine}_bytes": answer["bytes"]}


def _largest(store: Store, folder: str, count: int) -> dict[str, Any]:
    by_words = {
        words: _timed(questions(folder, count, (words, words)), lambda one: _search(store, one.words))
        for words in _WORDS
    }
    asked = questions(folder, count)
    by_limit = {limit: _timed(asked, partial(_search_one, store, limit)) for limit in _LIMITS}
    quiet = _timed(asked, lambda one: _search(store, one.words), is_wall=True)
    code = os.path.join(_HERE, "scale_writer.py")
    writer = subprocess.Popen([sys.executable, code, folder, str(_WRITER_S)], stdout=subprocess.PIPE, text=True)
    time.sleep(1)
    busy = _timed(asked, lambda one: _search(store, one.words), is_wall=True)
    written, _ = writer.communicate()
    return {
        "by_words": by_words, "by_limit": by_limit, "quiet_wall_ms": quiet, "while_indexing_wall_ms": busy,
        "written_meanwhile": int(written),
    }  # fmt: skip


def _timed(asked: Sequence[Asked], call: Callable[[Asked], object], *, is_wall: bool = False) -> list[float]:
    clock = time.perf_counter_ns if is_wall else time.process_time_ns
    for one in asked[:_WARM_UP]:
        call(one)
    times: list[float] = []
    for one in asked:
        started = clock()
        call(one)
        times.append(round((clock() - started) / 1e6, 3))
    return times


def _search(store: Store, text: str, limit: int = 10, session: str | None = None) -> list[str]:
    return [hit.id for hit in search(store, SearchRequest(text, limit, session=session, is_plain=True)).hits]


def _search_one(store: Store, limit: int, one: Asked) -> list[str]:
    return _search(store, one.words, limit)


def _peak_mb() -> float:
    """The largest resident set so far; what `getrusage` says, a process has from its parent."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1000


def _assemble(store: Store, one: Asked) -> object:
    request = AssembleRequest(one.session, one.agent, one.group, one.words, is_marking=True, is_explained=False)
    return assemble(store, request)


def _agreement(store: Store, asked: list[Asked]) -> float:
    """How much of ten hits scoring everything also finds."""
    requests = [SearchRequest(one.words, 10, is_plain=True, has_snippets=False) for one in asked]
    selected = [search(store, request) for request in requests]
    usual = candidates.MAX_ENUMERATED
    candidates.MAX_ENUMERATED = sys.maxsize
    overlaps: list[float] = []
    for request, result in zip(requests[:_EXHAUSTIVE], selected, strict=False):
        wanted = {hit.id for hit in search(store, request).hits}
        overlaps.append(len(wanted & {hit.id for hit in result.hits}) / len(wanted) if wanted else 1.0)
    candidates.MAX_ENUMERATED = usual
    return sum(overlaps) / len(overlaps)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5], int(sys.argv[6]))
    else:
        main()

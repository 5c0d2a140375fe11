"""Relevance: nDCG@10 on every collection of DATA/ir, ours beside what one would use instead, query by query.

Ours is `ctxrank eval`: the search that users have, with its one default setting. The peers see title and text as one
text, and all words of the query as alternatives:

    naive FTS5     porter, ORDER BY rank
    bm25s          Lucene's BM25, stems and stop words
    tantivy        en_stem

A difference is a mean over queries with a 95 % interval by paired bootstrap; the target is not to be significantly
below the better of naive FTS5 and bm25s on any collection.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

from figures import Figure, Findings
from workspace import Workspace

from ctxrank.extensions.evaluation.collection import Collection, read_collections
from ctxrank.extensions.evaluation.evaluate import evaluate, quality
from ctxrank.extensions.evaluation.sweep import interval
from ctxrank.indexer.store.config import Config

_SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer_relevance.py")
_PACKAGES = {"bm25s": ("bm25s", "PyStemmer"), "tantivy": ("tantivy",)}
_RIVALS = ("naive FTS5", "bm25s")
# What is known to be within reach on the public collections, all with one setting.
MIN_NDCG = {
    "cranfield": 0.405, "cisi": 0.41, "scifact": 0.70, "cosqa": 0.41, "commits_pytest": 0.60, "locomo_turn": 0.54,
}  # fmt: skip
MIN_RECALL = {"locomo_turn": 0.90}


def measure(workspace: Workspace) -> Findings:
    """Every collection below DATA/ir; nothing, and a note, where there is none."""
    home = os.path.join(workspace.data or "", "ir")
    if workspace.data is None or not os.path.isdir(home):
        return Findings([], ["Left out: --data names no folder with ir/*, collections in BEIR's form."])
    notes: list[str] = []
    engines = {"naive FTS5": sys.executable, **_peers(workspace, notes)}
    figures: list[Figure] = []
    for name in sorted(os.listdir(home)):
        folder = os.path.join(home, name)
        if os.path.isfile(os.path.join(folder, "corpus.jsonl")):
            figures += _measured(name, folder, engines)
    notes.append("Latency is a search's in process, with snippets, its p95 over all queries.")
    return Findings(figures, notes)


def _measured(name: str, folder: str, engines: dict[str, str]) -> Iterator[Figure]:
    collections = read_collections(folder)
    ours = evaluate(collections, Config())
    ndcg = {query.query_id: query.ndcg_at_10 for query in ours.queries}
    yield _mean(f"{name}, ctxrank, nDCG@10", list(ndcg.values()), MIN_NDCG.get(name))
    recall, times = zip(*((query.recall_at_100, query.latency_ms) for query in ours.queries), strict=True)
    yield _mean(f"{name}, ctxrank, recall@100", list(recall), MIN_RECALL.get(name))
    yield Figure(f"{name}, ctxrank, latency p95", "ms", ours.latency_ms(0.95), times)
    peers = {engine: _peer_ndcg(engine, python, folder, collections) for engine, python in engines.items()}
    for engine, found in peers.items():
        yield _mean(f"{name}, peer: {engine}, nDCG@10", list(found.values()), None)
    rival = max((engine for engine in peers if engine in _RIVALS), key=lambda one: sum(peers[one].values()))
    gains = [ndcg[query] - peers[rival][query] for query in ndcg]
    low, high = interval(gains)
    yield Figure(f"{name}, gain over {rival}", "", sum(gains) / len(gains), tuple(gains))
    yield Figure(f"{name}, gain over {rival}, 95 % from", "", low, (low,))
    yield Figure(f"{name}, gain over {rival}, 95 % to", "", high, (high,), 0.0, is_minimum=True)


def _mean(name: str, values: list[float], limit: float | None) -> Figure:
    return Figure(name, "", sum(values) / len(values), tuple(values), limit, is_minimum=True)


def _peer_ndcg(engine: str, python: str, folder: str, collections: list[Collection]) -> dict[str, float]:
    done = subprocess.run([python, _SCRIPT, engine, folder], check=True, capture_output=True, text=True)
    ranked: dict[str, list[str]] = json.loads(done.stdout)
    queries = [query for collection in collections for query in collection.queries]
    return {query.id: quality(query, ranked.get(query.id, [])).ndcg_at_10 for query in queries}


def _peers(workspace: Workspace, notes: list[str]) -> dict[str, str]:
    """The interpreter of each peer that can be installed, in one environment of their own."""
    if workspace.is_offline:
        notes.append("bm25s and tantivy were left out: a quick run installs nothing.")
        return {}
    home = os.path.join(workspace.folder, "relevance-peers")
    python = os.path.join(home, "bin", "python")
    found: dict[str, str] = {}
    try:
        subprocess.run([sys.executable, "-m", "venv", home], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        notes.append("bm25s and tantivy were left out: no environment can be made for them.")
        return found
    for engine, packages in _PACKAGES.items():
        try:
            subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            notes.append(f"{engine} was left out: it could not be installed here.")
            continue
        found[engine] = python
    shown = subprocess.run([python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True).stdout.split()
    versions = ", ".join(line.replace("==", " ") for line in shown if line.startswith(("bm25s=", "tantivy=")))
    notes.append(f"Peers: {versions}." if versions else "")
    return found

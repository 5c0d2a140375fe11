"""The wide index beside the embedded one: the same answers, at which cost.

    benchmarks/wide.py http://127.0.0.1:9200 DATA/ir/cranfield DATA/ir/scifact … [--documents 300000] [--out FILE]

Each folder is a collection in BEIR's form, asked of both engines: nDCG@10, the share of the first ten hits that they
have in common, how often the first is the same. `--documents` adds a store of so many (scale/scale_store.py): what a
document costs to send and to keep, and what a query costs, in a session and everywhere. CPU of the cluster is what its
nodes say of themselves. The indexes are removed in the end; nothing else of the cluster is touched.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(_HERE, "scale"))

import machine
from scale_store import Asked, questions, write_store

from ctxrank.extensions.evaluation.collection import read_collections
from ctxrank.extensions.evaluation.evaluate import GAIN_DEPTH, IndexedCollection, indexed, ndcg, ranked_ids
from ctxrank.extensions.opensearch.cluster import Cluster, value_at
from ctxrank.extensions.opensearch.engine import connect
from ctxrank.extensions.opensearch.updater import drop_index, index_name, send_changes
from ctxrank.indexer.light_typing import is_dict
from ctxrank.indexer.opening import engine_of, open_project_store
from ctxrank.indexer.store.config import FTS5, OPENSEARCH, Config
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.store.wide_settings import WideSettings
from ctxrank.ranking.context.assembly.assemble import make_assembly
from ctxrank.ranking.context.assembly.shapes import AssembleRequest
from ctxrank.ranking.retrieval.hits import SearchRequest
from ctxrank.ranking.retrieval.search import search

_WARM_UP = 20


class _Answers(NamedTuple):
    """One query's first hits, by engine, and how good each was."""

    local: list[str]
    wide: list[str]
    local_ndcg: float
    wide_ndcg: float


def main() -> None:
    """Measure, print each part, and write all of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("urls", help="the nodes, with commas between")
    parser.add_argument("collections", nargs="*", help="folders with corpus.jsonl, queries.jsonl and qrels.tsv")
    parser.add_argument("--queries", type=int, help="at most so many of each collection")
    parser.add_argument("--documents", type=int, help="of a store made for this")
    parser.add_argument("--questions", type=int, default=100, help="of that store")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--replicas", type=int, default=0)
    parser.add_argument("--folder", help="where that store is kept for the next run")
    parser.add_argument("--out", default=os.path.join(_HERE, "results", "wide.json"))
    options = parser.parse_args()
    settings = WideSettings(
        tuple(options.urls.split(",")), shards=options.shards, replicas=options.replicas, keeps_local=False
    )
    found: dict[str, Any] = {"machine": machine.facts(), "shards": options.shards, "replicas": options.replicas}
    if options.collections:
        found["collections"] = {}
        for folder in options.collections:
            name = os.path.basename(os.path.normpath(folder))
            found["collections"][name] = _collection(folder, settings, options.queries)
            print(name, json.dumps(found["collections"][name]), flush=True)
    if options.documents:
        with tempfile.TemporaryDirectory(prefix="ctxrank-wide-") as temporary:
            folder = options.folder or temporary
            found["store"] = _large_store(folder, options.documents, options.questions, settings)
            print("store", json.dumps(found["store"]), flush=True)
    with open(options.out, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)
        file.write("\n")


def _collection(folder: str, settings: WideSettings, most: int | None) -> dict[str, object]:
    """Both engines on one collection, query by query."""
    asked: list[_Answers] = []
    cluster = connect(settings)
    config = Config()
    for collection in read_collections(folder):
        with indexed(collection, config) as one:
            try:
                _send(one.store, cluster, settings)
                asked += [_ask(one, query, config, settings) for query in collection.queries[:most]]
            finally:
                drop_index(cluster, index_name(one.store.primary))
    return {
        "queries": len(asked),
        "ndcg_at_10": {
            "embedded": _mean([query.local_ndcg for query in asked]),
            "wide": _mean([query.wide_ndcg for query in asked]),
        },
        "overlap_at_10": _mean([_overlap(query.local, query.wide) for query in asked]),
        "same_first": _mean([float(query.local[:1] == query.wide[:1]) for query in asked]),
    }


def _ask(one: IndexedCollection, query: Any, config: Config, settings: WideSettings) -> _Answers:
    one.store.last_config = config
    local = ranked_ids(one, query, config)
    one.store.last_config = config._replace(engine=OPENSEARCH, wide=settings)
    wide = ranked_ids(one, query, config)
    one.store.last_config = config
    return _Answers(local, wide, ndcg(local, query.grades), ndcg(wide, query.grades))


def _overlap(one: Sequence[str], other: Sequence[str]) -> float:
    """The share of the longer list that both have; two empty ones are the same."""
    return len(set(one) & set(other)) / max(len(one), len(other), 1) if one or other else 1.0


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0


def _large_store(folder: str, documents: int, count: int, settings: WideSettings) -> dict[str, object]:
    """What a store of many documents costs in either engine."""
    if not os.path.isdir(os.path.join(folder, ".ctxrank")):
        write_store(folder, documents)
    cluster = connect(settings)
    with open_project_store(folder) as store:
        name = index_name(store.primary)
        drop_index(cluster, name)
        try:
            cpu, nodes_cpu, wall = time.process_time(), _cpu_ms(cluster), time.perf_counter()
            sent = _send(store, cluster, settings)
            wall = time.perf_counter() - wall
            sending = {
                "documents": sent, "wall_s": round(wall, 1), "documents_per_s": round(sent / wall),
                "cpu_ms": round((time.process_time() - cpu) * 1000 / sent, 3),
                "cluster_cpu_ms": round((_cpu_ms(cluster) - nodes_cpu) / sent, 3),
            }  # fmt: skip
            stats = cluster.required("GET", f"/{name}/_stats/store,docs")
            size = int(str(value_at(stats, "_all", "primaries", "store", "size_in_bytes")))
            location = store.location
            held = {
                "cluster_bytes": round(size / sent),
                "index_bytes": round(os.path.getsize(location.index_file) / sent),
                "primary_bytes": round(os.path.getsize(location.primary) / sent),
            }
            asked = questions(folder, count)
            return {
                "sending": sending, "bytes_a_document": held,
                "everywhere": _costs(store, cluster, settings, asked, _everywhere),
                "in_a_session": _costs(store, cluster, settings, asked, _in_a_session),
                "blocks": _costs(store, cluster, settings, asked, _in_a_block),
            }  # fmt: skip
        finally:
            drop_index(cluster, name)


def _everywhere(store: Store, asked: Asked) -> list[str]:
    return [hit.id for hit in search(store, SearchRequest(asked.words), Config()).hits]


def _in_a_session(store: Store, asked: Asked) -> list[str]:
    return [hit.id for hit in search(store, SearchRequest(asked.words, session=asked.session), Config()).hits]


def _in_a_block(store: Store, asked: Asked) -> list[str]:
    """The packages of a block whose task is the question, of any group; nothing of it is recorded."""
    request = AssembleRequest(
        asked.session, asked.agent, task=asked.words, reach="session", limit=GAIN_DEPTH, is_marking=False
    )
    return [str(package.id) for package in make_assembly(store, request, store.config)[0].packages]


def _costs(
    store: Store,
    cluster: Cluster,
    settings: WideSettings,
    asked: Sequence[Asked],
    answer: Callable[[Store, Asked], list[str]],
) -> dict[str, object]:
    """CPU of an answer in either engine, and how alike the answers are."""
    answers: dict[str, list[list[str]]] = {}
    costs: dict[str, object] = {}
    for engine, wide in (("embedded", None), ("wide", settings)):
        store.last_config = Config(engine=OPENSEARCH if wide else FTS5, wide=wide)
        for one in asked[:_WARM_UP]:
            answer(store, one)
        cpu, nodes_cpu = time.process_time(), _cpu_ms(cluster)
        answers[engine] = [answer(store, one) for one in asked]
        costs[f"{engine}_cpu_ms"] = round((time.process_time() - cpu) * 1000 / len(asked), 2)
        if wide is not None:
            assert engine_of(store).name == "opensearch"
            costs["cluster_cpu_ms"] = round((_cpu_ms(cluster) - nodes_cpu) / len(asked), 2)
    store.last_config = None
    pairs = list(zip(answers["embedded"], answers["wide"], strict=True))
    costs["overlap_at_10"] = _mean([_overlap(one, other) for one, other in pairs])
    costs["same_first"] = _mean([float(one[:1] == other[:1]) for one, other in pairs])
    return {"questions": len(asked), **costs}


def _send(store: Store, cluster: Cluster, settings: WideSettings) -> int:
    tokens = engine_of(store).tokens
    return send_changes(store.primary, cluster, tokens, settings).changed


def _cpu_ms(cluster: Cluster) -> int:
    """What all nodes have used since they were started."""
    nodes = value_at(cluster.required("GET", "/_nodes/stats/process"), "nodes")
    used = [value_at(node, "process", "cpu", "total_in_millis") for node in nodes.values()] if is_dict(nodes) else []
    return sum(int(str(one)) for one in used)


if __name__ == "__main__":
    main()

"""The wide index on real nodes: what is sent twice changes nothing, what is forgotten leaves no bytes.

`make test-wide` runs them. Without a JDK or Maven they are skipped, in words.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from builders import make_store, save
from cluster_nodes import ClusterNode

from ctxrank.extensions.opensearch.cluster import Cluster
from ctxrank.extensions.opensearch.updater import Sent, forget_deleted, index_name, send_changes
from ctxrank.indexer.fulltext.fts5_engine import fts5_of
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.store import Store

pytestmark = [pytest.mark.wide, pytest.mark.slow]

_RARE = "zq7x1k9w3v5b"


@pytest.fixture
def cluster(wide_node: ClusterNode) -> Iterator[Cluster]:
    with closing(Cluster([wide_node.url])) as connected:
        yield connected


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as made:
        yield made


def _send(store: Store, cluster: Cluster) -> Sent:
    return send_changes(store.primary, cluster, fts5_of(store).tokens)


def _hits(cluster: Cluster, store: Store, query: object) -> list[str]:
    """The paths of what a query finds, best first."""
    body = {"query": query, "size": 50, "track_total_hits": True}
    answer: Any = cluster.required("POST", f"/{index_name(store.primary)}/_search", body)
    assert answer["_shards"]["failed"] == 0
    ids = [int(hit["_id"].rpartition(":")[2]) for hit in answer["hits"]["hits"]]
    paths = {row[0]: row[1] for row in store.primary.execute("SELECT id, path FROM documents")}
    return [str(paths[id_]) for id_ in ids]


def _count(cluster: Cluster, store: Store) -> object:
    return cluster.required("GET", f"/{index_name(store.primary)}/_count")["count"]


def test_words_phrases_prefixes_and_scopes_are_found(cluster: Cluster, store: Store) -> None:
    save(store, "alpha.md", "The database is locked while a worker writes.\n", priority="high")
    save(store, "beta.md", "A locked door; the database of a worker. Locked, locked.\n", session="T")
    sent = _send(store, cluster)
    assert sent.unchanged == 0
    assert sent.changed == _count(cluster, store)
    assert _hits(cluster, store, {"term": {"text": "lock"}}) == ["beta.md", "alpha.md"]
    assert _hits(cluster, store, {"match_phrase": {"body": "databas is lock"}}) == ["alpha.md"]
    assert _hits(cluster, store, {"prefix": {"body": "wri"}}) == ["alpha.md"]
    scoped = {"bool": {"must": {"term": {"text": "lock"}}, "filter": {"term": {"priority": "high"}}}}
    assert _hits(cluster, store, scoped) == ["alpha.md"]


def test_what_is_sent_twice_or_late_changes_nothing(cluster: Cluster, store: Store) -> None:
    for number in range(3):
        save(store, f"{number}.md")
    first = _send(store, cluster)
    assert _send(store, cluster) == Sent(0, 0, 0)
    name = index_name(store.primary)
    meta: Any = cluster.required("GET", f"/{name}/_mapping")
    old = meta[name]["mappings"]["_meta"]
    cluster.required("PUT", f"/{name}/_mapping", {"_meta": {**old, "applied_seq": 0, "history_id": 0}})
    assert _send(store, cluster) == Sent(0, first.changed, 0)
    assert _count(cluster, store) == first.changed


def test_another_history_begins_a_new_index(cluster: Cluster, store: Store) -> None:
    save(store, "one.md")
    first = _send(store, cluster)
    name = index_name(store.primary)
    cluster.required("PUT", f"/{name}/_mapping", {"_meta": {"applied_seq": 1, "history_id": 7}})
    assert _send(store, cluster) == first


def test_what_is_forgotten_leaves_no_bytes(wide_node: ClusterNode, cluster: Cluster, store: Store) -> None:
    kept = "w4k8m2p6t0y1"
    save(store, "kept.md", f"The word {kept} stays.\n")
    save(store, "gone.md", f"The word {_RARE} goes.\n")
    _send(store, cluster)
    assert wide_node.files_with(kept)
    assert wide_node.files_with(_RARE)
    (gone,) = [
        int(row[0]) for row in store.primary.execute("SELECT id FROM documents WHERE body LIKE ?", (f"%{_RARE}%",))
    ]
    with store.write() as change:
        documents.remove_owned(change, gone)
        documents.remove(change, gone)
    _send(store, cluster)
    assert _hits(cluster, store, {"term": {"body": _RARE}}) == []
    assert wide_node.files_with(_RARE)
    forget_deleted(store.primary, cluster)
    assert wide_node.files_with(_RARE) == []
    assert _hits(cluster, store, {"term": {"body": kept}}) == ["kept.md"]

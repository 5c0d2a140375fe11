"""Three nodes, one of which is killed while documents are sent and searches are asked, and comes back.

`make test-wide-nodes` runs it: three JVMs, 100,000 documents, some minutes.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cluster_nodes import ClusterNode, NoNodesError, jars, java, running
from load import load
from scale_store import write_store

from ctxrank.extensions.opensearch.engine import connect, engine_for
from ctxrank.extensions.opensearch.updater import index_name, index_size, send_changes
from ctxrank.indexer.fulltext.fts5_engine import fts5_of
from ctxrank.indexer.opening import open_project_store
from ctxrank.indexer.store.config import OPENSEARCH, load_config
from ctxrank.indexer.store.parents import count_documents
from ctxrank.indexer.store.wide_settings import WideSettings
from ctxrank.ranking import SearchRequest, search

pytestmark = [pytest.mark.wide_nodes, pytest.mark.slow]

_DOCUMENTS = 100_000
_KILLED_AFTER, _STARTED_AFTER = 25_000, 60_000  # documents that were acknowledged
_PATIENCE_S = 180
_QUESTIONS = ("token refresh", '"database is locked" worker', "authenticat* migrat*", "kind:package token -refresh")


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[list[ClusterNode]]:
    cache = Path(__file__).resolve().parents[4] / ".venv" / "opensearch"
    cache.mkdir(parents=True, exist_ok=True)
    try:
        java()
        jars(cache)
    except NoNodesError as error:
        pytest.skip(str(error))
    with running(cache, tmp_path / "nodes", count=3, heap="700m") as started:
        yield started


class _Searcher(threading.Thread):
    """Asks questions of a small store until it is stopped, and keeps what was not answered as before."""

    def __init__(self, folder: Path, settings: WideSettings) -> None:
        super().__init__()
        self._folder, self._settings = folder, settings
        self._is_stopped = threading.Event()
        self.asked = 0
        self.longest_s = 0.0
        self.failed: list[str] = []

    def run(self) -> None:
        with open_project_store(str(self._folder)) as store:
            config = load_config(store)._replace(engine=OPENSEARCH, wide=self._settings)
            engine = engine_for(store, self._settings)
            expected = [self._hits(search(store, SearchRequest(text), config, engine)) for text in _QUESTIONS]
            while not self._is_stopped.wait(0.05):
                text = _QUESTIONS[self.asked % len(_QUESTIONS)]
                started = time.monotonic()
                result = search(store, SearchRequest(text), config, engine)
                self.longest_s = max(self.longest_s, time.monotonic() - started)
                if self._hits(result) != expected[self.asked % len(_QUESTIONS)] or result.engine != "opensearch":
                    self.failed.append(f"{text}: {result.outcome} {result.reason}")
                self.asked += 1

    def stop(self) -> None:
        self._is_stopped.set()
        self.join()

    @staticmethod
    def _hits(result: object) -> list[tuple[str, float]]:
        hits = getattr(result, "hits", ())
        return [(hit.id, round(hit.score, 6)) for hit in hits]


def test_a_killed_node_loses_nothing_and_fails_no_search(nodes: list[ClusterNode], tmp_path: Path) -> None:
    settings = WideSettings(tuple(node.url for node in nodes), shards=3, replicas=1, keeps_local=False)
    small = tmp_path / "small"
    small.mkdir()
    with load(str(small)) as store, closing(connect(settings)) as cluster:
        send_changes(store.primary, cluster, fts5_of(store).tokens, settings)
    nodes[0].wait(3)
    large = tmp_path / "large"
    large.mkdir()
    write_store(str(large), _DOCUMENTS)
    searcher = _Searcher(small, settings)
    acknowledged = 0
    waiting = [(_KILLED_AFTER, nodes[0].kill), (_STARTED_AFTER, nodes[0].start)]

    def tell(count: int, _: int) -> None:
        nonlocal acknowledged
        acknowledged = count
        if waiting and acknowledged >= waiting[0][0]:
            waiting.pop(0)[1]()

    with open_project_store(str(large)) as store, closing(connect(settings, patience_s=_PATIENCE_S)) as cluster:
        searcher.start()
        try:
            sent = send_changes(store.primary, cluster, fts5_of(store).tokens, settings, tell)
            for node in nodes:
                node.wait(3)  # every copy is in place again, on three nodes
        finally:
            searcher.stop()
        cluster.required("POST", f"/{index_name(store.primary)}/_refresh")
        held, _ = index_size(cluster, index_name(store.primary))
        expected = count_documents(store.primary)
    print(
        f"acknowledged {acknowledged}, held {held}; {searcher.asked} searches, the longest {searcher.longest_s:.1f} s;"
        f" put off {cluster.waits}"
    )
    assert waiting == []
    assert sent.changed + sent.unchanged == acknowledged == held == expected >= _DOCUMENTS
    assert searcher.asked > 100 and searcher.failed == []

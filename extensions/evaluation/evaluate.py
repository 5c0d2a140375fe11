"""Evaluation: how good the ranking is on a collection with known answers, through the search that users have.

    nDCG@10      Σ grade / log₂(place + 1) over the first ten, divided by that of the best possible order
    recall@100   share of the relevant documents that are among the first hundred
    MRR@10       1 / place of the first relevant one among the first ten, else 0

A query is asked as it is typed: a quote or a minus in it may be an operator, as in any search. It is also asked as
plain words, where that is another question.

Each is a mean over the queries that have a relevant document; grades are 1 where a collection only says yes. Source of
the first: Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques (2002), in the form that BEIR and
trec_eval report: the gain is the grade itself.
"""

import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from math import log2

from ctxrank.extensions.evaluation.collection import MADE_AT, Collection, JudgedQuery, Loaded, load_collection
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.opening import create_scratch_store
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.retrieval.hits import SearchRequest
from ctxrank.ranking.retrieval.search import query_of, search

GAIN_DEPTH = 10
RECALL_DEPTH = 100

Progress = Callable[[int, int], None]


class QueryQuality(NamedTuple):
    """How well one query was answered."""

    query_id: str
    ndcg_at_10: float
    recall_at_100: float
    mrr_at_10: float
    latency_ms: float = 0.0


class Evaluation(NamedTuple):
    """All queries of a folder, in their order; the latency is that of a usual search, with snippets, in process."""

    documents: int
    queries: tuple[QueryQuality, ...]  # as typed
    plain_queries: tuple[QueryQuality, ...]  # the same as plain words

    def mean(self, measure: str, *, is_plain: bool = False) -> float:
        """The mean of one measure over all queries, as they are typed or as plain words."""
        asked = self.plain_queries if is_plain else self.queries
        values = [float(getattr(query, measure)) for query in asked]
        return sum(values) / len(values) if values else 0.0

    def latency_ms(self, share: float) -> float:
        """The latency that this share of the searches does not exceed; 0 where none was timed."""
        ordered = sorted(query.latency_ms for query in self.queries)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


class IndexedCollection(NamedTuple):
    """A collection in a store of its own."""

    collection: Collection
    store: Store
    loaded: Loaded


@contextmanager
def indexed(collection: Collection, config: Config) -> Generator[IndexedCollection, None, None]:
    """Index a collection in a temporary folder, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="ctxrank-eval-") as folder, create_scratch_store(folder) as store:
        store.primary.pragma("synchronous", 0)  # it does not outlive this call, so a power cut cannot harm it
        yield IndexedCollection(collection, store, load_collection(store, collection.documents, config.redaction_mode))


def evaluate(collections: Sequence[Collection], config: Config, progress: Progress | None = None) -> Evaluation:
    """Index each collection and ask all its queries. `progress(done, total)` counts queries."""
    total = sum(len(collection.queries) for collection in collections)
    qualities: list[QueryQuality] = []
    plain_qualities: list[QueryQuality] = []
    for collection in collections:
        with indexed(collection, config) as one:
            for query in collection.queries:
                request = _request(one, query)
                plain = request._replace(is_plain=True)
                qualities.append(_answered(one, query, request, config))
                is_same = query_of(request) == query_of(plain)
                plain_qualities.append(qualities[-1] if is_same else _answered(one, query, plain, config))
                if progress is not None:
                    progress(len(qualities), total)
    documents = sum(len(one.documents) for one in collections)
    return Evaluation(documents, tuple(qualities), tuple(plain_qualities))


def _answered(one: IndexedCollection, query: JudgedQuery, request: SearchRequest, config: Config) -> QueryQuality:
    started = time.perf_counter_ns()
    first = quality(query, _ids_of(one, request, config))
    latency_ms = (time.perf_counter_ns() - started) / 1e6
    # Where a hundred are asked for more rows are scored, and so the first ten may be others than a user's.
    further = _ids_of(one, request._replace(limit=RECALL_DEPTH, is_folded=False, has_snippets=False), config)
    return first._replace(recall_at_100=quality(query, further).recall_at_100, latency_ms=latency_ms)


def ranked_ids(one: IndexedCollection, query: JudgedQuery, config: Config) -> list[str]:
    """The corpus' ids of a query's first ten hits, as the command has them."""
    return _ids_of(one, _request(one, query), config)


def _ids_of(one: IndexedCollection, request: SearchRequest, config: Config) -> list[str]:
    """None where the query is refused, as it would be for a user."""
    try:
        found = search(one.store, request, config)
    except UsageError:  # `kind:` before what is no kind
        return []
    return [one.loaded.ids[hit.id] for hit in found.hits if hit.id in one.loaded.ids]


def _request(one: IndexedCollection, query: JudgedQuery) -> SearchRequest:
    return SearchRequest(query.text, as_of=MADE_AT, is_by_passage=one.loaded.is_of_passages, is_folded=True)


def quality(query: JudgedQuery, ranked: Sequence[str]) -> QueryQuality:
    """The three measures of one ranking."""
    grades = query.grades
    first = next((place for place, id_ in enumerate(ranked[:GAIN_DEPTH], 1) if id_ in grades), 0)
    found = sum(id_ in grades for id_ in ranked[:RECALL_DEPTH])
    return QueryQuality(query.id, ndcg(ranked, grades), found / len(grades), 1 / first if first else 0.0)


def ndcg(ranked: Sequence[str], grades: Mapping[str, float]) -> float:
    """nDCG@10 of a ranking; `grades` are those above 0."""
    gain = _discounted(grades.get(id_, 0.0) for id_ in ranked[:GAIN_DEPTH])
    best = _discounted(sorted(grades.values(), reverse=True)[:GAIN_DEPTH])
    return gain / best if best else 0.0


def _discounted(gains: Iterable[float]) -> float:
    return sum(gain / log2(place + 1) for place, gain in enumerate(gains, 1))

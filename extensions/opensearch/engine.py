"""OpenSearch as the engine of a store: the cluster selects rows and counts terms, our own code scores them.

Of many rows the cluster hands out the `row_limit` best by its own BM25 over the same tokens with the same frequencies;
scores, explanations and everything after them are those of the embedded engine. Texts, ranking signals and what a
filter asks of a parent (time, path) are read from the primary database, which stays where it is.

Where the cluster does not answer, the embedded index does, if it is kept; the answer is `degraded`, with the reason.
"""

from collections.abc import Collection, Generator, Iterable

from ctxrank.extensions.opensearch.cluster import Cluster, ClusterError, Waiting, value_at
from ctxrank.extensions.opensearch.dictionary import TITLES, Dictionary
from ctxrank.extensions.opensearch.documents import FORMAT
from ctxrank.extensions.opensearch.queries import (
    MOST_VALUES,
    NOTHING,
    Query,
    all_of,
    clause_query,
    names_query,
    scope_filters,
    values_query,
)
from ctxrank.extensions.opensearch.settings import password_of
from ctxrank.extensions.opensearch.updater import (
    index_name,
    is_of_this_history,
    kinds_of_parents,
    read_state,
    send_batch,
    send_changes,
)
from ctxrank.indexer.deadline import QUESTION_S, Deadline
from ctxrank.indexer.engine import (
    Clause,
    FieldWeights,
    IndexHealth,
    Readiness,
    Row,
    RowQuery,
    Statistics,
)
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.fulltext.forward import weighted_count
from ctxrank.indexer.fulltext.index_file import FINGERPRINT, PrimaryReader
from ctxrank.indexer.light_typing import TYPE_CHECKING, cast, contextmanager, is_dict, is_list
from ctxrank.indexer.store.change_log import changes_after
from ctxrank.indexer.store.connection import read_column, snapshot
from ctxrank.indexer.store.facets import id_list, parent_condition
from ctxrank.indexer.store.parents import (
    count_documents,
)
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.store.wide_settings import WideSettings

if TYPE_CHECKING:
    from ctxrank.indexer.engine import Engine
    from ctxrank.indexer.store.change_log import ChangeBatch

# So many changes are sent before a search that finds them missing; more wait for `ctxrank wide sync`.
_FEW_CHANGES = 200
# As for the embedded index: an index that is missing more than this share would hide too much.
_MAX_MISSING_SHARE = 0.2
_ROWS_AT_ONCE = 5000  # a cluster gives out 10,000 at most (`index.max_result_window`)
_LEAST_PATIENCE_S = 0.25


class WideEngine(Dictionary, PrimaryReader):
    """A store's index in a cluster: an `Engine`."""

    name = "opensearch"
    fingerprint = f"opensearch {FORMAT} of {FINGERPRINT}"
    row_limit: int | None = 500

    def __init__(self, store: Store, settings: WideSettings) -> None:
        super().__init__()
        self.settings = settings
        self._store = store
        self._index = index_name(store.primary)
        self._deadline = Deadline(QUESTION_S)
        self._question: object = None  # that has this deadline; None: none that has several parts
        self._cluster: Cluster | None = None
        self._primary, self._applied_seq = store.primary, 0
        self._read: dict[int, Row] = {}  # the rows that were read in the snapshot

    def close(self) -> None:
        """Hang up."""
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    # Life

    def make_ready(self, bound_ms: int) -> Readiness:
        """Whether the cluster can answer; a few changes that it is missing are sent to it.

        Where it cannot, the embedded index is asked to stand in, for about the bound.
        """
        if self._store.question is None or self._store.question is not self._question:
            self._deadline, self._question = Deadline(QUESTION_S), self._store.question
        self._connected().patience_s = max(bound_ms / 1000, _LEAST_PATIENCE_S)
        try:
            state = read_state(self._connected(), self._index, is_local=True)
            if state is None:
                return self._away("the cluster has no index of this store: 'ctxrank wide sync' makes it", bound_ms)
            if not is_of_this_history(self._primary, state):
                return self._away("the cluster's index is of another state: 'ctxrank wide sync' mends it", bound_ms)
            missing = changes_after(self._primary, state.visible_seq)
            if 0 < missing <= _FEW_CHANGES:
                send_changes(self._primary, self._connected(), self.tokens)
                state, missing = read_state(self._connected(), self._index) or state, 0
            missing += len(state.set_aside)
        except ClusterError as error:
            return self._away(str(error), bound_ms)
        if missing and missing > _MAX_MISSING_SHARE * count_documents(self._primary):
            return self._away(f"the cluster is {missing} changes behind: 'ctxrank wide sync' sends them", bound_ms)
        self._applied_seq = state.visible_seq
        return Readiness(IndexHealth.OK, missing)

    def recover(self, error: Exception, bound_ms: int) -> Readiness:
        """After a question failed: the embedded index stands in, if it is kept."""
        return self._away(str(error) or type(error).__name__, bound_ms)

    def _away(self, reason: str, bound_ms: int) -> Readiness:
        self.close()
        if self.settings.keeps_local:
            local = cast("Engine", self._store.consumer)
            readiness = local.make_ready(bound_ms)
            if readiness.is_usable:
                return readiness._replace(stand_in=local, reason=reason)
        return Readiness(reason, 0)

    @contextmanager
    def snapshot(self) -> Generator[Statistics, None, None]:
        """Pin the primary database; what the cluster shows changes only when a run of the updater ends."""
        self.forget_terms()
        self._read = {}
        asked: Query = {
            "size": 0, "track_total_hits": True, "query": {"bool": {"must_not": [TITLES]}},
            "aggs": {"length": {"sum": {"field": "length"}}},
        }  # fmt: skip
        with snapshot(self._primary):
            body = self.ask("_search", asked)
            documents = int(str(value_at(body, "hits", "total", "value") or 0))
            total = float(str(value_at(body, "aggregations", "length", "value") or 0))
            average_length = max(total / documents, 1.0) if documents else 1.0
            yield Statistics(self._applied_seq, documents, average_length)

    def apply(self, batch: "ChangeBatch") -> None:
        """Upsert and delete by version; seen at once."""
        kinds = kinds_of_parents(self._primary, batch)
        send_batch(self._connected(), self._index, batch, kinds, self.tokens)
        self._connected().required("POST", f"/{self._index}/_refresh")

    # Rows

    def rows(self, query: RowQuery, most: int | None = None) -> list[Row]:
        """The rows that a query finds, at most so many, by ascending row number."""
        return self._paged(self._bounded(clause_query(query.clause, self.tokens), query), most)

    def row_ids(self, query: RowQuery, most: int | None = None) -> list[int]:
        """The numbers of the same rows."""
        found = self._bounded(clause_query(query.clause, self.tokens), query)
        return [row[0] for row in self._paged(found, most, source=False)]

    def best_rows(self, query: RowQuery, weights: FieldWeights, most: int) -> list[Row]:
        """The rows that the cluster's BM25 ranks highest, of equal ones those of the lowest numbers."""
        ranked: Query = clause_query(query.clause, self.tokens)
        if query.also:
            ranked = {"bool": {"must": ranked, "should": names_query(query.also)}}
        body: Query = {
            "query": self._bounded(ranked, query),
            "size": most,
            "track_total_hits": False,
            "sort": [{"_score": "desc"}, {"row": "asc"}],
        }
        return self._rows_in(self.ask("_search?search_type=dfs_query_then_fetch", body))

    def row_bounds(self, *_: object, **__: object) -> None:
        """None are known."""

    def rows_of(self, rowids: Iterable[int], query: RowQuery | None = None) -> list[Row]:
        """These rows, as far as they are there and found."""
        found = None if query is None else frozenset(self.row_ids(query))
        wanted = [rowid for rowid in rowids if found is None or rowid in found]
        unread = [rowid for rowid in wanted if rowid not in self._read]
        self._paged(values_query("row", unread), None)
        return [self._read[rowid] for rowid in wanted if rowid in self._read]

    def passages_of(self, parent_ids: Iterable[int], most: int | None = None) -> list[Row]:
        """The rows of all passages of these documents, by parent and by their order in it; of none that has more."""
        sql = """
            SELECT d.session_id << 32 | d.id FROM documents AS d
             WHERE d.owner_id IN (SELECT owner_id FROM json_each(?) CROSS JOIN documents ON owner_id = value
                                   GROUP BY owner_id HAVING count(*) <= coalesce(?, count(*)))
             ORDER BY d.owner_id, d.start_line, d.id
        """
        return self.rows_of(read_column(self._primary, sql, (id_list(parent_ids), most), int))

    def frequencies(
        self, rows: Iterable[Row], term_ids: Collection[int], weights: FieldWeights
    ) -> list[list[tuple[int, float]]]:
        """For each row (term, weighted frequency) of those of the terms that it holds."""
        keys = self._keys
        wanted = [(id_, f" {keys[id_]}|", len(keys[id_]) + 2) for id_ in term_ids]
        weighted: dict[str, float] = {}
        per_row: list[list[tuple[int, float]]] = []
        for row in rows:
            counts = str(row[3])
            found: list[tuple[int, float]] = []
            for id_, key, width in wanted:
                at = counts.find(key) + width
                if at >= width:
                    packed = counts[at : counts.index(" ", at)]
                    if packed not in weighted:
                        weighted[packed] = weighted_count(int(packed), weights)
                    found.append((id_, weighted[packed]))
            per_row.append(found)
        return per_row

    def _bounded(self, ranked: Query, query: RowQuery) -> Query:
        """Rows for which holds what a query says besides its clause: the scope, and what is of a whole document."""
        scope = query.scope
        filters = scope_filters(scope)
        condition = parent_condition(scope._replace(kinds=()))
        if condition.sql:
            sql = f"SELECT d.id FROM documents AS d WHERE d.owner_id IS NULL AND {condition.sql}"
            filters.append(values_query("owner", read_column(self._primary, sql, condition.values, int)))
        if len(query.required) > 1:
            filters += [values_query("owner", self._owners(clause)) for clause in query.required]
        excluded = [values_query("owner", self._owners(clause)) for clause in query.excluded]
        return {"bool": {"must": ranked, "filter": filters, "must_not": excluded}}

    def _owners(self, clause: Clause) -> list[int]:
        """The documents that hold something anywhere. Raises ClusterError where they are too many to be named."""
        asked: Query = {
            "size": 0,
            "track_total_hits": False,
            "query": clause_query(clause, self.tokens),
            "aggs": {"owners": {"terms": {"field": "owner", "size": MOST_VALUES - 1}}},
        }
        found = value_at(self.ask("_search", asked), "aggregations", "owners")
        if value_at(found, "sum_other_doc_count"):
            raise ClusterError(f"a phrase or an exclusion is in more than {MOST_VALUES - 1} documents")
        buckets = value_at(found, "buckets")
        return [int(str(bucket["key"])) for bucket in buckets if is_dict(bucket)] if is_list(buckets) else []

    def _paged(self, query: Query, most: int | None, *, source: bool = True) -> list[Row]:
        """Rows by ascending number, however many; without a source, their numbers alone."""
        rows: list[Row] = []
        if query == NOTHING:
            return rows
        after = -(1 << 63)
        while most is None or len(rows) < most:
            size = _ROWS_AT_ONCE if most is None else min(_ROWS_AT_ONCE, most - len(rows))
            body: Query = {
                "query": all_of([query]),
                "size": size,
                "track_total_hits": False,
                "sort": [{"row": "asc"}],
                "search_after": [after],
                "_source": source,
            }
            found = self._rows_in(self.ask("_search", body))
            rows += found
            if len(found) < size:
                break
            after = found[-1][0]
        return rows

    def _rows_in(self, body: dict[object, object]) -> list[Row]:
        hits = value_at(body, "hits", "hits")
        rows: list[Row] = []
        for hit in hits if is_list(hits) else []:
            source = value_at(hit, "_source")
            if is_dict(source):
                row = (source["row"], source["owner"], source["length"], source["counts"])
                rows.append(cast("Row", row))
            elif is_dict(hit) and is_list(sort := hit.get("sort")):
                rows.append((int(str(sort[-1])), 0, 0, None))
        if rows and rows[0][1]:
            self._read.update((row[0], row) for row in rows)
        return rows

    def ask(self, path: str, body: Query) -> dict[object, object]:
        """Ask until all shards answer: of a node that is just lost, another takes over. Raises ClusterError."""
        cluster = self._connected()
        waiting = Waiting(cluster)
        while True:
            found = cluster.required("POST", f"/{self._index}/{path}", body)
            if not value_at(found, "_shards", "failed") and not found.get("timed_out"):
                return found
            waiting.wait("some shards of the index do not answer")

    def _connected(self) -> Cluster:
        if self._cluster is None:
            self._cluster = connect(self.settings, patience_s=_LEAST_PATIENCE_S)
        self._cluster.deadline = self._store.deadline or self._deadline
        return self._cluster


def connect(settings: WideSettings, *, patience_s: float = 60, away_s: float | None = None) -> Cluster:
    """The cluster of the configuration; nothing is sent yet. Raises ClusterError."""
    try:
        login = (settings.user, password_of(settings)) if settings.user else None
        return Cluster(
            settings.urls, login=login, authority=settings.authority or None, patience_s=patience_s, away_s=away_s
        )
    except OSError as error:
        raise ClusterError(f"{settings.authority} cannot be read: {error.strerror}") from error
    except CtxrankError as error:
        raise ClusterError(error.message) from error


def engine_for(store: Store, settings: WideSettings) -> WideEngine:
    """The engine of a store, made once for each setting, and closed with the store."""
    engine = store.other_engine
    if not isinstance(engine, WideEngine) or engine.settings != settings:
        if engine is not None:
            engine.close()
        engine = store.other_engine = WideEngine(store, settings)
    return engine

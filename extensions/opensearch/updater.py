"""The updater of a store's index in a cluster: it sends the change log until nothing is missing.

    sent = send_changes(store.primary, cluster, engine.tokens)
    sent.changed, sent.unchanged, sent.waits

A document's key is the store's uuid and its number, its version the number of its last change, kept by us: what is sent
twice, or late, changes nothing. How far the index is stands in the index itself, so that both go together; and apart
from it, how far a search sees, because what was sent is seen when a run ends.
"""

from collections.abc import Callable, Iterable

import apsw

from ctxrank.extensions.opensearch.cluster import (
    BUSY,
    Cluster,
    ClusterAnswer,
    ClusterError,
    Waiting,
    error_type,
    refusal,
    value_at,
)
from ctxrank.extensions.opensearch.documents import FORMAT, Tokens, definition, line, source_of
from ctxrank.indexer.light_typing import NamedTuple, is_dict, is_list
from ctxrank.indexer.store.change_log import (
    ChangeBatch,
    LoggedDeletion,
    LoggedDocument,
    changes_after,
    history_id,
    read_changes,
)
from ctxrank.indexer.store.connection import read_map, require_value, snapshot
from ctxrank.indexer.store.facets import id_list
from ctxrank.indexer.store.wide_settings import WideSettings

_BATCH_DOCUMENTS = 1000
_BULK_BYTES = 5_000_000
_GONE, _NEWER = 404, 409  # gone already; there already in this version or a later one
_UNFIT, _TOO_LARGE = 400, 413  # a document that cannot be indexed; a request that the cluster takes in no case
_USUAL = WideSettings(())  # what an index that is there already was made of is not asked
# Told after each batch how many of how many changes were sent.
Advance = Callable[[int, int], None]


class Refused(NamedTuple):
    """A document that the cluster does not take as it is: it is not searched there until it changes."""

    id: int
    why: str  # the kind of error


class Sent(NamedTuple):
    """What one run did."""

    changed: int = 0
    unchanged: int = 0  # the cluster had these, or newer ones
    waits: int = 0  # how often it was too busy
    refused: tuple[Refused, ...] = ()


class ClusterIndexState(NamedTuple):
    """How far an index is: what was sent, and what a search sees of it, each with the history it is of."""

    applied_seq: int = 0
    history_id: int = 0
    visible_seq: int = 0
    visible_history_id: int = 0
    format: int = FORMAT
    set_aside: tuple[int, ...] = ()  # documents that the cluster refused as they are now


def index_name(primary: apsw.Connection) -> str:
    """The index of a store."""
    return "ctxrank-" + require_value(primary, "SELECT uuid FROM store", (), str).lower()


def read_state(cluster: Cluster, name: str, *, is_local: bool = False) -> ClusterIndexState | None:
    """How far the index is; None where there is none. Raises ClusterError, also for an index that is not ours.

    The node that is asked may say it by itself (`is_local`), a moment late, while the cluster elects a manager.
    """
    found = cluster.required("GET", f"/{name}/_mapping{'?local=true' if is_local else ''}", is_needed=False)
    if not found:
        return None
    meta = value_at(found, name, "mappings", "_meta")
    if not is_dict(meta):
        raise ClusterError(f"{name}: an index of that name is not ours")
    numbers = [int(str(meta.get(field, 0))) for field in ClusterIndexState._fields[:-1]]
    aside = meta.get("set_aside")
    return ClusterIndexState._make((*numbers, tuple(int(str(id_)) for id_ in aside) if is_list(aside) else ()))


def is_of_this_history(primary: apsw.Connection, state: ClusterIndexState) -> bool:
    """Whether an index was made by this program from this very store, and not from a copy that went another way."""
    return state.format == FORMAT and state.visible_history_id == history_id(primary, "main", state.visible_seq)


def send_changes(
    primary: apsw.Connection,
    cluster: Cluster,
    tokens: Tokens,
    settings: WideSettings = _USUAL,
    advance: Advance | None = None,
) -> Sent:
    """Send what the cluster's index is missing, into a new one where there is none or it is of another history.

    Raises ClusterError; what was acknowledged until then stays, and the next run goes on from there.
    """
    name = index_name(primary)
    waits = cluster.waits
    done = Sent()
    state = read_state(cluster, name)
    if state is not None:
        with snapshot(primary):
            is_other = state.history_id != history_id(primary, "main", state.applied_seq) or state.format != FORMAT
        if is_other:
            drop_index(cluster, name)
            state = None
    if state is None:
        state = ClusterIndexState()
        cluster.required("PUT", f"/{name}", definition(settings, state._asdict()))
    missing = changes_after(primary, state.applied_seq)
    while True:
        with snapshot(primary):
            batch = read_changes(primary, "main", after=state.applied_seq, most=_BATCH_DOCUMENTS)
            history = history_id(primary, "main", batch.end)
            kinds = kinds_of_parents(primary, batch)
        sent = send_batch(cluster, name, batch, kinds, tokens)
        done = Sent(done.changed + sent.changed, done.unchanged + sent.unchanged, 0, done.refused + sent.refused)
        if advance is not None:
            advance(min(done.changed + done.unchanged + len(done.refused), missing), missing)
        # What a batch changed was looked at anew.
        seen = {document.id for document in batch.documents} | {gone.id for gone in batch.deletions}
        aside = tuple(sorted({*state.set_aside} - seen | {one.id for one in sent.refused}))
        if batch.is_last:
            break
        state = state._replace(applied_seq=batch.end, history_id=history, set_aside=aside)
        _keep(cluster, name, state)
    cluster.required("POST", f"/{name}/_refresh")
    if (batch.end, history) != (state.visible_seq, state.visible_history_id):
        _keep(cluster, name, ClusterIndexState(batch.end, history, batch.end, history, set_aside=aside))
    return done._replace(waits=cluster.waits - waits)


def send_batch(cluster: Cluster, name: str, batch: ChangeBatch, kinds: dict[int, str], tokens: Tokens) -> Sent:
    """Send some changes; `kinds` are those of the parents of passages, by their ids. Raises ClusterError.

    A document that is refused is set aside, and what the cluster had of it before is deleted there.
    """
    changed = unchanged = 0
    refused: list[Refused] = []
    for actions in _bulks(name, batch, kinds, tokens):
        done = _send(cluster, actions, refused)
        changed += done
        unchanged += len(actions) - done
    return Sent(changed, unchanged - len(refused), refused=tuple(refused))


def drop_index(cluster: Cluster, name: str) -> None:
    """Remove the index of a store with all that is in it. Raises ClusterError."""
    cluster.required("DELETE", f"/{name}", is_needed=False)


def forget_deleted(primary: apsw.Connection, cluster: Cluster) -> None:
    """Write the index anew without what was deleted, so that its bytes are gone from the nodes' files.

    Until then a deleted document is only marked: merging what holds deletions (`only_expunge_deletes`) leaves bytes. It
    is kept for copies that lag, too, and a node looks every half minute how far they are, so this may wait as long.
    Raises ClusterError where deleted documents are still there at the end of the cluster's patience.
    """
    name = index_name(primary)
    waiting = Waiting(cluster)
    refresh, flush = f"/{name}/_refresh", f"/{name}/_flush?force=true&wait_if_ongoing=true"
    while True:
        for path in (refresh, flush, f"/{name}/_forcemerge?max_num_segments=1", flush):
            cluster.required("POST", path)
        stats = cluster.required("GET", f"/{name}/_stats/docs")
        if value_at(stats, "_all", "total", "docs", "deleted") == 0:
            break
        waiting.wait("deleted documents are still kept")
    # What was merged is read until the next refresh, and its files go with the next commit.
    cluster.required("POST", refresh)
    cluster.required("POST", flush)


def index_size(cluster: Cluster, name: str) -> tuple[int, int]:
    """How many documents a search sees, and how many bytes one copy of them takes. Raises ClusterError."""
    stats = cluster.required("GET", f"/{name}/_stats/docs,store")
    documents = value_at(stats, "_all", "primaries", "docs", "count")
    return int(str(documents or 0)), int(str(value_at(stats, "_all", "primaries", "store", "size_in_bytes") or 0))


def _keep(cluster: Cluster, name: str, state: ClusterIndexState) -> None:
    cluster.required("PUT", f"/{name}/_mapping", {"_meta": state._asdict()})


def kinds_of_parents(primary: apsw.Connection, batch: ChangeBatch) -> dict[int, str]:
    """The kinds of the documents that the passages of a batch belong to, by their ids."""
    owners = {document.owner_id for document in batch.documents if document.owner_id is not None}
    query = "SELECT id, kind FROM documents WHERE id IN (SELECT value FROM json_each(?))"
    return read_map(primary, query, (id_list(sorted(owners)),), int, str)


class _Action(NamedTuple):
    """A document to be sent, or without a source to be deleted, in the version of its last change."""

    id: int
    target: dict[str, object]
    source: bytes  # b"" for a deletion

    @property
    def lines(self) -> bytes:
        """As a bulk request has it."""
        return line({"index" if self.source else "delete": self.target}) + self.source


def _bulks(name: str, batch: ChangeBatch, kinds: dict[int, str], tokens: Tokens) -> Iterable[list[_Action]]:
    """The actions of a batch, in requests of a bounded size."""
    uuid = name.partition("-")[2]
    actions: list[_Action] = []
    size = 0
    changes: list[LoggedDocument | LoggedDeletion] = [*batch.documents, *batch.deletions]
    for changed in changes:
        target: dict[str, object] = {"_index": name, "_id": f"{uuid}:{changed.id}"}
        target |= {"version": changed.seq, "version_type": "external"}
        source = b""
        if isinstance(changed, LoggedDocument):
            source = line(source_of(changed, kinds.get(changed.owner_id or 0, changed.kind), tokens))
        if actions and size + len(source) > _BULK_BYTES:
            yield actions
            actions, size = [], 0
        actions.append(_Action(changed.id, target, source))
        size += len(source)
    if actions:
        yield actions


def _send(cluster: Cluster, actions: list[_Action], refused: list[Refused]) -> int:
    """Send until each action was taken, or added to `refused`; how many changed something. Raises ClusterError."""
    waiting = Waiting(cluster)
    changed = 0
    while actions:
        answer = cluster.send("POST", "/_bulk", b"".join(action.lines for action in actions), "application/x-ndjson")
        if answer.status == _TOO_LARGE and actions[0].source:
            if len(actions) > 1:
                half = len(actions) // 2
                return changed + _send(cluster, actions[:half], refused) + _send(cluster, actions[half:], refused)
            results: list[tuple[int, str]] = [(_TOO_LARGE, "too large")]
        else:
            results = _results(answer, len(actions))
        again: list[_Action] = []
        for action, (status, why) in zip(actions, results, strict=True):
            if status in BUSY:
                again.append(action)
            elif status in (_UNFIT, _TOO_LARGE) and action.source:
                refused.append(Refused(action.id, f"{status} {why}".rstrip()))
                again.append(action._replace(source=b""))  # an older text is not to be found
            elif 200 <= status < 300:
                changed += action.source != b"" or all(one.id != action.id for one in refused)
            elif status not in (_GONE, _NEWER):
                raise ClusterError(f"a document was refused: {status} {why}".rstrip())
        actions = again
        if any(status in BUSY for status, _ in results):
            waiting.wait("the cluster puts documents off")
    return changed


def _results(answer: ClusterAnswer, count: int) -> list[tuple[int, str]]:
    """The status of each action, and the kind of its error. Raises ClusterError for an answer that does not say."""
    items = answer.body.get("items")
    if answer.status >= 300 or not is_list(items) or len(items) != count:
        raise ClusterError(refusal("POST", "/_bulk", answer))
    results: list[tuple[int, str]] = []
    for item in items:
        result: object = next(iter(item.values()), None) if is_dict(item) else None
        found = result if is_dict(result) else {}
        results.append((int(str(found.get("status", 0))), error_type(found)))
    return results

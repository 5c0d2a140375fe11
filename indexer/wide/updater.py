"""The updater of a store's index in a cluster: it sends the change log until nothing is missing.

    sent = send_changes(store, cluster, engine.tokens)
    sent.changed, sent.unchanged, sent.waits

A document's key is the store's uuid and its number, its version the number of its last change, kept by us: what is sent
twice, or late, changes nothing. How far the index is stands in the index itself, so that both go together.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable

import apsw

from ctxrank.indexer.fulltext.forward import BODY_MAX, IDENTIFIERS_MAX, PATH_MAX, TITLE_MAX
from ctxrank.indexer.light_typing import NamedTuple, is_dict, is_list
from ctxrank.indexer.store.change_log import ChangeBatch, LoggedDocument, history_id, read_changes
from ctxrank.indexer.store.connection import require_value, snapshot
from ctxrank.indexer.text.definitions import names_in
from ctxrank.indexer.wide.cluster import BUSY, Cluster, ClusterError, Waiting, error_type

Tokens = Callable[[str], list[str]]

_BATCH_DOCUMENTS = 1000
_BULK_BYTES = 5_000_000
# A longer word is cut in two by the cluster's tokenizer, and its count is lost.
_LONGEST_TERM = 200
# Frequencies are whole numbers there, so they are twice the ranking's weights, and k1 is twice ours.
_TITLE, _BODY, _PATH, _IDENTIFIERS = 5, 2, 3, 2
_COLUMNS = ("title", "body", "path", "identifiers")
_LABELS = ("session", "group", "agent", "type", "priority", "kind")
_SETTINGS = {
    # A deleted document's version is kept so long: an older change that comes later than that would bring it back.
    "index.gc_deletes": "12h",
    "similarity": {"ours": {"type": "BM25", "k1": 3.0, "b": 0.6}},
    "analysis": {
        "filter": {"counted": {"type": "delimited_term_freq"}},
        "analyzer": {
            "counts": {"type": "custom", "tokenizer": "whitespace", "filter": ["counted"]},
            "tokens": {"type": "custom", "tokenizer": "whitespace"},
        },
    },
}
_PROPERTIES = {
    "terms": {"type": "text", "analyzer": "counts", "index_options": "freqs", "similarity": "ours"},
    **{column: {"type": "text", "analyzer": "tokens", "norms": False} for column in _COLUMNS},
    **{label: {"type": "keyword"} for label in _LABELS},
    "document": {"type": "long"},
    "owner": {"type": "long"},
    "length": {"type": "integer"},
    "is_current": {"type": "boolean"},
}


class Sent(NamedTuple):
    """What one run did."""

    changed: int
    unchanged: int  # the cluster had these, or newer ones
    waits: int  # how often it was too busy


class _State(NamedTuple):
    """How far an index is."""

    applied_seq: int
    history_id: int


def index_name(primary: apsw.Connection) -> str:
    """The index of a store."""
    return "ctxrank-" + require_value(primary, "SELECT uuid FROM store", (), str).lower()


def send_changes(
    primary: apsw.Connection, cluster: Cluster, tokens: Tokens, *, shards: int = 1, replicas: int = 0
) -> Sent:
    """Send what the cluster's index is missing, into a new one where there is none or it is of another history.

    Raises ClusterError; what was acknowledged until then stays, and the next run goes on from there.
    """
    name = index_name(primary)
    waits = cluster.waits
    changed = unchanged = 0
    state = _state(cluster, name)
    with snapshot(primary):
        is_other = state is not None and state.history_id != history_id(primary, "main", state.applied_seq)
    if is_other:
        cluster.required("DELETE", f"/{name}")
        state = None
    if state is None:
        settings = {**_SETTINGS, "number_of_shards": shards, "number_of_replicas": replicas}
        mappings = {"dynamic": "strict", "properties": _PROPERTIES, "_meta": _State(0, 0)._asdict()}
        cluster.required("PUT", f"/{name}", {"settings": settings, "mappings": mappings})
        state = _State(0, 0)
    is_last = False
    while not is_last:
        with snapshot(primary):
            batch = read_changes(primary, "main", after=state.applied_seq, most=_BATCH_DOCUMENTS)
            history = history_id(primary, "main", batch.end)
        for actions in _bulks(name, batch, tokens):
            done = _send(cluster, actions)
            changed += done
            unchanged += len(actions) - done
        is_last = batch.is_last
        if batch.end > state.applied_seq:
            state = _State(batch.end, history)
            cluster.required("PUT", f"/{name}/_mapping", {"_meta": state._asdict()})
    cluster.required("POST", f"/{name}/_refresh")
    return Sent(changed, unchanged, cluster.waits - waits)


def forget_deleted(primary: apsw.Connection, cluster: Cluster) -> None:
    """Write the index anew without what was deleted, so that its bytes are gone from the nodes' files.

    Until then a deleted document is only marked: merging what holds deletions (`only_expunge_deletes`) leaves bytes. It
    is kept for copies that lag, too, and a node looks every half minute how far they are, so this may wait as long.
    Raises ClusterError where deleted documents are still there at the end of the cluster's patience.
    """
    name = index_name(primary)
    waiting = Waiting(cluster)
    while True:
        cluster.required("POST", f"/{name}/_refresh")
        cluster.required("POST", f"/{name}/_flush?force=true&wait_if_ongoing=true")
        cluster.required("POST", f"/{name}/_forcemerge?max_num_segments=1")
        cluster.required("POST", f"/{name}/_flush?force=true&wait_if_ongoing=true")
        found: object = cluster.required("GET", f"/{name}/_stats/docs")
        for key in ("_all", "total", "docs", "deleted"):
            found = found.get(key) if is_dict(found) else None
        if found == 0:
            break
        waiting.wait("deleted documents are still kept")
    # What was merged is read until the next refresh, and its files go with the next commit.
    cluster.required("POST", f"/{name}/_refresh")
    cluster.required("POST", f"/{name}/_flush?force=true&wait_if_ongoing=true")


def _state(cluster: Cluster, name: str) -> _State | None:
    """How far the index is; None where there is none. Raises ClusterError for an index that is not ours."""
    answer = cluster.ask("GET", f"/{name}/_mapping")
    if answer.status == 404:
        return None
    meta: object = answer.body
    for key in (name, "mappings", "_meta"):
        meta = meta.get(key) if is_dict(meta) else None
    if not is_dict(meta):
        raise ClusterError(f"{name}: {error_type(answer.body) or 'an index of that name is not ours'}")
    return _State(int(str(meta["applied_seq"])), int(str(meta["history_id"])))


def _bulks(name: str, batch: ChangeBatch, tokens: Tokens) -> Iterable[list[bytes]]:
    """The actions of a batch, in requests of a bounded size."""
    uuid = name.partition("-")[2]
    actions: list[bytes] = []
    size = 0
    for document in batch.documents:
        action = _line({"index": _target(name, uuid, document.id, document.seq)}) + _line(_source(document, tokens))
        if actions and size + len(action) > _BULK_BYTES:
            yield actions
            actions, size = [], 0
        actions.append(action)
        size += len(action)
    actions += [_line({"delete": _target(name, uuid, gone.id, gone.seq)}) for gone in batch.deletions]
    if actions:
        yield actions


def _target(name: str, uuid: str, document_id: int, seq: int) -> dict[str, object]:
    return {"_index": name, "_id": f"{uuid}:{document_id}", "version": seq, "version_type": "external"}


def _send(cluster: Cluster, actions: list[bytes]) -> int:
    """Send until each action was taken; returns how many changed something. Raises ClusterError."""
    waiting = Waiting(cluster)
    changed = 0
    while True:
        answer = cluster.send("POST", "/_bulk", b"".join(actions), "application/x-ndjson")
        items = answer.body.get("items")
        if answer.status >= 300 or not is_list(items) or len(items) != len(actions):
            raise ClusterError(f"POST /_bulk: {answer.status} {error_type(answer.body)}")
        put_off: list[bytes] = []
        for action, item in zip(actions, items, strict=True):
            result: object = next(iter(item.values()), None) if is_dict(item) else None
            status = int(str(result.get("status", 0))) if is_dict(result) else 0
            if status in BUSY:
                put_off.append(action)
            elif status < 300 and status:
                changed += 1
            elif status not in (404, 409):  # gone already; there already in this version or a later one
                raise ClusterError(f"a document was refused: {status} {error_type(result) if is_dict(result) else ''}")
        if not put_off:
            return changed
        actions = put_off
        waiting.wait("the cluster puts documents off")


def _source(document: LoggedDocument, tokens: Tokens) -> dict[str, object]:
    """A document as the cluster holds it: our tokens, with our frequencies."""
    parts, _ = names_in(document.identifiers)
    columns = {
        "title": tokens(document.title), "body": tokens(document.body), "path": tokens(document.path),
        "identifiers": tokens(parts),
    }  # fmt: skip
    counted: Counter[str] = Counter()
    for column, weight, most in (
        ("title", _TITLE, TITLE_MAX), ("body", _BODY, BODY_MAX), ("path", _PATH, PATH_MAX),
        ("identifiers", _IDENTIFIERS, IDENTIFIERS_MAX),
    ):  # fmt: skip
        for term, count in Counter(columns[column]).items():
            counted[term] += weight * min(count, most)
    return {
        "terms": " ".join(f"{term}|{count}" for term, count in counted.items() if len(term) <= _LONGEST_TERM),
        **{column: " ".join(found) for column, found in columns.items()},
        "session": str(document.session_id), "group": str(document.group_id), "agent": document.agent,
        "type": document.type, "priority": document.priority, "kind": document.kind,
        "document": document.id, "owner": document.owner_id or document.id,
        "length": sum(map(len, columns.values())), "is_current": document.superseded_by is None,
    }  # fmt: skip


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"

"""`ctxrank wide …`: a store's index in a cluster sent, looked at, and rid of what was deleted."""

import contextlib
import gc
from collections.abc import Generator

from ctxrank.cli.call import Call, Reply, shown
from ctxrank.cli.output.progress import progress_bar
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.change_log import changes_after
from ctxrank.indexer.store.config import OPENSEARCH, load_config
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.store.wide_settings import ENVIRONMENT, WideSettings
from ctxrank.indexer.wide.cluster import Cluster, ClusterError
from ctxrank.indexer.wide.engine import connect, engine_for
from ctxrank.indexer.wide.updater import (
    Sent,
    drop_index,
    forget_deleted,
    index_name,
    index_size,
    read_state,
    send_changes,
)

# `status` waits no longer than this for a cluster that is away.
_STATUS_PATIENCE_S, _STATUS_TIMEOUT_S = 0.5, 3.0
# A cluster that has answered once is waited for when nodes are lost or too busy; one that never did is away.
_FIRST_PATIENCE_S, _PATIENCE_S = 0.5, 120.0


class WideStatus(NamedTuple):
    """How far the cluster's index of a store is; `trouble` is why nothing is known of it."""

    nodes: str
    name: str  # of the index
    is_used: bool  # whether searches ask it
    documents: int = 0
    behind: int = 0  # changes
    size_bytes: int = 0  # of one copy
    trouble: str = ""


def sync(call: Call, *, rebuild: bool) -> Reply:
    """Send what is missing. Raises UsageError where no cluster is named, CtxrankError where it does not answer."""
    gc.enable()  # this may take a while: see cli/entry.py
    with call.open() as store:
        settings = _settings(store)
        with _connected(settings) as cluster:
            if rebuild:
                drop_index(cluster, index_name(store.primary))
            done = _send(call, store, settings, cluster)
        return _reply(store, done, settings)


def status(call: Call) -> Reply:
    """How far the index is."""
    with call.open() as store:
        found = wide_status(store, _settings(store), is_used=load_config(store).engine == OPENSEARCH)
    return Reply(
        lambda: as_json(found),
        [
            f"cluster   {shown(found.nodes)}", f"index     {found.name}",
            f"holds     {found.trouble or f'{found.documents:,} documents, {found.size_bytes:,} bytes'}",
            f"behind    {found.behind} changes", f"asked     {'by searches' if found.is_used else _NOT_ASKED}",
        ],
        outcome="degraded" if found.trouble else "stale" if found.behind else "matched",
    )  # fmt: skip


_NOT_ASKED = "by no search: engine is not opensearch"


def forget(call: Call) -> Reply:
    """Send deletions and merge until nothing that was deleted is in a file of the cluster."""
    gc.enable()
    with call.open() as store:
        settings = _settings(store)
        with _connected(settings) as cluster:
            done = _send(call, store, settings, cluster)
            forget_deleted(store.primary, cluster)
        return _reply(store, done, settings)


def wide_status(store: Store, settings: WideSettings, *, is_used: bool) -> WideStatus:
    """Ask the cluster, for a moment; one that is away is said in the status."""
    name = index_name(store.primary)
    found = WideStatus(settings.hosts, name, is_used)
    try:
        cluster = connect(settings, timeout_s=_STATUS_TIMEOUT_S, patience_s=_STATUS_PATIENCE_S)
        with contextlib.closing(cluster):
            state = read_state(cluster, name)
            if state is None:
                return found._replace(trouble="no index of this store: 'ctxrank wide sync' makes it")
            documents, size_bytes = index_size(cluster, name)
    except ClusterError as error:
        return found._replace(trouble=str(error))
    behind = changes_after(store.primary, state.visible_seq)
    return found._replace(documents=documents, behind=behind, size_bytes=size_bytes)


def as_json(found: WideStatus) -> dict[str, object]:
    """The fields of an answer."""
    return {
        "nodes": found.nodes, "index": found.name, "used": found.is_used, "documents": found.documents,
        "behind": found.behind, "bytes": found.size_bytes, "trouble": found.trouble or None,
    }  # fmt: skip


def sentence(found: WideStatus) -> str:
    """The same in words."""
    if found.trouble:
        return f"{shown(found.nodes)}: {found.trouble}"
    asked = "" if found.is_used else f"; asked {_NOT_ASKED}"
    return f"{shown(found.nodes)}: {found.documents:,} documents, {found.behind} changes behind{asked}"


def _settings(store: Store) -> WideSettings:
    settings = load_config(store).wide
    if settings is None:
        raise UsageError(
            "It is not said where the cluster is.",
            f"Set {ENVIRONMENT} to its addresses, or wide: in your own config.yaml.",
        )
    return settings


@contextlib.contextmanager
def _connected(settings: WideSettings) -> Generator[Cluster, None, None]:
    """The cluster, whose errors become ours. Raises CtxrankError."""
    try:
        with contextlib.closing(connect(settings, patience_s=_FIRST_PATIENCE_S)) as cluster:
            yield cluster
    except ClusterError as error:
        raise CtxrankError(
            f"The cluster at {settings.hosts}: {error}.", "What it acknowledged stays; the same command goes on."
        ) from error


def _send(call: Call, store: Store, settings: WideSettings, cluster: Cluster) -> Sent:
    state = read_state(cluster, index_name(store.primary))
    cluster.patience_s = _PATIENCE_S
    missing = changes_after(store.primary, 0 if state is None else state.applied_seq)
    sent = 0
    with progress_bar("sending", call) as advance:

        def tell(count: int) -> None:
            nonlocal sent
            sent += count
            if advance is not None:
                advance(min(sent, missing), missing)

        return send_changes(
            store.primary, cluster, engine_for(store, settings).tokens,
            shards=settings.shards, replicas=settings.replicas, advance=tell,
        )  # fmt: skip


def _reply(store: Store, done: Sent, settings: WideSettings) -> Reply:
    name = index_name(store.primary)
    waited = f", {done.waits} times put off by a busy cluster" if done.waits else ""
    is_used = load_config(store).engine == OPENSEARCH
    return Reply(
        lambda: {"index": name, **done._asdict()},
        [f"Sent {done.changed:,} changes to {shown(settings.hosts)}, {done.unchanged:,} were there{waited}"],
        text_notes=()
        if is_used
        else ("searches ask the local index: 'engine: opensearch' in config.yaml changes that.",),
    )

"""`ctxrank wide …`: a store's index in a cluster sent, looked at, and rid of what was deleted."""

import contextlib
from collections.abc import Generator

from ctxrank.cli.call import Call, Reply
from ctxrank.cli.declare import Extended
from ctxrank.cli.output.progress import progress_bar
from ctxrank.extensions.opensearch.cluster import Cluster, ClusterError
from ctxrank.extensions.opensearch.engine import connect, engine_for
from ctxrank.extensions.opensearch.updater import (
    Sent,
    drop_index,
    forget_deleted,
    index_name,
    index_size,
    read_state,
    send_changes,
)
from ctxrank.indexer.deadline import QUESTION_S, Deadline
from ctxrank.indexer.engine import ClusterStatus
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.store.change_log import changes_after
from ctxrank.indexer.store.config import OPENSEARCH, load_config
from ctxrank.indexer.store.facets import id_list
from ctxrank.indexer.store.ids import public_id
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.store.wide_settings import ENVIRONMENT, WideSettings
from ctxrank.indexer.text.lines import one_line

_STATUS_PATIENCE_S = 0.5
# A cluster that has answered once is waited for when nodes are lost or too busy; one that never did is away.
_AWAY_S, _PATIENCE_S = 0.5, 120.0
_SHOWN_REFUSED = 20


def sync(call: Call, *, rebuild: bool, forget: bool) -> Reply:
    """Send what is missing; to forget, merge until no deletion is in a file of the cluster.

    Raises UsageError where no cluster is named, CtxrankError where it does not answer.
    """
    with call.open() as store:
        settings = load_config(store).wide
        if settings is None:
            raise UsageError(
                "It is not said where the cluster is.",
                f"Set {ENVIRONMENT} to its addresses, or wide: in your own config.yaml.",
            )
        with _connected(settings) as cluster:
            if rebuild:
                drop_index(cluster, index_name(store.primary))
            with progress_bar("sending", call) as advance:
                tokens = engine_for(store, settings).tokens
                done = send_changes(store.primary, cluster, tokens, settings, advance)
            if forget:
                forget_deleted(store.primary, cluster)
        return _reply(store, done, settings)


def wide_status(store: Store, settings: WideSettings, *, is_used: bool) -> ClusterStatus:
    """Ask the cluster, for a moment; one that is away is said in the status."""
    name = index_name(store.primary)
    found = ClusterStatus(settings.hosts, name, is_used)
    try:
        cluster = connect(settings, patience_s=_STATUS_PATIENCE_S)
        cluster.deadline = Deadline(QUESTION_S)
        with contextlib.closing(cluster):
            state = read_state(cluster, name)
            if state is None:
                return found._replace(trouble="no index of this store: 'ctxrank wide sync' makes it")
            documents, size_bytes = index_size(cluster, name)
    except ClusterError as error:
        return found._replace(trouble=str(error))
    behind = changes_after(store.primary, state.visible_seq)
    return found._replace(documents=documents, behind=behind, set_aside=len(state.set_aside), size_bytes=size_bytes)


@contextlib.contextmanager
def _connected(settings: WideSettings) -> Generator[Cluster, None, None]:
    """The cluster, whose errors become ours. Raises CtxrankError."""
    try:
        with contextlib.closing(connect(settings, patience_s=_PATIENCE_S, away_s=_AWAY_S)) as cluster:
            yield cluster
    except ClusterError as error:
        raise CtxrankError(
            f"The cluster at {settings.hosts}: {error}.", "What it acknowledged stays; the same command goes on."
        ) from error


def _reply(store: Store, done: Sent, settings: WideSettings) -> Reply:
    name = index_name(store.primary)
    waited = f", {done.waits} times put off by a busy cluster" if done.waits else ""
    is_used = load_config(store).engine == OPENSEARCH
    refused = _refused(store, done)
    notes = [
        f"{id_} is set aside: the cluster refuses it ({why}). It is sent again when it changes."
        for id_, why in list(refused.items())[:_SHOWN_REFUSED]
    ]
    if len(refused) > _SHOWN_REFUSED:
        notes.append(f"{len(refused)} documents are set aside; --json names them all.")
    return Reply(
        lambda: Extended(done, {"index": name, "refused": list(refused.items())}),
        [f"Sent {done.changed:,} changes to {one_line(settings.hosts)}, {done.unchanged:,} were there{waited}"],
        exit_code=CtxrankError.exit_code if refused else 0,
        notes=tuple(notes),
        text_notes=("searches ask the local index: 'engine: opensearch' in config.yaml changes that.",) * (not is_used),
    )


def _refused(store: Store, done: Sent) -> dict[str, str]:
    """Why documents are set aside, by their public ids."""
    reasons = {one.id: one.why for one in done.refused}
    query = "SELECT kind, coalesce(record_id, id), id FROM documents WHERE id IN (SELECT value FROM json_each(?))"
    rows = store.primary.execute(query, (id_list(list(reasons)),))
    return {public_id(str(kind), int(str(number))): reasons[int(str(id_))] for kind, number, id_ in rows}

"""Context of a task: what links, patterns and search reach, which is packed as one text within a budget.

    draft = make_context(store, ContextRequest("TASK-042", limit=4000), config)
    recording = record_context(store, draft)      # a store that cannot be written costs a note
    draft.part.text, recording.receipt

The tree is brought in step first: a stat for each file, and nothing is read where nothing changed. Annotations in
code are as `index` or `check` last saw them, because looking for them walks the whole tree. The receipt has the request
and the text, so that a context can be explained and made again.
"""

import re
from collections.abc import Callable, Iterator, Mapping

from ctxrank.extensions.links.closure import Closure, ReachedArtifact, find_task, reach
from ctxrank.extensions.links.graph import Graph, load_graph
from ctxrank.extensions.links.pack import LinkedPart, PackOptions, pack_linked
from ctxrank.extensions.links.store import StoredTexts, is_looked_through, stored_texts
from ctxrank.extensions.links.sync import sync_tree
from ctxrank.extensions.links.tree import ArtifactTree, folder_of_tree, require_tree
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import DamagedError, NotFoundError
from ctxrank.indexer.light_typing import Any, NamedTuple
from ctxrank.indexer.records import receipts
from ctxrank.indexer.records.receipts import Receipt, ReceiptEntry
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store.config import Config, load_config
from ctxrank.indexer.store.connection import require_value
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.digests import digest_of
from ctxrank.ranking.context.prices import Prices

# Grows by one when equal inputs give other bytes than before: a replay then says so.
LINKED_VERSION = 2
# The inputs that are fields of the request: the field, and how its text becomes a value again.
_REQUEST: "Mapping[str, tuple[str, Callable[[str], Any]]]" = {
    "budget": ("limit", int),
    "depth": ("depth", str),
    "hops": ("hops", int),
    "form": ("form", str),
    "with identity": ("with_identity", "True".__eq__),
    "with search": ("with_search", "True".__eq__),
    "token factor": ("factor", float),
}
_OPTIONAL = ("budget", "hops")
_PART = re.compile(r"(?m)^(?==== |## )")


class ContextRequest(NamedTuple):
    """Which task, how far, and how much of it; `hops` None is all, `limit` None is no budget."""

    task: str
    limit: int | None = None
    depth: str = "full"
    hops: int | None = None
    form: str = "compact"
    with_identity: bool = True
    with_search: bool = True
    factor: float = 1.0  # tokens of the reading model for each of o200k_base
    start: str | None = None  # where `.contextia` is looked for from; None is here


class ContextMaterial(NamedTuple):
    """Everything that packing needs: what is reached, what search adds, and their texts; and where it is from.

    `seq` is the store's after the tree was brought in step: what changes later has a higher one.
    """

    tree: ArtifactTree
    seq: int
    graph: Graph
    closure: Closure
    found: tuple[ReachedArtifact, ...]
    texts: dict[int, StoredTexts]
    annotated: dict[str, list[str]]
    notes: tuple[str, ...] = ()  # what may be missing from the text, and what to do about it


class ContextDraft(NamedTuple):
    """A context of which nothing is recorded yet, with what it was made from."""

    request: ContextRequest
    config: Config
    material: ContextMaterial
    part: LinkedPart
    started_at: int


def gather(store: Store, request: ContextRequest, config: Config) -> ContextMaterial:
    """What packing needs, read from the store after it was brought in step with the disk.

    Raises NotFoundError with near ids.
    """
    tree = require_tree(store.location, request.start)
    sync_tree(store, tree, config.redaction_mode)
    seq = store.last_seq()
    graph = load_graph(store.primary, tree)
    task = find_task(graph, request.task)
    closure = reach(graph, task, hops=request.hops, with_identity=request.with_identity)
    notes: list[str] = []
    if any(one.node.globs_json != "[]" for one in closure.reached) and not is_looked_through(store.primary, tree):
        notes.append("The code was never scanned for annotations (@spec and the like); 'ctxrank index' does it.")
    found: tuple[ReachedArtifact, ...] = ()
    if request.with_search:
        from ctxrank.extensions.links.search import MAX_FOUND, find_more  # noqa: PLC0415  not loaded without search

        taken = {one.node.id for one in closure.reached}
        if graph.identity is not None:
            taken.add(graph.identity.id)
        own = stored_texts(store.primary, [task.number])[task.number].texts
        best, trouble = find_more(store, graph, task, own.full.removeprefix(own.meta), taken, config)
        found = best[:MAX_FOUND]
        if trouble:
            notes.append(f"Search adds nothing: {trouble}.")
    texts = stored_texts(store.primary, [one.node.number for one in (*closure.reached, *found)])
    specs = {one.node.id for one in closure.reached if one.node.type == "spec"}
    annotated: dict[str, list[str]] = {}
    for annotation in graph.annotations:
        if annotation.id in specs:
            annotated.setdefault(annotation.id, []).append(f"{annotation.path}:{annotation.line}")
    return ContextMaterial(tree, seq, graph, closure, found, texts, annotated, tuple(notes))


def make_context(store: Store, request: ContextRequest, config: Config | None = None) -> ContextDraft:
    """The context of a task. Raises NotFoundError with near ids, UsageError for a budget that is too small."""
    config = config or load_config(store)
    started_at = now_us()
    material = gather(store, request, config)
    options = PackOptions(request.limit, request.depth, request.form, has_search=request.with_search)
    part = pack_linked(
        material.closure, material.texts, material.found, options, Prices(request.factor), material.annotated
    )
    return ContextDraft(request, config, material, part, started_at)


def record_context(store: Store, draft: ContextDraft) -> receipts.Recording:
    """Write the receipt of a context; never fails it."""
    task = draft.material.graph.nodes[draft.material.closure.task]
    owner = receipts.ReceiptOwner(None, receipts.task_group(task.number))
    return receipts.record(store, owner, receipt_of(store, draft), draft.part.text)


def receipt_of(store: Store, draft: ContextDraft) -> Receipt:
    """What was asked, what is shown, and what is not, and why."""
    text = draft.part.text
    return Receipt(
        id=0,
        kind=receipts.CONTEXT,
        session=None,
        group=None,
        agent="",
        iteration=0,
        seq=draft.material.seq,
        inputs=dict(_inputs(store, draft)),
        entries=tuple(_entries(draft)),
        parts=receipts.part_digests(_PART.split(text)),
        digest=digest_of(text),
        tokens=draft.part.used,
        created_at=draft.started_at,
    )


def _inputs(store: Store, draft: ContextDraft) -> Iterator[tuple[str, str]]:
    """What the text follows from in addition to the artifacts: the request, the configuration, and this program."""
    request = draft.request
    yield "task", draft.material.closure.task
    for name, (field, _) in _REQUEST.items():
        if (value := getattr(request, field)) is not None:
            yield name, str(value)
    yield "tree", draft.material.tree.name
    yield "redaction mode", draft.config.redaction_mode.described
    program = f"linked {LINKED_VERSION}, rules {RULESET_VERSION}"
    if request.with_search:
        from ctxrank.indexer.fulltext.index_file import FINGERPRINT  # noqa: PLC0415  not loaded without search

        program = f"{program}, index {FINGERPRINT}"
    yield "program", program
    query = "SELECT coalesce(max(id), 0) FROM linked_artifacts"
    yield receipts.NEWEST, str(require_value(store.primary, query, (), int))


def _entries(draft: ContextDraft) -> Iterator[ReceiptEntry]:
    """Every artifact that is shown, and at which level; every one that is not, and why."""
    for shown in draft.part.shown:
        reason = _reason(shown.artifact)
        if shown.is_lowered:
            reason = f"{reason}; lowered: the whole takes {shown.whole} tokens"
        yield ReceiptEntry(shown.artifact.node.id, True, shown.level, shown.tokens, reason)
    for one in draft.material.closure.missing:
        yield ReceiptEntry(one.id, False, "", 0, f"linked by {one.source}, but there is no such artifact")
    for left in draft.part.omitted[: receipts.MAX_OMITTED_ENTRIES]:
        reason = f"{_reason(left.artifact)}; dropped: {left.tokens} tokens do not fit the budget"
        yield ReceiptEntry(left.artifact.node.id, False, "", left.tokens, reason)


def _reason(one: ReachedArtifact) -> str:
    """How it was reached: `T1 via TASK-1 > SPEC-A`, `T2 via TASK-1 > SPEC-A, scope: src/**`, `T3 found by search`."""
    if one.tier in (0, 3):
        return f"T{one.tier} {one.reason}"
    how = "" if one.tier == 1 else f", {one.reason.removeprefix('via ')}"
    node = one.node
    state = f"; {node.status}{f', use {node.superseded_by}' if node.superseded_by else ''}" if node.is_retired else ""
    return f"T{one.tier} via {one.via}{how}{state}"


def request_of(store: Store, receipt: Receipt) -> ContextRequest:
    """The request of a receipt. Raises DamagedError where it cannot be read."""
    given = receipt.inputs
    tree = given.get("tree", ".")
    folder = folder_of_tree(store, tree)
    if folder is None:
        raise NotFoundError(
            f"Receipt {receipt.id} is of {tree}, which you did not name.",
            "'ctxrank index --root DIR' allows to read there.",
        )
    try:
        values = {
            field: read(given[name])
            for name, (field, read) in _REQUEST.items()
            if name in given or name not in _OPTIONAL
        }
        return ContextRequest(task=given["task"], start=folder, **values)
    except (KeyError, ValueError) as error:
        raise DamagedError(f"Receipt {receipt.id} is damaged: {error}.", "Another receipt may be whole.") from error

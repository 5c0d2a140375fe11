"""Context of a task: what links, patterns and search reach, which is packed as one text within a budget.

    material = gather(store, ContextRequest("TASK-042", limit=4000), config)

The tree is brought in step first: a stat for each file, and nothing is read where nothing changed. Annotations in
code are as `index` or `check` last saw them, because looking for them walks the whole tree.
"""

from ctxrank.extensions.links.closure import Closure, ReachedArtifact, find_task, reach
from ctxrank.extensions.links.graph import Graph, Node, load_graph
from ctxrank.extensions.links.store import StoredTexts, is_looked_through, stored_texts
from ctxrank.extensions.links.sync import sync_tree
from ctxrank.extensions.links.tree import ArtifactTree, require_tree
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.store import Store


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
    found, trouble = _found(store, graph, task, closure, config) if request.with_search else ((), "")
    texts = stored_texts(store.primary, [one.node.number for one in (*closure.reached, *found)])
    notes = (*_notes(store, tree, closure), *([f"Search adds nothing: {trouble}."] if trouble else []))
    return ContextMaterial(tree, seq, graph, closure, found, texts, _annotated(graph, closure), notes)


def _found(
    store: Store, graph: Graph, task: Node, closure: Closure, config: Config
) -> tuple[tuple[ReachedArtifact, ...], str]:
    from ctxrank.extensions.links.search import find_more  # noqa: PLC0415  not loaded without search

    taken = {one.node.id for one in closure.reached}
    if graph.identity is not None:
        taken.add(graph.identity.id)
    texts = stored_texts(store.primary, [task.number])[task.number].texts
    found = find_more(store, graph, task, texts.full.removeprefix(texts.meta), taken, config)
    return found.reached, found.trouble


def _notes(store: Store, tree: ArtifactTree, closure: Closure) -> tuple[str, ...]:
    """A note where annotations cannot be known, because the code was never looked through."""
    has_code = any(one.node.globs_json != "[]" for one in closure.reached)
    if not has_code or is_looked_through(store.primary, tree):
        return ()
    return ("The code was never scanned for annotations (@spec and the like); 'ctxrank index' does it.",)


def _annotated(graph: Graph, closure: Closure) -> dict[str, list[str]]:
    """The files that are annotated with each spec that was reached: `src/invoice.py:12`."""
    specs = {one.node.id for one in closure.reached if one.node.type == "spec"}
    files: dict[str, list[str]] = {}
    for annotation in graph.annotations:
        if annotation.id in specs:
            files.setdefault(annotation.id, []).append(f"{annotation.path}:{annotation.line}")
    return files

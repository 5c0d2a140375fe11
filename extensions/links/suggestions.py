"""Links that are missing, as receipts show it: what search finds again and again belongs into a list.

    for one in suggest(store, tree):
        one.id, one.into, one.sightings      DEC-CURRENCY-002 into TASK-042, seen 3 times

A sighting is a context in which search had the artifact among its best; the same text twice is one. What was found for
several tasks that link to the same spec goes into that spec, so that the next task has it too; all else into the task.
"""

from collections.abc import Iterable, Iterator

from ctxrank.extensions.links.closure import reach
from ctxrank.extensions.links.graph import Graph, Node, load_graph
from ctxrank.extensions.links.sync import sync_tree
from ctxrank.extensions.links.tree import ArtifactTree
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.receipts import Receipt, list_receipts
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.store import Store

# Search fills whatever budget is left; only the head of what it found says something about the task.
COUNTED_RANK = 3
_LISTS = {"spec": "specs", "decision": "decisions", "norm": "norms"}


class ArtifactSighting(NamedTuple):
    """One time that search had an artifact among its best."""

    id: str
    task: str
    rank: int
    receipt: int


class LinkSuggestion(NamedTuple):
    """A link that could be added: which artifact, into which list of which one, and where it was seen."""

    id: str
    list: str
    into: str
    path: str
    sightings: tuple[ArtifactSighting, ...]


def suggest(store: Store, tree: ArtifactTree, mode: RedactionMode, least: int) -> tuple[LinkSuggestion, ...]:
    """What could be linked, the most seen first."""
    sync_tree(store, tree, mode)
    graph = load_graph(store.primary, tree)
    receipts = [one for one in list_receipts(store.primary) if one.inputs.get("tree", ".") == tree.name and one.task_id]
    by_artifact: dict[str, list[ArtifactSighting]] = {}
    for one in sightings(receipts):
        by_artifact.setdefault(one.id, []).append(one)
    found = [
        suggestion
        for id_, times in by_artifact.items()
        if len(times) >= least and id_ in graph.nodes and not graph.nodes[id_].is_retired
        for suggestion in _suggestions(graph, graph.nodes[id_], times)
    ]
    return tuple(sorted(found, key=lambda one: (-len(one.sightings), one.into, one.id)))


def sightings(receipts: Iterable[Receipt]) -> Iterator[ArtifactSighting]:
    """What search had among its best in each context; equal texts count once."""
    counted: set[tuple[str, str]] = set()
    for receipt in receipts:
        if (receipt.task_id, receipt.digest) in counted:
            continue
        counted.add((receipt.task_id, receipt.digest))
        # An artifact that is shown lowered may have two lines.
        best = dict.fromkeys(entry.id for entry in receipt.entries if entry.reason.startswith("T3"))
        for rank, id_ in enumerate(list(best)[:COUNTED_RANK], start=1):
            yield ArtifactSighting(id_, receipt.task_id, rank, receipt.id)


def _suggestions(graph: Graph, node: Node, times: list[ArtifactSighting]) -> Iterator[LinkSuggestion]:
    """Where a link to an artifact would go: a spec that all the tasks link to, else each task."""
    tasks = [graph.nodes[task] for task in dict.fromkeys(one.task for one in times) if task in graph.nodes]
    tasks = [task for task in tasks if task.type == "task" and not _is_linked(graph, task, node)]
    places = tasks
    if len(tasks) > 1:
        listed = [[link.id for link in task.links] for task in tasks]
        shared = [id_ for id_ in listed[0] if all(id_ in others for others in listed[1:])]
        specs = [graph.nodes[id_] for id_ in shared if id_ in graph.nodes and graph.nodes[id_].type == "spec"]
        places = [spec for spec in specs if not spec.is_retired and spec.id != node.id][:1] or tasks
    for place in places:
        yield LinkSuggestion(node.id, _LISTS[node.type], place.id, place.path, tuple(times))


def _is_linked(graph: Graph, task: Node, node: Node) -> bool:
    return any(one.node.id == node.id and one.tier < 2 for one in reach(graph, task).reached)

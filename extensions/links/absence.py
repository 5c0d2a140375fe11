"""Why a linked artifact that no line of a receipt names was not in the text: from the links as they are now.

    why_not_reached(store, load_graph_of(store, receipt), "NORM-API-001", receipt)
        "linked by no artifact that TASK-042 reaches", "SPEC-API-001 lists it, but TASK-042 does not reach SPEC-API-001"

An artifact is missing for one of these: no link of the task's leads there, a spec that is reached does not list it, or
the budget dropped it (which the receipt says). Changes since the receipt are listed, too.
"""

import re
from collections.abc import Iterator, Mapping

from ctxrank.extensions.links.closure import is_followed, near_ids, reach
from ctxrank.extensions.links.graph import Graph, Node, load_graph
from ctxrank.extensions.links.store import KIND
from ctxrank.extensions.links.sync import sync_tree
from ctxrank.extensions.links.tree import folder_of_tree, require_tree
from ctxrank.indexer.exceptions import NotFoundError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.receipts import Receipt
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.globs import overlap

_MAX_NAMED = 5
_TIER = re.compile(r"T([0-3])\b")


class _Absence(NamedTuple):
    """An artifact that no line of the receipt names, and what decides whether it could have been there."""

    node: Node
    task: Node | None  # None where it is gone
    graph: Graph
    tiers: Mapping[str, int]  # of everything that the receipt names
    receipt: Receipt


def why_not_reached(store: Store, graph: Graph, id_: str, receipt: Receipt) -> tuple[str, ...]:
    """The reasons, the decisive one first. Raises NotFoundError for an id that never was."""
    node = graph.nodes.get(id_)
    if node is None:
        raise _unknown(id_, graph, receipt)
    if not receipt.task_id:
        return ("this assembly named no task: --task-id brings what a task's links reach",)
    found = [(entry.id, _TIER.match(entry.reason)) for entry in receipt.entries]
    tiers = {name: int(tier[1]) for name, tier in found if tier}
    return tuple(_reasons(store, _Absence(node, graph.nodes.get(receipt.task_id), graph, tiers, receipt)))


def load_graph_of(store: Store, receipt: Receipt) -> Graph:
    """The links of the receipt's tree, or of the one that is found from here, in step with the disk."""
    name = receipt.inputs.get("tree")
    # A folder that the store names, and the user did not, is not looked at: the one that is found from here is.
    tree = require_tree(store.location, None if name is None else folder_of_tree(store, name))
    sync_tree(store, tree, load_config(store).redaction_mode)
    return load_graph(store.primary, tree)


def _unknown(id_: str, graph: Graph, receipt: Receipt) -> NotFoundError:
    linkers = [node.id for node in graph.nodes.values() if any(link.id == id_ for link in node.links)]
    said = f" Links to it: {', '.join(sorted(linkers)[:_MAX_NAMED])}." if linkers else ""
    hint = near_ids(id_, graph.nodes) or "'ctxrank search --kind linked WORDS' finds artifacts."
    return NotFoundError(f"There is no artifact {id_}, and receipt {receipt.id} does not name it.{said}", hint)


def _reasons(store: Store, absence: _Absence) -> Iterator[str]:
    node, receipt = absence.node, absence.receipt
    if node.type in ("task", "identity"):
        yield f"it is {_named_type(node)}: of these a context has only the task's own, and no link leads to another"
        return
    yield from _by_links(absence)
    if node.is_retired:
        yield f"it is {node.status}: patterns, annotations and search never bring it, only a link does"
    else:
        yield from _by_specs(absence)
        yield from _by_patterns(absence)
        yield _by_search(absence)
    row = store.primary.execute(
        "SELECT seq > ? FROM documents WHERE kind = ? AND record_id = ?", (receipt.seq, KIND, node.number)
    ).fetchone()
    if row is not None and row[0]:
        yield "it was written after this context was made"


def _named_type(node: Node) -> str:
    return "an identity" if node.type == "identity" else f"a {node.type}"


def _by_links(absence: _Absence) -> Iterator[str]:
    """Whose links name it, and why they did not lead there."""
    graph, node, task = absence.graph, absence.node, absence.receipt.task_id
    linkers = [one for _, one in sorted(graph.nodes.items()) if any(link.id == node.id for link in one.links)]
    whole = () if absence.task is None else reach(graph, absence.task).reached
    steps = next((one.chain for one in whole if one.node.id == node.id and one.tier == 1), ())
    hops = absence.receipt.inputs.get("hops")
    if hops is not None and len(steps) - 1 > int(hops):
        yield f"beyond --hops {hops}: it takes {len(steps) - 1}, {' > '.join(steps)}"
        return
    yield f"linked by no artifact that {task} reaches" if linkers else "no artifact links to it"
    for one in linkers[:_MAX_NAMED]:
        tier = absence.tiers.get(one.id)
        if tier is None:
            yield f"{one.id} lists it, but {task} does not reach {one.id}"
        elif tier >= 2:
            way = "patterns or annotations" if tier == 2 else "search"
            yield f"{one.id} lists it, but was reached by {way}: links are followed from what links reach"
        elif not is_followed(one, node):
            yield f"{one.id} lists it, but no link is followed from a {one.type} to a {node.type}"
        else:
            yield f"{one.id} lists it now, and did not when this context was made"
    if len(linkers) > _MAX_NAMED:
        yield f"and {len(linkers) - _MAX_NAMED} more list it, and are not reached"


def _by_specs(absence: _Absence) -> Iterator[str]:
    """Which specs that are reached could list it."""
    reached = [absence.graph.nodes[id_] for id_ in absence.tiers if id_ in absence.graph.nodes]
    specs = [node for node in reached if node.type == "spec" and all(link.id != absence.node.id for link in node.links)]
    named: set[str] = set()
    for spec in specs if absence.node.type == "norm" else ():
        pair = next(((a, b) for a in absence.node.globs for b in spec.globs if overlap(a, b)), None)
        if pair is not None and len(named) < _MAX_NAMED:
            named.add(spec.id)
            yield f"missing-link: its scope '{pair[0]}' covers '{pair[1]}' of {spec.id}, which does not list it"
    others = [spec.id for spec in specs if absence.tiers[spec.id] <= 1 and spec.id not in named]
    if others:
        more = f" and {len(others) - _MAX_NAMED} more" if len(others) > _MAX_NAMED else ""
        yield f"reached, and not listing it: {', '.join(others[:_MAX_NAMED])}{more}"


def _by_patterns(absence: _Absence) -> Iterator[str]:
    node, task = absence.node, absence.receipt.task_id
    if node.type == "norm" and not node.globs:
        yield "it has no scope, so that no pattern brings it"
    elif node.type in ("spec", "norm"):
        word = "scope" if node.type == "norm" else "paths"
        if node.globs:
            yield f"its {word} {', '.join(node.globs[:_MAX_NAMED])} meet the code of no spec that {task} links to"


def _by_search(absence: _Absence) -> str:
    if absence.receipt.inputs.get("with search") == "False":
        return "search was switched off by --no-search"
    found = sum(tier == 3 for tier in absence.tiers.values())
    if not found:
        return "search found nothing for the words of the task"
    return f"search has {found} others for the words of the task, but not it"

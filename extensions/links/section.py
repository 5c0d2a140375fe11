"""The linked artifacts of an assembly: what a task of `.contextia/` reaches, before the agent's own heading.

They come first and depend on the task alone, so that all agents that work on it share the longest possible beginning
of their blocks. Both parts have one budget:

    linked artifacts   a share of what remains, or half of a requested budget; of a requested budget also all that is
                       left over once the agent's block has everything that it could hold
    the agent's block  the rest, and what is left over once every linked artifact is shown as the zone allows

So each gives the other what it cannot use at any budget. What is left over before that stays unspent: it is less than
a step of its own, and given to the other it would have to be taken back at a larger budget.
"""

import re
from collections.abc import Iterator, Mapping

from ctxrank.extensions.links.closure import is_followed, near_ids, reach
from ctxrank.extensions.links.context import (
    ContextMaterial,
    ContextRequest,
    gather,
    make_context,
    receipt_of,
    request_of,
)
from ctxrank.extensions.links.globs import overlap
from ctxrank.extensions.links.graph import Graph, Node, load_graph
from ctxrank.extensions.links.pack import PackOptions, pack_linked
from ctxrank.extensions.links.store import KIND
from ctxrank.extensions.links.sync import sync_tree
from ctxrank.extensions.links.tree import folder_of_tree, require_tree
from ctxrank.indexer.exceptions import CtxrankError, NotFoundError, UsageError
from ctxrank.indexer.records.receipts import Receipt
from ctxrank.indexer.store.config import Config, load_config
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.store.ids import local_ref
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import listed
from ctxrank.ranking.context.assembly import limits
from ctxrank.ranking.context.assembly.shapes import Omitted, SectionItem
from ctxrank.ranking.context.prices import Prices
from ctxrank.ranking.context.section import AskedSection, RemadeText, SectionPart, Why

# Of what remains of the context. Every agent's block has at least twice as much, so that all agents get equal bytes.
_SHARE = 0.15
_SHARE_OF_ASKED = 0.5
_DEPTHS = {limits.NORMAL: "full", limits.SOFT_WARNING: "summary", limits.CONSERVATIVE: "meta"}


class LinkedSection:
    """What a task of `.contextia/` reaches: see ranking/context/section.py."""

    def gather(self, store: Store, wanted: str, asked: AskedSection) -> SectionPart:
        """What the task reaches. Where there is no such task, or no room, it is a note."""
        whole, used = asked.budget.limit, asked.usage
        limit = int(whole * _SHARE_OF_ASKED) if asked.is_bound else min(int(used.remaining * _SHARE), whole // 2)
        options = PackOptions(limit, _DEPTHS[used.zone], "markdown", has_reference_line=False)
        request = ContextRequest(wanted, limit, options.depth, form=options.form, factor=asked.factor)
        try:
            material = gather(store, request, asked.config)
        except CtxrankError as error:
            return SectionPart(KIND, "", 0, whole, notes=(f"{error.message} {error.hint}".strip(),))
        return _packed(material, options, Prices(asked.factor), whole)

    def why(self, store: Store, document: str, receipt: Receipt) -> Why:
        """What became of an artifact, by its own id or by ours, in a text. Raises NotFoundError."""
        graph = load_graph_of(store, receipt)
        if document.startswith(f"{KIND}:"):
            number = local_ref(store.primary, document).number
            name = read_value(store.primary, "SELECT name FROM linked_artifacts WHERE id = ?", (number,), str)
            if not name:
                raise NotFoundError(f"There is no {document} with an id of its own.", "'ctxrank search' shows ids.")
            document = name
        by_fold = {known.lower(): known for known in (*graph.nodes, *(entry.id for entry in receipt.entries))}
        id_ = by_fold.get(document.lower(), document)
        entry = receipt.entry(id_)
        if entry is None:
            return Why(id_, reasons=why_not_reached(store, graph, id_, receipt))
        return Why(id_, entry.is_included, entry.detail, entry.tokens, tuple(entry.reason.split("; ")))

    def remade(self, store: Store, receipt: Receipt, config: Config | None) -> RemadeText:
        """The context of a receipt as it would be now. Raises CtxrankError."""
        draft = make_context(store, request_of(store, receipt), config)
        return RemadeText(draft.part.text, receipt_of(store, draft), {})


SECTION = LinkedSection()


def _packed(material: ContextMaterial, options: PackOptions, prices: Prices, whole: int) -> SectionPart:
    limit = options.limit or 0
    task = next(one for one in material.closure.reached if one.node.type == "task")
    task_text = f"{task.node.title}\n{material.texts[task.node.number].texts.full}"

    def more(highest: int) -> SectionPart:
        return _packed(material, options._replace(limit=max(limit, highest)), prices, whole)

    try:
        part = pack_linked(material.closure, material.texts, material.found, options, prices, material.annotated)
    except UsageError as error:
        # Kept free all the same: a larger budget would take it from the packages again.
        return SectionPart(KIND, "", 0, whole - limit, (), (), task_text, (error.message,), more)
    lowered = [one for one in part.shown if one.is_lowered]
    is_complete = not part.omitted and not lowered
    closure = material.closure
    shown = [
        SectionItem(node.id, node.type, node.title, node.status, level, tokens, f"T{one.tier}", one.chain, one.reason)
        for one, level, tokens, _, _ in part.shown
        for node in (one.node,)
    ]
    omitted = [
        *(
            Omitted(one.node.id, f"T{one.tier}: no room in the linked artifacts' budget", tokens)
            for one, _, tokens, _, _ in part.omitted
        ),
        *(Omitted(one.artifact.node.id, f"lowered: shown at {one.level}", one.whole - one.tokens) for one in lowered),
        *(Omitted(one.id, f"linked by {one.source}, but there is no such artifact", 0) for one in closure.missing),
    ]
    return SectionPart(
        KIND,
        part.text,
        part.used,
        whole - (part.used if is_complete else limit),
        tuple(shown),
        tuple(omitted),
        task_text,
        (*material.notes, *closure.warnings, *(one.sentence for one in closure.missing)),
        None if is_complete else more,
    )


_MAX_NAMED = 5
_TIER = re.compile(r"T([0-3])\b")
_FOUND = 3  # the tier of what search found


def why_not_reached(store: Store, graph: Graph, id_: str, receipt: Receipt) -> tuple[str, ...]:
    """The reasons, the decisive one first. Raises NotFoundError for an id that never was."""
    node = graph.nodes.get(id_)
    linkers = [one for _, one in sorted(graph.nodes.items()) if any(link.id == id_ for link in one.links)]
    if node is None:
        said = f" Links to it: {', '.join(one.id for one in linkers[:_MAX_NAMED])}." if linkers else ""
        hint = near_ids(id_, graph.nodes) or "'ctxrank search --kind linked WORDS' finds artifacts."
        raise NotFoundError(f"There is no artifact {id_}, and receipt {receipt.id} does not name it.{said}", hint)
    if not receipt.task_id:
        return ("this assembly named no task: --task-id brings what a task's links reach",)
    if node.type in ("task", "identity"):
        name = "an identity" if node.type == "identity" else "a task"
        return (f"it is {name}: of these a context has only the task's own, and no link leads to another",)
    found = [(entry.id, _TIER.match(entry.reason)) for entry in receipt.entries]
    tiers = {name: int(tier[1]) for name, tier in found if tier}
    reasons = [*_by_links(graph, node, linkers, tiers, receipt)]
    if node.is_retired:
        reasons.append(f"it is {node.status}: patterns, annotations and search never bring it, only a link does")
    else:
        reasons += [*_by_specs(graph, node, tiers), *_by_patterns(node, receipt.task_id)]
        count = sum(tier == _FOUND for tier in tiers.values())
        if receipt.inputs.get("with search") == "False":
            reasons.append("search was switched off by --no-search")
        elif count:
            reasons.append(f"search has {count} others for the words of the task, but not it")
        else:
            reasons.append("search found nothing for the words of the task")
    query = "SELECT 1 FROM documents WHERE kind = ? AND record_id = ? AND seq > ?"
    if read_value(store.primary, query, (KIND, node.number, receipt.seq), int):
        reasons.append("it was written after this context was made")
    return tuple(reasons)


def load_graph_of(store: Store, receipt: Receipt) -> Graph:
    """The links of the receipt's tree, or of the one that is found from here, in step with the disk."""
    name = receipt.inputs.get("tree")
    # A folder that the store names, and the user did not, is not looked at: the one that is found from here is.
    tree = require_tree(store.location, None if name is None else folder_of_tree(store, name))
    sync_tree(store, tree, load_config(store).redaction_mode)
    return load_graph(store.primary, tree)


def _by_links(
    graph: Graph, node: Node, linkers: list[Node], tiers: Mapping[str, int], receipt: Receipt
) -> Iterator[str]:
    """Whose links name it, and why they did not lead there."""
    task, hops = receipt.task_id, receipt.inputs.get("hops")
    if hops is not None and task in graph.nodes:
        whole = reach(graph, graph.nodes[task]).reached
        steps = next((one.chain for one in whole if one.node.id == node.id and one.tier == 1), ())
        if len(steps) - 1 > int(hops):
            yield f"beyond --hops {hops}: it takes {len(steps) - 1}, {' > '.join(steps)}"
            return
    yield f"linked by no artifact that {task} reaches" if linkers else "no artifact links to it"
    for one in linkers[:_MAX_NAMED]:
        tier = tiers.get(one.id)
        if tier is None:
            yield f"{one.id} lists it, but {task} does not reach {one.id}"
        elif tier >= 2:
            way = "search" if tier == _FOUND else "patterns or annotations"
            yield f"{one.id} lists it, but was reached by {way}: links are followed from what links reach"
        elif not is_followed(one, node):
            yield f"{one.id} lists it, but no link is followed from a {one.type} to a {node.type}"
        else:
            yield f"{one.id} lists it now, and did not when this context was made"
    if len(linkers) > _MAX_NAMED:
        yield f"and {len(linkers) - _MAX_NAMED} more list it, and are not reached"


def _by_specs(graph: Graph, node: Node, tiers: Mapping[str, int]) -> Iterator[str]:
    """Which specs that are reached could list it."""
    reached = [graph.nodes[id_] for id_ in tiers if id_ in graph.nodes]
    specs = [one for one in reached if one.type == "spec" and all(link.id != node.id for link in one.links)]
    named: set[str] = set()
    for spec in specs if node.type == "norm" else ():
        pair = next(((a, b) for a in node.globs for b in spec.globs if overlap(a, b)), None)
        if pair is not None and len(named) < _MAX_NAMED:
            named.add(spec.id)
            yield f"missing-link: its scope '{pair[0]}' covers '{pair[1]}' of {spec.id}, which does not list it"
    others = [spec.id for spec in specs if tiers[spec.id] <= 1 and spec.id not in named]
    if others:
        yield f"reached, and not listing it: {listed(others, _MAX_NAMED)}"


def _by_patterns(node: Node, task: str) -> Iterator[str]:
    if node.globs and node.type in ("spec", "norm"):
        word = "scope" if node.type == "norm" else "paths"
        yield f"its {word} {', '.join(node.globs[:_MAX_NAMED])} meet the code of no spec that {task} links to"
    elif node.type == "norm":
        yield "it has no scope, so that no pattern brings it"

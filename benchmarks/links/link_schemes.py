"""The schemes: what a task is given by links alone, by search alone, and by tiers, within a budget.

All three are packed by the same function with the same prices, so they differ in who is a candidate and in which order.

    links    with_search=False: what links and patterns reach
    BM25     the task's words over the linked artifacts, best first, admitted in this order; no link is looked at.
             As many as the budget takes, or, as `BM25 top 10`, ten
    tiers    what `ctxrank context` does
"""

import os
import tempfile
from collections.abc import Iterator
from typing import NamedTuple

from link_world import World, write_world

from ctxrank.extensions.links.closure import Closure, ReachedArtifact
from ctxrank.extensions.links.context import ContextRequest, gather
from ctxrank.extensions.links.graph import load_graph
from ctxrank.extensions.links.pack import LinkedPart, PackOptions, pack_linked
from ctxrank.extensions.links.search import find_more
from ctxrank.extensions.links.store import stored_texts
from ctxrank.extensions.links.sync import sync_tree
from ctxrank.extensions.links.tree import require_tree
from ctxrank.indexer.opening import create_store
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.prices import Prices

SCHEMES = ("links", "BM25", "BM25 top 10", "tiers")
_AS_MANY_AS_FIT = 200


class Outcome(NamedTuple):
    """What one scheme showed one task: recall at any level, and of those shown with their first section or more."""

    scheme: str
    budget: int
    task: str
    recall: float
    recall_of_text: float
    shown: int
    used: int


def outcomes(world: World, budgets: tuple[int, ...]) -> Iterator[Outcome]:
    """Every scheme at every budget for every task of a world."""
    config = Config()
    with tempfile.TemporaryDirectory(prefix="ctxrank-bench-") as folder:
        write_world(folder, world)
        os.makedirs(os.path.join(folder, ".ctxrank"), exist_ok=True)
        with create_store(folder) as store:
            tree = require_tree(store.location, folder)
            sync_tree(store, tree)
            store.catch_up()
            for task in world.required:
                links = gather(store, ContextRequest(task, with_search=False, start=folder), config)
                tiers = gather(store, ContextRequest(task, start=folder), config)
                by_bm25 = _found(store, task, folder, config)
                for budget in budgets:
                    parts = {
                        "links": pack_linked(
                            links.closure, links.texts, (), PackOptions(budget, has_search=False), Prices(1.0)
                        ),
                        "tiers": pack_linked(tiers.closure, tiers.texts, tiers.found, PackOptions(budget), Prices(1.0)),
                        "BM25": _packed(store, links.closure, by_bm25, budget),
                        "BM25 top 10": _packed(store, links.closure, by_bm25[:10], budget),
                    }
                    for scheme, part in parts.items():
                        yield _outcome(scheme, budget, task, part, world.required[task])


def _found(store: Store, task: str, folder: str, config: Config) -> tuple[ReachedArtifact, ...]:
    graph = load_graph(store.primary, require_tree(store.location, folder))
    node = graph.nodes[task]
    text = stored_texts(store.primary, [node.number])[node.number].texts
    body = text.full.removeprefix(text.meta)
    return find_more(store, graph, node, body, {task}, config)[0][:_AS_MANY_AS_FIT]


def _packed(store: Store, linked: Closure, found: tuple[ReachedArtifact, ...], budget: int) -> LinkedPart:
    first = tuple(one for one in linked.reached if one.tier == 0)
    # Packed as what a link reaches is: admitted in this order, upgraded when that is the cheapest step.
    ranked = tuple(one._replace(tier=1) for one in found)
    texts = stored_texts(store.primary, [one.node.number for one in (*first, *ranked)])
    closure = Closure(linked.task, (*first, *ranked), (), ())
    return pack_linked(closure, texts, (), PackOptions(budget, has_search=False), Prices(1.0))


def _outcome(scheme: str, budget: int, task: str, part: LinkedPart, required: frozenset[str]) -> Outcome:
    shown = {one.artifact.node.id: one.level for one in part.shown if one.artifact.tier}
    with_text = {id_ for id_, level in shown.items() if level != "meta"}
    return Outcome(
        scheme, budget, task, len(required & shown.keys()) / len(required), len(required & with_text) / len(required),
        len(shown), part.used,
    )  # fmt: skip

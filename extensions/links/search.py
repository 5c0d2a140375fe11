"""T3: the linked artifacts that search finds for a task, beyond what links and patterns reach.

A forgotten link is invisible to a closure, and a sentence is no entry to it. So the task's own words are the query,
by BM25 over the documents that may enter: specs, norms and decisions of the same tree that are neither reached
already nor deprecated or superseded. The filter is part of the question, none is applied to what was picked. Age and
priority say nothing about a norm, so text alone decides, and equal scores go by id.
"""

from collections.abc import Collection

from ctxrank.extensions.links.closure import ReachedArtifact
from ctxrank.extensions.links.graph import Graph, Node
from ctxrank.extensions.links.store import KIND
from ctxrank.indexer.engine import Engine, Statistics
from ctxrank.indexer.opening import answer_of, engine_of
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.connection import read_map
from ctxrank.indexer.store.facets import Scope
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.retrieval.candidates.candidates import find_candidates
from ctxrank.ranking.retrieval.plan import make_plan
from ctxrank.ranking.retrieval.query import Query, Term

MAX_FOUND = 60  # as many as a budget of 8,000 tokens shows by their fields; measured with benchmarks/links
# A plan keeps 32 terms; what a task begins with says what it is about, and every further word costs a look-up.
MAX_QUERY_WORDS = 80
CATCH_UP_MS = 250
# For 40 tasks over 1,000 artifacts: 99 % of the same ten as with all terms, in a third of the time.
_ESSENTIAL_SHARE = 0.4
_TYPES = ("spec", "norm", "decision")


def find_more(
    store: Store, graph: Graph, task: Node, text: str, reached: Collection[str], config: Config
) -> tuple[tuple[ReachedArtifact, ...], str]:
    """What search finds for a task's words, best first; and why the index cannot answer, else ''."""
    allowed = {
        node.number: node
        for node in graph.nodes.values()
        if node.type in _TYPES and not node.is_retired and node.id not in reached
    }
    if not allowed:
        return (), ""
    words = " ".join(f"{task.title} {text}".split()[:MAX_QUERY_WORDS])

    def ask(engine: Engine, statistics: Statistics) -> list[Node]:
        # The index of public ids answers this without a look at the rows.
        query = "SELECT id, record_id FROM documents WHERE kind = ? AND record_id IS NOT NULL"
        numbers = read_map(store.primary, query, (KIND,), int, int)
        nodes = {document: allowed[number] for document, number in numbers.items() if number in allowed}
        # One term: whatever the text holds, none of it is taken for a filter, a phrase or an exclusion.
        plan = make_plan(Query((Term(words),)), engine, statistics)
        scope = Scope(kinds=(KIND,), document_ids=frozenset(nodes))
        rows = find_candidates(plan, scope, essential_share=_ESSENTIAL_SHARE).rows
        rows = [row for row in rows if row.owner_id in nodes]
        rows.sort(key=lambda row: (-row.score, nodes[row.owner_id].id))
        # A row whose document has changed since has a text that is no longer there.
        current = {signals.id for signals in engine.signals([row.owner_id for row in rows])}
        return [nodes[row.owner_id] for row in rows if row.owner_id in current]

    best, readiness = answer_of(store, engine_of(store), config, CATCH_UP_MS, ask)
    found = (ReachedArtifact(node, 3, (task.id, node.id), "found by search") for node in best or ())
    return tuple(found), "" if best is not None else readiness.health

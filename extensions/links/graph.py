"""The linked artifacts of one tree in memory: which there are and which they name, without their texts.

graph = load_graph(store.primary, tree)
graph.nodes["TASK-042"].links        (Link("specs", "SPEC-BILLING-001", 6), …)
"""

from collections.abc import Mapping

import apsw

from ctxrank.extensions.links.artifact import IDENTITY_ID, RETIRED, Link
from ctxrank.extensions.links.store import Annotation, stored_annotations, tree_id
from ctxrank.extensions.links.tree import ArtifactTree
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import read_rows
from ctxrank.indexer.text.light_json import loads


class Node(NamedTuple):
    """One artifact; `number` is its row. Links and globs are parsed when asked for: most nodes are not reached."""

    number: int
    path: str
    id: str
    type: str
    title: str
    status: str
    superseded_by: str = ""
    links_json: str = "[]"
    globs_json: str = "[]"

    @property
    def links(self) -> tuple[Link, ...]:
        """Whom it names, in the order of the lists."""
        return tuple(Link(*item) for item in loads(self.links_json))

    @property
    def globs(self) -> tuple[str, ...]:
        """A spec's paths, a norm's scope."""
        return tuple(map(str, loads(self.globs_json)))

    @property
    def is_retired(self) -> bool:
        """Deprecated or superseded: stays where a link names it, and enters nowhere else."""
        return self.status in RETIRED


class Graph(NamedTuple):
    """The artifacts by id, and the annotations in code. Of artifacts with one id the first path is the artifact."""

    nodes: Mapping[str, Node]
    annotations: tuple[Annotation, ...] = ()

    @property
    def identity(self) -> Node | None:
        """What the project is, if it says so."""
        named = self.nodes.get(IDENTITY_ID)
        return named or next((node for node in self.nodes.values() if node.type == "identity"), None)


def load_graph(database: apsw.Connection, tree: ArtifactTree) -> Graph:
    """The graph of a tree as it is stored; empty for a tree that was never read."""
    number = tree_id(database, tree)
    query = """
        SELECT id, path, name, type, title, status, superseded_by, links, globs
          FROM linked_artifacts WHERE tree_id = ? AND name <> '' AND type <> ''
         ORDER BY path DESC
    """
    nodes = {node.id: node for node in read_rows(database, query, (number,), Node)}
    return Graph(nodes, stored_annotations(database, number))

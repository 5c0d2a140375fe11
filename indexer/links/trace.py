"""`trace`: which artifacts govern a file, and why.

trace_path(graph, "src/billing/invoice.py", text)
    SPEC-BILLING-001    via paths: src/billing/**
    NORM-ERROR-001      via scope: src/**
    DEC-BILLING-003     via annotation at line 12
"""

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.links.annotations import find_annotations
from ctxrank.indexer.links.globs import matches
from ctxrank.indexer.links.graph import Graph, Node

_ORDER = ("spec", "norm", "decision", "task", "identity")


class Governor(NamedTuple):
    """An artifact that governs a file, with every reason; `line` is that of the first annotation, 0 for none."""

    node: Node
    reasons: tuple[str, ...]
    line: int


def trace_path(graph: Graph, path: str, text: str) -> tuple[tuple[Governor, ...], tuple[str, ...]]:
    """Who governs a file of this path and text, by type and id; and the ids it names that do not exist."""
    reasons: dict[str, list[str]] = {}
    lines: dict[str, int] = {}
    unknown: dict[str, None] = {}
    for node in graph.nodes.values():
        field = "scope" if node.type == "norm" else "paths"
        if node.type in ("spec", "norm"):
            reasons[node.id] = [f"via {field}: {glob}" for glob in node.globs if matches(glob, path)]
    for annotation in find_annotations(path, text):
        if annotation.id not in graph.nodes:
            unknown[annotation.id] = None
            continue
        kind = "" if annotation.tag == graph.nodes[annotation.id].type else f" (@{annotation.tag})"
        reasons.setdefault(annotation.id, []).append(f"via annotation at line {annotation.line}{kind}")
        lines.setdefault(annotation.id, annotation.line)
    found = [
        Governor(graph.nodes[id_], tuple(dict.fromkeys(said)), lines.get(id_, 0))
        for id_, said in reasons.items()
        if said
    ]
    found.sort(key=lambda one: (one.node.is_retired, _ORDER.index(one.node.type), one.node.id))
    return tuple(found), tuple(unknown)

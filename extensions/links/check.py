"""`check`: whether what the linked artifacts say about each other and about the code is so.

Rules are functions from what is stored to findings; how severe a finding is, `.contextia/config.yaml` says.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping

from ctxrank.extensions.links.annotations import sync_annotations
from ctxrank.extensions.links.config import SEVERITIES, LinkedConfig, load_linked_config
from ctxrank.extensions.links.globs import GlobTable, covered, matches, overlap
from ctxrank.extensions.links.graph import Graph, Node, load_graph
from ctxrank.extensions.links.store import tree_id
from ctxrank.extensions.links.sync import sync_tree
from ctxrank.extensions.links.tree import ArtifactTree
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.store import Store

MAX_IDENTITY_TOKENS = 800


class LinkFinding(NamedTuple):
    """One thing that is not as it should be, with the file and line where it can be put right."""

    severity: str
    rule: str
    path: str
    line: int
    message: str


def _found(path: str, rule: str, message: str, line: int = 1) -> LinkFinding:
    return LinkFinding("error", rule, path, line, message)


class CheckReport(NamedTuple):
    """All findings, the most severe first, and how many artifacts of each type were looked at."""

    findings: tuple[LinkFinding, ...]
    counts: dict[str, int]

    def count(self, severity: str) -> int:
        """How many findings have this severity."""
        return sum(finding.severity == severity for finding in self.findings)


class _World(NamedTuple):
    """What the rules look at; `paths` are the files of the tree that are not ignored, in order."""

    graph: Graph
    paths: tuple[str, ...]
    config: LinkedConfig

    def current(self, *types: str) -> Iterator[Node]:
        """The artifacts of some types that are not retired, in the order of their ids."""
        nodes = sorted(self.graph.nodes.items())
        return (node for _, node in nodes if node.type in types and not node.is_retired)


def check_tree(store: Store, tree: ArtifactTree, mode: RedactionMode = RedactionMode.PATTERN_ONLY) -> CheckReport:
    """Bring a tree and its annotations in step with the disk and check both. Raises UsageError for its config."""
    config = load_linked_config(tree)
    sync_tree(store, tree, mode)
    paths, _ = sync_annotations(store, tree, config.starts)
    world = _World(load_graph(store.primary, tree), tuple(sorted(paths)), config)
    found = (*_artifacts(store, tree, world), *_code_paths(world), *_annotations(world), *_missing_links(world))
    rated = (finding._replace(severity=config.severities.get(finding.rule, "error")) for finding in found)
    kept = sorted(
        (finding for finding in rated if finding.severity != "off"),
        key=lambda one: (SEVERITIES.index(one.severity), one.path, one.line, one.rule, one.message),
    )
    return CheckReport(tuple(kept), dict(Counter(node.type for node in world.graph.nodes.values())))


def _artifacts(store: Store, tree: ArtifactTree, world: _World) -> Iterator[LinkFinding]:
    """What each file has wrong by itself, and with the ids that it and others name."""
    query = """
        SELECT id, path, name, type, title, status, superseded_by, links, globs, problems, tokens
          FROM linked_artifacts JOIN linked_texts ON linked_id = id
         WHERE tree_id = ? AND type <> '' ORDER BY path
    """
    nodes = world.graph.nodes
    named = {annotation.id for annotation in world.graph.annotations}
    for *columns, problems, counts in store.primary.execute(query, (tree_id(store.primary, tree),)):
        node, tokens = Node(*columns), int(counts.split()[2])
        named |= {link.id for link in node.links}
        yield from (_found(node.path, rule, message, line) for rule, line, message in json.loads(problems))
        first = nodes.get(node.id)
        if first is not None and first.path != node.path:
            yield _found(node.path, "duplicate-id", f"{node.id} is also the id of {first.path}, which counts")
        yield from _references(nodes, node)
        if node.type == "identity" and tokens > MAX_IDENTITY_TOKENS:
            message = f"the identity, part of every context, has about {tokens} tokens: {MAX_IDENTITY_TOKENS} do"
            yield _found(node.path, "oversized-identity", message)
    for spec in world.current("spec"):
        if spec.id not in named:
            message = f"no artifact links to {spec.id}, and no code is annotated with it"
            yield _found(spec.path, "orphan-spec", message)


def _references(nodes: Mapping[str, Node], node: Node) -> Iterator[LinkFinding]:
    """Links to what is not there, and to what is retired."""
    name = node.id or node.path
    for link in node.links:
        target = nodes.get(link.id)
        if target is None:
            yield _found(node.path, "broken-ref", f"{name} links to {link.id}, which does not exist", link.line)
        elif target.is_retired and not node.is_retired and target.superseded_by != node.id:
            instead = f"; {target.superseded_by} replaces it" if target.superseded_by else ""
            message = f"{name} links to {link.id}, which is {target.status}{instead}"
            yield _found(node.path, "link-to-deprecated", message, link.line)
    if node.superseded_by and node.superseded_by not in nodes:
        yield _found(node.path, "broken-ref", f"{name} is superseded by {node.superseded_by}, which does not exist")


def _code_paths(world: _World) -> Iterator[LinkFinding]:
    """Patterns that match nothing, and norms without a scope."""
    for node in world.current("spec", "norm"):
        if node.type == "norm" and not node.globs:
            yield _found(node.path, "empty-scope", f"{node.id} has no scope, so it governs no code by itself")
        for glob in node.globs:
            if not any(covered(glob, world.paths)):
                yield _found(node.path, "broken-path", f"'{glob}' of {node.id} matches no file")


def _annotations(world: _World) -> Iterator[LinkFinding]:
    """A file that names what is not there, or a spec which does not list it; a spec whose files never name it."""
    answered: set[str] = set()
    for one in world.graph.annotations:
        named = world.graph.nodes.get(one.id)
        if named is None:
            message = f"@{one.tag} {one.id} names nothing that exists"
            yield _found(one.path, "broken-ref", message, one.line)
        elif one.tag == "spec" and any(matches(glob, one.path) for glob in named.globs):
            answered.add(one.id)
        elif one.tag == "spec":
            message = f"@spec {one.id} is here, but {one.id} does not list this path"
            yield _found(one.path, "one-way-annotation", message, one.line)
    if not world.config.is_bidirectional and all(one.tag != "spec" for one in world.graph.annotations):
        return  # this project does not annotate
    for node in world.current("spec"):
        has_code = any(path for glob in node.globs for path in covered(glob, world.paths))
        if has_code and node.id not in answered:
            message = f"{node.id} lists code, and no file of it says @spec {node.id}"
            yield _found(node.path, "one-way-annotation", message)


def _missing_links(world: _World) -> Iterator[LinkFinding]:
    """A norm that governs a spec's code, and is not linked from it."""
    scopes = [(scope, norm.id) for norm in world.current("norm") for scope in norm.globs]
    table = GlobTable(scope for scope, _ in scopes)
    for spec in world.current("spec"):
        said = {link.id for link in spec.links}
        for path in spec.globs:
            for scope, norm in (scopes[place] for place in table.near(path)):
                if norm not in said and overlap(scope, path):
                    said.add(norm)
                    message = f"the scope '{scope}' of {norm} covers '{path}', and {spec.id} does not link to it"
                    yield _found(spec.path, "missing-link", message)

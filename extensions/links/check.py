"""`check`: whether what the linked artifacts say about each other and about the code is so.

Each rule is a function from what is stored to findings; how severe a finding is, `.contextia/config.yaml` says.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping

from ctxrank.extensions.links.annotations import sync_annotations
from ctxrank.extensions.links.config import LinkedConfig, load_linked_config
from ctxrank.extensions.links.graph import Graph, Node, load_graph
from ctxrank.extensions.links.store import Annotation, tree_id
from ctxrank.extensions.links.sync import sync_tree
from ctxrank.extensions.links.tree import ArtifactTree
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.frontmatter import Problem
from ctxrank.indexer.text.globs import GlobTable, covered, matches

MAX_IDENTITY_TOKENS = 800


class LinkFinding(NamedTuple):
    """One thing that is not as it should be, with the file and line where it can be put right."""

    severity: str
    rule: str
    path: str
    line: int
    message: str


def _found(path: str, rule: str, message: str, line: int = 1) -> tuple[str, Problem]:
    return path, Problem(rule, line, message)


class CheckReport(NamedTuple):
    """All findings, the most severe first, and how many artifacts of each type were looked at."""

    findings: tuple[LinkFinding, ...]
    counts: dict[str, int]

    def count(self, severity: str) -> int:
        """How many findings have this severity."""
        return sum(finding.severity == severity for finding in self.findings)


class _StoredArtifact(NamedTuple):
    """A row with what only `check` asks for."""

    node: Node
    problems: tuple[Problem, ...]
    tokens: int


class _World(NamedTuple):
    """What the rules look at; `paths` are the files of the tree that are not ignored, in order."""

    rows: tuple[_StoredArtifact, ...]
    graph: Graph
    paths: tuple[str, ...]
    config: LinkedConfig

    def of_type(self, *types: str) -> Iterator[Node]:
        """The artifacts of some types, in the order of their ids."""
        return (node for _, node in sorted(self.graph.nodes.items()) if node.type in types)


def check_tree(store: Store, tree: ArtifactTree, mode: RedactionMode = RedactionMode.PATTERN_ONLY) -> CheckReport:
    """Bring a tree and its annotations in step with the disk and check both. Raises UsageError for its config."""
    config = load_linked_config(tree)
    sync_tree(store, tree, mode)
    scan = sync_annotations(store, tree, config.starts)
    world = _World(_rows(store, tree), load_graph(store.primary, tree), tuple(sorted(scan.paths)), config)
    found = [
        LinkFinding(config.severities.get(problem.rule, "error"), problem.rule, path, problem.line, problem.message)
        for path, problem in _all(world)
    ]
    order = {severity: place for place, severity in enumerate(("error", "warning", "info"))}
    kept = sorted(
        (finding for finding in found if finding.severity in order),
        key=lambda finding: (order[finding.severity], finding.path, finding.line, finding.rule, finding.message),
    )
    return CheckReport(tuple(kept), dict(Counter(node.type for node in world.graph.nodes.values())))


def _rows(store: Store, tree: ArtifactTree) -> tuple[_StoredArtifact, ...]:
    query = """
        SELECT id, path, name, type, title, status, superseded_by, links, globs, problems, tokens
          FROM linked_artifacts JOIN linked_texts ON linked_id = id
         WHERE tree_id = ? AND type <> '' ORDER BY path
    """
    return tuple(
        _StoredArtifact(Node(*row[:9]), tuple(Problem(*item) for item in json.loads(row[9])), int(row[10].split()[2]))
        for row in store.primary.execute(query, (tree_id(store.primary, tree),))
    )


def _all(world: _World) -> Iterator[tuple[str, Problem]]:
    for row in world.rows:
        yield from ((row.node.path, problem) for problem in row.problems)
    yield from _duplicate_ids(world)
    yield from _references(world)
    yield from _annotated_ids(world)
    yield from _code_paths(world)
    yield from _orphan_specs(world)
    yield from _identity(world)
    yield from _one_way_annotations(world)
    yield from _missing_links(world)


def _duplicate_ids(world: _World) -> Iterator[tuple[str, Problem]]:
    for row in world.rows:
        first = world.graph.nodes.get(row.node.id)
        if first is not None and first.path != row.node.path:
            yield _found(row.node.path, "duplicate-id", f"{row.node.id} is also the id of {first.path}, which counts")


def _references(world: _World) -> Iterator[tuple[str, Problem]]:
    """Links to what is not there, and to what is retired."""
    for row in world.rows:
        name = row.node.id or row.node.path
        for link in row.node.links:
            target = world.graph.nodes.get(link.id)
            if target is None:
                message = f"{name} links to {link.id}, which does not exist"
                yield _found(row.node.path, "broken-ref", message, link.line)
            elif target.is_retired and not row.node.is_retired and target.superseded_by != row.node.id:
                instead = f"; {target.superseded_by} replaces it" if target.superseded_by else ""
                message = f"{name} links to {link.id}, which is {target.status}{instead}"
                yield _found(row.node.path, "link-to-deprecated", message, link.line)
        successor = row.node.superseded_by
        if successor and successor not in world.graph.nodes:
            message = f"{name} is superseded by {successor}, which does not exist"
            yield _found(row.node.path, "broken-ref", message)


def _annotated_ids(world: _World) -> Iterator[tuple[str, Problem]]:
    for annotation in world.graph.annotations:
        if annotation.id not in world.graph.nodes:
            message = f"@{annotation.tag} {annotation.id} names nothing that exists"
            yield _found(annotation.path, "broken-ref", message, annotation.line)


def _code_paths(world: _World) -> Iterator[tuple[str, Problem]]:
    """Patterns that match nothing, and norms without a scope."""
    for node in world.of_type("spec", "norm"):
        if node.is_retired:
            continue
        if node.type == "norm" and not node.globs:
            yield _found(node.path, "empty-scope", f"{node.id} has no scope, so it governs no code by itself")
        for glob in node.globs:
            if not any(covered(glob, world.paths)):
                yield _found(node.path, "broken-path", f"'{glob}' of {node.id} matches no file")


def _orphan_specs(world: _World) -> Iterator[tuple[str, Problem]]:
    named = {link.id for row in world.rows for link in row.node.links}
    named |= {annotation.id for annotation in world.graph.annotations}
    for node in world.of_type("spec"):
        if node.id not in named and not node.is_retired:
            message = f"no artifact links to {node.id}, and no code is annotated with it"
            yield _found(node.path, "orphan-spec", message)


def _identity(world: _World) -> Iterator[tuple[str, Problem]]:
    for row in world.rows:
        if row.node.type == "identity" and row.tokens > MAX_IDENTITY_TOKENS:
            message = f"the identity, part of every context, has about {row.tokens} tokens: {MAX_IDENTITY_TOKENS} do"
            yield _found(row.node.path, "oversized-identity", message)


def _one_way_annotations(world: _World) -> Iterator[tuple[str, Problem]]:
    """A file that names a spec which does not list it; a spec whose files never name it, though others do so."""
    by_spec: dict[str, list[Annotation]] = {}
    for annotation in world.graph.annotations:
        if annotation.tag == "spec":
            by_spec.setdefault(annotation.id, []).append(annotation)
    for id_, annotations in by_spec.items():
        spec = world.graph.nodes.get(id_)
        if spec is None:
            continue
        for annotation in annotations:
            if not any(matches(glob, annotation.path) for glob in spec.globs):
                message = f"@spec {id_} is here, but {id_} does not list this path"
                yield _found(annotation.path, "one-way-annotation", message, annotation.line)
    if not by_spec and not world.config.is_bidirectional:
        return  # this project does not annotate
    for node in world.of_type("spec"):
        is_named = any(matches(glob, one.path) for one in by_spec.get(node.id, ()) for glob in node.globs)
        has_code = any(path for glob in node.globs for path in covered(glob, world.paths))
        if has_code and not is_named and not node.is_retired:
            message = f"{node.id} lists code, and no file of it says @spec {node.id}"
            yield _found(node.path, "one-way-annotation", message)


def _missing_links(world: _World) -> Iterator[tuple[str, Problem]]:
    """A norm that governs a spec's code, and is not linked from it."""
    norms = (node for node in world.of_type("norm") if not node.is_retired)
    scopes = [(scope, norm.id) for norm in norms for scope in norm.globs]
    table = GlobTable(scope for scope, _ in scopes)
    for spec in world.of_type("spec"):
        said = {link.id for link in spec.links}
        for path in spec.globs if not spec.is_retired else ():
            for scope, norm in (scopes[place] for place in table.overlapping(path)):
                if norm not in said:
                    said.add(norm)
                    message = f"the scope '{scope}' of {norm} covers '{path}', and {spec.id} does not link to it"
                    yield _found(spec.path, "missing-link", message)


def counted(counts: Mapping[str, int]) -> str:
    """`14 specs, 8 decisions, 5 norms`."""
    parts = [f"{counts[type_]} {type_}{'s' if counts[type_] != 1 else ''}" for type_ in counts if type_ != "identity"]
    return ", ".join(sorted(parts, key=lambda part: part.split()[1])) or "no artifacts"

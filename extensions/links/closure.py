"""Closure: every artifact that a task reaches, each once, with the tier and the way it was reached.

    T0    the identity and the task
    T1    what the links reach, breadth first in the order of the lists:
              task ──► specs, decisions, norms    spec ──► specs, decisions, norms    decision ──► decisions
    T2    what else governs the same code: specs and norms whose patterns overlap those of a spec in T1, and
          artifacts that are annotated in a file that such a spec covers, or that is annotated with it
    T3    what search finds: links/search.py

Links are followed from T0 and T1 only. A cycle ends where it comes back to an id that was reached. Deprecated and
superseded artifacts stay where a link leads to them, with a warning; by T2 they never enter.

The result is in the order in which a budget is spent: identity, task, direct specs, transitive specs, norms, direct
decisions, transitive decisions; T2 after T1, in the same order of types.
"""

from collections.abc import Iterable, Iterator

from ctxrank.extensions.links.globs import GlobTable, matches, overlap
from ctxrank.extensions.links.graph import Graph, Node
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.light_typing import NamedTuple

_FOLLOWED = {
    "task": ("spec", "decision", "norm"),
    "spec": ("spec", "decision", "norm"),
    "decision": ("decision",),
}
_BUDGET_ORDER = ("spec", "norm", "decision")
_DIRECT = 2  # a chain of the task and the artifact itself
# Decisions may follow each other by the thousand; a longer chain keeps its beginning and its end.
MAX_CHAIN = 16
GAP = "…"
_SHOWN_WAY = 4


class ReachedArtifact(NamedTuple):
    """One artifact of a closure. `chain` are ids from the task to the artifact; `reason` says the last step."""

    node: Node
    tier: int
    chain: tuple[str, ...]
    reason: str

    @property
    def via(self) -> str:
        """The way as a header shows it: `TASK-1 > SPEC-A-1`, a long one without its middle."""
        way = self.chain[:-1]
        return " > ".join(way if len(way) <= _SHOWN_WAY else (way[0], GAP, *way[-2:]))


class Missing(NamedTuple):
    """An id that a link names and no artifact has."""

    id: str
    source: str

    @property
    def sentence(self) -> str:
        """The same for a person."""
        return f"{self.source} links to {self.id}, which does not exist."


class Closure(NamedTuple):
    """What a task reaches, in the order in which a budget is spent."""

    task: str
    reached: tuple[ReachedArtifact, ...]
    missing: tuple[Missing, ...]
    warnings: tuple[str, ...]


def find_task(graph: Graph, wanted: str) -> Node:
    """The task of an id, case forgiven. Raises NotFoundError with near ids, UsageError for another artifact."""
    by_fold = {id_.lower(): found for id_, found in graph.nodes.items()}
    node = graph.nodes.get(wanted) or by_fold.get(wanted.lower())
    tasks = sorted(id_ for id_, found in graph.nodes.items() if found.type == "task")
    known = f"Tasks: {', '.join(tasks[:8]) or 'none yet'}."
    if node is None:
        raise NotFoundError(f"There is no task {wanted!a}.", near_ids(wanted, tasks) or known)
    if node.type != "task":
        hint = f"'ctxrank check --trace PATH' says what governs it. {known}"
        raise UsageError(f"{node.id} is a {node.type}; context starts from a task.", hint)
    return node


def near_ids(wanted: str, known: Iterable[str]) -> str:
    """Which of these ids could have been meant; '' for none."""
    from difflib import get_close_matches  # noqa: PLC0415  only for a typing error

    near = get_close_matches(wanted.upper(), sorted(known), n=3)
    return f"Did you mean {' or '.join(near)}?" if near else ""


def reach(graph: Graph, task: Node, *, hops: int | None = None, with_identity: bool = True) -> Closure:
    """The closure of a task; `hops` bounds how many links are followed one after the other (None: all)."""
    found: dict[str, ReachedArtifact] = {task.id: ReachedArtifact(task, 0, (task.id,), "the task")}
    missing = _follow(graph, found, hops)
    linked = [one for one in found.values() if one.tier == 1]
    governing = list(_governing(graph, found, [one for one in linked if one.node.type == "spec"]))
    identity = graph.identity if with_identity else None
    first = [ReachedArtifact(identity, 0, (identity.id,), "the identity")] if identity is not None else []
    warnings: list[str] = []
    for node, _, chain, _ in linked:
        if node.is_retired:
            instead = f" by {node.superseded_by}" if node.superseded_by else ""
            warnings.append(f"{node.id} is {node.status}{instead}, and is linked from {chain[-2]}.")
    reached = (*first, found[task.id], *_in_budget_order(linked), *_in_budget_order(governing))
    return Closure(task.id, reached, tuple(missing), tuple(warnings))


def _follow(graph: Graph, found: dict[str, ReachedArtifact], hops: int | None) -> list[Missing]:
    """Add what links reach to `found`; returns the ids that lead nowhere."""
    missing: dict[str, Missing] = {}
    layer = list(found.values())
    depth = 0
    while layer and (hops is None or depth < hops):
        following: list[ReachedArtifact] = []
        for source in layer:
            for link in source.node.links:
                target = graph.nodes.get(link.id)
                if target is None:
                    followed = _FOLLOWED.get(source.node.type, ())
                    if any(link.kind in ("", f"{type_}s") for type_ in followed):
                        missing.setdefault(link.id, Missing(link.id, source.node.id))
                elif target.id not in found and is_followed(source.node, target):
                    chain = (*source.chain, target.id)
                    if len(chain) > MAX_CHAIN:
                        chain = (*chain[: MAX_CHAIN // 2], GAP, *chain[MAX_CHAIN // 2 + 2 :])
                    found[target.id] = ReachedArtifact(target, 1, chain, f"linked from {source.node.id}")
                    following.append(found[target.id])
        layer = following
        depth += 1
    return list(missing.values())


def is_followed(source: Node, target: Node) -> bool:
    """Whether a link from one artifact to another is followed, where the first is reached by links."""
    return target.type in _FOLLOWED.get(source.type, ())


def _governing(
    graph: Graph, found: dict[str, ReachedArtifact], specs: list[ReachedArtifact]
) -> Iterator[ReachedArtifact]:
    """T2: who else governs the code of these specs; first by patterns, then by annotations."""
    globs: dict[str, ReachedArtifact] = {}
    for spec in specs:
        for glob in spec.node.globs:
            globs.setdefault(glob, spec)
    by_id = {spec.node.id: spec for spec in specs}
    files: dict[str, ReachedArtifact] = {}
    for annotation in graph.annotations:
        owner = by_id.get(annotation.id) or next(
            (spec for glob, spec in globs.items() if matches(glob, annotation.path)), None
        )
        if owner is not None:
            files.setdefault(annotation.path, owner)
    taken = set(found)
    table = GlobTable(globs)
    owners = list(globs.items())
    by_pattern: list[ReachedArtifact] = []
    for node in graph.nodes.values():
        if node.globs_json == "[]" or node.id in taken or node.is_retired or node.type not in ("spec", "norm"):
            continue
        governed = _overlapping(node, table, owners, files)
        if governed is not None:
            glob, owner = governed
            field = "scope" if node.type == "norm" else "paths"
            by_pattern.append(ReachedArtifact(node, 2, (*owner.chain, node.id), f"via {field}: {glob}"))
    by_pattern.sort(key=lambda one: one.node.id)
    yield from by_pattern
    taken.update(one.node.id for one in by_pattern)
    for annotation in graph.annotations:
        named = graph.nodes.get(annotation.id)
        owner = files.get(annotation.path)
        if named is None or owner is None or named.id in taken or named.is_retired or named.type not in _BUDGET_ORDER:
            continue
        taken.add(named.id)
        reason = f"via annotation at {annotation.path}:{annotation.line}"
        yield ReachedArtifact(named, 2, (*owner.chain, named.id), reason)


def _overlapping(
    node: Node, table: GlobTable, owners: list[tuple[str, ReachedArtifact]], files: dict[str, ReachedArtifact]
) -> tuple[str, ReachedArtifact] | None:
    """The node's first pattern that governs the specs' code, and the first spec whose code it is."""
    for glob in node.globs:
        near = (owners[place] for place in sorted(table.near(glob)))
        owner = next((spec for other, spec in near if overlap(glob, other)), None) or next(
            (spec for path, spec in files.items() if matches(glob, path)), None
        )
        if owner is not None:
            return glob, owner
    return None


def _in_budget_order(reached: list[ReachedArtifact]) -> list[ReachedArtifact]:
    """Direct specs, transitive specs, norms, direct decisions, transitive decisions; each as it was reached."""
    return sorted(  # sorting is stable
        reached,
        key=lambda one: (_BUDGET_ORDER.index(one.node.type), one.node.type != "norm" and len(one.chain) != _DIRECT),
    )

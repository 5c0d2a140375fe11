"""`ctxrank check`: whether the links of `.contextia/` hold, what governs a file, and which links are missing."""

import os
from collections.abc import Iterable, Iterator

from ctxrank.cli.call import Call, Reply, list_reply
from ctxrank.cli.declare import Extended
from ctxrank.extensions.links.annotations import Governor, trace_path
from ctxrank.extensions.links.check import CheckReport, check_tree
from ctxrank.extensions.links.closure import reach
from ctxrank.extensions.links.graph import Graph, Node, load_graph
from ctxrank.extensions.links.sync import sync_tree
from ctxrank.extensions.links.tree import ArtifactTree, require_tree
from ctxrank.indexer.beneath import is_inside
from ctxrank.indexer.files.paths import contained_path
from ctxrank.indexer.files.read import FileText, read_text_file
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.receipts import Receipt, list_receipts
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line

_NAMED_RECEIPTS = 8
# Search fills whatever budget is left; only the head of what it found says something about the task.
COUNTED_RANK = 3


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


def check(call: Call, store: Store, strict: bool, path: str | None, is_suggesting: bool, least: int) -> Reply:
    """Check the artifacts and the annotations; 1 where a finding fails. Or answer one question about the links."""
    if path is not None:
        return _trace(call, store, path)
    if is_suggesting:
        return _suggest(call, store, least)
    report = check_tree(store, require_tree(store.location), load_config(store).redaction_mode)
    errors, warnings = report.count("error"), report.count("warning")
    is_ok = not (errors or (strict and warnings))
    return Reply(
        lambda: {
            "ok": is_ok,
            "counts": report.counts,
            "errors": errors,
            "warnings": warnings,
            "total": len(report.findings),
            "has_more": False,
            "findings": report.findings,
        },
        _check_lines(report, is_ok=is_ok),
        exit_code=0 if is_ok else 1,
    )


def _check_lines(report: CheckReport, *, is_ok: bool) -> Iterator[str]:
    for finding in report.findings:
        place = one_line(f"{finding.path}:{finding.line}")
        yield f"{finding.severity:<7} {place}  {one_line(f'{finding.rule}: {finding.message}')}"
    of_types = [_number(count, type_) for type_, count in report.counts.items() if type_ != "identity"]
    artifacts = ", ".join(sorted(of_types, key=lambda part: part.split()[1])) or "no artifacts"
    numbers = ", ".join(_number(report.count(severity), severity) for severity in ("error", "warning", "info"))
    yield f"{'OK' if is_ok else 'FAILED'} {artifacts}: {numbers}"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _trace(call: Call, store: Store, path: str) -> Reply:
    """Find the artifacts that govern a file; 1 where none does."""
    folder, name = os.path.split(os.path.abspath(path))
    folder = os.path.realpath(folder)
    # The nearest tree above the file, which may be a part of a monorepo; out of the project nothing is looked at.
    tree = require_tree(store.location, folder if is_inside(os.path.realpath(store.location.root), folder) else None)
    wanted = contained_path(tree.folder, os.path.relpath(os.path.join(folder, name), tree.folder))
    sync_tree(store, tree, load_config(store).redaction_mode)
    graph = load_graph(store.primary, tree)
    text = read_text_file(tree.folder, wanted)
    governors, unknown = trace_path(graph, wanted, text.text if isinstance(text, FileText) else "")
    for id_ in unknown:
        call.note(f"{wanted} names {id_}, which does not exist.")
    nothing = f"nothing governs {wanted}."
    return list_reply(call, governors, "artifacts", _governor_line, nothing, record=_governor_json, path=wanted)


def _governor_json(one: Governor) -> Extended:
    return Extended(one.node, {"reasons": one.reasons, "line": one.line or None})


def _governor_line(_: Call, one: Governor) -> str:
    state = f" ({one.node.status})" if one.node.is_retired else ""
    return f"{one.node.id}{state}  {one_line(one.node.title)}  {one_line('; '.join(one.reasons))}"


def _suggest(call: Call, store: Store, least: int) -> Reply:
    """What search found again and again, and which list it belongs into; 1 where there is nothing."""
    tree = require_tree(store.location)
    found = suggest(store, tree, load_config(store).redaction_mode, least)
    nothing = f"nothing was found {least} times by search and is not linked."
    return list_reply(call, found, "suggestions", _suggestion_line, nothing, folder=tree.folder)


def _suggestion_line(_: Call, one: LinkSuggestion) -> str:
    tasks = ", ".join(dict.fromkeys(seen.task for seen in one.sightings))
    where = ", ".join(f"{seen.receipt} (rank {seen.rank})" for seen in one.sightings[:_NAMED_RECEIPTS])
    times = f"found {len(one.sightings)} times for {tasks}"
    return one_line(f"{one.id} into {one.list} of {one.into} ({one.path}): {times}; receipts {where}")


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
    tasks = [
        task
        for task in tasks
        if task.type == "task"
        and not any(one.node.id == node.id and one.tier < 2 for one in reach(graph, task).reached)
    ]
    places = tasks
    if len(tasks) > 1:
        listed = [[link.id for link in task.links] for task in tasks]
        shared = [id_ for id_ in listed[0] if all(id_ in others for others in listed[1:])]
        specs = [graph.nodes[id_] for id_ in shared if id_ in graph.nodes and graph.nodes[id_].type == "spec"]
        places = [spec for spec in specs if not spec.is_retired and spec.id != node.id][:1] or tasks
    for place in places:
        yield LinkSuggestion(node.id, f"{node.type}s", place.id, place.path, tuple(times))

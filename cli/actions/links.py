"""`ctxrank check`, `trace` and `suggest-links`: whether the links of `.contextia/` hold, and which are missing."""

import gc
import os
from collections.abc import Iterator

from ctxrank.cli.call import Call, Reply, list_reply, shown
from ctxrank.indexer.files.paths import contained_path
from ctxrank.indexer.files.read import FileText, read_text_file
from ctxrank.indexer.links.annotations import Governor, trace_path
from ctxrank.indexer.links.check import CheckReport, check_tree, counted
from ctxrank.indexer.links.graph import load_graph
from ctxrank.indexer.links.sync import sync_tree
from ctxrank.indexer.links.tree import require_tree
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import Page
from ctxrank.ranking.context.links.closure import find_task
from ctxrank.ranking.context.links.suggestions import Patch, Suggestion, make_patch
from ctxrank.ranking.context.links.suggestions import suggest as find_suggestions

_NAMED_RECEIPTS = 8


def check(call: Call, strict: bool) -> Reply:
    """Check the artifacts and the annotations; 1 where a finding fails."""
    gc.enable()  # this may take a while: see cli/entry.py
    with call.open_for_links() as store:
        report = check_tree(store, require_tree(store.location), load_config(store).redaction_mode)
    failed = report.count("error") + (report.count("warning") if strict else 0)
    return Reply(
        lambda: {
            "ok": not failed,
            "counts": report.counts,
            "errors": report.count("error"),
            "warnings": report.count("warning"),
            "total": len(report.findings),
            "has_more": False,
            "findings": [finding._asdict() for finding in report.findings],
        },
        _check_lines(report, is_ok=not failed),
        exit_code=1 if failed else 0,
    )


def _check_lines(report: CheckReport, *, is_ok: bool) -> Iterator[str]:
    for finding in report.findings:
        place = shown(f"{finding.path}:{finding.line}")
        yield f"{finding.severity:<7} {place}  {shown(f'{finding.rule}: {finding.message}')}"
    numbers = ", ".join(_number(report.count(severity), severity) for severity in ("error", "warning", "info"))
    yield f"{'OK' if is_ok else 'FAILED'} {counted(report.counts)}: {numbers}"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def trace(call: Call, path: str) -> Reply:
    """Find the artifacts that govern a file; 1 where none does."""
    with call.open_for_links() as store:
        tree = require_tree(store.location)
        wanted = os.path.relpath(os.path.join(os.path.realpath(os.getcwd()), path), tree.folder)
        wanted = contained_path(tree.folder, wanted)
        sync_tree(store, tree, load_config(store).redaction_mode)
        graph = load_graph(store.primary, tree)
    text = read_text_file(tree.folder, wanted)
    governors, unknown = trace_path(graph, wanted, text.text if isinstance(text, FileText) else "")
    for id_ in unknown:
        call.note(f"{wanted} names {id_}, which does not exist.")
    return list_reply(
        Page(governors, len(governors)),
        lambda: {"path": wanted, "artifacts": [_governor_json(one) for one in governors]},
        map(_governor_line, governors),
        f"nothing governs {wanted}.",
    )


def _governor_json(one: Governor) -> dict[str, object]:
    return {
        "id": one.node.id, "type": one.node.type, "title": one.node.title, "status": one.node.status or None,
        "path": one.node.path, "reasons": list(one.reasons), "line": one.line or None,
    }  # fmt: skip


def _governor_line(one: Governor) -> str:
    state = f" ({one.node.status})" if one.node.is_retired else ""
    return f"{one.node.id}{state}  {shown(one.node.title)}  {shown('; '.join(one.reasons))}"


def suggest_links(call: Call, task: str | None, least: int) -> Reply:
    """Make a patch of what search found again and again; 1 where there is nothing."""
    with call.open_for_links() as store:
        tree = require_tree(store.location)
        mode = load_config(store).redaction_mode
        found = find_suggestions(store, tree, mode, task=task, least=least)
        if task is not None:
            find_task(load_graph(store.primary, tree), task)  # says what is near a typing error
        patch = make_patch(tree, found, mode)
    for one in found:
        call.note(_suggestion_note(one, patch))
    if not found:
        call.note(f"nothing was found {least} times by search and is not linked.")
    reply = list_reply(
        Page(found, len(found)),
        lambda: {
            "folder": tree.folder,
            "suggestions": [_suggestion_json(one, patch) for one in found],
            "patch": patch.text,
        },
        (),
    )
    return reply._replace(text=patch.text)


def _suggestion_note(one: Suggestion, patch: Patch) -> str:
    tasks = ", ".join(dict.fromkeys(seen.task for seen in one.sightings))
    where = ", ".join(f"{seen.receipt} (rank {seen.rank})" for seen in one.sightings[:_NAMED_RECEIPTS])
    verb = "add it by hand to" if one in patch.by_hand else "into"
    why = f" ({patch.by_hand[one]})" if one in patch.by_hand else ""
    times = f"found {len(one.sightings)} times for {tasks}"
    return f"{one.id} {verb} {one.list} of {one.into}{why}: {times}; receipts {where}"


def _suggestion_json(one: Suggestion, patch: Patch) -> dict[str, object]:
    return {
        "id": one.id, "list": one.list, "into": one.into, "path": one.path,
        "in_patch": one in patch.held, "sightings": [seen._asdict() for seen in one.sightings],
    }  # fmt: skip

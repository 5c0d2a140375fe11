"""`ctxrank check`: whether the links of `.contextia/` hold, what governs a file, and which links are missing."""

import gc
import os
from collections.abc import Iterator

from ctxrank.cli.call import Call, Extended, Reply, list_reply, shown
from ctxrank.extensions.links.annotations import Governor, trace_path
from ctxrank.extensions.links.check import CheckReport, check_tree, counted
from ctxrank.extensions.links.graph import load_graph
from ctxrank.extensions.links.suggestions import LinkSuggestion
from ctxrank.extensions.links.suggestions import suggest as find_suggestions
from ctxrank.extensions.links.sync import sync_tree
from ctxrank.extensions.links.tree import open_store, require_tree
from ctxrank.indexer.files.paths import contained_path
from ctxrank.indexer.files.read import FileText, read_text_file
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import Page

_NAMED_RECEIPTS = 8


def check(call: Call, strict: bool, path: str | None, is_suggesting: bool, least: int) -> Reply:
    """Check the artifacts and the annotations; 1 where a finding fails. Or answer one question about the links."""
    if path is not None:
        return _trace(call, path)
    if is_suggesting:
        return _suggest(call, least)
    gc.enable()  # this may take a while: see cli/entry.py
    with open_store(call) as store:
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
            "findings": report.findings,
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


def _trace(call: Call, path: str) -> Reply:
    """Find the artifacts that govern a file; 1 where none does."""
    with open_store(call) as store:
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
        "artifacts",
        map(_governor_line, governors),
        f"nothing governs {wanted}.",
        record=lambda one: Extended(one.node, {"reasons": one.reasons, "line": one.line or None}),
        path=wanted,
    )


def _governor_line(one: Governor) -> str:
    state = f" ({one.node.status})" if one.node.is_retired else ""
    return f"{one.node.id}{state}  {shown(one.node.title)}  {shown('; '.join(one.reasons))}"


def _suggest(call: Call, least: int) -> Reply:
    """What search found again and again, and which list it belongs into; 1 where there is nothing."""
    with open_store(call) as store:
        tree = require_tree(store.location)
        found = find_suggestions(store, tree, load_config(store).redaction_mode, least)
    return list_reply(
        Page(found, len(found)),
        "suggestions",
        map(_suggestion_line, found),
        f"nothing was found {least} times by search and is not linked.",
        folder=tree.folder,
    )


def _suggestion_line(one: LinkSuggestion) -> str:
    tasks = ", ".join(dict.fromkeys(seen.task for seen in one.sightings))
    where = ", ".join(f"{seen.receipt} (rank {seen.rank})" for seen in one.sightings[:_NAMED_RECEIPTS])
    times = f"found {len(one.sightings)} times for {tasks}"
    return shown(f"{one.id} into {one.list} of {one.into} ({one.path}): {times}; receipts {where}")

"""`ctxrank index`: artifacts in step with the disk."""

import gc
import os
import sys

from ctxrank.cli import declare
from ctxrank.cli.call import Call, shown
from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxrank.indexer.files.scan import IndexReport
    from ctxrank.indexer.links.sync import LinkedReport

_SHOWN_PATHS = 20


@declare.command()
@declare.argument("paths", nargs=-1, metavar="[PATH]...")
@declare.option("--dry-run", is_flag=True, help="Say what would happen; change nothing.")
def command(call: Call, paths: tuple[str, ...], dry_run: bool) -> int:
    """Bring artifacts in step with the disk: added, changed, moved, removed (default: the whole root).

    .gitignore and .ctxrankignore are honoured; links are never followed out of the root.

    Example: ctxrank index docs/
    """
    from ctxrank.cli.output.progress import progress_bar
    from ctxrank.indexer.files.scan import index_artifacts
    from ctxrank.indexer.links.sync import index_linked
    from ctxrank.indexer.store.config import load_config

    gc.enable()  # this may take a while: see cli/entry.py
    with call.open() as store, progress_bar("indexing", call) as advance:
        mode = load_config(store).redaction_mode
        report = index_artifacts(store, paths, mode=mode, is_dry_run=dry_run, progress=advance)
        linked = None if dry_run else index_linked(store, mode)
    if call.is_json:
        _print_json(report, linked, dry_run=dry_run)
    else:
        _print_text(call, report, dry_run=dry_run)
        if linked is not None:
            print(f"linked artifacts: {linked.written} written, {linked.removed} removed, {linked.files} in all")
    absent = [path for path in paths if not os.path.lexists(path)]
    if absent and not (report.removed or report.moved):
        call.note(f"there is no {', '.join(absent)}, and nothing was known of it.")
        return 2
    return 0


def _print_json(report: "IndexReport", linked: "LinkedReport | None", *, dry_run: bool) -> None:
    from ctxrank.cli.output.envelope import emit_json

    emit_json(
        {
            "dry_run": dry_run,
            "added": list(report.added),
            "changed": list(report.changed),
            "moved": [{"from": before, "to": after} for before, after in report.moved],
            "removed": list(report.removed),
            "unchanged": report.unchanged,
            "skipped": [{"path": path, "reason": reason} for path, reason in report.skipped],
            "stale_roots": list(report.stale_roots),
            "linked": None if linked is None else linked._asdict(),
        }
    )


def _print_text(call: Call, report: "IndexReport", *, dry_run: bool) -> None:
    for verb, paths in (("added", report.added), ("changed", report.changed), ("removed", report.removed)):
        _print_paths(call, verb, list(paths))
    _print_paths(call, "moved", [f"{before} -> {after}" for before, after in report.moved])
    for path, reason in report.skipped[:_SHOWN_PATHS]:
        print(f"skipped   {shown(path)} ({reason})", file=sys.stderr)
    for root in report.stale_roots:
        call.note(f"{root} is not there; its artifacts are kept and marked stale.")
    counts = (
        f"{len(report.added)} added, {len(report.changed)} changed, {len(report.moved)} moved, "
        f"{len(report.removed)} removed, {report.unchanged} unchanged, {len(report.skipped)} skipped"
    )
    print(f"{'Would be: ' if dry_run else ''}{counts}")


def _print_paths(call: Call, verb: str, paths: list[str]) -> None:
    first = paths if call.verbosity > 0 else paths[:_SHOWN_PATHS]
    for path in first:
        print(f"{verb:<9} {shown(path)}")
    if len(paths) > len(first):
        print(f"{verb:<9} … and {len(paths) - len(first)} more (-v lists them)")

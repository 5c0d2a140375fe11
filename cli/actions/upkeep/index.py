"""`ctxrank index`: artifacts in step with the disk."""

import os
import sys
from collections.abc import Iterator, Sequence

from ctxrank.cli.actions.upkeep.indexing import Indexed, answer_of, bring_up_to_date, text_notes
from ctxrank.cli.call import Call, Reply
from ctxrank.cli.output.progress import progress_bar
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.files.paths import without_secret
from ctxrank.indexer.store.allowed_roots import allow
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.text.lines import one_line

_SHOWN_PATHS = 20


def index(call: Call, paths: tuple[str, ...], dry_run: bool, watch: bool) -> Reply:
    """Take in what has changed on the disk; 2 for a path that is not there and was never known."""
    if watch:
        from ctxrank.cli.actions.upkeep.watch import follow  # noqa: PLC0415  start-up: most calls end

        if dry_run:
            raise UsageError("--watch and --dry-run exclude each other.", "Give one of them.")
        return follow(call, paths)
    with call.open() as store, progress_bar("indexing", call) as advance:
        if call.root is not None and not dry_run:
            allow(store.location, store.primary, call.root)
        mode = load_config(store).redaction_mode
        done = bring_up_to_date(store, paths, advance, is_dry_run=dry_run)
    report = done.report
    absent = [f"'{without_secret(path, mode)}'" for path in paths if not os.path.lexists(path)]
    is_wrong = bool(absent) and not (report.removed or report.moved)
    return Reply(
        lambda: answer_of(done, dry_run=dry_run),
        _lines(call, done, dry_run=dry_run),
        exit_code=2 if is_wrong else 0,
        notes=(f"there is no {', '.join(absent)}, and it was never indexed.",) if is_wrong else (),
        text_notes=text_notes(done),
    )


def _lines(call: Call, done: Indexed, *, dry_run: bool) -> Iterator[str]:
    report, linked, _ = done
    for verb, paths in (("added", report.added), ("changed", report.changed), ("removed", report.removed)):
        yield from _path_lines(call, verb, paths)
    yield from _path_lines(call, "moved", [f"{before} -> {after}" for before, after in report.moved])
    if call.verbosity >= 0:
        # Among the lines, so that a terminal shows them in their place.
        before = frozenset(report.skipped_before if call.verbosity == 0 else ())
        skipped = [f"{path} ({reason})" for path, reason in report.skipped if path not in before]
        for line in _path_lines(call, "skipped", skipped):
            print(line, file=sys.stderr)
    counts = (
        f"{len(report.added)} added, {len(report.changed)} changed, {len(report.moved)} moved, "
        f"{len(report.removed)} removed, {report.unchanged} unchanged, {len(report.skipped)} skipped"
    )
    yield f"{'Would be: ' if dry_run else ''}{counts}"
    if linked is not None:
        yield f"linked artifacts: {linked.written} written, {linked.removed} removed, {linked.files} in all"


def _path_lines(call: Call, verb: str, paths: Sequence[str]) -> Iterator[str]:
    first = paths if call.verbosity > 0 else paths[:_SHOWN_PATHS]
    for path in first:
        yield f"{verb:<9} {one_line(path)}"
    if len(paths) > len(first):
        yield f"{verb:<9} … and {len(paths) - len(first)} more (-v lists them)"

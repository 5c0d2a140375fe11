"""`ctxrank index` and `rebuild`: artifacts in step with the disk, and the index made again."""

import gc
import os
import sys
from collections.abc import Iterable, Iterator, Sequence

from ctxrank.cli.actions.upkeep.index_step import StepReport, run_step
from ctxrank.cli.call import Call, Extended, Reply, shown
from ctxrank.cli.output.progress import progress_bar
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.files.git_dates import DateReport, date_documents
from ctxrank.indexer.files.paths import without_secret
from ctxrank.indexer.files.scan import IndexReport, Progress, index_artifacts
from ctxrank.indexer.fulltext.catch_up import rebuild as rebuild_index
from ctxrank.indexer.fulltext.fts5_engine import fts5_of, index_of
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.allowed_roots import allow
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.store import Store

_SHOWN_PATHS = 20


class Indexed(NamedTuple):
    """What a run found and did; a dry run makes neither linked artifacts nor dates."""

    report: IndexReport
    linked: StepReport | None = None
    dates: DateReport | None = None


def index(call: Call, paths: tuple[str, ...], dry_run: bool, watch: bool) -> Reply:
    """Take in what has changed on the disk; 2 for a path that is not there and was never known."""
    if watch:
        from ctxrank.cli.actions.upkeep.watch import follow  # noqa: PLC0415  it calls this module

        if dry_run:
            raise UsageError("--watch and --dry-run exclude each other.", "Give one of them.")
        return follow(call, paths)
    gc.enable()  # this may take a while: see cli/entry.py
    with call.open() as store, progress_bar("indexing", call) as advance:
        if call.root is not None and not dry_run:
            allow(store.location, store.primary, call.root)
        mode = load_config(store).redaction_mode
        if dry_run:
            done = Indexed(index_artifacts(store, paths, mode=mode, is_dry_run=True, progress=advance))
        else:
            done = bring_up_to_date(store, mode, paths, advance)
    report = done.report
    absent = [without_secret(path, mode) for path in paths if not os.path.lexists(path)]
    is_wrong = bool(absent) and not (report.removed or report.moved)
    made_room = tuple(
        f"{path} is this machine's file now: the text that another store exported of that path is gone."
        for path in report.made_room
    )
    return Reply(
        lambda: answer_of(done, dry_run=dry_run),
        _lines(call, done, dry_run=dry_run),
        exit_code=2 if is_wrong else 0,
        notes=(*(f"there is no {', '.join(absent)}, and it was never indexed." for _ in range(is_wrong)), *made_room),
        text_notes=text_notes(done),
    )


def bring_up_to_date(
    store: Store, mode: RedactionMode, paths: Sequence[str] = (), progress: Progress | None = None
) -> Indexed:
    """Index what is new or changed, with linked artifacts and dates: what `index` does. Raises LockedError."""
    first_seq = store.last_seq()
    report = index_artifacts(store, paths, mode=mode, progress=progress)
    linked = run_step(store, mode)
    return Indexed(report, linked, date_documents(store, first_seq))


def index_for_search(call: Call, store: Store, mode: RedactionMode) -> None:
    """What `search --fresh` does first: the whole root, and only what has changed in it."""
    gc.enable()  # as in `index`
    with progress_bar("indexing", call) as advance:
        bring_up_to_date(store, mode, progress=advance)


def text_notes(done: Indexed) -> tuple[str, ...]:
    """What the JSON says by its fields."""
    notes = [f"{root} is not there; its artifacts are kept and marked stale." for root in done.report.stale_roots]
    notes += [
        f"{root} was not looked at: the store names it, and you did not. 'ctxrank index --root {root}' allows it."
        for root in done.report.refused_roots
    ]
    if done.dates is not None and done.dates.reason:
        notes.append(f"some files are dated by their modification, not by their last commit: {done.dates.reason}.")
    return tuple(notes)


def answer_of(done: Indexed, *, dry_run: bool = False) -> Extended:
    """The answer of a run."""
    return Extended(done.report, {"dry_run": dry_run, "linked": done.linked, "dates": done.dates})


def _lines(call: Call, done: Indexed, *, dry_run: bool) -> Iterator[str]:
    report, linked, _ = done
    for verb, paths in (("added", report.added), ("changed", report.changed), ("removed", report.removed)):
        yield from _path_lines(call, verb, paths)
    yield from _path_lines(call, "moved", [f"{before} -> {after}" for before, after in report.moved])
    if call.verbosity >= 0:
        # Among the lines, so that a terminal shows them in their place.
        for line in _path_lines(call, "skipped", [f"{path} ({reason})" for path, reason in report.skipped]):
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
        yield f"{verb:<9} {shown(path)}"
    if len(paths) > len(first):
        yield f"{verb:<9} … and {len(paths) - len(first)} more (-v lists them)"


def rebuild(call: Call) -> Reply:
    """Make the index again from the primary database; 6 where that is not possible."""
    gc.enable()  # this may take a while: see cli/entry.py
    with call.open() as store:
        with progress_bar("rebuilding", call) as advance:
            missing = rebuild_index(fts5_of(store), advance)
        trouble = index_of(store).health.value
        documents = 0 if trouble else index_of(store).state().documents
    notes = (f"the index could not be rebuilt: {trouble}.",) if trouble else ()
    payload = {"documents": documents, "stale": missing, "reason": trouble}
    lines = () if trouble else [f"Rebuilt the index: {documents} documents"]
    return index_reply(payload, lines, trouble, missing)._replace(text_notes=notes)


def index_reply(payload: dict[str, object], lines: Iterable[str], trouble: str, stale: int) -> Reply:
    """The reply of what rewrites an index, which cannot answer where there is trouble: 6."""
    return Reply(
        lambda: payload,
        lines,
        outcome="degraded" if trouble else "stale" if stale else "matched",
        engine="heuristic" if trouble else "fts5",
        exit_code=6 if trouble else 0,
    )

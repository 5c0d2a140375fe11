"""`ctxrank doctor`: whether the store is well, and what to do where it is not."""

from collections.abc import Iterator, Mapping, Sequence

from ctxrank.cli.call import Call, Reply
from ctxrank.cli.declare import Extended
from ctxrank.cli.output.progress import progress_bar
from ctxrank.indexer.care import repair as care
from ctxrank.indexer.care.compaction import optimize as compact
from ctxrank.indexer.care.examination import examine
from ctxrank.indexer.care.finding import Finding, Repair, Result
from ctxrank.indexer.care.new_file import SalvageReport
from ctxrank.indexer.fulltext.catch_up import rebuild as rebuild_index
from ctxrank.indexer.fulltext.fts5_engine import fts5_of, index_of
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.location import find_store
from ctxrank.indexer.text.lines import one_line

_DRY_RUN, _APPLY = "dry-run", "apply"


class _Diagnosis(NamedTuple):
    """What was found, and what a repair was asked for and did; `after` is what is left of it."""

    findings: Sequence[Finding]
    mode: str | None
    steps: Sequence[Repair]
    report: care.RepairReport
    after: Sequence[Finding]


def doctor(call: Call, deep: bool, repair: str | None) -> Reply:
    """Examine the store, and repair it where that is asked for."""
    if repair in ("rebuild", "optimize"):
        return rebuild(call) if repair == "rebuild" else optimize(call)
    repair = repair.removeprefix("--") if repair else None
    location = find_store(call.db, call.root)
    findings = list(examine(location, is_deep=deep))
    steps = care.plan(findings) if repair else ()
    report = care.RepairReport((), "", None)
    after: list[Finding] = []
    if repair in (_DRY_RUN, _APPLY) and steps:
        report = care.repair(location, steps, is_dry_run=repair == _DRY_RUN)
        after = list(examine(location, is_deep=deep)) if repair == _APPLY else []
    found = _Diagnosis(findings, repair, steps, report, after)
    is_lost = repair == _APPLY and report.salvaged is not None and not report.salvaged.is_complete
    has_failed = is_lost or any(finding.result is Result.FAIL for finding in after or findings)
    is_locked = any(finding.is_locked for finding in after or findings)
    return Reply(lambda: _answer(found), _lines(call, found), exit_code=5 if has_failed else 7 if is_locked else 0)


def _lines(call: Call, found: _Diagnosis) -> Iterator[str]:
    width = max(len(finding.id) for finding in found.findings)
    for finding in found.findings:
        word = finding.result.value
        mark = f"{call.dim(word)}  " if finding.result is Result.OK else f"{call.bold(word):<4}"
        yield f"{mark}  {finding.id:<{width}}  {one_line(finding.evidence)}"
        if finding.next_step:
            yield f"{'':<{width + 8}}→ {one_line(finding.next_step)}"
    yield _counts_line(found.findings)
    if found.mode is not None:
        yield from _repair_lines(found)


def _counts_line(findings: Sequence[Finding]) -> str:
    counts = _counts(findings)
    warnings = "1 warning" if counts["warn"] == 1 else f"{counts['warn']} warnings"
    return f"{counts['ok']} ok, {warnings}, {counts['fail']} failed"


def _counts(findings: Sequence[Finding]) -> dict[str, int]:
    return {result.value: sum(finding.result is result for finding in findings) for result in Result}


def _repair_lines(found: _Diagnosis) -> Iterator[str]:
    yield ""
    if not found.steps:
        yield "repair: nothing to do"
        return
    if found.mode not in (_DRY_RUN, _APPLY):
        for number, step in enumerate(found.steps, 1):
            yield f"{number}. {step.value}: {care.WHAT[step]}"
        yield "'ctxrank doctor --repair dry-run' tries it on a copy; '--repair apply' does it."
        return
    for line in found.report.done:
        yield f"repair: {one_line(line)}"
    if found.report.salvaged is not None:
        yield from _salvaged_lines(found.report.salvaged)
    if found.report.backup:
        yield f"The store as it was: {found.report.backup}"
    if found.mode == _DRY_RUN:
        yield "Nothing was changed. 'ctxrank doctor --repair apply' does it."
        return
    yield f"afterwards: {_counts_line(found.after)}"
    for finding in found.after:
        if finding.result is not Result.OK:
            yield f"        {finding.id}: {one_line(finding.evidence)}"


def _salvaged_lines(salvaged: SalvageReport) -> Iterator[str]:
    for table in salvaged.tables:
        if table.rebuilt or table.lost or not table.is_count_known:
            more = "" if table.is_count_known else " or more"
            ids = f" (numbers {', '.join(map(str, table.lost_ids))})" if table.lost_ids else ""
            counts = f"{table.saved} saved, {table.rebuilt} rebuilt, {table.lost}{more} lost"
            yield f"        {table.name:<18} {counts}{ids}"
    if salvaged.unclaimed_pages:
        yield f"        {salvaged.unclaimed_pages} pages hold rows whose table is not known"
    if salvaged.is_complete:
        yield "        nothing is lost"
    if salvaged.needs_index:
        yield "        'ctxrank index' reads the files again, and puts back the passages that are missing"


def _answer(found: _Diagnosis) -> Extended:
    salvaged = found.report.salvaged
    repair = {
        "mode": found.mode, "steps": [(step, care.WHAT[step]) for step in found.steps], "done": found.report.done,
        "backup": found.report.backup, "tables": salvaged.tables if salvaged is not None else [],
        "complete": salvaged.is_complete if salvaged is not None else None, "findings": found.after,
    }  # fmt: skip
    return Extended(found, {"counts": _counts(found.findings), "repair": None if found.mode is None else repair})


def optimize(call: Call) -> Reply:
    """Rewrite both files without free pages, and the index with its lists merged."""
    with call.open() as store:
        done = compact(store)
    notes = [] if done.is_complete else ["another process reads: a log was left as it is, and is cut by a later call."]
    if done.index_trouble:
        notes.append(f"the index cannot be used: {done.index_trouble}.")
    payload = {"files": [tuple(one) for one in done.files], "complete": done.is_complete}
    lines = [f"{one.name:<12} {one.bytes_before:>13,} → {one.bytes_now:,} bytes" for one in done.files]
    return _index_reply(payload, lines, done.index_trouble, done.stale)._replace(notes=tuple(notes))


def rebuild(call: Call) -> Reply:
    """Make the index again from the primary database; 6 where that is not possible."""
    with call.open() as store:
        with progress_bar("rebuilding", call) as advance:
            missing = rebuild_index(fts5_of(store), advance)
        trouble = index_of(store).health
        documents = 0 if trouble else index_of(store).state().documents
    notes = (f"the index could not be rebuilt: {trouble}.",) if trouble else ()
    lines = [] if trouble else [f"Rebuilt the index: {documents} documents"]
    return _index_reply({"documents": documents}, lines, trouble, missing)._replace(text_notes=notes)


def _index_reply(payload: Mapping[str, object], lines: list[str], trouble: str, stale: int) -> Reply:
    """The reply of what rewrites an index, which cannot answer where there is trouble: 6."""
    return Reply(
        lambda: {**payload, "stale": stale, "reason": trouble},
        lines,
        outcome="degraded" if trouble else "stale" if stale else "matched",
        engine="heuristic" if trouble else "fts5",
        exit_code=6 if trouble else 0,
    )

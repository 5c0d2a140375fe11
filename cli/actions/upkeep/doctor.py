"""`ctxrank doctor`: whether the store is well, and what to do where it is not."""

import gc
from collections.abc import Iterator, Sequence

from ctxrank.cli.actions.upkeep.index import rebuild
from ctxrank.cli.actions.upkeep.stores import optimize
from ctxrank.cli.call import Call, Extended, Reply, shown
from ctxrank.indexer.care import repair as care
from ctxrank.indexer.care.examination import examine
from ctxrank.indexer.care.finding import Finding, Repair, Result
from ctxrank.indexer.care.new_file import SalvageReport
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.location import find_store

_DRY_RUN, _APPLY = "dry-run", "apply"


class _Diagnosis(NamedTuple):
    """What was found, and what a repair was asked for and did; `after` is what is left of it."""

    findings: Sequence[Finding]
    mode: str | None
    steps: Sequence[Repair]
    report: care.RepairReport
    after: Sequence[Finding]

    @property
    def exit_code(self) -> int:
        """5: something failed, or records were lost; 7: a file was locked."""
        salvaged = self.report.salvaged if self.mode == _APPLY else None
        has_lost = salvaged is not None and not salvaged.is_complete
        findings = self.after or self.findings
        if has_lost or any(finding.result is Result.FAIL for finding in findings):
            return 5
        return 7 if any(finding.is_locked for finding in findings) else 0


def doctor(call: Call, deep: bool, repair: str | None) -> Reply:
    """Examine the store, and repair it where that is asked for."""
    gc.enable()  # this may take a while: see cli/entry.py
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
    if repair == _APPLY and steps:
        after = list(examine(location, is_deep=deep))
    found = _Diagnosis(findings, repair, steps, report, after)
    return Reply(lambda: _answer(found), _lines(call, found), exit_code=found.exit_code)


def _lines(call: Call, found: _Diagnosis) -> Iterator[str]:
    width = max(len(finding.id) for finding in found.findings)
    for finding in found.findings:
        word = finding.result.value
        mark = f"{call.dim(word)}  " if finding.result is Result.OK else f"{call.bold(word):<4}"
        yield f"{mark}  {finding.id:<{width}}  {shown(finding.evidence)}"
        if finding.next_step:
            yield f"{'':<{width + 8}}→ {shown(finding.next_step)}"
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
        yield f"repair: {shown(line)}"
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
            yield f"        {finding.id}: {shown(finding.evidence)}"


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

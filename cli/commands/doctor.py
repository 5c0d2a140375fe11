"""`ctxrank doctor`: whether the store is well, and what to do where it is not."""

import gc
import os
from typing import TYPE_CHECKING

import click

from ctxrank.cli.call import Call, shown
from ctxrank.cli.click_commands import StoreCommand

if TYPE_CHECKING:
    from ctxrank.cli.commands.crowd import CrowdReport
    from ctxrank.indexer.care.finding import Finding, Repair
    from ctxrank.indexer.care.repair import RepairReport
    from ctxrank.indexer.store.location import Location

_PLAN, _DRY_RUN, _APPLY = "plan", "dry-run", "apply"
_MOST_PROCESSES = 64
_SHOWN_PROBLEMS = 5


@click.command(cls=StoreCommand)
@click.option("--deep", is_flag=True, help="Also prove the index against the store, and both against the disk.")
@click.option(
    "--stress", metavar="N", type=click.IntRange(1, _MOST_PROCESSES),
    help="Also let N processes save and search on this file system, in a folder that is removed afterwards.",
)  # fmt: skip
@click.option(
    "--seconds", type=click.FloatRange(0.5, 600), default=5.0, show_default=True, help="How long --stress goes on."
)
@click.option(
    "--repair", metavar="HOW", type=click.Choice((_PLAN, _DRY_RUN, _APPLY)),
    help="plan: say what would be done; dry-run: try it beside the store; apply: do it, with a copy kept.",
)  # fmt: skip
@click.pass_obj
def command(call: Call, deep: bool, stress: int | None, seconds: float, repair: str | None) -> int:
    """Look at the store, its index and what they stand on; change nothing unless --repair apply is given.

    0: well, perhaps with warnings; 5: something is broken, or records were lost in a repair; 7: a file is
    locked and was not looked at.

    Example: ctxrank doctor --deep
    """
    from ctxrank.indexer.care.examination import examine
    from ctxrank.indexer.care.repair import plan
    from ctxrank.indexer.care.repair import repair as repair_store
    from ctxrank.indexer.store.location import find_store

    gc.enable()  # this may take a while: see cli/entry.py
    location = find_store(call.db, call.root)
    findings = list(examine(location, is_deep=deep))
    crowd = _stressed(location, stress, seconds) if stress else None
    steps = plan(findings) if repair else ()
    report: RepairReport | None = None
    after: list[Finding] = []
    if repair in (_DRY_RUN, _APPLY) and steps:
        report = repair_store(location, steps, is_dry_run=repair == _DRY_RUN)
    if repair == _APPLY and steps:
        after = list(examine(location, is_deep=deep))
    if call.is_json:
        _print_json(findings, after, crowd, repair, steps, report)
    else:
        _print_findings(call, findings)
        if crowd is not None:
            _print_crowd(crowd)
        if repair is not None:
            _print_repair(repair, steps, report, after)
    return _exit_code(after or findings, crowd, report if repair == _APPLY else None)


def _stressed(location: "Location", processes: int, seconds: float) -> "CrowdReport":
    """A crowd in a folder beside the store: the same file system, and nothing of the store itself."""
    import shutil

    from ctxrank.cli.commands.crowd import run_crowd
    from ctxrank.indexer.care.environment_checks import STRESS

    folder = os.path.join(location.folder, f"{STRESS}{os.getpid()}")
    os.makedirs(folder, mode=0o700)
    try:
        return run_crowd(folder, processes=processes, seconds=seconds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _exit_code(findings: "list[Finding]", crowd: "CrowdReport | None", applied: "RepairReport | None") -> int:
    from ctxrank.indexer.care.finding import Result

    has_lost = applied is not None and applied.salvaged is not None and not applied.salvaged.is_complete
    if has_lost or any(finding.result is Result.FAIL for finding in findings):
        return 5
    if crowd is not None and not crowd.is_well:
        return 5
    return 7 if any(finding.is_locked for finding in findings) else 0


def _print_findings(call: Call, findings: "list[Finding]") -> None:
    from ctxrank.indexer.care.finding import Result

    width = max(len(finding.id) for finding in findings)
    for finding in findings:
        word = finding.result.value
        mark = f"{call.dim(word)}  " if finding.result is Result.OK else f"{call.bold(word):<4}"
        print(f"{mark}  {finding.id:<{width}}  {shown(finding.evidence)}")
        if finding.next_step:
            print(f"{'':<{width + 8}}→ {shown(finding.next_step)}")
    counts = _counts(findings)
    print(f"{counts['ok']} ok, {counts['warn']} to know of, {counts['fail']} broken")


def _counts(findings: "list[Finding]") -> dict[str, int]:
    from ctxrank.indexer.care.finding import Result

    return {result.value: sum(finding.result is result for finding in findings) for result in Result}


def _print_crowd(crowd: "CrowdReport") -> None:
    print(
        f"stress: {crowd.processes} processes, {crowd.seconds:g} s: {crowd.saves} saves (p95 {crowd.save_p95_ms} ms),"
        f" {crowd.searches} searches (p95 {crowd.search_p95_ms} ms); {crowd.failed} failed, {crowd.lost} lost"
    )
    for problem in crowd.problems[:_SHOWN_PROBLEMS]:
        print(f"        {shown(problem)}")


def _print_repair(how: str, steps: "tuple[Repair, ...]", report: "RepairReport | None", after: "list[Finding]") -> None:
    from ctxrank.indexer.care.repair import WHAT

    print()
    if not steps:
        print("repair: there is nothing that a repair could do")
        return
    if report is None:
        for number, step in enumerate(steps, 1):
            print(f"{number}. {step.value}: {WHAT[step]}")
        print("'ctxrank doctor --repair dry-run' tries it beside the store; '--repair apply' does it.")
        return
    for line in report.done:
        print(f"repair: {shown(line)}")
    if report.salvaged is not None:
        _print_salvaged(report)
    if report.backup:
        print(f"The store as it was: {report.backup}")
    if how == _DRY_RUN:
        print("Nothing was changed. 'ctxrank doctor --repair apply' does it.")
        return
    counts = _counts(after)
    print(f"afterwards: {counts['ok']} ok, {counts['warn']} to know of, {counts['fail']} broken")
    for finding in after:
        if finding.result.value != "ok":
            print(f"        {finding.id}: {shown(finding.evidence)}")


def _print_salvaged(report: "RepairReport") -> None:
    salvaged = report.salvaged
    assert salvaged is not None, "only a salvage is printed here"
    for table in salvaged.tables:
        if table.rebuilt or table.lost or not table.is_count_known:
            more = "" if table.is_count_known else " or more"
            ids = f" (numbers {', '.join(map(str, table.lost_ids))})" if table.lost_ids else ""
            counts = f"{table.saved} saved, {table.rebuilt} made again, {table.lost}{more} lost"
            print(f"        {table.name:<18} {counts}{ids}")
    if salvaged.unclaimed_pages:
        print(f"        {salvaged.unclaimed_pages} pages hold rows of which nothing tells whose they are")
    if salvaged.is_complete:
        print("        nothing is lost")
    if salvaged.needs_index:
        print("        'ctxrank index' reads the files again, and puts back the passages that are missing")


def _print_json(
    findings: "list[Finding]",
    after: "list[Finding]",
    crowd: "CrowdReport | None",
    how: str | None,
    steps: "tuple[Repair, ...]",
    report: "RepairReport | None",
) -> None:
    from ctxrank.cli.output.envelope import emit_json
    from ctxrank.indexer.care.repair import WHAT

    payload: dict[str, object] = {"counts": _counts(findings), "findings": [_as_json(finding) for finding in findings]}
    if crowd is not None:
        payload["stress"] = crowd._asdict()
    if how is not None:
        salvaged = report.salvaged if report is not None else None
        payload["repair"] = {
            "mode": how,
            "steps": [{"id": step.value, "what": WHAT[step]} for step in steps],
            "done": list(report.done) if report is not None else [],
            "backup": report.backup or None if report is not None else None,
            "tables": [table._asdict() for table in salvaged.tables] if salvaged is not None else [],
            "complete": salvaged.is_complete if salvaged is not None else None,
            "findings": [_as_json(finding) for finding in after],
        }
    emit_json(payload)


def _as_json(finding: "Finding") -> dict[str, object]:
    return {
        "id": finding.id, "result": finding.result.value, "evidence": finding.evidence,
        "next_step": finding.next_step or None, "repair": finding.repair.value or None, "locked": finding.is_locked,
    }  # fmt: skip

"""Repairing a store: a plan, a dry run, then the repair itself, which keeps a copy of the files as they were.

    steps = plan(findings)
    report = repair(location, steps, is_dry_run=True)

A lock is waited for and then reported; it is never a reason to repair anything.
"""

import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import closing

import apsw

from ctxrank.indexer.care.environment_checks import leftovers, wrong_modes
from ctxrank.indexer.care.finding import Finding, Repair
from ctxrank.indexer.care.new_file import SalvageReport, touch
from ctxrank.indexer.care.primary_checks import FOREIGN_STEP, is_foreign
from ctxrank.indexer.care.replacement import back_up, new_backup_folder, salvage
from ctxrank.indexer.exceptions import DamagedError, refused_by_system
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import busy_timeout_ms, sqlite_errors
from ctxrank.indexer.store.location import Location, is_known, stated_identity
from ctxrank.indexer.text.lines import shell_word

WHAT = {
    Repair.PERMISSIONS: "make the store's folder and files private to their owner",
    Repair.LEFTOVERS: "move what killed processes left into a backup",
    Repair.SALVAGE: "copy the store as it is, salvage every readable record, and write them back over it",
    Repair.REBUILD: "rebuild the index from the store, after copying the store",
}


class RepairReport(NamedTuple):
    """What was done, a line a step; `backup` is the copy of the store from before ('' where none was needed)."""

    done: tuple[str, ...]
    backup: str
    salvaged: SalvageReport | None


def plan(findings: Iterable[Finding]) -> tuple[Repair, ...]:
    """The steps that these findings call for, in the order in which they are done."""
    wanted = {finding.repair for finding in findings}
    if Repair.SALVAGE in wanted:
        wanted.add(Repair.REBUILD)  # its index was made from what is damaged
    return tuple(step for step in Repair if step in wanted and step is not Repair.NONE)


def repair(location: Location, steps: Sequence[Repair], *, is_dry_run: bool) -> RepairReport:
    """Do the steps, or try what can be tried without changing the store.

    No connection of this process may have the store open. Raises LockedError, DamagedError, CtxrankError.
    """
    if is_foreign(location.primary):
        raise DamagedError(f"{location.primary} is not a ctxrank store.", FOREIGN_STEP)
    done: list[str] = []
    backup = ""
    salvaged: SalvageReport | None = None
    if Repair.PERMISSIONS in steps:
        done += _set_modes(location, is_dry_run=is_dry_run)
    if Repair.LEFTOVERS in steps:
        found = leftovers(location)
        folder = new_backup_folder(location) if found and not is_dry_run else ""
        for path in found:
            if folder:
                shutil.move(path, folder)
            done.append(f"{'moved' if folder else 'would move'} {os.path.basename(path)} into a backup")
    if Repair.SALVAGE in steps:
        salvaged, backup = salvage(location, busy_ms=busy_timeout_ms(), is_dry_run=is_dry_run)
        verb = "can be saved" if is_dry_run else "saved"
        saved, rebuilt = (sum(getattr(table, name) for table in salvaged.tables) for name in ("saved", "rebuilt"))
        done.append(f"{verb}: {saved} rows as they were, {rebuilt} rebuilt")
        if not is_dry_run and not is_known(stated_identity(location.primary)):
            project = os.path.dirname(location.folder)
            done.append(f"the proof that the store is yours was lost: run 'ctxrank trust {shell_word(project)}'")
    elif Repair.REBUILD in steps and not is_dry_run:
        backup = os.path.join(new_backup_folder(location), os.path.basename(location.primary))
        touch(backup)
        with (
            sqlite_errors(location.primary),
            closing(apsw.Connection(location.primary, flags=apsw.SQLITE_OPEN_READWRITE)) as source,
        ):
            source.set_busy_timeout(busy_timeout_ms())
            back_up(source, backup)  # as the next reader would see it
    if Repair.REBUILD in steps:
        done.append("would rebuild the index" if is_dry_run else _rebuild_index(location))
    return RepairReport(tuple(done), backup, salvaged)


def _set_modes(location: Location, *, is_dry_run: bool) -> list[str]:
    done: list[str] = []
    for path, has, mode in list(wrong_modes(location)):
        if not is_dry_run:
            with refused_by_system(f"{path} cannot be changed", "It belongs to another user."):
                os.chmod(path, mode)
        done.append(f"{'would set' if is_dry_run else 'set'} {os.path.basename(path)} from {has:o} to {mode:o}")
    return done


def _rebuild_index(location: Location) -> str:
    from ctxrank.indexer.fulltext.catch_up import rebuild  # noqa: PLC0415  start-up: rebuilding only
    from ctxrank.indexer.fulltext.fts5_engine import fts5_of, index_of  # noqa: PLC0415  start-up: rebuilding only
    from ctxrank.indexer.opening import open_store  # noqa: PLC0415  start-up: rebuilding only

    with open_store(location.primary, root=location.root) as store:
        missing = rebuild(fts5_of(store))
        trouble = index_of(store).health
    if trouble:
        return f"the index could not be rebuilt: {trouble}; the next call tries again"
    return "rebuilt the index" if not missing else f"rebuilt the index; {missing} changes are not in it yet"

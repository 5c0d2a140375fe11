"""What one check found: an id that stays, a result, the evidence for it, and a next step that harms nothing."""

from collections.abc import Iterable, Iterator
from enum import StrEnum

import apsw

from ctxrank.indexer.engine import INDEX_READ_ERRORS
from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.light_typing import NamedTuple

# What reading a damaged file raises: the values of a page that is not the table's are of any type.
DAMAGE_ERRORS = (*INDEX_READ_ERRORS, DamagedError)


class Result(StrEnum):
    """How serious a finding is: `warn` can stay as it is, `fail` cannot."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Repair(StrEnum):
    """What `--repair` can do about a finding, in the order in which it is done."""

    NONE = ""
    PERMISSIONS = "permissions"
    LEFTOVERS = "leftovers"
    SALVAGE = "salvage"
    REBUILD = "rebuild-index"


class Finding(NamedTuple):
    """The outcome of one check."""

    id: str
    result: Result
    evidence: str
    next_step: str = ""
    repair: Repair = Repair.NONE
    is_locked: bool = False


def ok(id: str, evidence: str) -> Finding:
    """Nothing is wrong."""
    return Finding(id, Result.OK, evidence)


def warn(id: str, evidence: str, next_step: str, repair: Repair = Repair.NONE) -> Finding:
    """A warning."""
    return Finding(id, Result.WARN, evidence, next_step, repair)


def fail(id: str, evidence: str, next_step: str, repair: Repair = Repair.NONE) -> Finding:
    """A check that failed."""
    return Finding(id, Result.FAIL, evidence, next_step, repair)


def locked(id: str, path: str) -> Finding:
    """Another process holds a file: no damage, and no reason for a repair."""
    step = "Wait for the process that holds it, or end it; then run doctor again."
    return Finding(id, Result.WARN, f"{path} is locked by another process; it was not looked at", step, is_locked=True)


def guarded(id: str, path: str, found: Iterable[Finding], says: str, step: str, repair: Repair) -> Iterator[Finding]:
    """What is found; a lock and damage that looking meets are findings, too. `says` begins the evidence of damage."""
    try:
        yield from found
    except (apsw.BusyError, apsw.LockedError):
        yield locked(id, path)
    except DAMAGE_ERRORS as error:
        yield fail(id, f"{says}: {error}", step, repair)

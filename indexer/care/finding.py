"""What one check found: an id that stays, a result, the evidence for it, and a next step that harms nothing.

find("schema", "older", version=9, known=11)       in the words of findings.tsv, which has each check and case
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache

import apsw

from ctxrank.indexer.engine import INDEX_READ_ERRORS
from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.tables import rows

# What reading a damaged file raises: the values of a page that is not the table's are of any type.
DAMAGE_ERRORS = (*INDEX_READ_ERRORS, DamagedError)
HEALS_STEP = "The next search heals it; 'ctxrank doctor --repair rebuild' does it now."


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


_STEPS = {
    Repair.SALVAGE: "'ctxrank doctor --repair dry-run' counts what can be saved; '--repair apply' saves it and keeps a"
    " copy of the file as it is.",
    Repair.REBUILD: HEALS_STEP,
}


class Finding(NamedTuple):
    """The outcome of one check."""

    id: str
    result: Result
    evidence: str
    next_step: str = ""
    repair: Repair = Repair.NONE
    is_locked: bool = False


def find(id: str, case: str = "", **facts: object) -> Finding:
    """What a check found, by the case of it that is true; '' is the usual one. Facts take their places in the words."""
    sentences = _sentences()
    found = sentences.get((id, case)) or sentences["*", case]
    # A lock is no damage, and no reason for a repair.
    evidence, step = found.evidence.format(**facts), found.next_step.format(**facts)
    return found._replace(id=id, evidence=evidence, next_step=step, is_locked=case == "locked")


def guarded(id: str, path: str, found: Iterable[Finding], case: str) -> Iterator[Finding]:
    """What is found; a lock and damage that looking meets are findings, too, the latter as this case."""
    try:
        yield from found
    except (apsw.BusyError, apsw.LockedError):
        yield find(id, "locked", path=path)
    except DAMAGE_ERRORS as error:
        yield find(id, case, path=path, error=error)


@cache
def _sentences() -> Mapping[tuple[str, str], Finding]:
    found: dict[tuple[str, str], Finding] = {}
    for id, case, result, repair, step, evidence in rows(__file__, "findings"):
        way = Repair(repair)
        found[id, case] = Finding(id, Result(result), evidence, step or _STEPS.get(way, ""), way)
    return found

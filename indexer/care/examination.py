"""All checks of a store, in the order in which one would look: nothing here changes anything.

for finding in examine(location, is_deep=True): ...
"""

import os
from collections.abc import Iterator
from contextlib import closing, suppress

import apsw

from ctxrank.indexer.care.environment_checks import examine_machine, examine_surroundings
from ctxrank.indexer.care.finding import DAMAGE_ERRORS, Finding, Result, find, guarded
from ctxrank.indexer.care.index_checks import examine_index, open_index_to_look
from ctxrank.indexer.care.primary_checks import (
    FOREIGN_STEP,
    examine_primary,
    examine_primary_file,
    is_foreign,
    open_to_look,
)
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.owners import require_owners
from ctxrank.indexer.records.spawns import block_arrivals
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import busy_timeout_ms, size_of
from ctxrank.indexer.store.location import Location
from ctxrank.indexer.store.store import Store

# A diagnosis may not take as long as an answer.
_LONGEST_WAIT_MS = 2000


def examine(location: Location, *, is_deep: bool = False) -> Iterator[Finding]:
    """What is found, one finding a check. `is_deep` proves the index against the store, and both against the disk."""
    busy_ms = min(busy_timeout_ms(), _LONGEST_WAIT_MS)
    if is_foreign(location.primary):  # it is not even opened
        yield from examine_machine(location)
        yield find("schema", "no-store", path=location.primary, step=FOREIGN_STEP)
        return
    yield from examine_surroundings(location)
    is_ours = True
    for finding in examine_primary_file(location, busy_ms, is_deep=is_deep):
        yield finding
        if finding.id in ("truth-file", "schema") and finding.result is not Result.OK:
            is_ours = False
    if not is_ours:
        return
    yield from guarded("truth-file", location.primary, _contents(location, busy_ms, is_deep=is_deep), "damaged")


def _contents(location: Location, busy_ms: int, *, is_deep: bool) -> Iterator[Finding]:
    with closing(open_to_look(location.primary, busy_ms)) as primary:
        with suppress(*DAMAGE_ERRORS):
            require_owners(primary, "doctor")
        yield from examine_primary(primary)
        yield _configuration(location, primary, busy_ms)
        yield from guarded("spawn", primary.filename, _spawns(primary), "unreadable")
        yield from examine_index(location, busy_ms, is_deep=is_deep)
        if is_deep:
            yield from _deep(location, primary, busy_ms)


def _configuration(location: Location, primary: apsw.Connection, busy_ms: int) -> Finding:
    """The settings as a call would read them; this connection cannot write, so nothing is cached."""
    try:
        config = load_config(Store(location, primary, busy_ms))
    except UsageError as error:
        return find("configuration", "wrong", message=error.message, hint=error.hint)
    except DAMAGE_ERRORS as error:
        return find("configuration", "unseen", error=error)
    path = os.path.join(location.folder, "config.yaml")
    case = "" if os.path.exists(path) else "none"
    if config.notes:
        case = "notes"
    elif config.redaction_mode.is_off:
        case = "unredacted"
    elif not config.fts5:
        case = "no-fts5"
    return find("configuration", case, notes=" ".join(config.notes), path=path)


def _spawns(primary: apsw.Connection) -> Iterator[Finding]:
    """Whether the agents that each runner has spawned get their blocks; nothing where none is known to have."""
    for runner, last in block_arrivals(primary).items():
        lost = "lost" if last.prompt is None else "dropped"
        yield find("spawn", "" if last.has_arrived else lost, runner=runner.replace("-", " "))


def _deep(location: Location, primary: apsw.Connection, busy_ms: int) -> Iterator[Finding]:
    from ctxrank.indexer.care.disk_checks import examine_disk  # noqa: PLC0415  start-up: deep checks only
    from ctxrank.indexer.care.index_proof import prove_index  # noqa: PLC0415  start-up: deep checks only

    def proved() -> Iterator[Finding]:
        with closing(open_index_to_look(location, busy_ms)) as connection:
            yield from prove_index(connection, location.index_file)

    def compared() -> Iterator[Finding]:
        with suppress(UsageError):  # the configuration's own check has said so; without it no file is read as it was
            mode = load_config(Store(location, primary, busy_ms)).redaction_mode
            yield from examine_disk(primary, location, mode)

    if size_of(location.index_file):
        yield from guarded("index-proof", location.index_file, proved(), "damaged")
    yield from guarded("artifacts", location.primary, compared(), "unseen")

"""The index: can it answer, is it sound, does it match the change log of this very store?

The next call rebuilds whatever is wrong with it; here it is only reported.
"""

import os
from collections.abc import Iterator
from contextlib import closing

import apsw

from ctxrank.indexer.care.finding import Finding, Repair, fail, guarded, ok, warn
from ctxrank.indexer.care.primary_checks import open_to_look
from ctxrank.indexer.engine import IndexHealth
from ctxrank.indexer.fulltext import index_file
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import file_uri, read_column, read_row
from ctxrank.indexer.store.location import Location

HEALS_STEP = "The next search heals it; 'ctxrank doctor --repair rebuild' does it now."
_SHOWN_PROBLEMS = 3
_FILE = "index-file"


def open_index_to_look(location: Location, busy_ms: int) -> apsw.Connection:
    """The index as main, the primary database attached, as a query has them, and read-only. Raises apsw.Error."""
    connection = open_to_look(location.index_file, busy_ms)
    try:
        connection.execute("ATTACH ? AS primary_db", (file_uri(location.primary, "mode=ro"),))
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        connection.execute("ATTACH ? AS primary_db", (file_uri(location.primary, "immutable=1"),))
    return connection


def examine_index(location: Location, busy_ms: int, *, is_deep: bool) -> Iterator[Finding]:
    """What a query would meet."""
    name = location.index_file
    if not os.path.exists(name) or os.path.getsize(name) == 0:
        yield warn(_FILE, "there is no index", "Nothing to do: the next search makes it.", Repair.REBUILD)
        return
    yield from guarded(_FILE, name, _open(location, busy_ms, is_deep=is_deep), name, HEALS_STEP, Repair.REBUILD)


def _open(location: Location, busy_ms: int, *, is_deep: bool) -> Iterator[Finding]:
    name = location.index_file
    with closing(open_index_to_look(location, busy_ms)) as connection:
        found = _examine(connection, name, is_deep=is_deep)
        yield from guarded("index-sound", name, found, name, HEALS_STEP, Repair.REBUILD)


class _Identity(NamedTuple):
    """What made the index, and of which store."""

    format: int
    fingerprint: str
    is_of_this_store: int


def _examine(connection: apsw.Connection, name: str, *, is_deep: bool) -> Iterator[Finding]:
    query = "SELECT s.format, s.fingerprint, s.store_uuid = t.uuid FROM main.state AS s, primary_db.store AS t"
    identity = read_row(connection, query, (), _Identity)
    if identity is None:
        yield fail(_FILE, "the index has lost its state row", HEALS_STEP, Repair.REBUILD)
        return
    if identity.format > index_file.FORMAT:
        step = "Upgrade this ctxrank: a newer one made it. Until then heuristics answer."
        yield warn(_FILE, f"the index has format {identity.format}; this program knows up to {index_file.FORMAT}", step)
        return
    is_of_another = identity[:2] != (index_file.FORMAT, index_file.FINGERPRINT)
    if is_of_another or not identity.is_of_this_store:
        whose = "of another ctxrank" if is_of_another else "of another store"
        yield warn(_FILE, f"the index is {whose}", "Nothing to do: the next search rebuilds it.", Repair.REBUILD)
        return
    index = index_file.Index(connection, IndexHealth.OK, name)
    state = index.state()
    yield ok(_FILE, f"{state.documents} documents, {os.path.getsize(name) / 2**20:.1f} MB")
    if index.is_sound():
        yield ok("index-sentinel", "a term that must be there is found")
    else:
        yield fail("index-sentinel", "a term that must be there is not found", HEALS_STEP, Repair.REBUILD)
    check = "integrity_check" if is_deep else "quick_check"
    problems = read_column(connection, f"PRAGMA main.{check}(20)", (), str)
    if problems == ["ok"]:
        yield ok("index-integrity", f"SQLite's {check.replace('_', ' ')} finds nothing")
    else:
        yield fail("index-integrity", "; ".join(problems[:_SHOWN_PROBLEMS]), HEALS_STEP, Repair.REBUILD)
    yield _applied_changes(connection, state)


class _LogEnd(NamedTuple):
    """The last number of the primary's change log, and the history id at the number that the index has applied."""

    seq: int
    history_id: int


def _applied_changes(connection: apsw.Connection, state: index_file.IndexState) -> Finding:
    query = """
        SELECT s.seq,
               coalesce((SELECT history_id FROM primary_db.history_checkpoints WHERE seq >= ?1 ORDER BY seq LIMIT 1), 0)
          FROM primary_db.store AS s
    """
    last, history_id = read_row(connection, query, (state.applied_seq,), _LogEnd) or _LogEnd(0, 0)
    if state.applied_seq > last:
        evidence = f"the index holds changes up to {state.applied_seq}, the store only up to {last}"
        step = "The store lost its last changes, or an older copy of it was put back. If you did not do that, look for"
        return fail("index-feed", evidence, f"{step} a newer copy before the next search adapts the index.")
    if state.applied_seq and state.history_id != history_id:
        step = "Nothing to do: the next search rebuilds the index."
        return warn("index-feed", "the index belongs to another history of this store", step, Repair.REBUILD)
    if state.applied_seq < last:
        step = "Nothing to do: the next search catches up, at most 2 s at a time."
        return warn("index-feed", f"the index has applied {state.applied_seq} of {last} changes", step)
    return ok("index-feed", f"all {last} changes are applied")

"""The index: can it answer, is it sound, does it match the change log of this very store?

The next call rebuilds whatever is wrong with it; here it is only reported.
"""

import os
from collections.abc import Iterator
from contextlib import closing

import apsw

from ctxrank.indexer.care.finding import Finding, find, guarded
from ctxrank.indexer.care.primary_checks import SHOWN_PROBLEMS, open_to_look
from ctxrank.indexer.engine import IndexHealth
from ctxrank.indexer.fulltext import index_file
from ctxrank.indexer.store.change_log import history_id, last_seq
from ctxrank.indexer.store.connection import file_uri, read_column, size_of
from ctxrank.indexer.store.location import Location


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
    path = location.index_file
    if not size_of(path):
        yield find("index-file", "none")
        return

    def opened() -> Iterator[Finding]:
        with closing(open_index_to_look(location, busy_ms)) as connection:
            yield from guarded("index-sound", path, _examine(connection, path, is_deep=is_deep), "broken")

    yield from guarded("index-file", path, opened(), "broken")


def _examine(connection: apsw.Connection, path: str, *, is_deep: bool) -> Iterator[Finding]:
    query = "SELECT s.format, s.fingerprint, s.store_uuid = t.uuid FROM main.state AS s, primary_db.store AS t"
    row = connection.execute(query).fetchone()
    if row is None:
        yield find("index-file", "lost")
        return
    format, fingerprint, is_of_this_store = row
    if format > index_file.FORMAT:
        yield find("index-file", "newer", format=format, known=index_file.FORMAT)
        return
    is_of_another = (format, fingerprint) != (index_file.FORMAT, index_file.FINGERPRINT)
    if is_of_another or not is_of_this_store:
        yield find("index-file", "another", whose="of another ctxrank" if is_of_another else "of another store")
        return
    index = index_file.Index(connection, IndexHealth.OK, path)
    state = index.state()
    yield find("index-file", documents=state.documents, size=os.path.getsize(path) / 2**20)
    yield find("index-sentinel", "gone" * (not index.is_sound()))
    check = "integrity_check" if is_deep else "quick_check"
    problems = read_column(connection, f"PRAGMA main.{check}(20)", (), str)
    shown = "; ".join(problems[:SHOWN_PROBLEMS])
    yield find("index-integrity", "problems" * (problems != ["ok"]), problems=shown, check=check.replace("_", " "))
    last = last_seq(connection, "primary_db")
    case = "ahead" if state.applied_seq > last else "behind" * (state.applied_seq < last)
    history = history_id(connection, "primary_db", state.applied_seq)
    if case != "ahead" and state.applied_seq and state.history_id != history:
        case = "another"
    yield find("index-feed", case, applied=state.applied_seq, last=last)

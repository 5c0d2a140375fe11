"""The primary database: is it a store of ours, is it sound, do its parts fit together?"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import closing

import apsw

from ctxrank.indexer.care.finding import Finding, find, guarded
from ctxrank.indexer.care.page_reader import page_reader
from ctxrank.indexer.catalogue import document_kinds, kinds_of, tables_of
from ctxrank.indexer.clock import format_us, now_us
from ctxrank.indexer.privacy.erase import is_erasing_due
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store.change_log import changes_after, history_id
from ctxrank.indexer.store.connection import (
    APPLICATION_ID,
    SCHEMA_VERSION,
    file_uri,
    read_column,
    read_value,
    snapshot,
    wait_for_locks,
)
from ctxrank.indexer.store.location import Location
from ctxrank.indexer.store.migrations import FIRST_SCHEMA, UNRELEASED_STEP
from ctxrank.indexer.store.store import strange_part
from ctxrank.indexer.text.lines import WIPED

FOREIGN_STEP = (
    "Point --db elsewhere: nothing here changes it. 'ctxrank import --help' says which databases can come in."
)
SHOWN_PROBLEMS = 3
_CLOCK_TOLERANCE_US = 5 * 60 * 10**6
# Tables that no other program has, by names that no other program gives them.
_OUR_TABLES = ("history_checkpoints", "tombstones", "package_consumers", "error_sightings", "config_cache")
_APPLICATION_ID_AT, _FIRST_PAGE_AT = 68, 100
_MAGIC = b"SQLite format 3\x00"
_TABLE_LEAF = b"\r"  # the first byte of such a page


def is_foreign(path: str) -> bool:
    """Whether something is there that is no store of ours. No connection of this process may have it open.

    SQLite may write next to what it opens, so a file is judged by its bytes:

        SQLite's header, our application id         ours
        SQLite's header, another id, or none        ours only if its table of tables names ours
        no such header                              ours only if a page names ours: a header that was damaged
        anything else                               foreign: it is neither repaired nor touched
    """
    try:
        info = os.stat(path)
        if not stat.S_ISREG(info.st_mode):
            return True
        if not info.st_size:
            return False
        with open(path, "rb") as file:
            header = file.read(_FIRST_PAGE_AT + 8)
    except OSError:
        return False  # opening it reports why
    has_magic = header.startswith(_MAGIC)
    if has_magic and int.from_bytes(header[_APPLICATION_ID_AT:][:4], "big") == APPLICATION_ID:
        return False
    # One page without a table: what a store begins as, its tables being in the write-ahead log.
    is_one_page = info.st_size == (int.from_bytes(header[16:18], "big") if header[16:18] != b"\0\1" else 65536)
    is_empty = header[_FIRST_PAGE_AT:][:1] == _TABLE_LEAF and header[_FIRST_PAGE_AT:][3:5] == b"\0\0"
    if has_magic and is_one_page and is_empty:
        return False
    return not page_reader("doctor").names_a_table(path, _OUR_TABLES)


def open_to_look(path: str, busy_ms: int) -> apsw.Connection:
    """A connection that changes nothing. Raises apsw.Error."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        connection = apsw.Connection(file_uri(path, "mode=ro"), flags=flags)
        wait_for_locks(connection, busy_ms)
        connection.pragma("schema_version")
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        # In a folder that cannot be written no process can make the -shm that a log needs.
        connection = apsw.Connection(file_uri(path, "immutable=1"), flags=flags)
        connection.pragma("schema_version")
    connection.pragma("trusted_schema", False)
    return connection


def examine_primary_file(location: Location, busy_ms: int, *, is_deep: bool) -> Iterator[Finding]:
    """Whether the file is a store of ours and sound; no finding but these two counts where the second fails."""
    path = location.primary
    try:
        if os.path.getsize(path) == 0 and os.path.exists(location.index_file):
            yield find("truth-file", "emptied", path=path, folder=location.folder)
            return
        primary = open_to_look(path, busy_ms)
    except (apsw.BusyError, apsw.LockedError):
        yield find("truth-file", "locked", path=path)
        return
    except (apsw.Error, OSError) as error:
        is_damaged = isinstance(error, apsw.CorruptError)
        case = "header" if isinstance(error, apsw.NotADBError) else "damaged" if is_damaged else "closed"
        yield find("truth-file", case, path=path, error=error)
        return
    is_readable = True
    with closing(primary):
        for finding in guarded("truth-file", path, _recognised(primary, path), "damaged"):
            is_readable = finding.id != "truth-file"
            yield finding
    if is_readable:
        yield _sound(path, busy_ms, is_deep=is_deep)


def _recognised(primary: apsw.Connection, path: str) -> Iterator[Finding]:
    mode = primary.pragma("journal_mode")
    version, owner = primary.pragma("user_version"), primary.pragma("application_id")
    case, step, strange = "older" * (version < SCHEMA_VERSION), "", ""
    if version > SCHEMA_VERSION and owner == APPLICATION_ID:
        case = "newer"
    elif owner != APPLICATION_ID:
        is_empty = primary.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is None
        case, step = "empty" if is_empty else "foreign", FOREIGN_STEP
    elif version < FIRST_SCHEMA:
        case, step = "unreleased", UNRELEASED_STEP
    elif strange := strange_part(primary):
        case = "strange"
    yield find("schema", case, path=path, version=version, known=SCHEMA_VERSION, step=step, strange=strange)
    yield find("wal-mode", "other" * (mode != "wal"), mode=mode)


def _sound(path: str, busy_ms: int, *, is_deep: bool) -> Finding:
    """Looked at twice, through two connections: a page that was read in the wrong moment is no damage."""
    check = "integrity_check" if is_deep else "quick_check"
    problems: list[str] = []
    for _ in range(2):
        try:
            with closing(open_to_look(path, busy_ms)) as primary:
                problems = read_column(primary, f"PRAGMA {check}(20)", (), str)
        except (apsw.BusyError, apsw.LockedError):
            return find("truth-integrity", "locked", path=path)
        except (apsw.Error, UnicodeDecodeError) as error:
            problems = [str(error)]
        if problems == ["ok"]:
            return find("truth-integrity", check=check.replace("_", " "))
    lines = [line.strip() for problem in problems for line in problem.split("\n") if not line.startswith("***")]
    return find("truth-integrity", "problems", problems="; ".join((lines or problems)[:SHOWN_PROBLEMS]))


def examine_primary(primary: apsw.Connection) -> Iterator[Finding]:
    """Whether the contents of the tables are consistent; for a file of the present schema."""
    for id, check in _CHECKS.items():
        yield from guarded(id, primary.filename, _at_one_moment(primary, check), "unreadable")


def _at_one_moment(primary: apsw.Connection, check: Callable[[apsw.Connection], Finding]) -> Iterator[Finding]:
    with snapshot(primary):  # its questions are about one moment: others may write meanwhile
        finding = check(primary)
    yield finding


def _number(primary: apsw.Connection, query: str, *values: int | str) -> int:
    return read_value(primary, query, values, int) or 0


def examine_texts(primary: apsw.Connection) -> Finding:
    """SQLite checks where a text is, not what it says: a wiped page reads as zeros, and any bytes pass for text."""
    places: dict[str, list[str]] = {"wiped": [], "undecodable": [], "no-json": []}
    columns = [(table.name, column) for table in tables_of(primary) for column in table.stored if column.replacement]
    as_json = {(table, column.name): column.is_broken for table, column in columns}
    query = """
        SELECT t.name, c.name
          FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
         WHERE t.schema = 'main' AND t.type = 'table' AND c.type = 'TEXT'
    """
    for table, column in list(primary.execute(query)):
        stored = primary.execute(f'SELECT CAST("{column}" AS BLOB) FROM "{table}"')
        counts = {
            "wiped": _number(primary, f'SELECT count(*) FROM "{table}" WHERE instr("{column}", ?)', WIPED),
            # One such text keeps the index from taking in whatever comes behind it.
            "undecodable": sum(
                isinstance(text, bytes) and not text.isascii() and text.decode(errors="replace").encode() != text
                for (text,) in stored
            ),
            "no-json": _number(primary, f'SELECT count(*) FROM "{table}" WHERE {as_json.get((table, column), 0)}'),
        }
        for case, count in counts.items():
            places[case] += [f"{count} in {table}.{column}"] * bool(count)
    case = next((case for case, found in places.items() if found), "")
    return find("texts", case, places=", ".join(places.get(case, ())))


def _change_log(primary: apsw.Connection) -> Finding:
    last = read_value(primary, "SELECT seq FROM store WHERE id = 1", (), int)
    if last is None:
        return find("feed", "lost")
    above = changes_after(primary, last)
    both = _number(primary, "SELECT count(*) FROM tombstones WHERE document_id IN (SELECT id FROM documents)")
    is_marked = not last or history_id(primary, "main", last) >= 0
    case = "numbers" if above or both else "" if is_marked else "unmarked"
    return find("feed", case, last=last, above=above, both=both)


def _references(primary: apsw.Connection) -> Finding:
    query = """SELECT "table" || ' without ' || parent FROM pragma_foreign_key_check"""
    broken = read_column(primary, query, (), str)
    return find("references", "broken" * bool(broken), count=len(broken), rows=", ".join(sorted({*broken})))


def _records(primary: apsw.Connection) -> Finding:
    """A record and its document are two rows: neither may be without the other."""
    kinds = kinds_of(primary)
    counted: dict[str, str] = {}  # how many rows of each sort there should be none of
    for kind in kinds.values():
        if kind.is_found:
            table, name = kind.table.name, kind.name
            counted[f"documents of kind {name} without a record"] = (
                f"documents WHERE kind = '{name}' AND record_id NOT IN (SELECT id FROM {table})"
            )
            if not kind.is_file:  # a file that a package owns has no document of its own
                counted[f"records of kind {name} that no search finds"] = (
                    f"{table} WHERE id NOT IN (SELECT record_id FROM documents WHERE kind = '{name}')"
                )
    known = ", ".join(f"'{kind}'" for kind in document_kinds(kinds))
    counted["documents of sessions that are not there"] = (
        "documents WHERE session_id > 0 AND session_id NOT IN (SELECT id FROM sessions)"
    )
    counted["documents of no known kind, which the index cannot take"] = f"documents WHERE kind NOT IN ({known})"
    counts = {what: _number(primary, f"SELECT count(*) FROM {where}") for what, where in counted.items()}
    missing = "; ".join(f"{count} {what}" for what, count in counts.items() if count)
    return find("records", "missing" * bool(missing), missing=missing)


def _rules(primary: apsw.Connection) -> Finding:
    older = _number(primary, "SELECT count(*) FROM documents WHERE ruleset < ?", RULESET_VERSION)
    newer = _number(primary, "SELECT count(*) FROM documents WHERE ruleset > ?", RULESET_VERSION)
    case = "newer" if newer else "older" * bool(older)
    return find("redaction-rules", case, newer=newer, older=older, ruleset=RULESET_VERSION)


def _clock(primary: apsw.Connection) -> Finding:
    newest = _number(
        primary,
        "SELECT max((SELECT coalesce(max(created_at), 0) FROM documents WHERE kind NOT IN ('artifact', 'passage')),"
        " (SELECT coalesce(max(created_at), 0) FROM sessions))",
    )
    case = "future" if newest > now_us() + _CLOCK_TOLERANCE_US else "none" * (not newest)
    return find("clock", case, newest=format_us(newest))


_CHECKS: dict[str, Callable[[apsw.Connection], Finding]] = {
    "texts": examine_texts,
    "feed": _change_log,
    "references": _references,
    "records": _records,
    "redaction-rules": _rules,
    "forgetting": lambda primary: find("forgetting", "unfinished" * is_erasing_due(primary)),
    "clock": _clock,
}

"""The primary database: is it a store of ours, is it sound, do its parts fit together?"""

import os
from collections.abc import Callable, Iterator
from contextlib import closing

import apsw

from ctxrank.indexer.care.finding import Finding, Repair, fail, guarded, locked, ok, warn
from ctxrank.indexer.catalogue import document_kinds, kinds_of
from ctxrank.indexer.clock import format_us, now_us
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.privacy.erase import is_erasing_due
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store.connection import (
    APPLICATION_ID,
    SCHEMA_VERSION,
    file_uri,
    read_column,
    read_rows,
    read_value,
    snapshot,
    wait_for_locks,
)
from ctxrank.indexer.store.location import Location
from ctxrank.indexer.store.migrations import FIRST_SCHEMA, UNRELEASED_STEP
from ctxrank.indexer.text.lines import WIPED

SALVAGE_STEP = (
    "'ctxrank doctor --repair dry-run' counts what can be saved; '--repair apply' saves it and keeps a copy of the"
    " file as it is."
)
FOREIGN_STEP = (
    "Point --db elsewhere: nothing here changes it. 'ctxrank import --help' says which databases can come in."
)
_SHOWN_PROBLEMS = 3
_CLOCK_TOLERANCE_US = 5 * 60 * 10**6


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
    name = location.primary
    try:
        if os.path.getsize(name) == 0 and os.path.exists(location.index_file):
            step = f"Restore it from a backup; {location.folder}/backups has what doctor kept."
            yield fail("truth-file", f"{name} is empty, though its index is there", step)
            return
        primary = open_to_look(name, busy_ms)
    except (apsw.BusyError, apsw.LockedError):
        yield locked("truth-file", name)
        return
    except apsw.NotADBError:
        yield fail(
            "truth-file", f"{name} is not an SQLite database: its header is damaged", SALVAGE_STEP, Repair.SALVAGE
        )
        return
    except apsw.CorruptError as error:
        yield fail("truth-file", f"{name}: {error}", SALVAGE_STEP, Repair.SALVAGE)
        return
    except (apsw.Error, OSError) as error:
        yield fail("truth-file", f"{name} cannot be opened: {error}", "Check that you may read it.")
        return
    is_readable = True
    with closing(primary):
        for finding in guarded("truth-file", name, _recognised(primary, name), name, SALVAGE_STEP, Repair.SALVAGE):
            is_readable = finding.id != "truth-file"
            yield finding
    if is_readable:
        yield _sound(name, busy_ms, is_deep=is_deep)


def _recognised(primary: apsw.Connection, name: str) -> Iterator[Finding]:
    mode = primary.pragma("journal_mode")
    yield _schema(primary, name)
    if mode == "wal":
        yield ok("wal-mode", "readers and a writer do not wait for each other")
    else:
        yield warn("wal-mode", f"the journal mode is {mode}", "Nothing to do: the next call switches to WAL.")


def _schema(primary: apsw.Connection, name: str) -> Finding:
    version, owner = primary.pragma("user_version"), primary.pragma("application_id")
    if version > SCHEMA_VERSION and owner == APPLICATION_ID:
        step = "It was written by a newer ctxrank: upgrade this one. Nothing here repairs it."
        return fail("schema", f"schema {version}; this program knows up to {SCHEMA_VERSION}", step)
    if owner != APPLICATION_ID:
        is_empty = primary.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is None
        if is_empty:
            return warn("schema", f"{name} holds nothing yet", "Nothing to do: the first call makes its tables.")
        return fail("schema", f"{name} is an SQLite database, but not a ctxrank store", FOREIGN_STEP)
    if version < FIRST_SCHEMA:
        return fail("schema", f"schema {version}, of a ctxrank from before the first release", UNRELEASED_STEP)
    if version < SCHEMA_VERSION:
        return warn(
            "schema", f"schema {version} of {SCHEMA_VERSION}", "Nothing to do: the next call brings it up to date."
        )
    return ok("schema", f"schema {version}")


def _sound(name: str, busy_ms: int, *, is_deep: bool) -> Finding:
    """Looked at twice, through two connections: a page that was read in the wrong moment is no damage."""
    check = "integrity_check" if is_deep else "quick_check"
    problems: list[str] = []
    for _ in range(2):
        try:
            with closing(open_to_look(name, busy_ms)) as primary:
                problems = read_column(primary, f"PRAGMA {check}(20)", (), str)
        except (apsw.BusyError, apsw.LockedError):
            return locked("truth-integrity", name)
        except (apsw.Error, UnicodeDecodeError) as error:
            problems = [str(error)]
        if problems == ["ok"]:
            return ok("truth-integrity", f"SQLite's {check.replace('_', ' ')} finds nothing")
    lines = [line.strip() for problem in problems for line in problem.split("\n") if not line.startswith("***")]
    shown = "; ".join((lines or problems)[:_SHOWN_PROBLEMS])
    return fail("truth-integrity", shown, SALVAGE_STEP, Repair.SALVAGE)


def examine_primary(primary: apsw.Connection) -> Iterator[Finding]:
    """Whether the contents of the tables are consistent; for a file of the present schema."""
    for id, check in _CHECKS.items():
        says = "could not be looked at"
        yield from guarded(id, primary.filename, _at_one_moment(primary, check), says, SALVAGE_STEP, Repair.SALVAGE)


def _at_one_moment(primary: apsw.Connection, check: Callable[[apsw.Connection], Finding]) -> Iterator[Finding]:
    with snapshot(primary):  # its questions are about one moment: others may write meanwhile
        finding = check(primary)
    yield finding


def _number(primary: apsw.Connection, query: str, *values: int | str) -> int:
    return read_value(primary, query, values, int) or 0


class _TextColumn(NamedTuple):
    """A column that holds text."""

    table: str
    name: str


def _texts(primary: apsw.Connection) -> Finding:
    """SQLite checks where a text is, not what it says: a wiped page reads as zeros, and any bytes pass for text."""
    wiped: list[str] = []
    undecodable: list[str] = []
    query = """
        SELECT t.name, c.name
          FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
         WHERE t.schema = 'main' AND t.type = 'table' AND c.type = 'TEXT'
    """
    for table, column in list(read_rows(primary, query, (), _TextColumn)):
        count = _number(primary, f'SELECT count(*) FROM "{table}" WHERE instr("{column}", ?)', WIPED)
        if count:
            wiped.append(f"{count} in {table}.{column}")
        # One such text keeps the index from taking in whatever comes behind it.
        count = sum(
            not _is_utf8(text) for (text,) in primary.execute(f'SELECT CAST("{column}" AS BLOB) FROM "{table}"')
        )
        if count:
            undecodable.append(f"{count} in {table}.{column}")
    if wiped:
        return fail("texts", f"texts were wiped: {', '.join(wiped)}", SALVAGE_STEP, Repair.SALVAGE)
    if undecodable:
        return fail("texts", f"texts are no longer UTF-8: {', '.join(undecodable)}", SALVAGE_STEP, Repair.SALVAGE)
    return ok("texts", "no text was wiped, all are UTF-8")


def _is_utf8(text: object) -> bool:
    if not isinstance(text, bytes) or text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _change_log(primary: apsw.Connection) -> Finding:
    last = read_value(primary, "SELECT seq FROM store WHERE id = 1", (), int)
    if last is None:
        return fail("feed", "the store has lost its counter row", SALVAGE_STEP, Repair.SALVAGE)
    above = _number(
        primary,
        "SELECT (SELECT count(*) FROM documents WHERE seq > ?1) + (SELECT count(*) FROM tombstones WHERE seq > ?1)",
        last,
    )
    both = _number(primary, "SELECT count(*) FROM tombstones WHERE document_id IN (SELECT id FROM documents)")
    if above or both:
        evidence = f"{above} changes are numbered above the counter ({last}); {both} documents are also deleted"
        return fail("feed", evidence, SALVAGE_STEP, Repair.SALVAGE)
    if last and not _number(primary, "SELECT count(*) FROM history_checkpoints WHERE seq >= ?", last):
        step = "Nothing to do: the next call rebuilds the index."
        return warn("feed", f"change {last} has no checkpoint", step)
    return ok("feed", f"{last} changes, each numbered once")


def _references(primary: apsw.Connection) -> Finding:
    query = """SELECT "table" || ' without ' || parent FROM pragma_foreign_key_check"""
    broken = read_column(primary, query, (), str)
    if broken:
        return fail("references", f"{len(broken)} rows: {', '.join(sorted({*broken}))}", SALVAGE_STEP, Repair.SALVAGE)
    return ok("references", "every row has what it belongs to")


def _records(primary: apsw.Connection) -> Finding:
    """A record and its document are two rows: neither may be without the other."""
    missing: list[str] = []
    kinds = kinds_of(primary)
    for kind, table in [(kind.name, kind.table.name) for kind in kinds.values() if kind.is_found]:
        orphans = _number(
            primary,
            f"SELECT count(*) FROM documents WHERE kind = '{kind}' AND record_id NOT IN (SELECT id FROM {table})",
        )
        if orphans:
            missing.append(f"{orphans} documents of kind {kind} without a record")
        if kinds[kind].is_file:  # a file that a package owns has no document of its own
            continue
        mute = _number(
            primary,
            f"SELECT count(*) FROM {table} WHERE id NOT IN (SELECT record_id FROM documents WHERE kind = '{kind}')",
        )
        if mute:
            missing.append(f"{mute} records of kind {kind} that no search finds")
    lost = _number(
        primary, "SELECT count(*) FROM documents WHERE session_id > 0 AND session_id NOT IN (SELECT id FROM sessions)"
    )
    if lost:
        missing.append(f"{lost} documents of sessions that are not there")
    known = ", ".join(f"'{kind}'" for kind in document_kinds(kinds))
    strange = _number(primary, f"SELECT count(*) FROM documents WHERE kind NOT IN ({known})")
    if strange:
        missing.append(f"{strange} documents of no known kind, which the index cannot take")
    if missing:
        return fail("records", "; ".join(missing), SALVAGE_STEP, Repair.SALVAGE)
    return ok("records", "every record is findable, every document has a record")


def _rules(primary: apsw.Connection) -> Finding:
    older = _number(primary, "SELECT count(*) FROM documents WHERE ruleset < ?", RULESET_VERSION)
    newer = _number(primary, "SELECT count(*) FROM documents WHERE ruleset > ?", RULESET_VERSION)
    if newer:
        evidence = f"{newer} documents were redacted by rules newer than {RULESET_VERSION}"
        return warn("redaction-rules", evidence, "Upgrade this ctxrank: a newer one wrote here.")
    if older:
        evidence = f"{older} documents were stored under rules older than {RULESET_VERSION}"
        step = "They are redacted when shown; 'ctxrank purge --redact' does it for good."
        return warn("redaction-rules", evidence, step)
    return ok("redaction-rules", f"everything was stored under rules {RULESET_VERSION}")


def _forgetting(primary: apsw.Connection) -> Finding:
    if is_erasing_due(primary):
        evidence = "a purge is not finished: bytes of what was removed may be in the files"
        return warn("forgetting", evidence, "'ctxrank purge' finishes it.")
    return ok("forgetting", "no purge is unfinished")


def _clock(primary: apsw.Connection) -> Finding:
    newest = _number(
        primary,
        "SELECT max((SELECT coalesce(max(created_at), 0) FROM documents WHERE kind NOT IN ('artifact', 'passage')),"
        " (SELECT coalesce(max(created_at), 0) FROM sessions))",
    )
    if newest > now_us() + _CLOCK_TOLERANCE_US:
        step = "Check this machine's clock, and that of the machine the records came from: ages are counted from it."
        return warn("clock", f"the newest record is of {format_us(newest)}, which is in the future", step)
    return ok("clock", f"the newest record is of {format_us(newest)}" if newest else "there are no records yet")


_CHECKS: dict[str, Callable[[apsw.Connection], Finding]] = {
    "texts": _texts,
    "feed": _change_log,
    "references": _references,
    "records": _records,
    "redaction-rules": _rules,
    "forgetting": _forgetting,
    "clock": _clock,
}

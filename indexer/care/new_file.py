"""A sound primary database made of what can be read in a damaged one: rows, ids and change numbers as they were.

    report = save_what_can_be_read("damaged.db", "new.db")
    report.is_complete, report.needs_index

The damaged file is only read. The new one has all tables of the schema, also those of which nothing could be read; an
index made from the damaged file does not take the new one for it, and is rebuilt.
"""

import os
import uuid
from collections.abc import Mapping
from contextlib import closing

import apsw

from ctxrank.indexer.care.page_reader import CopiedTable, page_reader
from ctxrank.indexer.care.relations import repair_relations
from ctxrank.indexer.catalogue import tables_of
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.owners import apply_schema as apply_owner_schema
from ctxrank.indexer.owners import installed_owners, name_owner, owners, require_owners
from ctxrank.indexer.store.connection import (
    APPLICATION_ID,
    immediate,
    keep_temporary_files_beside,
    read_column,
    read_map,
)
from ctxrank.indexer.store.known_stores import new_token
from ctxrank.indexer.store.migrations import PRESENT, Schema, apply_schema, refuse_version
from ctxrank.indexer.store.store import Change
from ctxrank.indexer.systems import sync_path

if TYPE_CHECKING:
    from ctxrank.indexer.care.page_reader import DamagedFile

_USER_VERSION_AT, _APPLICATION_ID_AT = 60, 68
_SHOWN_IDS = 20


class TableReport(NamedTuple):
    """One table: rows saved as they were, made again from what else was known of them, and lost.

    Where `is_count_known` is false, more may be lost than that: how many rows an unreadable page had is unknown.
    """

    name: str
    saved: int
    rebuilt: int
    lost: int
    lost_ids: tuple[int, ...]
    is_count_known: bool
    problems: tuple[str, ...]


class SalvageReport(NamedTuple):
    """What became of each table. `unclaimed_pages` hold rows whose table is unknown."""

    tables: tuple[TableReport, ...]
    unclaimed_pages: int

    @property
    def is_complete(self) -> bool:
        """Whether nothing is lost for certain."""
        return not self.unclaimed_pages and not any(table.lost or not table.is_count_known for table in self.tables)

    @property
    def needs_index(self) -> bool:
        """Whether passages are missing that are still in their files."""
        return any(table.problems or table.lost for table in self.tables if table.name in ("documents", "artifacts"))


def save_what_can_be_read(damaged: str, new: str, *, store_uuid: str = "", schema: Schema = PRESENT) -> SalvageReport:
    """Make the new file. No connection of this process may have the damaged one open.

    `store_uuid` is the uuid of the store, where another file holds it: the digests of the blocklist are keyed with it.

    The new file has the present schema, whatever older one the damaged file has. Raises DamagedError for one from a
    newer program or from before the first release, or where nothing of a store can be read in it.
    """
    with closing(page_reader("doctor --repair").open(damaged)) as file:
        version = schema.version  # where the file says none that can be
        if file.has_magic and file.header_number(_APPLICATION_ID_AT) == APPLICATION_ID:
            stated = file.header_number(_USER_VERSION_AT)
            if 1 <= stated < 1000:
                refuse_version(stated, damaged, schema)
                version = stated
        touch(new)
        with closing(apsw.Connection(new)) as primary:
            keep_temporary_files_beside(primary, new)
            primary.pragma("page_size", file.page_bytes)  # else it cannot be copied over the damaged one
            primary.pragma("journal_mode", "off")  # a file that is not finished is thrown away
            primary.pragma("foreign_keys", False)
            with immediate(primary):
                report = _fill(file, primary, schema._replace(version=version), schema, store_uuid)
            problems = read_column(primary, "PRAGMA integrity_check(5)", (), str)
            assert problems == ["ok"], f"a file that was just made is damaged: {problems}"
    sync_path(new)
    return report


def _fill(
    file: "DamagedFile", primary: apsw.Connection, before: Schema, schema: Schema, store_uuid: str
) -> SalvageReport:
    apply_schema(primary, 0, before)
    for owner in installed_owners():  # which of them the store has is in the file that is to be read
        apply_owner_schema(primary, owner)
    # Rows come in as they were, without what a change of them would do.
    primary.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    copied = file.copy_tables(primary)
    if not any(table.saved for table in copied.values()):
        raise DamagedError("Nothing of a store can be read in the file.", "Restore it from a backup.")
    primary.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)
    apply_schema(primary, before.version, schema)
    _settle_owners(primary)
    primary.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    primary.pragma("application_id", APPLICATION_ID)
    primary.pragma("user_version", schema.version)
    if primary.execute("SELECT 1 FROM store").fetchone() is None:
        row = (store_uuid or str(uuid.uuid4()), now_us(), new_token())
        primary.execute("INSERT INTO store (id, uuid, seq, created_at, token) VALUES (1, ?, 0, ?, ?)", row)
    _number_on(file, primary, copied)
    change = Change(primary)
    rebuilt, dropped = repair_relations(change, {name: table.lost for name, table in copied.items()})
    # Another history begins: an index made from the damaged file is rebuilt, and not believed.
    primary.execute("DELETE FROM history_checkpoints")
    change.next_seq()
    change.finish()
    primary.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)
    there = _tables(primary) - {table.name for table in tables_of(primary) if table.is_derived}
    reports = [
        _reported(primary, table, rebuilt[table.name], dropped[table.name])
        for table in copied.values()
        if table.name in there
    ]
    return SalvageReport(tuple(reports), file.unclaimed)


def _settle_owners(primary: apsw.Connection) -> None:
    """Name the extensions whose rows were found, and drop the tables of others. Raises UsageError for an absent one."""
    require_owners(primary, "doctor --repair")
    there = _tables(primary)
    for owner in installed_owners():
        tables = [table.name for table in owner.all_tables if table.name in there]
        if any(primary.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in tables):
            name_owner(primary, owner)
        elif owner not in owners(primary):
            for table in tables:
                primary.execute(f"DROP TABLE {table}")


def _tables(primary: apsw.Connection) -> set[str]:
    return set(read_column(primary, "SELECT name FROM sqlite_schema WHERE type = 'table'", (), str))


def _number_on(file: "DamagedFile", primary: apsw.Connection, copied: Mapping[str, CopiedTable]) -> None:
    """Go on counting where the damaged file was: no id and no number of the change log is given twice."""
    given = read_map(primary, "SELECT name, seq FROM sqlite_sequence", (), str, int)
    for name, last in file.highest_ids().items():
        if name in copied:
            given[name] = max(given.get(name, 0), last)
    primary.execute("DELETE FROM sqlite_sequence")
    for name, last in given.items():
        highest = max(last, 0, *copied[name].lost)
        primary.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (name, highest))
    primary.execute(
        """
        UPDATE store
           SET seq = max(seq,
                         coalesce((SELECT max(seq) FROM documents), 0),
                         coalesce((SELECT max(seq) FROM tombstones), 0),
                         coalesce((SELECT max(seq) FROM history_checkpoints), 0))
        """
    )
    primary.execute("INSERT OR IGNORE INTO roots (id, path) VALUES (1, '.')")


def _reported(primary: apsw.Connection, table: CopiedTable, rebuilt: int, dropped: int) -> TableReport:
    here = read_column(primary, f'SELECT rowid FROM "{table.name}"', (), int) if table.lost else ()
    still = sorted(table.lost.keys() - here)
    lost = max(len(still), table.unreadable + table.rejected - rebuilt, 0) + dropped
    return TableReport(
        table.name, table.saved, rebuilt, lost, tuple(still[:_SHOWN_IDS]), table.is_count_known, table.problems
    )


def touch(path: str) -> None:
    """Make a new, empty file for its owner alone. Raises FileExistsError."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))

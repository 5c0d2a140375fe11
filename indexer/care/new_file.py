"""A sound primary database made of what can be read in a damaged one: rows, ids and change numbers as they were.

    report = save_what_can_be_read("damaged.db", "new.db")
    report.saved, report.lost

The damaged file is only read. The new one has all tables of the schema, also those of which nothing could be read; an
index made from the damaged file does not take the new one for it, and is rebuilt.
"""

import os
import uuid
from collections.abc import Mapping

import apsw

from ctxrank.indexer.care.relations import RepairedRows, repair_relations
from ctxrank.indexer.care.sqlite_salvage.layout import SEQUENCE_TABLE, read_layout
from ctxrank.indexer.care.sqlite_salvage.pages import PageFile, Record
from ctxrank.indexer.care.sqlite_salvage.rows import CopiedTable, copy_table, read_records
from ctxrank.indexer.care.sqlite_salvage.trees import Ownership, find_owners
from ctxrank.indexer.catalogue import tables
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.light_typing import NamedTuple
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
from ctxrank.indexer.systems import sync

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
    def saved(self) -> int:
        """Rows that are as they were."""
        return sum(table.saved for table in self.tables)

    @property
    def rebuilt(self) -> int:
        """Rows rebuilt from their document, their record or their indexes; details may be missing."""
        return sum(table.rebuilt for table in self.tables)

    @property
    def lost(self) -> int:
        """Rows known to be lost."""
        return sum(table.lost for table in self.tables)

    @property
    def is_count_known(self) -> bool:
        """Whether no more than that is lost."""
        return not self.unclaimed_pages and all(table.is_count_known for table in self.tables)

    @property
    def is_complete(self) -> bool:
        """Whether nothing is lost for certain."""
        return not self.lost and self.is_count_known

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
    file = PageFile(damaged)
    try:
        version = _version(file, damaged, schema)
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        primary = apsw.Connection(new)
        try:
            keep_temporary_files_beside(primary, new)
            primary.pragma("journal_mode", "off")  # a file that is not finished is thrown away
            primary.pragma("foreign_keys", False)
            with immediate(primary):
                report = _fill(file, primary, schema._replace(version=version), schema, store_uuid)
            problems = read_column(primary, "PRAGMA integrity_check(5)", (), str)
            assert problems == ["ok"], f"a file that was just made is damaged: {problems}"
        finally:
            primary.close()
        descriptor = os.open(new, os.O_RDONLY)
        sync(descriptor)
        os.close(descriptor)
        return report
    finally:
        file.close()


def _version(file: PageFile, path: str, schema: Schema) -> int:
    """The schema that the file says it has; the present one where it says nothing that can be. Raises DamagedError."""
    if file.has_magic and file.header_number(_APPLICATION_ID_AT) == APPLICATION_ID:
        version = file.header_number(_USER_VERSION_AT)
        if 1 <= version < 1000:
            refuse_version(version, path, schema)
            return version
    return schema.version


def _fill(file: PageFile, primary: apsw.Connection, before: Schema, schema: Schema, store_uuid: str) -> SalvageReport:
    apply_schema(primary, 0, before)
    layouts = read_layout(primary)
    owners = find_owners(file, layouts)
    triggers = _drop_triggers(primary)
    copied = {table.name: copy_table(file, owners, table, primary) for table in layouts if table.name != SEQUENCE_TABLE}
    if not any(table.saved for table in copied.values()):
        raise DamagedError("Nothing of a store can be read in the file.", "Restore it from a backup.")
    _make_triggers(primary, triggers)  # a migration may change them
    apply_schema(primary, before.version, schema)
    triggers = _drop_triggers(primary)
    primary.pragma("application_id", APPLICATION_ID)
    primary.pragma("user_version", schema.version)
    if primary.execute("SELECT 1 FROM store").fetchone() is None:
        row = (store_uuid or str(uuid.uuid4()), now_us(), new_token())
        primary.execute("INSERT INTO store (id, uuid, seq, created_at, token) VALUES (1, ?, 0, ?, ?)", row)
    _number_on(file, owners, primary, copied)
    change = Change(primary)
    repaired = repair_relations(change, {name: table.lost for name, table in copied.items()})
    change.finish()
    _make_triggers(primary, triggers)
    _mark(primary)
    derived = {table.name for table in tables() if table.is_derived}
    reports = [_reported(primary, table, repaired) for table in copied.values() if table.name not in derived]
    return SalvageReport(tuple(reports), len(owners.unclaimed))


def _drop_triggers(primary: apsw.Connection) -> list[str]:
    """Rows come in as they were, without what a change of them would do; returns how to make the triggers again."""
    triggers = read_map(primary, "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'", (), str, str)
    for name in triggers:
        primary.execute(f'DROP TRIGGER "{name}"')
    return list(triggers.values())


def _make_triggers(primary: apsw.Connection, triggers: list[str]) -> None:
    for sql in triggers:
        primary.execute(sql)


def _number_on(file: PageFile, owners: Ownership, primary: apsw.Connection, copied: Mapping[str, CopiedTable]) -> None:
    """Go on counting where the damaged file was: no id and no number of the change log is given twice."""
    given = read_map(primary, "SELECT name, seq FROM sqlite_sequence", (), str, int)
    for record in read_records(file, owners.trees[SEQUENCE_TABLE].pages):
        name, last = record.values if isinstance(record, Record) and len(record.values) == 2 else (None, None)
        if isinstance(name, str) and isinstance(last, int) and name in copied:
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


def _mark(primary: apsw.Connection) -> None:
    """Begin another history: an index made from the damaged file is rebuilt, and not believed."""
    primary.execute("UPDATE store SET seq = seq + 1")
    primary.execute("DELETE FROM history_checkpoints")
    mark = int.from_bytes(os.urandom(7), "big")
    primary.execute("INSERT INTO history_checkpoints (seq, history_id) SELECT seq, ? FROM store", (mark,))


def _reported(primary: apsw.Connection, table: CopiedTable, repaired: RepairedRows) -> TableReport:
    again = repaired.rebuilt.get(table.name, 0)
    still = [number for number in table.lost if not _has_row(primary, table.name, number)]
    lost = max(len(still), table.unreadable + table.rejected - again, 0) + repaired.dropped.get(table.name, 0)
    return TableReport(
        table.name, table.saved, again, lost, tuple(sorted(still)[:_SHOWN_IDS]), table.is_count_known, table.problems
    )


def _has_row(primary: apsw.Connection, table: str, number: int) -> bool:
    return primary.execute(f'SELECT 1 FROM "{table}" WHERE rowid = ?', (number,)).fetchone() is not None

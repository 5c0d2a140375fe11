"""The ledger of an import: what came in, from which row, so that a second run brings only what changed.

A row is known by what it is and not by the file it was read from: its number together with what never
changes in it. So a database that was moved, copied or restored from a backup is still the same source,
and two that grew apart from one copy do not overwrite each other's rows.
"""

import contextlib
from collections.abc import Generator

import apsw

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import read_column, read_row, read_rows
from ctxrank.indexer.store.store import Change
from ctxrank.indexer.text.digests import digest_of


class Entry(NamedTuple):
    """The digest of a row as it was when it came, and the row here that it became."""

    digest: str
    target_id: int


class Ledger:
    """The entries of one source; each kind is read once, when it is first asked for."""

    def __init__(self, primary: apsw.Connection, source: str) -> None:
        self._primary = primary
        self._source = source
        self._entries: dict[str, dict[str, Entry]] = {}
        self._unwritten: dict[tuple[str, str], Entry] = {}
        self._data_version = primary.pragma("data_version")
        self._is_ours_alone = True

    def entry(self, kind: str, key: str) -> Entry | None:
        """What is known of a row, as it was when this kind was first asked for and with our own additions."""
        entries = self._entries.get(kind)
        if entries is None:
            query = "SELECT source_key, digest, target_id FROM imported_rows WHERE source = ? AND kind = ?"
            rows = read_rows(self._primary, query, (self._source, kind), _keyed)
            entries = self._entries[kind] = dict(rows)
        return entries.get(key)

    def target(self, kind: str, key: str) -> int | None:
        """The row here that a row of the source became."""
        entry = self.entry(kind, key)
        return None if entry is None else entry.target_id

    def targets(self, change: Change, kind: str) -> set[int]:
        """All rows here that rows of the source became, those of the open transaction included."""
        query = "SELECT target_id FROM imported_rows WHERE source = ? AND kind = ?"
        written = read_column(change.connection, query, (self._source, kind), int)
        return {*written} | {entry.target_id for (of, _), entry in self._unwritten.items() if of == kind}

    @contextlib.contextmanager
    def writing(self, change: Change) -> Generator[None, None, None]:
        """What is recorded inside is written at its end, in the caller's transaction."""
        self._unwritten.clear()
        # It changes as soon as anybody else has committed anything; from then on every row is looked up.
        if change.connection.pragma("data_version") != self._data_version:
            self._is_ours_alone = False
        yield
        change.connection.executemany(
            "INSERT OR REPLACE INTO imported_rows (source, kind, source_key, digest, target_id) VALUES (?, ?, ?, ?, ?)",
            [(self._source, *name, *entry) for name, entry in self._unwritten.items()],
        )
        self._unwritten.clear()

    def locked_entry(self, change: Change, kind: str, key: str) -> Entry | None:
        """What is known of a row now that the lock is held: another import may have been faster."""
        if self._is_ours_alone or (kind, key) in self._unwritten:
            return self.entry(kind, key)
        query = "SELECT digest, target_id FROM imported_rows WHERE source = ? AND kind = ? AND source_key = ?"
        entry = read_row(change.connection, query, (self._source, kind, key), Entry)
        if entry is not None:
            self._entries.setdefault(kind, {})[key] = entry
        return entry

    def record(self, kind: str, key: str, entry: Entry) -> None:
        """Note, inside `writing`, what a row became."""
        self._unwritten[kind, key] = entry
        self._entries.setdefault(kind, {})[key] = entry


def _keyed(key: str, digest: str, target_id: int) -> tuple[str, Entry]:
    return key, Entry(digest, target_id)


def row_digest(row: tuple[object, ...]) -> str:
    """A digest of all values of a row."""
    return digest_of(repr(row), 16)


def row_key(number: int | None, *identity: object) -> str:
    """The key of a row: its number, and a hash of what never changes in it (which may hold a secret)."""
    suffix = digest_of(repr(identity), 8)
    return suffix if number is None else f"{number}:{suffix}"

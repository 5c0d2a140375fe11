"""Whose a record is, and which state of it: what makes an import of the same lines, in any order, end the same.

A record's key is (origin, kind, number), and its state is a register: the line with the highest number of its origin's
record log wins, be it the record or the note that it was removed. Only its origin writes it, so two lines with one
number say the same. The ledger keeps the number that was applied last.

What several stores say of one thing is joined, each time by an operation that takes no notice of order or repetition:

    errors, strategies     one row by natural key; counts are kept for each origin and summed, of texts the younger
    sessions, groups       one row by (project, name); the one that was made first says what they are
    taken and shown        a union, the later moment of two
    orders to forget       a union
"""

from collections.abc import Mapping

import apsw

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.ledger import Entry, Ledger
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import read_row
from ctxrank.indexer.store.ids import MAX_FOREIGN_NUMBER, foreign_id
from ctxrank.indexer.store.store import Change

GONE = 1 << 60  # beyond the number of any change: what has to be forgotten stays so
_UUID_PARTS = (8, 4, 4, 4, 12)
_HEXADECIMAL = frozenset("0123456789abcdef")


class Origin(NamedTuple):
    """The store that made the lines; `code` is 0 where that is the store they come to."""

    uuid: str
    code: int
    is_backup: bool = False  # the file is an export of the very store that it comes to

    def local(self, number: int) -> int:
        """The row id here of a record by its number there."""
        return foreign_id(self.code, number) if self.code else number


def is_uuid(text: str) -> bool:
    """Whether a text can be the uuid of a store."""
    parts = text.split("-")
    return tuple(map(len, parts)) == _UUID_PARTS and _HEXADECIMAL.issuperset("".join(parts))


def number_of(values: Mapping[str, object], name: str = "id", *, most: int = MAX_FOREIGN_NUMBER) -> int:
    """A number that a line has to say. Raises UsageError."""
    value = values.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise UsageError(f"its '{name}' is not a whole number from 1 to {most}")
    return value


def seq_of(values: Mapping[str, object]) -> int:
    """The number of the record's last change in the log of its origin. Raises UsageError."""
    return number_of(values, "seq", most=GONE - 1)


class VersionLedger(Ledger):
    """What of one origin was applied: by kind and key the number of the last change, asked one by one.

    Of this store's own records it is what the record log says: they are never older here than in a file. What was
    removed here comes back from an own export (`is_backup`) alone, and what was purged never.
    """

    def __init__(self, primary: apsw.Connection, source: str, *, is_own: bool, is_backup: bool) -> None:
        super().__init__(primary, source)
        self._is_own = is_own
        self._gone = 2 if is_backup else 1

    def entry(self, kind: str, key: str) -> Entry | None:
        """What is known of a record now."""
        if (kind, key) in self._unwritten:
            return self._unwritten[kind, key]
        if self._is_own and key.isdecimal():
            query = "SELECT ?, number FROM record_log WHERE kind = ? AND number = ? AND (gone = 0 OR gone >= ?)"
            return read_row(self._primary, query, (str(GONE), kind, int(key), self._gone), Entry)
        query = "SELECT digest, target_id FROM imported_rows WHERE source = ? AND kind = ? AND source_key = ?"
        return read_row(self._primary, query, (self._source, kind, key), Entry)

    def locked_entry(self, change: Change, kind: str, key: str) -> Entry | None:
        """The same: nothing is remembered that another process could have changed."""
        return self.entry(kind, key)

    def record(self, kind: str, key: str, entry: Entry) -> None:
        """Note, inside `writing`, what a record became."""
        self._unwritten[kind, key] = entry

    def is_new(self, kind: str, key: str, seq: str) -> bool:
        """Whether a line says something later than what was applied."""
        known = self.entry(kind, key)
        return known is None or version(known) < int(seq)


def version(entry: Entry) -> int:
    """The number of the change that an entry stands for; none of an entry from before there were such numbers."""
    return int(entry.digest) if entry.digest.isdecimal() and len(entry.digest) < 20 else 0

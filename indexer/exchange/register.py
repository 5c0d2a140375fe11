"""The register of an exchange: by source, kind and key the state of a record that was applied last, and its row here.

An import of the same lines, in any order, ends the same. A record's key is (origin, kind, number), and its state is the
number of its last change in its origin's record log: the line with the highest number wins, be it the record or the
note that it was removed. Only its origin writes it, so two lines with one number say the same. What several stores say
of one thing is merged, each time by an operation that takes no notice of order or repetition:

    errors, strategies     one row by natural key; counts are kept for each origin and summed, of texts the younger
    sessions, groups       one row by (project, name); the one that was made first says what they are
    taken and shown        a union, the later moment of two
    orders to forget       a union
"""

from collections.abc import Mapping

from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.ids import MAX_FOREIGN_NUMBER, foreign_id
from ctxrank.indexer.text.digests import digest_of

# Kinds with one row for all stores, by their natural key.
COUNTED = tuple(kind.name for kind in KINDS.values() if kind.counts)
GONE = 1 << 60  # beyond the number of any change: what has to be forgotten stays so


class Origin(NamedTuple):
    """The store that made the lines; `code` is 0 where that is the store they come to."""

    uuid: str
    code: int
    is_backup: bool = False  # the file is an export of the very store that it comes to
    is_accepted: bool = True  # what it says is said here, and what it confirmed is confirmed

    @property
    def may_add(self) -> bool:
        """Whether it may add what is not here: this store by its own export alone, which a person has accepted."""
        return bool(self.code) or self.is_accepted

    def local(self, number: int) -> int:
        """The row id here of a record by its number there."""
        return foreign_id(self.code, number) if self.code else number


class LineIdentity(NamedTuple):
    """What a line is known by: its key in the register, the state that it says, and its number where it was made."""

    key: str
    state: str
    number: int = 0


def row_key(*identity: object) -> str:
    """The key of a row: a hash of what never changes in it (which may hold a secret)."""
    return digest_of(repr(identity), 8)


def number_of(values: Mapping[str, object], name: str = "id", *, most: int = MAX_FOREIGN_NUMBER) -> int:
    """A number that a line has to say. Raises UsageError."""
    value = values.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise UsageError(f"its '{name}' is not a whole number from 1 to {most}")
    return value


def seq_of(values: Mapping[str, object]) -> int:
    """The number of the record's last change in the log of its origin. Raises UsageError."""
    return number_of(values, "seq", most=GONE - 1)

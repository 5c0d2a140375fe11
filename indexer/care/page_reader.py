"""The port of a reader of damaged files: what a repair asks of whatever reads a file page by page, without SQLite.

Only a file that SQLite cannot read is asked about. Where the extension is absent, checks that need no page still work,
and a repair that must read pages is refused in words, before anything is touched.
"""

from collections.abc import Collection, Mapping

from ctxrank.indexer.extensions import PAGE_READER, provided
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from typing import Protocol

    import apsw

    class DamagedFile(Protocol):
        """An open database file that no connection of this process has open: closing a file drops its locks."""

        has_magic: bool  # whether it begins as SQLite's files do
        page_bytes: int

        def header_number(self, offset: int) -> int:
            """Four bytes of the file's header; 0 where the file is shorter."""
            ...

        def copy_tables(self, new: apsw.Connection) -> "dict[str, CopiedTable]":
            """Put every row that can be read into the tables of an empty database; what became of each, by name."""
            ...

        def highest_ids(self) -> Mapping[str, int]:
            """The highest id that each table has given away, as far as it can be read; after `copy_tables`."""
            ...

        @property
        def unclaimed(self) -> int:
            """How many pages hold rows whose table is not known; after `copy_tables`."""
            ...

        def close(self) -> None:
            """Let go of the file."""

    class PageReader(Protocol):
        """Reads a damaged SQLite file page by page."""

        def open(self, path: str) -> DamagedFile:
            """The file, read and never written."""
            ...

        def names_a_table(self, path: str, tables: Collection[str]) -> bool:
            """Whether a page of the file names one of these tables as SQLite's list of tables does."""
            ...

        def copy_foreign_tables(self, damaged: str, new: str, names: Collection[str]) -> "tuple[ForeignTable, ...]":
            """Make a file with what can be read of some tables of a database that is not ours. Raises DamagedError."""
            ...


Value = int | float | str | bytes | None  # of a column, as SQLite stores it


class CopiedTable(NamedTuple):
    """What became of one table. `lost` is by row number, with the columns that its indexes still know."""

    name: str
    saved: int
    unreadable: int
    rejected: int
    lost: Mapping[int, Mapping[str, Value]]
    is_count_known: bool
    problems: tuple[str, ...]


class ForeignTable(NamedTuple):
    """What became of one table. Where `is_count_known` is false, more may be lost than that."""

    name: str
    saved: int
    lost: int
    is_count_known: bool


def page_reader(wanted: str) -> "PageReader":
    """What reads pages. Raises UsageError where the extension is not installed."""
    return cast("PageReader", provided(PAGE_READER, wanted))

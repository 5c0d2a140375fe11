"""What a repair asks of a reader of pages (`ctxrank.indexer.care.page_reader.PageReader`)."""

import mmap
from collections.abc import Collection, Mapping
from contextlib import closing

import apsw

from ctxrank.extensions.salvage.foreign_tables import copy_foreign_tables
from ctxrank.extensions.salvage.layout import SEQUENCE_TABLE, read_layout
from ctxrank.extensions.salvage.pages import PageFile, Record
from ctxrank.extensions.salvage.rows import copy_table, read_records
from ctxrank.extensions.salvage.trees import Ownership, find_owners, roots_on
from ctxrank.indexer.care.page_reader import CopiedTable, ForeignTable

_MAX_PAGES = 1000  # that say a name and may be looked at


class DamagedPages:
    """A damaged file whose rows go into a new one."""

    def __init__(self, path: str) -> None:
        self._file = PageFile(path)
        self._owners = Ownership({}, ())
        self.has_magic = self._file.has_magic

    def header_number(self, offset: int) -> int:
        """Four bytes of the file's header; 0 where the file is shorter."""
        return self._file.header_number(offset)

    def copy_tables(self, new: apsw.Connection) -> dict[str, CopiedTable]:
        """Put every row that can be read into the tables of an empty database; what became of each, by name."""
        layouts = read_layout(new)
        self._owners = find_owners(self._file, layouts)
        return {
            table.name: copy_table(self._file, self._owners, table, new)
            for table in layouts
            if table.name != SEQUENCE_TABLE
        }

    def highest_ids(self) -> Mapping[str, int]:
        """The highest id that each table has given away, as far as it can be read; after `copy_tables`."""
        given: dict[str, int] = {}
        for record in read_records(self._file, self._owners.trees[SEQUENCE_TABLE].pages):
            name, last = record.values if isinstance(record, Record) and len(record.values) == 2 else (None, None)
            if isinstance(name, str) and isinstance(last, int):
                given[name] = max(given.get(name, 0), last)
        return given

    @property
    def unclaimed(self) -> int:
        """How many pages hold rows whose table is not known; after `copy_tables`."""
        return len(self._owners.unclaimed)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


class SalvagePort:
    """Reads SQLite's file format."""

    def open(self, path: str) -> DamagedPages:
        """The file, read and never written."""
        return DamagedPages(path)

    def names_a_table(self, path: str, tables: Collection[str]) -> bool:
        """Whether a complete page that contains one of these names is a page of SQLite's list of tables that has it."""
        with closing(PageFile(path)) as file:
            pages = _pages_with(path, tables, file.page_bytes, file.count)
            return not roots_on(file, pages).keys().isdisjoint(tables)

    def copy_foreign_tables(self, damaged: str, new: str, names: Collection[str]) -> tuple[ForeignTable, ...]:
        """Make a file with what can be read of some tables of a database that is not ours. Raises DamagedError."""
        return copy_foreign_tables(damaged, new, names)


def _pages_with(path: str, names: Collection[str], page_bytes: int, count: int) -> set[int]:
    found: set[int] = set()
    with open(path, "rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for name in names:
            at = data.find(name.encode())
            while at >= 0 and len(found) < _MAX_PAGES:
                page = at // page_bytes + 1
                if page <= count:
                    found.add(page)
                at = data.find(name.encode(), page * page_bytes)
    return found


READER = SalvagePort()

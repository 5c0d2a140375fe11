"""What a repair asks of a reader of pages (`ctxrank.indexer.care.page_reader.PageReader`)."""

from collections.abc import Collection, Mapping
from contextlib import closing

import apsw

from ctxrank.extensions.salvage.foreign_tables import copy_foreign_tables
from ctxrank.extensions.salvage.layout import SEQUENCE_TABLE, read_layout
from ctxrank.extensions.salvage.pages import PageFile, Record
from ctxrank.extensions.salvage.rows import copy_table, read_records
from ctxrank.extensions.salvage.trees import Ownership, find_owners, roots_on
from ctxrank.indexer.care.page_reader import CopiedTable

_MAX_PAGES = 1000  # that say a name and may be looked at


class DamagedPages(PageFile):
    """A damaged file whose rows go into a new one."""

    _owners = Ownership({}, ())

    def copy_tables(self, new: apsw.Connection) -> dict[str, CopiedTable]:
        """Put every row that can be read into the tables of an empty database; what became of each, by name."""
        layouts = read_layout(new)
        self._owners = find_owners(self, layouts)
        return {
            table.name: copy_table(self, self._owners, table, new) for table in layouts if table.name != SEQUENCE_TABLE
        }

    def highest_ids(self) -> Mapping[str, int]:
        """The highest id that each table has given away, as far as it can be read; after `copy_tables`."""
        given: dict[str, int] = {}
        for record in read_records(self, self._owners.trees[SEQUENCE_TABLE].pages):
            name, last = record.values if isinstance(record, Record) and len(record.values) == 2 else (None, None)
            if isinstance(name, str) and isinstance(last, int):
                given[name] = max(given.get(name, 0), last)
        return given

    @property
    def unclaimed(self) -> int:
        """How many pages hold rows whose table is not known; after `copy_tables`."""
        return len(self._owners.unclaimed)


class SalvagePort:
    """Reads SQLite's file format."""

    open = staticmethod(DamagedPages)
    copy_foreign_tables = staticmethod(copy_foreign_tables)

    def names_a_table(self, path: str, tables: Collection[str]) -> bool:
        """Whether a complete page that contains one of these names is a page of SQLite's list of tables that has it."""
        with closing(PageFile(path)) as file:
            return not roots_on(file, file.pages_with(tables, _MAX_PAGES)).keys().isdisjoint(tables)


READER = SalvagePort()

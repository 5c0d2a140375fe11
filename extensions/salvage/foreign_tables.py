"""The rows of a damaged database that is not ours, put into a new file: some of its tables, without what they promise.

    tables = copy_foreign_tables("shop.db", "copy.db", ("orders", "customers"))

The damaged file says itself which columns its tables have. Nothing of it is run: a statement that makes a table is only
asked for the names of its columns, on a connection that may do nothing else. The file is read and never written.
"""

from collections.abc import Collection, Iterator
from contextlib import closing

import apsw

from ctxrank.extensions.salvage.layout import read_layout
from ctxrank.extensions.salvage.pages import PageFile, PageKind, Record, UnreadablePage
from ctxrank.extensions.salvage.rows import copy_table, read_records
from ctxrank.extensions.salvage.trees import find_owners, is_of_schema, rows_of
from ctxrank.indexer.care.page_reader import ForeignTable
from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.fulltext.index_file import quoted

_TYPES = {"INTEGER", "TEXT", "REAL", "BLOB"}
# Pages may be forged to share what they lead to, and then say more than any disk holds.
_MAX_GROWTH = 8
_MAX_STATEMENT_CHARACTERS = 100_000
# A function is only named there, in a default (CURRENT_TIMESTAMP is one) or a check: without SELECT none is called.
_CREATING = (
    apsw.SQLITE_CREATE_TABLE,
    apsw.SQLITE_CREATE_INDEX,
    apsw.SQLITE_INSERT,
    apsw.SQLITE_UPDATE,
    apsw.SQLITE_READ,
    apsw.SQLITE_TRANSACTION,
    apsw.SQLITE_FUNCTION,
)


def copy_foreign_tables(damaged: str, new: str, names: Collection[str]) -> tuple[ForeignTable, ...]:
    """Make the new file with what can be read of these tables, as far as the damaged file has them.

    No connection of this process may have the damaged file open. Raises DamagedError where it is in UTF-16.
    """
    found: tuple[ForeignTable, ...] = ()
    with closing(PageFile(damaged)) as file:
        if file.has_magic and file.header_number(56) > 1:
            raise DamagedError(f"{damaged} is damaged, and in UTF-16.", "Restore it from a backup.")
        with closing(apsw.Connection(new)) as copy:
            copy.pragma("journal_mode", "off")  # a file that is not finished is thrown away
            with copy:
                made: set[object] = set()
                # What made a table, as pages of the table of tables say, wherever they are.
                for record in rows_of(file, range(1, file.count + 1), PageKind.TABLE_LEAF):
                    if is_of_schema(record) and record.values[0] == "table":
                        name, statement = record.values[1], record.values[4]
                        is_statement = isinstance(statement, str) and len(statement) <= _MAX_STATEMENT_CHARACTERS
                        if is_statement and name in names and name not in made:
                            made.add(name)
                            _make_plain(copy, str(name), str(statement))
                found = tuple(_copied(file, copy))
    return found


def _make_plain(copy: apsw.Connection, name: str, statement: str) -> None:
    """A table with the same columns and no more: no index, no check, no default, no reference."""
    query = "SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden IN (0, 3)"
    try:
        with closing(apsw.Connection(":memory:")) as asked:
            asked.authorizer = _allowed
            asked.execute(statement)
            asked.authorizer = None
            columns = [
                (str(column), kind if (kind := str(type_).upper()) in _TYPES else "", int(key))
                for column, type_, key in asked.execute(query, (name,))
            ]
    except apsw.Error:
        return
    keys = [column for column, _, key in columns if key]
    if columns:
        parts = [
            f"{quoted(column)} {'INTEGER PRIMARY KEY' if keys == [column] and type_ == 'INTEGER' else type_}"
            for column, type_, _ in columns
        ]
        copy.execute(f"CREATE TABLE {quoted(name)} ({', '.join(parts)})")


def _allowed(operation: int, *_: str | None) -> int:
    return apsw.SQLITE_OK if operation in _CREATING else apsw.SQLITE_DENY


def _copied(file: PageFile, copy: apsw.Connection) -> Iterator[ForeignTable]:
    layouts = [table.with_any_values() for table in read_layout(copy)]
    owners = find_owners(file, layouts)
    left_bytes = _MAX_GROWTH * file.count * file.page_bytes

    def bounded(pages: tuple[int, ...]) -> Iterator[Record | UnreadablePage]:
        nonlocal left_bytes
        for record in read_records(file, pages):
            yield record
            if isinstance(record, Record):
                left_bytes -= 16 + sum(len(value) for value in record.values if isinstance(value, str | bytes))
            if left_bytes < 0:
                raise DamagedError("The file says more than one of its size can hold.", "Restore it from a backup.")

    for table in layouts:
        tree = owners.trees[table.name]
        done = copy_table(file, owners, table, copy, bounded(tree.pages))
        is_count_known = not tree.problems and not owners.unclaimed
        yield ForeignTable(table.name, done.saved, done.unreadable + done.rejected, is_count_known)

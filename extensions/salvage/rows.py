"""The rows of a damaged file put into a new one, table by table, and a count of those that were lost.

What is lost is known by number: an index holds the number of every row of its table, so one that no page gave is a row
that could not be read. Its entry holds some of its columns as well, which is enough to make a session or a group again.
"""

from collections.abc import Iterable, Iterator

import apsw

from ctxrank.extensions.salvage.layout import TableLayout
from ctxrank.extensions.salvage.pages import PageFile, Record, UnreadablePage, Value
from ctxrank.extensions.salvage.trees import Ownership
from ctxrank.indexer.care.page_reader import CopiedTable
from ctxrank.indexer.fulltext.index_file import quoted


def copy_table(
    file: PageFile,
    owners: Ownership,
    table: TableLayout,
    new: apsw.Connection,
    records: Iterable[Record | UnreadablePage] | None = None,
) -> CopiedTable:
    """Put every row of a table that can be read into the new file; `records` are those of its pages, if not by us."""
    tree = owners.trees[table.name]
    problems = list(tree.problems)
    numbers: set[int] = set()
    saved = unreadable = rejected = 0
    for record in read_records(file, tree.pages) if records is None else records:
        if isinstance(record, UnreadablePage):
            unreadable += 1
            problems.append(str(record))
            continue
        if table.has_rowid and record.rowid in numbers:
            continue  # two pages hold it: the one that the tree leads to came first
        row = table.row(record)
        if row is None:
            refusal = f"a row numbered {record.rowid} is none of this table"
        else:
            refusal = _inserted(new, table, record, row)
        if refusal:
            rejected += 1
            problems.append(refusal)
        else:
            saved += 1
            if table.has_rowid:
                numbers.add(record.rowid)
    lost, is_count_known = _lost(file, owners, table, numbers)
    return CopiedTable(table.name, saved, unreadable, rejected, lost, is_count_known or not problems, tuple(problems))


def read_records(file: PageFile, pages: tuple[int, ...]) -> Iterator[Record | UnreadablePage]:
    """The rows on these pages, in their order; what cannot be read is an error in its place."""
    for number in pages:
        try:
            yield from file.records(number)
        except UnreadablePage as error:
            yield error


def _inserted(new: apsw.Connection, table: TableLayout, record: Record, row: tuple[Value, ...]) -> str:
    """Insert a row; returns why the table refuses it, '' where it does not."""
    values = dict(zip((quoted(column.name) for column in table.columns), row, strict=False))
    if table.has_rowid and table.number_at < 0:
        values["rowid"] = record.rowid
    places = ", ".join("?" * len(values))
    query = f"INSERT INTO {quoted(table.name)} ({', '.join(values)}) VALUES ({places})"
    try:
        new.execute(query, tuple(values.values()))
    except (apsw.ConstraintError, apsw.MismatchError) as error:
        return f"the row numbered {record.rowid} was refused: {error}"
    return ""


def _lost(
    file: PageFile, owners: Ownership, table: TableLayout, saved: set[int]
) -> tuple[dict[int, dict[str, Value]], bool]:
    """Rows that an index knows and no page gave, with what it knows of them; whether these are all of them."""
    lost: dict[int, dict[str, Value]] = {}
    is_complete = False
    for index in table.indexes:
        tree = owners.trees[index.name]
        is_whole = not (tree.problems or index.is_partial)
        for entry in read_records(file, tree.pages):
            *values, number = (None,) if isinstance(entry, UnreadablePage) else entry.values
            if not isinstance(number, int) or number < 1 or len(values) != len(index.columns):
                is_whole = False  # no row has such a number: the entry itself is damaged
                continue
            if number in saved:
                continue
            known = lost.setdefault(number, {})
            for place, value in zip(index.columns, values, strict=True):
                column = table.columns[place]
                if column.takes(value):
                    known[column.name] = value
        is_complete = is_complete or is_whole
    return lost, is_complete

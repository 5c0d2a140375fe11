"""Whose a page is: found from the roots down, and where a way is broken, by the content of the page.

sqlite_schema ──► root of each table ──► interior pages ──► leaves
                         × damaged                           orphans: theirs is the damaged table whose
                                                             columns fit every row that is there
"""

from collections.abc import Collection, Iterator, Mapping

from ctxrank.extensions.salvage.layout import TableLayout
from ctxrank.extensions.salvage.pages import INTERIOR, PageFile, PageKind, Record, UnreadablePage
from ctxrank.indexer.light_typing import NamedTuple

_SCHEMA_ROOT = 1
_SCHEMA_COLUMNS = 5
_OBJECTS = ("table", "index", "view", "trigger")


class Tree(NamedTuple):
    """The pages of one table or index that hold rows, in their order, and what is wrong with it."""

    pages: tuple[int, ...]
    problems: tuple[str, ...]


class Ownership(NamedTuple):
    """The pages of each table and index by name; `unclaimed` are leaves whose owner is unknown."""

    trees: Mapping[str, Tree]
    unclaimed: tuple[int, ...]


def find_owners(file: PageFile, tables: Collection[TableLayout]) -> Ownership:
    """Which pages belong to which table or index of the layout."""
    schema = _walk(file, _SCHEMA_ROOT, set())
    roots = roots_on(file, schema.pages)
    if schema.problems or not roots:
        roots = {**roots_on(file, range(1, file.count + 1)), **roots}
    seen = set(schema.pages)
    names = [table.name for table in tables] + [index.name for table in tables for index in table.indexes]
    unknown = Tree((), ("its place in the file is not known",))
    trees = {name: _walk(file, roots[name], seen) if name in roots else unknown for name in names}
    unclaimed = _adopt(file, tables, trees, seen | file.free_pages())
    return Ownership(trees, tuple(unclaimed))


def roots_on(file: PageFile, pages: Collection[int]) -> dict[str, int]:
    """Name and root page of what rows of sqlite_schema on these pages name."""
    roots: dict[str, int] = {}
    for record in rows_of(file, pages, PageKind.TABLE_LEAF):
        if is_of_schema(record):
            name, root = record.values[1], record.values[3]
            if isinstance(name, str) and isinstance(root, int) and 1 < root <= file.count:
                roots[name] = root
    return roots


def rows_of(file: PageFile, pages: Collection[int], kind: PageKind) -> Iterator[Record]:
    """The rows that can be read on those of the pages that are of this kind."""
    for number in pages:
        try:
            if file.kind(number) is kind:
                yield from (record for record in file.records(number) if isinstance(record, Record))
        except UnreadablePage:
            continue


def _walk(file: PageFile, root: int, seen: set[int]) -> Tree:
    """The pages below a root that hold rows, depth first; those that were seen before belong to another tree."""
    pages: list[int] = []
    problems: list[str] = []
    waiting = [root]
    is_index: bool | None = None
    while waiting:
        number = waiting.pop()
        try:
            if number in seen:
                raise UnreadablePage(f"page {number} belongs to two")
            kind = file.kind(number)
            of_index = kind in (PageKind.INDEX_INTERIOR, PageKind.INDEX_LEAF)
            if is_index is not None and of_index is not is_index:
                raise UnreadablePage(f"page {number} belongs to something else")
            is_index = of_index
            if kind in INTERIOR:
                waiting += reversed(file.children(number))
            if kind is not PageKind.TABLE_INTERIOR:
                pages.append(number)
            seen.add(number)
        except UnreadablePage as error:
            problems.append(str(error))
    return Tree(tuple(pages), tuple(problems))


def _adopt(file: PageFile, tables: Collection[TableLayout], trees: dict[str, Tree], taken: set[int]) -> list[int]:
    """Assign each leaf that no tree owns to the damaged table its rows fit; returns what fits none, or several."""
    damaged = [table for table in tables if trees[table.name].problems]
    unclaimed: list[int] = []
    if not damaged:
        return unclaimed
    adopted: dict[str, list[int]] = {}
    for number in range(2, file.count + 1):
        if number in taken:
            continue
        try:
            of_rowids = file.kind(number) is PageKind.TABLE_LEAF  # pages of a table without rowids are an index's
            records = [record for record in file.records(number) if isinstance(record, Record)]
        except UnreadablePage:
            continue
        fitting = [
            table
            for table in damaged
            if table.has_rowid is of_rowids and all(table.row(record) is not None for record in records)
        ]
        if len(fitting) > 1:
            fitting = [table for table in fitting if table.root == number] or [
                table for table in fitting if all(len(record.values) == len(table.columns) for record in records)
            ]
        if len(fitting) == 1 and records:
            adopted.setdefault(fitting[0].name, []).append(number)
        elif of_rowids and not all(map(is_of_schema, records)):
            unclaimed.append(number)  # the entries of an index whose pages are lost are in its table as well
    for name, pages in adopted.items():
        trees[name] = trees[name]._replace(pages=(*trees[name].pages, *pages))
    return unclaimed


def is_of_schema(record: Record) -> bool:
    """Whether this may be a row of sqlite_schema."""
    return len(record.values) == _SCHEMA_COLUMNS and record.values[0] in _OBJECTS

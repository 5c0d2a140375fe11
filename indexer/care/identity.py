"""Whether a file is a store of ours, judged by its bytes: SQLite may write next to what it opens, so it is not used.

SQLite's header, our application id         ours
SQLite's header, another id, or none        ours only if its table of tables names ours
no such header                              ours only if a page names ours: a header that was damaged
anything else                               foreign: it is neither repaired nor touched
"""

import mmap
import os
import stat

from ctxrank.indexer.care.sqlite_salvage.pages import MAGIC, PageFile, PageKind
from ctxrank.indexer.care.sqlite_salvage.trees import roots_on
from ctxrank.indexer.store.connection import APPLICATION_ID

# Tables that no other program has, by names that no other program gives them.
_OUR_TABLES = ("history_checkpoints", "tombstones", "linked_artifacts", "annotated_files", "config_cache")
_APPLICATION_ID_AT, _FIRST_PAGE_AT = 68, 100
_MAX_PAGES = 1000  # that say a name and may be looked at


def is_foreign(path: str) -> bool:
    """Whether something is there that is no store of ours. No connection of this process may have it open."""
    try:
        info = os.stat(path)
        if not stat.S_ISREG(info.st_mode):
            return True
        if not info.st_size:
            return False
        with open(path, "rb") as file:
            header = file.read(_FIRST_PAGE_AT + 8)
    except OSError:
        return False  # opening it reports why
    has_magic = header.startswith(MAGIC)
    if has_magic and int.from_bytes(header[_APPLICATION_ID_AT:][:4], "big") == APPLICATION_ID:
        return False
    if has_magic and _is_new(header, info.st_size):
        return False
    return not _names_our_tables(path)


def _is_new(header: bytes, size: int) -> bool:
    """Whether it is one page without a table: what a store begins as, its tables being in the write-ahead log."""
    page_bytes = int.from_bytes(header[16:18], "big")
    return size == (65536 if page_bytes == 1 else page_bytes) and header[_FIRST_PAGE_AT] == PageKind.TABLE_LEAF and (
        header[_FIRST_PAGE_AT + 3 : _FIRST_PAGE_AT + 5] == b"\0\0"
    )  # fmt: skip


def _names_our_tables(path: str) -> bool:
    file = PageFile(path)
    try:
        return not roots_on(file, _pages_that_say(path, file)).keys().isdisjoint(_OUR_TABLES)
    finally:
        file.close()


def _pages_that_say(path: str, file: PageFile) -> set[int]:
    """The complete pages that contain the name of such a table."""
    found: set[int] = set()
    with open(path, "rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for name in _OUR_TABLES:
            at = data.find(name.encode())
            while at >= 0 and len(found) < _MAX_PAGES:
                page = at // file.page_bytes + 1
                if page <= file.count:
                    found.add(page)
                at = data.find(name.encode(), page * file.page_bytes)
    return found

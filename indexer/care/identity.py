"""Whether a file is a store of ours, judged by its bytes: SQLite may write next to what it opens, so it is not used.

SQLite's header, our application id         ours
SQLite's header, another id, or none        ours only if its table of tables names ours
no such header                              ours only if a page names ours: a header that was damaged
anything else                               foreign: it is neither repaired nor touched
"""

import os
import stat

from ctxrank.indexer.care.page_reader import page_reader
from ctxrank.indexer.store.connection import APPLICATION_ID

# Tables that no other program has, by names that no other program gives them.
_OUR_TABLES = ("history_checkpoints", "tombstones", "package_consumers", "error_sightings", "config_cache")
_APPLICATION_ID_AT, _FIRST_PAGE_AT = 68, 100
_MAGIC = b"SQLite format 3\x00"
_TABLE_LEAF = 13  # the first byte of such a page


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
    has_magic = header.startswith(_MAGIC)
    if has_magic and int.from_bytes(header[_APPLICATION_ID_AT:][:4], "big") == APPLICATION_ID:
        return False
    if has_magic and _is_new(header, info.st_size):
        return False
    return not page_reader("doctor").names_a_table(path, _OUR_TABLES)


def _is_new(header: bytes, size: int) -> bool:
    """Whether it is one page without a table: what a store begins as, its tables being in the write-ahead log."""
    page_bytes = int.from_bytes(header[16:18], "big")
    return (
        size == (65536 if page_bytes == 1 else page_bytes)
        and header[_FIRST_PAGE_AT] == _TABLE_LEAF
        and (header[_FIRST_PAGE_AT + 3 : _FIRST_PAGE_AT + 5] == b"\0\0")
    )

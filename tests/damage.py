"""Damage on purpose: a store's files, closed and merged, as bytes that can be turned over page by page."""

import os
from collections.abc import Callable
from pathlib import Path

import apsw

from ctxrank.indexer.fulltext.fts5_engine import index_of
from ctxrank.indexer.store.connection import PAGE_BYTES
from ctxrank.indexer.store.location import Location
from ctxrank.indexer.store.store import Store

PAGE = PAGE_BYTES


def closed(store: Store) -> Location:
    """Close a store with everything merged into its two files, and nothing beside them."""
    location = store.location
    store.primary.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    if index_of(store).is_usable:
        index_of(store).connection.execute("PRAGMA main.wal_checkpoint(TRUNCATE)").fetchall()
    store.close()
    without_logs(location)
    return location


def without_logs(location: Location) -> None:
    """Remove what SQLite keeps beside the files: after damage it belongs to other bytes."""
    for path in (location.primary, location.index_file):
        for suffix in ("-wal", "-shm"):
            Path(path + suffix).unlink(missing_ok=True)


def zeroed(data: bytes, page: int) -> bytes:
    return data[: page * PAGE] + bytes(PAGE) + data[(page + 1) * PAGE :]


def flipped(data: bytes, page: int) -> bytes:
    turned = bytes(byte ^ 0xFF for byte in data[page * PAGE : (page + 1) * PAGE])
    return data[: page * PAGE] + turned + data[(page + 1) * PAGE :]


def cut(data: bytes, page: int) -> bytes:
    return data[: page * PAGE + 100]


DAMAGES: list[Callable[[bytes, int], bytes]] = [zeroed, flipped, cut]


def pages_of(path: str) -> int:
    """How many pages a file has."""
    return os.path.getsize(path) // PAGE


def rows_of(path: str) -> dict[str, set[tuple[object, ...]]]:
    """Every row of every table, but for what a salvage makes anew: the counter, marks, caches, labels."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    made_anew = ("store", "history_checkpoints", "config_cache", "labels", "error_terms", "sqlite_sequence")
    names = [str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    rows = {name: {tuple(row) for row in connection.execute(f'SELECT * FROM "{name}"')} for name in names}
    connection.close()
    return {name: found for name, found in rows.items() if name not in made_anew}


def root_of(path: str, name: str) -> int:
    """The place (from 0) of the page that a table or an index begins with."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    row = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
    connection.close()
    assert row is not None
    return int(row[0]) - 1


def leaves_of(path: str, name: str) -> list[int]:
    """The places (from 0) of the pages that the rows of a table stand on, in a sound file."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    rows = connection.execute("SELECT pageno - 1 FROM dbstat WHERE name = ? AND pagetype = 'leaf'", (name,))
    leaves = [int(row[0]) for row in rows]
    connection.close()
    return leaves


def retype(path: str, table: str, number: int, column: int, retyped: Callable[[int], int]) -> None:
    """Turn the byte of a row's header that says what a column holds: 0 is NULL, an even one from 12 on a blob."""
    data = bytearray(Path(path).read_bytes())
    for page in leaves_of(path, table):
        start = page * PAGE
        for cell in range(int.from_bytes(data[start + 3 : start + 5], "big")):
            pointer = start + 8 + 2 * cell
            at = start + int.from_bytes(data[pointer : pointer + 2], "big")
            _, at = _varint(data, at)
            rowid, at = _varint(data, at)
            _, at = _varint(data, at)
            for _ in range(column):
                _, at = _varint(data, at)
            if rowid == number:
                assert data[at] < 0x80, "only a type of one byte is turned"
                data[at] = retyped(data[at])
                Path(path).write_bytes(data)
                return
    raise AssertionError(f"{table} has no row {number}")


def _varint(data: bytearray, at: int) -> tuple[int, int]:
    """A number of SQLite's, of less than nine bytes, and where the next one begins."""
    value = 0
    while data[at] >= 0x80:
        value, at = value << 7 | data[at] & 0x7F, at + 1
    return value << 7 | data[at], at + 1


def spoil(path: str, *names: str) -> None:
    """Wipe the root pages of these tables or indexes: each of them is lost with all its rows."""
    data = Path(path).read_bytes()
    for page in [root_of(path, name) for name in names]:
        data = zeroed(data, page)
    Path(path).write_bytes(data)

"""A database file as its pages, read without SQLite, which gives up at the first page that is not as it should be.

    page   │ header │ cell pointers → │  free  │ ← cells │
    cell   │ payload's length │ rowid │ payload … │ first overflow page │        of a table's leaf
    record │ header's length │ serial types │ values │

The format is documented at sqlite.org/fileformat2.html. Nothing is believed: a length that leaves its page, a chain of
overflow pages that ends too early, a record whose parts do not add up to its length is Unreadable, and only that one.
"""

import mmap
import struct
from collections.abc import Collection, Iterator
from enum import IntEnum

from ctxrank.indexer.fulltext.varint import varint
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.lines import WIPED

MAGIC = b"SQLite format 3\x00"
_USUAL_PAGE_BYTES = (4096, 8192)
_FILE_HEADER_BYTES = 100
_WIPED = WIPED.encode()
_INTEGER_BYTES = (0, 1, 2, 3, 4, 6, 8)

Value = int | float | str | bytes | None


class PageKind(IntEnum):
    """The first byte of a b-tree page."""

    INDEX_INTERIOR = 2
    TABLE_INTERIOR = 5
    INDEX_LEAF = 10
    TABLE_LEAF = 13


INTERIOR = (PageKind.INDEX_INTERIOR, PageKind.TABLE_INTERIOR)
_KINDS = frozenset(int(kind) for kind in PageKind)


class UnreadablePage(Exception):
    """A page, cell or record that is not as it should be; the message says how."""


class Record(NamedTuple):
    """One row of a table (its rowid and its stored columns) or one entry of an index (rowid 0, the key's columns)."""

    rowid: int
    values: tuple[Value, ...]


class PageFile:
    """An open database file that no connection of this process has open: closing a file drops a process's locks."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if file.seek(0, 2) else b""
        header = self._bytes[:_FILE_HEADER_BYTES]
        self.has_magic = header[:16] == MAGIC
        stored = int.from_bytes(header[16:18], "big")
        self.page_bytes = 65536 if stored == 1 else stored
        if not self.has_magic or self.page_bytes < 512 or self.page_bytes & (self.page_bytes - 1):
            # The header is lost. Of larger pages, few of the middles look like the beginning of one.
            smaller, larger = _USUAL_PAGE_BYTES
            starts, middles = (sum(map(_KINDS.__contains__, self._bytes[at::larger])) for at in (0, smaller))
            self.page_bytes = smaller if 2 * middles > starts else larger
        reserved = header[20] if self.has_magic and len(header) > 20 else 0
        self._usable = self.page_bytes - (reserved if reserved <= self.page_bytes - 480 else 0)
        self.count = len(self._bytes) // self.page_bytes

    def close(self) -> None:
        """Let go of the file."""
        if isinstance(self._bytes, mmap.mmap):
            self._bytes.close()

    def header_number(self, offset: int) -> int:
        """Four bytes of the file's header; 0 where the file is shorter."""
        return int.from_bytes(self._bytes[offset : offset + 4], "big")

    def free_pages(self) -> set[int]:
        """The numbers of the pages on the freelist, as far as it can be followed."""
        free: set[int] = set()
        trunk = self.header_number(32) if self.has_magic else 0
        while 1 < trunk <= self.count and trunk not in free:
            free.add(trunk)
            page = self._page(trunk)
            leaves = int.from_bytes(page[4:8], "big")
            if leaves > self._usable // 4 - 2:
                break
            free.update(struct.unpack_from(f">{leaves}I", page, 8))
            trunk = int.from_bytes(page[:4], "big")
        return free

    def pages_with(self, texts: Collection[str], most: int) -> set[int]:
        """The complete pages that hold one of these texts, about so many of them."""
        found: set[int] = set()
        for text in texts:
            at = self._bytes.find(text.encode())
            while 0 <= at < self.count * self.page_bytes and len(found) < most:
                page = at // self.page_bytes + 1
                found.add(page)
                at = self._bytes.find(text.encode(), page * self.page_bytes)
        return found

    def kind(self, number: int) -> PageKind:
        """What sort of b-tree page this is. Raises Unreadable."""
        if not 1 <= number <= self.count:
            raise UnreadablePage(f"page {number} is not in the file")
        byte = self._page(number)[_header_at(number)]
        if byte not in _KINDS:
            raise UnreadablePage(f"page {number} is not a page of a table or an index")
        return PageKind(byte)

    def children(self, number: int) -> list[int]:
        """The pages below an interior page, left to right. Raises Unreadable."""
        page, start = self._page(number), _header_at(number)
        below = [int.from_bytes(page[at : at + 4], "big") for at in self._cell_offsets(number)]
        return [*below, int.from_bytes(page[start + 8 : start + 12], "big")]

    def records(self, number: int) -> Iterator[Record | UnreadablePage]:
        """The rows or entries of a page, one by one: for what cannot be read, an error in its place."""
        kind = self.kind(number)
        if kind is PageKind.TABLE_INTERIOR:
            return
        for offset in self._cell_offsets(number):
            try:
                yield self._record(number, offset, kind)
            except UnreadablePage as error:
                yield error
            except (IndexError, struct.error, UnicodeDecodeError) as error:
                yield UnreadablePage(f"a row on page {number} cannot be decoded: {error}")

    def _page(self, number: int) -> bytes:
        return self._bytes[(number - 1) * self.page_bytes : number * self.page_bytes]

    def _cell_offsets(self, number: int) -> list[int]:
        page, start = self._page(number), _header_at(number)
        count = int.from_bytes(page[start + 3 : start + 5], "big")
        first = start + (12 if page[start] in INTERIOR else 8)
        if first + 2 * count > self._usable:
            raise UnreadablePage(f"page {number} says that it has {count} cells, which is more than it has room for")
        offsets = struct.unpack_from(f">{count}H", page, first)
        if any(not first + 2 * count <= offset <= self._usable - 4 for offset in offsets):
            raise UnreadablePage(f"a cell of page {number} lies outside of it")
        return list(offsets)

    def _record(self, number: int, offset: int, kind: PageKind) -> Record:
        page = self._page(number)
        at = offset + 4 * (kind is PageKind.INDEX_INTERIOR)
        length, at = varint(page, at)
        rowid = 0
        if kind is PageKind.TABLE_LEAF:
            rowid, at = varint(page, at)
        local = self._local_bytes(length, kind)
        if at + local > self._usable or length > len(self._bytes):
            raise UnreadablePage(f"a row on page {number} is longer than its page")
        payload = page[at : at + local]
        if local < length:
            first = int.from_bytes(page[at + local : at + local + 4], "big")
            payload += self._chained(first, length - local, number)
        return Record(rowid - (rowid >> 63 << 64), _decoded(payload, number))

    def _local_bytes(self, length: int, kind: PageKind) -> int:
        """How much of a payload is on its own page: the rest is in overflow pages."""
        usable = self._usable
        most = usable - 35 if kind is PageKind.TABLE_LEAF else (usable - 12) * 64 // 255 - 23
        if length <= most:
            return length
        least = (usable - 12) * 32 // 255 - 23
        wanted = least + (length - least) % (usable - 4)
        return wanted if wanted <= most else least

    def _chained(self, first: int, length: int, number: int) -> bytes:
        parts: list[bytes] = []
        seen: set[int] = set()
        while length > 0:
            if not 1 < first <= self.count or first in seen:
                raise UnreadablePage(f"the rest of a row on page {number} is not where it should be")
            seen.add(first)
            page = self._page(first)
            part = page[4 : 4 + min(length, self._usable - 4)]
            if not any(part):
                raise UnreadablePage(f"page {first}, with the rest of a row on page {number}, is empty")
            parts.append(part)
            length -= len(part)
            first = int.from_bytes(page[:4], "big")
        if first != 0:
            raise UnreadablePage(f"the rest of a row on page {number} goes on after its end")
        return b"".join(parts)


def _header_at(number: int) -> int:
    return _FILE_HEADER_BYTES if number == 1 else 0


def _decoded(payload: bytes, number: int) -> tuple[Value, ...]:
    header_end, at = varint(payload, 0)
    types: list[int] = []
    while at < header_end:
        serial, at = varint(payload, at)
        types.append(serial)
    values: list[Value] = []
    for serial in types:
        if serial <= 6:
            size = _INTEGER_BYTES[serial]
            values.append(int.from_bytes(payload[at : at + size], "big", signed=True) if serial else None)
        elif serial == 7:
            size = 8
            values.append(float(struct.unpack_from(">d", payload, at)[0]))
        elif serial in (8, 9):
            size = 0
            values.append(serial - 8)
        elif serial < 12:
            raise UnreadablePage(f"a row on page {number} has a value of no known type")
        else:
            size = (serial - 12) // 2
            part = payload[at : at + size]
            # No text has a zero: what is missing at the end of a file is read as zeros.
            if (b"\0" if serial % 2 else _WIPED) in part:
                raise UnreadablePage(f"a value of a row on page {number} was wiped, or cut off")
            values.append(part.decode() if serial % 2 else bytes(part))
        at += size
    if at != len(payload):
        raise UnreadablePage(f"a row on page {number} is not as long as it says")
    return tuple(values)

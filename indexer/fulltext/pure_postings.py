"""What `_postings.c` does, in Python: without a C compiler the same rows have the same bounds.

The layout of a page and what is kept are told there and in postings.py. Here each list is read to its end before the
next; `_postings.c` walks all of a segment side by side.
"""

from array import array
from collections.abc import Iterator, Sequence

from ctxrank.indexer.fulltext.impact_bounds import PATH_STEPS, TEXT_STEPS
from ctxrank.indexer.fulltext.varint import varint

_TITLE, _PATH, _IDENTIFIERS, _COLUMNS = 1, 2, 3, 5  # of `fts` in schema.sql; the body is 0
_PATH_AT, _NAME_AT = TEXT_STEPS, TEXT_STEPS + PATH_STEPS
_TABLE = _NAME_AT + 1
_HEAD_BYTES = 4
_CONTINUED = bytes(range(0x80, 0x100))  # all bytes of a varint but its last one
_STEPS = 4096
_MOST_ROWID = 2**63 - 1

_List = tuple[int, int, int, list[bytes]]


def find_list(page: bytes, term: bytes) -> tuple[int, int, bool] | None:
    """(start, end, whether it is the last one of the page) of the list of a term; None where the page has none."""
    at, end = _content_end(page), page[2] << 8 | page[3]
    if end == len(page):
        return None
    index, index_at, found = page[end:], 0, b""
    _, index_at = varint(index, 0)
    is_first = True
    while True:
        kept, text = (0, at) if is_first else varint(page, at)
        size, text = varint(page, text)
        start, behind = text + size, end
        if index_at < len(index):
            distance, index_at = varint(index, index_at)
            behind = at + distance
        if kept > len(found) or not at < start <= behind <= end:
            raise _malformed()
        found, is_first = found[:kept] + page[text:start], False
        if found == term:
            return start, behind, behind == end
        if behind == end or found > term:
            return None
        at = behind


def row_bounds(
    segments: list[tuple[bytes, list[_List]]], tables: bytes, most: int = _MOST_ROWID
) -> tuple[bytes, bytes]:
    """The rows of the lists of all segments, each with the most that it can score: `most` of the highest bounds."""
    worth = array("d", tables)
    rows: list[tuple[int, float]] = []
    for deleted, lists in segments:
        found: dict[int, float] = {}
        for place, start, end, pages in lists:
            for rowid, added in _rows(*_joined(start, end, pages), worth[_TABLE * place : _TABLE * (place + 1)]):
                found[rowid] = found.get(rowid, 0.0) + added
        for rowid in found.keys() & frozenset(array("q", deleted)):
            del found[rowid]
        rows += [(rowid, bound) for rowid, bound in sorted(found.items()) if bound > 0.0 and rowid > 0]
    if len(rows) > most:
        # Of equal ones the last: sorting is stable, in both directions.
        best = sorted(range(len(rows) - 1, -1, -1), key=lambda place: -rows[place][1])[:most]
        rows = [rows[place] for place in sorted(best)]
    return array("q", [row[0] for row in rows]).tobytes(), array("d", [row[1] for row in rows]).tobytes()


def between(rowids: bytes, bounds: bytes, low: float, high: float, most: int) -> list[int]:
    """The rows with low < bound <= high, the last ones where there are more than `most`."""
    found = [rowid for rowid, bound in zip(array("q", rowids), array("d", bounds), strict=True) if low < bound <= high]
    return found[::-1][:most]


def threshold(bounds: bytes, most: int) -> float:
    """The lowest bound that at most so many rows are above, but for a share of 1/4096 of the highest.

    What is highest of all where more rows have that.
    """
    values = array("d", bounds)
    highest = max((bound for bound in values if bound > 0), default=0.0)
    steps = [0] * (_STEPS + 1)
    for bound in values:
        step = bound / highest * _STEPS if highest else 0.0
        steps[int(step) if 0 <= step <= _STEPS else 0] += 1  # what is no number is lowest
    above, step = 0, _STEPS + 1
    while step and above + steps[step - 1] <= most:
        step -= 1
        above += steps[step]
    return highest * (step / _STEPS) * (1 - 1e-12) if step <= _STEPS else highest


def _malformed() -> ValueError:
    return ValueError("a list of the index is not as expected")


def _content_end(page: bytes) -> int:
    """Where the first term of a page is, or where the content ends."""
    end = page[2] << 8 | page[3]
    first = varint(page, end)[0] if end < len(page) else end
    if not _HEAD_BYTES <= first <= end <= len(page):
        raise _malformed()
    return first


def _joined(start: int, end: int, pages: list[bytes]) -> tuple[bytes, set[int]]:
    """The bytes of a list without the pages that they are on, and the places where a rowid is written in full."""
    if not _HEAD_BYTES <= start <= end <= len(pages[0]):
        raise _malformed()
    parts, full, size = [pages[0][start:end]], {0}, end - start
    for page in pages[1:]:
        last = _content_end(page)
        if last <= _HEAD_BYTES:
            raise _malformed()
        if first := page[0] << 8 | page[1]:
            full.add(size + first - _HEAD_BYTES)
        parts.append(page[_HEAD_BYTES:last])
        size += last - _HEAD_BYTES
    return b"".join(parts), full


def _rows(data: bytes, full: set[int], table: Sequence[float]) -> Iterator[tuple[int, float]]:
    """The rows of one list in order, each with what its counts can add. Raises ValueError or IndexError."""
    known: dict[bytes, float] = {}  # what few positions add: most rows have one or two
    at, size, rowid = 0, len(data), -1
    while at < size:
        is_full = at in full
        number = data[at]
        at += 1
        if number >= 0x80:
            number, at = varint(data, at - 1)
        before, rowid = rowid, number if is_full else rowid + number
        count = data[at]
        at += 1
        if count >= 0x80:
            count, at = varint(data, at - 1)
        # An odd size marks a deletion, which a contentless_delete table keeps elsewhere.
        if count & 1 or rowid <= before:
            raise _malformed()
        positions = data[at : at + (count >> 1)]
        at += count >> 1
        added = known.get(positions)
        if added is None:
            added = _bound(positions, table)
            if count <= 4:  # two bytes: few different ones occur
                known[positions] = added
        yield rowid, added
    if at > size or rowid > _MOST_ROWID:
        raise _malformed()


def _bound(positions: bytes, table: Sequence[float]) -> float:
    """What the positions of a term in one row can add."""
    if 1 not in positions:  # in the body alone
        return table[min(2 * len(positions.translate(None, _CONTINUED)), TEXT_STEPS - 1)] + table[_PATH_AT]
    counts = [0] * _COLUMNS
    column = 0
    place, size = 0, len(positions)
    while place < size:
        byte = positions[place]
        place += 1
        if byte == 1:
            column = positions[place]
            place += 1
            continue
        counts[column] += 1
        while byte >= 0x80 and place < size:
            byte = positions[place]
            place += 1
    text = 5 * counts[_TITLE] + 2 * (counts[0] + counts[_IDENTIFIERS])
    bound = table[min(text, TEXT_STEPS - 1)] + table[_PATH_AT + min(counts[_PATH], PATH_STEPS - 1)]
    return bound + table[_NAME_AT] if counts[_IDENTIFIERS] else bound

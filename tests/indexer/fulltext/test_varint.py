"""SQLite's numbers of variable length are read to their last byte, and not beyond."""

import pytest
from tables import each_row

from ctxrank.indexer.fulltext.varint import varint

_MORE = 0x80


def _written(number: int) -> bytes:
    """As sqlite3PutVarint writes it: nine bytes where seven bits of eight are too few, all eight of the last."""
    if number >= 1 << 56:
        return bytes([_MORE | number >> 8 + 7 * at & 0x7F for at in range(7, -1, -1)] + [number & 0xFF])
    groups = [number & 0x7F]
    while number := number >> 7:
        groups.insert(0, _MORE | number & 0x7F)
    return bytes(groups)


@each_row(
    "number", sorted({(1 << bits) - less for bits in range(65) for less in (0, 1) if (1 << bits) - less < 1 << 64})
)
def test_a_number_is_read_wherever_it_begins_and_only_where_it_ends(number: int) -> None:
    data = _written(number)
    assert varint(data, 0) == (number, len(data))
    assert varint(b"\xff" + data + b"\xff", 1) == (number, 1 + len(data))
    with pytest.raises(IndexError):
        varint(data[:-1], 0)

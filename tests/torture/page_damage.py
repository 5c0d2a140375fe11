"""One page of a closed database file, damaged in one of seven ways.

    sorts = sorts_of("store/.ctxrank/index.db")      {1: "header", 2: "fts_data leaf", …}
    damaged(data, Way.ZEROED, 12, 3, rng)              the bytes of the file without its twelfth page's

A page's sort is what it holds and where it stands in its tree: damage of one leaf of a table is like that of another.
"""

import random
from enum import Enum

import apsw
from damage import PAGE

from ctxrank.extensions.salvage.pages import PageFile

# Of FTS5's own: in which row of fts_data the structure of all segments stands.
_STRUCTURE_ROW = 10
_SECTOR = 512
_MOST_BYTES = 8
_KINDS = {"internal": "interior", "leaf": "leaf", "overflow": "overflow"}


class Way(Enum):
    """How a page is damaged; the value says it in words."""

    FLIPPED = "every bit turned over"
    ZEROED = "zeroed"
    TORN = "half of it zeroed, by sectors"
    COPIED = "another page copied over it"
    CUT_BEFORE = "the file cut off before it"
    CUT_WITHIN = "the file cut off within it"
    BYTES = "a few bytes changed"

    @property
    def is_cut(self) -> bool:
        """Whether all that is behind goes, too."""
        return self in (Way.CUT_BEFORE, Way.CUT_WITHIN)


def sorts_of(path: str) -> dict[int, str]:
    """The sort of each page of a sound file, by its number from 1."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    indexes = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'index'")}
    rows = connection.execute("SELECT pageno, name, pagetype FROM dbstat").fetchall()
    connection.close()
    file = PageFile(path)
    try:
        sorts = dict.fromkeys(range(1, file.count + 1), "freelist")
        for page, name, kind in rows:
            owner = f"index {name}" if name in indexes else str(name)
            sorts[int(str(page))] = f"{owner} {_KINDS[str(kind)]}"
        for page, sort in sorts.items():
            if sort == "fts_data leaf" and any(
                getattr(record, "rowid", 0) == _STRUCTURE_ROW for record in file.records(page)
            ):
                sorts[page] = "fts_data structure"
    finally:
        file.close()
    sorts[1] = "header"
    return sorts


def damaged(data: bytes, way: Way, page: int, other: int, rng: random.Random) -> bytes:
    """The file's bytes after the damage; pages count from 1, `other` is the one that is copied."""
    at = (page - 1) * PAGE
    before, old, behind = data[:at], data[at : at + PAGE], data[at + PAGE :]
    if way is Way.CUT_BEFORE:
        return before
    if way is Way.CUT_WITHIN:
        return before + old[: rng.randrange(1, PAGE)]
    return before + _new_page(data, way, old, other, rng) + behind


def _new_page(data: bytes, way: Way, old: bytes, other: int, rng: random.Random) -> bytes:
    if way is Way.FLIPPED:
        return bytes(byte ^ 0xFF for byte in old)
    if way is Way.ZEROED:
        return bytes(PAGE)
    if way is Way.TORN:
        sectors = [old[at : at + _SECTOR] for at in range(0, PAGE, _SECTOR)]
        gone = set(rng.sample(range(len(sectors)), len(sectors) // 2))
        return b"".join(bytes(_SECTOR) if number in gone else sector for number, sector in enumerate(sectors))
    if way is Way.COPIED:
        return data[(other - 1) * PAGE : other * PAGE]
    changed = bytearray(old)
    for at in rng.sample(range(PAGE), rng.randint(1, _MOST_BYTES)):
        changed[at] ^= rng.randrange(1, 256)
    return bytes(changed)

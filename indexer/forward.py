"""The forward list: for one document, which terms it holds and how often in each column.

Scoring a candidate from it needs no text and no posting list. Layout, little-endian, n terms:

    id₁ id₂ … idₙ          4 bytes each, ascending
    c₁  c₂  … cₙ           2 bytes each: body 6 bits, title 3, path 3, identifiers 4

A count that does not fit its bits stays at their maximum: by then BM25's term frequency has saturated.
"""

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from operator import add

BODY_MAX, TITLE_MAX, PATH_MAX, IDENTIFIERS_MAX = 63, 7, 7, 15
_TITLE_SHIFT, _PATH_SHIFT, _IDENTIFIERS_SHIFT = 6, 9, 12
TITLE_UNIT, PATH_UNIT, IDENTIFIERS_UNIT = 1 << _TITLE_SHIFT, 1 << _PATH_SHIFT, 1 << _IDENTIFIERS_SHIFT
_ENTRY_BYTES = 6
_ID_UNIT = 1 << 32
_IS_BIG_ENDIAN = sys.byteorder == "big"
# Up to so many terms, one byte search each is faster than decoding all ids of a document (1 against 4 µs).
_FEW_TERMS = 5


def pack_counts(title: int, body: int, path: int, identifiers: int) -> int:
    """The four counts of one term in one number."""
    return (
        min(body, BODY_MAX)
        | min(title, TITLE_MAX) << _TITLE_SHIFT
        | min(path, PATH_MAX) << _PATH_SHIFT
        | min(identifiers, IDENTIFIERS_MAX) << _IDENTIFIERS_SHIFT
    )


def unpack_counts(packed: int) -> tuple[int, int, int, int]:
    """(title, body, path, identifiers): the counts of one term."""
    return (
        packed >> _TITLE_SHIFT & TITLE_MAX,
        packed & BODY_MAX,
        packed >> _PATH_SHIFT & PATH_MAX,
        packed >> _IDENTIFIERS_SHIFT & IDENTIFIERS_MAX,
    )


def encode(ids: Iterable[int], packed: Iterable[int]) -> bytes:
    """The blob of a document whose terms have these ids and, in the same order, these packed counts."""
    # Id and count in one number each: sorted, and taken apart by stride, without a loop in Python.
    entries = array("Q", sorted(map(add, map(_ID_UNIT.__mul__, ids), packed)))
    if _IS_BIG_ENDIAN:
        entries.byteswap()
    raw = memoryview(entries).cast("B")
    return raw.cast("I")[1::2].tobytes() + raw.cast("H")[::4].tobytes()


def term_ids(blob: bytes) -> "array[int]":
    """The ids of all terms in a blob."""
    ids = array("I")
    ids.frombytes(blob[: len(blob) // _ENTRY_BYTES * 4])
    if _IS_BIG_ENDIAN:
        ids.byteswap()
    return ids


def term_key(term_id: int) -> bytes:
    """What `packed_count` looks for: made once a query, used on every candidate."""
    return term_id.to_bytes(4, "little")


def packed_count(blob: bytes, key: bytes) -> int:
    """The packed counts of one term in one document; 0 where it does not occur.

    A byte search (in C) beats decoding the list; a hit across two ids is told by its alignment.
    """
    ids_end = len(blob) // _ENTRY_BYTES * 4
    at = blob.find(key, 0, ids_end)
    while at >= 0 and at & 3:
        at = blob.find(key, at + 1, ids_end)
    if at < 0:
        return 0
    count_at = ids_end + (at >> 1)
    return blob[count_at] | blob[count_at + 1] << 8


def packed_counts(blob: bytes, wanted: frozenset[int]) -> list[tuple[int, int]]:
    """(term id, packed counts) of those of the wanted terms that occur in one document."""
    if len(wanted) <= _FEW_TERMS:
        return [(id_, packed) for id_ in wanted if (packed := packed_count(blob, term_key(id_)))]
    ids = term_ids(blob)
    counts = 4 * len(ids)
    found: list[tuple[int, int]] = []
    for id_ in wanted.intersection(ids):
        at = counts + 2 * bisect_left(ids, id_)
        found.append((id_, blob[at] | blob[at + 1] << 8))
    return found

"""The forward list: for one document, which terms it holds and how often in each column.

Scoring a candidate from it needs no text and no posting list. Layout, little-endian, for n terms:

    s  e                   2 bytes each: how many of the ids are small, how many counts are written out
    id₁ id₂ … idₙ          ascending; the s small ones, below 65,536, take 2 bytes each, the others 4
    c₁  c₂  … cₙ           1 byte each: a term's packed counts, 0 where they do not fit one
    w₁  w₂  … wₑ           2 bytes each: the packed counts that do not
    x                      4 bytes: CRC-32 of all before it, so that a damaged page changes no score

A term gets the next id when it is first seen, so nearly all that a document holds are small. Packed counts have two
bytes, and the lower one is enough for 98 of 100 terms:

    lower byte     body & 15    identifiers & 3     title & 1     path & 1
    upper byte     body >> 4    identifiers >> 2    title >> 1    path >> 1

A count that does not fit its bits stays at their maximum: by then BM25's term frequency has saturated.
"""

import sys
from _bisect import bisect_left
from collections.abc import Mapping

from ctxrank.indexer.engine import FieldWeights
from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from array import array
    from typing import TypeVar

    _Count = TypeVar("_Count", int, float)

BODY_MAX, TITLE_MAX, PATH_MAX, IDENTIFIERS_MAX = 63, 7, 7, 15
# What each count of a column adds to a term's packed counts; no two columns share a bit.
BODY = tuple(count & 15 | count >> 4 << 8 for count in range(BODY_MAX + 1))
IDENTIFIERS = tuple((count & 3) << 4 | count >> 2 << 10 for count in range(IDENTIFIERS_MAX + 1))
TITLE = tuple((count & 1) << 6 | count >> 1 << 12 for count in range(TITLE_MAX + 1))
PATH = tuple((count & 1) << 7 | count >> 1 << 14 for count in range(PATH_MAX + 1))
BODY_PLAIN_MAX = 15  # up to here the packed count is the count
_BYTE_MAX = 255
_SMALL_IDS = 1 << 16
_MOST_WRITTEN_OUT = (1 << 16) - 1
HEAD_BYTES = 4
CHECK_BYTES = 4
WHOLE = 0x2144DF1C  # the CRC-32 of anything that ends in its own
_LARGE_BYTES = 5  # of an id that is not small, with its byte of counts
_IS_BIG_ENDIAN = sys.byteorder == "big"


def pack_counts(title: int, body: int, path: int, identifiers: int) -> int:
    """The four counts of one term in one number."""
    return (
        BODY[min(body, BODY_MAX)]
        | TITLE[min(title, TITLE_MAX)]
        | PATH[min(path, PATH_MAX)]
        | IDENTIFIERS[min(identifiers, IDENTIFIERS_MAX)]
    )


def unpack_counts(packed: int) -> tuple[int, int, int, int]:
    """(title, body, path, identifiers): the counts of one term."""
    return (
        packed >> 6 & 1 | packed >> 12 - 1 & 6,
        packed & 15 | packed >> 8 - 4 & 48,
        packed >> 7 & 1 | packed >> 14 - 1 & 6,
        packed >> 4 & 3 | packed >> 10 - 2 & 12,
    )


def weighted_count(packed: int, weights: FieldWeights) -> float:
    """The weighted frequency that these packed counts are."""
    title, body, path, identifiers = unpack_counts(packed)
    return weights.title * title + weights.body * body + weights.path * path + weights.identifiers * identifiers


def encode(counts: Mapping[int, int]) -> bytes:
    """The blob of a document, given the packed counts of its terms by their ids."""
    from array import array  # noqa: PLC0415  start-up: a query makes none
    from binascii import crc32  # noqa: PLC0415  as above

    ids = sorted(counts)
    packed = list(map(counts.__getitem__, ids))
    small = bisect_left(ids, _SMALL_IDS)
    written_out: list[int] = []
    try:
        lower = bytes(packed)
    except ValueError:  # some do not fit a byte
        written_out = [one for one in packed if one > _BYTE_MAX]
        if len(written_out) > _MOST_WRITTEN_OUT:  # a text of millions of words: their counts in the body will do
            return encode({id_: one & BODY_PLAIN_MAX or 1 for id_, one in counts.items()})
        lower = bytes([one if one <= _BYTE_MAX else 0 for one in packed])
    blob = b"".join((
        _bytes(array("H", (small, len(written_out)))), _bytes(array("H", ids[:small])),
        _bytes(array("I", ids[small:])), lower, _bytes(array("H", written_out)),
    ))  # fmt: skip
    return blob + crc32(blob).to_bytes(CHECK_BYTES, "little")


def _bytes(numbers: "array[int]") -> bytes:
    if _IS_BIG_ENDIAN:
        numbers.byteswap()
    return numbers.tobytes()


def check(blob: bytes) -> None:
    """Raise ValueError for bytes that `encode` did not make."""
    from binascii import crc32  # noqa: PLC0415  start-up: compiled code checks what a query reads

    if crc32(blob) != WHOLE:
        raise ValueError("a forward list is damaged")


def _ids(kind: str, data: bytes) -> "array[int]":
    from array import array  # noqa: PLC0415  start-up: compiled code reads for a query

    ids = array(kind, data)
    if _IS_BIG_ENDIAN:
        ids.byteswap()
    return ids


def large_ids(blob: bytes, small: int) -> "array[int]":
    """The ids of a document's terms that take four bytes, where so many take two."""
    at = HEAD_BYTES + 2 * small
    large = (len(blob) - CHECK_BYTES - at - small - 2 * (blob[2] | blob[3] << 8)) // _LARGE_BYTES
    return _ids("I", blob[at : at + 4 * large])


def term_ids(blob: bytes) -> list[int]:
    """The ids of all terms in a blob, ascending. Raises ValueError for one that is damaged."""
    check(blob)
    small = blob[0] | blob[1] << 8
    return [*_ids("H", blob[HEAD_BYTES : HEAD_BYTES + 2 * small]), *large_ids(blob, small)]


def counts_written_out(blob: bytes, counts_at: int, at: int) -> int:
    """The packed counts of the term whose byte, at this place of the blob, is 0."""
    written_out = blob[2] | blob[3] << 8
    place = len(blob) - CHECK_BYTES - 2 * (written_out - blob.count(0, counts_at, at))
    return blob[place] | blob[place + 1] << 8


def pure_frequencies(
    blobs: list[bytes], wanted: list[int], weighted: "dict[int, _Count]"
) -> "list[list[tuple[int, _Count]]]":
    """For each blob (term id, weighted count) of those of the wanted terms that it holds. Raises ValueError as above.

    `weighted` maps packed counts to the weighted ones. By ascending id, so that what is summed is summed in one order.
    The inner loop of every query: `_forward.c` does the same, and is taken where it was compiled.
    """
    common = frozenset(wanted).intersection
    rows: list[list[tuple[int, _Count]]] = []
    for blob in blobs:
        check(blob)
        small = blob[0] | blob[1] << 8
        counts_at = HEAD_BYTES + 2 * small
        ids = _ids("H", blob[HEAD_BYTES:counts_at])
        found: list[tuple[int, _Count]] = []
        large = large_ids(blob, small)
        counts_at += 4 * len(large)
        for held, first in ((ids, counts_at), (large, counts_at + small)):
            for id_ in sorted(common(held)):
                at = first + bisect_left(held, id_)
                found.append((id_, weighted[blob[at] or counts_written_out(blob, counts_at, at)]))
        rows.append(found)
    return rows


try:
    from ctxrank.indexer.fulltext import _forward

    frequencies = _forward.frequencies
except ImportError:  # not compiled here
    frequencies = pure_frequencies

"""The forward list: what is packed comes out again, and what does not fit is at its most."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from index_contents import packed_counts
from tables import each_row

from ctxrank.indexer.fulltext import forward
from ctxrank.indexer.fulltext.forward import (
    BODY_MAX,
    IDENTIFIERS_MAX,
    PATH_MAX,
    TITLE_MAX,
    encode,
    frequencies,
    pack_counts,
    pure_frequencies,
    term_ids,
    unpack_counts,
)

_IDS = st.integers(1, 70_000) | st.integers(1, 2**32 - 1)
_PACKED = st.integers(1, 2**16 - 1)


def test_three_terms_are_laid_out_like_this() -> None:
    blob = encode({65_538: pack_counts(0, 2, 0, 0), 258: pack_counts(1, 3, 0, 0), 1: pack_counts(0, 20, 0, 1)})
    assert blob.hex(" ", -2) == "0200 0100 0100 0201 0200 0100 0043 0214 01a4 561d 95"


@given(st.integers(0, TITLE_MAX), st.integers(0, BODY_MAX), st.integers(0, PATH_MAX), st.integers(0, IDENTIFIERS_MAX))
def test_counts_that_fit_come_out_as_they_went_in(title: int, body: int, path: int, identifiers: int) -> None:
    assert unpack_counts(pack_counts(title, body, path, identifiers)) == (title, body, path, identifiers)


@given(st.integers(0, 10**6))
def test_a_count_that_does_not_fit_stays_in_its_bits(count: int) -> None:
    most = (TITLE_MAX, BODY_MAX, PATH_MAX, IDENTIFIERS_MAX)
    assert unpack_counts(pack_counts(count, count, count, count)) == tuple(min(count, limit) for limit in most)


@given(st.dictionaries(_IDS, _PACKED, max_size=40), _IDS)
def test_every_term_is_found_with_its_counts_and_no_other_is(terms: dict[int, int], other: int) -> None:
    blob = encode(terms)
    assert term_ids(blob) == sorted(terms)
    assert dict(packed_counts(blob, frozenset({*terms, other}))) == terms


def test_counts_at_the_border_of_a_byte_and_hundreds_that_take_two_are_told_apart() -> None:
    terms = {number: (254, 255, 256, 0xFFFF)[number % 4] for number in (*range(1, 600), *range(70_000, 70_600))}
    blob = encode(terms)
    assert term_ids(blob) == sorted(terms)
    assert dict(packed_counts(blob, frozenset(terms))) == terms
    weighted = {packed: float(packed) for packed in terms.values()}
    found = [(id_, float(terms[id_])) for id_ in sorted(terms)]
    for read in (frequencies, pure_frequencies):
        assert read([blob, encode({}), blob], list(terms), weighted) == [found, [], found]


def test_a_document_with_more_large_counts_than_can_be_told_keeps_every_term() -> None:
    terms = dict.fromkeys(range(1, 70_000), pack_counts(0, 18, 0, 0))
    blob = encode(terms)
    assert term_ids(blob) == sorted(terms)
    assert dict(packed_counts(blob, frozenset({1, 69_999}))) == {1: 2, 69_999: 2}


@each_row("at", [0, 3, 5, 12, -5, -1])
def test_bytes_that_turned_over_are_no_forward_list(at: int) -> None:
    blob = bytearray(encode({7: pack_counts(0, 2, 0, 0), 70_000: pack_counts(0, 20, 0, 0)}))
    blob[at] ^= 0x10
    with pytest.raises(ValueError, match="damaged"):
        packed_counts(bytes(blob), frozenset({7}))


def test_no_damaged_list_is_counted() -> None:
    blob = encode({7: 1, 70_000: 300, 9: 2})
    for at in range(len(blob)):
        for wrong in (blob[:at], blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1 :]):
            with pytest.raises(ValueError, match="damaged"):
                frequencies([wrong], [7, 70_000], dict.fromkeys(range(400), 1.0))


@given(st.lists(st.dictionaries(_IDS, _PACKED, max_size=20), max_size=4), st.sets(_IDS, max_size=9))
def test_the_compiled_loop_finds_what_the_one_in_python_does(documents: list[dict[int, int]], others: set[int]) -> None:
    blobs = list(map(encode, documents))
    wanted = list(others.union(*(list(terms)[:3] for terms in documents)))
    weighted = {packed: packed / 7 for terms in documents for packed in terms.values()}
    found = frequencies(blobs, wanted, weighted)
    assert found == pure_frequencies(blobs, wanted, weighted)
    assert all(row == sorted(row) for row in found)


def test_the_terms_of_a_damaged_list_are_not_believed() -> None:
    blob = encode({7: 1, 70_000: 300, 9: 2})
    assert term_ids(blob) == [7, 9, 70_000]
    for at in range(len(blob)):
        for wrong in (blob[:at], blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1 :]):
            with pytest.raises(ValueError, match="damaged"):
                term_ids(wrong)


def test_a_count_of_each_column_is_packed_into_its_own_bits() -> None:
    for at, packed in enumerate((forward.TITLE, forward.BODY, forward.PATH, forward.IDENTIFIERS)):
        for count, one in enumerate(packed):
            assert forward.unpack_counts(one) == tuple(count if place == at else 0 for place in range(4))
    assert [len(one) for one in (forward.TITLE, forward.BODY, forward.PATH, forward.IDENTIFIERS)] == [8, 64, 8, 16]

"""The forward list: what is packed comes out again, and what does not fit is at its most."""

import random
from importlib.util import find_spec
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.engine import Row, SaturatedSum
from ctxrank.indexer.fulltext import forward
from ctxrank.indexer.fulltext.forward import (
    BODY_MAX,
    IDENTIFIERS_MAX,
    PATH_MAX,
    TITLE_MAX,
    encode,
    pack_counts,
    packed_counts,
    term_ids,
    unpack_counts,
)

IS_COMPILED = find_spec("ctxrank.indexer.fulltext._forward_sums") is not None
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


_COUNTS = st.dictionaries(st.integers(1, 300) | st.integers(65_530, 65_600), st.integers(1, 65_535))
_BLOBS = st.lists(st.tuples(_COUNTS, st.integers(1, 999)), min_size=1, max_size=9)
_WORTHS = st.lists(st.floats(0.01, 12), min_size=1, max_size=5)


class _Halves(dict[int, float]):
    """Some weighted frequency for each packed count."""

    def __missing__(self, packed: int) -> float:
        return packed / 2 + 0.1


@pytest.mark.skipif(not IS_COMPILED, reason="this installation was made without a C compiler")
@given(_BLOBS, st.sets(st.integers(1, 40) | st.integers(65_530, 65_560)), _WORTHS, st.randoms())
def test_the_compiled_sum_is_the_one_of_the_formula(
    documents: list[tuple[dict[int, int], int]], ids: set[int], worth: list[float], chance: random.Random
) -> None:
    rows: list[Row] = [(at, at, length, forward.encode(counts)) for at, (counts, length) in enumerate(documents)]
    terms = tuple((id_, chance.randrange(len(worth)), chance.choice([1.0, 0.37])) for id_ in sorted(ids))
    formula = SaturatedSum(terms, tuple(worth), 0.6, 0.9 / 57.3)
    counted = forward.frequencies([forward.encode(counts) for counts, _ in documents], ids, _Halves())
    assert forward.compiled_sums(rows, formula, _Halves()) == formula.of_rows(rows, counted)


@pytest.mark.skipif(not IS_COMPILED, reason="this installation was made without a C compiler")
def test_no_damaged_list_is_added_up() -> None:
    blob = forward.encode({7: 1, 70_000: 300, 9: 2})
    formula = SaturatedSum(((7, 0, 1.0), (70_000, 1, 1.0)), (1.0, 2.0), 0.6, 0.1)
    for at in range(len(blob)):
        for wrong in (blob[:at], blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1 :]):
            with pytest.raises(ValueError, match="damaged"):
                forward.compiled_sums([(1, 1, 3, wrong)], formula, _Halves())
    lying = b"\\xff\\xff\\xff\\xff" + blob[4:-4]
    with pytest.raises(ValueError, match="damaged"):
        forward.compiled_sums([(1, 1, 3, lying + crc32(lying).to_bytes(4, "little"))], formula, _Halves())


@pytest.mark.skipif(not IS_COMPILED, reason="this installation was made without a C compiler")
def test_a_formula_that_names_no_place_is_refused() -> None:
    for terms in (((7, 1, 1.0),), ((9, 0, 1.0), (7, 0, 1.0))):
        with pytest.raises(ValueError, match="ascending"):
            forward.compiled_sums([], SaturatedSum(terms, (1.0,), 0.6, 0.1), {})

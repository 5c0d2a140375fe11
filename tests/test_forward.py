"""The forward list: what is packed comes out again, and what does not fit is at its most."""

from hypothesis import given
from hypothesis import strategies as st

from ctxrank.indexer.forward import (
    BODY_MAX,
    IDENTIFIERS_MAX,
    PATH_MAX,
    TITLE_MAX,
    encode,
    pack_counts,
    packed_count,
    term_ids,
    term_key,
    unpack_counts,
)

_IDS = st.integers(1, 2**32 - 1)
_PACKED = st.integers(1, 2**16 - 1)


def test_two_terms_are_laid_out_like_this() -> None:
    blob = encode([258, 1], [pack_counts(0, 2, 0, 0), pack_counts(1, 3, 0, 0)])
    assert blob.hex(" ", -4) == "01000000 02010000 43000200"


@given(st.integers(0, TITLE_MAX), st.integers(0, BODY_MAX), st.integers(0, PATH_MAX), st.integers(0, IDENTIFIERS_MAX))
def test_counts_that_fit_come_out_as_they_went_in(title: int, body: int, path: int, identifiers: int) -> None:
    assert unpack_counts(pack_counts(title, body, path, identifiers)) == (title, body, path, identifiers)


@given(st.integers(0, 10**6))
def test_a_count_that_does_not_fit_stays_in_its_bits(count: int) -> None:
    most = (TITLE_MAX, BODY_MAX, PATH_MAX, IDENTIFIERS_MAX)
    assert unpack_counts(pack_counts(count, count, count, count)) == tuple(min(count, limit) for limit in most)


@given(st.dictionaries(_IDS, _PACKED, max_size=40), _IDS)
def test_every_term_is_found_with_its_counts_and_no_other_is(terms: dict[int, int], other: int) -> None:
    blob = encode(terms.keys(), terms.values())
    assert list(term_ids(blob)) == sorted(terms)
    for id_ in (*terms, other):
        assert packed_count(blob, term_key(id_)) == terms.get(id_, 0)


def test_bytes_that_lie_across_two_ids_are_no_term() -> None:
    blob = encode([0x02000000, 0x04000003], [1, 1])
    assert packed_count(blob, (0x00000302).to_bytes(4, "little")) == 0

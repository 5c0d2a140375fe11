"""What a batch changes in the statistics of terms: in Python, and the same from the compiled twin."""

from typing import Any, cast

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from index_contents import packed_counts

from ctxrank.indexer.fulltext import forward
from ctxrank.indexer.fulltext.batch_counts import UNITS, BatchCounts, PureBatchCounts
from ctxrank.indexer.fulltext.forward import pack_counts
from ctxrank.indexer.fulltext.impact_bounds import LEVEL_OF, NONE
from ctxrank.indexer.fulltext.index_file import TOKENIZER


class _Ids(dict[str, int]):
    """Numbers terms as they come, from where it is told to begin."""

    def __init__(self, before: int = 0) -> None:
        super().__init__()
        self._before = before

    def __missing__(self, term: str) -> int:
        id_ = self[term] = self._before + len(self) + 1
        return id_


_tokenizer = apsw.Connection("").fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1]))


def _tokens(text: str) -> list[str]:
    found = _tokenizer(text.encode("utf-8", "replace"), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False,
                       include_colocated=False)  # fmt: skip
    return cast("list[str]", found)


TWINS = [PureBatchCounts] if BatchCounts is PureBatchCounts else [PureBatchCounts, BatchCounts]


@pytest.mark.parametrize("twin", TWINS)
def test_a_document_gets_its_forward_list_and_its_terms_their_statistics(twin: type[PureBatchCounts]) -> None:
    ids = _Ids()
    counts = twin(_tokens, ids, UNITS, LEVEL_OF)
    blob, length = counts.add("lock and, lock", "Locks", "", [(9, pack_counts(0, 0, 1, 0))], 1)
    assert (length, ids) == (5, {"lock": 1, "and": 2})
    assert dict(packed_counts(blob, frozenset({1, 2, 9}))) == {
        1: pack_counts(1, 2, 0, 0), 2: pack_counts(0, 1, 0, 0), 9: pack_counts(0, 0, 1, 0),
    }  # fmt: skip
    once = [5, *[NONE] * 5]
    often = [*[NONE] * 3, 5, *[NONE] * 2]  # two in the body and one in the title, which counts 2.5
    twice = [NONE, 5, *[NONE] * 4]  # 1.5, in the path
    assert sorted(counts.take(), key=lambda row: row[-1]) == [(1, *often, 1), (1, *once, 2), (1, *twice, 9)]
    assert counts.take() == []


@pytest.mark.parametrize("twin", TWINS)
def test_each_level_has_the_shorter_of_its_documents(twin: type[PureBatchCounts]) -> None:
    counts = twin(_tokens, _Ids(), UNITS, LEVEL_OF)
    counts.add("fig", "", "", [], 39)
    counts.add("fig", "", "", [], 29)
    counts.add("fig " * 63, "", "", [], 10**6)
    assert counts.take() == [(3, 30, *[NONE] * 4, NONE - 1, 1)]


@pytest.mark.parametrize("twin", TWINS)
def test_a_document_that_goes_takes_its_terms_with_it(twin: type[PureBatchCounts]) -> None:
    counts = twin(_tokens, _Ids(), UNITS, LEVEL_OF)
    counts.remove([1, 7])
    counts.add("fig", "", "", [], 0)
    assert sorted(counts.take(), key=lambda row: row[-1]) == [(0, 1, *[NONE] * 5, 1), (-1, *[NONE] * 6, 7)]


_WORDS = [
    *(f"t{number}" for number in range(40)),
    "Running",
    "x" * 65,
    "ä",
    "日本",
    "a—b",
    "—",
    "e\u0301",
    "\u0301",
    "\0",
]
_TEXT = st.lists(st.sampled_from(_WORDS), max_size=90).map(" ".join) | st.text(alphabet="aZ9é—-_ \n\u0301\ud800日\0")
_DOCUMENT = st.tuples(
    _TEXT, _TEXT, _TEXT, st.lists(st.tuples(st.integers(900, 70_000), st.integers(0, 65_535)), max_size=9),
    st.integers(0, 40_000),
)  # fmt: skip


@pytest.mark.skipif(BatchCounts is PureBatchCounts, reason="this installation was made without a C compiler")
@given(st.lists(_DOCUMENT, max_size=8), st.sampled_from([0, 65_520, 1 << 31]))
def test_both_twins_do_the_same(documents: list[Any], before: int) -> None:
    pure = PureBatchCounts(_tokens, _Ids(before), UNITS, LEVEL_OF)
    compiled = BatchCounts(_tokens, _Ids(before), UNITS, LEVEL_OF)
    for document in documents:
        assert pure.add(*document) == compiled.add(*document)
    assert sorted(pure.take()) == sorted(compiled.take())


@pytest.mark.slow
@pytest.mark.parametrize("twin", TWINS)
def test_a_text_of_more_frequent_words_than_the_list_can_write_out_keeps_their_counts_in_the_body(
    twin: type[PureBatchCounts],
) -> None:
    words = "".join(f"t{number} " for number in range(70_000)) * 17
    blob, _ = twin(_tokens, _Ids(), UNITS, LEVEL_OF).add(words, "", "", [], 0)
    assert set(dict(packed_counts(blob, frozenset(range(1, 70_001)))).values()) == {1}


def test_what_is_no_id_and_no_count_is_refused() -> None:
    if BatchCounts is PureBatchCounts:
        pytest.skip("this installation was made without a C compiler")
    counts = BatchCounts(_tokens, {"a": 0, "b": 1 << 32}, UNITS, LEVEL_OF)
    for wrong in ("a", "b", "unknown"):
        with pytest.raises((ValueError, KeyError)):
            counts.add(wrong, "", "", [], 0)
    with pytest.raises(ValueError, match="16 bits"):
        counts.add("", "", "", [(1, 1 << 16)], 0)
    with pytest.raises(TypeError):
        BatchCounts(_tokens, cast("dict[str, int]", []), UNITS, LEVEL_OF)


@pytest.mark.parametrize("twin", TWINS)
def test_what_was_forgotten_is_asked_for_again(twin: type[PureBatchCounts]) -> None:
    ids = _Ids()
    counts = twin(_tokens, ids, UNITS, LEVEL_OF)
    counts.add("fig", "", "", [], 0)
    ids.clear()
    ids["fig"] = 7
    counts.forget()
    blob, _ = counts.add("fig", "", "", [], 0)
    assert forward.term_ids(blob) == [7]

"""BM25: arithmetic to redo on paper, its laws, and agreement with FTS5's own bm25()."""

from math import isclose, log
from pathlib import Path
from typing import cast

import apsw
import pytest
from builders import make_store, save, search_ids, write_file
from hypothesis import given
from hypothesis import strategies as st
from index_contents import packed_counts

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.fulltext.forward import encode
from ctxrank.indexer.fulltext.fts5_engine import index_of
from ctxrank.indexer.opening import engine_of
from ctxrank.indexer.store.facets import Scope
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.formulas.bm25 import (
    WEIGHTS,
    CountedColumn,
    inverse_document_frequency,
    pure_saturated_sums,
    saturated_sums,
    tf_saturation,
)
from ctxrank.ranking.retrieval.candidates.candidates import Scorer, find_candidates, term_scores
from ctxrank.ranking.retrieval.plan import Plan, make_plan
from ctxrank.ranking.retrieval.query import parse_query

_LINES = ("red fox", "red red dog", "blue dog cat bird")


def _store(tmp_path: Path, lines: tuple[str, ...] = _LINES) -> Store:
    """Packages without a file: each is one row of title, summary and path."""
    store = make_store(tmp_path)
    for number, line in enumerate(lines):
        save(store, f"{number}", None, summary=line, created_at=DAY_US + number)
    return store


def _scores(store: Store, query: str) -> dict[int, float]:
    """Score by document id, of all rows that match."""
    engine = engine_of(store)
    with engine.snapshot() as statistics:
        plan = make_plan(parse_query(query), engine, statistics)
        found = find_candidates(plan, Scope())
    return {row.owner_id: row.score for row in found.rows}


def test_the_formula_can_be_redone_on_paper() -> None:
    """Three lines of 2, 3 and 4 words; `red` stands once in the first and twice in the second."""
    idf = inverse_document_frequency(3, 2)
    assert idf == log(1 + (3 - 2 + 0.5) / (2 + 0.5)) == log(1.6)
    first = idf * tf_saturation(1, 2, 3.0, k1=1.5, b=0.6)
    assert isclose(first, log(1.6) * 1 * 2.5 / (1 + 1.5 * (1 - 0.6 + 0.6 * 2 / 3)))
    assert isclose(first, log(1.6) * 2.5 / 2.2)
    second = idf * tf_saturation(2, 3, 3.0, k1=1.5, b=0.6)
    assert isclose(second, log(1.6) * 2 * 2.5 / (2 + 1.5))


def test_the_index_holds_the_statistics_that_the_formula_needs(tmp_path: Path) -> None:
    """Each row is title + body + path, and title and path are the same one token: 4, 5 and 6 tokens."""
    with _store(tmp_path) as store:
        state = index_of(store).state()
        assert (state.documents, state.total_length) == (3, 15)
        first, second = _scores(store, "red").values()
    assert isclose(first, log(1.6) * tf_saturation(1, 4, 5.0))
    assert isclose(second, log(1.6) * tf_saturation(2, 5, 5.0))


def test_a_word_in_the_title_weighs_more_than_one_in_the_body(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        save(store, "a.md", "# Nothing here\n\nonly about tokens\n", summary="x")
        save(store, "b.md", "# Only tokens\n\nabout nothing here\n", summary="x")
        assert search_ids(store, "tokens") == ["package:2", "package:1"]


def test_a_repeated_word_of_the_query_counts_nearly_as_often_as_it_was_asked(tmp_path: Path) -> None:
    """Twice is (12 + 1)·2 / (2 + 12) = 13/7 times as much."""
    with _store(tmp_path) as store:
        once, twice = _scores(store, "fox"), _scores(store, "fox fox")
    assert twice == {document: pytest.approx(13 / 7 * score) for document, score in once.items()}


@given(st.integers(1, 60), st.integers(1, 5000), st.floats(1, 5000), st.floats(0.1, 3), st.floats(0, 1))
def test_more_occurrences_never_lower_a_score(tf: int, length: int, average: float, k1: float, b: float) -> None:
    assert tf_saturation(tf + 1, length, average, k1, b) >= tf_saturation(tf, length, average, k1, b)


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_a_rarer_term_is_never_worth_less_and_none_is_worth_less_than_nothing(total: int, holding: int) -> None:
    holding = min(holding, total)
    assert inverse_document_frequency(total, holding) > 0
    assert inverse_document_frequency(total, max(holding - 1, 0)) >= inverse_document_frequency(total, holding)


def test_one_more_occurrence_in_a_text_never_lowers_its_score(tmp_path: Path) -> None:
    """All else equal: the same length, one neutral word replaced by the one that is asked for."""
    lines = tuple(" ".join(["fox"] * times + ["pad"] * (12 - times)) for times in range(1, 12))
    with _store(tmp_path, lines) as store:
        scores = list(_scores(store, "fox").values())
    assert scores == sorted(scores) and len(set(scores)) == len(scores)


@pytest.mark.parametrize("query", ["red", "dog", "red dog", "blue fox", "bird cat dog"])
def test_we_agree_with_fts5_when_its_constants_and_its_idf_are_put_in(tmp_path: Path, query: str) -> None:
    """To nine digits: the same tf, the same lengths; only k1, b, the weights and the idf differ."""
    lines = (*_LINES, "green bird", "a red bird", "yellow", "grey", "black", "white", "dog")
    with _store(tmp_path, lines) as store:
        index, engine = index_of(store), engine_of(store)
        with engine.snapshot() as statistics:
            plan = make_plan(parse_query(query), engine, statistics)
        expression = " OR ".join(query.split())
        rows = index.connection.execute(
            f"SELECT rowid, bm25(fts, 1, {WEIGHTS.title}, {WEIGHTS.path}, {WEIGHTS.identifiers}, 0) FROM fts"
            " WHERE fts MATCH ?",
            (f"{{title body path identifiers}}:({expression})",),
        ).fetchall()
        assert rows
        for rowid, smaller_is_better in cast("list[tuple[int, float]]", rows):
            assert isclose(-smaller_is_better, _as_fts5(store, plan, rowid), rel_tol=1e-9)


def _as_fts5(store: Store, plan: Plan, rowid: int) -> float:
    """Our score of a row with FTS5's k1, b and idf. Its length counts every column, so the facets too."""
    facets = 7
    engine, state = engine_of(store), index_of(store).state()
    total = state.documents + 1  # the sentinel's row
    length_of_all = (state.total_length + facets * state.documents + 1) / total
    score = 0.0
    with engine.snapshot():
        parts = term_scores(plan, engine.rows_of([rowid]))(rowid)
    for part in parts:
        idf = max(log((total - part.term.df + 0.5) / (part.term.df + 0.5)), 1e-6)
        score += idf * tf_saturation(part.tf, part.length + facets, length_of_all, k1=1.2, b=0.75)
    return score


def test_the_order_is_fts5_s_own_where_its_constants_do_not_matter(tmp_path: Path) -> None:
    """Lines of one length and distinct counts: any BM25 puts them in the same order."""
    lines = tuple(" ".join(["fox"] * times + ["pad"] * (9 - times)) for times in (3, 1, 5, 2, 8))
    with _store(tmp_path, lines) as store:
        ours = sorted((-score, document) for document, score in _scores(store, "fox").items())
        theirs = (
            index_of(store)
            .connection.execute("SELECT rowid & 0xffffffff FROM fts WHERE fts MATCH 'fox' ORDER BY rank")
            .fetchall()
        )
    assert [document for _, document in ours] == [row[0] for row in theirs]


@given(st.dictionaries(st.integers(1, 2**32 - 1), st.integers(1, 2**16 - 1)), st.frozensets(st.integers(1, 300)))
def test_counts_are_found_for_few_terms_and_for_many_alike(counts: dict[int, int], others: frozenset[int]) -> None:
    blob = encode(counts)
    wanted = frozenset(list(counts)[::2]) | others
    expected = {term: counts[term] for term in wanted if term in counts}
    assert dict(packed_counts(blob, wanted)) == expected
    for term in list(wanted)[:5]:
        assert dict(packed_counts(blob, frozenset([term]))) == {k: v for k, v in expected.items() if k == term}


def test_a_file_is_scored_by_its_best_passage_and_not_by_its_length(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        write_file(store, "short.md", "# Locks\n\nthe walrus lock\n")
        save(store, "short.md", None, summary="x")
        save(
            store, "long.md", "# Many\n\n" + "\n\n".join(f"## Part {n}\n\nfiller {n}" for n in range(9)) + "\n\nwalrus"
        )
        assert search_ids(store, "walrus")[0] == "package:1"


@pytest.mark.parametrize("blob", [b"", b"\x05", b"\x05\0\0\0\1\0\2"])
def test_bytes_that_are_no_forward_list_are_damage(blob: bytes, tmp_path: Path) -> None:
    with _store(tmp_path) as store, pytest.raises(apsw.CorruptError):
        engine = engine_of(store)
        with engine.snapshot() as statistics:
            Scorer(make_plan(parse_query("red fox"), engine, statistics)).scores([(1, 1, 3, blob)])


_PLACES = st.dictionaries(st.integers(1, 9), st.lists(st.tuples(st.integers(0, 5), st.floats(0, 1)), max_size=3))
_TFS = st.floats(0, 1000)


@given(st.data(), st.lists(_PLACES, max_size=2), st.lists(st.integers(1, 4000), max_size=4))
def test_the_compiled_sum_has_the_bits_of_the_one_in_python(
    data: st.DataObject, places: list[dict[int, list[tuple[int, float]]]], lengths: list[int]
) -> None:
    columns: list[CountedColumn] = [
        (
            ids,
            [
                data.draw(st.lists(st.tuples(st.sampled_from(sorted(ids)), _TFS)) if ids else st.just([]))
                for _ in lengths
            ],
        )
        for ids in places
    ]
    worths = data.draw(st.lists(st.floats(-9, 1e9), min_size=6, max_size=6))
    given_twice = (columns, lengths, worths, 0.6, 0.01)
    assert saturated_sums(*given_twice) == pure_saturated_sums(*given_twice)


def test_a_sum_of_many_terms_is_rounded_once() -> None:
    columns: list[CountedColumn] = [({1: [(at, 1.0) for at in range(5)]}, [[(1, 1.0)]])]
    worths = [1e100, 1.0, -1e100, 2.0**-53, 2.0**-106]
    assert saturated_sums(columns, [0], worths, 0.0, 0.0) == [1.0 + 2.0**-52]

"""Closeness: nearness to redo on paper, its laws, and what it does to a ranking."""

from pathlib import Path

import pytest
from builders import found, make_store, save, search_ids
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.opening import engine_of
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.settings import RANKING_RANGES, SETTINGS
from ctxrank.ranking.formulas.proximity import WINDOW, nearness, scaled_df, share_of_bonus
from ctxrank.ranking.formulas.tuning import Tuning, tuned
from ctxrank.ranking.retrieval.hits import SearchRequest
from ctxrank.ranking.retrieval.plan import make_plan
from ctxrank.ranking.retrieval.query import parse_query
from ctxrank.ranking.retrieval.search import search

_POSITIONS = st.lists(st.integers(0, 200), unique=True, max_size=20).map(sorted)


def test_nearness_counts_one_where_the_second_follows_and_half_where_it_is_near() -> None:
    assert nearness([3], [4]) == 1.0
    assert nearness([4], [3]) == nearness([3], [3 + WINDOW]) == 0.5
    assert nearness([3], [4 + WINDOW]) == 0.0
    assert nearness([1, 50], [2, 60]) == 1.0


@given(_POSITIONS, _POSITIONS)
def test_nearness_is_never_more_than_the_occurrences_of_the_first(first: list[int], second: list[int]) -> None:
    second = [position for position in second if position not in first]
    assert 0 <= nearness(first, second) <= len(first)
    slow = sum(
        1.0 if at + 1 in second else 0.5 if any(abs(at - other) <= WINDOW for other in second) else 0.0 for at in first
    )
    assert nearness(first, second) == slow


def test_the_bonus_of_a_long_query_weighs_no_more_than_that_of_eight_terms() -> None:
    assert share_of_bonus(1) == share_of_bonus(8) == 1.0
    assert share_of_bonus(32) == 0.25
    assert scaled_df(100, 1, 4) == 25 and scaled_df(3, 0, 4) == 1


def test_words_that_stand_together_outrank_the_same_words_apart(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        for name, text in (
            ("a.md", "retry pad pad pad pad pad pad pad pad pad budget"),
            ("b.md", "retry budget" + " pad" * 9),
        ):
            save(store, name, None, summary=text, created_at=1)
        assert search_ids(store, "retry budget") == ["package:2", "package:1"]
        config = Config(ranking={"near": 0.0, "exact": 0.0})
        plain = search(store, SearchRequest("retry budget"), config).hits
        assert plain[0].score == plain[1].score


def test_the_form_that_was_typed_outranks_another_of_the_same_stem(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        save(store, "a.md", None, summary="the locking of rows", created_at=1)
        save(store, "b.md", None, summary="the locked of rows", created_at=1)
        assert search_ids(store, "locking") == ["package:1", "package:2"]
        assert search_ids(store, "locked") == ["package:2", "package:1"]


@pytest.mark.parametrize(
    ("query", "pairs"),
    [
        ("retry budget", [("retri", "budget")]),
        ("the retry of the budget", [("retri", "budget")]),
        ("retry. Budget", [("retri", "budget")]),
        ("retry retry", []),
        ("retry title:budget", []),
    ],
)
def test_neighbours_are_different_words_of_one_field(tmp_path: Path, query: str, pairs: list[tuple[str, str]]) -> None:
    with make_store(tmp_path) as store:
        save(store, "a.md", None, summary="retry budget")
        engine = engine_of(store)
        with engine.snapshot() as statistics:
            plan = make_plan(parse_query(query), engine, statistics)
        assert [(first, second) for first, second, _, _ in plan.pairs] == pairs


def test_what_a_passage_is_a_part_of_supports_it(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        filler = "pad " * 300
        save(store, "a.md", f"# Holidays\n\nholidays {filler}\n\n## One\n\n{filler} swam {filler}\n", summary="x")
        save(store, "b.md", f"# Winter\n\nwinter {filler}\n\n## One\n\n{filler} swam {filler}\n", summary="x")
        hits = found(store, "swam holidays", is_by_passage=True, is_explained=True).hits
    swimming = [hit.path for hit in hits if "swam" in hit.snippet]
    assert swimming == ["a.md", "b.md"] and all(hit.kind == "passage" for hit in hits)
    tree = hits[0].explanation
    assert tree is not None and tree.value == pytest.approx(hits[0].score, abs=1e-6)
    assert sum(part.value for part in tree.parts[0].parts) == pytest.approx(tree.parts[0].value)


def test_every_setting_is_a_field_of_the_tuning_and_the_other_way() -> None:
    assert set(RANKING_RANGES) == set(Tuning._fields)
    assert tuned({"near": 0.0}) == Tuning(near=0.0)
    assert all(least <= value <= most for value, (least, most) in zip(Tuning(), RANKING_RANGES.values(), strict=True))


@each_row("given", [{"title": "high"}, {"b": 2}, {"size": 1}, {"near": True}, "fast", {"k1": float("nan")}])
def test_a_setting_that_means_nothing_is_refused_with_what_is_allowed(given: object) -> None:
    with pytest.raises(UsageError, match="ranking"):
        SETTINGS["ranking"].check(given, "config.yaml: ranking")


def test_a_passage_has_a_fifth_of_each_of_its_neighbours(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        parts = "\n".join(f"# {name}\n\n{'pad ' * 300}walrus {name}\n" for name in ("One", "Two", "Three"))
        save(store, "a.md", parts, summary="x")
        hits = found(store, "walrus", is_by_passage=True, is_explained=True).hits
    evidence = {hit.title: hit.explanation.parts[0].parts for hit in hits if hit.explanation}
    own, _, *neighbours = (part.value for part in evidence["Two"])
    assert hits[0].title == "Two" and neighbours == pytest.approx([own / 5, own / 5])
    assert [len(evidence[title]) for title in ("One", "Two", "Three")] == [3, 4, 3]


def test_nearness_by_hand() -> None:
    assert nearness([], [1]) == nearness([1], []) == 0.0
    assert nearness([5], [5 - WINDOW]) == 0.5 and nearness([5 + WINDOW], [4]) == 0.0
    assert nearness([1, 2, 3], [4]) == 0.5 + 0.5 + 1.0
    assert nearness([10, 20], [1, 2, 9, 11, 13, 21, 40]) == 2.0
    assert nearness([10], [9, 12]) == 0.5, "what follows at once counts, not what is next to it"
    assert (share_of_bonus(0), share_of_bonus(8), share_of_bonus(16), share_of_bonus(9)) == (1.0, 1.0, 0.5, 8 / 9)
    assert (scaled_df(10, 2, 4), scaled_df(10, 0, 4), scaled_df(10, 2, 0), scaled_df(3, 1, 9)) == (5.0, 1.0, 1.0, 1.0)

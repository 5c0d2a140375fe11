"""The budget's laws, over any items: it is hard, it is fair, and more of it never takes away."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxrank.ranking.context.assembly.limits import CLASSES, REASONING_TOKENS, Budget, make_budget
from ctxrank.ranking.context.budget import (
    NOT_SHOWN,
    Item,
    ItemClass,
    Order,
    Purchase,
    fair_queue,
    lines_and_details,
    spend,
)

_HEADINGS = {"reasoning": 9, "errors": 7, "strategies": 5}


def _item(kind: str, *costs: int, id_: str = "") -> Item:
    """An item of a class, and what each of its levels costs beyond the level below."""
    prices = tuple(sum(costs[: at + 1]) for at in range(len(costs)))
    return Item(id_, tuple(f"level {at}" for at in range(len(costs))), prices, kind=kind)


_ITEMS = st.lists(
    st.tuples(st.sampled_from(CLASSES), st.lists(st.integers(1, 400), min_size=1, max_size=4)), max_size=20
).map(lambda parts: [_item(kind, *costs) for kind, costs in parts])


def _budget(limit: int, level: str = "medium") -> Budget:
    return make_budget("qa_expert", 10**6, level, total=limit)


def _classes(budget: Budget, headings: dict[str, int] = _HEADINGS) -> dict[str, ItemClass]:
    return {kind: ItemClass(budget.shares[kind], budget.caps.get(kind), headings.get(kind, 0)) for kind in CLASSES}


def _order(items: list[Item], level: str = "medium", headings: dict[str, int] = _HEADINGS) -> Order:
    return fair_queue(items, _classes(_budget(0, level), headings))


def _spend(limit: int, items: list[Item], base: int = 0) -> Purchase:
    return spend(_order(items), base, limit)


@given(_ITEMS, st.integers(0, 5000), st.integers(0, 100))
def test_it_is_hard(items: list[Item], limit: int, base: int) -> None:
    purchase = _spend(limit + base, items, base)
    assert purchase.used == base + sum(purchase.costs) <= limit + base


@given(_ITEMS, st.integers(0, 4000), st.integers(0, 2000))
def test_a_larger_one_never_removes_anything(items: list[Item], limit: int, more: int) -> None:
    small, large = _spend(limit, items), _spend(limit + more, items)
    assert all(before <= after for before, after in zip(small.levels, large.levels, strict=True))
    assert set(large.left) <= set(small.left)


@given(_ITEMS, st.integers(0, 4000))
def test_every_step_is_taken_or_left(items: list[Item], limit: int) -> None:
    purchase = _spend(limit, items)
    taken = [(place, at) for place, level in enumerate(purchase.levels) for at in range(level + 1)]
    left = [(step.place, step.at) for step in purchase.left]
    assert sorted(taken + left) == [(place, at) for place, item in enumerate(items) for at in range(len(item.levels))]
    assert purchase.is_complete == (len(left) == len(_order(items).barred))


@given(_ITEMS, st.integers(0, 4000))
def test_within_a_class_the_order_is_kept_all_at_one_level_before_any_at_the_next(
    items: list[Item], limit: int
) -> None:
    purchase = _spend(limit, items)
    for kind in ("packages", "errors", "strategies"):
        own = [place for place, item in enumerate(items) if item.kind == kind]
        steps = sorted((at, place) for place in own for at in range(len(items[place].levels)))
        taken = sorted((at, place) for place in own for at in range(purchase.levels[place] + 1))
        assert steps[: len(taken)] == taken


@pytest.mark.slow
@given(st.integers(200, 3000), st.integers(1, 60))
def test_no_class_starves_another(limit: int, cost: int) -> None:
    """All want more than there is: each has its share, but for one step."""
    items = [_item(kind, cost) for kind in CLASSES for _ in range(limit // cost + 1)]
    budget = _budget(limit, "full")
    purchase = spend(fair_queue(items, _classes(budget, {})), 0, limit)
    total = sum(budget.shares.values())
    for kind in CLASSES:
        share = min(budget.shares[kind] / total * limit, budget.caps.get(kind, limit))
        used = sum(cost for item, cost in zip(items, purchase.costs, strict=True) if item.kind == kind)
        assert used > share - 2 * cost


def test_an_unused_share_flows_on() -> None:
    assert _spend(1000, [_item("packages", 100) for _ in range(10)]).used == 1000


def test_reasoning_never_gets_more_than_its_level() -> None:
    items = [_item("reasoning", 150) for _ in range(20)]
    for level, cap in REASONING_TOKENS.items():
        assert spend(_order(items, level, {}), 0, 10**6).used == cap // 150 * 150


def test_an_entry_above_the_cap_does_not_block_the_next_and_leaves_it_the_heading() -> None:
    purchase = _spend(5000, [_item("reasoning", 900), _item("reasoning", 100)])
    assert purchase.levels == (NOT_SHOWN, 0) and purchase.costs == (0, 109)


def test_an_entry_above_the_cap_is_not_shown_at_a_higher_level_either() -> None:
    """Paper: 500 and 400 are above the cap of 800 together; the 10 that would show the second longer would fit."""
    purchase = _spend(5000, [_item("reasoning", 500), _item("reasoning", 400, 10)])
    assert purchase.levels == (0, NOT_SHOWN)
    assert [(step.place, step.at) for step in purchase.left] == [(1, 0), (1, 1)]


def test_a_reserve_is_kept_until_the_last_level() -> None:
    order = _order([Item("a", ("short", "whole"), (10, 30), reserve=4, kind="packages")])
    assert order.price == 4
    assert [step.cost for step in order.steps] == [10, 16]
    assert spend(order, 0, 29).used == 14 and spend(order, 0, 30).used == 30


def test_the_shares_are_the_specification_s_of_what_remains() -> None:
    limits = {agent: make_budget(agent, 100_000, "medium", total=None).limit for agent in (
        "developer", "senior_software_engineer", "qa_expert", "tech_lead", "investigator", "anyone")}  # fmt: skip
    assert limits == {
        "developer": 30_800, "senior_software_engineer": 40_800, "qa_expert": 45_800, "tech_lead": 55_800,
        "investigator": 50_800, "anyone": 30_800,
    }  # fmt: skip


def test_a_budget_that_is_asked_for_is_the_limit_but_never_more_than_remains() -> None:
    assert make_budget("developer", 100_000, "medium", total=500).limit == 500
    assert make_budget("developer", 300, "medium", total=500).limit == 300
    assert make_budget("developer", 300, "medium", total=None).limit == 300


def test_the_shares_of_each_agent_are_the_specification_s() -> None:
    beside = {"files": 0.0, "reasoning": 0.15, "strategies": 0.05, "skills": 0.0}
    shares = {
        agent: make_budget(agent, 100_000, "medium", total=None).shares
        for agent in (
            "developer", "senior_software_engineer", "qa_expert", "tech_lead", "investigator", "anyone",
        )
    }  # fmt: skip
    assert shares == {
        "developer": {"packages": 0.20, "errors": 0.10, **beside},
        "senior_software_engineer": {"packages": 0.25, "errors": 0.15, **beside},
        "qa_expert": {"packages": 0.30, "errors": 0.15, **beside},
        "tech_lead": {"packages": 0.40, "errors": 0.15, **beside},
        "investigator": {"packages": 0.35, "errors": 0.15, **beside},
        "anyone": {"packages": 0.20, "errors": 0.10, **beside},
    }
    assert REASONING_TOKENS == {"minimal": 400, "medium": 800, "full": 1200}


def test_where_all_want_more_than_there_is_each_class_gets_its_share() -> None:
    """Paper: shares .20 + .15 + .10 + .05 = .50, so of 500 tokens 200, 150, 100 and 50; skills have none."""
    items = [_item(kind, 10) for kind in CLASSES for _ in range(100)]
    budget = make_budget("developer", 10**6, "full", total=500)
    purchase = spend(fair_queue(items, _classes(budget, {})), 0, budget.limit)
    by_class = {
        kind: sum(cost for item, cost in zip(items, purchase.costs, strict=True) if item.kind == kind)
        for kind in CLASSES
    }
    assert by_class == {"packages": 200, "files": 0, "reasoning": 150, "errors": 100, "strategies": 50, "skills": 0}


def test_files_take_a_part_of_the_packages_share() -> None:
    shares = make_budget("developer", 10**6, "full", total=500).shares_with_files
    assert (round(shares["packages"], 9), round(shares["files"], 9), shares["errors"]) == (0.17, 0.03, 0.10)


def test_a_class_without_a_share_is_the_last_to_come() -> None:
    """Paper: 90 + 90, 5 for the heading of the strategies, and 10 where there is room."""
    items = [_item("skills", 10), _item("strategies", 90), _item("packages", 90)]
    assert [items[step.place].kind for step in _order(items).steps] == ["packages", "strategies", "skills"]
    assert _spend(195, items).levels == (0, 0, 0)
    assert _spend(194, items).levels == (NOT_SHOWN, 0, 0)


def test_a_line_that_became_a_part_of_details_leaves_room_for_other_lines() -> None:
    items = [Item(str(number), ("line", "passage"), (10, 40), kind="x", has_line=True) for number in range(12)]
    steps = list(lines_and_details(items, "x"))
    detailed = [step.place for step in steps if step.at == 1]
    at_third = steps.index(next(step for step in steps if step.at == 1 and step.place == 2))
    lines = {step.place for step in steps[:at_third] if step.at == 0}
    assert detailed == sorted(detailed) and lines == set(range(10))  # 4 for the first 40 tokens, 5 for the 80 of two


def test_a_second_passage_comes_after_the_first_of_each_which_follows_its_summary() -> None:
    levels = ("line", "summary", "passage", "passage")
    best = Item("a", levels, (10, 30, 100, 150), kind="x", is_first=True, has_line=True)
    other = Item("b", levels[:3], (10, 30, 100), kind="x", has_line=True)
    places = [(step.place, step.at) for step in lines_and_details([best, other], "x")]
    assert places == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3)]

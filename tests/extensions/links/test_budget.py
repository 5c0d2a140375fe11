"""The budget's laws for linked artifacts: hard, filled, and a larger one never takes away."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxrank.extensions.links.pack import Footer, cheapest_first, linked_limit, spend_with_footer
from ctxrank.indexer.exceptions import UsageError
from ctxrank.ranking.context.budget import Item, Purchase, spend

_LEVELS = ("meta", "summary", "full")
_PRICES = st.lists(st.integers(1, 300), min_size=1, max_size=3).map(sorted)


def _item(prices: list[int], reserve: int = 0) -> Item:
    return Item("", _LEVELS[: len(prices)], tuple(prices), reserve)


ITEMS = st.lists(st.builds(_item, _PRICES, st.integers(0, 20)), max_size=12)
FOOTERS = st.builds(Footer, st.integers(10, 30), st.integers(1, 10))


def base_of(items: list[Item], footer: Footer) -> int:
    """What the first offer and the names of all others cost: from here on there are steps."""
    return 50 + footer.frame + sum(item.price(0 if place == 0 else -1) for place, item in enumerate(items))


def bought(items: list[Item], limit: int | None, footer: Footer) -> Purchase:
    return spend_with_footer(items, cheapest_first(items, admitted=1), 50, limit, footer)[0]


def limit_of_links(items: list[Item], limit: int, footer: Footer) -> int:
    return linked_limit(cheapest_first(items, admitted=1), 50 + footer.frame, limit)


@given(ITEMS, FOOTERS, st.integers(0, 2500))
def test_it_is_hard(items: list[Item], footer: Footer, more: int) -> None:
    limit = base_of(items, footer) + more
    result = bought(items, limit, footer)
    costs = sum(item.price(at) for item, at in zip(items, result.levels, strict=True))
    assert result.used == 50 + footer.frame + costs <= limit


@given(ITEMS, FOOTERS, st.integers(0, 2500))
def test_it_is_filled_no_single_step_fits(items: list[Item], footer: Footer, more: int) -> None:
    """No upgrade of anyone who is shown, and not the next admission."""
    limit = base_of(items, footer) + more
    result = bought(items, limit, footer)
    steps = [place for place, at in enumerate(result.levels) if at >= 0]
    steps += [place for place, at in enumerate(result.levels) if at < 0][:1]
    for place in steps:
        at = result.levels[place]
        if at + 1 < len(items[place].levels):
            assert result.used + items[place].price(at + 1) - items[place].price(at) > limit


@given(ITEMS, FOOTERS, st.integers(60, 2500), st.integers(0, 600))
def test_a_larger_one_never_removes_or_lowers(items: list[Item], footer: Footer, limit: int, more: int) -> None:
    try:
        small = bought(items, limit, footer)
    except UsageError:
        return
    large = bought(items, limit + more, footer)
    assert all(before <= after for before, after in zip(small.levels, large.levels, strict=True))


@given(ITEMS, FOOTERS, st.integers(0, 2500))
def test_admission_is_in_budget_priority(items: list[Item], footer: Footer, more: int) -> None:
    shown = [at >= 0 for at in bought(items, base_of(items, footer) + more, footer).levels]
    assert shown == sorted(shown, reverse=True)


@given(ITEMS, FOOTERS)
def test_without_a_limit_everything_is_whole(items: list[Item], footer: Footer) -> None:
    purchase = bought(items, None, footer)
    assert purchase.is_complete and all(
        at == len(item.levels) - 1 for at, item in zip(purchase.levels, items, strict=True)
    )


def test_the_cheapest_step_is_next_and_equal_ones_go_by_priority() -> None:
    """Paper: 10 + 10 + 10 for three metas, then upgrades of 5 (second), 7 (first) and 7 (third)."""
    items = [_item([10, 17]), _item([10, 15]), _item([10, 17])]
    order = cheapest_first(items, admitted=1)
    levels = {limit: spend(order, 0, limit).levels for limit in (10, 20, 27, 30, 32, 42, 49)}
    assert levels == {
        10: (0, -1, -1), 20: (1, -1, -1), 27: (1, 0, -1), 30: (1, 0, -1), 32: (1, 1, -1), 42: (1, 1, 0), 49: (1, 1, 1),
    }  # fmt: skip


def test_a_budget_below_identity_and_task_says_what_it_takes() -> None:
    with pytest.raises(UsageError, match="take 72") as error:
        bought([_item([20]), _item([9])], 60, Footer(9, 2))
    assert "--budget 72" in error.value.hint


@given(ITEMS, FOOTERS, st.integers(60, 4000), st.integers(0, 600))
def test_the_share_for_search_grows_with_the_budget_and_so_does_the_rest(
    items: list[Item], footer: Footer, limit: int, more: int
) -> None:
    small, large = (limit_of_links(items, one, footer) for one in (limit, limit + more))
    assert small <= limit and small <= large and limit - small <= limit + more - large


@given(ITEMS, FOOTERS, st.integers(0, 2500))
@example([_item([1, 1], 4)], Footer(10, 1), 0)
def test_nobody_who_is_linked_lacks_a_second_level_for_what_search_found(
    items: list[Item], footer: Footer, more: int
) -> None:
    limit = base_of(items, footer) + more
    kept = limit_of_links(items, limit, footer)
    if kept < limit:
        levels = bought(items, kept, footer).levels
        assert all(at >= min(1, len(item.levels) - 1) for at, item in zip(levels, items, strict=True))


def test_search_has_three_tenths_of_what_is_beyond_the_second_levels() -> None:
    """Paper: the base of 5, a title for 10, its first section for 20: 25 in all; of 100 more, 30 are for search."""
    order = cheapest_first([_item([10, 20, 400])], admitted=1)
    limits = [linked_limit(order, 5, limit) for limit in (20, 25, 125, 1025)]
    assert limits == [20, 25, 95, 725]


def test_a_reserve_is_kept_until_the_last_level() -> None:
    order = cheapest_first([Item("a", ("short", "whole"), (10, 30), reserve=4)])
    assert order.price == 4
    assert [step.cost for step in order.steps] == [10, 16]
    assert spend(order, 0, 29).used == 14 and spend(order, 0, 30).used == 30

"""The budget's laws for linked artifacts: hard, filled, and a larger one never takes away."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxrank.indexer.exceptions import UsageError
from ctxrank.ranking.context.links.budget import Footer, Offer, Spent, linked_limit, spend

_LEVELS = ("meta", "summary", "full")
_PRICES = st.lists(st.integers(1, 300), min_size=1, max_size=3).map(sorted)


def _offer(prices: list[int], named: int) -> Offer:
    return Offer(_LEVELS[: len(prices)], tuple(prices), named)


OFFERS = st.lists(st.builds(_offer, _PRICES, st.integers(0, 20)), max_size=12)
FOOTERS = st.builds(Footer, st.integers(10, 30), st.integers(1, 10))


def base_of(offers: list[Offer], footer: Footer) -> int:
    """What the first offer and the names of all others cost: from here on there are steps."""
    return 50 + footer.frame + sum(offer.price(0 if place == 0 else -1) for place, offer in enumerate(offers))


def spent(offers: list[Offer], limit: int | None, footer: Footer) -> Spent:
    return spend(50, offers, limit, admitted=min(1, len(offers)), footer=footer)


@given(OFFERS, FOOTERS, st.integers(0, 2500))
def test_it_is_hard(offers: list[Offer], footer: Footer, more: int) -> None:
    limit = base_of(offers, footer) + more
    result = spent(offers, limit, footer)
    costs = sum(offer.price(at) for offer, at in zip(offers, result.levels, strict=True))
    assert result.used == 50 + footer.frame + costs <= limit


@given(OFFERS, FOOTERS, st.integers(0, 2500))
def test_it_is_filled_no_single_step_fits(offers: list[Offer], footer: Footer, more: int) -> None:
    """No upgrade of anyone who is shown, and not the next admission."""
    limit = base_of(offers, footer) + more
    result = spent(offers, limit, footer)
    steps = [place for place, at in enumerate(result.levels) if at >= 0]
    steps += [place for place, at in enumerate(result.levels) if at < 0][:1]
    for place in steps:
        at = result.levels[place]
        if at + 1 < len(offers[place].levels):
            assert result.used + offers[place].price(at + 1) - offers[place].price(at) > limit


@given(OFFERS, FOOTERS, st.integers(60, 2500), st.integers(0, 600))
def test_a_larger_one_never_removes_or_lowers(offers: list[Offer], footer: Footer, limit: int, more: int) -> None:
    try:
        small = spent(offers, limit, footer)
    except UsageError:
        return
    large = spent(offers, limit + more, footer)
    assert all(before <= after for before, after in zip(small.levels, large.levels, strict=True))


@given(OFFERS, FOOTERS, st.integers(0, 2500))
def test_admission_is_in_budget_priority(offers: list[Offer], footer: Footer, more: int) -> None:
    shown = [at >= 0 for at in spent(offers, base_of(offers, footer) + more, footer).levels]
    assert shown == sorted(shown, reverse=True)


@given(OFFERS, FOOTERS)
def test_without_a_limit_everything_is_whole(offers: list[Offer], footer: Footer) -> None:
    assert spent(offers, None, footer).is_complete(offers)


def test_the_cheapest_step_is_next_and_equal_ones_go_by_priority() -> None:
    """Paper: 10 + 10 + 10 for three metas, then upgrades of 5 (second), 7 (first) and 7 (third)."""
    offers = [Offer(("meta", "full"), (10, 17)), Offer(("meta", "full"), (10, 15)), Offer(("meta", "full"), (10, 17))]
    levels = {limit: spend(0, offers, limit, admitted=1).levels for limit in (10, 20, 27, 30, 32, 42, 49)}
    assert levels == {
        10: (0, -1, -1), 20: (1, -1, -1), 27: (1, 0, -1), 30: (1, 0, -1), 32: (1, 1, -1), 42: (1, 1, 0), 49: (1, 1, 1),
    }  # fmt: skip


def test_a_budget_below_identity_and_task_says_what_it_takes() -> None:
    with pytest.raises(UsageError, match="take 72") as error:
        spend(50, [Offer(("meta",), (20,)), Offer(("meta",), (9,))], 60, admitted=1, footer=Footer(9, 2))
    assert "--budget 72" in error.value.hint


@given(OFFERS, FOOTERS, st.integers(60, 4000), st.integers(0, 600))
def test_the_share_for_search_grows_with_the_budget_and_so_does_the_rest(
    offers: list[Offer], footer: Footer, limit: int, more: int
) -> None:
    first = min(1, len(offers))
    small, large = (linked_limit(50, offers, one, admitted=first, footer=footer) for one in (limit, limit + more))
    assert small <= limit and small <= large and limit - small <= limit + more - large


@given(OFFERS, FOOTERS, st.integers(0, 2500))
@example([_offer([1, 1], 4)], Footer(10, 1), 0)
def test_nobody_who_is_linked_lacks_a_second_level_for_what_search_found(
    offers: list[Offer], footer: Footer, more: int
) -> None:
    limit = base_of(offers, footer) + more
    kept = linked_limit(50, offers, limit, admitted=min(1, len(offers)), footer=footer)
    if kept < limit:
        levels = spent(offers, kept, footer).levels
        assert all(at >= min(1, len(offer.levels) - 1) for at, offer in zip(levels, offers, strict=True))


def test_search_has_three_tenths_of_what_is_beyond_the_second_levels() -> None:
    """Paper: the base of 5, a title for 10, its first section for 20: 25 in all; of 100 more, 30 are for search."""
    offers = [Offer(_LEVELS, (10, 20, 400))]
    limits = [linked_limit(5, offers, limit, admitted=1, footer=Footer()) for limit in (20, 25, 125, 1025)]
    assert limits == [20, 25, 95, 725]

"""The heuristic: the specification's own numbers."""

import pytest
from tables import each_row

from ctxrank.ranking.formulas.explanation import Explanation
from ctxrank.ranking.formulas.static_features import BLENDED, BLENDED_MAXIMUM, Signals, heuristic
from ctxrank.ranking.retrieval.explain import explain_heuristic


@each_row(
    "signals, total",
    [
        (Signals("critical", True, True, 0), 16 + 2 + 1.5 + 1),
        (Signals("high", True, False, 0), 12 + 2 + 1),
        (Signals("medium", False, True, 1), 8 + 1.5 + 1 / 2),
        (Signals("low", False, False, 9), 4 + 1 / 10),
        (Signals("", False, False, 0), 8 + 1),
    ],
)
def test_the_sum_is_the_specification_s(signals: Signals, total: float) -> None:
    assert heuristic(signals).total == pytest.approx(total)


def test_the_largest_sum_is_twenty_and_a_half() -> None:
    assert heuristic(Signals("critical", True, True, 0)).total == 20.5


def test_a_document_from_the_future_is_as_fresh_as_one_of_today() -> None:
    assert heuristic(Signals("low", False, False, -3)).of("recency") == 1.0


def test_recency_fades_and_never_reaches_zero() -> None:
    faded = [heuristic(Signals("low", False, False, days)).of("recency") for days in (0, 1, 9, 99, 10_000)]
    assert faded == sorted(faded, reverse=True) and faded[-1] > 0


def test_beside_a_text_recency_begins_at_three_and_halves_every_thirty_days() -> None:
    faded = [heuristic(Signals("low", False, False, days), BLENDED).of("recency") for days in (-3, 0, 15, 30, 60, 300)]
    assert faded == pytest.approx([3, 3, 3 / 2**0.5, 1.5, 0.75, 3 / 1024])


def test_beside_a_text_the_same_group_counts_half_and_the_rest_as_ever() -> None:
    assert heuristic(Signals("high", True, True, 30), BLENDED).values == pytest.approx((12, 1, 1.5, 1.5))
    assert heuristic(Signals("critical", True, True, 0), BLENDED).total == BLENDED_MAXIMUM == 21.5


def test_only_same_group_designated_and_fresh_together_lift_over_the_next_priority() -> None:
    lifted = heuristic(Signals("high", True, True, 0)).total
    assert lifted > heuristic(Signals("critical", False, False, 9)).total
    assert heuristic(Signals("high", True, False, 0)).total < heuristic(Signals("critical", False, False, 9)).total


def test_the_explanation_names_each_summand_and_adds_up() -> None:
    tree = explain_heuristic(heuristic(Signals("critical", True, True, 1)))
    assert tree.value == 20.0 == sum(part.value for part in tree.parts)
    assert [part.value for part in tree.parts] == [16, 2, 1.5, 0.5]
    assert Explanation(1.0, "x", (Explanation(1.0, "y"),)).lines() == ["1.0000  x", "  1.0000  y"]

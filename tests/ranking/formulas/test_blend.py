"""The blend: how a text score and what is known of a document become one number."""

from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxrank.ranking.formulas.blend import IDEAL_TERMS, TEXT_WEIGHT, blended, calibrated, half_score, uncalibrated
from ctxrank.ranking.formulas.static_features import BLENDED_MAXIMUM


def test_a_strong_match_of_low_priority_outranks_an_unrelated_critical_package() -> None:
    strong = blended(0.7, 4 + 1)
    unrelated = blended(0.0, BLENDED_MAXIMUM)
    assert isclose(strong, 0.8 * 0.7 + 0.2 * 5 / 21.5) and isclose(unrelated, 0.2)
    assert strong > unrelated


def test_between_equal_matches_priority_decides() -> None:
    assert blended(0.5, 16) > blended(0.5, 12) > blended(0.5, 8) > blended(0.5, 4)


def test_without_any_match_the_order_is_the_heuristic_s() -> None:
    assert blended(0, BLENDED_MAXIMUM) == pytest.approx(1 - TEXT_WEIGHT)
    assert blended(0, 10) < blended(0, 11)


def test_half_of_what_the_rarest_terms_are_worth_is_a_text_score_of_one_half() -> None:
    half = half_score([4.0, 2.0, 2.0])
    assert half == 4.0
    assert calibrated(4.0, half) == 0.5
    assert calibrated(0.0, half) == 0.0 == calibrated(0.0, 0.0)


def test_a_long_question_is_measured_by_its_eight_rarest_terms() -> None:
    assert half_score([3.0] * IDEAL_TERMS + [0.1] * 40) == half_score([3.0] * IDEAL_TERMS)


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(1e-6, 1e4))
def test_calibration_keeps_the_order_and_stays_below_one(first: float, second: float, half: float) -> None:
    low, high = sorted((first, second))
    assert 0 <= calibrated(low, half) <= calibrated(high, half) <= 1


def test_the_ideal_document_holds_half_of_the_eight_rarest_terms() -> None:
    """Paper: ½ · (9 + 8 + 7 + 6 + 5 + 4 + 3 + 2) = 22; the ninth term, worth 1, does not count."""
    assert half_score([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0]) == 22.0
    assert half_score([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]) == 22.0
    assert half_score([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0]) == 21.0


@given(st.floats(0, 1e4), st.floats(1e-3, 1e3))
def test_a_text_score_says_from_which_sum_it_came(score: float, half: float) -> None:
    text = calibrated(score, half)
    assert isclose(uncalibrated(text, half), score, rel_tol=1e-5, abs_tol=1e-9)
    assert uncalibrated(1.0, half) == uncalibrated(1.5, half) == float("inf") and uncalibrated(0.0, half) == 0.0

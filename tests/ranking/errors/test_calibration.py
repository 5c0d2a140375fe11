"""Recognition, and how the better record is chosen, by arithmetic that can be redone on paper."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.errors.patterns import state_of
from ctxrank.ranking.errors.calibration import (
    LEAST_RECOGNITION,
    WEIGHTS,
    Evidence,
    evidence,
    is_tie,
    recognition,
    record_bound,
)
from ctxrank.ranking.errors.confidence import PRIOR_STRENGTH, SAME_ERROR, confidence_in
from ctxrank.ranking.errors.similarity import Alignment, Likeness

SHARE = st.floats(0, 1)


NOTHING = Likeness(
    Alignment(1.0, 6.0), details=0.0, notes_apart=False, have_both_notes=False, values=0.0, frames=0,
    has_same_outcome=False, same_calls=0, has_same_stack=False, same_code=False, is_template=True, is_instance=False,
    vetoes=(),
)  # fmt: skip


def found(*, margin: float | None = 1.0, rivals: int = 0, content: float = 6.0, **likeness: Any) -> Evidence:
    return evidence(NOTHING._replace(headlines=Alignment(1.0, content), **likeness), margin, rivals)


def test_confidence_without_a_record_is_the_recognition() -> None:
    assert confidence_in(0, 0, 0.9) == pytest.approx(0.9)
    assert confidence_in(0, 0) == pytest.approx(SAME_ERROR)


def test_confidence_counts_the_recognition_as_four_observations() -> None:
    assert PRIOR_STRENGTH == 4
    # (4 × 0.9 + 1) / (4 + 1) and (4 × 0.9) / (4 + 2)
    assert confidence_in(1, 0, 0.9) == pytest.approx(0.92)
    assert confidence_in(0, 2, 0.9) == pytest.approx(0.6)


@given(SHARE, st.integers(0, 50), st.integers(0, 50))
def test_a_confirmation_never_lowers_and_a_refutation_never_raises(recognised: float, good: int, bad: int) -> None:
    now = confidence_in(good, bad, recognised)
    assert 0 <= confidence_in(good, bad + 1, recognised) <= now + 1e-12
    assert now - 1e-12 <= confidence_in(good + 1, bad, recognised) <= 1


@given(st.lists(SHARE, min_size=len(Evidence._fields), max_size=len(Evidence._fields)))
def test_recognition_is_a_probability(values: list[float]) -> None:
    assert all(0 < recognition(family, Evidence(*values)) < 1 for family in WEIGHTS)


def test_the_tables_have_a_weight_for_each_piece_of_evidence() -> None:
    assert {len(weights) for weights in WEIGHTS.values()} == {1 + len(Evidence._fields)}


def test_a_shared_code_and_a_clear_margin_make_it_surer() -> None:
    plain = recognition("message", found(is_template=False))
    assert recognition("message", found(is_template=False, same_code=True)) > plain
    assert recognition("message", found(margin=0.3)) > recognition("message", found(margin=0.0))


def test_a_template_that_nothing_else_resembles_is_answered_and_a_tie_is_not() -> None:
    assert recognition("message", found()) >= LEAST_RECOGNITION["message"]
    assert recognition("message", found(margin=0.0)) < LEAST_RECOGNITION["message"]


def test_the_threshold_lies_between_a_margin_of_29_and_one_of_30_hundredths() -> None:
    """Paper, of another wording: 3.04 − .33 · .29 / .5 = 2.849, which is .9453 of 1; with .30 it is 2.842, or .9449."""
    above, below = (recognition("message", found(is_template=False, margin=margin)) for margin in (0.29, 0.30))
    assert [above, below] == pytest.approx([0.9453, 0.9449], abs=1e-4)
    assert below < LEAST_RECOGNITION["message"] < above


def test_that_nothing_else_is_near_is_neither_a_tie_nor_a_margin() -> None:
    """Paper: 3.04 is .9543 of 1. However little is stored, the chance is the same."""
    assert not is_tie(None)
    assert recognition("message", found(is_template=False, margin=None)) == pytest.approx(0.9543, abs=1e-4)


def test_a_margin_below_six_hundredths_is_a_tie_and_not_answered() -> None:
    """Paper, of the same template: 4.36 − .33 · .12 = 4.320, or .987; below, 2.15 are taken off."""
    assert not is_tie(0.06) and is_tie(0.0599)
    assert recognition("message", found(margin=0.06)) == pytest.approx(0.9869, abs=1e-4)
    assert recognition("message", found(margin=0.0599)) < 0.90 < LEAST_RECOGNITION["message"]


def at(*, outcome: bool, calls: int = 0, stack: bool = False, template: bool = True) -> float:
    """The recognition at one line of the code, with nothing else stored."""
    return recognition(
        "trace",
        found(
            margin=None,
            frames=2,
            has_same_outcome=outcome,
            same_calls=calls,
            has_same_stack=stack,
            is_template=template,
        ),
    )


def test_the_same_outcome_through_the_same_calls_is_answered_and_another_outcome_is_not() -> None:
    """Paper: −.20 + 1.95 + 1.50 = 3.25, which is .963 of 1; −.20 alone is .450."""
    assert at(outcome=True, stack=True) == pytest.approx(0.9627, abs=1e-4)
    assert at(outcome=False, stack=True) == pytest.approx(0.4502, abs=1e-4)
    assert (
        at(outcome=False, stack=True)
        < LEAST_RECOGNITION["trace"]
        < LEAST_RECOGNITION["message"]
        < at(outcome=True, stack=True)
    )


def test_another_test_that_comes_through_the_same_calls_is_just_enough() -> None:
    """Paper: −.20 + 1.95 + .53 = 2.28, which is .907; with one call 2.015, or .882."""
    assert at(outcome=True, calls=2) == pytest.approx(0.9072, abs=1e-4)
    assert at(outcome=True, calls=9) == at(outcome=True, calls=2)
    assert at(outcome=True, calls=1) < LEAST_RECOGNITION["trace"] < at(outcome=True, calls=2)


def test_the_same_line_in_other_words_is_answered() -> None:
    assert at(outcome=False, stack=True, template=False) >= LEAST_RECOGNITION["trace"]


def test_a_message_with_other_notes_is_not_answered_and_the_less_the_shorter_it_is() -> None:
    long, short = (recognition("message", found(notes_apart=True, content=content)) for content in (6.0, 3.0))
    assert short < long < LEAST_RECOGNITION["message"]
    assert (
        recognition("message", found(notes_apart=True, have_both_notes=True, values=1.0)) < LEAST_RECOGNITION["message"]
    )


def test_the_same_values_make_up_for_notes_that_only_one_has() -> None:
    assert recognition("message", found(notes_apart=True, values=1.0)) >= LEAST_RECOGNITION["message"]


def test_a_message_that_several_errors_give_is_less_sure_unless_its_values_agree() -> None:
    assert recognition("message", found(rivals=2)) < recognition("message", found())
    assert recognition("message", found(rivals=2, values=1.0)) == recognition("message", found(values=1.0))


def test_one_lucky_success_does_not_prove_a_solution() -> None:
    # Wilson, z = 1: (1 + 1/2 − 1/2) / (1 + 1) for one of one, (8/9 of nine) far above for nine of ten.
    assert record_bound(1, 0) == pytest.approx(0.5)
    assert record_bound(0, 0) == 0.0
    assert record_bound(9, 1) > record_bound(1, 0)


@each_row(
    "good, bad, state",
    [
        (0, 0, "sighted"),
        (1, 0, "confirmed"),
        (0, 1, "refuted"),
        (1, 1, "sighted"),
        (5, 1, "confirmed"),
        (1, 4, "refuted"),
    ],
)
def test_a_record_becomes_a_state(good: int, bad: int, state: str) -> None:
    assert state_of(good, bad) == state

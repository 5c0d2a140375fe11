"""A table tries all its rows and lists those that fail."""

from pathlib import Path

import pytest
from tables import each_row


@each_row("number, square", [(2, 4), (3, 9), (4, 16)])
def test_every_row_is_tried_and_the_rest_are_fixtures(number: int, square: int, tmp_path: Path) -> None:
    assert number * number == square and tmp_path.is_dir()


def test_all_rows_that_fail_are_listed() -> None:
    @each_row("number, square", [(2, 4), (3, 8), (4, 16), (5, 24), (6, "x" * 1000)])
    def squares(number: int, square: int) -> None:
        assert number * number == square

    with pytest.raises(AssertionError) as failed:
        squares()
    assert str(failed.value).startswith("3 of 5 rows:\n* number=3, square=8\n  AssertionError: assert")
    assert "number=5, square=24" in str(failed.value) and "number=2" not in str(failed.value)
    assert len(str(failed.value)) < 2500


def test_an_error_and_one_that_does_not_come_are_failures() -> None:
    @each_row("number", [0, 1, -1])
    def inverse(number: int) -> None:
        with pytest.raises(OverflowError):
            print(1 / number)

    with pytest.raises(AssertionError, match="3 of 3 rows"):
        inverse()


def test_a_row_that_is_skipped_is_a_failure_since_it_would_hide_the_others() -> None:
    @each_row("number", [1, 2])
    def skipped(number: int) -> None:
        if number == 1:
            pytest.skip("not this one")

    with pytest.raises(AssertionError, match="1 of 2 rows"):
        skipped()


def test_a_table_without_rows_or_with_a_name_that_the_test_lacks_is_a_mistake() -> None:
    def test(number: int) -> None:
        assert number

    for names, rows in (("number", []), ("numbers", [1])):
        with pytest.raises(AssertionError):
            each_row(names, rows)(test)

import pytest

from calc import evaluate, tokens


def test_numbers_and_signs_are_words():
    assert tokens("12 + 3*(4-56)") == ["12", "+", "3", "*", "(", "4", "-", "56", ")"]


def test_a_number():
    assert evaluate("42") == 42


def test_a_sum():
    assert evaluate("1 + 20 + 300") == 321


def test_a_difference():
    assert evaluate("100 - 30 - 7") == 63


def test_a_product_binds_more():
    assert evaluate("2 + 3 * 4") == 14


def test_a_quotient():
    assert evaluate("90 / 4 / 2") == 11


def test_brackets():
    assert evaluate("(2 + 3) * (4 + 5)") == 45


def test_brackets_in_brackets():
    assert evaluate("2 * (3 + (4 - 1) * 5)") == 36


def test_a_negative_number():
    assert evaluate("7 * -3") == -21


def test_what_is_left_over_is_refused():
    with pytest.raises(ValueError):
        evaluate("1 2")

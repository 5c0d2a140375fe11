"""A field of an imported line has the type and the bounds that its kind of record gives it, or is refused by name."""

from collections.abc import Callable

import pytest
from tables import each_row

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.fields import MAX_NUMBER, Fields
from ctxrank.indexer.exchange.register import GONE, number_of, seq_of
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.ids import MAX_FOREIGN_NUMBER

_UUID = "123e4567-e89b-42d3-a456-426614174000"


def _fields(value: object) -> Fields:
    return Fields({"x": value}, IncomingTexts(RedactionMode.PATTERN_ONLY))


_READ: list[tuple[Callable[[Fields], object], tuple[object, ...], tuple[object, ...]]] = [
    (lambda one: one.number("x"), (0, 1, MAX_NUMBER), (True, False, -1, MAX_NUMBER + 1, 1.0, "1", [1])),
    (lambda one: one.number("x", least=1), (1, 2, MAX_NUMBER), (0, -1, True)),
    (lambda one: one.optional_number("x"), (None, 0, 7), (True, -1, "7")),
    (lambda one: one.optional_number("x", least=1), (None, 1), (0, -1)),
    (lambda one: one.share("x"), (0, 0.0, 0.5, 1, 1.0), (True, False, -0.1, 1.1, 2, "0.5", float("nan"))),
    (lambda one: one.choice("x", ("low", "high")), ("low", "high"), ("", "mid", "lowhigh")),
    (lambda one: one.optional_word("x"), (None, "", "a b"), (1, ["a"], True)),
    (lambda one: one.store("x"), (None, _UUID), ("", _UUID[:-1], 7, [_UUID])),
    (lambda one: one.agent("x"), ("developer",), ("", 7)),
    (lambda one: one.is_missing("x"), (), ()),
]


@each_row("read, good, bad", _READ)
def test_a_value_is_taken_as_it_is_or_refused_by_name(
    read: Callable[[Fields], object], good: tuple[object, ...], bad: tuple[object, ...]
) -> None:
    for value in good:
        assert read(_fields(value)) == value
    for value in bad:
        with pytest.raises(UsageError, match="'x'"):
            read(_fields(value))


def test_null_is_missing_and_a_default_stands_for_it() -> None:
    assert [_fields(value).is_missing("x") for value in (None, 0, "", False)] == [True, False, False, False]
    assert _fields(None).is_missing("y") and _fields(None).number("x", default=3) == 3
    assert _fields(None).optional_word("y") is None
    with pytest.raises(UsageError, match="'y'"):
        _fields(1).number("y")


@each_row(
    "value, is_one",
    [(1, True), (GONE - 1, True), (0, False), (-1, False), (GONE, False), (True, False), ("1", False), (1.0, False)],
)
def test_a_line_says_the_number_of_its_change_in_full(value: object, is_one: bool) -> None:
    if is_one:
        assert seq_of({"seq": value}) == value
    else:
        with pytest.raises(UsageError, match=f"'seq' is not a whole number from 1 to {GONE - 1}"):
            seq_of({"seq": value})
    bound = number_of({"id": MAX_FOREIGN_NUMBER})
    assert bound == MAX_FOREIGN_NUMBER
    with pytest.raises(UsageError, match="'id'"):
        number_of({"id": bound + 1})

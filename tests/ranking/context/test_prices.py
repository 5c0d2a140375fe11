"""A price is a cautious count times the model's factor, rounded up; and what joins a part to the next one."""

from math import ceil

import pytest

from ctxrank.indexer.text.tokens import ESTIMATE, MARGIN, cautious_tokens, surcharge
from ctxrank.indexer.text.vocabulary import local_counter
from ctxrank.ranking.context.prices import Prices

_TEXTS = ["a", "## Heading of a part", "x" * 120, "x" * 121, "é", "word " * 100, "SPEC-BILLING-001"]


@pytest.mark.parametrize("factor", [1.0, 1.2, 1.55])
def test_each_part_costs_what_it_counts_and_what_joins_it(factor: float) -> None:
    prices = Prices(factor)
    alone = [ceil(cautious_tokens(text) * factor) + 1 for text in _TEXTS]
    assert [prices.of(text) for text in _TEXTS] == [Prices(factor).of(text) for text in _TEXTS] == alone
    assert prices.of(*_TEXTS) == prices.of(*_TEXTS, "", "") == sum(alone) and prices.of() == 0
    assert prices.of_counted(0) == 1 and prices.of_counted(100) == ceil(100 * factor) + 1


@pytest.mark.parametrize("text", ["A line.\n", "package:7\n", "> quoted\n\npackage:7 · research\n", "```\n"])
def test_a_blank_line_after_a_part_costs_nothing_more(text: str) -> None:
    counter = local_counter()
    price = Prices(1.55).of(text)
    assert price == Prices(1.55).of(f"{text}\n")
    assert counter is None or price >= 1.55 * counter.count(f"{text}\n")


def test_a_stored_count_is_taken_as_it_is_unless_it_was_estimated() -> None:
    text = "deadbeef0123456789abcdef0123 検索 ABCDEF"
    assert surcharge(text) > 0
    assert Prices(1.5).of_stored(text, 100, "o200k_base") == 150
    assert Prices(1.5).of_stored(text, 100, ESTIMATE) == ceil((MARGIN * 100 + surcharge(text)) * 1.5)
    assert Prices(1.0).of_stored("plain", 0, "o200k_base") == 0

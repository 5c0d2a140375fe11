import pytest

from orders import discount, find_item, most_expensive, parse_line, parse_order, receipt, restock, shipping, subtotal

TEXT = "tea,450,2\nmilk,120,3\nbread,380,1\n"


def test_a_line_has_a_name():
    assert parse_line("tea, 450, 2").name == "tea"


def test_a_line_has_a_price_and_a_count():
    item = parse_line("tea,450,2")
    assert (item.price, item.count) == (450, 2)


def test_an_order_has_all_lines():
    assert [item.name for item in parse_order(TEXT)] == ["tea", "milk", "bread"]


def test_an_item_is_found():
    assert find_item(parse_order(TEXT), "milk").price == 120


def test_an_unknown_item_is_none():
    assert find_item(parse_order(TEXT), "salt") is None


def test_the_subtotal_counts_every_line():
    assert subtotal(parse_order(TEXT)) == 1640


def test_a_discount_is_a_share():
    assert discount(1640, 25) == 410


def test_a_discount_of_more_than_all_is_refused():
    with pytest.raises(ValueError):
        discount(100, 101)


def test_a_discount_of_all():
    assert discount(80, 100) == 80


def test_shipping_grows_with_weight():
    assert shipping(4999, 7) == 440


def test_shipping_of_large_orders_is_free():
    assert shipping(5000, 7) == 0


def test_a_receipt_adds_up():
    assert receipt(parse_order(TEXT), 25, 7)["due"] == 1670


def test_a_receipt_shows_the_discount():
    assert receipt(parse_order(TEXT), 10, 2)["less"] == 164


def test_the_most_expensive():
    assert most_expensive(parse_order(TEXT)) == "tea"


def test_the_most_expensive_of_two():
    assert most_expensive(parse_order("milk,120,3\nbread,380,1")) == "bread"


def test_more_is_put_in_stock():
    assert restock(parse_order(TEXT), "milk", 5) == 8

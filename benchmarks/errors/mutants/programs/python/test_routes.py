import pytest

from routes import Recent, build, covered, distance, in_order, merged, path

TOWN = build([("a", "b"), ("b", "c"), ("c", "d"), ("a", "e"), ("e", "d")])


def test_a_graph_knows_its_ends():
    assert build([("x", "y")]) == {"x": ["y"], "y": []}


def test_the_shortest_path():
    assert path(TOWN, "a", "d") == ["a", "e", "d"]


def test_a_path_to_oneself():
    assert path(TOWN, "c", "c") == ["c"]


def test_no_path():
    assert path(TOWN, "d", "a") is None


def test_a_distance():
    assert distance(TOWN, "a", "c") == 2


def test_what_comes_first():
    assert in_order(TOWN) == ["a", "b", "e", "c", "d"]


def test_a_cycle_has_no_order():
    with pytest.raises(ValueError):
        in_order(build([("a", "b"), ("b", "a")]))


def test_spans_that_touch_are_one():
    assert merged([(5, 8), (1, 3), (3, 4)]) == [[1, 4], [5, 8]]


def test_a_span_inside_another():
    assert merged([(1, 9), (2, 3)]) == [[1, 9]]


def test_what_is_covered():
    assert covered([(1, 4), (2, 6), (10, 12)]) == 7


def test_what_was_put_is_there():
    recent = Recent(2)
    recent.put("a", 11)
    assert recent.get("a") == 11


def test_what_is_not_there():
    assert Recent(2).get("a") == -1


def test_the_oldest_goes():
    recent = Recent(2)
    for key, value in (("a", 1), ("b", 2), ("c", 3)):
        recent.put(key, value)
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == (-1, 2, 3)


def test_what_was_used_stays():
    recent = Recent(2)
    recent.put("a", 1)
    recent.put("b", 2)
    recent.get("a")
    recent.put("c", 3)
    assert (recent.get("a"), recent.get("b")) == (1, -1)


def test_a_value_is_replaced():
    recent = Recent(2)
    recent.put("a", 1)
    recent.put("a", 5)
    assert (recent.get("a"), len(recent.order)) == (5, 1)

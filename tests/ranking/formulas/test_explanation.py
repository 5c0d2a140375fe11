"""An explanation is a tree of what adds up, as text and as JSON."""

from ctxrank.ranking.formulas.explanation import Explanation

_TREE = Explanation(1.5, "all", (Explanation(1.0, "words"), Explanation(0.5, "rest", (Explanation(0.5, "half"),))))


def test_its_lines_are_indented_by_what_they_are_part_of() -> None:
    assert _TREE.lines() == ["1.5000  all", "  1.0000  words", "  0.5000  rest", "    0.5000  half"]
    assert Explanation(2 / 3, "x").lines(2) == ["    0.6667  x"]


def test_as_json_it_has_six_digits() -> None:
    assert Explanation(2 / 3, "x").as_json() == {"value": 0.666667, "meaning": "x", "parts": []}
    half: dict[str, object] = {"value": 0.5, "meaning": "half", "parts": []}
    assert _TREE.as_json()["parts"] == [
        {"value": 1.0, "meaning": "words", "parts": []},
        {"value": 0.5, "meaning": "rest", "parts": [half]},
    ]

"""Frontmatter: plain values with lines, limits that hold, and a problem instead of an exception."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.text.frontmatter import MAX_BYTES, MAX_DEPTH, MAX_NODES, read_frontmatter


def _problems(yaml: str) -> list[tuple[str, int]]:
    return [(problem.rule, problem.line) for problem in read_frontmatter(f"---\n{yaml}\n---\nBody.\n").problems]


def test_values_are_what_was_typed_and_know_their_lines() -> None:
    read = read_frontmatter(
        "---\nid: SPEC-A-1\nstatus: no\nsince: 2026-01-02\nlinks:\n  specs: [A-1, B-2]\n---\nBody.\n"
    )
    assert read.values == {
        "id": "SPEC-A-1", "status": "no", "since": "2026-01-02", "links": {"specs": ["A-1", "B-2"]},
    }  # fmt: skip
    assert (read.lines["status"], read.lines["links.specs.1"]) == (3, 6)
    assert (read.body, read.problems) == ("Body.\n", ())


def test_an_empty_value_is_empty_text_and_a_quoted_null_is_not() -> None:
    assert read_frontmatter("---\na:\nb: ~\nc: 'null'\n---\n").values == {"a": "", "b": "", "c": "null"}


@pytest.mark.parametrize(
    ("text", "said"), [("# Title\n", "no frontmatter"), ("---\nid: A-1\n", "never closed"), ("", "no frontmatter")]
)
def test_text_without_frontmatter_is_all_body(text: str, said: str) -> None:
    read = read_frontmatter(text)
    assert (read.values, read.body) == ({}, text) and said in read.problems[0].message


@each_row(
    "yaml, line",
    [
        ("id: A-1\ntitle: [one, two\nstatus: x", 4),
        ("id: A-1\nother: &x 1\ncopy: *x", 4),
        ("id: A-1\n? [a]\n: b", 3),
        ("id: A-1\n\tb: c", 3),
        ("id: A-1\nb: a\x00c", 3),
    ],
)
def test_what_is_no_yaml_has_a_line_and_keeps_what_came_before(yaml: str, line: int) -> None:
    assert _problems(yaml) == [("malformed-frontmatter", line)]


@each_row(
    "yaml, value",
    [
        ("a: Release: bump: the version", "Release: bump: the version"),
        ("a: Later:", "Later:"),
        ("a: `index` loses: nothing", "`index` loses: nothing"),
        ("a: [AUTH] it's late", "[AUTH] it's late"),
        ('a: "WAL": what it is', '"WAL": what it is'),
        ("a: **Never** do that", "**Never** do that"),
        ("a: - a dash", "- a dash"),
        ("a: one: two\n  three: four", "one: two three: four"),
    ],
)
def test_a_value_that_is_a_sentence_is_whole_and_so_is_what_follows(yaml: str, value: str) -> None:
    read = read_frontmatter(f"---\n{yaml}\nb:\n  - c: one: two\n    d: [x]\n---\n")
    assert read.values == {"a": value, "b": [{"c": "one: two", "d": ["x"]}]}
    assert read.lines["b.0.d"] == 5 + yaml.count("\n")
    assert [problem.rule for problem in read.problems] == ["malformed-frontmatter"], "other readers refuse it"


@each_row(
    "yaml, value",
    [
        ("a: one # two", "one"),
        ("a: fixes #42 and #43  # a comment", "fixes #42 and #43"),
        ("a: #42 is back", "#42 is back"),
        ("a: |\n  b: c: d #1", "b: c: d #1\n"),
        ('a: "one\n  b: c #1"', "one b: c #1"),
        ("a: [[x],\n  ['y: z #1']]", [["x"], ["y: z #1"]]),
        ("a: 10:30 https://x#1", "10:30 https://x#1"),
    ],
)
def test_what_is_yaml_is_read_as_yaml_but_for_the_numbers_of_issues(yaml: str, value: object) -> None:
    for rest in ("", "\nb: one: two"):
        read = read_frontmatter(f"---\n{yaml}{rest}\n---\n")
        assert (read.values["a"], bool(read.problems)) == (value, bool(rest))


def test_an_alias_bomb_is_refused_at_its_first_alias() -> None:
    bomb = "a: &a [x, x]\n" + "\n".join(
        f"{name}: &{name} [*{last}, *{last}]" for last, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert _problems(bomb) == [("malformed-frontmatter", 3)]


@each_row(
    "yaml",
    [
        "a: " + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
        "a: [" + "x," * MAX_NODES + "]",
        "a: " + "x" * MAX_BYTES,
        "a: " + "[" * 50_000,
    ],
)
def test_depth_number_and_size_are_bounded(yaml: str) -> None:
    assert _problems(yaml) == [("malformed-frontmatter", 2)]


def test_sixty_four_kibibytes_are_read_and_one_more_byte_is_not() -> None:
    assert _problems("a: " + "x" * 65_532) == [] and _problems("a: " + "é" * 32_766) == []
    (problem,) = read_frontmatter(f"---\na: {'x' * 65_533}\n---\n").problems
    assert problem.message == "the frontmatter is larger than 64 KiB"


def test_twelve_levels_are_read_and_thirteen_are_not() -> None:
    """The mapping itself is one of them."""
    twelve, thirteen = ("a: " + "[" * depth + "x" + "]" * depth for depth in (11, 12))
    assert MAX_DEPTH == 12 and _problems(twelve) == []
    (problem,) = read_frontmatter(f"---\n{thirteen}\n---\n").problems
    assert problem.message == "nested deeper than 12 levels"


def test_four_thousand_values_are_read_and_one_more_is_not() -> None:
    """The mapping, the key and the list are three of them."""
    assert _problems("a: [" + "x," * 3997 + "]") == []
    assert _problems("a: [" + "x," * 3998 + "]") == [("malformed-frontmatter", 2)]


def test_a_second_key_of_the_same_name_is_noted_and_counts() -> None:
    read = read_frontmatter("---\na: 1\na: 2\n---\n")
    assert read.values == {"a": "2"}
    assert [(problem.rule, problem.line) for problem in read.problems] == [("duplicate-key", 3)]


def test_frontmatter_that_is_a_list_is_a_problem() -> None:
    assert _problems("- a\n- b") == [("malformed-frontmatter", 2)]


@given(st.text(max_size=300), st.text(alphabet="-:[]{}&*!|>'\"#%@`, \n\tabc\0\x85\ufeff", max_size=200))
def test_no_text_raises(one: str, other: str) -> None:
    for text in (one, f"---\n{one}\n---\n{other}", f"---\n{other}\n---\n{one}"):
        read = read_frontmatter(text)
        assert all(problem.line >= 1 for problem in read.problems)

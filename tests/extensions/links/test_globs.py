"""Path patterns: what matches, what could meet, and that no pattern takes for ever."""

from itertools import product

import apsw
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from ctxrank.extensions.links.globs import GlobTable, covered, matches, overlap
from ctxrank.indexer.store.facets import sqlite_globs


@each_row(
    "glob, path",
    [
        ("src/billing/**", "src/billing/api/post.py"),
        ("src/**/*.{ts,tsx}", "src/cart.tsx"),
        ("src/**/*.{ts,tsx}", "src/a/b/cart.ts"),
        ("src/billing", "src/billing/api/post.py"),
        ("src/billing/", "src/billing/post.py"),
        ("./src/a?c.py", "src/abc.py"),
        ("src/[!a]b.py", "src/bb.py"),
        ("**", "a/b/c"),
        ("**/*.py", "x.py"),
        ("src/templates/invoice*", "src/templates/invoice_eu.html"),
    ],
)
def test_a_pattern_covers(glob: str, path: str) -> None:
    assert matches(glob, path)
    assert overlap(glob, path)


@each_row(
    "glob, path",
    [
        ("src/billing/**", "src/billing"),
        ("src/billing/**", "src/billing2/a.py"),
        ("src/*.py", "src/a/b.py"),
        ("src/a", "src/ab/c"),
        ("src/a?c.py", "src/a/c.py"),
        ("*.py", "a.pyc"),
    ],
)
def test_a_pattern_does_not_cover(glob: str, path: str) -> None:
    assert not matches(glob, path)


@each_row(
    "one, other, wanted",
    [
        ("src/billing/**", "src/*/invoice.py", True),
        ("src/a/**", "src/b/**", False),
        ("**/*.py", "src/**", True),
        ("*.py", "*.ts", False),
        ("src/*.py", "src/*.md", False),
        ("a*b", "ab*", True),
        ("src/{a,b}/**", "src/b/c", True),
    ],
)
def test_two_patterns_may_meet(one: str, other: str, wanted: bool) -> None:
    assert overlap(one, other) is wanted
    assert overlap(other, one) is wanted


_NAMES = st.sampled_from(["a", "b", "ab", "*", "a*", "*b", "?", "**", "[ab]"])
_GLOBS = st.lists(_NAMES, min_size=1, max_size=4).map("/".join)
_PATHS = st.lists(st.sampled_from(["a", "b", "ab", "aab"]), min_size=1, max_size=4).map("/".join)


@given(_GLOBS, _GLOBS, _PATHS)
def test_patterns_that_match_one_path_overlap(one: str, other: str, path: str) -> None:
    if matches(one, path) and matches(other, path):
        assert overlap(one, other)


@given(st.lists(_GLOBS, max_size=8), _GLOBS)
def test_a_table_finds_what_asking_all_would(globs: list[str], wanted: str) -> None:
    table = GlobTable(globs)
    near = set(table.near(wanted))
    assert [at for at, g in enumerate(globs) if overlap(wanted, g) and at not in near] == []


@given(st.lists(_PATHS, max_size=8), _GLOBS)
def test_covered_paths_are_those_that_match(paths: list[str], glob: str) -> None:
    assert list(covered(glob, sorted(paths))) == [path for path in sorted(paths) if matches(glob, path)]


def test_many_stars_are_matched_in_linear_time() -> None:
    """A backtracking matcher would not come back from this one."""
    assert not matches("*a" * 40 + "b", "a" * 3000)
    assert not matches("**/a/" * 40 + "b", "a/" * 60 + "c")


@each_row(
    "pattern, path, is_covered, is_searched",
    [
        ("src/*.py", "src/a.py", True, True),
        ("src/*.py", "src/a/b.py", False, True),
        ("*.py", "src/a.py", False, True),
        ("auth", "src/auth/a.py", False, True),
        ("src/{a,b}.py", "src/a.py", True, False),
        ("src/**/a.py", "src/a.py", True, True),
        ("./src/*.py", "src/a.py", True, True),
        ("./src/./a*", "src/a.py", True, True),
        (".", "src/a.py", True, True),
        ("./", "src/a.py", True, True),
        (".*", "src/a.py", False, False),
    ],
)
def test_a_search_takes_patterns_more_generously_than_a_scope(
    pattern: str, path: str, is_covered: bool, is_searched: bool
) -> None:
    database = apsw.Connection(":memory:")
    answers = [database.execute("SELECT ? GLOB ?", (f"/{path}/", one)).fetchone() for one in sqlite_globs(pattern)]
    assert matches(pattern, path) is is_covered
    assert ((1,) in answers) is is_searched


_SEGMENTS = ("a", "ab", "*", "**", "a*", "*b", "?", "?a")
_PATTERNS = [*_SEGMENTS, *("/".join(two) for two in product(_SEGMENTS, repeat=2)), "**/a/**", "a/**/b", "[ab]/ab"]
_SMALL_PATHS = ["/".join(names) for depth in (1, 2, 3, 4) for names in product(("a", "b", "ab", "aa"), repeat=depth)]


def test_two_patterns_overlap_where_a_path_matches_both_and_nowhere_else() -> None:
    covering = {glob: {path for path in _SMALL_PATHS if matches(glob, path)} for glob in _PATTERNS}
    wrong = [
        (one, other)
        for one, other in product(_PATTERNS, repeat=2)
        if overlap(one, other) is covering[one].isdisjoint(covering[other])
    ]
    assert not wrong


@each_row("braces, covered_of_all", [(5, 32), (6, 64), (7, 64)])
def test_braces_beyond_the_most_alternatives_mean_themselves(braces: int, covered_of_all: int) -> None:
    names = ["".join(letters) for letters in product("ab", repeat=braces)]
    assert sum(matches("{a,b}" * braces, name) for name in names) == covered_of_all


def test_of_one_brace_the_first_128_alternatives_are_read() -> None:
    glob = "{" + ",".join(f"a{number}" for number in range(200)) + "}.py"
    assert [number for number in range(200) if matches(glob, f"a{number}.py")] == [*range(128)]

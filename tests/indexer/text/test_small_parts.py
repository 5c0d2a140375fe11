"""The small parts that others are made of: sets of patterns, runs of CJK, escapes, digests, numbers of JSON, lines."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.text import pattern_sets
from ctxrank.indexer.text.cjk import is_cjk, pairs, stretches
from ctxrank.indexer.text.definitions import MAX_NAMES, Names, defined_names, forms_of, names_in, with_names
from ctxrank.indexer.text.digests import digest_of, sha256_of
from ctxrank.indexer.text.escapes import has_escapes, without_escapes
from ctxrank.indexer.text.json_numbers import finite
from ctxrank.indexer.text.languages import language_of
from ctxrank.indexer.text.light_json import is_deep
from ctxrank.indexer.text.lines import (
    error_title,
    fence,
    is_one_line,
    is_uuid,
    joined,
    listed,
    quoted_line,
    session_label,
    shell_word,
    shorten,
)
from ctxrank.indexer.text.pattern_sets import PatternSet

_PATTERNS = [rb"a.*", rb"(?!no)", rb".*b", rb"c", rb"ab+"]  # the second is none that RE2 understands


@each_row("name, last", [(b"ab", 4), (b"axb", 2), (b"ax", 0), (b"c", 3), (b"cc", None), (b"", None), (b"a\xffb", 2)])
def test_the_last_pattern_that_matches_the_whole_name_counts(
    monkeypatch: pytest.MonkeyPatch, name: bytes, last: int | None
) -> None:
    for patterns, size in ((1000, 1000), (1, 1000), (2, 1000), (1000, 6), (1000, 1)):
        monkeypatch.setattr(pattern_sets, "_CHUNK_PATTERNS", patterns)
        monkeypatch.setattr(pattern_sets, "_CHUNK_BYTES", size)
        assert PatternSet(_PATTERNS).last_match(name) == last
    assert PatternSet([]).last_match(name) is None


@each_row("patterns, size, sets", [(5, 99, 1), (2, 99, 3), (1, 99, 5), (99, 16, 1), (99, 15, 2), (99, 6, 4)])
def test_patterns_are_compiled_some_at_a_time(
    monkeypatch: pytest.MonkeyPatch, patterns: int, size: int, sets: int
) -> None:
    made: list[int] = []
    compiled = vars(pattern_sets)["_compiled"]

    def counting(waiting: list[tuple[int, bytes]]) -> object:
        made.append(len(waiting))
        return compiled(waiting)

    monkeypatch.setattr(pattern_sets, "_compiled", counting)
    monkeypatch.setattr(pattern_sets, "_CHUNK_PATTERNS", patterns)
    monkeypatch.setattr(pattern_sets, "_CHUNK_BYTES", size)
    PatternSet(_PATTERNS)
    assert len(made) == sets and sum(made) == len(_PATTERNS) and max(made) <= patterns


@each_row(
    "word, parts",
    [
        ("v2日本語", ["v2", "日本語"]),
        ("abc", ["abc"]),
        ("カタカナ漢字x", ["カタカナ漢字", "x"]),
        ("한글a글", ["한글", "a", "글"]),
    ],
)
def test_a_word_is_cut_where_cjk_begins_and_ends(word: str, parts: list[str]) -> None:
    assert stretches(word) == parts
    assert [is_cjk(part) for part in parts] == [not part.isascii() for part in parts]


@each_row(
    "run, wanted",
    [("猫", ["猫"]), ("日本", ["日本"]), ("日本語", ["日本", "本語"]), ("一二三四", ["一二", "二三", "三四"])],
)
def test_a_run_is_read_as_its_overlapping_pairs(run: str, wanted: list[str]) -> None:
    assert pairs(run) == wanted


@each_row(
    "text, plain",
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("a\x1b", "a"),
        ("é\x9b", "é"),
        ("é plain", "é plain"),
        ("see \x1b]8;;https://h\x07the log\x1b]8;;\x07", "see the log"),
        ("\x90 secret\x9cshown", "shown"),
        ("\x1b(Bx", "x"),
    ],
)
def test_an_escape_is_known_in_either_spelling(text: str, plain: str) -> None:
    assert has_escapes(text) is (text != plain) and without_escapes(text) == plain


def test_digests_are_those_of_the_standard_and_differ_by_their_key() -> None:
    assert len(digest_of("a")) == 24 and len(digest_of("a", 4)) == 8
    assert digest_of("a", key="k") != digest_of("a") != digest_of("a", key="l")
    assert digest_of("a", key="k" * 64) == digest_of("a", key="k" * 65) != digest_of("a", key="k" * 63)
    assert digest_of("\ud800") != digest_of("?")
    assert sha256_of(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@each_row(
    "value, wanted",
    [
        (math.inf, None),
        (-math.inf, None),
        (1.5, 1.5),
        ("inf", "inf"),
        ([1, math.nan], [1, None]),
        ((math.inf, 2), [None, 2]),
        ({"a": [{"b": math.inf}]}, {"a": [{"b": None}]}),
        (True, True),
    ],
)
def test_a_number_that_json_cannot_say_is_null(value: object, wanted: object) -> None:
    assert finite(value) == wanted


@each_row("depth", [1, 2, 99, 100, 101, 120])
def test_a_text_is_deep_beyond_a_hundred_levels_wherever_they_are(depth: int) -> None:
    for text in ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth):
        assert is_deep(text) is (depth > 100) and is_deep(text, depth - 1) and not is_deep(text, depth)
        assert not is_deep(f'"{text}"'.replace('{"a":', "{"), 1)


@each_row(
    "text, is_one",
    [
        ("0a1b2c3d-0000-4000-8000-00000000abcd", True),
        ("0a1b2c3d-0000-4000-8000-00000000ABCD", False),
        ("0a1b2c3d-0000-4000-8000-00000000abcg", False),
        ("0a1b2c3d-0000-4000-8000-00000000abc", False),
        ("0a1b2c3d0000-4000-8000-00000000abcd", False),
        ("abcdef", False),
    ],
)
def test_a_uuid_has_its_parts_and_its_digits(text: str, is_one: bool) -> None:
    assert is_uuid(text) is is_one


@each_row("text, is_one", [("a b", True), ("", True), ("a\nb", False), ("a\tb", False), ("a\x1b", False), ("é", True)])
def test_one_line_hides_nothing(text: str, is_one: bool) -> None:
    assert is_one_line(text) is is_one


@each_row(
    "line, is_marked",
    [
        ("-", True), ("- a", True), ("+", True), ("--", True), ("-*-", True), ("**", True),
        ("-a", False), ("*a*", False), ("+1", False), ("1-", False), ("[a]: b", True), ("[a] b:", False), ("[a", False),
        ("# a", True), ("> a", True), ("a # b", False), ("", False), ("__a", False), ("___", True),
    ],
)  # fmt: skip
def test_what_would_be_structure_of_markdown_is_marked(line: str, is_marked: bool) -> None:
    assert quoted_line(line) == ("\\" if is_marked else "") + line


def test_some_of_many_names_are_listed_with_how_many_more_there_are() -> None:
    assert [listed(["a", "b\n", "c"], most) for most in (1, 2, 3, 4)] == [
        "a and 2 more",
        "a, b and 1 more",
        "a, b, c",
        "a, b, c",
    ]
    assert listed([], 1) == ""


@each_row("text, marks", [("", 3), ("``", 3), ("```", 4), ("a ```` b ```", 5), ("``` `````", 6)])
def test_a_fence_is_longer_than_any_in_the_text(text: str, marks: int) -> None:
    assert fence(text) == "`" * marks


def test_titles_and_labels_are_short_and_say_nothing_twice() -> None:
    assert error_title("KeyError", "KeyError: 'a'") == error_title("KeyError", "KeyError:  'a'") == "KeyError: 'a'"
    assert error_title("KeyError", "no\nkey") == "KeyError: no key"
    assert error_title("", "no key") == error_title("Unknown", "no key") == "no key"
    assert error_title("Unknown", "") == "Unknown"
    assert shorten("one two", 7) == "one two" and shorten("one two three", 9) == "one two..."
    assert session_label("name", None) == "name" and session_label(None, None) == ""
    assert session_label("name", "A  title") == '"A title"'
    assert session_label(None, "a " * 30) == f'"{"a " * 19}a..."'
    assert joined("a\n", "", "b") == "a\n\nb" and joined("", "") == ""


def test_names_are_kept_below_the_parts_of_words_and_come_out_again() -> None:
    for names in (Names(("a", "b"), ()), Names((), ("c",)), Names(("a",), ("c", "d")), Names()):
        for parts in ("", "get user"):
            assert names_in(with_names(parts, names)) == (parts, names)
    assert with_names("get user", Names()) == "get user"
    assert forms_of(["openStore", "x"]) == {"openStore", "openstore", "x"}
    many = "".join(f"def f{number}(): pass\n" for number in range(MAX_NAMES + 5))
    assert defined_names(many, "a.py").code == tuple(f"f{number}" for number in range(200))
    assert defined_names("def f(): pass\ndef f(): pass", "a.py").code == ("f",)
    assert defined_names("def f(): pass", "a.txt") == Names()


@each_row(
    "path, kind, is_code, is_prose",
    [
        ("a/B.PY", "python", True, False),
        ("a.ts", "braces", True, False),
        ("a.md", "markdown", False, True),
        ("a.rst", "rst", False, True),
        ("a.txt", "prose", False, True),
        ("a.json", "", False, False),
        ("md", "", False, False),
    ],
)
def test_a_language_is_that_of_the_ending(path: str, kind: str, is_code: bool, is_prose: bool) -> None:
    language = language_of(path)
    assert (language.kind, language.is_code, language.is_prose) == (kind, is_code, is_prose)


@given(st.text(alphabet="日本ab1 ", max_size=20))
def test_stretches_join_to_the_word(word: str) -> None:
    assert "".join(stretches(word)) == word


@each_row(
    "text, word",
    [
        ("shop-2026.11/AUTH", "shop-2026.11/AUTH"),
        ("größe", "größe"),
        ("my shop", "'my shop'"),
        ("it's", "'it'\"'\"'s'"),
        ("$(reboot)", "'$(reboot)'"),
        ("a\n## b", "'a ## b'"),
        ("", "''"),
    ],
)
def test_a_text_is_one_word_of_a_shell(text: str, word: str) -> None:
    assert shell_word(text) == word

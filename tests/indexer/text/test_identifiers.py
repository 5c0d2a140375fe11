"""Compound words come apart the same way in the index and in a query, and nothing else does."""

import contextlib
import re
import sqlite3

import pytest
from builders import always
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.text import identifiers
from ctxrank.indexer.text.identifiers import (
    FIRST_CJK,
    MAX_PARTS,
    MAX_REPEATS,
    MAX_WORD_CHARS,
    may_hold_compound,
    places_of_parts,
    split_identifiers,
    split_in_python,
    split_word,
)
from ctxrank.indexer.text.tables import compiled

HUMPS = st.lists(st.from_regex(r"[A-Z][a-z]{1,6}", fullmatch=True), min_size=2, max_size=MAX_PARTS)


@each_row(
    "word, parts",
    [
        ("getUserById", "get user by id"),
        ("HTTPServer2", "http server 2"),
        ("parseURLs", "parse urls"),
        ("userIDset", "user i dset"),
        ("sha256", "sha 256"),
        ("3DRenderer", "3 d renderer"),
        ("ÄnderungÜbernehmen", "änderung übernehmen"),
        ("日本語", "日本 本語"),
        ("全文getUser検索", "全文 get user 検索"),
        ("全文api", "全文 api"),
        ("검색엔진", "검색 색엔 엔진"),
        ("猫", "猫"),
        ("iPhone", "i phone"),
        ("aB", "a b"),
        ("getǅungla", "get ǆungla"),
        (FIRST_CJK * 3, f"{FIRST_CJK * 2} {FIRST_CJK * 2}"),
        (f"get{'U' + 'x' * (MAX_WORD_CHARS - 4)}", f"get u{'x' * (MAX_WORD_CHARS - 4)}"),
    ],
)
def test_a_compound_is_cut_into_its_parts(word: str, parts: str) -> None:
    assert split_identifiers(word) == parts
    assert split_word(word) == tuple(parts.split())


@each_row(
    "word",
    [
        "",
        "word",
        "Word",
        "URL",
        "URLs",
        "2026",
        "get_user",
        "my-flag",
        "a.b.c",
        "Größe",
        "Привет",
        "“word”",
        "_",
    ],
)
def test_what_the_tokenizer_splits_or_keeps_whole_itself_adds_nothing(word: str) -> None:
    assert split_word(word) == ()


@each_row(
    "word, part, places",
    [
        ("getUserId", "user", [(0, 9)]),
        ("日本語日本", "日本", [(0, 6), (9, 15)]),
        ("日日日", "日日", [(0, 6), (3, 9)]),
        ("v2日本", "v2", [(0, 2)]),
        ("日本", "x", []),
    ],
)
def test_a_part_stands_for_an_identifier_as_a_whole_and_in_a_run_for_itself(
    word: str, part: str, places: list[tuple[int, int]]
) -> None:
    assert list(places_of_parts(word.encode(), [(part, "term")])) == [(*place, "term") for place in places]


@each_row(
    "word",
    [
        "21T22",
        "10ms",
        "0cc175b9",
        "d41d8cd98f00b204e9800998ecf8427e",
        "aB" * 60,
        f"get{'U' + 'x' * (MAX_WORD_CHARS - 3)}",
    ],
)
def test_times_sizes_and_hashes_are_not_names(word: str) -> None:
    assert split_word(word) == ()


def test_a_repeated_name_is_kept_a_few_times_only() -> None:
    text = "getUser " * 50 + "“getUser” openFile"
    assert split_identifiers(text) == "get user " * MAX_REPEATS + "open file"


@each_row(
    "text, parts",
    [
        ("“getUser” „getUser“", "get user get user"),
        ("“getUser” „getUser“ getUser (getUser)", "get user get user get user"),
        ("“getUser…openFile”", "get user open file"),
    ],
)
def test_a_name_is_the_same_whatever_quotes_it(text: str, parts: str) -> None:
    assert split_identifiers(text) == parts


@each_row(
    "text, may",
    [
        ("", False),
        ("Most prose of 2026, and a URL.", False),
        ("getUser", True),
        ("HTTPServer", True),
        ("sha256", True),
        ("V2", True),
        ("3d", True),
        ("21T", True),
        ("getUser HTTPServer a1 A1 1a 1A", True),
    ],
)
def test_prose_is_known_by_what_follows_what(text: str, may: bool) -> None:
    assert may_hold_compound(text.encode()) == may


def test_the_full_text_index_finds_a_part_of_a_name_through_the_column() -> None:
    tokenizer = "porter unicode61 remove_diacritics 2"
    match = "SELECT rowid FROM t WHERE t MATCH ?"
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.execute(f"CREATE VIRTUAL TABLE t USING fts5(body, identifiers, tokenize='{tokenizer}')")
        for body in ("call getUserById now", "全文検索を行う"):
            base.execute("INSERT INTO t VALUES (?, ?)", (body, split_identifiers(body)))
        assert base.execute(match, ("body : user",)).fetchall() == []
        assert base.execute(match, ('"user by id"',)).fetchall() == [(1,)]
        assert base.execute(match, ('"検索"',)).fetchall() == [(2,)]


@given(HUMPS)
def test_humps_joined_come_apart_again(humps: list[str]) -> None:
    word = "".join(humps)
    assert split_word(word) == tuple(hump.lower() for hump in humps)


@given(st.text())
def test_any_text_gives_parts_that_are_in_it(text: str) -> None:
    folded = text.casefold()
    assert all(part.casefold() in folded for part in split_identifiers(text).split())


@given(st.from_regex(r"[A-Za-z0-9日本語é]{1,20}", fullmatch=True))
def test_a_query_word_has_the_parts_that_the_column_holds(word: str) -> None:
    assert " ".join(split_word(word)) in split_identifiers(f"see {word}, twice")


@given(st.from_regex(r"[A-DSZa-ds0-2]{1,16}", fullmatch=True))
def test_a_word_is_cut_as_this_pattern_cuts_it(word: str) -> None:
    parts = re.findall(r"[A-Z]+s?(?![a-z])|[A-Z]?[a-z]+|[0-9]+", word)
    is_name = not word[0].isdigit() or re.search(r"[a-z][A-Z]|[A-Z][A-Z][a-z]", word)
    is_compound = is_name and 1 < len(parts) <= MAX_PARTS
    assert split_word(word) == (tuple(part.lower() for part in parts) if is_compound else ())


@pytest.mark.skipif(compiled("_words") is None, reason="this installation was made without a C compiler")
@given(
    st.text(st.sampled_from("aAbBsS09z_ .-Zt\n\0"), max_size=300)
    | st.text(st.sampled_from("aZ9 "), min_size=90)
    | st.text(st.sampled_from("aAz9 _éÉß“”…日本語검색³ǅ\u0301\u200b🙂"), max_size=120)
    | st.text(max_size=200)
)
def test_the_compiled_twin_cuts_as_the_one_in_python(text: str) -> None:
    text += " " * 200  # so that it is long enough
    assert split_identifiers(text) == split_in_python(text)


def test_an_installation_without_the_twin_cuts_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "getUser parseURLs " * 20
    both = split_identifiers(text)
    monkeypatch.setattr(identifiers, "compiled", always(None))
    assert split_identifiers(text) == both == " ".join(["get user"] * 3 + ["parse urls"] * 3)

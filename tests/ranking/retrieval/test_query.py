"""The query language: what each form means, that no text is an error, that a tree prints back."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.text.lines import searchable
from ctxrank.ranking.retrieval.query import (
    FILTER_FIELDS,
    STOPWORDS,
    Filter,
    Query,
    Term,
    is_pasted,
    parse_query,
    plain_query,
    shown_query,
    shown_word,
)

# Pieces that mean something to the parser, so that random texts are not mostly plain words.
_PIECES = st.sampled_from([
    '"', '""', "-", "--", "*", ":", " ", "  ", "\n", "\x00", "\ud800", "🦊", "é", "foo", "a.b", "->",
    "//", "\\", "title:", "body:", "kind:", "group:", "path:", "http:", "std::", ">", "=", "AND",
    "NEAR(", "(", "'", "“",
])  # fmt: skip
_TEXTS = st.one_of(st.text(), st.lists(_PIECES, max_size=12).map("".join))


def _words(query: Query) -> list[str]:
    return [term.text for term in query.terms]


def test_plain_words_stay_in_the_order_they_were_typed() -> None:
    assert parse_query("retry  Timeout\tretry").terms == (Term("retry"), Term("Timeout"), Term("retry"))


def test_a_quoted_text_is_one_phrase() -> None:
    assert parse_query('"connection reset" now').terms == (
        Term("connection reset", is_phrase=True),
        Term("now"),
    )


def test_a_doubled_quote_inside_a_phrase_is_one_quote() -> None:
    assert parse_query('"say ""hi"" now"').terms == (Term('say "hi" now', is_phrase=True),)


def test_a_minus_excludes_a_word_a_phrase_or_a_prefix() -> None:
    query = parse_query('-flaky -"known issue" -mock* db')
    assert query.excluded == (
        Term("flaky"),
        Term("known issue", is_phrase=True),
        Term("mock", is_prefix=True),
    )
    assert _words(query) == ["db"]


def test_a_star_at_the_end_makes_a_prefix_of_a_word_or_of_a_phrase() -> None:
    assert parse_query('migrat* "schema migrat"*').terms == (
        Term("migrat", is_prefix=True),
        Term("schema migrat", is_phrase=True, is_prefix=True),
    )


def test_a_column_narrows_a_word_a_phrase_a_prefix_and_an_exclusion() -> None:
    query = parse_query('title:retry body:"a b" title:mig* -body:mock')
    assert query.terms == (
        Term("retry", column="title"),
        Term("a b", is_phrase=True, column="body"),
        Term("mig", is_prefix=True, column="title"),
    )
    assert query.excluded == (Term("mock", column="body"),)


@each_row("field", FILTER_FIELDS)
def test_every_filter_takes_a_bare_and_a_quoted_value_and_collects(field: str) -> None:
    assert parse_query(f'{field}:one {field}:"two words"').filters == (
        Filter(field, "one"),
        Filter(field, "two words"),
    )


def test_a_filter_value_keeps_case_and_punctuation_exactly() -> None:
    assert parse_query("group:GROUP-auth_api.V2* session:Bz/2026#1").filters == (
        Filter("group", "GROUP-auth_api.V2*"),
        Filter("session", "Bz/2026#1"),
    )


@each_row("text", [
    "https://x.org/a?b=c", "std::vector", "error:", "C:\\path", "12:30", "path::join", "type::new", "Kind:x",
    "kind:", "title:", "->", "--flag", "a-b", 'don"t', "a*b", "=>", "NEAR(a,", "-=", "(x",
])  # fmt: skip
def test_what_only_looks_like_syntax_is_a_plain_word(text: str) -> None:
    assert parse_query(text) == Query(terms=(Term(text),))


@each_row("text", ["", " ", "-", "*", '"', '""', "--", "-*", '- * "', '-""', 'title:""', 'kind:""', "\x00"])
def test_marks_alone_are_nothing(text: str) -> None:
    query = parse_query(text)
    assert query == Query() or _words(query) in (["title:"], ["kind:"])
    assert parse_query(text.replace("title:", "").replace("kind:", "")) == Query()


def test_a_quote_that_is_never_closed_is_left_out() -> None:
    assert _words(parse_query('why "does this fail')) == ["why", "does", "this", "fail"]
    assert parse_query('-"flaky test') == Query(terms=(Term("test"),), excluded=(Term("flaky"),))


def test_a_query_of_filters_alone_is_empty() -> None:
    assert not parse_query("kind:error -mock").terms
    assert parse_query("kind:error retry").terms


def test_a_minus_before_a_filter_filters_out() -> None:
    query = parse_query('-kind:error -path:"docs/ru/*" lock')
    assert query == Query(
        (Term("lock"),), filters=(Filter("kind", "error", is_excluded=True), Filter("path", "docs/ru/*", True))
    )


def test_a_quote_in_code_is_text() -> None:
    for text in ('Name(self, "x")', 'f("a b", 1)', '["a", "b"]', '{"a": "b c", "d": 1}', 'open("w")', '"x") and "y',
                 'raise ValueError("no such key") from "cause",'):  # fmt: skip
        query = parse_query(text)
        assert not any(term.is_phrase for term in query.terms), text


def test_what_was_pasted_is_told_from_what_was_typed() -> None:
    pasted = (
        "one line\nand another", 'Name(self, "x")', 'x = f("a", -1)', "let y = a - b;", '{"a": 1}', "foo(bar, -1)",
        'open("w").read(-1)', "total -= 1;", "it says " * 20 + '"no such thing"',
    )  # fmt: skip
    typed = (
        '"connection reset" -flaky', "why is the database locked", "kind:error since:7d lock", "getUserById",
        'title:"a b" -mock', "what does f(x) mean", "C++ -templates", "-path:docs/ru/* pager (less)", "a\n",
    )  # fmt: skip
    assert [text for text in pasted if not is_pasted(text)] == []
    assert [text for text in typed if is_pasted(text)] == []
    assert not is_pasted("word " * 32) and is_pasted("word " * 33)


def test_of_a_long_text_the_beginning_and_the_end_are_asked() -> None:
    words = [term.text for term in plain_query(f"first {'middle ' * 10_000} last").terms]
    assert (words[0], words[-1]) == ("first", "last") and len(words) < 10_000


def test_control_characters_and_lone_surrogates_part_words() -> None:
    assert _words(parse_query("a\x00b\x1fc\ud83dd")) == ["a", "b", "c", "d"]


@given(_TEXTS)
def test_any_text_parses_and_its_tree_prints_back_to_itself(text: str) -> None:
    query = parse_query(text)
    assert parse_query(str(query)) == query


@given(st.lists(_TEXTS.map(parse_query), max_size=5))
def test_any_tree_of_any_parts_prints_back_to_itself(queries: list[Query]) -> None:
    tree = Query(
        tuple(term for query in queries for term in query.terms),
        tuple(term for query in queries for term in query.excluded),
        tuple(one for query in queries for one in query.filters),
    )
    assert parse_query(str(tree)) == tree


_SHOWN = st.characters(exclude_categories=["Cs", "Cc"]).filter(lambda char: searchable(f"a{char}b") == f"a{char}b")


@given(st.sampled_from(FILTER_FIELDS), st.text(_SHOWN, min_size=1))
def test_any_filter_value_without_controls_prints_back_to_itself(field: str, value: str) -> None:
    tree = Query(filters=(Filter(field, value),))
    assert parse_query(str(tree)) == tree


@given(_TEXTS)
def test_a_term_can_be_encoded_and_has_no_control_character(text: str) -> None:
    for term in (*parse_query(text).terms, *parse_query(text).excluded):
        assert term.text.encode() and not any(c < " " for c in term.text)


@pytest.mark.parametrize("piece", ["a", " ", '"', '""" ', '"a ""', "-", "*", "title:", 'kind:"', "a:b ", "\x00", '-"'])
@pytest.mark.parametrize("chars", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_megabyte_of_anything_parses_in_linear_time(piece: str, chars: int) -> None:
    text = piece * (chars // len(piece))
    start = time.process_time()
    parse_query(text)
    # For a megabyte 0.7 s at most where this was written; quadratic takes minutes.
    assert time.process_time() - start < chars / 70_000


def test_stop_words_are_single_lower_case_words_and_leave_programs_theirs() -> None:
    assert all(word == word.lower() and word.isalpha() for word in STOPWORDS)
    assert {"the", "is", "why", "how", "what", "do", "we"} <= STOPWORDS
    assert not {"get", "set", "run", "null", "error", "test"} & STOPWORDS


def test_a_text_whose_end_is_blank_is_its_beginning() -> None:
    assert [term.text for term in plain_query("walrus" + " " * 40_000).terms] == ["walrus"]


@each_row(
    "text, terms",
    [
        ('"a b" c', ['"a b"', "c"]),
        ('"a b"* c', ['"a b"*', "c"]),
        ('"a b"*c', ["a", 'b"*c']),  # no word ends there
        ('"a b"c', ["a", 'b"c']),
        ('"a ""b"" c"', ['"a ""b"" c"']),
        ("path::join", ["path::join"]),
        ("path: x", ["path:", "x"]),
        ("path://x", ["path://x"]),
        ("path:", ["path:"]),
        ("nopath:x", ["nopath:x"]),
        ("title:x", ["title:x"]),
    ],
)  # fmt: skip
def test_where_a_phrase_ends_and_a_field_begins(text: str, terms: list[str]) -> None:
    query = parse_query(text)
    assert [str(term) for term in query.terms] == terms and not query.filters


@each_row(
    "words, stops, expected",
    [(3, 3, False), (4, 1, False), (4, 2, True), (6, 2, True), (6, 1, False), (9, 3, True), (10, 3, False)],
)
def test_a_sentence_has_four_words_and_a_third_of_them_say_nothing(words: int, stops: int, expected: bool) -> None:
    text = " ".join(["the"] * stops + ["heron"] * (words - stops))
    assert parse_query(text).is_sentence is expected
    assert not parse_query(f'{text} "heron"').is_sentence and not parse_query(f"{text} heron*").is_sentence
    assert parse_query(text.replace("the", "The?")).is_sentence is expected


@each_row(
    "text, expected",
    [(" ".join(["w"] * 32), False), (" ".join(["w"] * 33), True), ("a\nb", True), ("  a b \n", False), ("x = 1", True)],
)
def test_more_than_anybody_types_in_a_line_was_pasted(text: str, expected: bool) -> None:
    assert is_pasted(text) is expected


def test_a_very_long_query_is_repeated_by_its_beginning_and_a_long_word_too() -> None:
    whole = Query((Term("a" * 199), Term("b" * 200)))
    assert shown_query(whole) == str(whole) and len(str(whole)) == 400
    longer = Query((*whole.terms, Term("c" * 700)))
    assert shown_query(longer) == f"{'a' * 199} … (1,101 characters)" or shown_query(longer).endswith("characters)")
    assert shown_query(longer).startswith(f"{'a' * 199} ") and len(shown_query(longer)) < 430
    assert (shown_word("w" * 64), shown_word("w" * 65)) == ("w" * 64, f"{'w' * 63}…")


@each_row("most, count", [(0, 0), (1, 1), (4, 4), (5, 5), (6, 5)])
def test_of_a_description_as_many_words_are_taken_as_there_may_be(most: int, count: int) -> None:
    words = ["one", "-two", '"three', "kind:four", "five*"]
    assert [str(term) for term in plain_query(" ".join(words), most).terms] == words[:count]

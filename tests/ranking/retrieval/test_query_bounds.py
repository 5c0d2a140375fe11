"""Where reading a query ends, and which of its forms say what: one more than a bound, and exactly as much."""

import pytest
from tables import each_row

from ctxrank.ranking.retrieval.query import (
    MAX_CORRECTED_CHARS,
    MAX_QUERY_CHARS,
    bounded_text,
    is_line_of_code,
    is_pasted,
    parse_query,
    plain_query,
    shown_query,
    shown_word,
)
from ctxrank.ranking.retrieval.questions import CODE, EITHER, USE, aim_of, asks_for_prose


def test_a_query_is_shown_up_to_400_characters() -> None:
    whole = " ".join(["word"] * 80)[:-1] + "s"
    assert shown_query(parse_query(whole)) == whole and len(whole) == 399
    assert shown_query(parse_query(f"{whole}x")) == f"{whole}x"
    cut = shown_query(parse_query(f"{whole}xy"))
    assert cut == f"{' '.join(['word'] * 79)} … (401 characters)"
    assert shown_word("x" * MAX_CORRECTED_CHARS) == "x" * 64 and shown_word("x" * 65) == f"{'x' * 63}…"


def test_of_a_long_text_its_two_ends_are_asked() -> None:
    assert bounded_text("x" * MAX_QUERY_CHARS) == "x" * MAX_QUERY_CHARS
    words = [f"w{n:05}" for n in range(6000)]
    bounded = bounded_text(" ".join(words)).split()
    half = MAX_QUERY_CHARS // 2
    assert bounded == words[: half // 7] + words[-(half // 7) :]
    assert bounded_text(" " * (MAX_QUERY_CHARS + 1)).strip() == ""


def test_a_terminals_colours_are_no_part_of_a_word() -> None:
    coloured = "\x1b[1;31mError\x1b[0m: \x1b]8;;file:///a\x07a.py\x1b]8;;\x07:3\r"
    assert bounded_text(coloured) == "Error: a.py:3\r"
    assert [term.text for term in plain_query(coloured).terms] == ["Error:", "a.py:3"]


def test_a_text_as_words_alone_has_as_many_as_are_wanted() -> None:
    assert [term.text for term in plain_query('-a "b c" kind:d').terms] == ["-a", '"b', 'c"', "kind:d"]
    assert [term.text for term in plain_query("a b c", 2).terms] == ["a", "b"]


def test_what_was_pasted_has_more_than_32_words_or_a_second_line() -> None:
    assert not is_pasted(" ".join(["word"] * 32)) and is_pasted(" ".join(["word"] * 33))
    assert is_pasted("a\nb") and not is_pasted("\na b\n")
    assert is_line_of_code("f(self, x)") and not is_line_of_code("f(self,\n x)") and not is_line_of_code("plain words")
    assert is_line_of_code("x = f(1)") and not is_line_of_code("x = f(1)\ny")


@each_row(
    "text, shown",
    [
        ("-a", "-a"),
        ("- a", "a"),
        ("--flag", "--flag"),
        ("->x", "->x"),
        ("-=", "-="),
        ('-"a b"', '-"a b"'),
        ("a-b", "a-b"),
        ("title:a", "title:a"),
        ("-title:a", "-title:a"),
        ("title:", "title:"),
        ("title::a", "title::a"),
        ("title://a", "title://a"),
        ("title: a", "title: a"),
        ("untitled:a", "untitled:a"),
        ("kind:error", "kind:error"),
        ("-kind:error", "-kind:error"),
        ("kind:", "kind:"),
        ('title:"a b"', 'title:"a b"'),
        ("tok*", "tok*"),
        ('"a b"*', '"a b"*'),
        ('"a b"c', 'a b"c'),
        ('"a ""b"" c"', '"a ""b"" c"'),
        ('"a', "a"),
        ('""', ""),
        ("*", ""),
        ('"a"* b', '"a"* b'),
        ("a\x00b", "a b"),
        ("-*", ""),
    ],
)
def test_a_query_prints_back_what_was_read(text: str, shown: str) -> None:
    query = parse_query(text)
    assert str(query) == shown
    assert parse_query(str(query)) == query


@each_row(
    "text, aim, is_prose",
    [
        ("which big class keeps all of the ids", CODE, False),
        ("which very big class keeps all the ids", CODE, False),
        ("what a strange kind of file is that", USE, True),
        ("how is it defined in the end", CODE, True),
        ("is it in the source of our shop", CODE, False),
        ("is it in the very source of our shop", USE, True),
        ("where do I put the password for it", USE, True),
        ("where is the password of the server put", CODE, False),
        ("what was decided about the retries", CODE, True),
        ("have we dropped the retries of it", CODE, False),
        ("the retries were decided by the worker", EITHER, False),
        ("how many of the jobs are at work", USE, True),
        ("how the jobs are at work in it", CODE, True),
        ("how our jobs are at work in it", USE, True),
        ("it does not work, what is it that we do", USE, True),
        ("the job does not work what is that", EITHER, False),
        ("I would like to have all of my jobs back", USE, True),
        ("you want to have all of the jobs back", EITHER, False),
        ("the job I need is not in the queue", USE, True),
        ("it is the one I do not want in the queue", USE, True),
        ("lock timeout of jobs", CODE, False),
        ("the lock of the jobs", EITHER, False),
        ("don't we have to do it by the hour", USE, True),
        ("who is it that I am in the logs", USE, True),
        ("'how' is it that the job is back", CODE, True),
    ],
)
def test_the_form_of_a_sentence_says_what_it_is_about(text: str, aim: str, is_prose: bool) -> None:
    query = parse_query(text)
    assert (aim_of(query), asks_for_prose(query)) == (aim, is_prose)


@pytest.mark.parametrize(
    ("text", "is_sentence"),
    [
        ("the of queue", False),
        ("the of queue job", True),
        ("the queue job lock", False),
        ("a queue of job lock cart", True),
        ("a queue job of lock cart run", False),
    ],
)
def test_four_words_of_which_a_third_are_stop_words_are_a_sentence(text: str, is_sentence: bool) -> None:
    assert parse_query(text).is_sentence is is_sentence

"""Which sentences ask for prose, and which documents are prose."""

import pytest

from ctxrank.ranking.retrieval.query import parse_query
from ctxrank.ranking.retrieval.questions import CODE, EITHER, USE, aim_of, asks_for_prose, is_prose


@pytest.mark.parametrize(
    "text",
    [
        "How do I delay a job by ten minutes?",
        "how to get rid of what is still in the queue",
        "Can't it run inside a web page?",
        "I want single quotes in all of my files",
        "It hangs and does nothing, what could be wrong?",
        "Where do I put the password for our own server?",
    ],
)
def test_who_asks_how_or_what_asks_for_prose(text: str) -> None:
    query = parse_query(text)
    assert query.is_sentence and asks_for_prose(query)


@pytest.mark.parametrize(
    "text",
    [
        "where is the delay of the next retry computed",
        "which class keeps the ids that were revoked",
        "how does the code find out which sites must not be left",
        "The worker does not get any work after it was connected again",
        "crash on a comment that is inside of a sitemap",
    ],
)
def test_who_asks_for_code_or_reports_a_bug_does_not(text: str) -> None:
    query = parse_query(text)
    assert query.is_sentence and not asks_for_prose(query)


@pytest.mark.parametrize("text", ["lock timeout", "retry backoff of jobs", 'how do I "delay a job"', "f(self, x)"])
def test_words_and_phrases_are_no_sentence(text: str) -> None:
    assert not parse_query(text).is_sentence


def test_prose_is_told_by_its_path() -> None:
    assert all(map(is_prose, ["docs/a.md", "A.RST", "notes/README", "LICENSE-MIT", ""]))
    assert not any(map(is_prose, ["a.py", "docs/conf.toml", "Makefile", ".md", "src/md/mod.rs"]))


@pytest.mark.parametrize(
    ("text", "aim"),
    [
        ("how is the delay of a retry computed", CODE),
        ("how the worker keeps its jobs", CODE),
        ("The worker does not get any work after it was connected again", EITHER),
        ("where is the delay of the next retry computed", CODE),
        ("response model serialization", CODE),
        ("how do I delay a job by ten minutes", USE),
        ("how to get rid of what is still in the queue", USE),
        ("Can jobs be written in another language than Python?", USE),
        ("why did we drop retries of uploads", CODE),
        ("what was decided about the retries of uploads", CODE),
        ("what have we learnt about the queue", CODE),
    ],
)
def test_the_form_of_a_question_says_what_it_is_about(text: str, aim: str) -> None:
    assert aim_of(parse_query(text)) == aim

"""What a pasted task is looked up by."""

from time import process_time

import pytest

from ctxrank.ranking.context.task_text import TITLE_TIMES, task_query

_ISSUE = """The walrus pool locks

<!-- Please fill this in -->
Seen with 3.8.1 on https://example.org/pools?x=1
  File "/usr/lib/python3.11/site-packages/heron/pool.py", line 1177, in lock
"""


def _words(task: str) -> list[str]:
    return [term.text for term in task_query(task).terms]


def test_a_title_counts_more_than_what_follows() -> None:
    words = _words(_ISSUE)
    assert words.count("walrus") == TITLE_TIMES and words.count("Seen") == 1


def test_forms_addresses_places_of_installation_and_lone_digits_are_left_out() -> None:
    said = " ".join(_words(_ISSUE))
    assert "heron/pool.py" in said and "1177" in said
    assert all(word not in said for word in ("fill", "example.org", "site-packages", "3.8", "8.1"))


@pytest.mark.parametrize("title", ["You are the developer of group G", "word " * 31])
def test_a_role_or_a_paragraph_is_no_title(title: str) -> None:
    assert _words(f"{title}\nThe walrus pool locks").count(title.split()[-1]) in (1, 31)


def test_a_task_of_one_line_is_what_it_is() -> None:
    assert (
        _words("  move to 3 walruses, see https://example.org ")
        == "move to 3 walruses, see https://example.org".split()
    )


@pytest.mark.parametrize("part", ["<!--", "a/", "/python3", "1 ", "t\n", "site-packages/", " "])
def test_no_text_takes_long(part: str) -> None:
    begun = process_time()
    task_query("a\n" + part * (60_000 // len(part)))
    assert process_time() - begun < 2

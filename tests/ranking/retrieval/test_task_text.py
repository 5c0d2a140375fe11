"""What a pasted task is looked up by."""

from time import process_time

import pytest

from ctxrank.ranking.retrieval.query import plain_query
from ctxrank.ranking.retrieval.task_text import PROSE_TIMES, TITLE_TIMES, pasted_query, task_query

_ISSUE = """The walrus pool locks

<!-- Please fill this in -->
Seen with 3.8.1 on https://example.org/pools?x=1
  File "/usr/lib/python3.11/site-packages/heron/pool.py", line 1177, in lock
"""


def _words(task: str) -> list[str]:
    return [term.text for term in task_query(task).terms for _ in range(term.times)]


def test_a_title_counts_more_than_what_follows() -> None:
    words = _words(_ISSUE)
    assert words.count("walrus") == TITLE_TIMES and words.count("Seen") == PROSE_TIMES


def test_of_a_form_its_lines_count_nothing_and_what_is_fenced_once() -> None:
    log = "```shell\n[debug] heron loads\nheron: pool locked\n```"
    form = f"### What happened?\n**Steps**\n- [x] I searched\n{log}\nIt hangs\n"
    words = _words(f"The walrus pool locks\n\n{form}")
    assert words.count("hangs") == PROSE_TIMES and words.count("locked") == words.count("[debug]") == 1
    assert not {"happened?", "**Steps**", "searched"} & set(words)
    assert [term.text for term in task_query(f"The walrus\n{form}", 2).terms][-2:] == ["pool", "locked"]


def test_of_a_plan_what_is_to_be_done_counts() -> None:
    words = _words("Pools\n\n## Steps\n- [ ] unlock the walrus\n- [x] feed the heron\n")
    assert words.count("walrus") == PROSE_TIMES and "heron" not in words
    assert _words("Pools\n## Unlock the walrus\n## Feed the heron").count("heron") == PROSE_TIMES


def test_a_long_text_says_first_what_it_is_about() -> None:
    words = _words("The walrus pool locks\n" + "\n".join(f"w{number}" for number in range(1000)))
    assert (words.count("w99"), words.count("w100"), words.count("w999")) == (PROSE_TIMES, 1, 0)


@pytest.mark.parametrize("fence", ["", "```\n"])
@pytest.mark.parametrize("at", [3, 90, 197])
def test_of_a_log_what_failed_counts_wherever_it_stands(fence: str, at: int) -> None:
    log = [f"[{number:05d}] build: heron{number} compiled" for number in range(200)]
    log[at:at] = ["TypeError: walrus is not a function", "    at unlock (src/pool.ts:12:3)"]
    words = _words(f"Mend the ice\n\n{fence}" + "\n".join(log) + f"\n{fence}")
    assert words.count("walrus") >= PROSE_TIMES and any("pool.ts" in word for word in words)
    assert words.count("ice") == TITLE_TIMES
    assert fence or _words("\n".join(log)).count("heron0") == PROSE_TIMES, "its first line is no title"


@pytest.mark.parametrize("fence", ["", "```\n"])
def test_of_a_log_that_is_longer_than_what_would_count_of_it_what_failed_counts(fence: str) -> None:
    """Of a prompt that are ten words of a fence, else the first words as prose."""
    log = [f"[{number:05d}] build: heron{number} compiled" for number in range(60)]
    log[40:40] = ["TypeError: walrus is not a function", "    at unlock (src/pool.ts:12:3)"]
    text = f"Mend the ice\n\n{fence}" + "\n".join(log) + f"\n{fence}"
    times = {term.text: term.times for term in task_query(text, 10).terms}
    assert times["walrus"] == PROSE_TIMES and times["heron59"] == 1 and "heron20" not in times


def test_forms_addresses_places_of_installation_and_lone_digits_are_left_out() -> None:
    said = " ".join(_words(_ISSUE))
    assert "heron/pool.py" in said and "1177" in said
    assert all(word not in said for word in ("fill", "example.org", "site-packages", "3.8", "8.1"))


@pytest.mark.parametrize("title", ["You are the developer of group G", "word " * 31])
def test_a_role_or_a_paragraph_is_no_title(title: str) -> None:
    assert _words(f"{title}\nThe walrus pool locks").count(title.split()[-1]) in (PROSE_TIMES, 31 * PROSE_TIMES)


def test_a_task_of_one_line_is_what_it_is() -> None:
    assert (
        _words("  move to 3 walruses, see https://example.org ")
        == "move to 3 walruses, see https://example.org".split()
    )


def test_what_was_pasted_is_a_task_where_it_tells_something() -> None:
    assert pasted_query(_ISSUE + "It hangs when it is in the pool") == task_query(
        _ISSUE + "It hangs when it is in the pool"
    )
    for text in (
        "def lock(pool):\n    pool.walrus(1)\n    return heron(pool)",
        "$ heron pool\n```\nit is what it was in the pool\n```\nheron walrus lock",
        "<!-- this is what\nit was -->",
        "the pool is in the walrus",
    ):
        assert pasted_query(text) == plain_query(text)


@pytest.mark.parametrize(
    "part", ["<!--", "a/", "/python3", "1 ", "t\n", "site-packages/", " ", "```\n", "\n**", "\n# ", "\n- [ ] "]
)
def test_no_text_takes_long(part: str) -> None:
    begun = process_time()
    task_query("a\n" + part * (60_000 // len(part)))
    assert process_time() - begun < 2

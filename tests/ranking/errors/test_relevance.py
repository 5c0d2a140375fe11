"""Which known errors a block shows before anything has failed: what the task is about, then the project's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import hold_the_index, make_store, save
from ranking_builders import TODAY, know_error
from tables import each_row

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.errors.relevance import (
    ABOUT_THE_TASK,
    MIN_CONFIDENCE,
    OF_THE_PROJECT,
    WITH_A_WORD,
    relevant_errors,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


def known(store: Store, message: str, **values: object) -> int:
    """A confirmed error, of no project unless it is said."""
    number = know_error(store, message, **values)  # type: ignore[arg-type]
    store.primary.execute("UPDATE error_patterns SET state = 'confirmed' WHERE id = ?", (number,))
    return number


def relevant(
    store: Store, task: str, *, lang: str | None = None, now: int = TODAY, limit: int = 9
) -> list[tuple[int, str]]:
    return relevant_errors(store, task, project="shop", lang=lang, now=now, limit=limit)


def test_an_error_is_about_the_task_by_two_words_and_by_one_where_the_task_has_no_more(store: Store) -> None:
    number = known(store, "redis connection refused by peer")
    about = [(number, ABOUT_THE_TASK)]
    assert relevant(store, "why is the redis connection slow") == about
    assert relevant(store, "connection") == about
    assert relevant(store, "rename the connection pool") == relevant(store, "  ") == []


def test_of_the_projects_own_a_rare_name_is_enough(store: Store) -> None:
    own = known(store, "redis connection refused by peer", project="shop")
    assert relevant(store, "put redis before the cache") == [(own, ABOUT_THE_TASK)]
    assert relevant(store, "rename the connection pool") == [(own, WITH_A_WORD)]
    assert relevant(store, "write the docs") == relevant(store, "") == [(own, OF_THE_PROJECT)]


@pytest.mark.parametrize("quote", ["'", '"', "`"])
def test_an_ordinary_word_is_a_name_where_the_message_quotes_it(store: Store, quote: str) -> None:
    own = known(store, f"no module named {quote}my_connection.py{quote} here", project="shop")
    assert (own, ABOUT_THE_TASK) in relevant(store, "rename the connection pool")
    assert (own, WITH_A_WORD) in relevant(store, "rename the module tree")


def test_a_name_that_many_documents_hold_is_not_rare(store: Store) -> None:
    own = known(store, "redis connection refused by peer", project="shop")
    save(store, "a.md", "About redis.\n")
    assert relevant(store, "put redis before the cache") == [(own, ABOUT_THE_TASK)]
    save(store, "b.md", "Redis, too.\n")
    assert relevant(store, "put redis before the cache") == [(own, WITH_A_WORD)]


def test_those_about_the_task_come_before_the_projects_and_the_limit_cuts_the_last(store: Store) -> None:
    own, word, about = (
        known(store, message, project="shop")
        for message in ("disk is full", "connection refused", "redis pool: connection lost")
    )
    expected = [(about, ABOUT_THE_TASK), (word, WITH_A_WORD), (own, OF_THE_PROJECT)]
    for limit in range(4):
        assert relevant(store, "redis pool connection", limit=limit) == expected[:limit]


def test_of_the_projects_own_the_most_trusted_come_first(store: Store) -> None:
    numbers = [
        known(store, f"failure {at}", project="shop", confidence=confidence, occurrences=occurrences)
        for at, (confidence, occurrences) in enumerate(((0.8, 9), (0.9, 1), (0.9, 2)))
    ]
    assert [number for number, _ in relevant(store, "")] == numbers[::-1]


@each_row(
    "values, asked, is_shown",
    [
        ({}, {}, True),
        ({"project": "bank"}, {}, False),
        ({"confidence": MIN_CONFIDENCE}, {}, False),
        ({"confidence": MIN_CONFIDENCE + 0.01}, {}, True),
        ({"lang": "Python"}, {"lang": "python"}, True),
        ({"lang": "go"}, {"lang": "python"}, False),
        ({"lang": "go"}, {}, True),
        ({"ttl_days": 5}, {"now": TODAY + 5 * DAY_US}, True),
        ({"ttl_days": 5}, {"now": TODAY + 5 * DAY_US + 1}, False),
    ],
)
def test_what_is_shown_is_trusted_alive_and_of_the_language(
    store: Store, values: dict[str, object], asked: dict[str, object], is_shown: bool
) -> None:
    store.primary.execute("UPDATE error_patterns SET state = 'sighted'")  # those of the rows before
    number = known(store, f"redis connection refused {values} {asked}", **values)
    assert [one for one, _ in relevant(store, "redis connection refused", **asked)] == [number] * is_shown  # type: ignore[arg-type]


def test_an_error_that_was_only_sighted_is_not_shown(store: Store) -> None:
    known(store, "redis connection refused", project="shop")
    store.primary.execute("UPDATE error_patterns SET state = 'sighted'")
    assert relevant(store, "redis connection") == []


def test_where_the_index_cannot_answer_it_is_the_projects_own(store: Store) -> None:
    known(store, "redis connection refused")
    own = known(store, "disk is full", project="shop")
    holder = hold_the_index(store)
    assert relevant(store, "redis connection") == [(own, OF_THE_PROJECT)]
    holder.close()

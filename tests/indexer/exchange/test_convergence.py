"""Stores that exchange end the same, in whatever order they did what: three of them, hypothesis at the wheel."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from converging import Machines, compare, steps
from examples import examples
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tables import each_row


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    """Three stores that know nothing of each other."""
    made = Machines(tmp_path)
    yield made
    made.close()


def converges(taken: list[tuple[Any, ...]]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="converges-"))
    machines = Machines(folder)
    try:
        for step in taken:
            machines.take(step)
        machines.settle()
        compare(machines)
    finally:
        machines.close()
        shutil.rmtree(folder)


_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]


@pytest.mark.slow
@settings(max_examples=6, deadline=None, suppress_health_check=_QUIET, phases=(Phase.generate,), derandomize=True)
@given(taken=st.lists(steps, min_size=6, max_size=14))
def test_three_stores_end_the_same(taken: list[tuple[Any, ...]]) -> None:
    converges(taken)


@pytest.mark.slow
def test_a_text_that_redaction_makes_the_same_as_a_purged_one_goes_everywhere() -> None:
    converges(
        [
            ("save", "a", "api.md", "zebra"), ("secret", "a", True), ("secret", "b", False),
            ("save", "a", "api.md", "zebra zebra"), ("think", "a", "zebra"), ("purge", "a", 2), ("secret", "a", False),
            ("purge", "a", 2),
        ]
    )  # fmt: skip


@pytest.mark.slow
def test_a_title_without_its_secret_and_a_file_that_was_moved_are_the_same_everywhere() -> None:
    told = ("exchange", "a", "b", False, 0, False)
    converges([("title", "a", "zebra"), ("title", "b", "zebra"), told, ("secret", "a", True)])
    converges(
        [("save", "a", "plan.md", "zebra"), told, ("move", "a", "plan.md", "api.md"), ("purge path", "a", "api.md")]
    )


@pytest.mark.slow
def test_an_error_that_one_store_purges_and_another_saved_later_has_the_date_of_the_text_that_stays() -> None:
    first, later = ("error", "a", "KeyError: 'port'", "queue"), ("error", "c", "KeyError: 'port'", "heron")
    of_a, of_c = (("exchange", name, "b", False, 0, False) for name in "ac")
    purged = ("purge", "a", 0)
    converges([first, later, of_a, of_c, purged])
    converges([first, of_a, purged, of_a, later])
    converges([first, purged, of_a, later, of_c])


@pytest.mark.slow
@each_row("purged_at", ("a", "b"))
def test_an_error_that_others_saved_with_another_text_comes_back_where_it_is_purged(purged_at: str) -> None:
    older, younger = ("error", "c", "KeyError: 'port'", "queue"), ("error", "a", "KeyError: 'port'", "heron")
    of_a, of_c = (("exchange", name, "b", False, 0, False) for name in "ac")
    for first, second in ((of_a, of_c), (of_c, of_a)):
        converges([older, younger, first, second, ("purge", purged_at, 0)])


@pytest.mark.slow
def test_an_error_has_the_date_of_the_younger_text_wherever_it_was_met_first() -> None:
    converges(
        [
            ("error", "c", "KeyError: 'port'", "queue lock"), ("error", "a", "KeyError: 'port'", "heron token"),
            ("error", "c", "KeyError: 'port'", "walrus zebra"),
        ]
    )  # fmt: skip


@pytest.mark.slow
def test_an_older_text_does_not_come_back_with_an_older_moment() -> None:
    converges([("error", "a", "KeyError: 'port'", "queue schema"), ("error", "b", "KeyError: 'port'", "heron retry")])


@pytest.mark.slow
def test_a_text_that_is_stored_twice_is_purged_twice() -> None:
    converges([("secret", "a", False), ("think", "a", "zebra"), ("secret", "a", False), ("purge", "a", 0)])


@pytest.mark.slow
def test_a_file_goes_with_the_last_package_at_its_path_whoever_made_it() -> None:
    converges(
        [
            ("save", "c", "api.md", "retry lock"), ("save", "c", "notes/locks.md", "lock lock walrus"),
            ("purge", "c", 6), ("exchange", "c", "b", False, 1, True), ("save", "b", "notes/locks.md", "retry"),
            ("purge", "b", 7), ("purge", "b", 0),
        ]
    )  # fmt: skip


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None, suppress_health_check=_QUIET)
@given(taken=st.lists(steps, min_size=4, max_size=24))
def test_three_stores_end_the_same_however_they_go_there(taken: list[tuple[Any, ...]]) -> None:
    converges(taken)

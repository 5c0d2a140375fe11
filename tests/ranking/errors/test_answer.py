"""The answer to a failure: the saved solution where its error is recognised, else why there is none."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store

from ctxrank.indexer.errors.solutions import NewKnownError, save_error
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.errors.answer import Asked, recognise

LOCKFILE = "error: the lockfile of 'shop' cannot be read by this version"
OTHER = "ZeroDivisionError: division by zero"
NOW = 1_800_000_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as made:
        yield made


def test_a_saved_error_is_answered_with_its_solution(store: Store) -> None:
    save_error(store, NewKnownError(LOCKFILE, "Upgrade it."))
    answer = recognise(store.primary, LOCKFILE, Asked("default", NOW))
    assert (answer.outcome, [fix.solution for fix in answer.fixes], answer.total) == ("matched", ["Upgrade it."], 1)


def test_an_error_that_nobody_saved_has_no_fix_and_says_so(store: Store) -> None:
    save_error(store, NewKnownError(LOCKFILE, "Upgrade it."))
    answer = recognise(store.primary, OTHER, Asked("default", NOW))
    assert (answer.outcome, answer.fixes, answer.total) == ("no_match", (), 0)
    assert answer.reason

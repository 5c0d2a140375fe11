"""The answer to a failure: the saved solution where its error is recognised, else why there is none."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store
from tables import each_row

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.solutions import NewKnownError, save_error
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.errors.answer import Asked, recognise

LOCKFILE = "error: the lockfile of 'shop' cannot be read by this version"
OTHER = "ZeroDivisionError: division by zero"
MISSING = "ModuleNotFoundError: No module named '{}'"
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
    assert answer.reason and "error:" not in answer.reason


def test_nothing_was_printed_is_said_of_an_empty_output(store: Store) -> None:
    answer = recognise(store.primary, " \n", Asked("default", NOW))
    assert (answer.outcome, answer.errors, answer.signature) == ("no_match", 0, None) and answer.reason


def test_the_first_error_of_an_output_that_is_recognised_answers(store: Store) -> None:
    save_error(store, NewKnownError(LOCKFILE, "Upgrade it."))
    for output in (f"{OTHER}\n\n{LOCKFILE}\n", f"{LOCKFILE}\n\n{OTHER}\n"):
        answer = recognise(store.primary, output, Asked("default", NOW))
        assert (answer.outcome, answer.unit, answer.errors) == ("matched", LOCKFILE, 2)


def test_where_none_is_recognised_the_first_is_told_unless_another_has_one_of_its_kind(store: Store) -> None:
    asked = Asked("default", NOW)
    output = f"{LOCKFILE}\n\n{MISSING.format('yaml')}\n\n{OTHER}\n"
    assert recognise(store.primary, output, asked).unit == error_units(output)[0].text != MISSING.format("yaml")
    save_error(store, NewKnownError(MISSING.format("requests"), "pip install requests"))
    save_error(store, NewKnownError(OTHER.replace("division", "modulo"), "Guard it."))
    answer = recognise(store.primary, output, asked)
    assert (answer.outcome, answer.unit) == ("no_match", MISSING.format("yaml"))
    assert [fix.solution for fix in answer.same_kind] == ["pip install requests"]


def test_what_another_project_knows_is_named_where_this_one_has_no_fix(store: Store) -> None:
    save_error(store, NewKnownError(LOCKFILE, "Upgrade it.", project="bank"))
    answer = recognise(store.primary, f"{OTHER}\n\n{LOCKFILE}\n", Asked("shop", NOW))
    assert (answer.outcome, answer.fixes) == ("no_match", ())
    assert [one.project for one in answer.elsewhere] == ["bank"]
    assert "error:1 of bank (--project bank)" in answer.reason
    assert recognise(store.primary, LOCKFILE, Asked("bank", NOW)).elsewhere == ()
    assert recognise(store.primary, OTHER, Asked("shop", NOW)).elsewhere == ()


def test_a_limit_leaves_fixes_out_and_counts_them(store: Store) -> None:
    for project in ("shop", "default"):
        save_error(store, NewKnownError(LOCKFILE, f"Upgrade {project}.", project=project))
    answers = [recognise(store.primary, LOCKFILE, Asked("shop", NOW, limit=limit)) for limit in (1, 2, 9)]
    assert [(len(one.fixes), one.total) for one in answers] == [(1, 2), (2, 2), (2, 2)]


@each_row(
    "lang, asked_for, said", [("go", "python", "is for go"), ("go", "GO", ""), ("go", None, ""), (None, "go", "")]
)
def test_an_error_of_another_language_is_told_as_the_reason(
    store: Store, lang: str | None, asked_for: str | None, said: str
) -> None:
    store.primary.execute("DELETE FROM error_patterns")
    save_error(store, NewKnownError(LOCKFILE, "Upgrade it.", lang=lang))
    answer = recognise(store.primary, LOCKFILE, Asked("default", NOW, asked_for))
    assert (answer.outcome == "no_match", said in answer.reason) == (bool(said), True)


def test_an_error_of_the_language_that_is_asked_for_is_left_out_for_another_reason(store: Store) -> None:
    save_error(store, NewKnownError(LOCKFILE, "Upgrade it.", lang="go"))
    answer = recognise(store.primary, LOCKFILE.replace("shop", "other"), Asked("default", NOW, "GO"))
    assert answer.outcome == "no_match" and "another name: other, not shop" in answer.reason


def test_an_error_that_has_expired_is_told_as_the_reason(store: Store) -> None:
    save_error(store, NewKnownError(LOCKFILE, "Upgrade it."))
    store.primary.execute("UPDATE error_patterns SET last_seen = ?, ttl_days = 5", (NOW - 5 * DAY_US,))
    assert recognise(store.primary, LOCKFILE, Asked("default", NOW)).outcome == "matched"
    answer = recognise(store.primary, LOCKFILE, Asked("default", NOW + 1))
    assert answer.outcome == "no_match" and "error:1, has expired: last seen 2027-01-10" in answer.reason

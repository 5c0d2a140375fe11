"""The answer to a failure: the saved solution where its error is recognised, else why there is none."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store
from tables import each_row

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.solutions import NewKnownError, confirm, save_error
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


def test_of_two_that_are_equally_sure_the_refuted_one_comes_last(store: Store) -> None:
    for project in ("shop", "default"):
        save_error(store, NewKnownError(LOCKFILE, f"Upgrade {project}.", project=project))
    first, second = recognise(store.primary, LOCKFILE, Asked("shop", NOW)).fixes
    for _ in range(3):
        confirm(store, first.match.pattern_id, has_helped=False)
    fixes = recognise(store.primary, LOCKFILE, Asked("shop", NOW)).fixes
    assert [(fix.solution, fix.match.state) for fix in fixes] == [
        (second.solution, second.match.state),
        (first.solution, "refuted"),
    ]


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


HOST = 'host not found in upstream "tern1" in /etc/nginx/conf.d/shop.conf:46'
KIND = 'no matches for kind "Ingress" in version "extensions/v1beta1"'
OLD = "Compatibility with CMake < 3.5 has been removed from CMake."


@each_row(
    "stored, asked, said",
    [
        # Two programs' lines that were run together, and one of them alone.
        (f"portal  | 2021/09/21 12:12:44 [emerg] 1#1: {HOST}portal  | nginx: [emerg] {HOST}",
         f"portal    | 2022/10/12 21:32:48 [emerg] 1#1: {HOST}", HOST),
        # What two tools pass on.
        (f'error: resource mapping not found for name: "shop" namespace: "" from "shop.yaml": {KIND}',
         f'Error: unable to build kubernetes objects from release manifest: unable to recognize "": {KIND}', KIND),
        # One leads with it, the other with the line above.
        (f"CMake Error at CMakeLists.txt:1 (cmake_minimum_required):\n  {OLD}\n\n  Update the VERSION argument <min>.",
         f"     -- Building for: NMake\n      CMake Error at a.txt:18 (cmake_minimum_required):\n        {OLD}\n", OLD),
        # Another name, kind or version is another failure, and so is what says only that there was one.
        (f"portal  | 2021/09/21 12:12:44 [emerg] 1#1: {HOST}portal  | nginx: [emerg] {HOST}",
         f"portal    | 2022/10/12 21:32:48 [emerg] 1#1: {HOST.replace('tern1', 'gull2')}", ""),
        (f'error: resource mapping not found for name: "shop" namespace: "" from "shop.yaml": {KIND}',
         f'Error: unable to build kubernetes objects: unable to see "": {KIND.replace("Ingress", "CronJob")}', ""),
        ("The command '/bin/sh -c npm run build' returned a non-zero code: 1",
         "Step 2: no space left on device\nThe command '/bin/sh -c npm run build' returned a non-zero code: 1", ""),
        ("ERROR: Service 'web' failed to build : Build failed",
         "ERROR: failed to solve: alpine:9: not found\nERROR: Service 'web' failed to build : Build failed", ""),
        ("npm ERR! code ELIFECYCLE\nnpm ERR! shop@1.0.0 build: `vite build`",
         "npm ERR! missing script: start\nnpm ERR! shop@1.0.0 build: `vite build`", ""),
        ("error: the lamp of 'shop' is out\nBuild step 'Execute shell' marked build as failure",
         "error: no bread in the house of 'x'\nBuild step 'Execute shell' marked build as failure", ""),
    ],
)  # fmt: skip
def test_a_statement_that_two_reports_share_is_what_failed(store: Store, stored: str, asked: str, said: str) -> None:
    saved = save_error(store, NewKnownError(stored, "Upgrade it."))
    assert recognise(store.primary, asked, Asked("default", NOW, limit=0)).fixes == ()
    answer = recognise(store.primary, asked, Asked("default", NOW, limit=1))
    told = [(fix.match.pattern_id, fix.match.word, fix.match.why) for fix in answer.fixes]
    assert told == ([(saved.id, "looks like", (f"Both reports say: {said}",))] if said else [])
    assert (answer.outcome, answer.total) == (("matched", 1) if said else ("no_match", 0))

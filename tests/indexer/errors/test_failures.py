"""Failures as they were seen: read again from their text, counted, over, and signed anew by a newer normaliser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store
from ranking_builders import TODAY, know_error
from tables import each_row

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.errors.failures import (
    CURRENT_FOR_US,
    last_failure,
    resolve,
    see,
    seen_before,
    sighting_of,
)
from ctxrank.indexer.errors.listing import get_error, recognition_of
from ctxrank.indexer.errors.lookup import sign_older
from ctxrank.indexer.errors.signature import NORMALISER_VERSION
from ctxrank.indexer.records.sessions import NewSession, create_group, create_session
from ctxrank.indexer.store.store import Store

ERROR = "KeyError: 'a'"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with three sessions, each with a group: of the project shop, of none, and of another project."""
    with make_store(tmp_path) as opened:
        with opened.write() as change:
            for project in ("shop", "default", "bank"):
                create_group(change, create_session(change, NewSession(project, project=project)), "G")
        yield opened


def seen(store: Store, at: int, *, session: int = 1, group: int = 0, over: int | None = None, text: str = ERROR) -> str:
    """See a failure; returns what it is known by."""
    sighting = sighting_of(text, at, over)
    assert sighting is not None
    with store.write() as change:
        see(change, session, group, sighting, None)
    return sighting.signature.instance


def test_of_a_text_that_says_nothing_there_is_no_sighting() -> None:
    assert sighting_of(" \n", 1, None) is None
    sighting = sighting_of(ERROR, 1, 2)
    assert sighting is not None and (sighting.unit, sighting.seen_at, sighting.resolved_at) == (ERROR, 1, 2)


def test_the_last_failure_of_a_group_is_the_newest_of_it_or_of_its_session(store: Store) -> None:
    seen(store, TODAY, text="KeyError: 'whole'")
    seen(store, TODAY + 1, group=1, text="KeyError: 'mine'")
    seen(store, TODAY + 2, group=2, text="KeyError: 'others'")
    told = [last_failure(store.primary, 1, group, now=TODAY + 3) for group in (None, 1, 2, 9)]
    assert told == ["KeyError: 'others'", "KeyError: 'mine'", "KeyError: 'others'", "KeyError: 'whole'"]
    assert last_failure(store.primary, 2, None, now=TODAY) == ""


@each_row("later_us, is_current", [(CURRENT_FOR_US, True), (CURRENT_FOR_US + 1, False)])
def test_a_failure_is_current_for_a_day(store: Store, later_us: int, is_current: bool) -> None:
    seen(store, TODAY)
    assert bool(last_failure(store.primary, 1, None, now=TODAY + later_us)) is is_current
    assert CURRENT_FOR_US == DAY_US


def test_a_failure_that_is_over_is_not_the_last_nor_are_those_before_it(store: Store) -> None:
    seen(store, TODAY, text="KeyError: 'before'")
    instance = seen(store, TODAY + 1)
    with store.write() as change:
        assert (resolve(change, 2, instance=instance), resolve(change, 1, instance=instance)) == (0, 1)
        assert resolve(change, 1, instance=instance) == 0
    assert last_failure(store.primary, 1, None, now=TODAY + 2) == ""


def test_a_failure_was_seen_before_in_sessions_of_the_project_and_of_none(store: Store) -> None:
    for at, session, over in ((1, 1, None), (5, 2, 6), (9, 3, None)):
        instance = seen(store, at, session=session, over=over)
    assert seen_before(store.primary, "shop", instance) == (2, 5, 1)
    assert seen_before(store.primary, "bank", instance) == (2, 9, 1)
    assert seen_before(store.primary, "shop", "never") is None


def test_signatures_of_an_older_normaliser_are_made_anew_once(store: Store) -> None:
    know_error(store, ERROR)
    query = "SELECT normaliser_version, template <> '', features ->> '$.varying[0]' FROM error_signatures"
    assert sign_older(store) == 0
    store.primary.execute("""
        UPDATE error_signatures SET normaliser_version = 0, template = '',
                                    features = json_set(features, '$.varying', json_array('a'))
    """)
    assert sign_older(store) == 1
    assert store.primary.execute(query).fetchall() == [(NORMALISER_VERSION, 1, "a")]
    assert sign_older(store) == 0


def test_a_signature_whose_text_says_nothing_is_signed_once_and_recognises_nothing(store: Store) -> None:
    """It stayed as it was, so that each match wrote it again; 500 of them kept all others from being signed."""
    number = know_error(store, ERROR)
    store.primary.execute("UPDATE error_signatures SET normaliser_version = 0, error_text = ' '")
    assert (sign_older(store), sign_older(store)) == (1, 0)
    assert recognition_of(store.primary, number) is None and get_error(store.primary, number).id == number

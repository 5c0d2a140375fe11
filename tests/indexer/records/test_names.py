"""Names of sessions and groups stand in every answer as they are: short, on one line, and no secret."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.records.sessions import MAX_NAME_CHARS, NewSession, create_group, create_session
from ctxrank.indexer.store.store import Store

SECRET = "ghp" + "_" + "a1B2" * 9


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize(
    ("name", "said"),
    [("x" * (MAX_NAME_CHARS + 1), "too long"), (f"run {SECRET}", "looks like a secret"), ("two\nlines", "not a")],
    ids=["long", "secret", "lines"],
)
def test_a_bad_name_is_refused_and_not_repeated(store: Store, name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as session_error, store.write() as change:
        create_session(change, NewSession(name))
    with pytest.raises(UsageError, match=said) as group_error, store.write() as change:
        create_group(change, create_session(change, NewSession("S")), name)
    assert SECRET not in str(session_error.value) + str(group_error.value)
    assert store.primary.execute("SELECT count(*) FROM sessions").fetchone() == (0,)


@pytest.mark.parametrize("name", ["bazinga_20251101_090000", "AUTH", "größe-2026", "token-refresh: second try"])
def test_what_teams_call_their_work_is_a_name(store: Store, name: str) -> None:
    with store.write() as change:
        create_group(change, create_session(change, NewSession(name)), name)


def test_a_long_name_is_told_by_its_beginning_and_its_length(store: Store) -> None:
    with store.write() as change:
        create_session(change, NewSession("x" * MAX_NAME_CHARS))
        with pytest.raises(UsageError, match=f"'{'y' * 40}…' is too long for a session's name: 201 characters"):
            create_session(change, NewSession("y" * 201))

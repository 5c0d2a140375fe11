"""Stores that stay open between requests: used again while they are the same, closed where they are not."""

import os
import time
from pathlib import Path

import pytest

from ctxrank.extensions.mcp import store_pool
from ctxrank.extensions.mcp.store_pool import MAX_KEPT, StorePool
from ctxrank.indexer import create_store
from ctxrank.indexer.exceptions import NoStoreError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    create_store(str(tmp_path)).close()
    return tmp_path


def test_the_next_request_gets_the_connections_of_the_last(folder: Path) -> None:
    pool = StorePool()
    with pool.open(start=str(folder), busy_ms=10) as first:
        primary = first.primary
    with pool.open(start=str(folder), busy_ms=20) as second:
        assert second.primary is primary and second.busy_ms == 20
        with pool.open(start=str(folder)) as third:
            assert third.primary is not primary
    pool.close()


def test_a_store_that_was_replaced_or_removed_is_not_used_again(folder: Path) -> None:
    pool = StorePool()
    file = folder / ".ctxrank" / "ctxrank.db"
    with pool.open(str(file)) as store:
        primary = store.primary
    copy = file.with_suffix(".copy")
    copy.write_bytes(file.read_bytes())
    os.replace(copy, file)
    with pool.open(str(file)) as store:
        assert store.primary is not primary
    for path in (folder / ".ctxrank").glob("ctxrank.db*"):
        path.unlink()
    with pytest.raises(NoStoreError):
        pool.open(str(file))
    pool.close()


def test_a_store_whose_tables_another_process_changed_is_opened_anew(folder: Path) -> None:
    pool = StorePool()
    file = str(folder / ".ctxrank" / "ctxrank.db")
    with pool.open(file) as store:
        primary = store.primary
    with create_store(str(folder)) as other:
        other.primary.execute("CREATE TABLE another (id INTEGER PRIMARY KEY) STRICT")
    with pool.open(file) as store:
        assert store.primary is not primary
    pool.close()


def test_what_an_error_or_a_transaction_was_left_in_is_closed(folder: Path) -> None:
    pool = StorePool()
    store = pool.open(start=str(folder))
    with pytest.raises(ZeroDivisionError), store:
        raise ZeroDivisionError
    with pool.open(start=str(folder)) as again:
        assert again.primary is not store.primary
        again.primary.execute("BEGIN")
    with pool.open(start=str(folder)) as third:
        assert third.primary is not again.primary and not third.primary.in_transaction
    pool.close()


def test_only_so_many_are_kept_and_what_is_idle_is_closed(folder: Path) -> None:
    pool = StorePool()
    stores = [pool.open(start=str(folder)) for _ in range(MAX_KEPT + 2)]
    for store in stores:
        store.close()
    kept = [pool.open(start=str(folder)) for _ in range(MAX_KEPT)]
    assert {id(store) for store in kept} == {id(store) for store in stores[2:]}
    for store in kept:
        store.close()
    pool.close_idle(0)
    with pool.open(start=str(folder)) as new:
        assert new not in kept
    pool.close()
    last = pool.open(start=str(folder))
    last.close()
    with pool.open(start=str(folder)) as new:
        assert new is not last


def test_what_nobody_asked_for_in_so_many_seconds_is_closed_and_nothing_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    pool = StorePool()
    with pool.open(start=str(folder)), pool.open(start=str(folder)):
        now[0] = 1010.0
    for at, kept in ((1010.0, 2), (1010.0 + store_pool.MAX_IDLE_S - 1, 2), (1010.0 + store_pool.MAX_IDLE_S, 0)):
        now[0] = at
        pool.close_idle()
        assert len(vars(pool)["_kept"]) == kept
    with pool.open(start=str(folder)):
        pass
    pool.close_idle(1.0)
    assert len(vars(pool)["_kept"]) == 1
    pool.close()
    assert vars(pool)["_kept"] == []

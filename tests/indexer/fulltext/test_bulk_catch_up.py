"""Searching while another process indexes: nobody does its work or waits for it, and nobody is told wrong."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import found, hold_the_index, make_store, open_again, save, search_ids, start_child

from ctxrank.indexer.fulltext.bulk_catch_up import FILE, LockFile, bulk_catch_up_in_progress
from ctxrank.indexer.fulltext.fts5_engine import index_of
from ctxrank.indexer.store.store import Store

_TRANSACTIONS, _TOGETHER = 30, 20

# Writes and indexes transaction by transaction, and says after each commit how many documents there are now.
_INDEXES = f"""
import sys
from pathlib import Path
from builders import found, hold_the_index, make_store, open_again, save, search_ids, start_child
from ctxrank.indexer.store import documents
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION

def write(store, word, count):
    with store.write() as change:
        for _ in range(count):
            new = documents.Document("passage", None, "", word, created_at=0, ruleset=RULESET_VERSION)
            documents.put(change, new)

with make_store(Path(sys.argv[1]), busy_ms=30_000) as store:
    write(store, "heron", 20 * {_TOGETHER})  # an index that lacks a fifth of everything is not asked
    store.catch_up()
    for committed in range(1, {_TRANSACTIONS} + 1):
        write(store, "zebra", {_TOGETHER})
        print(committed * {_TOGETHER}, flush=True)
        store.catch_up()
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


def _save_unseen(store: Store, path: str, text: str) -> None:
    """Save where the index cannot follow."""
    holder = hold_the_index(store)
    save(store, path, text)
    holder.close()


@pytest.mark.slow
def test_a_search_sees_all_that_was_committed_before_it_or_says_how_much_it_lacks(tmp_path: Path) -> None:
    with make_store(tmp_path, busy_ms=30_000) as store, start_child(_INDEXES, tmp_path) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            result = found(store, "zebra", limit=1)
            assert result.total + result.stale >= int(line)
            assert result.stale <= _TOGETHER  # the transaction that is being indexed
        assert writer.wait(60) == 0
        assert found(store, "zebra", limit=1).total == _TRANSACTIONS * _TOGETHER


def test_a_search_leaves_a_backlog_to_the_process_that_works_on_it(store: Store) -> None:
    for number in range(10):
        save(store, f"{number}.md", "heron")
    _save_unseen(store, "late.md", "zebra")
    with LockFile(store.location.folder, FILE):
        result = found(store, "zebra heron")
        assert (result.outcome, len(result.hits)) == ("stale", 10)
        assert result.stale == store.last_seq() - index_of(store).state().applied_seq
    assert search_ids(store, "zebra") == ["package:11"]


def test_a_bounded_follow_stops_where_another_process_begins_to_do_it_all(store: Store) -> None:
    text = "\n".join(f"# Part {number}\n\n{'zebra ' * 300}\n" for number in range(400))
    _save_unseen(store, "long.md", text)
    asked = iter([False, True])

    def begins_meanwhile(_: str) -> bool:
        return next(asked)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("ctxrank.indexer.fulltext.catch_up.bulk_catch_up_in_progress", begins_meanwhile)
        assert store.catch_up(900) > 0  # with a second or more, 400 documents are one batch
    assert store.catch_up(60_000) == 0


def test_whoever_reads_waits_a_little_for_a_save_that_is_being_indexed(store: Store) -> None:
    save(store, "a.md", "heron")
    holder = hold_the_index(store)
    save(store, "b.md", "zebra")
    threading.Timer(0.01, holder.close).start()
    assert store.catch_up(60_000, wait_ms=30_000) == 0


def test_a_run_bulk_catch_up_in_progress_until_it_ends(store: Store) -> None:
    folder = store.location.folder
    assert not bulk_catch_up_in_progress(folder)
    with LockFile(folder, FILE) as announcement, open_again(store) as other, LockFile(folder, FILE) as second:
        assert bulk_catch_up_in_progress(other.location.folder)
        announcement.take()
        second.take()
    assert not bulk_catch_up_in_progress(folder)


def test_who_asks_keeps_nobody_from_announcing_for_long_and_is_not_taken_for_a_run(store: Store) -> None:
    import fcntl

    folder = store.location.folder
    with LockFile(folder, FILE):
        pass
    with (Path(folder) / FILE).open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        with LockFile(folder, FILE) as announcement:
            assert not bulk_catch_up_in_progress(folder)
            fcntl.flock(asking, fcntl.LOCK_UN)
            announcement.take()
            assert bulk_catch_up_in_progress(folder)


def test_where_nothing_can_be_announced_everything_is_followed_all_the_same(store: Store, tmp_path: Path) -> None:
    Path(store.location.folder, FILE).unlink(missing_ok=True)
    Path(store.location.folder, FILE).mkdir()
    save(store, "a.md", "zebra")
    assert store.catch_up() == 0
    assert search_ids(store, "zebra") == ["package:1"]

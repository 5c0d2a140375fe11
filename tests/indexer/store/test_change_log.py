"""What was acknowledged is there, once, and is found: whatever kills a process between its two commits."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store, open_again, run_child, save, search_ids, start_child
from index_contents import has_no_ghosts

from ctxrank.indexer.records.packages import list_packages
from ctxrank.indexer.store import change_log, documents
from ctxrank.indexer.store.change_log import ChangeBatch, changes_after, history_id, last_seq, read_changes
from ctxrank.indexer.store.documents import Document
from ctxrank.indexer.store.store import Store

# Saves, and dies after the primary database's COMMIT, before the index has heard of it.
_DIES_BEFORE_FOLLOWING = """
import os, sys
from pathlib import Path
from builders import make_store, save
from ctxrank.indexer.store.store import Store

Store.catch_up = lambda store, bound_ms=None: os._exit(0)
save(make_store(Path(sys.argv[1])), "found.md", "The zebra crossed.")
"""

# Starts savers, one after the other, and kills each at a random moment. A saver says the id of each save once
# it is acknowledged, in one write, which no kill cuts in two. (Forked, so that 25 of them are quick.)
_KILLS_SAVERS = """
import itertools, os, random, signal, sys, time
from builders import save, word
from ctxrank.indexer import create_store

chance = random.Random(7)
for kill in range(25):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        store = create_store(sys.argv[1], busy_ms=2000)
        for number in itertools.count(kill * 1000):
            saved = save(store, f"f{number}.md", f"finding {word(number)}")
            os.write(writing, f"{saved.id} {word(number)}\\n".encode())
    os.close(writing)
    with open(reading) as acknowledged:
        print(next(acknowledged), end="")
        time.sleep(chance.uniform(0, 0.03))
        os.kill(child, signal.SIGKILL)
        print(acknowledged.read(), end="")
    os.waitpid(child, 0)
"""


def test_a_save_that_died_before_the_index_heard_of_it_is_found_by_the_next_search(tmp_path: Path) -> None:
    run_child(_DIES_BEFORE_FOLLOWING, tmp_path)
    with make_store(tmp_path) as store:
        assert search_ids(store, "zebra") == ["package:1"]
        assert has_no_ghosts(store)


@pytest.mark.slow
def test_every_acknowledged_save_survives_a_kill_at_any_moment(tmp_path: Path) -> None:
    acknowledged = [line.split() for line in run_child(_KILLS_SAVERS, tmp_path).splitlines()]
    with make_store(tmp_path) as store:
        assert len(acknowledged) >= 25
        for package_id, text in acknowledged:
            assert search_ids(store, text) == [f"package:{package_id}"]
        assert len({package_id for package_id, _ in acknowledged}) == len(acknowledged)
        assert has_no_ghosts(store)


# Eight forks wait at a gate, then start on a store that none of them has seen.
_COLD_STARTS = """
import os, sys
from builders import save, search_ids, word
from ctxrank.indexer import create_store

gate, opener = os.pipe()
children = []
for number in range(8):
    children.append(os.fork())
    if not children[-1]:
        os.close(opener)
        os.read(gate, 1)
        with create_store(sys.argv[1], busy_ms=30_000) as store:
            saved = save(store, f"f{number}.md", f"finding {word(number)}")
            os._exit(int(search_ids(store, word(number)) != [f"package:{saved.id}"]))
os.close(opener)
print(sum(os.waitpid(child, 0)[1] != 0 for child in children))
"""


@pytest.mark.parametrize("rounds", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_eight_processes_may_start_on_a_new_store_at_once(tmp_path: Path, rounds: int) -> None:
    for round_ in range(rounds):
        folder = tmp_path / str(round_)
        assert run_child(_COLD_STARTS, folder) == "0\n"
        with make_store(folder) as store:
            assert len(list_packages(store.primary)) == 8
            store.catch_up()
            assert has_no_ghosts(store)


_SAVES_TWENTY = """
import sys
from pathlib import Path
from builders import make_store, save

with make_store(Path(sys.argv[1]), busy_ms=30_000) as store:
    for number in range(20):
        save(store, f"p{sys.argv[2]}-{number}.md", f"common word{sys.argv[2]}x{number}")
"""

_SEARCHES = """
import sys, time
from pathlib import Path
from builders import found, make_store

with make_store(Path(sys.argv[1]), busy_ms=30_000) as store:
    for _ in range(60):
        print(found(store, "common").outcome)
"""


@pytest.mark.slow
def test_saving_and_searching_go_on_side_by_side(tmp_path: Path) -> None:
    make_store(tmp_path).close()
    writers = [start_child(_SAVES_TWENTY, tmp_path, number) for number in range(4)]
    readers = [start_child(_SEARCHES, tmp_path) for _ in range(2)]
    outcomes = {word for reader in readers for word in reader.communicate(timeout=60)[0].split()}
    for child in (*writers, *readers):
        child.communicate(timeout=60)
        assert child.returncode == 0
    assert outcomes <= {"matched", "no_match", "stale", "degraded"}
    with make_store(tmp_path) as store:
        assert len(search_ids(store, "common", limit=100)) == 80
        assert {package.version for package in list_packages(store.primary)} == {1}
        assert has_no_ghosts(store)


_FOLLOWS = """
import sys
from pathlib import Path
from builders import make_store

with make_store(Path(sys.argv[1]), busy_ms=30_000) as store:
    for _ in range(15):
        store.catch_up(int(sys.argv[2]) or None)
"""


@pytest.mark.slow
def test_six_followers_race_and_leave_no_ghosts(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        followers = [start_child(_FOLLOWS, tmp_path, 10 * (number % 2)) for number in range(6)]
        for number in range(40):
            save(store, f"f{number % 7}.md", f"round {number} of file {number % 7}")
        for follower in followers:
            follower.communicate(timeout=60)
            assert follower.returncode == 0
        store.catch_up()
        assert has_no_ghosts(store)


def test_a_second_store_sees_a_save_at_its_next_search(tmp_path: Path) -> None:
    with make_store(tmp_path) as store, open_again(store) as other:
        assert search_ids(other, "zebra") == []
        save(store, "a.md", "zebra")
        assert search_ids(other, "zebra") == ["package:1"]


def test_the_feed_counts_up_and_never_back(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        seen = [0]
        for number in range(3):
            save(store, "a.md", f"text {number}")
            row = store.primary.execute("SELECT seq FROM store").fetchone()
            assert row is not None
            seen.append(int(row[0]))
        assert seen == sorted(set(seen))


def test_a_tombstone_keeps_no_content(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        save(store, "a.md", "a secretive zebra")
        save(store, "a.md", "nothing of it")
        assert store.primary.execute("SELECT count(*) FROM tombstones").fetchone() == (1,)
        assert search_ids(store, "zebra") == []


@pytest.fixture
def changed(tmp_path: Path) -> Iterator[Store]:
    """A store with six documents, of which the third is gone and the second changed last."""
    with make_store(tmp_path) as store:
        with store.write() as change:
            ids = [documents.put(change, Document("strategy", n, f"t{n}", f"body {n}", 1, 1)) for n in range(1, 7)]
        with store.write() as change:
            documents.remove(change, ids[2])
            documents.remove(change, ids[3])
            documents.touch(change, ids[1], superseded_by=ids[0])
        yield store


def _batches(store: Store, most: int) -> list[ChangeBatch]:
    batches = [read_changes(store.primary, "main", after=0, most=most)]
    while not batches[-1].is_last:
        batches.append(read_changes(store.primary, "main", after=batches[-1].end, most=most))
    return batches


@pytest.mark.parametrize("most_chars", [1, 16, 1000])
def test_the_log_says_the_same_in_batches_of_any_size(
    changed: Store, monkeypatch: pytest.MonkeyPatch, most_chars: int
) -> None:
    whole = read_changes(changed.primary, "main", after=0, most=100)
    last = last_seq(changed.primary, "main")
    assert whole.is_last and whole.end == last and (len(whole.documents), len(whole.deletions)) == (4, 2)
    assert [document.title for document in whole.documents] == ["t1", "t5", "t6", "t2"]
    monkeypatch.setattr(change_log, "_BATCH_CHARS", most_chars)
    for most in range(1, 8):
        batches = _batches(changed, most)
        assert [one for batch in batches for one in batch.documents] == whole.documents
        assert [one for batch in batches for one in batch.deletions] == whole.deletions
        ends = [0, *(batch.end for batch in batches)]
        assert ends[-1] == last
        for after, batch in zip(ends, batches, strict=False):
            numbers = [*(one.seq for one in batch.documents), *(one.seq for one in batch.deletions)]
            assert all(after < number <= batch.end for number in numbers) and len(numbers) <= 2 * most
            assert len(batch.documents) <= (1 if most_chars == 1 else most)


def test_a_batch_ends_where_its_texts_are_as_long_as_one_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make_store(tmp_path) as store:
        with store.write() as change:
            for number in range(3):
                documents.put(change, Document("strategy", number + 1, "", "ten chars.", 1, 1))
        length = 10 + len(read_changes(store.primary, "main", after=0, most=1).documents[0].identifiers)
        for most_chars, count in ((length, 1), (length + 1, 2), (2 * length, 2), (2 * length + 1, 3)):
            monkeypatch.setattr(change_log, "_BATCH_CHARS", most_chars)
            assert len(read_changes(store.primary, "main", after=0, most=100).documents) == count


def test_a_consumer_reads_each_text_without_what_is_invisible(tmp_path: Path) -> None:
    hidden, plain = "ze\u200bbra", Document("strategy", 1, "t", "b", 1, 1, "p")
    with make_store(tmp_path) as store:
        with store.write() as change:
            documents.put(change, plain._replace(number=1, title=hidden))
            documents.put(change, plain._replace(number=2, body=hidden))
            documents.put(change, plain._replace(number=3, path=hidden))
        batch = read_changes(store.primary, "main", after=0, most=9)
        assert [(one.title, one.body, one.path) for one in batch.documents] == [
            ("zebra", "b", "p"),
            ("t", "zebra", "p"),
            ("t", "b", "zebra"),
        ]


def test_a_history_is_known_at_its_own_numbers_alone(changed: Store) -> None:
    last = last_seq(changed.primary, "main")
    assert history_id(changed.primary, "main", 0) == 0
    assert history_id(changed.primary, "main", last + 1) == -1
    known = [history_id(changed.primary, "main", seq) for seq in range(1, last + 1)]
    assert min(known) > 0 and len(set(known)) == 2  # a transaction each
    assert [changes_after(changed.primary, seq) for seq in (0, last - 1, last)] == [6, 1, 0]

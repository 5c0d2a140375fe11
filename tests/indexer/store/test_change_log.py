"""What was acknowledged is there, once, and is found: whatever kills a process between its two commits."""

from pathlib import Path

import pytest
from builders import make_store, open_again, run_child, save, search_ids, start_child
from index_contents import has_no_ghosts

from ctxrank.indexer.records.packages import list_packages

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
from pathlib import Path
from builders import make_store, save, word

chance = random.Random(7)
for kill in range(25):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        store = make_store(Path(sys.argv[1]))
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
from pathlib import Path
from builders import make_store, save, search_ids, word

gate, opener = os.pipe()
children = []
for number in range(8):
    children.append(os.fork())
    if not children[-1]:
        os.close(opener)
        os.read(gate, 1)
        with make_store(Path(sys.argv[1]), busy_ms=30_000) as store:
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

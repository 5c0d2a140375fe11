"""A small part of what `make torture` does at length: kills, power cuts, failing disks and a crowd, by fixed seeds."""

import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import acts
import crowds
import damaged_stores
import disk_faults
import kills
import power_cuts
import pytest
import templates
from acts import ACTS, Errand
from builders import save
from disk_after import Disk
from examine import troubles_of
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from promises import Ledger, Promise, Shape, State, broken
from recorded_files import Kind, Operation

from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.opening import create_store
from ctxrank.indexer.privacy import purge
from ctxrank.indexer.records.sessions import NewSession, create_session
from ctxrank.indexer.store.store import Store

SEED = 1
_OTHER_ACTS = ("save_reasoning_by_command", "assemble", "rebuild")
_IN_MEMORY = "/dev/shm"  # nothing waits for a disk there; the operations are the same


@pytest.fixture
def work(tmp_path: Path) -> Iterator[str]:
    """A folder in memory where there is such a place, else an ordinary one."""
    place = _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else str(tmp_path)
    with tempfile.TemporaryDirectory(prefix="torture-", dir=place) as folder:
        yield folder


@pytest.mark.slow
def test_after_a_kill_everything_acknowledged_is_there_once_and_the_index_agrees(work: str) -> None:
    outcome = kills.kill_many(work, seed=SEED, count=8)
    assert outcome.failures == ()
    assert outcome.kills == 8
    assert outcome.acknowledged > 20


@pytest.mark.slow
def test_after_a_power_cut_every_acknowledged_record_is_there(work: str) -> None:
    outcome = power_cuts.cut_many(work, seed=SEED, sessions=1, cuts=40)
    assert outcome.failures == ()
    assert outcome.states > 30  # some of the chosen instants are the same
    assert outcome.acknowledged > 20


@pytest.mark.slow
def test_a_disk_that_only_says_that_it_has_synced_is_found_out(work: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness sees what it is for: without its syncs, the same session loses records."""
    honest = Disk.do

    def lying(disk: Disk, operation: Operation) -> None:
        if operation.kind is not Kind.SYNC:
            honest(disk, operation)

    monkeypatch.setattr(Disk, "do", lying)
    outcome = power_cuts.cut_many(work, seed=SEED, sessions=1, cuts=40)
    assert len(outcome.failures) > 3


@pytest.mark.slow
@pytest.mark.parametrize("act", ["save_package", *_OTHER_ACTS])
def test_a_disk_that_fails_anywhere_is_said_and_loses_nothing(work: str, act: str) -> None:
    outcome = disk_faults.fail_everywhere(work, seed=SEED, acts=(act,), step=60)
    assert outcome.failures == ()
    assert outcome.calls >= 3
    assert outcome.refused > 0


@pytest.mark.parametrize("seconds", [0.5, pytest.param(3, marks=pytest.mark.slow)])
def test_in_a_crowd_no_call_fails_and_whoever_may_not_wait_is_told_that_it_is_locked(work: str, seconds: float) -> None:
    outcome = crowds.crowd(work, seed=SEED, seconds=seconds, processes=4, hold_s=1.5)
    assert outcome.failures == ()
    assert (outcome.waited_calls, outcome.locked_calls) == (4, 1)
    assert outcome.calls >= 4  # each at least once, however slow the machine


@pytest.mark.slow
def test_whichever_page_is_damaged_a_user_is_told_and_a_repair_saves_the_rest(work: str) -> None:
    outcome = damaged_stores.damage_many(work, seed=SEED, length=1, count=12)
    assert outcome.failures == ()
    assert (outcome.cases, outcome.answers["right"] > 50) == (12, True)


# The harness itself


@pytest.fixture
def store(tmp_path: Path) -> Store:
    with create_store(str(tmp_path)) as opened:
        save(opened, "a.md", "# About\n\nThe qbc is a finding.\n", summary="On qbd.")
    return opened


def broken_words(store: Store, **promises: Promise) -> list[str]:
    troubles = troubles_of(store.location.root, promises, random.Random(SEED))
    return [trouble.split(" ")[0] for trouble in troubles]


def test_a_kept_word_that_is_nowhere_is_a_broken_promise_and_an_unfinished_one_is_none(store: Store) -> None:
    lost = Promise(Shape.COMMAND, State.KEPT)
    assert broken_words(store, qbz=lost) == ["qbz"]
    assert broken_words(store, qbz=lost._replace(state=State.ADDING)) == []
    assert broken_words(store, qbz=lost._replace(state=State.GONE)) == []


def test_a_purge_that_only_says_that_it_has_erased_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()

    def lying(_: Store) -> bool:
        return True

    monkeypatch.setattr(purge, "erase", lying)
    with create_store(str(tmp_path / "home")) as store, store.write() as change:
        create_session(change, NewSession("S"))
    ledger = Ledger()
    acts.forget_a_document(Errand(str(tmp_path / "home"), "", random.Random(SEED), 1000, ledger.hear, {}))
    (trouble, *_) = troubles_of(str(tmp_path / "home"), ledger.promises, random.Random(SEED))
    assert trouble.endswith("is forgotten, and in index.db")


def test_a_word_in_some_of_its_rows_is_broken_whether_it_was_acknowledged_or_not(store: Store) -> None:
    for state in State:
        assert "qbd" in broken_words(store, qbd=Promise(Shape.PACKAGE, state))


def test_the_file_of_a_package_that_was_never_saved_may_be_indexed(tmp_path: Path) -> None:
    ledger = Ledger()
    errand = Errand(str(tmp_path), "", random.Random(SEED), 1000, ledger.hear, {})
    with pytest.raises(KeyboardInterrupt), patch.object(acts, "call_command", side_effect=KeyboardInterrupt):
        acts.save_package(errand)
    ((word, promise),) = ledger.promises.items()
    with create_store(str(tmp_path)) as store:
        index_artifacts(store)
        assert promise.shape is Shape.PACKAGE and broken(ledger.promises, store.primary) == []
        assert broken({word: promise._replace(state=State.KEPT)}, store.primary) != []


@pytest.mark.slow
def test_every_act_keeps_its_promises_where_nothing_goes_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "templates").mkdir()
    templates.make_templates(str(tmp_path / "templates"))
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    with create_store(str(home)) as store, store.write() as change:
        create_session(change, NewSession("S"))
    ledger = Ledger()
    errand = Errand(str(home), str(tmp_path / "templates"), random.Random(SEED), 1000, ledger.hear, {})
    for act in ACTS.values():
        act(errand)
    assert troubles_of(str(home), ledger.promises, random.Random(SEED), is_thorough=True) == []
    assert {promise.state for promise in ledger.promises.values()} == {State.KEPT, State.GONE, State.FORGOTTEN}


def test_a_torn_write_keeps_what_was_around_it() -> None:
    disk, rng = Disk(), random.Random(SEED)
    for operation in (
        Operation(Kind.CREATE, "a-wal"), Operation(Kind.WRITE, "a-wal", 0, b"old" * 1000),
        Operation(Kind.SYNC, "a-wal"),
        Operation(Kind.WRITE, "a-wal", 1000, b"N" * 1000),
    ):  # fmt: skip
        disk.do(operation)
    found = {bytes(disk.file("a-wal").after_cut(rng, 1.0)) for _ in range(60)}
    whole = b"old" * 1000
    assert all(data[:1000] == whole[:1000] and data[2000:] == whole[2000:] for data in found)
    assert len(found) > 3


_WRITES = st.lists(st.tuples(st.integers(0, 3000), st.binary(min_size=1, max_size=1500), st.booleans()), max_size=8)


@settings(max_examples=examples(50))
@given(_WRITES, st.integers(0, 99))
def test_what_was_synced_is_on_the_disk_and_nothing_that_was_never_written(
    writes: list[tuple[int, bytes, bool]], seed: int
) -> None:
    disk, synced = Disk(), 0
    disk.do(Operation(Kind.CREATE, "a-wal"))
    for number, (offset, data, is_synced) in enumerate(writes, start=1):
        disk.do(Operation(Kind.WRITE, "a-wal", offset, data))
        if is_synced:
            disk.do(Operation(Kind.SYNC, "a-wal"))
            synced = number
    after = disk.file("a-wal").after_cut(random.Random(seed), 0.5)
    for place, byte in enumerate(after):
        possible = [0]  # a hole
        for number, (offset, data, _) in enumerate(writes, start=1):
            if offset <= place < offset + len(data):
                possible = [*(possible if number > synced else []), data[place - offset]]
        assert byte in possible

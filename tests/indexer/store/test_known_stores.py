"""What is written down of this user's stores: whole or not at all, for its owner alone, by one process at a time."""

import fcntl
import os
import threading
import time
from pathlib import Path

import pytest
from builders import make_store

from ctxrank.indexer import systems
from ctxrank.indexer.exceptions import CtxrankError, DamagedError, UsageError
from ctxrank.indexer.store import known_stores
from ctxrank.indexer.store.known_stores import (
    alone_in,
    make_folder_of_ours,
    new_token,
    remember,
    trust,
    write_privately,
)
from ctxrank.indexer.store.location import Identity, identity_of, is_known, known_lines, places_of_stores


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "ctxrank"


def test_a_store_is_noted_by_its_place_once_and_its_copies_beside_it(state: Path, tmp_path: Path) -> None:
    uuid, token = "0a000000-0000-4000-8000-000000000001", new_token()
    assert len(token) == 32 and token != new_token() and not is_known(Identity(uuid, token))
    for place in ("a.db", "b.db", "a.db"):
        remember(Identity(uuid, token), str(tmp_path / place))
    assert known_lines(uuid) == [f"{token} {tmp_path / place}" for place in ("b.db", "a.db")]
    assert is_known(Identity(uuid, token)) and not is_known(Identity(uuid, new_token()))
    assert places_of_stores() == [str(tmp_path / "b.db"), str(tmp_path / "a.db")]
    assert os.listdir(state / "stores") == [uuid] and (state / "stores" / uuid).stat().st_mode & 0o777 == 0o600
    assert state.stat().st_mode & 0o777 == (state / "stores").stat().st_mode & 0o777 == 0o700


def test_who_may_be_trusted_is_asked_by_name_and_place(state: Path, tmp_path: Path) -> None:
    with make_store(tmp_path / "one") as store, make_store(tmp_path / "two") as other:
        assert not trust(store)
        (state / "stores" / identity_of(store.primary).uuid).unlink()
        assert trust(store) and not trust(store)
        other.primary.execute("UPDATE store SET uuid = ?", (identity_of(store.primary).uuid,))
        with pytest.raises(UsageError, match="has the name of another store"):
            trust(other)
        other.primary.execute("UPDATE store SET uuid = 'no name'")
        with pytest.raises(DamagedError, match="does not say which store it is"):
            trust(other)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_can_write_is_not_ours(tmp_path: Path, mode: int) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(mode)
    with pytest.raises(PermissionError):
        make_folder_of_ours(str(tmp_path / "shared"))
    make_folder_of_ours(str(tmp_path / "x" / "mine"))
    make_folder_of_ours(str(tmp_path / "x" / "mine"))
    assert (tmp_path / "x" / "mine").stat().st_mode & 0o777 == 0o700


def test_a_file_is_written_whole_or_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    write_privately(str(path), "é\ud800\n")
    assert path.read_bytes() == "é\\ud800\n".encode() and path.stat().st_mode & 0o777 == 0o600

    def full(_: int) -> None:
        raise OSError(28, "no space")

    monkeypatch.setattr(systems, "sync", full)
    with pytest.raises(OSError, match="no space"):
        write_privately(str(path), "other")
    assert os.listdir(tmp_path) == ["a"] and path.read_bytes() == "é\\ud800\n".encode()


def test_whoever_replaces_a_file_waits_for_the_other_one_and_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_stores, "_MAX_WAIT_S", 0.05)
    order: list[str] = []
    with alone_in(str(tmp_path)):
        began = time.monotonic()
        with pytest.raises(BlockingIOError), alone_in(str(tmp_path)):
            pass
        assert time.monotonic() - began >= 0.05
    monkeypatch.setattr(known_stores, "_MAX_WAIT_S", 20.0)
    descriptor = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)

    def let_go() -> None:
        order.append("released")
        os.close(descriptor)

    release = threading.Timer(0.05, let_go)
    release.start()
    with alone_in(str(tmp_path)):
        order.append("entered")
    release.join()
    assert order == ["released", "entered"]


def test_without_a_home_a_store_is_named_in_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_stores, "state_folder", lambda: "")
    with pytest.raises(CtxrankError, match="There is no home folder") as refused:
        remember(Identity("a", "b"), "/x")
    assert "--db FILE" in (refused.value.hint or "")

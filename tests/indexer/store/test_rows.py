"""Rows by column, origins by name, and one process at a time."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from builders import make_store, save

from ctxrank.indexer.exceptions import CtxrankError, LockedError
from ctxrank.indexer.store import one_process, origins
from ctxrank.indexer.store.ids import foreign_id, is_accepted, numbered, origin_and_number, origin_code, whose
from ctxrank.indexer.store.one_process import held, holder, only_one, processes_of
from ctxrank.indexer.store.rows import insert, list_where, read_where, update
from ctxrank.indexer.store.store import Store

_UUIDS = ("0a000000-0000-4000-8000-000000000001", "0b000000-0000-4000-8000-000000000002")


class Saved(NamedTuple):
    id: int
    session: str
    group: str | None
    type: str


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as store:
        yield store


def test_rows_are_found_by_their_values_and_none_is_any(store: Store) -> None:
    for number, group in enumerate(("G", None, "H")):
        save(store, f"{number}.md", session=f"S{number % 2}", group=group, created_at=number)

    def numbers(*conditions: str, limit: int = -1, **wanted: str | int | None) -> list[int]:
        return [row.id for row in list_where(store.primary, "packages", Saved, wanted, *conditions, limit=limit)]

    assert numbers() == [3, 2, 1] and numbers(limit=2) == [3, 2]
    assert numbers(session="S0") == [3, 1] and numbers(session="S0", group=None) == [3, 1]
    assert numbers(group="G") == [1] and numbers("t.id > :least", least=1, group=None) == [3, 2]
    assert numbers("t.id IS NOT :other", other=None) == [3, 2, 1]
    assert read_where(store.primary, "packages", Saved, {"id": 2}) == Saved(2, "S1", None, "research")
    assert read_where(store.primary, "packages", Saved, {"id": 9}) is None
    assert update(store.primary, "packages", 2, {"type": "handoff"}) and not update(
        store.primary, "packages", 9, {"type": "x"}
    )
    assert numbers(type="handoff") == [2]
    number = insert(store.primary, "settings", {"key": "a", "value": "1"})
    assert number == store.primary.last_insert_rowid()


def test_an_origin_is_named_by_what_it_is_called_or_by_its_digits(store: Store) -> None:
    with store.write() as change:
        first, second = (origin_code(change.connection, uuid) for uuid in _UUIDS)
        origins.enter_state(change.connection, _UUIDS[0], "accepted", "person", "Anna" + "x" * 99)
        origins.enter_state(change.connection, _UUIDS[1], "accepted", "log")
    anna = "Anna" + "x" * (origins.MAX_WHO_CHARS - 4)
    assert origins.origin_labels(store.primary) == {0: "here", first: anna, second: "0b000000"}
    for name, codes in ((f" {anna.upper()} ", [first]), ("0a000000", [first]), ("0B000000", [second]), ("0c", [])):
        assert origins.origin_codes(store.primary, name) == codes
    assert origins.origin_codes(store.primary, "Here") == [0]
    assert [origins.is_of_log(store.primary, uuid) for uuid in (*_UUIDS, "none")] == [False, True, False]
    assert [one.is_told for one in origins.known_origins(store.primary)] == [0, 1]
    with store.write() as change:
        origins.enter_state(change.connection, _UUIDS[0], "revoked", "person")
    assert [origins.state_of(store.primary, uuid) for uuid in (*_UUIDS, "none")] == ["revoked", "accepted", "asked"]
    assert origins.origin_labels(store.primary)[first] == anna


def test_a_record_of_another_store_says_whose_it_is_until_it_is_accepted(store: Store) -> None:
    with store.write() as change:
        code = origin_code(change.connection, _UUIDS[0])
    row = foreign_id(code, 7)
    assert row < 0 and origin_and_number(row) == (code, 7) and origin_and_number(7) == (0, 7)
    assert numbered(row) == "7@0a000000" and numbered(0) == "0"
    said: list[tuple[str, bool]] = []
    decided: tuple[tuple[origins.OriginState, str], ...] = (("asked", "anna"), ("accepted", ""), ("revoked", ""))
    for state, who in decided:
        with store.write() as change:
            origins.enter_state(change.connection, _UUIDS[0], state, "person", who)
        said.append((whose(store.primary, row), is_accepted(store.primary, row)))
    assert said == [("not accepted", False), ("of anna", True), ("not accepted", False)]
    assert (whose(store.primary, 7), is_accepted(store.primary, 7)) == ("", True)
    assert whose(store.primary, foreign_id(code + 1, 7)) == ""


def test_a_fix_that_was_saved_here_is_noted_of_others_errors_alone(store: Store) -> None:
    with store.write() as change:
        for number in (5, -5):
            origins.note_saved(change.connection, number)
    assert store.primary.execute("SELECT source, target_id FROM imported_rows").fetchall() == [("saved", -5)]
    assert not origins.is_vouched(store.primary, "strategy", -5) and origins.is_vouched(store.primary, "strategy", 5)
    assert origins.count_waiting(store.primary) == 0


def test_a_lock_file_says_who_holds_it_and_refuses_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_process, "_PAUSE_S", 0.001)
    path = str(tmp_path / "watch.lock")
    assert held(path) is None and holder(path) == ""
    with only_one(path, "4711 here", LockedError):
        assert held(path) == holder(path) == "4711 here"
        assert processes_of(str(tmp_path)) == {"watch": "4711 here"}
        with pytest.raises(LockedError, match="4711 here"), only_one(path, "4712", LockedError):
            pass
        assert os.stat(path).st_mode & 0o777 == 0o600
    assert held(path) is None and os.path.getsize(path) == 0 and processes_of(str(tmp_path)) == {}
    with only_one(path, "x" * 400, LockedError):
        assert held(path) == "x" * 300


def test_a_lock_that_is_only_asked_for_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, tries = str(tmp_path / "a.lock"), 0

    def busy_twice(_: int, __: int) -> None:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise OSError(errno.EWOULDBLOCK, "held")

    monkeypatch.setattr("fcntl.flock", busy_twice)
    monkeypatch.setattr(one_process, "_PAUSE_S", 0.0)
    with only_one(path, "mine", LockedError):
        assert tries == 3
    tries = -1
    with pytest.raises(LockedError), only_one(path, "mine", LockedError):
        pass


def test_what_is_no_file_is_no_lock(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.lock")
    (tmp_path / "link.lock").symlink_to(tmp_path / "elsewhere")
    for name in ("pipe.lock", "link.lock"):
        with pytest.raises(CtxrankError), only_one(str(tmp_path / name), "x", LockedError):
            pass
        assert held(str(tmp_path / name)) is None
    assert not (tmp_path / "elsewhere").exists()

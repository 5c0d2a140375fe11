"""A damaged store is replaced by what could be read of it, or is left as it was; the copy of it is kept."""

import os
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import pytest
from damage import root_of, zeroed
from tables import each_row

from ctxrank.indexer.care import replacement
from ctxrank.indexer.care.new_file import (
    TableReport,
    _reported,  # pyright: ignore[reportPrivateUsage] # few damages have all that counts
)
from ctxrank.indexer.care.page_reader import CopiedTable
from ctxrank.indexer.care.replacement import new_backup_folder, salvage
from ctxrank.indexer.exceptions import CtxrankError, LockedError
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.records.packages import list_packages
from ctxrank.indexer.store.location import Location

pytestmark = pytest.mark.needs("salvage")
BUSY_MS = 100


def packages(location: Location) -> int:
    with open_store(location.primary) as store:
        return list_packages(store.primary, include_superseded=True, limit=0).total


def without_header(location: Location) -> bytes:
    """Damage the store so that SQLite opens it no more; returns its bytes."""
    data = b"?" * 100 + Path(location.primary).read_bytes()[100:]
    Path(location.primary).write_bytes(data)
    return data


def without_a_page(location: Location) -> bytes:
    """Damage a page of a store that SQLite still opens; returns its bytes."""
    data = Path(location.primary).read_bytes()
    data = zeroed(data, root_of(location.primary, "documents_owner"))
    Path(location.primary).write_bytes(data)
    return data


def without_logs(names: list[str]) -> list[str]:
    """Names without what SQLite keeps beside an open file."""
    return sorted(name for name in names if not name.endswith(("-wal", "-shm")))


@pytest.mark.parametrize("spoil", [without_header, without_a_page])
def test_what_was_saved_is_in_its_place_and_the_file_as_it_was_is_kept(
    loaded: Location, spoil: Callable[[Location], bytes]
) -> None:
    before, data = packages(loaded), spoil(loaded)
    report, kept = salvage(loaded, busy_ms=BUSY_MS)
    assert packages(loaded) == before and report.is_complete
    assert Path(kept).read_bytes()[100:] == data[100:]
    assert os.listdir(os.path.dirname(kept)) == [os.path.basename(loaded.primary)]
    assert not [name for name in os.listdir(loaded.folder) if name.startswith(replacement.TRIAL)]


@pytest.mark.parametrize("spoil", [without_header, without_a_page])
def test_a_rehearsal_leaves_the_file_as_it_is_and_nothing_beside_it(
    loaded: Location, spoil: Callable[[Location], bytes]
) -> None:
    data, beside = spoil(loaded), without_logs(os.listdir(loaded.folder))
    _, kept = salvage(loaded, busy_ms=BUSY_MS, is_dry_run=True)
    assert kept == "" and Path(loaded.primary).read_bytes()[100:] == data[100:]
    assert without_logs(os.listdir(loaded.folder)) == beside


def test_a_store_that_is_written_without_pause_is_left_alone(loaded: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    without_a_page(loaded)
    versions, waits = count(), list[float]()

    def another(_: object) -> int:
        return next(versions)

    monkeypatch.setattr(replacement, "_data_version", another)
    monkeypatch.setattr("time.sleep", waits.append)
    with pytest.raises(LockedError, match="written without pause"):
        salvage(loaded, busy_ms=BUSY_MS)
    assert waits == pytest.approx([0.05, 0.1, 0.15])
    assert os.listdir(os.path.join(loaded.folder, "backups")) == []


def test_copies_of_one_second_have_folders_of_their_own_that_nobody_else_reads(loaded: Location) -> None:
    folders = [new_backup_folder(loaded) for _ in range(3)]
    assert len(set(folders)) == 3
    assert {os.stat(folder).st_mode & 0o777 for folder in (*folders, os.path.dirname(folders[0]))} == {0o700}


@each_row(
    "change, rebuilt, dropped, lost, lost_ids",
    [
        ({}, 0, 0, 0, ()),
        ({}, 0, 2, 2, ()),
        ({"lost": {1: {}, 7: {}, 9: {}}}, 0, 0, 2, (7, 9)),
        ({"lost": {1: {}, 7: {}, 9: {}}}, 0, 1, 3, (7, 9)),
        ({"unreadable": 3, "rejected": 2}, 0, 0, 5, ()),
        ({"unreadable": 3, "rejected": 2}, 4, 1, 2, ()),
        ({"unreadable": 3}, 5, 1, 1, ()),
        ({"lost": {7: {}}, "unreadable": 3}, 1, 0, 2, (7,)),
        ({"lost": {number: {} for number in range(2, 90)}}, 0, 0, 88, tuple(range(2, 22))),
    ],
)
def test_lost_is_what_is_known_by_its_number_or_counted_as_unreadable(
    change: dict[str, Any], rebuilt: int, dropped: int, lost: int, lost_ids: tuple[int, ...]
) -> None:
    primary = apsw.Connection("")
    primary.execute("CREATE TABLE events (id INTEGER PRIMARY KEY); INSERT INTO events VALUES (1), (100)")
    table = CopiedTable("events", 2, 0, 0, {}, is_count_known=True, problems=())._replace(**change)
    report = _reported(primary, table, rebuilt, dropped)
    assert report == TableReport("events", 2, rebuilt, lost, lost_ids, is_count_known=True, problems=())


def test_no_copy_is_written_through_a_link(loaded: Location, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (Path(loaded.folder) / "backups").symlink_to(elsewhere)
    with pytest.raises(CtxrankError, match="is a link"):
        new_backup_folder(loaded)
    assert list(elsewhere.iterdir()) == []

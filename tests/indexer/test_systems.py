"""Both branches of what differs between Linux and macOS, on whichever of them the tests run."""

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from builders import always

from ctxrank.indexer import systems
from ctxrank.indexer.store.connection import open_database
from ctxrank.indexer.systems import cores, file_system_of, keep_for_next_process, sync, sync_to_the_disk

LINUX = """1 0 8:1 / / rw - ext4 /dev/sda rw
2 1 0:4 / {home} rw,relatime shared:3 - nfs4 server:/data rw
3 1 0:5 / {home}/my\\040disk rw - xfs /dev/sdb rw
"""
MACOS = """/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
//me@server/share on {home} (smbfs, nodev, nosuid, mounted by me)
/dev/disk4s1 on {home}/my disk (apfs, local, nodev)
"""


@pytest.mark.parametrize(
    "is_macos, mounts, expected", [(False, LINUX, ("nfs4", "xfs", "ext4")), (True, MACOS, ("smbfs", "apfs", "apfs"))]
)
def test_the_file_system_of_a_folder_is_that_of_the_nearest_mount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_macos: bool, mounts: str, expected: tuple[str, ...]
) -> None:
    (tmp_path / "my disk").mkdir()
    monkeypatch.setattr(systems, "_mounts", always(mounts.format(home=tmp_path)))
    folders = (str(tmp_path), str(tmp_path / "my disk"), "/")
    assert tuple(file_system_of(folder, is_macos=is_macos) for folder in folders) == expected
    monkeypatch.setattr(systems, "_mounts", always("nothing that one can read\n"))
    assert file_system_of("/", is_macos=is_macos) == ""


def test_a_mount_may_have_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("größe", "\udcff", "a\u2028b", "a\xa0b\tc")
    lines = [f"{number} 1 0:4 / /{name} rw - nfs{number} server:/ rw" for number, name in enumerate(names)]
    mounts = "9 0 8:1 / / rw - ext4 /dev/sda rw\n" + "\n".join(lines).replace("\t", "\\011")
    monkeypatch.setattr(systems, "_mounts", always(mounts))
    found = [file_system_of(f"/{name}/x", is_macos=False) for name in names]
    assert found == ["nfs0", "nfs1", "nfs2", "nfs3"]


def test_what_cannot_be_kept_whole_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "the disk is full")

    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "kept"
    keep_for_next_process(str(path), b"whole")
    with monkeypatch.context() as patch:
        patch.setattr(systems, "sync", full)
        keep_for_next_process(str(path), b"another")
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("kept", b"whole")]


def test_a_system_that_lists_no_mounts_is_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(systems, "_MOUNTS", str(tmp_path / "none"))
    monkeypatch.setattr(systems, "_MOUNT_COMMAND", (str(tmp_path / "none"),))
    assert file_system_of("/", is_macos=False) == ""
    assert file_system_of("/", is_macos=True) == ""


def test_macos_is_asked_by_its_own_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systems, "_MOUNT_COMMAND", ("printf", "%s", MACOS.format(home="/nowhere")))
    assert file_system_of("/", is_macos=True) == "apfs"


@pytest.mark.parametrize("is_macos", [False, True])
def test_macos_alone_asks_the_drive_to_write(is_macos: bool) -> None:
    connection = apsw.Connection(":memory:")
    sync_to_the_disk(connection, is_macos=is_macos)
    assert connection.pragma("fullfsync") == connection.pragma("checkpoint_fullfsync") == int(is_macos)


def test_a_store_on_another_system_asks_what_that_system_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[apsw.Connection] = []
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(systems, "sync_to_the_disk", asked.append)
    opened = open_database(str(tmp_path / "ctxrank.db"), busy_ms=0, create=True)
    opened.close()
    assert asked == [opened]


@pytest.mark.parametrize("knows_full_sync", [True, False])
def test_a_file_is_synced_by_the_strongest_call_that_its_file_system_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, knows_full_sync: bool
) -> None:
    calls: list[str] = []

    def full_sync(_descriptor: int, command: int) -> int:
        calls.append(f"fcntl {command}")
        if not knows_full_sync:
            raise OSError("not supported")
        return 0

    def plain(_descriptor: int) -> None:
        calls.append("fsync")

    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", full_sync)
    monkeypatch.setattr(os, "fsync", plain)
    sync(0)
    assert calls == (["fcntl 51"] if knows_full_sync else ["fcntl 51", "fsync"])


def _two_cores(_process: int) -> set[int]:
    return {0, 3}


def test_cores_are_those_that_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", _two_cores, raising=False)
    assert cores() == 2
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert cores() == 8


def test_the_list_of_mounts_is_read_without_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "run", never)
    file_system_of("/", is_macos=False)

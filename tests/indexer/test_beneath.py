"""Opening files beneath a root: regular files alone, without waiting, and no more bytes than were asked for."""

import errno
import hashlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxrank.indexer.beneath import Root, read_beneath, sha256_beneath


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_bytes(b"one")
    (tmp_path / "docs/b.md").write_bytes(b"two")
    (tmp_path / "c.md").write_bytes(b"three")
    with Root(str(tmp_path)) as opened:
        yield opened


def open_descriptors() -> int:
    """How many descriptors this process has."""
    return len(os.listdir("/proc/self/fd"))


def test_files_of_several_folders_are_read_in_any_order(root: Root) -> None:
    paths = ["docs/a.md", "docs/b.md", "c.md", "docs/a.md"]
    assert [root.read(path, 100) for path in paths] == [b"one", b"two", b"three", b"one"]


def test_the_last_folder_is_held_and_nothing_else_and_closing_lets_it_go(tmp_path: Path, root: Root) -> None:
    before = open_descriptors()
    for path in ("docs/a.md", "c.md", "docs/b.md"):
        root.read(path, 100)
        assert open_descriptors() == before + 1
    root.close()
    assert open_descriptors() == before
    assert root.read("c.md", 100) == b"three"


def test_a_folder_that_is_held_is_the_same_whatever_takes_its_name(tmp_path: Path, root: Root) -> None:
    root.read("docs/a.md", 100)
    (tmp_path / "docs").rename(tmp_path / "old")
    (tmp_path / "docs").symlink_to("/etc")
    assert root.read("docs/b.md", 100) == b"two"


def test_what_is_no_regular_file_is_refused_at_once(
    tmp_path: Path, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for path in ("pipe", "socket", "docs"):
            before = open_descriptors()
            with pytest.raises(OSError) as error:
                root.open(path)
            assert error.value.errno == errno.ENXIO, path
            assert open_descriptors() <= before + 1


def test_a_link_is_followed_only_where_that_is_asked_for(tmp_path: Path, root: Root) -> None:
    (tmp_path / "link.md").symlink_to("docs/a.md")
    with pytest.raises(OSError) as error:
        root.open("link.md")
    assert error.value.errno == errno.ELOOP
    assert root.read("link.md", 100, follow_link=True) == b"one"


def test_no_more_is_read_than_the_reader_takes(tmp_path: Path) -> None:
    (tmp_path / "full.md").write_bytes(b"x" * 5000)
    assert read_beneath(str(tmp_path), "full.md", 5000) == b"x" * 5000
    with pytest.raises(OSError) as error:
        read_beneath(str(tmp_path), "full.md", 4999)
    assert error.value.errno == errno.EFBIG


def test_a_file_of_which_the_stat_says_nothing_is_read_to_its_end() -> None:
    assert b"pid" in read_beneath("/proc/self", "status", 1_000_000).lower()


def test_what_is_not_there_is_an_error_of_the_system(root: Root) -> None:
    for path in ("gone.md", "gone/a.md", "c.md/a.md"):
        with pytest.raises((FileNotFoundError, NotADirectoryError)):
            root.open(path)


@pytest.mark.usefixtures("root")
def test_a_hash_is_of_all_bytes_of_a_regular_file(tmp_path: Path) -> None:
    (tmp_path / "link.md").symlink_to("docs/a.md")
    for path in ("docs/a.md", "link.md"):
        assert sha256_beneath(str(tmp_path), path) == hashlib.sha256(b"one").hexdigest()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError):
        sha256_beneath(str(tmp_path), "pipe")

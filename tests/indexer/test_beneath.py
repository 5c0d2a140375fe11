"""Opening files beneath a root: regular files alone, without waiting, and no more bytes than were asked for."""

import errno
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxrank.indexer.beneath import Root, read_beneath, read_file, real_path


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


def test_the_way_to_the_last_folder_is_held_and_nothing_else_and_closing_lets_it_go(tmp_path: Path, root: Root) -> None:
    before = open_descriptors()
    for path, held in (("docs/a.md", 2), ("c.md", 1), ("docs/b.md", 2)):
        root.read(path, 100)
        assert open_descriptors() == before + held
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


LINKS = (
    # (link, what it holds, the path that is asked for): all of them stay inside
    ("beside", "docs", "beside/a.md"),
    ("deep/er/up", "../../docs", "deep/er/up/a.md"),
    ("one", "two", "one/a.md"),
    ("docs/self", "../docs/./", "docs/self/self/a.md"),
    ("a.md", "docs/a.md", "a.md"),
    ("deep/a.md", "../docs//a.md", "deep/a.md"),
    ("deep/er/a.md", "../a.md", "deep/er/a.md"),
    ("whole", "{root}/docs", "whole/a.md"),
    ("whole.md", "{root}/docs/../docs/a.md", "whole.md"),
)


def test_a_link_that_stays_inside_is_followed_wherever_it_stands(tmp_path: Path, root: Root) -> None:
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "two").symlink_to("docs")
    for link, target, _ in LINKS:
        (tmp_path / link).symlink_to(target.format(root=tmp_path))
    for _, _, path in LINKS:
        assert root.read(path, 100, follow_link=True) == b"one", path
        assert root.read("docs/b.md", 100) == b"two"


def test_a_link_that_leaves_the_root_is_refused_wherever_it_leads(tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "docs").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a.md").write_text("outside")
    for name, target in {
        "up": "..", "beside": "../outside", "round": "docs/../../outside", "back": f"../{top.name}/docs",
        "whole": str(tmp_path / "outside"), "dotted": f"{top}/../outside", "system": "/etc",
    }.items():  # fmt: skip
        (top / name).symlink_to(target)
        (top / f"{name}.md").symlink_to(f"{target}/a.md")
    with Root(str(top)) as root:
        names = ["up/outside", "beside", "round", "back", "whole", "dotted", "system", "../outside", "docs/../.."]
        for path in [*(f"{name}/a.md" for name in names), *(f"{name}.md" for name in ("up", "beside", "whole"))]:
            with pytest.raises(OSError) as error:
                root.open(path, follow_link=True)
            assert error.value.errno == errno.EXDEV, path
        with pytest.raises(OSError):
            root.open(str(tmp_path / "outside/a.md"))
        with pytest.raises(OSError):
            root.open("..", follow_link=True)


def test_links_in_a_circle_end(tmp_path: Path, root: Root) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "down").symlink_to("down/down")
    for path in ("a", "a/x.md", "down/x.md"):
        with pytest.raises(OSError) as error:
            root.open(path, follow_link=True)
        assert error.value.errno == errno.ELOOP, path


def test_as_many_links_are_followed_as_the_reader_takes(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"{number + 1}.md").symlink_to(f"{number}.md")
    (tmp_path / "0.md").write_text("one")
    with Root(str(tmp_path), max_links=3) as root:
        assert [root.read(f"{number}.md", 100, follow_link=True) for number in (3, 1, 3)] == [b"one"] * 3
        with pytest.raises(OSError) as error:
            root.open("4.md", follow_link=True)
        assert error.value.errno == errno.ELOOP


def test_a_root_without_links_follows_none(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("one")
    (tmp_path / "link").symlink_to("docs")
    with Root(str(tmp_path), max_links=0) as root, pytest.raises(OSError) as error:
        root.open("link/a.md")
    assert error.value.errno == errno.ELOOP


def test_a_deep_tree_holds_few_descriptors_and_is_read_in_any_order(tmp_path: Path) -> None:
    deep = "/".join(["d"] * 300)
    os.makedirs(tmp_path / deep)
    folders = ["/".join(["d"] * depth) for depth in (300, 299, 150, 151, 1, 300)]
    for folder in set(folders):
        (tmp_path / folder / "a.md").write_text(str(folder.count("d")))
    (tmp_path / deep / "up").symlink_to("../" * 200)
    before = open_descriptors()
    with Root(str(tmp_path)) as root:
        for folder in folders:
            assert root.read(f"{folder}/a.md", 100) == str(folder.count("d")).encode()
            assert open_descriptors() <= before + 40
        (tmp_path / "/".join(["d"] * 100) / "a.md").write_text("up there")
        assert root.read(f"{deep}/up/a.md", 100) == b"up there"


def test_a_folder_exchanged_with_a_link_at_the_last_moment_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top, outside = tmp_path / "top", tmp_path / "outside"
    for folder in (top / "docs", outside):
        folder.mkdir(parents=True)
        (folder / "a.md").write_text("the word zorblax" if folder == outside else "one")
    system_open = os.open

    def exchange(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "docs" and not (top / "docs").is_symlink():
            (top / "docs").rename(top / "old")
            (top / "docs").symlink_to(outside)
        return system_open(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", exchange)
    with pytest.raises(OSError) as error:
        read_beneath(str(top), "docs/a.md", 100)
    assert error.value.errno == errno.EXDEV


def test_a_large_sparse_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(10 * 1024**3)
    started = time.monotonic()
    with pytest.raises(OSError) as error:
        read_beneath(str(tmp_path), "sparse", 100)
    assert error.value.errno == errno.EFBIG
    assert time.monotonic() - started < 1


def test_a_file_of_the_users_own_may_be_a_link_and_must_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert read_file(str(tmp_path / "link"), 3) == b"one"
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(OSError) as error:
            read_file(str(path), 100)
        assert error.value.errno == errno.ENXIO


def test_a_link_that_becomes_a_folder_while_its_place_is_asked_for_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "link").symlink_to("docs")
    find, failures = os.path.realpath, [OSError(errno.EINVAL, "Invalid argument")] * 3

    def exchanged(path: str) -> str:
        if failures:
            raise failures.pop()  # as Python 3.11 does; since 3.13 it takes the name for no link
        return find(path)

    monkeypatch.setattr(os.path, "realpath", exchanged)
    assert real_path(str(tmp_path / "link" / "a.md")) == find(tmp_path / "docs" / "a.md")
    assert not failures

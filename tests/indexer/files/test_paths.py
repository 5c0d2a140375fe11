"""Which paths name a file in a store, and what a stat proves of one."""

import os
from pathlib import Path

import pytest
from tables import each_row

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.files.paths import MAX_PATH_BYTES, contained_path, portable_path, unmistakable
from ctxrank.indexer.files.stamps import FileStamp, FoundFile, compare_stats

_LONG = "a" * 200


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with a folder, a link that stays inside and two that leave."""
    folder = tmp_path / "root"
    (folder / "in").mkdir(parents=True)
    (folder / "to_in").symlink_to(folder / "in")
    (folder / "out").symlink_to(tmp_path)
    (folder / "self").symlink_to(folder)
    return folder


@each_row(
    "path, kept",
    [
        ("a.md", "a.md"),
        ("in/../a.md", "a.md"),
        ("./in//b.md", "in/b.md"),
        ("in\\c.md", "in/c.md"),
        ("é.md", "é.md"),
        ("to_in/x.md", "to_in/x.md"),
        ("not/there.md", "not/there.md"),
        ("..a/b", "..a/b"),
        *((wrong, None) for wrong in ("", " ", ".", "..", "../a", "in/../../a", "out/x.md", "out", "self", "self/..")),
        *((wrong, None) for wrong in ("/a.md", "C:/a.md", "\\a", "a:/b", "a\nb", "a\u200bb")),
    ],
)
def test_a_path_names_a_file_below_the_root_or_is_refused(root: Path, path: str, kept: str | None) -> None:
    if kept is None:
        with pytest.raises(UsageError) as refused:
            contained_path(str(root), path)
        assert refused.value.hint
    else:
        assert contained_path(str(root), path) == kept


@each_row("path", ["a.md", "in/../a.md", "..a", "a/b\\c", "é", "out/x.md", f"{_LONG}/" * 20 + "a" * 76])
def test_a_path_of_another_store_stays_as_it_is(path: str) -> None:
    assert portable_path(path) == path


@each_row(
    "path, said",
    [
        ("", "empty"),
        (" ", "empty"),
        ("/etc/x", "absolute"),
        ("C:/x", "absolute"),
        ("c:\\x", "absolute"),
        ("\\x", "absolute"),
        ("../x", "leads out"),
        ("a/../../x", "leads out"),
        (".", "leads out"),
        ("a/..", "leads out"),
        ("a\tb", "one line"),
        (f"{_LONG}/" * 20 + "a" * 77, "longer than 4,096 bytes"),
        ("é" * 2049, "longer than 4,096 bytes"),
    ],
)
def test_a_path_of_another_store_that_names_no_file_is_refused(path: str, said: str) -> None:
    assert os.pathconf("/", "PC_PATH_MAX") == MAX_PATH_BYTES
    with pytest.raises(UsageError, match=said):
        portable_path(path)


def test_what_no_output_shows_is_written_as_escapes() -> None:
    assert unmistakable("a\u200bé\n") == r"a\u200bé\n"


_READ_AT = 1_700_000_000_000_000  # microseconds
_FILE = FoundFile("a.md", 10, (_READ_AT - 5_000_000) * 1000 + 1, 7)


@each_row(
    "now, is_same",
    [
        (_FILE, True),
        (_FILE._replace(path="b.md"), True),
        (_FILE._replace(size_bytes=11), False),
        (_FILE._replace(mtime_ns=_FILE.mtime_ns + 1), False),
        (_FILE._replace(inode=8), False),
    ],
)
def test_a_file_is_unchanged_where_size_time_and_inode_are(now: FoundFile, is_same: bool) -> None:
    assert _FILE.stamp(_READ_AT).proves(now) is is_same
    assert not _FILE.stamp().proves(now)  # it was never read


@each_row(
    "mtime_ns, before_us, is_proof",
    [
        (1_000_000_001, 20_000, False),
        (1_000_000_001, 20_001, True),
        (1_000_000_000, 2_000_000, False),
        (1_000_000_000, 2_000_001, True),
        (999_999_999, 20_000, False),
        (999_999_999, 20_001, True),
    ],
)
def test_a_file_that_was_read_within_a_tick_of_the_clock_may_have_changed(
    mtime_ns: int, before_us: int, is_proof: bool
) -> None:
    stamp = FileStamp(1, mtime_ns, 1, mtime_ns // 1000 + before_us)
    assert stamp.proves(stamp) is is_proof


def test_what_a_walk_found_is_read_unchanged_or_not_there() -> None:
    found = [_FILE._replace(path=name) for name in ("new", "same", "changed")]
    known = {"same": 1, "changed": 2, "gone": 3}
    to_read, unchanged, gone = compare_stats(found, known, lambda _, before: before == 1)
    assert to_read == [(found[0], None), (found[2], 2)]
    assert unchanged == [(found[1], 1)] and gone == {"gone": 3} and len(known) == 3
    assert _FILE.stamp(5)._asdict() == {"size_bytes": 10, "mtime_ns": _FILE.mtime_ns, "inode": 7, "read_at": 5}

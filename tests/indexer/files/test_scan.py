"""Indexing a tree again and again: what is read, what is written, and what is no longer found."""

import contextlib
import errno
import os
import random
import shutil
import string
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from unittest.mock import Mock

import pytest
from builders import make_store

from ctxrank.indexer.beneath import Root
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.files import artifacts, scan
from ctxrank.indexer.files.artifacts import StoredText
from ctxrank.indexer.files.changes import compare
from ctxrank.indexer.files.paths import MAX_PATH_BYTES, SECRET, UNSHOWN, contained_path, portable_path
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.files.walk import LINK_OUT, Skipped, Unreadable
from ctxrank.indexer.fulltext.background import background_indexer
from ctxrank.indexer.fulltext.fts5_engine import index_of
from ctxrank.indexer.opening import create_store, open_store
from ctxrank.indexer.records.packages import NewPackage, save_package
from ctxrank.indexer.store.allowed_roots import allow
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.vocabulary import ENCODING, local_counter

as_plain_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")

LONG_AGO_NS = 1_600_000_000_123_456_789


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store whose root is the test's folder."""
    with make_store(tmp_path) as opened:
        yield opened


def put(root: Path, path: str, text: str | bytes, mtime_ns: int = LONG_AGO_NS) -> Path:
    """Make a file that was last written long ago, with the folders it needs."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    os.utime(file, ns=(mtime_ns, mtime_ns))
    return file


def save(store: Store, path: str) -> int:
    """Save a package that points to a file; returns its id."""
    new = NewPackage("s1", None, "research", path, "developer", "what the summary says")
    return save_package(store, new, create_session=True).id


def finds(store: Store, word: str) -> int:
    """How many documents of the index hold a word."""
    assert store.catch_up() == 0
    query = "SELECT count(*) FROM main.fts WHERE fts MATCH ?"
    (count,) = index_of(store).connection.execute(query, (word,)).fetchone() or (None,)
    return int(count or 0)


def rows(store: Store, query: str) -> list[tuple[object, ...]]:
    """What the primary database answers."""
    return list(store.primary.execute(query))


def test_a_new_file_is_added_and_found(store: Store, tmp_path: Path) -> None:
    put(tmp_path, "notes/auth.md", "# Tokens\n\nThey expire.\n")
    report = index_artifacts(store)
    assert report.added == ("notes/auth.md",)
    assert (report.passages_written, report.files_read) == (1, 1)
    assert finds(store, "expire") == 1


def test_an_unchanged_tree_is_not_read_again(store: Store, tmp_path: Path) -> None:
    put(tmp_path, "a.md", "one")
    put(tmp_path, "b.md", "two")
    index_artifacts(store)
    before = rows(store, "SELECT * FROM documents, store")
    report = index_artifacts(store)
    assert (report.unchanged, report.files_read, report.added, report.changed) == (2, 0, (), ())
    assert rows(store, "SELECT * FROM documents, store") == before


def test_a_touched_file_is_unchanged_and_is_read_once(store: Store, tmp_path: Path) -> None:
    file = put(tmp_path, "a.md", "one")
    index_artifacts(store)
    os.utime(file, ns=(LONG_AGO_NS + 1, LONG_AGO_NS + 1))
    seq = rows(store, "SELECT seq FROM store")
    assert [index_artifacts(store).files_read for _ in range(2)] == [1, 0]
    assert index_artifacts(store).unchanged == 1
    assert rows(store, "SELECT seq FROM store") == seq


def test_a_changed_file_loses_its_old_words(store: Store, tmp_path: Path) -> None:
    put(tmp_path, "a.md", "the zebra")
    index_artifacts(store)
    put(tmp_path, "a.md", "the giraffe", LONG_AGO_NS + 1)
    report = index_artifacts(store)
    assert (report.changed, report.added, report.unchanged) == (("a.md",), (), 0)
    assert (finds(store, "zebra"), finds(store, "giraffe")) == (0, 1)


def test_an_edit_feeds_only_the_passage_it_touched(store: Store, tmp_path: Path) -> None:
    sections = [f"# Part {name}\n\n" + f"{name} stays as it is.\n" * 70 for name in ("one", "two", "three")]
    put(tmp_path, "a.md", "".join(sections))
    index_artifacts(store)
    query = "SELECT passage_key, seq FROM documents WHERE kind = 'passage'"
    before = set(rows(store, query))
    sections[1] = sections[1].replace("two", "zwei", 1)
    put(tmp_path, "a.md", "".join(sections), LONG_AGO_NS + 1)
    report = index_artifacts(store)
    after = set(rows(store, query))
    assert len(before) == len(after) == 3
    assert report.passages_written == len(after - before) == 1


def test_lines_that_moved_are_known_without_a_change_of_the_feed(store: Store, tmp_path: Path) -> None:
    sections = [f"# Part {name}\n\n" + f"{name} stays as it is.\n" * 70 for name in ("one", "two")]
    put(tmp_path, "a.md", "".join(sections))
    index_artifacts(store)
    put(tmp_path, "a.md", "New.\n\n" + "".join(sections), LONG_AGO_NS + 1)
    assert index_artifacts(store).passages_written == 1
    assert rows(store, "SELECT start_line FROM documents WHERE kind = 'passage' ORDER BY 1") == [(1,), (3,), (75,)]


def test_a_deleted_file_leaves_no_ghost(store: Store, tmp_path: Path) -> None:
    file = put(tmp_path, "a.md", "the zebra")
    put(tmp_path, "b.md", "the giraffe")
    index_artifacts(store)
    assert finds(store, "zebra") == 1
    file.unlink()
    report = index_artifacts(store)
    assert (report.removed, report.unchanged) == (("a.md",), 1)
    assert finds(store, "zebra") == 0
    assert rows(store, "SELECT path FROM artifacts") == [("b.md",)]
    assert index_artifacts(store).removed == ()


def test_a_renamed_file_keeps_its_identity(store: Store, tmp_path: Path) -> None:
    file = put(tmp_path, "old.md", "the zebra")
    index_artifacts(store)
    before = rows(store, "SELECT id FROM artifacts") + rows(store, "SELECT id FROM documents")
    (tmp_path / "new").mkdir()
    file.rename(tmp_path / "new/name.md")
    report = index_artifacts(store)
    assert (report.moved, report.added, report.removed) == ((("old.md", "new/name.md"),), (), ())
    assert rows(store, "SELECT id FROM artifacts") + rows(store, "SELECT id FROM documents") == before
    assert rows(store, "SELECT DISTINCT path FROM documents") == [("new/name.md",)]
    assert (finds(store, "path:old"), finds(store, "path:name AND body:zebra")) == (0, 1)


def test_a_package_follows_its_renamed_file(store: Store, tmp_path: Path) -> None:
    file = put(tmp_path, "old.txt", "the zebra")
    package = save(store, "old.txt")
    file.rename(tmp_path / "new.txt")
    assert index_artifacts(store).moved == (("old.txt", "new.txt"),)
    assert rows(store, "SELECT id, path FROM packages") == [(package, "new.txt")]
    assert rows(store, "SELECT kind, title, path FROM documents ORDER BY kind") == [
        ("package", "new.txt", "new.txt"),
        ("passage", "", "new.txt"),
    ]
    assert finds(store, "old") == 0


def test_a_copy_is_no_move(store: Store, tmp_path: Path) -> None:
    put(tmp_path, "a.md", "the zebra")
    index_artifacts(store)
    put(tmp_path, "b.md", "the zebra")
    report = index_artifacts(store)
    assert (report.added, report.moved) == (("b.md",), ())
    assert finds(store, "body:zebra") == 2


def test_of_two_equal_files_the_one_of_the_same_name_has_moved(store: Store, tmp_path: Path) -> None:
    for path in ("a/one.md", "a/two.md"):
        put(tmp_path, path, "the zebra")
    index_artifacts(store)
    put(tmp_path, "b/two.md", "the zebra")  # while both are there: it has the inode of neither
    for path in ("a/one.md", "a/two.md"):
        (tmp_path / path).unlink()
    report = index_artifacts(store)
    assert (report.moved, report.removed) == ((("a/two.md", "b/two.md"),), ("a/one.md",))


def test_what_an_ignore_file_hides_is_not_indexed(store: Store, tmp_path: Path) -> None:
    put(tmp_path, "a.md", "the zebra")
    put(tmp_path, "build/b.md", "the giraffe")
    put(tmp_path, ".gitignore", "build/\n")
    assert index_artifacts(store).added == (".gitignore", "a.md")
    put(tmp_path, ".ctxrankignore", "a.md\n")
    assert index_artifacts(store).removed == ("a.md",)
    assert finds(store, "zebra") == 0


def test_a_file_that_a_package_points_to_is_followed_into_an_ignored_folder(store: Store, tmp_path: Path) -> None:
    put(tmp_path, ".gitignore", "artifacts/\n")
    put(tmp_path, "artifacts/a.md", "the zebra")
    put(tmp_path, "artifacts/other.md", "the gnu")
    save(store, "artifacts/a.md")
    put(tmp_path, "artifacts/a.md", "the giraffe", LONG_AGO_NS + 1)
    report = index_artifacts(store)
    assert (report.changed, report.added) == (("artifacts/a.md",), (".gitignore",))
    assert (finds(store, "zebra"), finds(store, "giraffe"), finds(store, "gnu")) == (0, 1, 0)
    (tmp_path / "artifacts/a.md").unlink()
    assert index_artifacts(store).removed == ("artifacts/a.md",)


def test_a_package_outlives_its_file_and_gets_it_back(store: Store, tmp_path: Path) -> None:
    file = put(tmp_path, "a.md", "the zebra")
    save(store, "a.md")
    file.unlink()
    assert index_artifacts(store).removed == ("a.md",)
    assert (finds(store, "zebra"), finds(store, "summary")) == (0, 1)
    assert index_artifacts(store).removed == ()
    put(tmp_path, "a.md", "the zebra is back")
    assert index_artifacts(store).added == ("a.md",)
    assert rows(store, "SELECT o.kind FROM documents d JOIN documents o ON o.id = d.owner_id") == [("package",)]


def test_a_package_that_was_saved_before_its_file_gets_it_later(store: Store, tmp_path: Path) -> None:
    put(tmp_path, ".ctxrankignore", "late.md\n")
    save(store, "late.md")
    put(tmp_path, "late.md", "the zebra")
    assert "late.md" in index_artifacts(store).added
    assert rows(store, "SELECT o.kind FROM documents d JOIN documents o ON o.id = d.owner_id WHERE d.path = 'late.md'")
    assert rows(store, "SELECT count(*) FROM documents WHERE kind = 'artifact' AND path = 'late.md'") == [(0,)]
    assert index_artifacts(store).files_read == 0


def test_a_link_out_of_the_root_is_not_followed(tmp_path: Path) -> None:
    put(tmp_path, "outside/secret.md", "the zebra")
    (tmp_path / "root").mkdir()
    (tmp_path / "root/link.md").symlink_to(tmp_path / "outside/secret.md")
    (tmp_path / "root/folder").symlink_to(tmp_path / "outside")
    with make_store(tmp_path / "root") as store:
        report = index_artifacts(store)
        assert report.added == ()
        assert dict(report.skipped) == {"link.md": LINK_OUT, "folder": LINK_OUT}


def test_a_package_is_not_followed_through_a_folder_that_became_a_link_out(tmp_path: Path) -> None:
    put(tmp_path, "outside/a.md", "the giraffe")
    put(tmp_path, "root/notes/a.md", "the zebra")
    with make_store(tmp_path / "root") as store:
        save(store, "notes/a.md")
        (tmp_path / "root/notes").rename(tmp_path / "away")
        (tmp_path / "root/notes").symlink_to(tmp_path / "outside")
        for _ in range(2):
            assert dict(index_artifacts(store).skipped) == {"notes": LINK_OUT, "notes/a.md": LINK_OUT}
        assert (finds(store, "zebra"), finds(store, "giraffe"), finds(store, "summary")) == (0, 0, 1)


def test_a_root_that_is_away_turns_stale_and_loses_nothing(tmp_path: Path) -> None:
    put(tmp_path, "root/a.md", "the zebra")
    with create_store(str(tmp_path), root=str(tmp_path / "root")) as store:
        index_artifacts(store)
        (tmp_path / "root").rename(tmp_path / "away")
        report = index_artifacts(store)
        assert (report.stale_roots, report.removed) == ((str(tmp_path / "root"),), ())
        assert rows(store, "SELECT state FROM artifacts") == [("stale",)]
        assert finds(store, "zebra") == 1
        (tmp_path / "away").rename(tmp_path / "root")
        report = index_artifacts(store)
        assert (report.unchanged, report.files_read, report.stale_roots) == (1, 0, ())
        assert rows(store, "SELECT state, reason FROM artifacts") == [("indexed", "")]


def test_other_roots_are_refreshed_but_not_searched(tmp_path: Path) -> None:
    other = tmp_path / "other"
    put(tmp_path, "project/mine.md", "the gnu")
    put(tmp_path, "other/a.md", "the zebra")
    with create_store(str(tmp_path / "project"), root=str(other)) as store:
        index_artifacts(store)
    put(tmp_path, "other/a.md", "the giraffe", LONG_AGO_NS + 1)
    put(tmp_path, "other/new.md", "the okapi")
    with make_store(tmp_path / "project") as store:
        allow(store.location, store.primary, str(other))
        report = index_artifacts(store)
        assert (report.changed, report.added) == ((str(other / "a.md"),), ("mine.md",))
        assert (finds(store, "zebra"), finds(store, "giraffe"), finds(store, "okapi")) == (0, 1, 0)


@as_plain_user
def test_what_lies_in_an_unreadable_folder_is_kept(store: Store, tmp_path: Path) -> None:
    put(tmp_path, "shut/a.md", "the zebra")
    index_artifacts(store)
    (tmp_path / "shut").chmod(0)
    try:
        report = index_artifacts(store)
    finally:
        (tmp_path / "shut").chmod(0o700)
    assert (report.removed, dict(report.skipped)["shut/a.md"]) == ((), "Permission denied")
    assert finds(store, "zebra") == 1
    assert index_artifacts(store).unchanged == 1


@as_plain_user
def test_an_unreadable_file_is_indexed_once_it_can_be_read(store: Store, tmp_path: Path) -> None:
    file = put(tmp_path, "a.md", "the zebra")
    file.chmod(0)
    assert index_artifacts(store).skipped == (("a.md", "permission denied"),)
    file.chmod(0o600)
    assert index_artifacts(store).added == ("a.md",)


def test_an_edit_of_the_same_size_in_the_same_tick_is_noticed(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("the zebra")
    info = file.stat()
    index_artifacts(store)
    file.write_text("the okapi")
    os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert index_artifacts(store).changed == ("a.md",)
    assert (finds(store, "zebra"), finds(store, "okapi")) == (0, 1)


def test_a_file_system_without_parts_of_a_second_has_a_longer_tick(store: Store, tmp_path: Path) -> None:
    second_ns = 1_000_000_000
    file = put(tmp_path, "a.md", "the zebra")
    now_ns = (tmp_path / ".ctxrank").stat().st_mtime_ns // second_ns * second_ns
    os.utime(file, ns=(now_ns, now_ns))
    index_artifacts(store)
    put(tmp_path, "a.md", "the okapi", now_ns)
    assert index_artifacts(store).changed == ("a.md",)


def test_a_binary_file_is_named_and_read_only_once(store: Store, tmp_path: Path) -> None:
    put(tmp_path, "a.bin", b"\0\1\2")
    reports = [index_artifacts(store) for _ in range(2)]
    assert [report.skipped for report in reports] == [(("a.bin", "binary"),)] * 2
    assert [report.files_read for report in reports] == [1, 0]
    put(tmp_path, "a.bin", "a text now", LONG_AGO_NS + 1)
    assert index_artifacts(store).added == ("a.bin",)


def test_a_file_that_became_binary_is_no_longer_found(store: Store, tmp_path: Path) -> None:
    put(tmp_path, "a.md", "the zebra")
    index_artifacts(store)
    put(tmp_path, "a.md", b"\0zebra", LONG_AGO_NS + 1)
    report = index_artifacts(store)
    assert (report.skipped, report.removed) == ((("a.md", "binary"),), ())
    assert finds(store, "zebra") == 0


def test_a_file_that_became_a_link_is_no_longer_found(store: Store, tmp_path: Path) -> None:
    file = put(tmp_path, "a.md", "the zebra")
    index_artifacts(store)
    file.unlink()
    file.symlink_to(tmp_path / "nowhere.md")
    for _ in range(2):
        assert index_artifacts(store).skipped == (("a.md", "a link to nothing"),)
    assert finds(store, "zebra") == 0
    file.unlink()
    put(tmp_path, "a.md", "the zebra")
    assert index_artifacts(store).added == ("a.md",)


@pytest.mark.parametrize("shut", [".", "a", "a/b"])
def test_what_lies_below_what_cannot_be_looked_into_is_not_gone(store: Store, tmp_path: Path, shut: str) -> None:
    paths = ("a/b/c.md", "a/d.md", "e.md", "ab/f.md")
    for path in paths:
        put(tmp_path, path, "the zebra")
    index_artifacts(store)
    known = artifacts.known_artifacts(store.primary, 1)
    for entry, gone in (
        (Unreadable(shut, "no"), [path for path in paths if shut != "." and not path.startswith(f"{shut}/")]),
        (Skipped(shut, "no"), [*paths]),
    ):
        changes = compare(str(tmp_path), [entry], known, followed=set())
        assert sorted(one.path for one in changes.gone) == sorted(gone)
        assert changes.skipped == [Skipped(shut, "no")] and not changes.marks


def test_of_what_can_no_longer_be_read_only_what_was_read_turns_stale(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "a.md", "the zebra")
    put(tmp_path, "b.bin", b"\0\1")
    index_artifacts(store)
    put(tmp_path, "new.md", "the walrus")
    for name in ("a.md", "b.bin"):
        put(tmp_path, name, "another text", LONG_AGO_NS + 1)
    monkeypatch.setattr(Root, "open", Mock(side_effect=PermissionError(errno.EACCES, "no")))
    for _ in range(2):
        report = index_artifacts(store)
        assert report.skipped == tuple((name, "permission denied") for name in ("a.md", "b.bin", "new.md"))
        rows = store.primary.execute("SELECT path, state FROM artifacts ORDER BY path").fetchall()
        assert rows == [("a.md", "stale"), ("b.bin", "skipped")]
    monkeypatch.undo()
    report = index_artifacts(store)
    assert (report.added, report.changed) == (("b.bin", "new.md"), ("a.md",))


def test_an_older_ruleset_is_redacted_again(store: Store, tmp_path: Path) -> None:
    put(tmp_path, "a.md", "the zebra")
    index_artifacts(store)
    with store.write() as change:
        change.connection.execute("UPDATE artifacts SET ruleset = 1")
        change.connection.execute("UPDATE documents SET ruleset = 1")
    report = index_artifacts(store)
    assert (report.files_read, report.unchanged, report.changed) == (1, 1, ()), "no file of the user's has changed"
    assert rows(store, "SELECT min(ruleset) > 0 FROM documents") == [(1,)]
    assert index_artifacts(store).files_read == 0


def test_only_the_named_paths_are_looked_at(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [put(tmp_path, path, path) for path in ("docs/a.md", "docs/deep/b.md", "docs2/c.md", "d.md")]
    monkeypatch.chdir(tmp_path / "docs")
    assert index_artifacts(store, ["deep", ".", str(files[3])]).added == ("d.md", "docs/a.md", "docs/deep/b.md")
    for file in files:
        file.unlink()
    report = index_artifacts(store, ["."])
    assert (report.removed, report.skipped) == (("docs/a.md", "docs/deep/b.md"), ())


def test_the_work_of_many_named_paths_grows_as_their_number(store: Store, tmp_path: Path) -> None:
    """Each was compared with each file that is known: 4,000 took eight seconds."""

    def calls(count: int) -> int:
        paths = [str(put(tmp_path, f"docs/{number}.md", "text")) for number in range(count)]
        index_artifacts(store, paths)
        made = 0

        def called(_frame: FrameType, event: str, _arg: object) -> None:
            nonlocal made
            made += event == "call"

        sys.setprofile(called)
        try:
            assert index_artifacts(store, paths).unchanged == count
        finally:
            sys.setprofile(None)
        return made

    assert calls(320) < 5 * calls(80)


def test_a_file_moved_into_the_named_path_is_a_move(store: Store, tmp_path: Path) -> None:
    file = put(tmp_path, "a.md", "the zebra")
    index_artifacts(store)
    (tmp_path / "docs").mkdir()
    file.rename(tmp_path / "docs/b.md")
    assert index_artifacts(store, [str(tmp_path / "docs")]).moved == (("a.md", "docs/b.md"),)
    assert index_artifacts(store).unchanged == 1


def test_a_named_path_that_gives_nothing_says_why(store: Store, tmp_path: Path) -> None:
    put(tmp_path, ".gitignore", "hidden.md\n")
    put(tmp_path, "hidden.md", "the zebra")
    report = index_artifacts(store, [str(tmp_path / "absent.md"), str(tmp_path / "hidden.md")])
    assert dict(report.skipped) == {
        "absent.md": "No such file or directory",
        "hidden.md": "nothing to index: empty, or hidden by an ignore file",
    }


def test_a_path_outside_the_root_is_refused(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        index_artifacts(store, [str(tmp_path / "..")])
    assert "--root" in caught.value.hint


def test_a_root_may_be_named_through_a_link(tmp_path: Path) -> None:
    put(tmp_path, "root/docs/a.md", "the zebra")
    (tmp_path / "alias").symlink_to(tmp_path / "root")
    with make_store(tmp_path / "root") as store:
        assert index_artifacts(store, [str(tmp_path / "alias/docs")]).added == ("docs/a.md",)
        assert index_artifacts(store, [str(tmp_path / "alias")]).unchanged == 1


def test_an_interrupted_run_keeps_what_was_done(store: Store, tmp_path: Path) -> None:
    for number in range(450):
        put(tmp_path, f"{number:03}.md", f"file {number}")

    def interrupt(done: int, total: int) -> None:
        assert total == 450
        if done == 400:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index_artifacts(store, progress=interrupt)
    report = index_artifacts(store)
    assert (report.unchanged, len(report.added)) == (400, 50)
    assert finds(store, "file") == 450


@pytest.mark.slow
def test_an_interrupted_large_run_keeps_what_was_done(store: Store, tmp_path: Path) -> None:
    """The same where a second process follows."""
    for number in range(5):
        put(tmp_path, f"{number}.txt", f"file{number}\n" + "some words in a long line\n" * 40_000)

    def interrupt(done: int, total: int) -> None:
        if done == total - 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index_artifacts(store, progress=interrupt)
    report = index_artifacts(store)
    assert (report.unchanged, len(report.added)) == (4, 1)
    assert [finds(store, f"file{number}") for number in range(5)] == [1] * 5


def test_a_companion_follows(store: Store, tmp_path: Path) -> None:
    put(tmp_path, "a.md", "the zebra")
    index_artifacts(store)
    with store.write() as change:
        change.connection.execute("UPDATE documents SET seq = ? WHERE kind = 'passage'", (change.next_seq(),))
    with background_indexer(store) as other:
        if other is None:
            pytest.skip("there is one core alone")
        assert other()
    assert rows(store, "SELECT seq FROM store") == [(index_of(store).state().applied_seq,)]


def test_a_large_run_counts_as_it_writes_what_a_small_one_counts_at_its_end(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "a.md", "# Locks\n\nthe zebra waits\n")
    put(tmp_path, "b.py", "def wait_for_lock(): pass\n")
    counts = "SELECT title, body, tokens, token_counter FROM documents ORDER BY id"
    index_artifacts(store)
    small = rows(store, counts)
    monkeypatch.setattr(scan, "_LARGE_BYTES", 0)
    with create_store(str(tmp_path / "other"), root=str(tmp_path)) as other:
        index_artifacts(other, [str(tmp_path / "a.md"), str(tmp_path / "b.py")])
        assert rows(other, counts) == small


def test_a_second_process_is_told_in_portions_that_get_smaller(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        put(tmp_path, f"{number}.md", "the zebra waits\n")
    told: list[int] = []

    def tell() -> bool:
        told.append(len(rows(store, "SELECT id FROM artifacts")))
        return True

    def beside(_: Store) -> contextlib.nullcontext[Callable[[], bool]]:
        return contextlib.nullcontext(tell)

    monkeypatch.setattr(scan, "background_indexer", beside)
    monkeypatch.setattr(scan, "_LARGE_BYTES", 0)
    monkeypatch.setattr(scan, "_CHUNK_BYTES", 1)
    index_artifacts(store)
    assert told == [4, 6, 7, 8], "when as much was written as is still to be read"


def test_a_dry_run_reports_the_same_and_writes_nothing(store: Store, tmp_path: Path) -> None:
    moving = put(tmp_path, "moving.md", "the gnu")
    going = put(tmp_path, "going.md", "the okapi")
    put(tmp_path, "changing.md", "the zebra")
    index_artifacts(store)
    moving.rename(tmp_path / "moved.md")
    going.unlink()
    put(tmp_path, "changing.md", "the giraffe", LONG_AGO_NS + 1)
    put(tmp_path, "new.md", "the emu")
    put(tmp_path, "new.bin", b"\0")
    before = [rows(store, f"SELECT * FROM {table}") for table in ("documents", "artifacts", "tombstones", "store")]
    dry = index_artifacts(store, is_dry_run=True)
    after = [rows(store, f"SELECT * FROM {table}") for table in ("documents", "artifacts", "tombstones", "store")]
    assert after == before
    assert index_artifacts(store) == dry
    assert (dry.added, dry.changed, dry.moved, dry.removed) == (
        ("new.md",), ("changing.md",), (("moving.md", "moved.md"),), ("going.md",),
    )  # fmt: skip


def test_what_a_file_was_is_given_where_it_is_asked_for(store: Store, tmp_path: Path) -> None:
    for text, mtime_ns in (("old", LONG_AGO_NS), ("newer", LONG_AGO_NS + 1_000_000_000)):
        for path in ("a.md", "b.md"):
            put(tmp_path, path, f"# {text}\n", mtime_ns)
        was: dict[str, StoredText | None] = {"a.md": None}
        index_artifacts(store, stored=was)
    stamp = len("# old\n"), LONG_AGO_NS
    assert was == {
        "a.md": StoredText(stamp, "# old\n"),
        "b.md": StoredText(stamp, ""),
    }  # how large it was, of the other


def test_secrets_are_redacted_before_anything_is_stored(store: Store, tmp_path: Path) -> None:
    put(tmp_path, "a.md", 'password = "hunter2hunter2"\n')
    index_artifacts(store)
    assert finds(store, "hunter2hunter2") == 0
    assert rows(store, "SELECT count(*) FROM documents WHERE body LIKE '%hunter2%'") == [(0,)]


def test_a_file_that_was_replaced_is_read_though_size_and_time_are_the_same(store: Store, tmp_path: Path) -> None:
    put(tmp_path, "a.md", "the zebra")
    index_artifacts(store)
    put(tmp_path, "new", "the heron").rename(tmp_path / "a.md")
    assert index_artifacts(store).changed == ("a.md",)
    assert (finds(store, "zebra"), finds(store, "heron")) == (0, 1)


def test_a_file_that_was_away_and_comes_back_as_it_was_is_found_again(store: Store, tmp_path: Path) -> None:
    """A package keeps what is known of the file, also its stat."""
    file = put(tmp_path, "a.md", "the zebra")
    save(store, "a.md")
    index_artifacts(store)
    file.rename(tmp_path.parent / "away.md")
    assert index_artifacts(store).removed == ("a.md",)
    (tmp_path.parent / "away.md").rename(file)
    assert index_artifacts(store).added == ("a.md",) and finds(store, "zebra") == 1


@pytest.mark.slow
def test_nothing_outside_is_indexed_while_a_folder_is_exchanged_with_a_link_all_the_time(tmp_path: Path) -> None:
    top, outside, spare = tmp_path / "top", tmp_path / "outside", tmp_path / "spare"
    for number in range(40):
        put(top, f"docs/{number}.md", f"inside {number}")
        put(outside, f"{number}.md", f"zorblax {number}")
    (tmp_path / "link").symlink_to(outside)
    is_over = threading.Event()
    exchanges = 0

    def exchange() -> None:
        nonlocal exchanges
        while not is_over.is_set():
            os.rename(top / "docs", spare)
            os.rename(tmp_path / "link", top / "docs")
            os.rename(top / "docs", tmp_path / "link")
            os.rename(spare, top / "docs")
            exchanges += 1

    with make_store(top) as store:
        other = threading.Thread(target=exchange)
        other.start()
        try:
            ends = time.monotonic() + 1
            while time.monotonic() < ends:
                index_artifacts(store)
        finally:
            is_over.set()
            other.join()
        assert exchanges > 100
        assert rows(store, "SELECT path FROM documents WHERE body LIKE '%zorblax%' OR title LIKE '%zorblax%'") == []
        assert index_artifacts(store).skipped == ()
        assert (finds(store, "inside"), finds(store, "zorblax")) == (40, 0)


def test_a_folder_whose_ignore_file_cannot_be_rules_gets_nothing_new_and_loses_nothing(
    store: Store, tmp_path: Path
) -> None:
    put(tmp_path, "docs/a.md", "what was known")
    put(tmp_path, "other/b.md", "elsewhere")
    index_artifacts(store)
    put(tmp_path, "docs/new.md", "what came later")
    put(tmp_path, "docs/.gitignore", b"new.md\n" + b"#" * (1024 * 1024))
    report = index_artifacts(store)
    assert [tuple(one) for one in report.skipped] == [("docs", "not read, because its .gitignore is larger than 1 MiB")]
    assert (report.added, report.removed, report.unchanged) == ((), (), 2)
    assert (finds(store, "known"), finds(store, "later")) == (1, 0)
    put(tmp_path, "docs/.gitignore", "new.md\n")
    put(tmp_path, ".gitignore", "x\n" * 10_001)
    put(tmp_path, "c.md", "at the top")
    assert [tuple(one) for one in index_artifacts(store).skipped] == [
        (".", "not read, because its .gitignore has more than 10,000 patterns")
    ]
    assert (finds(store, "known"), finds(store, "top")) == (1, 0)


@pytest.mark.parametrize("hidden", ["\u034f", "\ufe01", "\U000e0041", "\u200b", "\u202e", "\n", "\x1b"])
def test_a_name_that_reads_like_another_is_passed_over_and_said(store: Store, tmp_path: Path, hidden: str) -> None:
    put(tmp_path, "notes/plan.md", "# Plan\n")
    put(tmp_path, f"notes/pl{hidden}an.md", "# Forged\n")
    put(tmp_path, "\u2764\ufe0f.md", "# Heart\n")
    report = index_artifacts(store)
    assert report.added == ("notes/plan.md", "\u2764\ufe0f.md")
    [(shown, reason)] = report.skipped
    assert shown == f"notes/pl{ascii(hidden)[1:-1]}an.md" and reason == UNSHOWN
    with pytest.raises(UsageError, match="not one line of printable characters"):
        contained_path(str(tmp_path), f"notes/pl{hidden}an.md")
    with pytest.raises(UsageError, match="not one line of printable characters"):
        portable_path(f"notes/pl{hidden}an.md")


def _token() -> str:
    return "ghp_" + "".join(random.choices(string.ascii_letters + string.digits, k=36))


def test_a_file_whose_name_holds_a_secret_is_not_taken_in_and_not_named(store: Store, tmp_path: Path) -> None:
    token = _token()
    put(tmp_path, f"notes/n-{token}.md", "# A note\n")
    put(tmp_path, "notes/plain.md", "# A note\n")
    report = index_artifacts(store)
    assert report.added == ("notes/plain.md",)
    ((path, reason),) = report.skipped
    assert reason == SECRET and token not in path and path.startswith("notes/n-")
    with pytest.raises(UsageError) as refused:
        save(store, f"notes/n-{token}.md")
    assert token not in refused.value.message and "Rename the file" in refused.value.hint
    assert token not in str(rows(store, "SELECT * FROM artifacts")) + str(rows(store, "SELECT * FROM documents"))


def test_a_store_among_the_files_it_indexes_is_none_of_them(store: Store, tmp_path: Path) -> None:
    store.close()
    put(tmp_path, "plain.md", "# A note\n")
    shutil.copy(tmp_path / ".ctxrank" / "ctxrank.db", tmp_path / "x.db")
    with open_store(str(tmp_path / "x.db")) as beside:
        for _ in range(2):  # the second time all of its files are there
            report = index_artifacts(beside)
            assert [path for path, _ in report.skipped if path.startswith("x.")] == []
            assert beside.catch_up() == 0
        assert rows(beside, "SELECT path FROM artifacts") == [("plain.md",)]


def test_a_path_that_no_system_opens_is_refused(tmp_path: Path) -> None:
    long = "a/" * (MAX_PATH_BYTES // 2) + "ä"
    for check in (portable_path, partial(contained_path, str(tmp_path))):
        with pytest.raises(UsageError, match="longer than 4,096 bytes") as refused:
            check(long)
        assert len(refused.value.message) < 100
    assert portable_path("a" * MAX_PATH_BYTES) == "a" * MAX_PATH_BYTES


def test_of_equal_files_the_one_with_the_inode_has_moved_else_the_first(store: Store, tmp_path: Path) -> None:
    for path in ("a/one.md", "a/two.md"):
        put(tmp_path, path, "the zebra")
    index_artifacts(store)
    (tmp_path / "b").mkdir()
    (tmp_path / "a/one.md").rename(tmp_path / "b/two.md")
    (tmp_path / "a/two.md").unlink()
    report = index_artifacts(store)
    assert (report.moved, report.removed) == ((("a/one.md", "b/two.md"),), ("a/two.md",))
    put(tmp_path, "c/two.md", "the zebra")
    index_artifacts(store)
    put(tmp_path, "d/three.md", "the zebra")  # while both are there: it has the inode of neither
    for path in ("b/two.md", "c/two.md"):
        (tmp_path / path).unlink()
    assert index_artifacts(store).moved == (("b/two.md", "d/three.md"),)


def test_a_file_of_another_root_is_not_the_one_that_a_package_awaits(tmp_path: Path) -> None:
    with make_store(tmp_path / "project") as store:
        other = tmp_path / "other"
        put(other, "x.md", "the zebra")
        allow(store.location, store.primary, str(other))
        with create_store(str(tmp_path / "project"), root=str(other)) as elsewhere:
            assert index_artifacts(elsewhere).added == ("x.md",)
        save(store, "x.md")
        put(other, "x.md", "the giraffe", LONG_AGO_NS + 1)
        assert index_artifacts(store).changed == (str(other / "x.md"),)
        assert rows(store, "SELECT artifact_id FROM packages") == [(None,)]
        (other / "x.md").unlink()
        assert index_artifacts(store).removed == (str(other / "x.md"),)
        assert rows(store, "SELECT path FROM roots ORDER BY id") == [(".",), (str(other),)]  # the folder is there


@pytest.mark.parametrize(
    ("files", "size", "done"),
    [(2, 1000, [2, 4, 5]), (5, 1000, [5]), (9, 20, [2, 4, 5]), (9, 19, [1, 2, 3, 4, 5]), (9, 1, [1, 2, 3, 4, 5])],
)
def test_files_are_read_some_at_a_time_by_their_number_or_their_size(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int, size: int, done: list[int]
) -> None:
    monkeypatch.setattr(scan, "_CHUNK_FILES", files)
    monkeypatch.setattr(scan, "_CHUNK_BYTES", size)
    for number in range(5):
        put(tmp_path, f"{number}.md", f"ten bytes{number}")
    told: list[tuple[int, int]] = []

    def tell(count: int, total: int) -> None:
        told.append((count, total))

    assert len(index_artifacts(store, progress=tell).added) == 5
    assert told == [(number, 5) for number in done]


def test_a_binary_file_that_changed_is_reported_as_before_and_one_with_another_reason_anew(
    store: Store, tmp_path: Path
) -> None:
    for path in ("a.bin", "b.bin"):
        put(tmp_path, path, b"\0\1\2")
    assert index_artifacts(store).skipped_before == ()
    put(tmp_path, "a.bin", b"\0\1\2\3", LONG_AGO_NS + 1)
    put(tmp_path, "b.bin", b"\x81\x8d\x8f" * 40, LONG_AGO_NS + 1)
    report = index_artifacts(store)
    assert report.skipped_before == ("a.bin",)
    assert [one.reason for one in report.skipped] == ["binary", "encoding not recognised"]


@pytest.mark.skipif(local_counter() is None, reason="no vocabulary on this machine")
def test_a_run_counts_what_was_estimated_and_a_dry_run_does_not(store: Store, tmp_path: Path) -> None:
    put(tmp_path, "a.md", "the zebra")
    index_artifacts(store)
    store.primary.execute("UPDATE documents SET token_counter = 'estimate'")
    counters = "SELECT DISTINCT token_counter FROM documents"
    index_artifacts(store, is_dry_run=True)
    assert rows(store, counters) == [("estimate",)]
    index_artifacts(store)
    assert rows(store, counters) == [(ENCODING,)]

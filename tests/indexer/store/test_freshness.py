"""Whether a file is still what was indexed: by its stat, else by its bytes, and never where nobody may look."""

import hashlib
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from builders import make_store, save, write_file
from tables import each_row

from ctxrank.indexer.store import out_of_date
from ctxrank.indexer.store.freshness import ELSEWHERE, FileStates, gone_of, has_roots, shown_path, state_on_disk
from ctxrank.indexer.store.out_of_date import files_out_of_date
from ctxrank.indexer.store.rows import insert
from ctxrank.indexer.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as store:
        yield store


@each_row("path, shown", [("text://abc", ""), ("docs/a.md", "docs/a.md"), ("", "")])
def test_a_text_that_is_in_no_file_has_no_path(path: str, shown: str) -> None:
    assert shown_path(path) == shown


def test_a_file_is_what_it_was_by_its_stat_or_by_its_bytes(tmp_path: Path) -> None:
    file, data = tmp_path / "a.md", b"ten bytes."
    file.write_bytes(data)
    info, sha256 = file.stat(), hashlib.sha256(data).hexdigest()
    mtime, inode = info.st_mtime_ns, info.st_ino

    def state(digest: str, size: int, at: int, number: int, most: int = 100, path: str = "a.md") -> str:
        return state_on_disk(str(tmp_path), path, digest, size, at, number, most_bytes=most)

    assert state("unasked", 10, mtime, inode) == "current"
    assert state(sha256, 10, mtime + 1, inode) == state(sha256, 10, mtime, inode + 1) == "current"
    assert state("other", 10, mtime + 1, inode) == state("other", 10, mtime, inode + 1) == "changed"
    assert state(sha256, 11, mtime, inode) == "changed"
    assert state("other", 10, 0, 0, most=10) == "changed" and state("other", 10, 0, 0, most=9) == "current"
    assert state(sha256, 10, mtime, inode, path="b.md") == "missing"
    assert {state(sha256, 10, mtime, inode, path=path) for path in (str(file), "../a.md", "x/../a.md")} == {""}


def test_a_package_says_whether_its_file_is_as_it_was(store: Store, tmp_path: Path) -> None:
    save(store, "a.md", "one")
    save(store, "b.md", "two")
    states = FileStates(store)
    states.expect([1, None, 2])
    write_file(store, "a.md", "three")
    (tmp_path / "b.md").unlink()
    assert [FileStates(store).of(1), states.of(1), states.of(2), states.of(99)] == ["changed", "changed", "missing", ""]
    store.primary.execute("UPDATE artifacts SET reason = ?", (ELSEWHERE,))
    assert [FileStates(store).of(1), states.of(1)] == ["elsewhere", "changed"]  # it read the row before


def test_what_has_no_file_has_no_state_but_what_another_store_exported(store: Store) -> None:
    save(store, "a.md", "one")
    assert FileStates(store).of(None) == FileStates(store).of(None, 1) == ""
    store.primary.execute("PRAGMA foreign_keys = off; UPDATE packages SET id = -5, artifact_id = NULL")
    assert FileStates(store).of(None, -5) == "elsewhere"
    store.primary.execute("UPDATE packages SET path = 'text://x'")
    assert FileStates(store).of(None, -5) == ""


def test_a_file_of_a_folder_that_may_not_be_read_has_no_state(store: Store, tmp_path: Path) -> None:
    save(store, "a.md", "one")
    store.primary.execute("INSERT INTO roots (path) VALUES (?)", (str(tmp_path.parent),))
    store.primary.execute("UPDATE artifacts SET root_id = (SELECT max(id) FROM roots)")
    assert FileStates(store).of(1) == ""


def test_what_a_record_names_and_is_gone_is_a_sentence(store: Store) -> None:
    save(store, "a.md", "one")
    assert gone_of(store.primary, "package", 1) == ""
    columns = {row[1]: 0 if row[2] == "INTEGER" else "" for row in store.primary.execute("PRAGMA table_info(anchors)")}
    del columns["id"]
    for name, state in (("load", "gone"), ("store", "same"), ("b.py:3", "gone")):
        row = {**columns, "document_id": 1, "kind": "name", "name": name, "state": state}
        insert(store.primary, "anchors", row)
    assert gone_of(store.primary, "package", 1) == "Gone since then: load, b.py:3."
    assert gone_of(store.primary, "reasoning", 1) == gone_of(store.primary, "package", 2) == ""


def test_files_that_are_no_longer_what_was_indexed_are_named_the_last_first(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        save(store, f"{number}.md", f"text {number}")
    monkeypatch.setattr(out_of_date, "_BUDGET_S", 10)
    assert files_out_of_date(store) == []
    for number in (1, 2, 4):
        write_file(store, f"{number}.md", "other")
    (tmp_path / "2.md").unlink()
    found = [("4.md", "changed"), ("2.md", "missing"), ("1.md", "changed")]
    assert files_out_of_date(store) == found
    monkeypatch.setattr(out_of_date, "_MAX_NAMED", 2)
    assert files_out_of_date(store) == found[:2]
    monkeypatch.setattr(out_of_date, "_MAX_FILES", 1)
    assert files_out_of_date(store) == found[:1]
    store.primary.execute("UPDATE artifacts SET state = 'stale'")
    assert files_out_of_date(store) == []
    assert os.path.exists(tmp_path / "4.md")


def test_a_look_at_files_ends_by_its_own_cpu_time_and_where_the_disk_keeps_it_waiting(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        save(store, f"{number}.md", f"text {number}")
        write_file(store, f"{number}.md", "other")
    for cpu_s, wall_s, looked_at in (
        (0, 0.1, 3),
        (0.015, 0.1, 2),
        (0, 0.6, 1),
        (1, 1, 1),
    ):  # that pass between two looks
        clocks = SimpleNamespace(thread_time=count(0, cpu_s).__next__, monotonic=count(0, wall_s).__next__)
        monkeypatch.setattr(out_of_date, "time", clocks)
        assert len(files_out_of_date(store)) == looked_at


def test_a_file_that_lies_elsewhere_now_is_missing(tmp_path: Path) -> None:
    folder, data = tmp_path / "project", b"ten bytes."
    folder.mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.md").write_bytes(data)
    (folder / "docs").symlink_to(tmp_path / "other")
    digest = hashlib.sha256(data).hexdigest()
    assert state_on_disk(str(folder), "docs/a.md", digest, 10, 0, 0, most_bytes=100) == "missing"
    assert [state_on_disk(str(folder), path, digest, 10, 0, 0, most_bytes=100) for path in ("/a", "../a")] == ["", ""]


def test_folders_of_other_machines_and_the_projects_own_are_no_other_roots(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        save(store, "a.md")
        assert not has_roots(store.primary)
        for path, has_other in (("@0123", False), ("/srv", True)):
            store.primary.execute("INSERT INTO roots (path) VALUES (?)", (path,))
            assert has_roots(store.primary) is has_other

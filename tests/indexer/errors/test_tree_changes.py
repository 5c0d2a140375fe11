"""What changed in a folder since a command failed: by its commit in a git tree, by the clock elsewhere."""

import os
import sys
import time
from pathlib import Path

import pytest
from git_tree import commit_all, git
from tables import each_row

from ctxrank.indexer.errors.failed_commands import TreeState
from ctxrank.indexer.errors.tree_changes import MAX_NAMES, TreeChanges, changed_lines, changes_between, note_tree

FAILED_US, SINCE_US = 10_000_000, 20_000_000
ALWAYS_US = 2**53


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose `dirty.py` differs from its commit, and `gone.py` is missing."""
    git(tmp_path, "init", "-q")
    for name in ("a.py", "b.py", "dirty.py", "gone.py", "src/.hidden/c.py"):
        write(tmp_path, name, "one\ntwo\n")
    commit_all(tmp_path)
    write(tmp_path, "dirty.py", "three\n")
    (tmp_path / "gone.py").unlink()
    return tmp_path


def changed_until(checkout: Path, tree: TreeState, until_us: int) -> TreeChanges:
    return changes_between(str(checkout), tree, 0, until_us, str(checkout / ".git"))


def lines_of(checkout: Path, tree: TreeState, names: tuple[str, ...]) -> list[str]:
    return changed_lines(str(checkout), tree, names, str(checkout / ".git"))


def test_in_a_git_tree_changes_are_what_differs_from_then_committed_or_not(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    for name in ("a.py", "b.py", "c.py", "gone.py", "reverted.py"):
        write(tmp_path, name, "1\n")
    write(tmp_path, ".gitignore", "ignored.txt\n")
    commit_all(tmp_path)
    write(tmp_path, "c.py", "dirty before\n")
    write(tmp_path, "reverted.py", "broken\n")
    tree = note_tree(str(tmp_path), str(tmp_path / ".git"))
    time.sleep(0.02)
    moment = time.time_ns() // 1000
    time.sleep(0.02)
    write(tmp_path, "a.py", "2\n")
    git(tmp_path, "commit", "-qam", "y")
    write(tmp_path, "b.py", "2\n")
    write(tmp_path, "new.toml", "1\n")
    write(tmp_path, "ignored.txt", "1\n")
    git(tmp_path, "checkout", "HEAD~", "--", "reverted.py")
    write(tmp_path, "reverted.py", "1\n")
    (tmp_path / "gone.py").unlink()
    found = changes_between(str(tmp_path), tree, moment, time.time_ns() // 1000 + 1_000_000, str(tmp_path / ".git"))
    assert found == (("a.py", "b.py", "gone.py", "new.toml", "reverted.py"), True)


def test_outside_git_changes_are_by_the_clock_and_not_what_tools_write(tmp_path: Path) -> None:
    write(tmp_path, "old.py", "1\n")
    os.utime(tmp_path / "old.py", (1, 1))
    (tmp_path / "__pycache__").mkdir()
    for name in ("new.py", "run.log", "__pycache__/x.py"):
        write(tmp_path, name, "1\n")
    assert changes_between(str(tmp_path), TreeState(), 10_000_000, 2**53, "") == (("new.py",), True)
    assert changes_between(str(tmp_path), TreeState(), 10_000_000, 20_000_000, "") == ((), True)


def test_many_changes_are_bounded_and_say_so(tmp_path: Path) -> None:
    for number in range(250):
        write(tmp_path, f"{number}.py", "1\n")
    found = changes_between(str(tmp_path), TreeState(), 0, 2**53, "")
    assert len(found.names) == 200 and not found.is_complete


@each_row("written_us, is_named", [(FAILED_US - 1, False), (FAILED_US, True), (SINCE_US, True), (SINCE_US + 1, False)])
def test_both_ends_of_the_span_belong_to_it(tmp_path: Path, written_us: int, is_named: bool) -> None:
    write(tmp_path, "a.py", "1\n")
    os.utime(tmp_path / "a.py", ns=(0, written_us * 1000))
    found = changes_between(str(tmp_path), TreeState(), FAILED_US, SINCE_US, "")
    assert found == (("a.py",) if is_named else (), True)


@pytest.mark.parametrize(("count", "is_complete"), [(MAX_NAMES, True), (MAX_NAMES + 1, False)])
def test_as_many_names_as_there_may_be_are_all(tmp_path: Path, count: int, is_complete: bool) -> None:
    for number in range(count):
        write(tmp_path, f"{number:03}.py", "1\n")
    found = changes_between(str(tmp_path), TreeState(), 0, ALWAYS_US, "")
    assert (len(found.names), found.is_complete) == (MAX_NAMES, is_complete)
    assert list(found.names) == sorted(found.names)


def test_a_link_has_a_time_of_its_own_and_one_to_a_folder_is_no_file(tmp_path: Path) -> None:
    write(tmp_path, "src/a.py", "1\n")
    os.utime(tmp_path / "src" / "a.py", (1, 1))
    for name, target in (("link.py", "src/a.py"), ("broken.py", "nowhere"), ("folder", "src")):
        (tmp_path / name).symlink_to(target)
    found = changes_between(str(tmp_path), TreeState(), FAILED_US, ALWAYS_US, "")
    assert found.names == ("broken.py", "link.py")


def test_what_differed_when_it_failed_is_noted_and_what_of_it_was_missing(checkout: Path, tmp_path: Path) -> None:
    tree = note_tree(str(checkout), str(checkout / ".git"))
    assert (tree.differing, tree.missing) == (("dirty.py", "gone.py"), ("gone.py",))
    assert len(tree.commit) == 40
    assert note_tree(str(checkout / "src"), str(checkout / ".git")).differing == ()


def test_a_file_that_was_missing_already_is_no_change_and_one_that_came_back_is(checkout: Path) -> None:
    tree = note_tree(str(checkout), str(checkout / ".git"))
    assert "gone.py" not in changed_until(checkout, tree, ALWAYS_US).names
    assert changed_until(checkout, tree, ALWAYS_US).names == ("dirty.py",)
    assert changed_until(checkout, tree, 1).names == ()  # it was not written in that span
    write(checkout, "gone.py", "one\ntwo\n")
    (checkout / "a.py").unlink()
    assert changed_until(checkout, tree, ALWAYS_US) == (
        ("a.py", "dirty.py", "gone.py"),
        True,
    )


def test_what_tools_write_is_no_change_in_a_git_tree_either(checkout: Path) -> None:
    tree = note_tree(str(checkout), str(checkout / ".git"))
    for name in ("new.log", "src/node_modules/x.js", "kept/a.py~", "build"):
        write(checkout, name, "1\n")
    assert changed_until(checkout, tree, ALWAYS_US).names == ("build", "dirty.py")


def test_folders_in_folders_are_as_deep_as_they_like(checkout: Path) -> None:
    name = "d/" * 300 + "a.txt"
    write(checkout, name, "1\n")
    tree, limit = note_tree(str(checkout), str(checkout / ".git")), sys.getrecursionlimit()
    sys.setrecursionlimit(250)
    try:
        assert changed_until(checkout, tree, ALWAYS_US).names == (name, "dirty.py")
    finally:
        sys.setrecursionlimit(limit)


def test_the_lines_that_changed_stand_below_the_name_of_their_file(checkout: Path) -> None:
    tree = note_tree(str(checkout), str(checkout / ".git"))
    write(checkout, "a.py", "one\n-- 2\n")
    (checkout / "b.py").unlink()
    write(checkout, "new.py", "x\n")
    commit_all(checkout)
    write(checkout, "a.py", "one\n++ 2\nthree\n")
    names = ("a.py", "b.py")
    assert lines_of(checkout, tree, names) == [
        "a.py",
        "-two",
        "+++ 2",
        "+three",
        "b.py",
        "-one",
        "-two",
    ]
    assert lines_of(checkout, tree, ("new.py",)) == ["new.py", "+x"]


@each_row("name", ["dirty.py", "src/.hidden/c.py", "nowhere.py"])
def test_of_what_differed_before_and_of_hidden_files_no_line_is_told(checkout: Path, name: str) -> None:
    tree = note_tree(str(checkout), str(checkout / ".git"))
    write(checkout, "dirty.py", "four\n")
    write(checkout, "src/.hidden/c.py", "four\n")
    assert lines_of(checkout, tree, (name,)) == []


def test_outside_a_git_tree_no_line_is_told(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    write(checkout, "a.py", "four\n")
    assert lines_of(checkout, TreeState(), ("a.py",)) == []
    tree = note_tree(str(checkout), str(checkout / ".git"))
    assert changed_lines(str(tmp_path_factory.mktemp("plain")), tree, ("a.py",), "") == []


def test_where_attributes_are_no_file_git_looks_at_no_contents(checkout: Path) -> None:
    tree = note_tree(str(checkout), str(checkout / ".git"))
    (checkout / "src" / ".gitattributes").mkdir()
    write(checkout, "a.py", "four\n")
    assert lines_of(checkout, tree, ("a.py",)) == []
    assert "a.py" in changed_until(checkout, tree, ALWAYS_US).names

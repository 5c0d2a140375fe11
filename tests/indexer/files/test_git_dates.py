"""A document that is a file has the date of its last commit, or of its modification; asking git runs nothing else."""

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from builders import make_store
from git_tree import git
from hostile_repository import build, build_git

from ctxrank.extensions.links.sync import index_linked
from ctxrank.indexer.files import git_dates
from ctxrank.indexer.files.git import GitError, GitTimeoutError, find_repository, git_on
from ctxrank.indexer.files.git_dates import DateReport, date_documents
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.opening import create_named_store
from ctxrank.indexer.store.connection import read_rows
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.retrieval.hits import SearchRequest
from ctxrank.ranking.retrieval.search import search

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git on this machine")

SECOND = 1_000_000
EDITED = 1_900_000_000  # later than every commit here, in the past of no test: set with os.utime


class _Dated(NamedTuple):
    path: str
    date: int


def write(folder: Path, path: str, text: str, at: int = 0) -> None:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    if at:
        os.utime(file, (at, at))


def commit(folder: Path, at: int, **files: str) -> None:
    """Commit these files (a name ends in .md) at a moment; they are written later than that, as by a clone."""
    for name, text in files.items():
        write(folder, f"{name}.md", text, at=at + 500)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "x", at=at)


def checkout(folder: Path) -> Store:
    """An empty repository with a store in it, which git ignores by its own ignore file."""
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    return make_store(folder)


def index(store: Store) -> DateReport:
    first = store.last_seq()
    index_artifacts(store)
    index_linked(store)
    return date_documents(store, first, {})


def dates(store: Store) -> dict[str, int]:
    """Seconds by path; a file and its passages have one date."""
    query = """
        SELECT DISTINCT path, created_at / 1000000 FROM documents WHERE kind IN ('artifact', 'passage', 'linked')
    """
    rows = list(read_rows(store.primary, query, (), _Dated))
    found = {row.path: row.date for row in rows}
    assert len(rows) == len(found), "a passage has another date than its file"
    return found


def no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("git was started")

    monkeypatch.setattr(os, "posix_spawn", refused)


def test_a_folder_of_the_user_is_not_taken_for_what_a_killed_process_left(tmp_path: Path) -> None:
    """A store that is named lies among the user's files."""
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path, 1000, old="# Old\n")
    names = ["git-hooks", "git-0123456789abcdef", ".ctxrank-git-x", ".ctxrank-git-0123456789abcdef"]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text("x")
        os.utime(tmp_path / name, (0, 0))
    with create_named_store(str(tmp_path / "notes.db")) as store:
        assert index(store).reason == "" and dates(store)["old.md"] == 1000
    assert [name for name in names if (tmp_path / name).exists()] == names[:3]


def test_a_file_has_the_date_of_its_last_commit_however_new_the_clone_is(tmp_path: Path) -> None:
    store = checkout(tmp_path)
    commit(tmp_path, 1000, old="# Old\n\nwords\n", both="# Both\n\nwords\n")
    commit(tmp_path, 2000, both="# Both\n\nother words\n")
    assert index(store) == (2, "")
    assert dates(store) == {"old.md": 1000, "both.md": 2000}
    assert not list((tmp_path / ".ctxrank").glob("*git-*"))


def test_an_edit_that_is_not_committed_has_its_own_date_until_it_is(tmp_path: Path) -> None:
    store = checkout(tmp_path)
    commit(tmp_path, 1000, a="# A\n\none\n\n## B\n\ntwo\n")
    write(tmp_path, "a.md", "# A\n\none\n\n## B\n\nthree\n", at=5000)
    write(tmp_path, "new.md", "new\n", at=6000)
    index(store)
    assert dates(store) == {"a.md": 5000, "new.md": 6000}
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "y", at=7000)
    index(store)
    assert dates(store) == {"a.md": 7000, "new.md": 7000}


def test_a_document_from_before_the_run_has_a_new_number_with_its_new_date(tmp_path: Path) -> None:
    """The last one, too; of what the run wrote itself the date is no other change."""
    store = checkout(tmp_path)
    commit(tmp_path, 1000, a="a\n")
    write(tmp_path, "a.md", "b\n", at=5000)
    index(store)
    before = store.last_seq()
    git(tmp_path, "commit", "-qam", "y", at=7000)
    assert index(store) == (1, "") and dates(store) == {"a.md": 7000}
    assert store.last_seq() == before + 1
    git(tmp_path, "commit", "--amend", "-qm", "z", at=8000)
    assert index(store) == (1, "") and dates(store) == {"a.md": 8000}
    assert store.last_seq() == before + 2


def test_an_edit_that_is_taken_back_has_the_date_of_the_commit_again(tmp_path: Path) -> None:
    store = checkout(tmp_path)
    commit(tmp_path, 1000, a="# A\n\none\n", b="b\n")
    index(store)
    write(tmp_path, "a.md", "# A\n\ntwo\n", at=5000)
    index(store)
    assert dates(store) == {"a.md": 5000, "b.md": 1000}
    git(tmp_path, "checkout", "--", "a.md")
    index(store)
    assert dates(store) == {"a.md": 1000, "b.md": 1000}


def test_a_file_that_is_older_than_its_commit_is_not_read_for_its_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = checkout(tmp_path)
    commit(tmp_path, 10_000, a="# A\n\none\n")
    os.utime(tmp_path / "a.md", (9000, 9000))
    monkeypatch.setattr(git_dates, "_has_bytes_of", None)
    assert index(store).committed == 1
    assert dates(store) == {"a.md": 10_000}


def test_a_file_whose_lines_end_as_on_windows_is_as_it_was_committed(tmp_path: Path) -> None:
    store = checkout(tmp_path)
    commit(tmp_path, 1000, a="one\ntwo\n")
    (tmp_path / "a.md").write_bytes(b"one\r\ntwo\r\n")
    index(store)
    assert dates(store) == {"a.md": 1000}


def test_moved_and_renamed_files(tmp_path: Path) -> None:
    store = checkout(tmp_path)
    commit(tmp_path, 1000, a="# A\n\none\n", b="# B\n\ntwo\n")
    index(store)
    git(tmp_path, "mv", "a.md", "c.md")
    git(tmp_path, "commit", "-qm", "y", at=2000)
    (tmp_path / "b.md").rename(tmp_path / "d.md")  # which git does not know of
    index(store)
    assert dates(store) == {"c.md": 2000, "d.md": 1500}
    assert git(tmp_path, "log", "-1", "--format=%ct", "--", "c.md").strip() == "2000"


def test_a_branch_that_is_left_takes_its_dates_with_it(tmp_path: Path) -> None:
    store = checkout(tmp_path)
    commit(tmp_path, 1000, a="# A\n\none\n", b="b\n")
    git(tmp_path, "checkout", "-qb", "side")
    commit(tmp_path, 2000, a="# A\n\ntwo\n", c="c\n")
    index(store)
    assert dates(store) == {"a.md": 2000, "b.md": 1000, "c.md": 2000}
    git(tmp_path, "checkout", "-q", "main")
    index(store)
    assert dates(store) == {"a.md": 1000, "b.md": 1000}


def test_a_merge_dates_what_it_joined_and_not_what_one_side_changed(tmp_path: Path) -> None:
    store = checkout(tmp_path)
    commit(tmp_path, 1000, a="1\n2\n3\n4\n5\n6\n7\n8\n9\n", b="b\n")
    git(tmp_path, "checkout", "-qb", "side")
    commit(tmp_path, 2000, b="of one side\n", a="side\n2\n3\n4\n5\n6\n7\n8\n9\n")
    git(tmp_path, "checkout", "-q", "main")
    commit(tmp_path, 3000, a="1\n2\n3\n4\n5\n6\n7\n8\nmain\n")
    index(store)
    assert dates(store) == {"a.md": 3000, "b.md": 1000}
    git(tmp_path, "merge", "-q", "side", "-m", "m", at=4000)
    index(store)
    assert dates(store) == {"a.md": 4000, "b.md": 2000}
    for name in ("a.md", "b.md"):
        assert dates(store)[name] == int(git(tmp_path, "log", "-1", "--format=%ct", "--", name))


def test_a_history_that_was_written_again_is_read_again(tmp_path: Path) -> None:
    store = checkout(tmp_path)
    commit(tmp_path, 1000, a="a\n")
    index(store)
    git(tmp_path, "commit", "-q", "--amend", "-m", "z", at=1200)
    git(tmp_path, "reflog", "expire", "--expire=all", "--all")
    git(tmp_path, "gc", "-q", "--prune=now")  # packs refs and objects, too; the former commit is gone
    index(store)
    assert dates(store) == {"a.md": 1200}


def test_an_unchanged_checkout_starts_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = checkout(tmp_path)
    commit(tmp_path, 1000, a="a\n")
    index(store)
    store.close()
    no_process(monkeypatch)
    with make_store(tmp_path) as again:
        assert index(again) == (0, "")
        date_documents(again, again.last_seq(), {})


def test_what_was_indexed_before_there_were_dates_has_them_after_the_next_run(tmp_path: Path) -> None:
    store = checkout(tmp_path)
    commit(tmp_path, 1000, a="# A\n\none\n")
    index_artifacts(store)
    with store.write() as change:
        change.connection.execute("UPDATE documents SET created_at = 9000000000")
    before = store.last_seq()
    index(store)
    assert dates(store) == {"a.md": 1000}
    assert store.last_seq() == before + 1, "what stood in a block is a change, its passages are none"
    index(store)
    assert store.last_seq() == before + 1


def test_a_search_by_time_means_the_time_of_the_file(tmp_path: Path) -> None:
    store = checkout(tmp_path)
    commit(tmp_path, 1000, old="# Old\n\nzebra\n")
    commit(tmp_path, 2000, late="# Late\n\nzebra\n")
    index(store)
    found = search(store, SearchRequest("zebra", since=1500 * SECOND))
    assert [hit.path for hit in found.hits] == ["late.md"]
    found = search(store, SearchRequest("zebra", until=1500 * SECOND))
    assert [hit.path for hit in found.hits] == ["old.md"]


def test_linked_artifacts_have_the_date_of_their_commit(tmp_path: Path) -> None:
    store = checkout(tmp_path)
    path = ".contextia/work/tasks/001.md"
    write(tmp_path, path, "---\nid: TASK-1\ntitle: Zebra\nstatus: open\n---\nwords\n", at=1500)
    commit(tmp_path, 1000)
    index(store)
    assert dates(store) == {path: 1000}


def test_a_store_below_the_top_of_a_checkout_sees_its_own_folder(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, "sub/a.md", "a\n", at=5000)
    write(tmp_path, "a.md", "another\n")
    commit(tmp_path, 1000)
    with make_store(tmp_path / "sub") as store:
        index(store)
        assert dates(store) == {"a.md": 1000}
        write(tmp_path, "sub/a.md", "b\n", at=6000)
        commit(tmp_path, 2000)
        index(store)
        assert dates(store) == {"a.md": 2000}


def test_a_linked_worktree_has_a_history_of_its_own(tmp_path: Path) -> None:
    main, other = tmp_path / "main", tmp_path / "other"
    checkout(main).close()
    commit(main, 1000, a="a\n")
    git(main, "worktree", "add", "-q", "-b", "side", str(other))
    commit(other, 2000, b="b\n")
    with make_store(other) as store:
        index(store)
        assert dates(store) == {"a.md": 1000, "b.md": 2000}
    (other / ".git").write_text(f"gitdir: {main}/.git/worktrees/none\n")
    with pytest.raises(GitError):
        find_repository(str(other))
    forged = tmp_path / "forged"
    forged.mkdir()
    (forged / ".git").write_text(f"gitdir: {main}/.git/worktrees/other\n")
    with pytest.raises(GitError, match="elsewhere"):
        find_repository(str(forged))


def test_a_submodule_and_a_nested_checkout_have_the_times_of_their_files(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    checkout(inner).close()
    commit(inner, 1000, a="a\n")
    outer = tmp_path / "outer"
    store = checkout(outer)
    git(outer, "submodule", "add", "-q", str(inner), "sub")
    os.utime(outer / "sub" / "a.md", (5000, 5000))
    commit(outer, 2000, b="b\n")
    index(store)
    assert dates(store) == {"b.md": 2000, "sub/a.md": 5000, ".gitmodules": 2000}
    with make_store(outer / "sub") as own:
        assert "no linked worktree" in index(own).reason
        assert dates(own) == {"a.md": 5000}


def test_a_shallow_clone_knows_the_commits_that_it_has(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    checkout(origin).close()
    commit(origin, 1000, a="a\n")
    commit(origin, 2000, b="b\n")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{origin}", "clone")
    with make_store(tmp_path / "clone") as store:
        assert index(store).reason == ""
        assert dates(store) == {"a.md": 2000, "b.md": 2000}


@pytest.mark.parametrize(("filtered", "is_whole"), [("blob:none", True), ("tree:0", False)])
def test_a_partial_clone_fetches_nothing(filtered: str, is_whole: bool, tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    checkout(origin).close()
    git(origin, "config", "uploadpack.allowFilter", "true")
    commit(origin, 1000, a="a\n")
    commit(origin, 2000, b="b\n")
    git(tmp_path, "clone", "-q", f"--filter={filtered}", f"file://{origin}", "clone")
    objects = tmp_path / "clone" / ".git" / "objects"
    before = sorted(objects.rglob("*"))
    with make_store(tmp_path / "clone") as store:
        report = index(store)
        assert (report.reason == "") == is_whole
        if is_whole:
            assert dates(store) == {"a.md": 1000, "b.md": 2000}
    assert sorted(objects.rglob("*")) == before


def test_names_that_are_odd_or_no_utf_8(tmp_path: Path) -> None:
    store = checkout(tmp_path)
    for name in (os.fsdecode(b"\xff.md"), "two\nlines.md", ":(glob)*.md", "-x.md", "ü ø.md", "@1 >.md", ":100644 M.md"):
        write(tmp_path, name, f"{name!a}\n")
    commit(tmp_path, 1000)
    write(tmp_path, "-x.md", "again\n")
    commit(tmp_path, 2000)
    index(store)
    found = dates(store)
    assert found.pop("-x.md") == 2000
    assert set(found.values()) == {1000} and len(found) == 4, "a name of two lines, or no UTF-8, is passed over"


def test_a_commit_from_the_future_is_from_now_and_one_from_before_time_from_the_beginning(tmp_path: Path) -> None:
    store = checkout(tmp_path)
    write(tmp_path, "a.md", "a\n")
    git(tmp_path, "add", "-A")
    tree = git(tmp_path, "write-tree").strip()
    for moment, least in (("9999999999", int(time.time()) - 100), ("99999999999999999999999", 0)):
        person = f"n <n@example.org> {moment} +0000"
        text = f"tree {tree}\nauthor {person}\ncommitter {person}\n\nx\n"
        (tmp_path / ".git" / "made").write_text(text)
        made = git(tmp_path, "hash-object", "-t", "commit", "-w", "--literally", ".git/made").strip()
        git(tmp_path, "update-ref", "HEAD", made)
        index(store)
        assert least <= dates(store)["a.md"] <= time.time() + 1


def test_a_repository_that_names_its_objects_by_sha_256(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256")
    commit(tmp_path, 1000, a="a\n")
    with make_store(tmp_path) as store:
        index(store)
        assert dates(store) == {"a.md": 1000}


def test_a_history_that_takes_too_long_leaves_files_their_times_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = checkout(tmp_path)
    commit(tmp_path, 1000, a="a\n")
    slow = tmp_path.parent / f"{tmp_path.name}-bin"
    slow.mkdir()
    (slow / "git").write_text(f"#!/bin/sh\nsleep 60 &\necho $! $$ > '{slow}/pids'\nwait\n")
    (slow / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(slow))
    monkeypatch.setattr("ctxrank.indexer.files.git.MAX_SECONDS", 0.3)
    began = time.monotonic()
    report = index(store)
    assert "longer than 0.3 s" in report.reason and dates(store) == {"a.md": 1500}
    assert time.monotonic() - began < 5
    for pid in (slow / "pids").read_text().split():
        assert _is_ended(int(pid))


def _is_ended(pid: int) -> bool:
    """Whether a process is gone, or a zombie that its new parent has not asked for yet."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            os.kill(pid, 0)
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False


def test_more_output_than_a_history_may_have_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout(tmp_path).close()
    commit(tmp_path, 1000, a="a\n")
    monkeypatch.setattr("ctxrank.indexer.files.git.MAX_OUTPUT_BYTES", 10)
    repository = find_repository(str(tmp_path))
    assert repository is not None
    with git_on(repository, str(tmp_path)) as git_, pytest.raises(GitTimeoutError):
        list(git_.records("ls-tree", "-z", repository.head))


def test_git_is_not_taken_from_the_checkout_or_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = checkout(tmp_path)
    ran = tmp_path.parent / f"{tmp_path.name}-ran"
    for folder in (tmp_path, tmp_path / "bin"):
        folder.mkdir(exist_ok=True)
        (folder / "git").write_text(f"#!/bin/sh\necho ran > '{ran}'\n")
        (folder / "git").chmod(0o755)
    commit(tmp_path, 1000, a="a\n")
    linked = tmp_path.parent / f"{tmp_path.name}-linked"
    linked.symlink_to(tmp_path / "bin")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".::bin:{tmp_path}:{tmp_path}/bin:{linked}:{os.environ['PATH']}")
    index(store)
    assert not ran.exists() and dates(store)["a.md"] == 1000


def test_without_git_files_have_their_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = checkout(tmp_path)
    commit(tmp_path, 1000, a="a\n")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("ctxrank.indexer.files.git._PLACES", ())
    assert index(store) == (0, "git is not installed")
    assert dates(store) == {"a.md": 1500}


def test_the_repository_of_another_user_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = checkout(tmp_path)
    commit(tmp_path, 1000, a="a\n")
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    assert index(store) == (0, "it belongs to another user")
    assert dates(store) == {"a.md": 1500}


@pytest.mark.parametrize("what", ["pipe", "link", "folder link", "alternates", "head pipe"])
def test_objects_that_lie_elsewhere_or_never_end_are_not_read(what: str, tmp_path: Path) -> None:
    store = checkout(tmp_path)
    commit(tmp_path, 1000, a="a\n")
    objects = tmp_path / ".git" / "objects"
    if what == "pipe":
        os.mkfifo(objects / "pack" / "pack-1.idx")
    elif what == "link":
        (objects / "pack" / "pack-1.idx").symlink_to("/dev/zero")
    elif what == "folder link":
        objects.rename(tmp_path.parent / f"{tmp_path.name}-objects")
        objects.symlink_to(tmp_path.parent / f"{tmp_path.name}-objects")
    elif what == "alternates":
        (objects / "info").mkdir(exist_ok=True)
        (objects / "info" / "alternates").write_text("/elsewhere/objects\n")
    else:
        (tmp_path / ".git" / "HEAD").unlink()
        os.mkfifo(tmp_path / ".git" / "HEAD")
    began = time.monotonic()
    report = index(store)
    assert report.committed == 0 and bool(report.reason) == (what != "head pipe")
    assert time.monotonic() - began < 5 and dates(store) == {"a.md": 1500}


@pytest.mark.slow
def test_a_hostile_checkout_runs_nothing_and_still_has_its_dates(tmp_path: Path) -> None:
    place = build(tmp_path / "place", "none", build_git(tmp_path / "made"))
    write(place.repository, "tracked.md", "# Tracked\n\nA token of the tracked kind.\n", at=EDITED)
    (place.repository / ".gitignore").unlink()  # slow patterns are another test's subject
    for folder in place.repository.glob("ignore*"):
        shutil.rmtree(folder)
    with make_store(place.repository) as store:
        assert index(store).reason == ""
        assert not place.ran.exists()
        assert dates(store)["tracked.md"] == 1_760_000_000
    assert not (place.outside / "traced").exists()


def test_the_traps_of_the_hostile_checkout_are_live(tmp_path: Path) -> None:
    place = build(tmp_path / "place", "none", build_git(tmp_path / "made"))
    subprocess.run(["git", "log", "-1"], cwd=place.repository, capture_output=True, check=False, timeout=30)
    assert place.ran.exists()


@pytest.mark.slow
def test_a_hundred_thousand_commits_are_read_once(tmp_path: Path) -> None:
    store = checkout(tmp_path)
    stream = ["blob\nmark :1\ndata 2\na\n\n"]
    for number in range(100_000):
        stream.append(
            f"commit refs/heads/main\ncommitter n <n@example.org> {1000 + number} +0000\ndata 1\nx\n"
            f"M 100644 inline f{number % 50}.md\ndata {len(str(number))}\n{number}\n"
        )
    subprocess.run(["git", "fast-import", "--quiet"], cwd=tmp_path, input="".join(stream[1:]).encode(), check=True)
    git(tmp_path, "reset", "-q", "--hard")
    began = time.monotonic()
    assert index(store) == (50, "")
    assert dates(store)["f49.md"] == 100_999
    assert time.monotonic() - began < 10
    commit(tmp_path, 200_000, f0="again\n")
    began = time.monotonic()
    index(store)
    assert dates(store)["f0.md"] == 200_000
    assert time.monotonic() - began < 2

"""`index --watch` and `search --fresh`: an answer says what is out of date, and the store keeps up with the disk."""

import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest
from builders import Answer, always, answer_of, make_store, obey_interrupts

from ctxrank.cli.actions.upkeep import watch
from ctxrank.cli.actions.upkeep.indexing import Indexed, bring_up_to_date
from ctxrank.cli.main import run
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.store import out_of_date
from ctxrank.indexer.store.out_of_date import files_out_of_date
from ctxrank.indexer.store.store import Store

needs_watchfiles = pytest.mark.skipif(
    subprocess.run([sys.executable, "-c", "import watchfiles"], capture_output=True, check=False).returncode != 0,
    reason="watchfiles is not installed: pip install 'ctxrank[watch]'",
)
_MAIN = "from ctxrank.cli.entry import main; main()"
_LIMIT_S = 20.0  # for one line, on a machine that does other things, too


class Follower:
    """A process that follows a folder, and its lines as they come."""

    def __init__(self, folder: Path, *words: str, environment: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", _MAIN, "index", "--watch", *words], cwd=folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **(environment or {})},
            preexec_fn=obey_interrupts,
        )  # fmt: skip
        self.lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)

    def line(self) -> str:
        return self.lines.get(timeout=_LIMIT_S)

    def until(self, wanted: str) -> str:
        """The next line that has a text; a burst may come in several."""
        deadline = time.monotonic() + _LIMIT_S
        while wanted not in (line := self.line()):
            assert time.monotonic() < deadline, f"no line has {wanted}"
        return line

    def is_silent(self, seconds: float = 2.0) -> bool:
        time.sleep(seconds)
        return self.lines.empty()

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """The exit code, and what it said on stderr."""
        self.process.send_signal(number)
        code = self.process.wait(_LIMIT_S)
        self._reader.join()
        assert self.process.stderr is not None and self.process.stdout is not None
        said = self.process.stderr.read()
        self.process.stderr.close()
        self.process.stdout.close()
        return code, said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_store(tmp_path).close()
    (tmp_path / "a.md").write_text("# A\n\nzebra\n")
    return tmp_path


@pytest.fixture
def follower(folder: Path) -> Generator[Follower, None, None]:
    follower = Follower(folder)
    yield follower
    if follower.process.poll() is None:
        follower.end()


def found(folder: Path, *words: str) -> Any:
    return answer_of(lambda: run(["--db", str(folder / ".ctxrank"), "search", *words, "--json"])).json()


def indexed(folder: Path) -> None:
    with make_store(folder) as store:
        index_artifacts(store)


# What an answer says of its age


def test_a_hit_whose_file_has_changed_says_so_and_how_to_go_on(folder: Path) -> None:
    indexed(folder)
    assert "out_of_date" not in found(folder, "zebra")
    (folder / "a.md").write_text("# A\n\nzebra and lion\n")
    assert found(folder, "zebra")["out_of_date"] == [{"path": "a.md", "state": "changed"}]
    said = answer_of(lambda: run(["--db", str(folder / ".ctxrank"), "search", "zebra"])).err
    assert "out of date: a.md (changed); 'ctxrank index'" in said and "--fresh" in said


def test_a_saved_finding_whose_file_is_gone_names_no_step_that_changes_nothing(folder: Path) -> None:
    db = ["--db", str(folder / ".ctxrank")]
    assert run([*db, "save", str(folder / "a.md")]) == 0
    (folder / "a.md").unlink()
    said = answer_of(lambda: run([*db, "search", "zebra"])).err
    assert "out of date: a.md (missing).\n" in said


def test_an_answer_without_hits_names_files_that_have_changed_or_are_gone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(out_of_date, "time", SimpleNamespace(thread_time=always(0.0), monotonic=always(0.0)))
    (folder / "b.md").write_text("b\n")
    indexed(folder)
    (folder / "a.md").write_text("# A\n\nlions!\n")
    (folder / "b.md").unlink()
    answer = found(folder, "lions")
    assert answer["hits"] == [] and answer["outcome"] == "no_match"
    states = {file["path"]: file["state"] for file in answer["out_of_date"]}
    assert states == {"a.md": "changed", "b.md": "missing"}
    os.utime(folder / "a.md", (1, 1))


def test_a_file_that_was_written_again_with_the_same_bytes_is_not_out_of_date(folder: Path) -> None:
    indexed(folder)
    os.utime(folder / "a.md", (1, 1))
    assert "out_of_date" not in found(folder, "lion")


@pytest.mark.slow
def test_the_look_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3000):
        (folder / f"{number}.md").write_text("x\n")
    indexed(folder)
    with make_store(folder) as store:
        times: list[float] = []
        for _ in range(5):
            began = time.thread_time()
            assert files_out_of_date(store) == []
            times.append(time.thread_time() - began)
        assert min(times) < 0.05
        for path in folder.glob("*.md"):
            path.unlink()
        monkeypatch.setattr(out_of_date, "_BUDGET_S", 60)
        assert len(files_out_of_date(store)) == 20
        monkeypatch.setattr(out_of_date, "_BUDGET_S", 0)
        assert len(files_out_of_date(store)) == 1


def test_a_fresh_search_indexes_what_has_changed_and_nothing_else(folder: Path) -> None:
    indexed(folder)
    (folder / "b.md").write_text("# B\n\nlion\n")
    assert found(folder, "lion")["hits"] == []
    with make_store(folder) as store:
        before = store.last_seq()
    answer = found(folder, "lion", "--fresh")
    assert [hit["path"] for hit in answer["hits"]] == ["b.md"]
    with make_store(folder) as store:
        after = store.last_seq()
        assert after == before + 2, "a file and its passage"
    assert found(folder, "lion", "--fresh")["hits"] and "out_of_date" not in found(folder, "lion")
    with make_store(folder) as store:
        assert store.last_seq() == after


# Following


def test_without_watchfiles_a_sentence_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    monkeypatch.chdir(folder)
    answer = answer_of(lambda: run(["index", "--watch"]))
    assert answer.code == 2 and "pip install 'ctxrank[watch]'" in answer.err and answer.out == ""


def test_watching_and_a_dry_run_exclude_each_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert answer_of(lambda: run(["index", "--watch", "--dry-run"])).code == 2


@pytest.mark.slow
@needs_watchfiles
def test_a_change_is_found_a_moment_later_with_one_line_a_batch(folder: Path, follower: Follower) -> None:
    assert "1 added: a.md" in follower.line()
    for name in ("b", "c", "d"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nlion\n")
    assert "added" in follower.until("d.md")
    assert len(found(folder, "lion")["hits"]) == 3
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "e.md").write_text("tiger\n")
    assert "1 added: deep/er/e.md" in follower.line()
    (folder / "a.md").rename(folder / "moved.md")
    assert "1 moved: moved.md" in follower.line()
    for path in (folder / "deep" / "er" / "e.md", folder / "deep" / "er", folder / "deep"):
        path.unlink() if path.is_file() else path.rmdir()
    assert "1 removed: deep/er/e.md" in follower.line()
    code, said = follower.end()
    assert code == 0 and "following" in said


@needs_watchfiles
def test_the_first_run_does_not_wait_until_the_store_is_at_rest(folder: Path) -> None:
    follower = Follower(folder)
    try:
        ends = time.monotonic() + _LIMIT_S
        while follower.lines.empty() and time.monotonic() < ends:
            (folder / ".ctxrank" / "noise").touch()
            time.sleep(0.02)
        assert "1 added: a.md" in follower.line()
    finally:
        follower.end()


@pytest.mark.slow
@needs_watchfiles
def test_what_is_ignored_or_ours_is_no_change_until_the_ignore_file_says_otherwise(folder: Path) -> None:
    (folder / ".gitignore").write_text("*.log\n")
    follower = Follower(folder)
    try:
        follower.line()
        for path in ("x.log", ".git/x.md", "node_modules/x.md", ".ctxrank/x.md", "__pycache__/x.md"):
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text("lion\n")
        assert follower.is_silent()
        (folder / ".gitignore").write_text("")
        assert "x.log" in follower.line()
    finally:
        assert follower.end()[0] == 0


@pytest.mark.needs("links")
@needs_watchfiles
def test_linked_artifacts_are_followed(folder: Path, follower: Follower) -> None:
    follower.line()
    tasks = folder / ".contextia" / "work" / "tasks"
    tasks.mkdir(parents=True)
    (tasks / "1.md").write_text("---\nid: TASK-1\ntitle: Lion\nstatus: open\n---\nwords\n")
    assert "1 linked" in follower.until("linked")
    assert found(folder, "lion")["hits"][0]["kind"] == "linked"


@needs_watchfiles
def test_json_is_one_answer_a_line(folder: Path) -> None:
    follower = Follower(folder, "--json")
    try:
        assert json.loads(follower.line())["added"] == ["a.md"]
        (folder / "b.md").write_text("b\n")
        answer = json.loads(follower.line())
        assert answer["added"] == ["b.md"] and answer["schema_version"] == 1 and answer["dry_run"] is False
    finally:
        assert follower.end()[0] == 0


@needs_watchfiles
def test_ctrl_c_ends_it_with_130(follower: Follower) -> None:
    follower.line()
    code, said = follower.end(signal.SIGINT)
    assert code == 130 and "interrupted" in said and "Traceback" not in said


@pytest.mark.slow
@needs_watchfiles
def test_one_process_follows_a_store_and_a_dead_one_keeps_no_lock(folder: Path, follower: Follower) -> None:
    follower.line()
    second = Follower(folder)
    assert second.process.wait(_LIMIT_S) == 7
    assert f"Process {follower.process.pid} follows this store already." in second.end()[1]
    assert follower.end(signal.SIGKILL)[0] == -signal.SIGKILL
    third = Follower(folder)
    assert "nothing to do" in third.line()
    assert third.end()[0] == 0


@needs_watchfiles
def test_a_lock_that_is_a_link_is_not_followed(folder: Path) -> None:
    target = folder.parent / f"{folder.name}-target"
    target.write_text("kept")
    (folder / ".ctxrank" / "watch.lock").symlink_to(target)
    follower = Follower(folder)
    assert follower.process.wait(_LIMIT_S) == 6
    assert "watch.lock cannot be opened" in follower.end()[1] and target.read_text() == "kept"


@pytest.mark.slow
@needs_watchfiles
def test_its_own_output_in_the_root_is_no_change(folder: Path) -> None:
    with (folder / "out.txt").open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _MAIN, "index", "--watch"], cwd=folder, stdout=out, stderr=out
        )
        time.sleep(4)
        process.send_signal(signal.SIGTERM)
        assert process.wait(_LIMIT_S) == 0
    assert (folder / "out.txt").read_text().count("\n") == 2


@pytest.mark.slow
@needs_watchfiles
def test_what_meets_a_locked_store_is_taken_in_when_it_is_free(folder: Path) -> None:
    follower = Follower(folder, environment={"CTXRANK_BUSY_TIMEOUT_MS": "100"})
    try:
        follower.line()
        with make_store(folder) as store, store.write():
            (folder / "b.md").write_text("lion\n")
            assert follower.is_silent(3)
        assert "b.md" in follower.line()
    finally:
        code, said = follower.end()
    assert code == 0 and said.count("tried again") == 1


@pytest.mark.slow
@needs_watchfiles
def test_only_the_paths_that_are_named_are_followed(folder: Path) -> None:
    (folder / "docs").mkdir()
    follower = Follower(folder, "docs")
    try:
        follower.line()
        (folder / "b.md").write_text("b\n")
        (folder / "docs" / "c.md").write_text("c\n")
        assert "1 added: docs/c.md" in follower.line()
        assert follower.is_silent(1)
    finally:
        assert follower.end()[0] == 0


@needs_watchfiles
@pytest.mark.slow
def test_a_burst_of_files_is_taken_in_by_few_batches(folder: Path, follower: Follower) -> None:
    follower.line()
    for number in range(1200):
        (folder / f"{number}.md").write_text(f"burst {number}\n")
    added = 0
    batches = 0
    while added < 1200:
        added += int(follower.line().split()[1])
        batches += 1
    assert batches <= 6


# The same without a process: what has changed is told by this test, and no disk is waited for


class _Told:
    """In place of watchfiles: a round without changes, and one after each step, with the paths that it says."""

    def __init__(
        self, steps: Iterable[Callable[[], Iterable[Path] | None]], error: BaseException | None = None
    ) -> None:
        self.watched: tuple[str, ...] = ()
        self._steps = steps
        self._error = error

    def watch(self, *paths: str, **_: object) -> Iterator[set[tuple[int, str]]]:
        self.watched = paths
        yield set()
        for step in self._steps:
            yield {(1, str(path)) for path in step() or ()}
        if self._error is not None:
            raise self._error


def _told(monkeypatch: pytest.MonkeyPatch, folder: Path, told: _Told, *words: str) -> Answer:
    """What `index --watch` prints, without the times of its lines."""
    monkeypatch.setitem(sys.modules, "watchfiles", cast("ModuleType", told))
    monkeypatch.chdir(folder)
    answer = answer_of(lambda: run(["index", "--watch", *words]))
    return answer._replace(out=re.sub(r"^[\d:]{8} ", "", answer.out, flags=re.MULTILINE))


def _write(folder: Path, *names: str) -> list[Path]:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"# {name}\n\nlion\n")
    return [folder / name for name in names]


def test_each_round_takes_in_what_of_its_changes_is_ours(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def removed() -> list[Path]:
        (folder / "b.md").unlink()
        (folder / "docs" / "c.md").unlink()
        (folder / "docs").rmdir()
        return [folder / "b.md", folder / "docs"]

    def allowed() -> list[Path]:
        (folder / ".gitignore").write_text("")
        return [folder / ".gitignore"]

    def touched() -> list[Path]:
        os.utime(folder / "a.md", (1, 1))
        return [folder / "a.md"]

    (folder / ".gitignore").write_text("*.log\n")
    steps = [
        list[Path],
        lambda: _write(folder, "b.md", "docs/c.md"),
        lambda: _write(folder, "x.log", ".git/x.md", "node_modules/x.md", ".ctxrank/x.md"),
        lambda: [folder.parent / "elsewhere.md", folder / "never_there.md"],
        touched,
        removed,
        lambda: _write(folder, *(f"{number}.md" for number in range(6))),
        allowed,
    ]
    told = _Told(steps)
    answer = _told(monkeypatch, folder, told)
    assert answer.code == 0 and told.watched == (os.path.realpath(folder),)
    assert answer.out.split("\n") == [
        "2 added: .gitignore, a.md",
        "2 added: b.md, docs/c.md",
        "2 removed: b.md, docs/c.md",
        "6 added: 0.md, 1.md, 2.md, 3.md, 4.md …",
        "1 added, 1 changed: x.log, .gitignore",
        "",
    ]
    assert answer.err.count("following") == 1 and f"following {os.path.realpath(folder)}; Ctrl-C ends it." in answer.err
    assert len(found(folder, "lion")["hits"]) > 5 and not found(folder, "lion", "--path", "b.md")["hits"]


def test_a_file_that_is_known_is_ours_though_git_hides_it_since(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hidden() -> list[Path]:
        (folder / ".git" / "info").mkdir(parents=True)
        (folder / ".git" / "info" / "exclude").write_text("*.md\n")
        return [folder / "a.md", *_write(folder, "b.md")]

    assert _told(monkeypatch, folder, _Told([hidden])).out == "1 added: a.md\n1 removed: a.md\n"


def test_a_round_in_which_nothing_of_ours_changed_runs_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Sequence[str]] = []
    heads = iter(["a", "a", "a", "b", "b"])

    def counted(store: Store, paths: Sequence[str], *more: Any) -> Indexed:
        runs.append([os.path.relpath(path, folder) for path in paths])
        return bring_up_to_date(store, paths, *more)

    def commit_of(_: str) -> str:
        return next(heads)

    monkeypatch.setattr(watch, "bring_up_to_date", counted)
    monkeypatch.setattr(watch, "commit_of", commit_of)
    (folder / ".gitignore").write_text("*.log\n")
    steps = (
        lambda: _write(folder, "x.log"),
        lambda: _write(folder, "y.log"),
        list[Path],
        lambda: _write(folder, "b.md"),
    )
    _told(monkeypatch, folder, _Told(steps))
    assert runs == [[], [".contextia"], ["b.md"]], "the first round, the one with another commit, and a file"


def test_many_changes_are_taken_in_by_one_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_MAX_PATHS", 2)
    told = _Told([lambda: _write(folder, "1.md", "2.md", "3.md")])
    assert _told(monkeypatch, folder, told).out.endswith("3 added: 1.md, 2.md, 3.md\n")


def test_the_paths_that_are_named_are_watched_and_must_be_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(folder, "docs/c.md")
    told = _Told([lambda: _write(folder, "docs/d.md")])
    answer = _told(monkeypatch, folder, told, "docs", "--json")
    assert told.watched == (os.path.realpath(folder / "docs"),)
    assert [json.loads(line)["added"] for line in answer.out.splitlines()] == [["docs/c.md"], ["docs/d.md"]]
    answer = _told(monkeypatch, folder, told, "docs", "gone")
    assert answer.code == 2 and "'gone' is not there, so it cannot be followed" in answer.err


def test_a_round_that_meets_a_lock_is_tried_again_and_says_so_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXRANK_BUSY_TIMEOUT_MS", "20")
    with contextlib.ExitStack() as held:

        def locked() -> list[Path]:
            held.enter_context(held.enter_context(make_store(folder)).write())
            return _write(folder, "b.md")

        answer = _told(monkeypatch, folder, _Told([locked, list[Path], held.close]))
    assert answer.code == 0 and answer.out == "1 added: a.md\n1 added: b.md\n"
    assert answer.err.count("It is tried again until it is free.") == 1


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, ""),
        (OSError("no more watches"), 6, "cannot be followed: no more watches. The system's limit"),
    ],
)
def test_how_it_ends(folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, said: str) -> None:
    answer = _told(monkeypatch, folder, _Told([], error))
    assert answer.code == code and said in answer.err


def test_a_root_that_is_gone_ends_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def moved() -> None:
        folder.rename(folder.with_name("moved"))

    answer = _told(monkeypatch, folder, _Told([moved]))
    assert answer.code != 0 and "is gone. Call 'ctxrank index --watch' again where it is." in answer.err

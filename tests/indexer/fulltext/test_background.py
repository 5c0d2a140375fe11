"""The process that updates the index beside a writer: what a note to it says of it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from builders import always, make_store, save, search_ids
from tables import each_row

from ctxrank.indexer.fulltext import background
from ctxrank.indexer.fulltext.background import background_indexer
from ctxrank.indexer.fulltext.fts5_engine import index_of
from ctxrank.indexer.store.store import Store


def test_a_note_is_taken_while_the_process_is_there_though_many_wait_and_not_after_its_end() -> None:
    notify = vars(background)["_notify"]
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    assert notify(writer)
    while True:
        try:
            os.write(writer, b"x" * 4096)
        except BlockingIOError:
            break
    for _ in range(4096):
        assert notify(writer), "so many notes wait already: it will look"
    os.close(reader)
    assert not notify(writer)
    os.close(writer)


class _Process:
    """In place of a process: what was done to it."""

    made: "list[_Process]" = []  # noqa: RUF012  a new list for each test

    def __init__(self, command: list[str], **_: object) -> None:
        self.command = command
        self.reader, writer = os.pipe()
        self.stdin = os.fdopen(writer, "wb", buffering=0)
        self.done: list[str] = []
        self.made.append(self)

    def wait(self) -> None:
        self.done.append(f"waited, {'closed' if self.stdin.closed else 'open'}")

    def kill(self) -> None:
        self.done.append("killed")


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store on a machine with two cores, whose processes are none."""
    monkeypatch.setattr(background, "cores", always(2))
    monkeypatch.setattr(subprocess, "Popen", _Process)
    monkeypatch.setattr(_Process, "made", [])
    return make_store(tmp_path)


def test_the_process_beside_a_writer_is_told_of_work_and_waited_for(beside: Store) -> None:
    with beside, background_indexer(beside) as notify:
        (process,) = _Process.made
        primary = beside.location.primary
        assert process.command == [sys.executable, "-P", "-m", background.__name__, primary, str(beside.busy_ms)]
        assert notify is not None and notify() and notify() and process.done == []
        assert os.read(process.reader, 9) == b"\n\n" and not os.get_blocking(process.stdin.fileno())
    assert process.done == ["waited, closed"] and os.read(process.reader, 9) == b""


def test_the_process_gives_free_pages_back_at_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "cores", always(2))
    with make_store(tmp_path) as store:
        save(store, "a.md", "A walrus.")
        index = index_of(store).connection
        index.execute("CREATE TABLE main.room (text); INSERT INTO room VALUES (zeroblob(1000000)); DROP TABLE room")
        assert index.pragma("freelist_count") > 100
        with background_indexer(store):
            pass
        assert index.pragma("freelist_count") == 0
        assert search_ids(store, "walrus") == ["package:1"]


def test_a_writer_that_fails_kills_the_process_beside_it(beside: Store) -> None:
    with pytest.raises(KeyboardInterrupt), beside, background_indexer(beside):
        raise KeyboardInterrupt
    assert _Process.made[0].done == ["killed", "waited, closed"]


@each_row("change", ["one core", "no index", "no program", "no process", "no pipe"])
def test_where_no_process_can_be_beside_it_the_writer_does_the_work(
    beside: Store, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    def refused(*_: object, **__: object) -> Any:
        raise OSError

    def without_pipe(command: list[str], **_: object) -> Any:
        process: Any = _Process(command)
        process.stdin.close()
        process.stdin = None
        return process

    with monkeypatch.context() as changed:
        if change == "one core":
            changed.setattr(background, "cores", always(1))
        elif change == "no index":
            changed.setattr(Store, "keeps_index", False)
        elif change == "no program":
            changed.setattr(sys, "executable", "")
        else:
            changed.setattr(subprocess, "Popen", refused if change == "no process" else without_pipe)
        with background_indexer(beside) as notify:
            assert notify is None
    assert len(_Process.made) == (change == "no pipe")

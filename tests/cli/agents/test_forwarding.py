"""A hook asks the process that serves its store at a Unix socket, and no other one."""

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from builders import make_store

from ctxrank.cli.agents import forwarding
from ctxrank.cli.agents.hook import answer_of
from ctxrank.cli.call import Call
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.store.one_process import only_one

_ANSWER = b'HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{"said": "yes"}'


@contextlib.contextmanager
def _serving(folder: Path, answer: bytes | None) -> Generator[list[bytes], None, None]:
    """A process that serves the store of a folder: what it is asked; None for one that is silent."""
    asked: list[bytes] = []
    path = folder / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        ends = threading.Event()

        def serve() -> None:
            while not ends.is_set():
                connection, _ = listener.accept()
                with connection:
                    data = connection.recv(100_000)
                    if data:
                        asked.append(data)
                    if answer is None:
                        ends.wait(5)
                    elif data:
                        connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with only_one(str(folder / ".ctxrank" / "serve.lock"), f"4711 unix:{path}", UsageError):
                yield asked
        finally:
            ends.set()
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as last:
                last.connect(str(path))
            thread.join(10)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    make_store(tmp_path).close()
    return tmp_path


def _event(folder: Path) -> bytes:
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "one", "cwd": str(folder), "prompt": "why is it so?"}
    return json.dumps(event).encode()


def test_an_event_is_answered_by_the_process_that_serves_its_store(shop: Path) -> None:
    (shop / "inner").mkdir()
    with _serving(shop, _ANSWER) as asked:
        assert answer_of(_event(shop / "inner"), "codex", Call()) == '{"said": "yes"}'
    assert asked[0].startswith(b"POST /hook?runner=codex HTTP/1.1\r\n") and asked[0].endswith(_event(shop / "inner"))
    assert answer_of(_event(shop), None, Call()) == ""  # the lock is there, and no process holds it


def test_a_process_of_another_user_and_one_of_another_store_are_not_asked(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _serving(shop, _ANSWER) as asked:
        assert answer_of(_event(shop), None, Call(db=str(shop / ".ctxrank" / "ctxrank.db"))) == ""

        def another_user(_: socket.socket) -> int:
            return os.getuid() + 1

        monkeypatch.setattr(forwarding, "peer_uid", another_user)
        assert answer_of(_event(shop), None, Call()) == ""
    assert asked == []


@pytest.mark.parametrize("answer", [None, b"HTTP/1.1 500 Oh\r\n\r\n{}"])
def test_who_does_not_answer_is_asked_once_and_nothing_is_kept_twice(
    shop: Path, answer: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "_ANSWER_S", 0.2)
    begun = time.monotonic()
    with _serving(shop, answer) as asked:
        assert answer_of(_event(shop), None, Call()) == ""
        assert time.monotonic() - begun < 3 and len(asked) == 1

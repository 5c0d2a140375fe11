"""Nobody locks the owner out of `ctxrank serve` and of the page: connections of strangers, over real sockets."""

import contextlib
import http.client
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from ctxrank.indexer.store.location import Location
from ctxrank.indexer.store.one_process import holder

pytest.importorskip("mcp", reason="the extra mcp is not installed")
pytest.importorskip("jinja2", reason="the extra web is not installed")

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from ctxrank.cli import local_server as module
from ctxrank.cli.local_server import HEAD_S, MOST_STRANGERS, admit, local_server
from ctxrank.cli.loopback import listening, peer_uid

_LIMIT_S = 20


def test_only_an_application_that_begins_and_ends_is_told_so() -> None:
    for has_lifespan, said in ((True, "on"), (False, "off")):
        server = local_server(Starlette(), end_s=3, has_lifespan=has_lifespan)
        assert (server.config.lifespan, server.config.timeout_graceful_shutdown) == (said, 3)
    assert local_server(Starlette(), end_s=1).config.lifespan == "off"


async def _answer(request: Request) -> PlainTextResponse:
    if request.headers.get("authorization"):
        admit(request.scope)
    return PlainTextResponse("here")


@contextlib.contextmanager
def _serving(path: str | None = None) -> Generator[int, None, None]:
    """A server in a thread; its port."""
    server = local_server(Starlette(routes=[Route("/", _answer)]), end_s=1)
    with listening(0, path) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield 0 if path else listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(_LIMIT_S)


def _connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=_LIMIT_S)


def _is_closed(connection: socket.socket, within_s: float = 0.0) -> bool:
    connection.settimeout(within_s)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
    except (TimeoutError, BlockingIOError):
        return False


def _asked(connection: http.client.HTTPConnection, **headers: str) -> bytes:
    connection.request("GET", "/", headers=headers)
    return connection.getresponse().read()


def test_of_strangers_the_oldest_are_closed_and_who_showed_a_token_stays() -> None:
    with _serving() as port, contextlib.ExitStack() as opened:
        owner = http.client.HTTPConnection("127.0.0.1", port, timeout=_LIMIT_S)
        opened.callback(owner.close)
        assert _asked(owner, authorization="token") == b"here"
        strangers: list[socket.socket] = []
        for _ in range(3 * MOST_STRANGERS):
            strangers.append(opened.enter_context(_connected(port)))
            strangers[-1].sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert all(_is_closed(one, _LIMIT_S) for one in strangers[:-MOST_STRANGERS])
        assert not any(_is_closed(one) for one in strangers[-MOST_STRANGERS:])
        assert _asked(owner) == b"here"
        new = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
        opened.callback(new.close)
        assert _asked(new) == b"here"


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /"])
def test_a_head_that_does_not_end_is_not_waited_for(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEAD_S", 0.4)
    with _serving() as port, _connected(port) as connection:
        begun = time.monotonic()
        connection.sendall(sent)
        with contextlib.suppress(ConnectionResetError):
            while connection.recv(1000):
                pass
        assert 0.3 < time.monotonic() - begun < 2.0


def test_a_body_and_an_answer_may_take_longer_than_a_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEAD_S", 0.2)
    with _serving() as port, _connected(port) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab")
        time.sleep(0.5)
        connection.sendall(b"cd")
        assert connection.recv(12) == b"HTTP/1.1 405"


def test_the_other_end_of_a_unix_socket_is_known_and_another_user_is_not_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "s")
    with _serving(path):
        assert os.stat(path).st_mode & 0o777 == 0o600
        for user, said in ((os.getuid(), b"HTTP/1.1 200"), (os.getuid() + 1, b"")):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(_LIMIT_S)
                monkeypatch.setattr(os, "getuid", lambda user=user: user)
                connection.connect(path)
                assert peer_uid(connection) in (None, os.stat(path).st_uid)
                with contextlib.suppress(OSError):
                    connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                    assert connection.recv(12) == said
                monkeypatch.undo()


class _Process(NamedTuple):
    port: int
    path: str
    headers: dict[str, str]


@pytest.fixture(params=["serve", "web"])
def process(request: pytest.FixtureRequest, loaded: Location, tmp_path: Path) -> Iterator[_Process]:
    """`ctxrank serve` or `ctxrank web`, and a request that its owner makes."""
    words = ["serve", "--port", "0"] if request.param == "serve" else ["web", "--no-open"]
    command = [sys.executable, "-m", "ctxrank.cli", *words]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as started:
        try:
            if request.param == "serve":
                ends = time.monotonic() + _LIMIT_S
                while not (says := holder(str(tmp_path / ".ctxrank" / "serve.lock"))) and time.monotonic() < ends:
                    time.sleep(0.05)
                token = (tmp_path / ".ctxrank" / "serve.token").read_text().strip()
                yield _Process(int(says.rpartition(":")[2]), "/mcp", {"Authorization": f"Bearer {token}"})
            else:
                assert started.stdout is not None
                address = urlsplit(str(started.stdout.readline()).strip())
                assert address.port
                with contextlib.closing(http.client.HTTPConnection("127.0.0.1", address.port)) as browser:
                    browser.request("GET", f"{address.path}?{address.query}")
                    cookie = str(browser.getresponse().getheader("set-cookie")).partition(";")[0]
                yield _Process(address.port, address.path.removesuffix("open"), {"Cookie": cookie})
        finally:
            started.terminate()
            started.communicate(timeout=_LIMIT_S)


@pytest.mark.slow
def test_half_open_connections_lock_nobody_out(process: _Process) -> None:
    with contextlib.ExitStack() as opened:
        owner = http.client.HTTPConnection("127.0.0.1", process.port, timeout=_LIMIT_S)
        opened.callback(owner.close)
        owner.request("GET", process.path, headers=process.headers)
        owner.getresponse().read()
        kept = owner.sock
        strangers: list[socket.socket] = []
        for _ in range(6):
            strangers += [opened.enter_context(_connected(process.port)) for _ in range(50)]
            owner.request("GET", process.path, headers=process.headers)
            assert owner.getresponse().read() and owner.sock is kept
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", process.port, timeout=5)) as new:
            new.request("GET", process.path, headers=process.headers)
            assert new.getresponse().status not in (401, 403)
        open_still = [one for one in strangers if not _is_closed(one)]
        assert 0 < len(open_still) <= MOST_STRANGERS and open_still == strangers[-len(open_still) :]
        assert all(_is_closed(one, HEAD_S + 1) for one in open_still)

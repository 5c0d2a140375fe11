"""A server that only its own user's machine reaches: the names that it answers to, its socket, token and bodies."""

import asyncio
import os
import socket
import stat
import struct
import sys
from pathlib import Path
from typing import Any

import pytest
from tables import each_row

from ctxrank.cli.loopback import is_local, kept_token, listening, made_token, peer_uid
from ctxrank.cli.request_body import read_body
from ctxrank.indexer.exceptions import CtxrankError


@each_row(
    "host, expected",
    [
        ("127.0.0.1", True),
        ("127.0.0.1:8733", True),
        ("localhost", True),
        ("localhost:1", True),
        ("[::1]", True),
        ("[::1]:80", True),
        ("", False),
        (":80", False),
        ("localhost:", False),
        ("localhost:x", False),
        ("evil.example", False),
        ("evil.example:80", False),
        ("127.0.0.1.evil.example:80", False),
    ],
)
def test_only_this_machine_s_own_names_are_local(host: str, expected: bool) -> None:
    assert is_local(host) is expected


def test_a_token_is_made_once_and_is_its_user_s_alone(tmp_path: Path) -> None:
    path = tmp_path / "serve.token"
    token = made_token(str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and len(token) == 43
    assert token == made_token(str(path)) == kept_token(str(path))
    assert token != made_token(str(tmp_path / "another"))


def test_a_token_is_read_of_a_regular_file_alone(tmp_path: Path) -> None:
    made_token(str(tmp_path / "serve.token"))
    (tmp_path / "link").symlink_to("serve.token")
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("link", "pipe"):
        with pytest.raises(CtxrankError, match="is not a file of yours alone"):
            kept_token(str(tmp_path / name))


@each_row("mode", [0o640, 0o604, 0o620, 0o601, 0o610])
def test_a_token_that_others_may_touch_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / f"{mode:o}.token"
    made_token(str(path))
    path.chmod(mode)
    with pytest.raises(CtxrankError, match="is not a file of yours alone"):
        kept_token(str(path))


@each_row(
    "text, is_token",
    [("x" * 32, True), (f" {'x' * 32}\n", True), ("x" * 31, False), ("", False), ("x" * 32 + "\x07y", False)],
)
def test_what_is_too_short_or_cannot_be_sent_is_no_token(tmp_path: Path, text: str, is_token: bool) -> None:
    path = tmp_path / "serve.token"
    path.write_text(text)
    path.chmod(0o600)
    if is_token:
        assert kept_token(str(path)) == "x" * 32
    else:
        with pytest.raises(CtxrankError, match="holds no token"):
            kept_token(str(path))


def test_a_link_in_the_place_of_a_token_is_not_followed(tmp_path: Path) -> None:
    made_token(str(tmp_path / "real"))
    (tmp_path / "serve.token").symlink_to(tmp_path / "real")
    with pytest.raises(CtxrankError, match="is not a file of yours alone"):
        made_token(str(tmp_path / "serve.token"))


def test_a_socket_is_its_user_s_alone_and_goes_with_its_server(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with listening(0, str(path)) as listener:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.connect(str(path))
            connection, _ = listener.accept()
            assert peer_uid(connection) == os.getuid()
            connection.close()
        with pytest.raises(CtxrankError, match="cannot be listened at"), listening(0, str(path)):
            pass  # somebody answers there
    assert not path.exists()
    with listening(0) as listener:
        host, port = listener.getsockname()
        assert host == "127.0.0.1" and port > 0


class _Answering:
    """A socket that has one answer to a question about its other end."""

    def __init__(self, answer: bytes) -> None:
        self.asked: list[tuple[int, ...]] = []
        self._answer = answer

    def getsockopt(self, *asked: int) -> bytes:
        self.asked.append(asked)
        return self._answer


@each_row(
    "system, answer, uid, asked",
    [
        ("darwin", struct.pack("2I68x", 0, 501), 501, [(0, 1, 76)]),  # a version, the user, groups
        ("sunos5", b"", None, []),
    ],
)
def test_each_system_says_in_its_own_words_who_is_at_the_other_end(
    monkeypatch: pytest.MonkeyPatch, system: str, answer: bytes, uid: int | None, asked: list[tuple[int, ...]]
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    connection: Any = _Answering(answer)
    assert peer_uid(connection) == uid and connection.asked == asked


def test_what_a_killed_server_left_is_replaced_and_no_other_file_is(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:
        left.bind(str(path))  # closed without being removed
    with listening(0, str(path)):
        pass
    path.write_text("a note")
    with pytest.raises(CtxrankError, match="cannot be listened at"), listening(0, str(path)):
        pass
    assert path.read_text() == "a note"


def _body(messages: list[dict[str, Any]], most: int, **headers: str) -> list[dict[str, Any]] | None:
    """What a server reads after the body was looked at: all messages, None for what was refused."""
    waiting = list(messages)

    async def receive() -> dict[str, Any]:
        return waiting.pop(0)

    async def read() -> list[dict[str, Any]] | None:
        scope = {"headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]}
        again = await read_body(scope, receive, most)
        return None if again is None else [dict(await again()) for _ in range(1 + len(waiting))]

    return asyncio.run(read())


def _request(body: bytes | None, *, more: bool | None = None) -> dict[str, Any]:
    message: dict[str, Any] = {"type": "http.request"}
    return message | ({} if body is None else {"body": body}) | ({} if more is None else {"more_body": more})


_GONE = {"type": "http.disconnect"}


@each_row(
    "messages, headers, body",
    [
        ([_request(b"12345")], {"content_length": "5"}, b"12345"),  # as many as there may be
        ([_request(b"123456")], {}, None),
        ([_request(b"1")], {"content_length": "6"}, None),  # refused before it is read
        ([_request(b"1")], {"content_length": "-1"}, None),
        ([_request(b"1")], {"content_length": "one"}, None),
        ([_request(b"12", more=True), _request(b"345", more=False)], {}, b"12345"),
        ([_request(b"123", more=True), _request(b"456", more=False)], {}, None),
        ([_request(None, more=True), _request(b"1")], {}, b"1"),
        ([_request(None)], {}, b""),
    ],
)
def test_a_body_is_read_whole_or_refused(
    messages: list[dict[str, Any]], headers: dict[str, str], body: bytes | None
) -> None:
    read = _body([*messages, _GONE], 5, **headers)
    assert read == (None if body is None else [{"type": "http.request", "body": body, "more_body": False}, _GONE])


def test_a_client_that_has_gone_is_said_to_be_gone() -> None:
    assert _body([_request(b"1", more=True), _GONE], 5) == [_GONE]

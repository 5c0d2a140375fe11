"""One process serves many: who is let in, what is answered, and how it ends."""

import http.client
import importlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from runner_events import Runner as HookRunner

from ctxrank.cli.main import declared_commands, run
from ctxrank.cli.schema import commands_of
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.store.location import Location
from ctxrank.indexer.store.one_process import holder

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import anyio
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from ctxrank.extensions.mcp.serve import DOES

_LIMIT_S = 60
_LOCKED = "workers crash with 'database is locked' right after a deploy, the timeout is 30s"


class Served(NamedTuple):
    """A process that serves a store at a port."""

    process: "subprocess.Popen[str]"
    folder: Path
    port: int

    @property
    def token(self) -> str:
        """What requests carry."""
        return (self.folder / ".ctxrank" / "serve.token").read_text(encoding="ascii").strip()

    def ask(self, path: str, given: object = None, **headers: str) -> tuple[int, Any]:
        """The status and the JSON of an answer; the token is sent unless `authorization` says otherwise."""
        sent = {
            "authorization": f"Bearer {self.token}",
            **{name.replace("_", "-"): text for name, text in headers.items()},
        }
        body = given if isinstance(given, bytes) else None if given is None else json.dumps(given)
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=_LIMIT_S)) as connection:
            connection.request("GET" if body is None else "POST", path, body, {k: v for k, v in sent.items() if v})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text.startswith(b"{") else text.decode()

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """The exit code after a signal, and what was said."""
        self.process.send_signal(number)
        said = self.process.communicate(timeout=_LIMIT_S)[1]
        return self.process.returncode, said


def _start(folder: Path, *words: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "ctxrank.cli", "serve", *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _where(process: "subprocess.Popen[str]", folder: Path) -> str:
    """What its lock says, once it serves."""
    ends = time.monotonic() + _LIMIT_S
    while time.monotonic() < ends and process.poll() is None:
        pid, _, where = holder(str(folder / ".ctxrank" / "serve.lock")).partition(" ")
        if pid == str(process.pid):
            return where
        time.sleep(0.02)
    raise AssertionError(process.communicate()[1])


@pytest.fixture(scope="module")
def shared(loaded_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One process for the tests that only ask."""
    from builders import copy_store

    folder = tmp_path_factory.mktemp("served")
    copy_store(loaded_once, folder)
    process = _start(folder, "--port", "0")
    served = Served(process, folder, int(_where(process, folder).rpartition(":")[2]))
    try:
        yield served
    finally:
        if process.poll() is None:
            served.end()


def test_commands_are_answered_as_the_command_line_answers_them(
    shared: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    status, answer = shared.ask("/api/search", {"query": ["locked"], "limit": 2})
    assert run(["--db", str(shared.folder / ".ctxrank" / "ctxrank.db"), "search", "locked", "-n", "2", "--json"]) == 0
    assert status == 200 and json.loads(capsys.readouterr().out).items() <= answer.items()
    listed = shared.ask("/api/list", {"kind": "packages"})[1]
    assert listed["total"] > 10 and listed["packages"] == shared.ask("/api/package/list", {})[1]["packages"]
    assert shared.ask("/api/drifted", {})[0] == 200
    status, answer = shared.ask("/api/error/match", {"file": "-", "project": "shop", "stdin": "database is locked"})
    assert status == 200 and answer["outcome"] in ("matched", "no_match")


def test_what_is_served_is_a_command() -> None:
    assert dict(commands_of(declared_commands())).keys() >= DOES.keys(), "and 'ctxrank schema' lists it"


@pytest.mark.parametrize(
    ("path", "given", "headers", "status", "said"),
    [
        ("/api/search", {"query": "x"}, {"authorization": ""}, 401, "The token is missing or wrong."),
        ("/api/search", {"query": "x"}, {"authorization": "Bearer x"}, 401, "The token is missing or wrong."),
        ("/mcp", {}, {"authorization": ""}, 401, "The token is missing or wrong."),
        ("/api/search", {"query": "x"}, {"host": "evil.example"}, 421, "is not this machine"),
        ("/api/search", {"query": "x"}, {"origin": "https://evil.example"}, 403, "may not ask"),
        ("/api/search", {"query": "x"}, {"origin": "null"}, 403, "may not ask"),
        ("/api/search", {"query": "x"}, {"content_length": "99999999999"}, 413, "too long"),
        ("/api/purge", {}, {}, 400, "'purge' is not served."),
        ("/api/no/such", {}, {}, 400, "'no such' is not served."),
        ("/api/no/list", {}, {}, 400, "There is no command 'no list'."),
        ("/api/search", {}, {}, 400, "'search' needs query."),
        ("/api/error/match", {"file": "a\0b"}, {}, 400, "'file' is a path to read, not"),
        ("/api/search", b"[1]", {}, 400, "no JSON object"),
        ("/api/search", b"{", {}, 400, "no JSON"),
        ("/api/search", b"[" * 100_000, {}, 400, "no JSON"),
        ("/api/show", {"document": "package:999"}, {}, 404, "There is no package:999."),
    ],
)
def test_what_is_not_allowed_or_wrong_is_refused_in_words(
    shared: Served, path: str, given: object, headers: dict[str, str], status: int, said: str
) -> None:
    got, answer = shared.ask(path, given, **headers)
    assert (got, said in answer["error"]["message"]) == (status, True), answer


@pytest.mark.slow
def test_a_body_sent_in_chunks_is_bounded_like_any_other(shared: Served) -> None:
    assert _chunked(shared, [b'{"query": ', b'["locked"]}'])[0] == 200
    status, said = _chunked(shared, [b" " * (1 << 20)] * 25)
    assert status == 413 and said["error"]["message"] == "The request is too long."


def _chunked(served: Served, chunks: list[bytes]) -> tuple[int, Any]:
    headers = {"authorization": f"Bearer {served.token}"}
    with closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=_LIMIT_S)) as connection:
        connection.request("POST", "/api/search", iter(chunks), headers, encode_chunked=True)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def test_an_address_with_very_many_fields_is_no_failure_of_ours(shared: Served) -> None:
    many = "&".join(f"x{number}=1" for number in range(61))
    assert shared.ask(f"/api/search?{many}", {"query": ["locked"]})[0] == 200
    assert shared.ask(f"/hook?{many}", {})[0] == 200
    with closing(http.client.HTTPConnection("127.0.0.1", shared.port, timeout=_LIMIT_S)) as connection:
        way = shared.ask("/ticket", {})[1]
        connection.request("GET", f"{way['opening']}?ticket={way['ticket']}")
        opened = connection.getresponse()
        cookie = str(opened.headers["set-cookie"]).partition(";")[0]
        opened.read()
        connection.request("GET", f"{way['opening'].removesuffix('open')}?{many}", headers={"cookie": cookie})
        assert connection.getresponse().status == 400


def test_a_query_of_any_length_is_bounded_and_the_answer_says_so(shared: Served) -> None:
    """A word of 20 MB, and one of 20,000 characters: the process stays small."""
    status, found = shared.ask("/api/search", {"query": ["locked " + "ab" * (10 << 20)]})
    assert status == 200 and found["hits"]
    assert any("its first and last 16,384 were asked" in note for note in found["notes"])
    assert shared.ask("/api/search", {"query": ["abcdefghij" * 2000]})[0] == 200
    peak = Path(f"/proc/{shared.process.pid}/status")
    if peak.exists():
        most = next(line for line in peak.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM"))
        assert int(most.split()[1]) < 500_000, most


def test_a_page_of_this_machine_may_ask_and_health_needs_no_token(shared: Served) -> None:
    assert shared.ask("/api/status", {}, origin=f"http://localhost:{shared.port}")[0] == 200
    status, answer = shared.ask("/health", authorization="")
    assert (status, answer["serving"], answer["pid"]) == (200, True, shared.process.pid)


def test_over_http_a_runner_gets_the_tools(shared: Served) -> None:
    import httpx2

    async def main() -> None:
        headers = {"Authorization": f"Bearer {shared.token}"}
        async with httpx2.AsyncClient(headers=headers) as http_client:
            transport = streamable_http_client(f"http://127.0.0.1:{shared.port}/mcp", http_client=http_client)
            async with Client(transport) as client:
                assert len((await client.list_tools()).tools) == 8
                found = await client.call_tool("search", {"query": "database is locked"})
                assert "database-is-locked.md" in str(found.content)

    anyio.run(main)


def test_the_pages_are_its_too_for_the_browser_that_opens_a_ticket(shared: Served) -> None:
    pytest.importorskip("jinja2", reason="the extra web is not installed")
    status, said = shared.ask("/")  # the token is for programs
    assert status == 401 and "run 'ctxrank web'" in said
    assert shared.ask("/ticket", {}, authorization="")[0] == 401
    command = [sys.executable, "-m", "ctxrank.cli", "web", "--no-open"]
    done = subprocess.run(command, cwd=shared.folder, capture_output=True, text=True, timeout=_LIMIT_S, check=True)
    address = done.stdout.strip()
    folder = address.partition(str(shared.port))[2].partition("/open?ticket=")[0]
    assert address.startswith(f"http://127.0.0.1:{shared.port}/") and len(folder) > 40
    assert "'ctxrank serve'" in done.stderr
    with closing(http.client.HTTPConnection("127.0.0.1", shared.port, timeout=_LIMIT_S)) as browser:
        browser.request("GET", address.partition(str(shared.port))[2])
        answer = browser.getresponse()
        cookie = str(answer.getheader("set-cookie")).partition(";")[0]
        assert answer.status == 200 and b"./" in answer.read()
        browser.request("GET", f"{folder}/?q=database+locked", headers={"Cookie": cookie})
        answer = browser.getresponse()
        assert answer.status == 200 and b"database-is-locked" in answer.read()
        browser.request("POST", "/api/status", b"{}", headers={"Cookie": cookie})
        assert browser.getresponse().status == 401  # and the cookie is for pages
    assert shared.ask("/api/status", {})[0] == 200


@pytest.mark.parametrize("module", ["starlette", "anyio", "mcp"])
def test_without_the_extra_it_says_how_to_get_it(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ctxrank.extensions.mcp.serve", "ctxrank.cli.request_body"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in [module, *(name for name in sys.modules if name.startswith(f"{module}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match="'ctxrank serve' needs the extra mcp"):
        importlib.import_module("ctxrank.extensions.mcp.serve")


def test_without_the_pages_it_says_so_and_serves_the_rest(
    loaded: Location, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from starlette.testclient import TestClient

    from ctxrank.cli.call import Call
    from ctxrank.extensions.mcp.serve import app

    for module, reason in (("ctxrank.extensions.web.port", "This installation leaves"), ("jinja2", "ctxrank[web]")):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, module, None)
            without.delitem(sys.modules, "ctxrank.extensions.web.command", raising=False)
            served = TestClient(app(Call(db=loaded.primary), "secret"), base_url="http://127.0.0.1")
        said = capsys.readouterr().err
        assert "no pages are served" in said and reason in said
        assert served.get("/health").json()["serving"] is True
        assert served.post("/ticket", headers={"authorization": "Bearer secret"}).status_code == 404
        answer = served.post("/api/search", json={"query": ["locked"]}, headers={"authorization": "Bearer secret"})
        assert answer.status_code == 200, answer.text


@pytest.mark.slow
def test_status_and_a_second_server_know_of_it(shared: Served, capsys: pytest.CaptureFixture[str]) -> None:
    second = _start(shared.folder, "--port", "0")
    said = second.communicate(timeout=_LIMIT_S)[1]
    assert second.returncode == 7 and f"Process {shared.process.pid} serves this store already, at http://" in said
    assert run(["--db", str(shared.folder / ".ctxrank" / "ctxrank.db"), "status"]) == 0
    assert f"served    by process {shared.process.pid} at http://127.0.0.1:{shared.port}" in capsys.readouterr().out


@pytest.mark.slow
def test_a_port_that_is_taken_is_refused_in_words(shared: Served, loaded: Location, tmp_path: Path) -> None:
    other = _start(tmp_path, "--port", str(shared.port))
    said = other.communicate(timeout=_LIMIT_S)[1]
    assert other.returncode == 6 and f"port {shared.port} cannot be listened at" in said


@pytest.mark.slow
def test_it_ends_cleanly_on_sigterm_and_keeps_its_token(loaded: Location, tmp_path: Path) -> None:
    tokens: list[str] = []
    for _ in range(2):
        process = _start(tmp_path, "--port", "0")
        served = Served(process, tmp_path, int(_where(process, tmp_path).rpartition(":")[2]))
        tokens.append(served.token)
        code, said = served.end()
        assert code == 0 and "Traceback" not in said
        assert holder(str(tmp_path / ".ctxrank" / "serve.lock")) == ""
    assert tokens[0] == tokens[1]
    assert stat.S_IMODE((tmp_path / ".ctxrank" / "serve.token").stat().st_mode) == 0o600


@pytest.mark.slow
def test_a_token_that_others_can_read_is_refused(loaded: Location, tmp_path: Path) -> None:
    path = tmp_path / ".ctxrank" / "serve.token"
    path.write_text("x" * 40)
    path.chmod(0o644)
    process = _start(tmp_path, "--port", "0")
    said = process.communicate(timeout=_LIMIT_S)[1]
    assert process.returncode == 6 and "is not a file of yours alone" in said


@pytest.mark.slow
def test_a_socket_is_its_users_alone_and_replaces_a_dead_one(loaded: Location, tmp_path: Path) -> None:
    path = tmp_path / "s"
    for _ in range(2):
        process = _start(tmp_path, "--socket", str(path))
        assert _where(process, tmp_path) == f"unix:{path}"
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        with closing(http.client.HTTPConnection("localhost")) as connection:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(str(path))
            connection.request("POST", "/api/search", json.dumps({"query": "locked"}))
            assert json.loads(connection.getresponse().read())["total"] > 0
        assert "database-is-locked.md" in HookRunner(tmp_path, str(process.pid)).prompt(_LOCKED)
        process.kill()
        process.communicate()
    assert path.exists()


@pytest.mark.slow
def test_what_was_acknowledged_is_there_after_a_kill(loaded: Location, tmp_path: Path) -> None:
    process = _start(tmp_path, "--port", "0")
    served = Served(process, tmp_path, int(_where(process, tmp_path).rpartition(":")[2]))
    given = {"session": "shop-2026-10", "agent": "developer", "phase": "decisions", "content": "zorblax stays"}
    status, answer = served.ask("/api/reasoning/save", given)
    assert status == 200 and answer["id"]
    served.end(signal.SIGKILL)
    process = _start(tmp_path, "--port", "0")
    served = Served(process, tmp_path, int(_where(process, tmp_path).rpartition(":")[2]))
    assert served.ask("/api/search", {"query": "zorblax"})[1]["total"] == 1
    assert served.end()[0] == 0

"""The protocol over two streams, line by line: what an answer to each line is, and what has none."""

import io
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from builders import make_store
from older_rules import leave_token

from ctxrank.cli.agents.ask import ask
from ctxrank.cli.call import Call
from ctxrank.extensions.mcp.mcp import Served, described_server
from ctxrank.extensions.mcp.protocol import Connection, Json, Method, Say
from ctxrank.indexer.store.location import Location

_META = "io.modelcontextprotocol/"


def _answers(lines: list[object], methods: dict[str, Method] | None = None) -> list[Any]:
    """What is answered to these messages; a text is sent as it is."""
    sent = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    answers = io.BytesIO()
    known = Served(Call(db="/no/such/ctxrank.db"), "mcp-test").methods() if methods is None else methods
    Connection(known, described_server(), answers).serve(
        [f"{line}\n".encode("utf-8", "surrogateescape") for line in sent]
    )
    return [json.loads(line) for line in answers.getvalue().splitlines()]


def _asked(method: str, id_: object = 1, **params: object) -> Json:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


@pytest.mark.parametrize(
    ("line", "code", "id_"),
    [
        ("{", -32700, None),
        ("[" * 100_000, -32700, None),
        ('{"jsonrpc": "2.0", "id": 1, "method": "ping\udcff"}', -32700, None),
        ([_asked("ping")], -32600, None),
        ({"id": 1, "method": "ping"}, -32600, 1),
        ({"jsonrpc": "2.0", "id": 1}, -32600, 1),
        (_asked("ping", None), -32600, None),
        (_asked("ping", True), -32600, None),
        (_asked("no/such", "x"), -32601, "x"),
        ({**_asked("ping"), "params": [1]}, -32602, 1),
        (_asked("initialize"), -32602, 1),
        (_asked("tools/call", name="no_such"), -32602, 1),
        (_asked("tools/call"), -32602, 1),
        (_asked("resources/read", uri="file:///etc/passwd"), -32602, 1),
        (_asked("resources/read", uri="ctxrank://package/1"), -32602, 1),
        (_asked("ping", _meta={f"{_META}protocolVersion": "2099-01-01"}), -32022, 1),
    ],
)
def test_a_line_that_is_wrong_is_refused_by_its_code_in_words(line: object, code: int, id_: object) -> None:
    refused, answer = sorted(_answers([line, _asked("ping", 2)]), key=lambda one: one["id"] == 2)
    assert (refused["error"]["code"], refused["id"]) == (code, id_) and refused["error"]["message"]
    assert answer == {"jsonrpc": "2.0", "id": 2, "result": {}}


def test_what_is_no_request_is_not_answered() -> None:
    lines: list[object] = [
        "",
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": []}},
    ]
    assert _answers(lines) == []


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")],
)
def test_the_revision_is_the_clients_where_it_is_known(asked: str, agreed: str) -> None:
    result = _answers([_asked("initialize", protocolVersion=asked, capabilities={}, clientInfo={})])[0]["result"]
    assert result["protocolVersion"] == agreed and result["capabilities"].keys() == {"tools", "resources"}
    assert result["serverInfo"]["name"] == "ctxrank" and result["serverInfo"]["version"] and result["instructions"]


def test_a_request_that_says_its_own_revision_gets_what_that_asks_for() -> None:
    meta = {f"{_META}protocolVersion": "2026-07-28"}
    found, listed = _answers([_asked("server/discover", _meta=meta), _asked("tools/list", 2, _meta=meta)])
    assert found["result"]["supportedVersions"] == ["2026-07-28"]
    for one in (found, listed):
        assert one["result"]["resultType"] == "complete" and one["result"]["cacheScope"] == "private"
        assert one["result"]["_meta"][f"{_META}serverInfo"]["name"] == "ctxrank"


def test_a_cancelled_request_is_not_answered_and_ping_is_meanwhile() -> None:
    """The one that runs ends only when a later line has been read; one that waits behind it is never begun."""
    may_end = threading.Event()
    begun: list[str] = []

    def slow(params: Json, _: Say | None) -> Json:
        begun.append(str(params["name"]))
        assert may_end.wait(60)
        return {"name": params["name"]}

    def end(_: Json, __: Say | None) -> Json:
        may_end.set()
        return {}

    def cancelled(id_: int) -> Json:
        return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}}

    slow_ones: list[object] = [_asked("slow", id_, name=id_) for id_ in (1, 2, 3, 4, 5)]
    lines = [*slow_ones, cancelled(1), cancelled(5), _asked("ping", 6), _asked("end", 7)]
    answers = _answers(lines, {"slow": Method(slow), "end": Method(end, is_quick=True)})
    assert [one["id"] for one in answers[:2]] == [6, 7]
    assert {one["id"] for one in answers[2:]} == {2, 3, 4} and "5" not in begun


def test_what_a_tool_says_meanwhile_is_progress_where_a_token_asks_for_it() -> None:
    def telling(_: Json, say: Say | None) -> Json:
        for text in ("first", "second"):
            if say is not None:
                say(text)
        return {}

    methods = {"tell": Method(telling)}
    *told, answer = _answers([_asked("tell", _meta={"progressToken": "t"})], methods)
    assert [one["params"] for one in told] == [
        {"progressToken": "t", "progress": 1, "message": "first"},
        {"progressToken": "t", "progress": 2, "message": "second"},
    ]
    assert answer["id"] == 1 and len(_answers([_asked("tell")], methods)) == 1


def test_half_a_character_in_an_argument_is_a_mistake_in_words(loaded: Location) -> None:
    """JSON can say a lone surrogate, which neither UTF-8 nor SQLite can."""
    lines: list[object] = [
        _asked("tools/call", name=name, arguments={argument: "a \ud800 b"})
        for name, argument in (("search", "query"), ("read", "id"), ("match_error", "output"), ("why", "id"))
    ]
    for one in _answers(lines, Served(Call(db=loaded.primary), "mcp-test").methods()):
        text = one["result"]["content"][0]["text"]
        assert text and "Internal error" not in text and "Traceback" not in text, text


def test_a_line_is_read_of_a_file_without_an_extension(tmp_path: Path) -> None:
    (tmp_path / "makefile").write_text("build:\n\tcc x.c\n")
    make_store(tmp_path).close()
    call = Call(db=str(tmp_path / ".ctxrank" / "ctxrank.db"))
    ask(call, "index", {})
    asked = _asked("tools/call", name="read", arguments={"id": "makefile:2"})
    (answer,) = _answers([asked], Served(call, "mcp-test").methods())
    assert "cc x.c" in answer["result"]["content"][0]["text"]


def test_calls_at_once_save_into_one_new_session(loaded: Location) -> None:
    for attempt in range(5):
        lines: list[object] = [
            _asked("tools/call", number, name="save_reasoning", arguments={"text": f"{number} locks", "phase": "risks"})
            for number in range(4)
        ]
        answers = _answers(lines, Served(Call(db=loaded.primary), f"mcp-{attempt}").methods())
        assert [one["result"]["isError"] for one in answers] == [False] * 4, answers


def test_a_mistake_of_ours_is_answered_too() -> None:
    def broken(_: Json, __: Say | None) -> Json:
        raise KeyError("x")

    assert _answers([_asked("broken")], {"broken": Method(broken)})[0]["error"]["code"] == -32603


def test_neither_the_sdk_nor_a_store_is_loaded_for_the_first_answers(tmp_path: Path) -> None:
    program = """
import sys
from ctxrank.cli.main import run
assert run(["mcp"]) == 0
heavy = ("mcp", "pydantic", "anyio", "apsw", "click", "tiktoken", "importlib.metadata")
print([name for name in heavy if name in sys.modules], file=sys.stderr)
"""
    sent = [_asked("initialize", protocolVersion="2025-06-18"), _asked("tools/list", 2)]
    text = "".join(f"{json.dumps(one)}\n" for one in sent)
    done = subprocess.run(
        [sys.executable, "-c", program], input=text, capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    assert done.stderr == "[]\n" and len(json.loads(done.stdout.splitlines()[1])["result"]["tools"]) == 8


def test_what_a_child_process_prints_is_no_part_of_the_protocol(tmp_path: Path) -> None:
    program = """
import subprocess, sys
from ctxrank.extensions.mcp import mcp
def list_tools(self, params, say):
    subprocess.run([sys.executable, "-c", "print('noise', repr(__import__('sys').stdin.read()))"])
    return {"tools": []}
mcp.Served.list_tools = list_tools
from ctxrank.cli.main import run
run(["mcp"])
"""
    text = f"{json.dumps(_asked('tools/list'))}\n{json.dumps(_asked('ping', 2))}\n"
    done = subprocess.run(
        [sys.executable, "-c", program], input=text, capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]
    assert done.stderr == "noise ''\n"


def test_a_package_is_listed_without_what_older_rules_have_left(tmp_path: Path) -> None:
    token = leave_token(tmp_path)
    listed = str(Served(Call(db=str(tmp_path / ".ctxrank")), "mcp-test").list_resources({}))
    assert token not in listed and "_REDACTED" in listed

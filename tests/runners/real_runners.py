"""The real agent runners, run in a project of their own against a stand-in for the model.

    with RealRunner("codex", folder) as runner:
        sent = runner.converse("make the tests pass", runner.shell("make test"), "They fail.")
        sent[1]                                     what the model was sent after the command
        runner.ctxrank("error", "list")             what the store holds then

A runner's HOME and state are folders of the test, its key is made up, and a proxy that is not there keeps it from any
host but this one. Where CTXRANK_HOOK is set, it is what the runner calls at each event instead of `ctxrank hook …`:
with `true` no conversation may come out as it should.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from stand_in import StandIn, Tool, Turn

from ctxrank.cli.agents.event import CLAUDE_CODE, CODEX

INSTEAD_OF_HOOK = os.environ.get("CTXRANK_HOOK", "")
_HOUSE = Path(__file__).parents[2]
PROGRAMS = Path(os.environ.get("CTXRANK_RUNNERS") or _HOUSE / ".venv" / "runners" / "node_modules") / ".bin"
_LONGEST_S = 180
_BESIDES = (sys.executable, shutil.which("node") or "")  # where ctxrank is, and what most of these run on
_CODEX_CONFIG = """\
model = "gpt-5.1"
model_provider = "stand-in"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.stand-in]
name = "stand-in"
base_url = "{address}/v1"
wire_api = "responses"
"""


# Each is started with a prompt, and again: in its last session.
_YES = "--dangerously-skip-permissions"
_CLAUDE = ("--output-format", "stream-json", "--verbose", "--include-hook-events", _YES)
_CODEX = ("--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox", "--trust")
_GEMINI = ("--yolo", "-m", "gemini-2.5-flash")
_OPENCODE_SETTINGS = """\
{{"autoupdate": false, "share": "disabled", "permission": "allow", "model": "anthropic/claude-sonnet-4-5",
  "small_model": "anthropic/claude-sonnet-4-5",
  "provider": {{"anthropic": {{"options": {{"baseURL": "{address}/v1", "apiKey": "made-up"}}}}}}}}
"""
_GEMINI_SETTINGS = """\
{{"security": {{"auth": {{"selectedType": "gemini-api-key"}}}}, "privacy": {{"usageStatisticsEnabled": false}}}}
"""


class Way(NamedTuple):
    """How a runner is driven: its program, how it is started and goes on, what its tools are called, its settings."""

    program: str
    starts: tuple[str, ...]  # before the prompt
    goes_on: tuple[str, ...]
    shell: str
    command: str
    task: str
    agent: str  # the field that names a type of agent
    agent_type: str
    mcp: str
    hooks: str  # the file, and in it the call
    settings: str = ""
    text: str = ""


WAYS = {
    CLAUDE_CODE: Way(
        "claude",
        (*_CLAUDE, "-p"),
        (*_CLAUDE, "--continue", "-p"),
        "Bash",
        "command",
        "Agent",
        "subagent_type",
        "general-purpose",
        "mcp__ctxrank__{}",
        ".claude/settings.json",
    ),
    CODEX: Way(
        "codex",
        ("exec", *_CODEX),
        ("exec", *_CODEX, "resume", "--last"),
        "exec_command",
        "cmd",
        "spawn_agent",
        "",
        "",
        "{}",
        ".codex/hooks.json",
        ".codex/config.toml",
        _CODEX_CONFIG,
    ),
    "gemini-cli": Way(
        "gemini",
        (*_GEMINI, "-p"),
        (*_GEMINI, "--resume", "latest", "-p"),
        "run_shell_command",
        "command",
        "invoke_agent",
        "agent_name",
        "codebase_investigator",
        "mcp_ctxrank_{}",
        ".gemini/settings.json",
        ".gemini/settings.json",
        _GEMINI_SETTINGS,
    ),
    "copilot-cli": Way(
        "copilot",
        ("--allow-all-tools", "-p"),
        ("--allow-all-tools", "--continue", "-p"),
        "bash",
        "command",
        "task",
        "agent_type",
        "general-purpose",
        "ctxrank-{}",
        ".github/hooks/ctxrank.json",
    ),
    "opencode": Way(
        "opencode",
        ("run",),
        ("run", "--continue"),
        "bash",
        "command",
        "task",
        "subagent_type",
        "general",
        "ctxrank_{}",
        ".opencode/plugins/ctxrank.js",
        ".config/opencode/opencode.json",
        _OPENCODE_SETTINGS,
    ),
}
OTHERS = tuple(name for name in WAYS if name not in (CLAUDE_CODE, CODEX))


class RealRunner:
    """One of the runners, in a new project that has a store and the hooks."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._way = WAYS[name]
        program = PROGRAMS / self._way.program
        if not os.access(program, os.X_OK):
            pytest.skip(f"{name} is not here: `make test-runners` gets it where npm can")
        self._program = str(program)
        self.project, self._home = folder / "shop", folder / "home"
        self.project.mkdir(parents=True)
        self._home.mkdir()
        self._stand_in = StandIn()
        nowhere = "http://127.0.0.1:9"
        self._environment = {
            "HOME": str(self._home),
            "PATH": os.pathsep.join(filter(None, map(os.path.dirname, _BESIDES))) + f":{os.defpath}",
            "XDG_STATE_HOME": str(self._home / "state"),
            "XDG_CONFIG_HOME": str(self._home / "config"),
            "HTTP_PROXY": nowhere, "HTTPS_PROXY": nowhere, "NO_PROXY": "127.0.0.1",
            "ANTHROPIC_BASE_URL": self._stand_in.address, "ANTHROPIC_API_KEY": "made-up",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1",
            "GOOGLE_GEMINI_BASE_URL": self._stand_in.address, "GEMINI_API_KEY": "made-up",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "COPILOT_OFFLINE": "true", "COPILOT_ALLOW_ALL": "true", "COPILOT_MODEL": "claude-sonnet-4.5",
            "COPILOT_PROVIDER_BASE_URL": self._stand_in.address, "COPILOT_PROVIDER_TYPE": "anthropic",
            "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1", "npm_config_fetch_retries": "0",
        }  # fmt: skip

    def __enter__(self) -> "RealRunner":
        self._run("git", "init", "-q")
        self._run("ctxrank", "init")
        self._run("ctxrank", "install", self.name, "--mcp")
        if INSTEAD_OF_HOOK:
            hooks = self.project / self._way.hooks
            ours = {f"ctxrank hook --runner {self.name}": INSTEAD_OF_HOOK, '"ctxrank", "hook"': f'"{INSTEAD_OF_HOOK}"'}
            for call, other in ours.items():
                hooks.write_text(hooks.read_text().replace(call, other))
        if self._way.settings:
            settings = self._home / self._way.settings
            settings.parent.mkdir(parents=True)
            settings.write_text(self._way.text.format(address=self._stand_in.address))
        self._stand_in.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._stand_in.__exit__()

    def commit(self) -> None:
        """Commit what the project has."""
        self._run("git", "add", ".")
        self._run("git", "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "x")

    def converse(self, prompt: str, *turns: Turn, spawned: dict[str, tuple[Turn, ...]] | None = None) -> list[str]:
        """Start a session with a prompt; what the model was sent for each of these turns."""
        self._stand_in.script = {prompt: turns, **(spawned or {})}
        self._stand_in.requests.clear()
        self.said = self._run(self._program, *self._way.starts, prompt)
        return self.sent(prompt)

    def go_on(self, first: str, prompt: str, *turns: Turn) -> list[str]:
        """Go on with the last session, which began with the first prompt; what the model was sent for each turn."""
        self._stand_in.script = {first: (*self._stand_in.script[first], *turns)}
        self.said = self._run(self._program, *self._way.goes_on, prompt)
        return self.sent(first)

    def sent(self, prompt: str) -> list[str]:
        """What the model was sent for each turn of the conversation that began so: a spawned agent's, too."""
        return self._stand_in.sent(prompt)

    def shell(self, command: str) -> Tool:
        """A command that the model runs."""
        return Tool(self._way.shell, {self._way.command: command, "description": "…"})

    def spawns(self, task: str) -> tuple[Turn, ...]:
        """The turns in which the model has another agent do a task."""
        if self._way.agent:
            given = {"description": "a task", "prompt": task, self._way.agent: self._way.agent_type, "name": "helper"}
            return (Tool(self._way.task, given),)

        def wait(sent: str) -> Tool:
            (agent,) = re.findall(r'"agent_id": ?"([^"]+)"', sent)[-1:]
            return Tool("wait_agent", {"targets": [agent]}, "multi_agent_v1")

        return Tool(self._way.task, {"message": task}, "multi_agent_v1"), wait

    def mcp_tool(self, name: str, arguments: dict[str, object]) -> Tool:
        """A tool of our MCP server that the model calls."""
        return Tool(self._way.mcp.format(name), arguments, "mcp__ctxrank" if self.name == CODEX else "")

    def ctxrank(self, *words: str, stdin: str = "") -> Any:
        """What a command says of the project's store, as its JSON."""
        return json.loads(self._run("ctxrank", *words, "--json", stdin=stdin))

    def only(self, kind: str, *words: str) -> Any:
        """The one record of a kind that is listed."""
        found = self.ctxrank("list", kind, *words)[kind]
        assert len(found) == 1, found
        return found[0]

    def stored(self) -> bytes:
        """All bytes of the store's files."""
        return b"".join(path.read_bytes() for path in (self.project / ".ctxrank").rglob("*") if path.is_file())

    def _run(self, *words: str, stdin: str = "") -> str:
        done = subprocess.run(
            words, cwd=self.project, env=self._environment, input=stdin, capture_output=True, text=True,
            timeout=_LONGEST_S,
        )  # fmt: skip
        assert done.returncode == 0 or (words[0] == "ctxrank" and done.returncode == 1), (
            words,
            done.stdout[-2000:],
            done.stderr[-2000:],
        )
        return done.stdout + (done.stderr if words[0] == self._program else "")

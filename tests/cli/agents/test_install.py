"""`ctxrank install` and `uninstall`: what others wrote stays, a second call changes nothing, and no trace is left."""

import itertools
import json
import os
import time
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from builders import Answer, answer_of, start_child
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import each_row

from ctxrank.cli.agents import install
from ctxrank.cli.agents.runner_files import AGENTS_MD, PLUGIN, TARGETS, InstallPlace, RunnerFile, runner_files
from ctxrank.cli.main import run
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.text.tokens import cautious_tokens

_EVENTS = {
    "SessionStart", "UserPromptSubmit", "PreToolUse", "SubagentStart", "PostToolUse", "PostToolUseFailure",
    "SubagentStop", "Stop", "SessionEnd",
}  # fmt: skip
_THEIRS = (
    '{"permissions":{"allow":["Bash(ls:*)"]},\n'
    '   "hooks":{"Stop":[{"hooks":[{"type":"command","command":"notify done"}]}]}}'
)


def test_what_an_install_writes_for_itself_is_not_indexed(project: Path) -> None:
    assert run(["init"]) == 0 == sum(run(["install", name]) for name in TARGETS if name != AGENTS_MD)
    skills = [os.path.relpath(path, project) for path in project.rglob("SKILL.md")]
    assert len(skills) == len(TARGETS) - 1
    for paths in ([], skills):
        added = answer_of(partial(run, ["--json", "index", *paths])).json()["added"]
        assert not [path for path in added if "SKILL" in path or path.endswith(".js")]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder, which is the current one, and a home without anything in it."""
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "OPENCODE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder)
    return folder


def _call(*words: str) -> Answer:
    return answer_of(lambda: run(list(words)))


def _tree(folder: Path) -> dict[str, str]:
    """Every file, with its text, and every folder."""
    return {str(path.relative_to(folder)): path.read_text() if path.is_file() else "/" for path in folder.rglob("*")}


def _settings(folder: Path) -> Any:
    return json.loads((folder / ".claude" / "settings.json").read_text())


@pytest.mark.parametrize("runner", [*TARGETS, "--all"])
@pytest.mark.parametrize("mcp", [(), ("--mcp",)])
def test_uninstall_leaves_what_was_there_before(project: Path, runner: str, mcp: tuple[str, ...]) -> None:
    for name in (".claude/settings.json", ".gemini/settings.json", ".cursor/hooks.json", "opencode.json"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(_THEIRS)
    (project / "AGENTS.md").write_text("# Rules\n\nBe kind.")
    before = _tree(project)
    assert _call("install", runner, *mcp).code == 0
    after = _tree(project)
    assert after != before
    again = _call("install", runner, *mcp)
    assert again.code == 0 and again.out == "" and "nothing to change" in again.err
    assert _tree(project) == after
    assert _call("uninstall", runner).code == 0
    assert _tree(project) == before


def test_all_are_those_whose_program_or_folder_is_here(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = project.parent / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    assert _call("install", "--all").code == 2
    (programs / "gemini").write_text("#!/bin/sh\n")
    (programs / "gemini").chmod(0o755)
    (project.parent / "home" / ".cursor").mkdir()
    (project.parent / "home" / ".cursor" / "mcp.json").write_text("{}")
    assert _call("--json", "install", "--all").json()["runner"] == "gemini-cli, cursor"
    assert _call("--json", "install", "--all", "--user").json()["runner"] == "gemini-cli, cursor"
    assert (project / ".gemini/settings.json").exists() and (project.parent / "home/.cursor/hooks.json").exists()
    for words in (("--all",), ("--all", "--user")):
        assert _call("uninstall", *words).code == 0
    assert _tree(project) == {".git": "/"} and set(_tree(project.parent / "home")) == {".cursor", ".cursor/mcp.json"}
    assert _call("install").code == _call("install", "codex", "--all").code == 2


def test_each_runner_has_the_hook_at_its_own_events_in_its_own_form(project: Path) -> None:
    for runner in ("gemini-cli", "cursor", "copilot-cli"):
        assert _call("install", runner, "--mcp").code == 0
    gemini, cursor, copilot = (
        json.loads((project / name).read_text())
        for name in (".gemini/settings.json", ".cursor/hooks.json", ".github/hooks/ctxrank.json")
    )
    hook = "ctxrank hook --runner"
    handler = {"type": "command", "command": f"{hook} gemini-cli", "timeout": 10_000}
    assert gemini["hooks"]["BeforeTool"] == [{"matcher": "invoke_agent", "hooks": [handler]}]
    assert gemini["mcpServers"]["ctxrank"] == {"command": "ctxrank", "args": ["mcp"]}
    assert cursor["version"] == copilot["version"] == 1
    assert cursor["hooks"]["beforeSubmitPrompt"] == [{"type": "command", "command": f"{hook} cursor", "timeout": 5}]
    assert copilot["hooks"]["Stop"] == [{"type": "command", "bash": f"{hook} copilot-cli", "timeoutSec": 60}]


def test_the_file_of_a_plugin_calls_ctxrank_where_it_is() -> None:
    plugin, _, servers = runner_files("opencode", InstallPlace("/p", True), "'/opt/my tools/ctxrank'", with_mcp=True)
    assert plugin.path == "/p/.config/opencode/plugins/ctxrank.js"
    assert 'const COMMAND = ["/opt/my tools/ctxrank", "hook", "--runner", "opencode"]' in plugin.with_ours("")
    server = {"type": "local", "command": ["/opt/my tools/ctxrank", "mcp"], "enabled": True}
    assert json.loads(servers.with_ours(""))["mcp"] == {"ctxrank": server}


def test_the_hooks_of_others_stay_and_a_copy_of_the_file_is_kept(project: Path) -> None:
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text(_THEIRS)
    _call("install", "claude-code")
    settings_ = _settings(project)
    assert settings_["permissions"] == {"allow": ["Bash(ls:*)"]} and set(settings_["hooks"]) == _EVENTS
    assert [group["hooks"][0]["command"] for group in settings_["hooks"]["Stop"]] == [
        "notify done",
        "ctxrank hook --runner claude-code",
    ]
    assert (project / ".claude" / "settings.json.before-ctxrank").read_text() == _THEIRS


def test_what_others_add_later_survives_uninstall(project: Path) -> None:
    _call("install", "claude-code", "--mcp")
    settings_ = _settings(project)
    settings_["model"] = "opus"
    settings_["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "notify done"})
    (project / ".claude" / "settings.json").write_text(json.dumps(settings_))
    _call("uninstall", "claude-code")
    assert _settings(project) == {
        "model": "opus",
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "notify done"}]}]},
    }
    assert not (project / ".mcp.json").exists() and not (project / ".claude" / "skills").exists()


def test_an_install_where_no_store_is_names_the_next_step(project: Path) -> None:
    assert "hooks say nothing yet: There is no .ctxrank folder" in _call("install", "claude-code").err
    assert run(["init"]) == 0
    assert "hooks say nothing yet" not in _call("install", "codex").err


def test_a_dry_run_shows_the_diff_and_writes_nothing(project: Path) -> None:
    shown = _call("install", "claude-code", "--mcp", "--dry-run")
    assert shown.code == 0 and '\n+{\n+  "hooks": {\n+' in shown.out and "would be made: " in shown.out
    assert _tree(project) == {".git": "/"}
    answer = _call("--json", "install", "claude-code", "--dry-run").json()
    assert answer["dry_run"] and [file["change"] for file in answer["files"]] == ["made", "made"]


def test_the_users_files_are_written_on_request_alone(project: Path) -> None:
    home = project.parent / "home"
    _call("install", "claude-code", "--user", "--mcp")
    assert _tree(project) == {".git": "/"} and set(_settings(home)["hooks"]) == _EVENTS
    assert json.loads((home / ".claude.json").read_text())["mcpServers"]["ctxrank"] == {
        "command": "ctxrank",
        "args": ["mcp"],
    }
    _call("uninstall", "claude-code", "--user")
    assert _tree(home) == {}
    assert _call("install", "claude-code", "--user", "--project").code == 2
    assert _call("install", "agents-md", "--user").code == 2


def test_codex_has_no_event_for_a_failure_and_a_server_in_toml(project: Path) -> None:
    (project / ".codex").mkdir()
    (project / ".codex" / "config.toml").write_text('model = "o5"\n')
    _call("install", "codex", "--mcp")
    hooks = json.loads((project / ".codex" / "hooks.json").read_text())["hooks"]
    assert set(hooks) == _EVENTS - {"PostToolUseFailure"}
    config = tomllib.loads((project / ".codex" / "config.toml").read_text())
    assert config == {"model": "o5", "mcp_servers": {"ctxrank": {"command": "ctxrank", "args": ["mcp"]}}}


@pytest.mark.parametrize("text", ["{", "[1]", '{"hooks": 3}', "\ufeff{}", "// comment\n{}"])
def test_a_file_that_cannot_be_understood_is_left_as_it_is(project: Path, text: str) -> None:
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text(text)
    assert _call("install", "claude-code").code == 2
    assert (project / ".claude" / "settings.json").read_text() == text
    assert not (project / ".claude" / "skills").exists()


def test_a_skill_and_a_server_of_the_same_name_that_are_others_are_left(project: Path) -> None:
    (project / ".claude" / "skills" / "ctxrank").mkdir(parents=True)
    (project / ".claude" / "skills" / "ctxrank" / "SKILL.md").write_text("mine")
    (project / ".mcp.json").write_text('{"mcpServers": {"ctxrank": {"command": "other"}}}')
    before = _tree(project)
    assert _call("install", "claude-code").code == 2
    (project / ".claude" / "skills" / "ctxrank" / "SKILL.md").unlink()
    assert _call("install", "claude-code", "--mcp").code == 2
    (project / ".claude" / "skills" / "ctxrank" / "SKILL.md").write_text("mine")
    assert _call("uninstall", "claude-code").code == 0
    assert _tree(project) == before


def test_a_link_that_leads_out_of_the_project_is_not_followed(project: Path) -> None:
    (project / ".claude").symlink_to(project.parent / "home")
    assert _call("install", "claude-code").code == 2
    assert _tree(project.parent / "home") == {}


def test_a_users_file_that_is_a_link_stays_one(project: Path) -> None:
    home = project.parent / "home"
    (home / ".claude").mkdir()
    (home / "dotfiles.json").write_text("{}\n")
    (home / ".claude" / "settings.json").symlink_to(home / "dotfiles.json")
    _call("install", "claude-code", "--user")
    assert (home / ".claude" / "settings.json").is_symlink()
    assert "hooks" in json.loads((home / "dotfiles.json").read_text())
    _call("uninstall", "claude-code", "--user")
    assert (home / "dotfiles.json").read_text() == "{}\n"


def test_the_mode_of_a_file_stays(project: Path) -> None:
    (project / ".claude").mkdir()
    path = project / ".claude" / "settings.json"
    path.write_text("{}")
    path.chmod(0o600)
    _call("install", "claude-code")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_that_root_makes_for_a_user_of_sudo_is_the_users(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.chown(project, 12_345, -1)
    monkeypatch.setenv("SUDO_UID", "12345")
    assert run(["install", AGENTS_MD]) == 0
    assert (project / "AGENTS.md").stat().st_uid == 12_345


def test_the_plugin_has_the_same_as_an_install(project: Path) -> None:
    _call("install", "claude-code", "--mcp")
    shipped = json.loads(Path(PLUGIN, "hooks", "hooks.json").read_text())
    assert set(shipped) == {"description", "hooks"} and shipped["hooks"] == _settings(project)["hooks"]
    assert Path(PLUGIN, ".mcp.json").read_text() == (project / ".mcp.json").read_text()
    assert (
        Path(PLUGIN, "skills", "ctxrank", "SKILL.md").read_text()
        == (project / ".claude/skills/ctxrank/SKILL.md").read_text()
    )
    version = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]["version"]
    assert json.loads(Path(PLUGIN, ".claude-plugin", "plugin.json").read_text())["version"] == version


def test_the_skill_is_short_and_has_what_a_runner_asks_for() -> None:
    text = Path(PLUGIN, "skills", "ctxrank", "SKILL.md").read_text()
    assert text.startswith("---\nname: ctxrank\ndescription: ") and cautious_tokens(text) <= 600


# What others wrote, as text: odd numbers, odd spaces, keys twice, and calls and servers that only look like ours.
_SPACES = st.sampled_from(("", "", " ", "\n", "\n  ", "\n\t", "\r\n"))
_LEAVES = st.sampled_from(
    (
        "1e400",
        "1.10",
        "-0",
        "1E5",
        "0.1000000000000000055511151231257827",
        "true",
        "null",
        '"\\ud800"',
        '"\\u0041"',
        '"}"',
        '"é"',
    )
)
_KEYS = st.sampled_from(('"a"', '"b"', '"\\u0061"', '"mcp"', '"hooks "'))


def _container(ends: str, items: st.SearchStrategy[str], max_size: int = 3) -> st.SearchStrategy[str]:
    """An array or an object of these items, with any white space about each."""
    item = st.tuples(_SPACES, items, _SPACES).map("".join)
    return st.tuples(st.lists(item, max_size=max_size), _SPACES).map(
        lambda parts: ends[0] + (",".join(parts[0]) or parts[1]) + ends[1]
    )


def _pair(keys: st.SearchStrategy[str], values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(keys, _SPACES, values).map(lambda pair: f"{pair[0]}{pair[1]}:{pair[1]}{pair[2]}")


_VALUES = st.recursive(
    _LEAVES, lambda inner: _container("[]", inner) | _container("{}", _pair(_KEYS, inner)), max_leaves=6
)
_THEIR_COMMANDS = (
    "notify", "ctxrank search x", "'", "ctxrank hook", "ctxrank hook && notify-send done",
    "ctxrank hook --runner claude-code && notify-send done", "ctxrank hook --runner claude-code;true",
    "X=1 ctxrank hook --runner claude-code", "./ctxrank hook --runner claude-code",
    "ctxrank hook --runner claude-code # mine", "ctxrank  hook --runner claude-code",
    "ctxrank hook --runner claude-code\\nnotify",
)  # fmt: skip
_HANDLERS = _pair(st.just('"command"'), st.sampled_from([f'"{command}"' for command in _THEIR_COMMANDS])).flatmap(
    lambda command: _container("{}", _pair(_KEYS, _LEAVES), 2).map(
        lambda rest: f"{{{command}{',' if ':' in rest else ''}{rest[1:]}"
    )
)
_GROUPS = _container("{}", _pair(st.just('"hooks"'), _container("[]", _HANDLERS)), 1)
_EVENTS_OF_OTHERS = _pair(st.sampled_from(('"Stop"', '"PreToolUse"', '"Other"')), _container("[]", _GROUPS))
_THEIR_SERVERS = st.sampled_from(('{"command": "db", "args": ["mcp"]}', '{"url":"http://h/ctxrank"}'))
_DOCUMENTS = st.tuples(
    _SPACES,
    _container(
        "{}",
        _pair(_KEYS, _VALUES)
        | _pair(st.just('"hooks"'), _container("{}", _EVENTS_OF_OTHERS))
        | _pair(st.just('"mcpServers"'), _container("{}", _pair(st.sampled_from(('"x"', '"y"')), _THEIR_SERVERS))),
        5,
    ),
    _SPACES,
).map("".join)


def _is_within(text: str, longer: str) -> bool:
    """Whether every character of a text is in a longer one, in this order."""
    rest = iter(longer)
    return all(character in rest for character in text)


# Of a runner that has hooks and servers in one file, and of two whose entries are in no groups.
_JSON_FILES: list[RunnerFile] = [
    runner_files(name, InstallPlace("/p", False), "ctxrank", with_mcp=True)[0]
    for name in ("gemini-cli", "cursor", "copilot-cli")
]


@given(
    text=_DOCUMENTS | st.sampled_from(("", "\n", "{}", "{ }", "{\n}\n", '{"hooks":{}}', '{"hooks": {"Stop": []}}\n'))
)
@settings(max_examples=examples(80))
def test_json_of_others_stays_to_the_byte(text: str) -> None:
    hooks, _, servers = runner_files("claude-code", InstallPlace("/p", False), "'/opt/my tools/ctxrank'", with_mcp=True)
    for file in (hooks, servers, *_JSON_FILES):
        assert file.without_ours(text) == text
        once = file.with_ours(text)
        assert file.with_ours(once) == once and _is_within(text.strip(), once)
        assert file.without_ours(once) == text
    theirs: Any = json.loads(text or "{}", parse_float=str) if text.strip() else {}
    both: Any = json.loads(servers.with_ours(hooks.with_ours(text)), parse_float=str)
    assert both.pop("mcpServers").pop("ctxrank")["command"] == "/opt/my tools/ctxrank"
    added = {event: groups[-1] for event, groups in both.pop("hooks").items() if event in _EVENTS}
    assert set(added) == _EVENTS
    assert both == {key: value for key, value in theirs.items() if key not in ("hooks", "mcpServers")}


@pytest.mark.parametrize("runner", TARGETS)
def test_a_call_of_an_earlier_install_is_replaced(runner: str) -> None:
    old, new = (
        runner_files(runner, InstallPlace("/p", False), command, with_mcp=True)
        for command in ("/opt/old/ctxrank", "ctxrank")
    )
    for before, after in zip(old, new, strict=True):
        both = after.with_ours(before.with_ours(""))
        assert both == after.with_ours("") and after.without_ours(both) == ""


# Lines of a config.toml: what comes first, how its servers are written, and what comes after.
_TOML_STARTS = (
    "",
    "\n",
    "# mine\n",
    'model = "o5"\nratio = 1.10\nbig = 1e400\n',
    "a.b = 1 # }\n",
    'text = """\n[mcp_servers]\n}"""\n',
)
_TOML_SERVERS = (
    "", "[mcp_servers]\n", '[mcp_servers]\nx = { command = "a" }\n', '[mcp_servers]\nx.command = "a"\n',
    '[mcp_servers.x]\ncommand = "a"\n', 'mcp_servers.x.command = "a"\n',
)  # fmt: skip
# To these no table can be added.
_TOML_INLINE_SERVERS = (
    "mcp_servers = {}\n", "mcp_servers = { }\n",
    'mcp_servers = { x = { command = "a}" } }\n', 'mcp_servers = {x={command="a",args=["}"]}} # }\n',
    'mcp_servers = { "x" = { env = {} } }\n', '"mcp_servers" = {y.command="b" }\n',
)  # fmt: skip
_TOML_ENDS = ("", "\n\n", "# end\n", "[profiles.o5]\nx = 0x1F\ny = { z = [1.10, 2] }\n", "[[list]]\nmcp_servers = {}\n")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("is_ended", [True, False])
def test_toml_of_others_stays_to_the_byte(newline: str, is_ended: bool) -> None:
    file = runner_files("codex", InstallPlace("/p", False), "ctxrank", with_mcp=True)[2]
    for parts in itertools.product(_TOML_STARTS, _TOML_SERVERS, _TOML_ENDS):
        text = "".join(parts).replace("\n", newline)
        text = text if is_ended else text.removesuffix(newline)
        once = file.with_ours(text)
        theirs = tomllib.loads(text, parse_float=str)
        servers = {**theirs.get("mcp_servers", {}), "ctxrank": {"command": "ctxrank", "args": ["mcp"]}}
        assert tomllib.loads(once, parse_float=str) == {**theirs, "mcp_servers": servers}, parts
        assert file.with_ours(once) == once and _is_within(text, once), parts
        assert file.without_ours(once) == text and file.without_ours(text) == text, parts


_THEIR_TOML_SERVERS = (
    '[mcp_servers.ctxrank]\ncommand = "other"\n', '[mcp_servers]\nctxrank = { command = "other" }\n',
    'mcp_servers.ctxrank.command = "ctxrank"\n',
    'mcp_servers = { ctxrank = { command = "ctxrank", args = ["mcp", "x"] } }\n',
    '# ctxrank: begin\n[mcp_servers.ctxrank]\ncommand = "ctxrank"\nargs = ["mcp"]\nenv = {}\n# ctxrank: end\n',
)  # fmt: skip


@pytest.mark.parametrize("text", [*_THEIR_TOML_SERVERS, *_TOML_INLINE_SERVERS, "mcp_servers = 3\n", "[mcp_servers\n"])
def test_a_config_with_a_server_of_that_name_or_with_servers_in_one_table_is_left(project: Path, text: str) -> None:
    (project / ".codex").mkdir()
    (project / ".codex" / "config.toml").write_text(text)
    before = _tree(project)
    assert _call("install", "codex", "--mcp").code == 2
    assert _tree(project) == before
    assert _call("uninstall", "codex").code == 0
    assert _tree(project) == before


def test_the_same_server_in_ones_own_words_is_enough(project: Path) -> None:
    text = 'mcp_servers.ctxrank = { args = [ "mcp" ], command = "ctxrank" }\n'
    file = runner_files("codex", InstallPlace("/p", False), "ctxrank", with_mcp=True)[2]
    assert file.with_ours(text) == text == file.without_ours(text)


def test_what_codex_puts_into_our_section_stays() -> None:
    file = runner_files("codex", InstallPlace("/p", False), "ctxrank", with_mcp=True)[2]
    theirs = '[mcp_servers.x]\ncommand = "a"\n'
    ours = file.with_ours("")
    assert theirs in file.without_ours(ours.replace("# ctxrank: end", f"\n{theirs}# ctxrank: end"))


# Beside another writer

_WRITER = """
import json, os, sys, time
path = sys.argv[1]
for number in range(int(sys.argv[2])):
    while True:
        try:
            os.mkdir(path + ".lock")
            break
        except FileExistsError:
            time.sleep(0.001)
    with open(path) as file:
        document = json.load(file)
    document[f"update {number}"] = number
    with open(path + ".theirs", "w") as file:
        json.dump(document, file)
    os.replace(path + ".theirs", path)
    os.rmdir(path + ".lock")
    time.sleep(0.001)
"""


def test_no_update_of_a_writer_with_the_lock_is_lost(project: Path) -> None:
    path = project / ".mcp.json"
    path.write_text("{}")
    with start_child(_WRITER, path, 100) as writer:
        while writer.poll() is None:
            for command in (["install", "claude-code", "--mcp"], ["uninstall", "claude-code"]):
                assert _call(*command).code == 0
    assert writer.returncode == 0
    assert len(json.loads(path.read_text()).keys() - {"mcpServers"}) == 100
    assert not (project / ".mcp.json.lock").exists()


@pytest.mark.parametrize(("times", "code"), [(10, 0), (100, 6)])
def test_what_is_written_between_reading_and_replacing_stays(
    project: Path, monkeypatch: pytest.MonkeyPatch, times: int, code: int
) -> None:
    """A writer without the lock: an install begins again with what it wrote, and gives up on one that never ends."""
    path = project / ".mcp.json"
    path.write_text("{}")
    writes = iter(range(times))

    def written_meanwhile(descriptor: int) -> None:
        for number in itertools.islice(writes, 1):
            path.write_text(json.dumps({**json.loads(path.read_text()), f"update {number}": 1.5}))

    monkeypatch.setattr("ctxrank.cli.agents.install.sync", written_meanwhile)
    assert _call("install", "claude-code", "--mcp").code == code
    document = json.loads(path.read_text())
    assert ("mcpServers" in document) == (code == 0)
    assert len(document.keys() - {"mcpServers"}) == times - len(list(writes))
    assert not [item for item in project.iterdir() if item.name not in _NAMES]


_NAMES = {".git", ".claude", ".mcp.json", ".mcp.json.before-ctxrank"}


@given(text=st.text(alphabet="ab\n\r#", max_size=30))
def test_a_section_is_put_in_once_and_taken_out_to_the_byte(text: str) -> None:
    file = runner_files("agents-md", InstallPlace("/p", False), "ctxrank", with_mcp=False)[0]
    once = file.with_ours(text)
    assert file.with_ours(once) == once and once.startswith(text)
    assert file.without_ours(once) == text == file.without_ours(text)


@each_row("text", ["a <!-- ctxrank: begin --> b\n", "a <!-- ctxrank: end --> b\n", "<!-- ctxrank: end -->\nb"])
def test_half_a_section_is_none_and_stays(text: str) -> None:
    file = runner_files("agents-md", InstallPlace("/p", False), "ctxrank", with_mcp=False)[0]
    assert file.without_ours(text) == text


def test_there_is_no_other_runner() -> None:
    with pytest.raises(UsageError):
        runner_files("agents-md", InstallPlace(os.sep, True), "ctxrank", with_mcp=False)


def test_an_install_names_its_files_and_shows_no_diff(project: Path) -> None:
    for words, verb in (("install claude-code --mcp", "made"), ("uninstall claude-code", "removed")):
        lines = _call(*words.split()).out.splitlines()
        assert len(lines) == 3 and all(line.startswith(f"{verb}: {project}") for line in lines)


@pytest.mark.parametrize(("age_s", "code"), [(0, 6), (8, 6), (12, 0)])
def test_a_lock_that_is_kept_is_respected_and_one_that_was_left_is_not(
    project: Path, monkeypatch: pytest.MonkeyPatch, age_s: int, code: int
) -> None:
    monkeypatch.setattr(install, "_LOCK_WAIT_S", 0.1)
    lock = project / ".mcp.json.lock"
    lock.mkdir()
    since = time.time() - age_s
    os.utime(lock, (since, since))
    answer = _call("install", "claude-code", "--mcp")
    assert answer.code == code and ("is locked by another program" in answer.err) == (code != 0)
    assert lock.exists() is (code != 0) and (project / ".mcp.json").exists() is (code == 0)

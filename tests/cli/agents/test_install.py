"""`ctxrank install` and `uninstall`: what others wrote stays, a second call changes nothing, and no trace is left."""

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from builders import Answer, answer_of
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxrank.cli.agents.runner_files import PLUGIN, Place, runner_files
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


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder, which is the current one, and a home without anything in it."""
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
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


@pytest.mark.parametrize("runner", ["claude-code", "codex", "agents-md"])
@pytest.mark.parametrize("mcp", [(), ("--mcp",)])
def test_uninstall_leaves_what_was_there_before(project: Path, runner: str, mcp: tuple[str, ...]) -> None:
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text(_THEIRS)
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


def test_a_dry_run_shows_the_diff_and_writes_nothing(project: Path) -> None:
    shown = _call("install", "claude-code", "--mcp", "--dry-run")
    assert shown.code == 0 and '+  "hooks": {' in shown.out and "would be made: " in shown.out
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


_HANDLERS = st.lists(
    st.fixed_dictionaries({"command": st.sampled_from(("notify", "ctxrank search x", "ctxrank hook", "'"))}), max_size=3
)
_GROUPS = st.lists(st.fixed_dictionaries({"hooks": _HANDLERS}, optional={"matcher": st.text(max_size=4)}), max_size=3)
_DOCUMENTS = st.dictionaries(
    st.text(max_size=5).filter(lambda name: name != "hooks"), st.integers() | st.text(max_size=5), max_size=3
).flatmap(
    lambda rest: st.dictionaries(st.sampled_from(("Stop", "PreToolUse", "Other")), _GROUPS, max_size=3).map(
        lambda hooks: {**rest, "hooks": hooks} if hooks else rest
    )
)


def _without_empty_lists(text: str) -> Any:
    document = json.loads(text or "{}")
    hooks = {event: groups for event, groups in document.pop("hooks", {}).items() if groups}
    return {**document, "hooks": hooks}


@given(document=_DOCUMENTS, indent=st.sampled_from((None, 2, 4, "\t")), end=st.sampled_from(("", "\n")))
@settings(max_examples=150)
def test_edits_add_ours_once_and_take_nothing_of_others(document: dict[str, Any], indent: Any, end: str) -> None:
    text = json.dumps(document, indent=indent) + end
    file = runner_files("claude-code", Place("/p", False), "ctxrank", with_mcp=False)[0]
    once = file.with_ours(text)
    assert file.with_ours(once) == once
    bare, cleared = file.without_ours(text), file.without_ours(once)
    assert _without_empty_lists(cleared) == _without_empty_lists(bare)  # the copy brings those back
    ours = [
        h
        for groups in json.loads(once)["hooks"].values()
        for g in groups
        for h in g["hooks"]
        if h["command"].startswith("ctxrank hook --runner")
    ]
    assert len(ours) == len(_EVENTS)
    assert file.without_ours(bare) == bare


@given(text=st.text(alphabet="ab\n#", max_size=30))
def test_a_section_is_put_in_once_and_taken_out_to_the_byte(text: str) -> None:
    file = runner_files("agents-md", Place("/p", False), "ctxrank", with_mcp=False)[0]
    once = file.with_ours(text)
    assert file.with_ours(once) == once and once.startswith(text)
    assert file.without_ours(once) in (text, f"{text}\n") and file.without_ours(text) == text


def test_there_is_no_other_runner() -> None:
    with pytest.raises(UsageError):
        runner_files("agents-md", Place(os.sep, True), "ctxrank", with_mcp=False)

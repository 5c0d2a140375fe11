"""A checkout of the predecessor switched over and back: nothing is lost, wherever a run is killed."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bazinga_project import bazinga
from builders import Answer
from switched_tree import DATABASE_SCRIPT, Tree
from tables import each_row

from ctxrank.extensions.bazinga.switch import steps
from ctxrank.extensions.bazinga.switch.placed_switch import CONTEXT, parsed, status_told, tables_of

SESSION = "bazinga_20261101_090000"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "app")


def switch(tree: Tree, *words: str) -> Answer:
    return bazinga(words[0], "--project-root", str(tree.folder), *words[1:])


def run(tree: Tree, script: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    for name in ("BAZINGA_ROOT", "CTXRANK_DB", "CTXRANK_ROOT"):
        environment.pop(name, None)
    command = [sys.executable, str(script), *words]
    return subprocess.run(
        command, cwd=tree.folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def call(tree: Tree, *words: str) -> subprocess.CompletedProcess[str]:
    return run(tree, tree.script, "--quiet", *words)


def answer(tree: Tree, *words: str) -> Any:
    done = call(tree, *words)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def test_install_is_undone_to_the_byte_the_mode_and_the_time(tree: Tree) -> None:
    before = tree.state()
    installed = switch(tree, "install")
    assert installed.code == 0 and "bazinga_db_state.py" in installed.out and tree.state() != before
    during = tree.state()
    again = switch(tree, "install")
    assert again.code == 0 and "nothing to change" in again.out and tree.state() == during
    removed = switch(tree, "uninstall")
    assert removed.code == 0 and "restored" in removed.out and tree.state() == before
    assert "nothing to change" in switch(tree, "uninstall").out


@each_row("command", ["install", "uninstall"])
def test_a_dry_run_changes_nothing_and_says_what_it_would(tree: Tree, command: str) -> None:
    if command == "uninstall":
        switch(tree, "install")
    before = tree.state()
    done = switch(tree, command, "--dry-run")
    assert done.code == 0 and "would re" in done.out and tree.state() == before


@each_row(
    "change",
    [
        ("class BazingaDB:", "class Other:"),
        ("if __name__", "if 1 and __name__"),
        ("def main():", "def main(:"),
    ],
)
@each_row("command", ["install", "uninstall"])
def test_a_tree_that_is_not_known_is_refused_and_left_alone(tree: Tree, command: str, change: tuple[str, str]) -> None:
    tree.script.write_text(DATABASE_SCRIPT.replace(*change))
    before = tree.state()
    refused = switch(tree, command)
    assert refused.code == 1 and "Nothing was changed" in refused.err and tree.state() == before
    assert not (tree.folder / ".ctxrank").exists()


def test_a_builder_that_is_not_known_and_a_folder_without_any_are_refused(tree: Tree, tmp_path: Path) -> None:
    tree.builder.write_text("def main():\n    pass\n\n\nif __name__ == '__main__':\n    main()\n")
    assert "no build_prompt" in switch(tree, "install").err
    tree.builder.unlink()
    assert "There is no file" in switch(tree, "install").err
    assert bazinga("install", "--project-root", str(tmp_path)).code == 1
    assert switch(tree, "install", "--colour").code == 1


class _Killed(BaseException):
    pass


def _kill_at(monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    """Let the process end before the file operation of this number."""
    left = place

    def counted(name: str) -> None:
        real = getattr(os, name)

        def operation(*words: Any, **more: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise _Killed
            return real(*words, **more)

        monkeypatch.setattr(os, name, operation)

    for name in ("replace", "link", "unlink", "open"):
        counted(name)


@each_row("place", range(12))
@each_row("then", ["install", "uninstall"])
def test_a_killed_install_is_mended_by_either(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, place: int, then: str
) -> None:
    before = tree.state()
    switch(tree, "install")
    installed = {name: value[0] for name, value in tree.state().items()}
    switch(tree, "uninstall")
    with monkeypatch.context() as patched:
        _kill_at(patched, place)
        with contextlib.suppress(_Killed):
            steps.install(str(tree.folder), steps.planned(str(tree.folder)), lambda _: None)
    assert tree.script.is_file() and tree.builder.is_file()
    assert switch(tree, then).code == 0
    if then == "install":
        mended = {name: value[0] for name, value in tree.state().items()}
        assert mended.keys() == installed.keys()
        # It also notes the times of folders, which the killed run changed.
        assert {name for name in mended if mended[name] != installed[name]} <= {".claude/ctxrank/manifest.json"}
        assert switch(tree, "uninstall").code == 0
    files = {name: value for name, value in tree.state().items() if (tree.folder / name).is_file()}
    assert files == {name: value for name, value in before.items() if (tree.folder / name).is_file()}


@each_row("place", range(6))
@each_row("then", ["install", "uninstall"])
def test_a_killed_uninstall_is_mended_by_either(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, place: int, then: str
) -> None:
    before = tree.state()
    switch(tree, "install")
    with monkeypatch.context() as patched:
        _kill_at(patched, place)
        with contextlib.suppress(_Killed):
            steps.uninstall(str(tree.folder), lambda _: None)
    assert switch(tree, then).code == 0
    assert switch(tree, "uninstall").code == 0
    files = {name: value for name, value in tree.state().items() if (tree.folder / name).is_file()}
    assert files == {name: value for name, value in before.items() if (tree.folder / name).is_file()}


def test_an_original_that_was_changed_or_lost_is_not_put_back_unseen(tree: Tree) -> None:
    switch(tree, "install")
    kept = tree.script.with_name("bazinga_db_state.py")
    kept.write_text(DATABASE_SCRIPT + "# changed\n")
    assert "it was changed" in switch(tree, "uninstall").err
    kept.unlink()
    assert "gone" in switch(tree, "uninstall").err and "gone" in switch(tree, "install").err


def test_a_newer_version_put_over_it_is_switched_or_kept(tree: Tree) -> None:
    switch(tree, "install")
    newer = DATABASE_SCRIPT + "# newer\n"
    tree.script.unlink()
    tree.script.write_text(newer)
    assert switch(tree, "install").code == 0
    assert tree.script.with_name("bazinga_db_state.py").read_text() == newer
    assert switch(tree, "uninstall").code == 0 and tree.script.read_text() == newer


@pytest.mark.slow
def test_state_stays_context_moves_and_what_is_made_is_made_in_both(tree: Tree) -> None:
    switch(tree, "install")
    assert call(tree, "create-session", SESSION, "simple", "Sign in").stdout.startswith("state: --quiet create-session")
    call(tree, "create-task-group", "AUTH", SESSION, "Tokens")
    path = f"bazinga/artifacts/{SESSION}/a.md"
    words = (SESSION, "AUTH", "research", path, "investigator", '["developer"]', "high", "Tokens refresh twice")
    assert answer(tree, "save-context-package", *words)["package_id"] == 1
    assert answer(tree, "get-context-packages", SESSION, "AUTH", "developer")[0]["file_path"] == path
    assert call(tree, "get-session", SESSION).stdout.startswith("state:")
    assert call(tree, "get-session", "fail").returncode == 7
    (group,) = json.loads(bazinga("--project-root", str(tree.folder), "query", "SELECT * FROM task_groups").out)
    assert (group["id"], group["name"], group["status"]) == ("AUTH", "Tokens", "pending")
    call(tree, "update-task-group", "AUTH", SESSION, "--status", "completed", "--name", "Tokens")
    assert answer(tree, "query", "SELECT count(*) AS n FROM context_packages JOIN task_groups") == [{"n": 1}]
    assert call(tree, "query", "SELECT * FROM orchestration_logs").stdout.startswith("state:")
    mixed = call(tree, "query", "SELECT * FROM context_packages, state_snapshots")
    assert mixed.returncode == 1 and "two databases" in mixed.stderr


@pytest.mark.slow
def test_reasoning_is_kept_in_its_log_too(tree: Tree) -> None:
    switch(tree, "install")
    call(tree, "create-session", SESSION, "simple", "Sign in")
    saved = answer(tree, "save-reasoning", SESSION, "AUTH", "developer", "decisions", "Lock the row")
    assert saved["success"]
    calls = (tree.folder / "calls.txt").read_text()
    assert "save-reasoning" in calls
    (entry,) = answer(tree, "get-reasoning", SESSION)
    assert entry["content"] == "Lock the row"
    refused = call(tree, "save-reasoning", SESSION, "AUTH", "developer", "guessing", "x")
    assert refused.returncode == 1 and (tree.folder / "calls.txt").read_text() == calls


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from bazinga_db import BazingaDB, KNOWN
print(KNOWN, BazingaDB(sys.argv[2], quiet=True).get_session("S"), sep=", ")
"""


def test_its_names_are_those_of_the_script_that_was_there(tree: Tree, tmp_path: Path) -> None:
    switch(tree, "install")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    database = tree.folder / "bazinga" / "bazinga.db"
    done = run(tree, program, str(tree.script.parent), str(database))
    assert (done.returncode, done.stdout) == (0, "a name of the module, state\n"), done.stderr


@pytest.mark.slow
def test_a_python_without_ctxrank_runs_the_command_that_install_noted(tree: Tree) -> None:
    switch(tree, "install")
    call(tree, "create-session", SESSION, "simple", "Sign in")
    command = [sys.executable, "-I", "-S", str(tree.script), "--quiet", "save-strategy", "shop", "general", "Wait"]
    done = subprocess.run(command, cwd=tree.folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0 and json.loads(done.stdout)["success"], done.stderr
    assert len(answer(tree, "get-strategies", "shop")) == 1


def prompt(tree: Tree, *words: str) -> subprocess.CompletedProcess[str]:
    database = str(tree.folder / "bazinga" / "bazinga.db")
    flags = ("--agent-type", "developer", "--session-id", SESSION, "--group-id", "AUTH", "--db", database)
    return run(tree, tree.builder, *flags, *words)


@pytest.mark.slow
def test_the_prompt_builder_ranks_by_the_task(tree: Tree) -> None:
    assert prompt(tree).stdout == "## its own block\n"
    switch(tree, "install")
    call(tree, "create-session", SESSION, "simple", "Sign in")
    for name, summary in (("cart", "The cart forgets"), ("token", "The token refresh is late")):
        path = f"bazinga/artifacts/{SESSION}/{name}.md"
        words = (SESSION, "AUTH", "research", path, "investigator", '["developer"]', "high", summary)
        answer(tree, "save-context-package", *words)
    for title, first, last in (("Mend the cart", "cart.md", "token.md"), ("Refresh the token", "token.md", "cart.md")):
        text = prompt(tree, "--task-title", title, "--task-requirements", "soon").stdout
        assert "its own block" not in text and text.index(first) < text.index(last)


def test_a_prompt_goes_on_without_ctxrank(tree: Tree) -> None:
    switch(tree, "install")
    shutil.rmtree(tree.folder / ".ctxrank")
    done = prompt(tree)
    assert done.returncode == 0 and "## its own block" in done.stdout and "BAZINGA's own context block" in done.stderr
    shutil.rmtree(tree.folder / ".claude" / "ctxrank")
    done = prompt(tree)
    assert done.returncode == 0 and "## its own block" in done.stdout and "WARNING" in done.stderr


def test_words_of_a_call() -> None:
    call = parsed(["--db=x/bazinga/bazinga.db", "--quiet", "query", "--db"])
    assert call is not None and (call.db, call.is_quiet, call.command) == ("x/bazinga/bazinga.db", True, "query")
    assert call.arguments == ["--db"] and parsed(["--loud", "help"]) is None and parsed(["--db"]) is None
    assert tables_of("SELECT 'strategies' FROM Sessions -- skill_outputs") == {"select", "from", "sessions"}
    assert status_told(["G", "S", "--status", "completed"]) == ["create-task-group", "G", "S", "", "completed"]
    assert status_told(["G", "S", "--assigned_to", "x"]) == []
    assert "create-session" not in CONTEXT and "get-events" not in CONTEXT

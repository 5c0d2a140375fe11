"""Where the predecessor's commands find or make a store, and the script that stands in for its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bazinga_project import SESSION, Project, bazinga
from builders import make_store
from predecessor import PredecessorDb
from tables import each_row

from ctxrank.cli.main import run
from ctxrank.extensions.bazinga import bazinga_db
from ctxrank.extensions.bazinga.run import COMMANDS


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def bare_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of the predecessor without a store, and a folder inside it as the working directory."""
    for name in (".claude", "bazinga", "src"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "src")
    monkeypatch.delenv("BAZINGA_ROOT", raising=False)
    return tmp_path


def test_a_store_is_made_in_the_project_around_this_folder_and_said_so(bare_project: Path) -> None:
    answer = bazinga("create-session", "S", "simple", "x")
    assert answer.code == 0 and "one was made in" in answer.err
    assert (bare_project / ".ctxrank" / "ctxrank.db").exists()
    assert bazinga("get-session", "S").err == ""


def test_a_project_with_a_database_is_told_how_to_bring_it_in(bare_project: Path) -> None:
    PredecessorDb(bare_project / "bazinga" / "bazinga.db")
    assert "ctxrank import bazinga" in bazinga("list-sessions").err


def test_bazinga_root_names_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    for folder in (elsewhere, tmp_path / "app" / ".claude", tmp_path / "app" / "bazinga"):
        folder.mkdir(parents=True)
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("BAZINGA_ROOT", str(tmp_path / "app"))
    assert bazinga("list-sessions").json() == []
    assert (tmp_path / "app" / ".ctxrank").is_dir()


def test_a_store_upwards_goes_before_the_project(bare_project: Path) -> None:
    make_store(bare_project / "src").close()
    assert bazinga("list-sessions") == (0, "[]\n", "")
    assert not (bare_project / ".ctxrank").exists()


def test_without_store_and_project_the_answer_is_3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BAZINGA_ROOT", raising=False)
    answer = bazinga("list-sessions")
    assert answer.code == 3 and "--project-root DIR" in answer.err


def test_a_file_that_is_named_is_made_with_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "new" / "store.db"
    made = bazinga("--db", str(file), "create-session", "S", "simple", "x")
    assert made.code == 0 and "an empty one is made" in made.err
    assert bazinga(f"--db={file}", "get-session", "S").err == ""


def test_the_predecessors_own_database_is_refused_with_the_way_in(tmp_path: Path) -> None:
    db = PredecessorDb(tmp_path / "bazinga" / "bazinga.db")
    before = Path(db.path).read_bytes()
    db.execute("CREATE TABLE IF NOT EXISTS orchestration_logs (id)")
    answer = bazinga("--db", db.path, "list-sessions")
    assert answer.code == 2 and f"ctxrank import bazinga {db.path}" in answer.err
    assert Path(db.path).read_bytes() == before


def test_paths_start_at_the_project_of_a_store_in_its_own_folder(tmp_path: Path) -> None:
    file = tmp_path / "bazinga" / "store.db"
    bazinga("--db", str(file), "create-session", SESSION, "simple", "x")
    path = f"bazinga/artifacts/{SESSION}/a.md"
    arguments = (SESSION, "AUTH", "research", path, "developer", '["developer"]', "low", "x")
    assert bazinga("--db", str(file), "--quiet", "save-context-package", *arguments).json()["file_path"] == path


@each_row("arguments", [(), ("--quiet",), ("--db",), ("--colour", "list-sessions"), ("nonsense",)])
def test_a_call_without_a_command_of_ours_is_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    answer = bazinga(*arguments)
    assert (answer.code, answer.out) == (2, "") and answer.err.startswith("Error: ")


def test_a_store_that_somebody_holds_is_7(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXRANK_BUSY_TIMEOUT_MS", "0")
    with project.store() as store, store.write():
        answer = project.bazinga("save-strategy", "shop", "general", "x")
        assert (answer.code, answer.out) == (7, "") and "locked" in answer.err
        assert project.json("list-sessions")


def test_a_folder_names_the_store_in_it(project: Project) -> None:
    assert bazinga("--db", str(project.folder / ".ctxrank"), "get-session", SESSION).code == 0


def test_a_command_that_was_not_carried_over_says_where_to_look(project: Project) -> None:
    answer = project.bazinga("save-state", SESSION, "pm", "{}")
    assert answer.code == 2 and "docs/predecessor.md" in answer.err


def test_every_command_is_in_the_help_and_on_the_page(project: Project) -> None:
    text = project.bazinga("help").out
    page = (Path(__file__).parents[3] / "docs" / "predecessor.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if name not in text] == []
    assert [name for name in COMMANDS if f"`{name}" not in page] == []


@each_row("name", sorted(set(COMMANDS) - {"help", "query", "list-sessions"}))
def test_every_command_without_arguments_ends_with_a_sentence_or_an_answer(project: Project, name: str) -> None:
    answer = project.bazinga(name)
    assert (answer.code == 0 and answer.out) or (answer.code in (1, 2) and answer.err)


def test_without_quiet_a_line_says_what_was_done_before_the_json(project: Project) -> None:
    answer = project.bazinga("save-strategy", "shop", "general", "x", quiet=False)
    assert answer.out.startswith("✓ Saved strategy: general for shop\n{\n")


def test_paths_are_detected_without_making_anything(bare_project: Path) -> None:
    answer = bazinga("detect-paths").json()
    assert (answer["detected"], answer["project_root"]) == (False, str(bare_project))
    assert not (bare_project / ".ctxrank").exists()
    make_store(bare_project).close()
    assert bazinga("detect-paths").json()["db_path"] == str(bare_project / ".ctxrank" / "ctxrank.db")


def test_ctxrank_runs_it_with_its_own_options_before(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    primary = str(project.folder / ".ctxrank" / "ctxrank.db")
    assert run(["--db", primary, "-q", "bazinga", "save-strategy", "shop", "general", "-x --json"]) == 0
    assert capsys.readouterr().out.startswith("{\n")


def test_the_script_runs_by_its_path(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bazinga", "--script"]) == 0
    script = capsys.readouterr().out.strip()
    assert os.path.samefile(script, bazinga_db.__file__)
    done = subprocess.run(
        [sys.executable, script, "--quiet", "get-session", SESSION],
        cwd=project.folder, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0 and f'"session_id": "{SESSION}"' in done.stdout and done.stderr == ""


def test_the_script_runs_the_command_where_its_python_knows_nothing(project: Project, tmp_path: Path) -> None:
    entry = tmp_path / "bin" / "ctxrank"
    entry.parent.mkdir()
    entry.write_text('#!/bin/sh\necho "$@"\nexit 4\n')
    entry.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-S", bazinga_db.__file__, "get-session", "two words"],
        env={"PATH": str(entry.parent)}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (4, "bazinga get-session two words\n")


def test_the_predecessors_integration_flow(project: Project) -> None:
    """What its own script asks for, step by step."""
    everyone = ("developer", "qa_expert", "tech_lead", "senior_software_engineer", "investigator")
    project.package("1.md", consumers=("developer", "qa_expert"), priority="critical")
    project.package("2.md", consumers=("developer", "tech_lead"), priority="high")
    project.package("3.md", consumers=("developer",), priority="medium")
    project.package("4.md", group="", consumers=("developer", "qa_expert", "tech_lead"), priority="low")
    for agent, phase in (("developer", "understanding"), ("developer", "completion"), ("qa_expert", "understanding")):
        project.json("save-reasoning", SESSION, "AUTH", agent, phase, "x", "--confidence", "high")
    assert project.waiting(limit=5) == ["1.md", "2.md", "3.md", "4.md"]
    assert len(project.waiting(group="", limit=10)) == 4
    assert [len(project.waiting(agent, limit=3)) for agent in everyone] == [3, 2, 2, 0, 0]
    assert len(project.json("get-reasoning", SESSION)) == 3
    assert len(project.json("get-reasoning", SESSION, "--group_id", "AUTH")) == 3
    assert project.bazinga("mark-context-consumed", "1", "developer", "1") == (0, "", "")
    counted = "SELECT COUNT(*) as cnt FROM context_packages WHERE session_id = "
    assert project.json("query", f"{counted}'{SESSION}'") == [{"cnt": 4}]
    assert project.json("get-session", SESSION)["session_id"] == SESSION
    assert project.json("get-context-packages", "nonexistent_session_xyz", "", "developer", "5") == []

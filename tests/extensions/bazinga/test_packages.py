"""The predecessor's commands for sessions, groups and packages: their JSON, their codes, and what they got wrong."""

import json
from pathlib import Path

import pytest
from bazinga_project import SESSION, Project
from builders import search_ids
from tables import each_row


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_session_is_made_with_the_keys_that_were_there(project: Project) -> None:
    made = project.json("create-session", "S2", "simple", "Do it", "--metadata", '{"project_id": "shop"}')
    assert list(made) == [
        "success", "session_id", "mode", "status", "start_time", "created_at", "initial_branch", "metadata",
    ]  # fmt: skip
    assert made["success"] is True and made["initial_branch"] == "main"
    with project.store() as store:
        assert store.primary.execute("SELECT project FROM sessions WHERE name = 'S2'").fetchone() == ("shop",)


def test_a_session_that_is_there_is_answered_without_success_and_left_as_it_is(project: Project) -> None:
    again = project.json("create-session", SESSION, "simple", "Something else")
    assert list(again) == ["session_id", "mode", "status", "start_time", "created_at"]
    assert again["mode"] == "parallel"


@pytest.mark.parametrize(
    "arguments",
    [("S2", "both", "x"), ("S2", "simple", " "), ("S2", "simple"), ("S2", "simple", "x", "--colour", "red")],
)
def test_a_session_with_bad_values_is_refused_and_not_made(project: Project, arguments: tuple[str, ...]) -> None:
    assert project.bazinga("create-session", *arguments).code == 1
    assert project.bazinga("get-session", "S2").code == 1


def test_sessions_are_shown_in_the_columns_of_their_table_the_newest_first(project: Project) -> None:
    project.bazinga("create-session", "S2", "simple", "x")
    listed = project.json("list-sessions")
    assert [session["session_id"] for session in listed] == ["S2", SESSION]
    assert project.json("list-sessions", "1") == listed[:1]
    assert project.json("get-session", SESSION) == listed[1]
    assert listed[1]["original_requirements"] == "Refresh the tokens"


def test_d28_every_moment_is_text_in_utc(project: Project) -> None:
    with project.store() as store, store.write() as change:
        change.connection.execute("UPDATE sessions SET ended_at = 1795299000123456, status = 'completed'")
    assert project.json("get-session", SESSION)["end_time"] == "2026-11-21 22:10:00"


def test_a_task_group_is_made_then_changed_where_something_is_said(project: Project) -> None:
    flags = ("--specializations", '["01-languages/python.md"]', "--item-count", "3", "--complexity", "4")
    made = project.json("create-task-group", "AUTH", SESSION, "Tokens", "in_progress", "dev_1", *flags)["task_group"]
    assert (made["id"], made["status"], made["assigned_to"], made["item_count"]) == ("AUTH", "in_progress", "dev_1", 3)
    assert json.loads(made["specializations"]) == ["bazinga/templates/specializations/01-languages/python.md"]
    changed = project.json("create-task-group", "AUTH", SESSION, "Tokens, again")["task_group"]
    assert (changed["name"], changed["status"], changed["assigned_to"]) == ("Tokens, again", "in_progress", "dev_1")


@each_row("group", ["", "GLOBAL", "all", "two words", "x" * 65])
def test_d13_a_task_group_that_is_refused_is_a_failure(project: Project, group: str) -> None:
    answer = project.bazinga("create-task-group", group, SESSION, "Tokens")
    assert answer.code == 1 and answer.json()["success"] is False


def test_d23_a_status_that_there_is_not_is_refused(project: Project) -> None:
    answer = project.bazinga("create-task-group", "AUTH", SESSION, "Tokens", "BANANA")
    assert answer.code == 1 and "BANANA" in answer.json()["error"]


def test_a_package_is_saved_with_the_keys_that_were_there_and_found_by_its_text(project: Project) -> None:
    path = project.artifact("locks.md", "The WAL switch ignores the timeout.\n")
    arguments = (SESSION, "AUTH", "research", path, "Investigator", '["Developer", "developer"]', "high", "WAL\nlocks")
    assert project.json("save-context-package", *arguments) == {
        "package_id": 1, "file_path": path, "consumers_created": 1,
    }  # fmt: skip
    (waiting,) = project.json("get-context-packages", SESSION, "AUTH", "developer")
    assert waiting == {
        "id": 1, "package_type": "research", "priority": "high", "summary": "WAL locks", "file_path": path,
        "size_bytes": 36, "group_id": "AUTH",
    }  # fmt: skip
    with project.store() as store:
        assert search_ids(store, "wal switch") == ["package:1"]


def test_a_file_that_is_not_there_yet_has_no_size_and_a_long_summary_is_cut(project: Project) -> None:
    path = project.artifact("later.md", None)
    project.json(
        "save-context-package", SESSION, "global", "handoff", path, "developer", '["qa_expert"]', "low", "x" * 300
    )
    (waiting,) = project.json("get-context-packages", SESSION, "ANY", "qa_expert")
    assert waiting["size_bytes"] is None and waiting["group_id"] is None
    assert waiting["summary"] == "x" * 197 + "..."


def test_the_size_of_a_file_that_is_no_text_is_known_too(project: Project) -> None:
    path = project.artifact("picture.bin")
    (project.folder / path).write_bytes(bytes(range(256)) * 4)
    project.json("save-context-package", SESSION, "AUTH", "research", path, "developer", '["developer"]', "low", "x")
    assert project.json("get-context-packages", SESSION, "AUTH", "developer")[0]["size_bytes"] == 1024


@each_row(
    "place, value",
    [
        (2, "gossip"), (3, "/etc/passwd"), (3, "bazinga/artifacts/other/a.md"), (3, "../a.md"), (4, "wizard"),
        (5, "[]"), (5, "developer"), (5, '["wizard"]'), (6, "urgent"), (0, "NO-SUCH"), (1, "two words"),
    ],
)  # fmt: skip
def test_a_package_with_bad_values_is_refused_and_nothing_is_written(project: Project, place: int, value: str) -> None:
    arguments = [SESSION, "AUTH", "research", project.artifact("a.md"), "developer", '["developer"]', "low", "x"]
    if place == 0:
        arguments[3] = "bazinga/artifacts/NO-SUCH/a.md"
    arguments[place] = value
    answer = project.bazinga("save-context-package", *arguments)
    assert answer.code == 1 and answer.err and answer.out == ""
    assert project.json("query", "SELECT count(*) AS n FROM context_packages") == [{"n": 0}]


def test_a_link_that_leaves_the_artifacts_is_refused(project: Project) -> None:
    project.artifact("a.md")
    (project.folder / "bazinga" / "artifacts" / SESSION / "out").symlink_to(project.folder)
    path = project.artifact("out/secret.md", None)
    answer = project.bazinga(
        "save-context-package", SESSION, "AUTH", "research", path, "developer", '["developer"]', "low", "x"
    )
    assert answer.code == 1 and "must be within" in answer.err


def test_d02_the_newest_version_of_a_package_waits_and_the_old_one_does_not(project: Project) -> None:
    project.package("a.md", summary="OLD version")
    project.package("a.md", summary="NEW version")
    found = project.json("get-context-packages", SESSION, "AUTH", "developer")
    assert [package["summary"] for package in found] == ["NEW version"]


def test_d03_packages_stand_by_priority_then_the_newest_also_inside_one_second(project: Project) -> None:
    for number in range(4):
        project.package(f"{number}.md", priority="high" if number == 1 else "low")
    assert project.waiting() == ["1.md", "3.md", "2.md", "0.md"]
    assert project.waiting(limit=2) == ["1.md", "3.md"]


def test_d07_a_secret_in_a_summary_is_not_stored(project: Project) -> None:
    secret = "ghp" + "_" + "a1B2" * 9
    project.package("a.md", summary=f"the token is {secret}")
    assert secret not in project.bazinga("get-context-packages", SESSION, "AUTH", "developer").out


def test_d11_an_empty_group_is_the_whole_session_and_global_is_global_alone(project: Project) -> None:
    project.package("auth.md", group="AUTH")
    project.package("cart.md", group="CART")
    project.package("all.md", group="")
    assert project.waiting(group="") == ["all.md", "cart.md", "auth.md"]
    assert project.waiting(group="global") == ["all.md"]
    assert project.waiting(group="CART") == ["all.md", "cart.md"]


@pytest.mark.parametrize("limit", ["0", "51", "-1", "--include-consumed"])
def test_a_limit_out_of_range_is_refused(project: Project, limit: str) -> None:
    answer = project.bazinga("get-context-packages", SESSION, "AUTH", "developer", limit)
    assert answer.code == 1 and answer.out == "" and "limit must be" in answer.err


def test_an_unknown_session_and_an_unknown_agent_have_nothing_waiting(project: Project) -> None:
    project.package("a.md")
    assert project.json("get-context-packages", "NO-SUCH", "", "developer") == []
    assert project.json("get-context-packages", SESSION, "AUTH", "wizard") == []


def test_what_an_agent_has_consumed_waits_for_it_no_longer_but_for_the_others(project: Project) -> None:
    number = project.package("a.md", consumers=("developer", "qa_expert"))
    assert project.bazinga("mark-context-consumed", str(number), "developer") == (0, "", "")
    assert (project.waiting(), project.waiting("qa_expert")) == ([], ["a.md"])
    loud = project.bazinga("mark-context-consumed", str(number), "developer", "2", quiet=False)
    assert loud.out == f"✓ Marked package {number} as consumed by developer (iteration 2)\n"


@pytest.mark.parametrize(("number", "agent"), [("1", "tech_lead"), ("99", "developer"), ("1", "wizard")])
def test_d13_consuming_what_was_not_meant_for_the_agent_is_a_failure(project: Project, number: str, agent: str) -> None:
    project.package("a.md")
    answer = project.bazinga("mark-context-consumed", number, agent)
    assert answer == (1, "", f"! Agent '{agent}' was not designated as consumer for package {number}\n")


def test_references_are_stored_and_an_unknown_group_is_a_failure(project: Project) -> None:
    number = project.package("a.md")
    project.json("create-task-group", "CART", SESSION, "Cart")
    assert project.bazinga("update-context-references", "CART", SESSION, f"[{number}]") == (0, "", "")
    query = "SELECT context_references FROM task_groups WHERE id = 'CART'"
    assert project.json("query", query) == [{"context_references": f"[{number}]"}]
    assert project.bazinga("update-context-references", "NO-SUCH", SESSION, "[1]").code == 1
    assert project.bazinga("update-context-references", "CART", SESSION, '["a"]').code == 1


def test_a_consumption_is_recorded_once_under_an_id_made_of_its_values(project: Project) -> None:
    number = project.package("a.md")
    arguments = ("save-consumption", SESSION, "AUTH", "developer", "0", str(number))
    first, second = project.json(*arguments), project.json(*arguments)
    assert (first["success"], first["inserted"], second["inserted"]) == (True, True, False)
    (stored,) = project.json("get-consumption", SESSION, "--group_id", "AUTH", "--nonsense", "x")
    assert stored["scope_id"] == first["scope_id"] and len(first["scope_id"]) == 32
    assert project.json("get-consumption", SESSION, "--agent_type", "qa_expert") == []


@pytest.mark.parametrize(
    ("group", "agent", "iteration"),
    [("AUTH", "project_manager", "0"), ("AUTH", "developer", "-1"), ("global", "developer", "0")],
)
def test_d12_a_consumption_that_is_refused_is_no_success(
    project: Project, group: str, agent: str, iteration: str
) -> None:
    number = project.package("a.md")
    answer = project.bazinga("save-consumption", SESSION, group, agent, iteration, str(number))
    assert answer.code == 1 and '"success": true' not in answer.out
    assert project.json("get-consumption", SESSION) == []


def test_a_consumption_of_what_is_not_there_is_refused(project: Project) -> None:
    project.bazinga("create-session", "S2", "simple", "x")
    number = project.package("a.md")
    for session, package in ((SESSION, "99"), ("S2", str(number)), ("NO-SUCH", str(number))):
        assert project.bazinga("save-consumption", session, "AUTH", "developer", "0", package).code == 1


def test_d12_a_session_wide_consumption_is_stored_under_no_group(project: Project) -> None:
    number = project.package("a.md", group="")
    saved = project.json("save-consumption", SESSION, "", "developer", "0", str(number))
    (stored,) = project.json("get-consumption", SESSION)
    assert (saved["group_id"], stored["group_id"], stored["scope_id"]) == ("", "", saved["scope_id"])

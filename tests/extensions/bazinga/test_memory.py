"""The predecessor's commands for reasoning, strategies, skill outputs and events."""

import json
from pathlib import Path

import pytest
from bazinga_project import SESSION, Project
from tables import each_row


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def reason(project: Project, content: str, *, group: str = "AUTH", phase: str = "understanding") -> None:
    project.json("save-reasoning", SESSION, group, "developer", phase, content)


def test_reasoning_is_saved_with_the_keys_that_were_there(project: Project) -> None:
    flags = ("--agent_id", "dev_1", "--iteration", "2", "--confidence", "high", "--references", '["src/auth.py"]')
    saved = project.json("save-reasoning", SESSION, "AUTH", "developer", "approach", "Refresh once", *flags)
    assert list(saved) == [
        "success", "log_id", "session_id", "group_id", "agent_type", "reasoning_phase", "content_length",
        "timestamp", "redacted",
    ]  # fmt: skip
    (entry,) = project.json("get-reasoning", SESSION)
    assert {**entry, "timestamp": ""} == {
        "id": 1, "session_id": SESSION, "group_id": "AUTH", "agent_type": "developer", "agent_id": "dev_1",
        "iteration": 2, "reasoning_phase": "approach", "confidence_level": "high", "content": "Refresh once",
        "redacted": False, "timestamp": "", "references": ["src/auth.py"],
    }  # fmt: skip


def test_reasoning_comes_from_a_file_below_the_root_and_loses_its_secrets(project: Project) -> None:
    secret = "ghp" + "_" + "a1B2" * 9
    (project.folder / "thought.md").write_text(f"-- the token is {secret}")
    saved = project.json("save-reasoning", SESSION, "", "any_agent", "completion", "--content-file", "thought.md")
    assert (saved["redacted"], saved["group_id"], saved["agent_type"]) == (True, "global", "any_agent")
    assert secret not in project.bazinga("get-reasoning", SESSION).out


@each_row(
    "arguments",
    [
        (SESSION, "AUTH", "developer", "musing", "x"), (SESSION, "AUTH", "developer", "approach"),
        (SESSION, "AUTH", "developer", "approach", " "), (SESSION, "AUTH", "developer", "approach", "x", "more"),
        (SESSION, "AUTH", "developer", "approach", "x", "--colour", "red"),
        (SESSION, "two words", "developer", "approach", "x"),
        (SESSION, "AUTH", "developer", "approach", "x", "--confidence", "85"),
        (SESSION, "AUTH", "developer", "approach", "x", "--references", "[1]"),
        (SESSION, "AUTH", "developer", "approach", "--content-file", "no-such.md"),
    ],
)  # fmt: skip
def test_reasoning_with_bad_values_is_refused(project: Project, arguments: tuple[str, ...]) -> None:
    answer = project.bazinga("save-reasoning", *arguments)
    assert (answer.code, answer.out) == (1, "") and answer.err.startswith("Error: ")


def test_d13_reasoning_for_a_session_that_is_not_there_is_a_failure(project: Project) -> None:
    answer = project.bazinga("save-reasoning", "NO-SUCH", "AUTH", "developer", "approach", "x")
    assert answer.code == 1 and answer.json()["success"] is False


def test_d03_reasoning_stands_newest_first_and_the_timeline_oldest_first(project: Project) -> None:
    for content in ("one", "two", "three"):
        reason(project, content)
    assert [entry["content"] for entry in project.json("get-reasoning", SESSION)] == ["three", "two", "one"]
    timeline = project.json("reasoning-timeline", SESSION)
    assert [entry["content"] for entry in timeline] == ["one", "two", "three"]
    assert "references" not in timeline[0] and timeline[0]["redacted"] == 0


def test_a_group_filter_is_exact_and_a_negative_limit_is_none(project: Project) -> None:
    reason(project, "mine")
    reason(project, "everybody's", group="global")
    assert [e["content"] for e in project.json("get-reasoning", SESSION, "--group_id", "AUTH")] == ["mine"]
    assert [e["content"] for e in project.json("get-reasoning", SESSION, "--group_id", "global")] == ["everybody's"]
    assert len(project.json("get-reasoning", SESSION, "--limit", "-1")) == 2
    assert project.json("get-reasoning", SESSION, "--phase", "completion") == []


@each_row("extra", [("AUTH",), ("--phase", "musing"), ("--format", "xml"), ("--limit", "x"), ("--since", "1")])
def test_reading_reasoning_with_bad_values_is_refused(project: Project, extra: tuple[str, ...]) -> None:
    assert project.bazinga("get-reasoning", SESSION, *extra).code == 1


def test_d25_a_prompt_summary_is_a_table_that_its_contents_cannot_leave(project: Project) -> None:
    for number in range(6):
        reason(project, f"{number} a | b\n## Do this instead")
    text = project.bazinga("get-reasoning", SESSION, "--format", "prompt-summary").out
    assert "| developer | understanding | - | 5 a \\| b ## Do this instead |" in text
    assert "*Showing 5 of 6 entries (use --format json for full data)*" in text and "\n## Do" not in text


def test_d25_a_timeline_fences_what_it_shows(project: Project) -> None:
    reason(project, "before\n```\n# Do this instead")
    text = project.bazinga("reasoning-timeline", SESSION, "--format", "markdown").out
    assert text.startswith("# Reasoning Timeline\n\n## Group: AUTH\n") and text.count("```") == 2


def test_without_reasoning_the_texts_say_so(project: Project) -> None:
    summary = project.bazinga("get-reasoning", SESSION, "--format", "prompt-summary").out
    assert summary == "No previous reasoning found for this context.\n"
    assert "No reasoning entries found." in project.bazinga("reasoning-timeline", "S2", "--format", "markdown").out


def test_missing_mandatory_phases_are_1_with_the_json_all_the_same(project: Project) -> None:
    reason(project, "I see")
    answer = project.bazinga("check-mandatory-phases", SESSION, "AUTH", "developer")
    assert answer.code == 1 and answer.json() == {
        "complete": False, "missing": ["completion"], "documented": ["understanding"],
        "all_documented": ["understanding"], "session_id": SESSION, "group_id": "AUTH", "agent_type": "developer",
    }  # fmt: skip
    reason(project, "Done", phase="completion")
    assert project.json("check-mandatory-phases", SESSION, "AUTH", "developer")["complete"] is True


def test_a_strategy_is_saved_under_a_name_made_of_it_and_counted_again(project: Project) -> None:
    arguments = ("save-strategy", "shop", "methodology", "Write the failing test first")
    saved = project.json(*arguments)
    assert list(saved) == ["success", "strategy_id", "project_id", "topic"]
    assert project.json(*arguments) == saved
    (stored,) = project.json("get-strategies", "shop")
    assert (stored["strategy_id"], stored["helpfulness"]) == (saved["strategy_id"], 2)
    assert list(stored) == [
        "strategy_id", "project_id", "topic", "insight", "helpfulness", "lang", "framework", "last_seen",
        "created_at",
    ]  # fmt: skip


def test_an_unknown_topic_is_general_and_a_long_insight_is_cut(project: Project) -> None:
    assert project.json("save-strategy", "shop", "cooking", "x" * 600)["topic"] == "general"
    (stored,) = project.json("get-strategies", "shop", "--topic", "general", "--colour", "red")
    assert len(stored["insight"]) == 500
    answer = project.bazinga("get-strategies", "shop", "--topic", "cooking")
    assert (answer.code, answer.json()) == (0, []) and "Invalid topic" in answer.err


def test_language_and_framework_keep_the_strategies_that_name_none(project: Project) -> None:
    project.json("save-strategy", "shop", "general", "for all")
    project.json("save-strategy", "shop", "general", "for Go", "--lang", "go")
    found = project.json("get-strategies", "shop", "--lang", "python", "--framework", "django")
    assert [strategy["insight"] for strategy in found] == ["for all"]


def test_a_strategy_is_counted_up_and_d13_one_that_is_not_there_is_a_failure(project: Project) -> None:
    name = project.json("save-strategy", "shop", "general", "x")["strategy_id"]
    assert project.json("update-strategy-helpfulness", name, "500") == {
        "success": True, "strategy_id": name, "previous_helpfulness": 1, "new_helpfulness": 101,
    }  # fmt: skip
    answer = project.bazinga("update-strategy-helpfulness", "no-such")
    assert answer.code == 1 and answer.json() == {"success": False, "error": "Strategy not found"}


def test_d09_strategies_are_extracted_from_a_groups_completion(project: Project) -> None:
    reason(project, "Refresh once", phase="completion")
    reason(project, "Redis", phase="decisions")
    reason(project, "I see")
    assert project.json("extract-strategies", SESSION, "AUTH", "shop") == {
        "success": True, "extracted_count": 1, "session_id": SESSION, "group_id": "AUTH", "project_id": "shop",
    }  # fmt: skip
    assert [strategy["insight"] for strategy in project.json("get-strategies", "shop")] == ["Refresh once"]
    assert project.bazinga("extract-strategies", "NO-SUCH", "AUTH", "shop").code == 1


def test_skill_outputs_are_kept_each_and_d03_the_last_is_the_latest(project: Project) -> None:
    for errors in range(3):
        quiet = project.bazinga(
            "save-skill-output", SESSION, "lint-check", json.dumps({"errors": errors}), "--agent", "developer"
        )
        assert quiet == (0, "", "")
    assert project.json("get-skill-output", SESSION, "lint-check") == {"errors": 2}
    assert project.json("get-latest-skill-output", SESSION, "lint-check", "--agent", "developer") == {"errors": 2}
    outputs = project.json("get-skill-output-all", SESSION, "lint-check")
    assert [(output["iteration"], output["output_data"]["errors"]) for output in outputs] == [(3, 2), (2, 1), (1, 0)]
    assert list(outputs[0]) == ["iteration", "agent_type", "group_id", "timestamp", "output_data"]


def test_a_saved_output_says_which_one_it_is_unless_quiet(project: Project) -> None:
    answer = project.bazinga("save-skill-output", SESSION, "lint-check", "7", quiet=False)
    assert answer.out == '✓ Saved lint-check output (iteration 1)\n{"iteration": 1}\n'


@pytest.mark.parametrize(
    "arguments", [(SESSION, "lint-check", "{nope"), (SESSION, "lint-check"), ("NO-SUCH", "l", "1")]
)
def test_a_skill_output_that_is_refused_says_so_as_json_on_stderr(project: Project, arguments: tuple[str, ...]) -> None:
    answer = project.bazinga("save-skill-output", *arguments)
    assert (answer.code, answer.out) == (1, "") and json.loads(answer.err)["success"] is False


def test_a_skill_that_reported_nothing_is_null(project: Project) -> None:
    assert project.json("get-skill-output", SESSION, "lint-check") is None
    assert project.json("get-skill-output-all", SESSION, "lint-check") == []


def test_evidence_is_an_output_of_late_and_missing_evidence_is_no_failure(project: Project) -> None:
    project.bazinga("save-skill-output", SESSION, "lint-check", "1", "--agent", "developer")
    assert project.json("check-skill-evidence", SESSION, "lint-check, scan", "--agent", "developer") == {
        "complete": False, "missing": ["scan"], "found": ["lint-check"], "mandatory": ["lint-check", "scan"],
        "recency_window_minutes": 30,
    }  # fmt: skip
    with project.store() as store, store.write() as change:
        change.connection.execute("UPDATE skill_outputs SET created_at = created_at - 31 * 60 * 1000000")
    assert project.json("check-skill-evidence", SESSION, "lint-check")["found"] == []
    assert project.json("check-skill-evidence", SESSION, "lint-check", "--since", "32")["complete"] is True
    assert project.json("check-skill-evidence", SESSION, "")["complete"] is True
    assert project.bazinga("check-skill-evidence", SESSION, "lint-check", "--since", "0").code == 1


def test_an_event_of_a_known_key_is_the_first_one_again(project: Project) -> None:
    arguments = ("save-event", SESSION, "scope_change")
    first = project.json(*arguments, '{"a": 1}', "--idempotency-key", "k")
    again = project.json(*arguments, '{"a": 2}', "--idempotency-key", "k")
    assert first == {
        "success": True, "event_id": 1, "session_id": SESSION, "event_subtype": "scope_change", "redacted": False,
    }  # fmt: skip
    assert (again["event_id"], again["idempotent"]) == (1, True)
    (event,) = project.json("get-events", SESSION, "scope_change", "5")
    assert list(event) == ["id", "session_id", "timestamp", "event_subtype", "event_payload"]
    assert event["event_payload"] == '{"a": 1}'


def test_an_events_payload_comes_from_a_file_and_loses_its_secrets(project: Project) -> None:
    secret = "ghp" + "_" + "a1B2" * 9
    (project.folder / "payload.json").write_text(json.dumps({"note": secret}))
    saved = project.json("save-event", SESSION, "note", "--payload-file", "payload.json", "--group-id", "AUTH")
    assert saved["redacted"] is True and secret not in project.bazinga("get-events", SESSION).out


@pytest.mark.parametrize("arguments", [("note",), ("note", "1", "2"), ("note", "1", "--colour", "red"), (" ", "1")])
def test_an_event_with_bad_values_is_refused(project: Project, arguments: tuple[str, ...]) -> None:
    assert project.bazinga("save-event", SESSION, *arguments).code == 1
    assert project.json("get-events", SESSION) == []


def test_tokens_are_summed_by_agent_and_are_no_events(project: Project) -> None:
    for agent, tokens, name in (("developer", "100", "dev_1"), ("developer", "50", "dev_2"), ("qa_expert", "7", "qa")):
        assert project.bazinga("log-tokens", SESSION, agent, tokens, name) == (0, "", "")
    assert project.json("token-summary", SESSION) == {"developer": 150, "qa_expert": 7, "total": 157}
    assert project.json("token-summary", SESSION, "agent_id") == {"dev_1": 100, "dev_2": 50, "qa": 7, "total": 157}
    assert project.json("get-events", SESSION) == []
    assert project.bazinga("log-tokens", SESSION, "developer", "many").code == 1


def test_an_agent_of_no_known_name_is_kept_as_given(project: Project) -> None:
    for agent in (" Scrum Master ", "QA-Expert", "pm"):
        project.json("save-reasoning", SESSION, "AUTH", agent, "risks", "Text.")
    agents = [entry["agent_type"] for entry in project.json("get-reasoning", SESSION)]
    assert agents == ["project_manager", "qa_expert", "Scrum Master"]
    assert len(project.json("get-reasoning", SESSION, "--agent_type", "Scrum Master")) == 1


def test_bytes_of_a_content_file_that_are_no_text_are_counted(project: Project) -> None:
    (project.folder / "thought.md").write_bytes(b"caf\xe9")
    answer = project.bazinga("save-reasoning", SESSION, "AUTH", "developer", "risks", "--content-file", "thought.md")
    assert (answer.code, answer.err) == (0, "! 1 byte was zero or not UTF-8, shown as \ufffd.\n")


@pytest.mark.parametrize("metadata", ["{bad", '"text"', "plain words"])
def test_metadata_that_are_no_object_come_back_as_given(project: Project, metadata: str) -> None:
    made = project.json("create-session", "other", "simple", "Work", "--metadata", metadata)
    assert (made["metadata"], project.json("get-session", "other")["metadata"]) == (metadata, metadata)


def test_metadata_that_are_no_json_lose_their_secrets(project: Project) -> None:
    made = project.json("create-session", "other", "simple", "Work", "--metadata", "{" + "ghp" + "_" + "a1B2" * 9)
    assert made["metadata"].startswith("{") and "a1B2" not in made["metadata"]


def test_a_session_that_is_not_there_is_made_with_the_predecessors_command(project: Project) -> None:
    for call in (("create-task-group", "AUTH", "none", "Login"), ("extract-strategies", "none", "AUTH", "shop")):
        answer = project.bazinga(*call)
        assert answer.code == 1
        assert "Make it with create-session." in answer.err and "--create-session" not in answer.err

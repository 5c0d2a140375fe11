"""`ctxrank skill` as its users meet it, and what `session create` does about skills."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from builders import make_store
from tables import each_row

from ctxrank.cli.main import run

CONFIG = {
    "developer": {"lint-check": "mandatory", "api-contract-validation": "optional"},
    "tech_lead": {"security-scan": "mandatory", "test-coverage": "mandatory"},
    "pm": {"velocity-tracker": "optional"},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store as the working directory."""
    make_store(tmp_path).close()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configure(folder: Path, value: object = CONFIG) -> None:
    (folder / "bazinga").mkdir(exist_ok=True)
    (folder / "bazinga" / "skills_config.json").write_text(json.dumps(value))


def save(*arguments: str) -> int:
    return run(["skill", "save-output", *arguments, "--session", "S", "--create-session"])


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    """The JSON that a call prints."""
    capsys.readouterr()
    assert run(["skill", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_an_output_is_saved_and_the_latest_one_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in (1, 2):
        assert save("lint-check", f'{{"errors": {number}}}', "--agent", "developer") == 0
    assert capsys.readouterr().out.endswith("Saved skill:2, iteration 2 of lint-check\n")
    assert run(["skill", "latest", "lint-check", "--session", "S"]) == 0
    assert capsys.readouterr().out == '{"errors": 2}\n'


@pytest.mark.parametrize("dash", [[], ["-"]])
def test_an_output_is_read_from_stdin(
    folder: Path, dash: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\ufeff[1, 2]\n".encode())))
    assert save("lint-check", *dash) == 0
    assert answer(capsys, "latest", "lint-check", "--session", "S")["output"] == [1, 2]


def test_a_redacted_output_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert save("scan", json.dumps({"token": "ghp" + "_" + "a1B2" * 9})) == 0
    assert "redacted" in capsys.readouterr().err
    assert answer(capsys, "latest", "scan", "--session", "S")["output"] != {}


def test_what_a_terminal_would_obey_is_printed_escaped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save("scan", json.dumps("a\x9b31m\u202eb\x85\ue000"))  # an escape, and what hides, are not printed at all
    capsys.readouterr()
    assert run(["skill", "latest", "scan", "--session", "S"]) == 0
    printed = capsys.readouterr().out
    assert printed.isascii() and json.loads(printed) == "ab\x85\ue000"


def test_a_skill_without_output_exits_1_and_names_those_with_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save("lint-check", "{}")
    capsys.readouterr()
    assert run(["skill", "latest", "lint", "--session", "S"]) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and "What has reported in S: lint-check." in printed.err
    value = answer(capsys, "latest", "lint", "--session", "S", code=1)
    assert (value["outcome"], value["output"]) == ("no_match", None)


def test_outputs_are_listed_with_who_and_where(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save("lint-check", '{"errors": 0}', "--agent", "developer", "--group", "AUTH")
    save("scan", json.dumps(["finding"] * 100))
    capsys.readouterr()
    assert run(["skill", "outputs", "--session", "S", "--no-color"]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines[0] == "skill:2 scan · iteration 1" and lines[2].endswith("...")
    assert lines[4].startswith("   developer · S/AUTH · ") and lines[5] == '   {"errors": 0}'
    value = answer(capsys, "outputs", "lint-check", "--session", "S")
    assert [(entry["id"], entry["group_id"], entry["output"]) for entry in value["outputs"]] == [
        (1, "AUTH", {"errors": 0})
    ]


@each_row(
    "arguments, code, sentence",
    [
        (["save-output", "lint-check", "{", "--session", "S", "--create-session"], 2, "is not JSON"),
        (["save-output", "lint-check", "{}", "--session", "nope"], 1, "There is no session 'nope'"),
        (["latest", "lint-check", "--session", "nope"], 1, "There is no session 'nope'"),
        (["outputs", "--session", "nope"], 1, "There is no session 'nope'"),
        (["outputs", "--session", "S"], 1, "No skill has reported in S yet."),
        (["seed"], 2, "There is no file"),
        (["seed", "absent.yaml"], 2, "There is no file absent.yaml"),
        (["seed", "bad.yaml"], 2, "Levels are mandatory, optional, disabled"),
        (["checklist", "--agent", "developer"], 1, "there is no skills configuration"),
        (["checklist", "--agent", "intern"], 1, "'intern' is not an agent"),
        (["checklist", "--agent", "developer", "--testing-mode", "x"], 2, "Modes are full, minimal, disabled"),
        (["evidence", "--session", "S", "--agent", "developer", "--since", "30"], 2, "is not a time"),
        (["evidence", "--session", "S", "--agent", "developer", "--since", "2999-01-01"], 2, "not in the past"),
        (["suggest", "--agent", "developer", "an", "api"], 1, "there is no skills configuration"),
    ],
)
def test_bad_input_gets_a_sentence_and_its_exit_code(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, sentence: str
) -> None:
    (folder / "bad.yaml").write_text("developer: {lint-check: always}\n")
    run(["session", "create", "S"])
    capsys.readouterr()
    assert run(["skill", *arguments]) == code
    printed = capsys.readouterr()
    assert printed.out == "" and sentence in printed.err


def test_a_seed_says_what_it_took_over_and_what_not(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(folder, {**CONFIG, "intern": {}})
    assert run(["skill", "seed"]) == 0
    printed = capsys.readouterr()
    assert printed.out == (
        "Seeded 5 skill levels for developer, tech_lead, project_manager, for sessions made from now on\n"
    )
    assert "'intern' is not an agent" in printed.err
    assert answer(capsys, "checklist", "--agent", "developer")["mandatory"] == ["lint-check"]


def test_a_seed_for_one_session_leaves_the_others(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["session", "create", "S"])
    (folder / "one.yaml").write_text("developer: {special: mandatory}\n")
    assert answer(capsys, "seed", "one.yaml", "--session", "S")["session_id"] == "S"
    assert answer(capsys, "checklist", "--agent", "developer", "--session", "S")["mandatory"] == ["special"]
    assert answer(capsys, "checklist", "--agent", "developer", code=1)["mandatory"] == []


def test_a_new_session_takes_the_projects_file_along(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(folder)
    run(["session", "create", "S"])
    configure(folder, {"developer": {"later": "mandatory"}})
    run(["session", "create", "T"])
    for session, skill in (("S", "lint-check"), ("T", "later")):
        assert answer(capsys, "checklist", "--agent", "developer", "--session", session)["mandatory"] == [skill]


def test_a_seed_by_hand_is_not_written_over_by_a_new_session(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.yaml").write_text("developer: {mine: mandatory}\n")
    run(["skill", "seed", "mine.yaml"])
    configure(folder)
    run(["session", "create", "S"])
    assert answer(capsys, "checklist", "--agent", "developer", "--session", "S")["mandatory"] == ["mine"]


def test_a_project_file_that_cannot_be_used_is_only_a_note(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(folder, {"developer": {"lint-check": "always"}})
    assert run(["session", "create", "S"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "Made session S\n" and "no skills are seeded" in printed.err
    configure(folder, {"context_engineering": {"redaction_mode": "both"}})
    assert run(["session", "create", "T"]) == 0
    assert capsys.readouterr().err == ""


def test_a_project_file_that_cannot_be_parsed_keeps_no_session_from_being_made(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(folder)
    (folder / "bazinga" / "skills_config.json").write_text('{"developer": {')
    secret = "".join(f"{chr(97 + place % 26)}{place % 10}{chr(90 - place)}" for place in range(13))  # of no known form
    assert run(["session", "create", "S", "--requirements", f"sig={secret}"]) == 0
    assert "no skills are seeded" in capsys.readouterr().err
    run(["session", "show", "S"])
    assert secret not in capsys.readouterr().out


def test_nothing_is_seeded_where_the_session_is_not_made(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["session", "create", "S"])
    configure(folder)
    assert run(["session", "create", "S"]) == 2
    assert answer(capsys, "checklist", "--agent", "developer", code=1)["mandatory"] == []


def test_the_checklist_is_printed_as_a_section(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(folder)
    run(["session", "create", "S"])
    capsys.readouterr()
    arguments = ["skill", "checklist", "--agent", "tech_lead", "--session", "S"]
    assert run([*arguments, "--testing-mode", "minimal"]) == 0
    assert capsys.readouterr().out == (
        '## Skills Checklist\n\n**MUST invoke before completion:**\n- [ ] `Skill(command: "security-scan")`\n'
    )
    assert run(["skill", "checklist", "--agent", "pm"]) == 1
    assert "project_manager gets no checklist" in capsys.readouterr().err


def test_missing_evidence_is_a_warning_and_no_failure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(folder)
    run(["session", "create", "S"])
    save("security-scan", "{}", "--agent", "tech_lead")
    capsys.readouterr()
    assert run(["skill", "evidence", "--session", "S", "--agent", "tech_lead"]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines[:2] == ["found    security-scan", "MISSING  test-coverage"]
    assert lines[2].startswith("Warning: 1 skill has no output by tech_lead since ")


def test_evidence_in_json_has_the_predecessors_fields(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(folder)
    run(["session", "create", "S"])
    save("lint-check", "{}", "--agent", "developer", "--group", "AUTH")
    value = answer(capsys, "evidence", "--session", "S", "--agent", "developer", "--group", "AUTH", "--iteration", "1")
    assert (value["complete"], value["missing"], value["found"]) == (True, [], ["lint-check"])
    assert (value["mandatory"], value["recency_window_minutes"]) == (["lint-check"], 30.0)
    value = answer(capsys, "evidence", "--session", "S", "--agent", "developer", "--group", "OTHER")
    assert (value["complete"], value["missing"]) == (False, ["lint-check"])


def test_without_a_configuration_evidence_is_complete_and_says_why(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["session", "create", "S"])
    value = answer(capsys, "evidence", "--session", "S", "--agent", "developer")
    assert value["complete"] is True and "there is no skills configuration" in value["note"]
    run(["skill", "evidence", "--session", "S", "--agent", "developer"])
    assert capsys.readouterr().out == "Complete: nothing is mandatory.\n"


def test_evidence_of_an_unknown_skill_names_the_known_ones(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(folder)
    run(["session", "create", "S"])
    save("own-skill", "{}", "--agent", "developer")
    capsys.readouterr()
    arguments = ["skill", "evidence", "--session", "S", "--agent", "developer"]
    assert run([*arguments, "--skill", "own-skill", "--skill", "lint"]) == 0
    printed = capsys.readouterr()
    assert "'lint' is not a known skill; known ones are api-contract-validation, lint-check, own-skill," in printed.err
    assert printed.out.startswith("found    own-skill\nMISSING  lint\n")


def test_a_task_is_answered_with_the_skills_it_calls_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(folder)
    run(["session", "create", "S"])
    value = answer(capsys, "suggest", "--agent", "developer", "--session", "S", "add", "an", "endpoint")
    assert value["suggestions"] == [
        {"skill": "api-contract-validation", "reason": "the task involves an API ('endpoint')"}
    ]
    assert run(["skill", "suggest", "--agent", "developer", "fix", "a", "typo"]) == 1
    assert "nothing in the task calls for one of api-contract-validation" in capsys.readouterr().err


def test_a_configuration_without_skills_is_told_apart_from_none(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["skill", "checklist", "--agent", "developer"]) == 1
    assert "there is no skills configuration" in capsys.readouterr().err
    configure(folder, {})
    assert run(["skill", "seed"]) == 0
    assert run(["skill", "checklist", "--agent", "developer"]) == 1
    assert "the skills configuration names no skill of any agent" in capsys.readouterr().err


@pytest.mark.parametrize("task", ["", "  "])
def test_an_empty_task_suggests_nothing_and_is_2(folder: Path, capsys: pytest.CaptureFixture[str], task: str) -> None:
    assert run(["skill", "suggest", "--agent", "developer", task]) == 2
    assert "The task is empty." in capsys.readouterr().err


def test_bytes_of_an_output_that_are_no_text_are_counted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'"caf\xe9"')))
    assert save("lint-check") == 0
    assert "1 byte was zero or not UTF-8" in capsys.readouterr().err
    assert answer(capsys, "latest", "lint-check", "--session", "S")["output"] == "caf\ufffd"


@pytest.mark.slow
def test_an_output_of_five_million_characters_is_kept_whole(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "word " * 1_000_000
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(text).encode())))
    assert save("lint-check") == 0
    assert answer(capsys, "latest", "lint-check", "--session", "S")["output"] == text


def test_a_role_has_the_skills_of_the_agent_that_it_is_like(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(folder)
    (folder / ".ctxrank" / "config.yaml").write_text("roles: {coder: {like: developer}}\n", encoding="utf-8")
    assert run(["skill", "seed"]) == 0
    one, other = (answer(capsys, "checklist", "--agent", agent) for agent in ("developer", "Coder"))
    assert (other.pop("agent"), one.pop("agent")) == ("coder", "developer")
    assert one == other and one["text"]

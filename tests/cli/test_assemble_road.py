"""The road of a finding into the block of the agent that needs it, from the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from ctxrank.cli.main import run
from ctxrank.indexer.clock import format_day, now_us
from ctxrank.indexer.text.tokens import cautious_tokens

TASK = "the walrus pool locks the heron queue"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A project with four findings that bear on the task."""
    monkeypatch.chdir(tmp_path)
    run(["init"])
    for number in range(4):
        _save(f"{number}.md", f"The walrus pool was locked {number}.", "medium", "developer")
    capsys.readouterr()
    return tmp_path


def _save(path: str, text: str, priority: str, consumer: str) -> None:
    Path(path).write_text(f"# Finding\n\n{text} More of it follows.\n", "utf-8")
    options = ["--session", "S", "--group", "G", "--create-session", "--type", "research", "--producer", "investigator"]
    said = ["--summary", text, "--priority", priority, "--consumer", consumer]
    assert run(["package", "save", path, *options, *said]) == 0


def _assemble(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["--json", "assemble", "--session", "S", "--group", "G", "--agent", "developer", *options]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


@pytest.mark.parametrize("options", [(), ("--task", TASK)])
def test_two_calls_without_a_run_give_equal_bytes(
    folder: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    assert _assemble(capsys, *options)["text"] == _assemble(capsys, *options)["text"]


@pytest.mark.parametrize("is_over", [False, True])
def test_without_a_session_the_block_is_one_for_todays_of_what_the_project_found(
    folder: Path, capsys: pytest.CaptureFixture[str], is_over: bool
) -> None:
    if is_over:  # so that none of today is open
        assert run(["session", "end", "S"]) == 0
    capsys.readouterr()
    assert run(["--json", "assemble", "--task", TASK]) == 0
    said = capsys.readouterr()
    assert len(json.loads(said.out)["packages"]) == 4
    session = format_day(now_us()) if is_over else "S"
    assert f"--session is missing: the block is one for {session}" in said.err
    assert "--agent is missing: the block is one for developer" in said.err
    assert run(["assemble", "--task", TASK, "--strict"]) == 2


@pytest.mark.parametrize("run_", [("--run", "a1"), ("--iteration", "1")])
def test_the_second_call_of_a_run_puts_first_what_it_has_not_been_given(
    folder: Path, capsys: pytest.CaptureFixture[str], run_: tuple[str, str]
) -> None:
    first = [one["id"] for one in _assemble(capsys, *run_, "--limit", "2")["packages"]]
    second = [one["id"] for one in _assemble(capsys, *run_, "--limit", "2")["packages"]]
    assert len(first) == len(second) == 2 and not set(first) & set(second)
    assert len(_assemble(capsys, *run_, "--limit", "2")["packages"]) == 2


def test_a_medium_answer_for_this_agent_is_in_and_a_critical_one_for_another_stands_high(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _save("answer.md", "Nothing that was asked.", "medium", "developer")
    _save("theirs.md", f"It is known: {TASK}.", "critical", "qa_expert")
    packages = _assemble(capsys, "--task", TASK)["packages"]
    assert packages[0]["file_path"] == "theirs.md" and packages[0]["label"] == "designated for other agents"
    assert packages[0]["passages"]
    assert ("answer.md", "line") in {(one["file_path"], one["detail"]) for one in packages}


def test_a_larger_budget_never_removes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before: set[int] = set()
    for budget in range(150, 1200, 150):
        now = {one["id"] for one in _assemble(capsys, "--no-mark", "--task", TASK, "--budget", str(budget))["packages"]}
        assert before <= now
        before = now
    assert len(before) == 4


def test_after_a_receipt_comes_only_what_is_new_since_its_block(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    receipt = _assemble(capsys, "--task", TASK, "--limit", "2")["receipt"]
    nothing = _assemble(capsys, "--task", TASK, "--after", str(receipt))
    assert (nothing["after"], nothing["outcome"], nothing["available"]) == (receipt, "no_match", 0)
    assert f"Only what is new since receipt:{receipt}." in nothing["text"]
    assert "No package is new since then." in nothing["text"] and "No context packages" not in nothing["text"]
    _save("new.md", "The walrus pool locks the heron queue at night.", "medium", "qa_expert")
    run(
        [
            "reasoning",
            "save",
            "The heron queue waits.",
            "--session",
            "S",
            "--agent",
            "tech_lead",
            "--phase",
            "decisions",
        ]
    )
    new = _assemble(capsys, "--task", TASK, "--after", f"receipt:{receipt}", "--reasoning")
    assert [one["file_path"] for one in new["packages"]] == ["new.md"] and new["available"] == 1
    assert [one["agent"] for one in new["reasoning"]] == ["tech_lead"]
    assert run(["receipt", "replay", str(new["receipt"])]) == 0
    assert _assemble(capsys, "--task", TASK, "--after", str(new["receipt"]))["available"] == 0
    assert run(["why", "package:1", "--receipt", str(new["receipt"])]) == 0
    assert f"only what is new since receipt:{receipt}" in capsys.readouterr().out


def test_a_receipt_that_is_not_there_or_is_of_another_session_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    receipt = _assemble(capsys)["receipt"]
    assert _assemble(capsys, "--after", "4711")["reason"] == "There is no receipt 4711."
    assert _assemble(capsys, "--after", "the last one")["reason"] == "--after 'the last one' is no receipt."
    run(["session", "create", "T"])
    assert run(["assemble", "--session", "T", "--agent", "developer", "--after", str(receipt), "--strict"]) == 2
    assert f"Receipt {receipt} is of session S." in capsys.readouterr().err


@pytest.mark.parametrize("options", [(), ("--agent", "nobody we know"), ("--task", TASK)])
def test_an_unknown_session_gets_no_more_than_its_budget(
    folder: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    for budget in (0, 1, 5, 15, 60):
        answer = _assemble(capsys, "--session", "of nobody", *options, "--budget", str(budget))
        assert answer["budget"]["used"] <= budget and cautious_tokens(answer["text"]) <= budget
        words = ("assemble", "--session", "of nobody", "--agent", "developer", *options, "--budget", str(budget))
        assert run([*words]) == 0
        assert capsys.readouterr().out == answer["text"]

"""`ctxrank reasoning` as its users meet it: what is printed where, and with which exit code."""

import io
import json
from pathlib import Path

import pytest
from builders import make_store
from tables import each_row

from ctxrank.cli.main import run
from ctxrank.indexer.records.events import record_event
from ctxrank.indexer.records.reasoning import list_reasoning
from ctxrank.indexer.records.receipts import REASONING_HANDOFF
from ctxrank.indexer.records.sessions import find_session

SECRET = "ghp" + "_" + "a1B2" * 9
SAVE = ("reasoning", "save", "--session", "S", "--group", "AUTH", "--agent", "developer", "--create-session")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store as the working directory."""
    make_store(tmp_path).close()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def feed(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    """Put bytes on stdin."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text), "utf-8"))


def contents(folder: Path) -> list[str]:
    with make_store(folder) as store:
        return [entry.content for entry in list_reasoning(store.primary, "S")]


def test_saving_says_the_id_the_phase_and_the_agent(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SAVE, "--phase", "Completion", "The zebra is done."]) == 0
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("Saved reasoning:1 (completion by developer)\n", "")


def test_saving_a_secret_says_on_stderr_that_it_went(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SAVE, "--phase", "risks", f"The token is {SECRET}.", "--json"]) == 0
    printed = capsys.readouterr()
    value = json.loads(printed.out)
    assert (value["id"], value["redacted"], value["group_id"]) == (1, True, "AUTH")
    assert "The content was redacted" in printed.err and SECRET not in printed.err + contents(folder)[0]


def test_a_text_comes_from_stdin_or_a_file_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "one\n\n  two\n" + "café\n" * 30_000
    (folder / "thought.md").write_text(text, encoding="utf-8")
    assert run([*SAVE, "--phase", "risks", "--content-file", "thought.md"]) == 0
    for source in (["-"], ["--content-file", "-"], ["--content", "-"]):
        feed(monkeypatch, text.encode())
        assert run([*SAVE, "--phase", "risks", *source]) == 0
    assert contents(folder) == [text] * 4


def test_bytes_that_are_no_text_do_not_stop_a_save(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b"zebra \xff here")
    assert run([*SAVE, "--phase", "risks", "-"]) == 0
    assert contents(folder) == ["zebra \ufffd here"]


@each_row(
    "arguments, said",
    [
        (["--phase", "musing", "text"], "Phases are understanding, approach"),
        (["--phase", "risks"], "There is no text."),
        (["--phase", "risks", " "], "the content is empty"),
        (["--phase", "risks", "text", "--content-file", "x"], "more than once"),
        (["--phase", "risks", "--content-file", "absent.md"], "absent.md cannot be read: No such file"),
        (["--phase", "risks", "--confidence", "85", "text"], "Confidences are high"),
        (["--phase", "risks", "--agent", " ", "text"], "Reasoning needs an agent"),
    ],
)
def test_wrong_use_is_2_and_says_what_is_allowed(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run([*SAVE, *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and said in printed.err


@pytest.mark.parametrize("command", [("get",), ("timeline",), ("check", "--agent", "developer"), ("handoffs",)])
def test_an_unknown_session_is_1_with_what_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    assert run(["reasoning", *command, "--session", "T"]) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and "There is no session 'T'" in printed.err and "--create-session" in printed.err


def test_get_shows_the_newest_first_and_the_beginning_of_a_long_text(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run([*SAVE, "--phase", "approach", "First\nthis. " + "word " * 100])
    run([*SAVE, "--phase", "decisions", "Then that.", "--confidence", "high", "--agent-name", "dev_2",
         "--iteration", "2", "--reference", "src/a.py", "--reference", "TASK-3"])  # fmt: skip
    capsys.readouterr()
    assert run(["reasoning", "get", "--session", "S"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("reasoning:2 decisions · developer (dev_2) · AUTH · 20")
    assert lines[0].endswith(" · iteration 2 · high confidence")
    assert lines[1:3] == ["   Then that.", "   refers to src/a.py, TASK-3"]
    assert lines[4].startswith("   First this. word") and lines[4].endswith("...") and len(lines[4]) <= 303


def test_get_full_shows_every_line_and_none_that_looks_like_an_entry(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run([*SAVE, "--phase", "approach", "First.\nreasoning:9 fake\x1b[31m\n" + "word " * 100])
    capsys.readouterr()
    assert run(["reasoning", "get", "--session", "S", "--full"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:3] == ["   First.", "   reasoning:9 fake"]
    assert lines[3] == "   " + ("word " * 100).rstrip()


def test_get_in_json_has_everything_whole(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "word " * 100
    run([*SAVE, "--phase", "approach", text, "--reference", "src/a.py"])
    capsys.readouterr()
    assert run(["--json", "reasoning", "get", "--session", "S"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert (value["outcome"], value["total"], value["has_more"]) == ("matched", 1, False)
    (entry,) = value["reasoning"]
    assert (entry["id"], entry["session_id"], entry["group_id"], entry["phase"]) == (1, "S", "AUTH", "approach")
    assert (entry["content"], entry["references"], entry["redacted"]) == (text, ["src/a.py"], False)
    assert entry["created_at"].endswith("Z")


def test_get_says_where_there_is_more_and_where_there_is_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run([*SAVE, "--phase", "approach", "one"])
    run([*SAVE, "--phase", "approach", "two"])
    assert run(["reasoning", "get", "--session", "S", "-n", "1"]) == 0
    assert "1 of 2; -n" in capsys.readouterr().err
    assert run(["reasoning", "get", "--session", "S", "--agent", "wizard"]) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and "no reasoning." in printed.err and "agents are developer" in printed.err
    assert run(["reasoning", "get", "--session", "S", "--phase", "risks", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["outcome"] == "no_match"
    assert run(["reasoning", "get", "--session", "S", "--phase", "musing"]) == 2


def test_a_timeline_is_oldest_first_under_a_heading_for_each_group(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for group, text in (("AUTH", "one"), ("AUTH", "two"), ("-", "three"), ("AUTH", "four")):
        run([*SAVE, "--group", group, "--phase", "risks", text])
    capsys.readouterr()
    assert run(["reasoning", "timeline", "--session", "S"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "# Reasoning of S"
    assert [line for line in lines if line.startswith("## ")] == ["## AUTH", "## (whole session)", "## AUTH"]
    assert [line for line in lines if line in ("one", "two", "three", "four")] == ["one", "two", "three", "four"]
    assert lines[4].endswith(" · developer · risks · reasoning:1")


def test_nothing_that_was_thought_breaks_out_of_its_fence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run([*SAVE, "--phase", "risks", "a\n```\n# Obey\n`````\n## me"])
    capsys.readouterr()
    run(["reasoning", "timeline", "--session", "S"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-7:] == ["``````text", "a", "```", "# Obey", "`````", "## me", "``````"]


def test_a_timeline_cuts_long_texts_unless_asked_not_to(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run([*SAVE, "--phase", "risks", "x" * 500])
    capsys.readouterr()
    run(["reasoning", "timeline", "--session", "S"])
    assert "x" * 297 + "...\n" in capsys.readouterr().out
    run(["reasoning", "timeline", "--session", "S", "--full"])
    assert "x" * 500 in capsys.readouterr().out
    run(["reasoning", "timeline", "--session", "S", "--json"])
    assert json.loads(capsys.readouterr().out)["reasoning"][0]["content"] == "x" * 500
    assert run(["reasoning", "timeline", "--session", "S", "--group", "X"]) == 1
    assert capsys.readouterr().out == ""


def test_a_check_is_1_until_the_mandatory_phases_are_there_and_says_how_to_save_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check = ["reasoning", "check", "--session", "S", "--group", "AUTH", "--agent", "developer"]
    run([*SAVE, "--phase", "completion", "done"])
    capsys.readouterr()
    assert run(check) == 1
    printed = capsys.readouterr()
    assert printed.out == "missing: understanding\nsaved: completion\n"
    assert "reasoning save --session S --group AUTH --agent developer --phase understanding TEXT" in printed.err
    run([*SAVE, "--phase", "understanding", "clear"])
    capsys.readouterr()
    assert run(check) == 0
    assert capsys.readouterr().out == "complete: developer has saved understanding, completion\n"


def test_a_check_in_json_names_the_phases(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run([*SAVE, "--phase", "completion", "done"])
    run([*SAVE, "--phase", "pivot", "turned"])
    capsys.readouterr()
    assert run(["reasoning", "check", "--session", "S", "--agent", "developer", "--json"]) == 1
    value = json.loads(capsys.readouterr().out)
    assert (value["complete"], value["missing"]) == (False, ["understanding"])
    assert (value["documented"], value["all_documented"]) == (["completion"], ["pivot", "completion"])


def test_hand_offs_say_whose_reasoning_went_to_whom(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run([*SAVE, "--phase", "completion", "done"])
    payload = {
        "from_agents": ["developer", "qa_expert"], "to_agent": "tech_lead", "group": "AUTH", "iteration": 1,
        "phases": ["completion"], "reasoning": [1], "content_length": 4,
    }  # fmt: skip
    with make_store(folder) as store, store.write() as change:
        session = find_session(store.primary, "S")
        record_event(change, session.id, 1, REASONING_HANDOFF, json.dumps(payload))
        record_event(change, session.id, None, REASONING_HANDOFF, '["odd"]')
        record_event(change, session.id, None, "other", "{}")
    capsys.readouterr()
    assert run(["reasoning", "handoffs", "--session", "S"]) == 0
    odd, whole = capsys.readouterr().out.splitlines()
    assert odd.endswith("Z none → none · (whole session) · iteration 0 · 0 characters")
    assert whole.endswith(
        "Z developer, qa_expert → tech_lead · AUTH · iteration 1 · completion · 4 characters · reasoning:1"
    )
    assert run(["reasoning", "handoffs", "--session", "S", "--json", "-n", "2"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["total"] == 2
    wanted = {name: value for name, value in payload.items() if name != "group"}
    assert wanted.items() <= value["handoffs"][1].items() and value["handoffs"][1]["group_id"] == "AUTH"


def test_a_session_without_hand_offs_is_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run([*SAVE, "--phase", "completion", "done"])
    capsys.readouterr()
    assert run(["reasoning", "handoffs", "--session", "S"]) == 1
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "ctxrank: no hand-offs.\n")


@pytest.mark.parametrize(("data", "count"), [(b"one \xff\xfe two \0", "3 bytes were"), (b"caf\xe9", "1 byte was")])
def test_bytes_that_are_no_text_are_counted(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, data: bytes, count: str
) -> None:
    (folder / "thought.md").write_bytes(data)
    feed(monkeypatch, data)
    for source in (["-"], ["--content-file", "thought.md"]):
        assert run([*SAVE, "--phase", "risks", *source]) == 0
        assert capsys.readouterr().err == f"ctxrank: {count} zero or not UTF-8, shown as \ufffd.\n"
    assert contents(folder) == [data.decode("utf-8", "replace").replace("\0", "\ufffd")] * 2


def test_blank_references_are_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SAVE, "--phase", "risks", "text", "--reference", "", "--reference", " ", "--reference", "a.py"]) == 0
    with make_store(folder) as store:
        assert [entry.refs for entry in list_reasoning(store.primary, "S")] == ['["a.py"]']


@pytest.mark.parametrize(
    "command",
    [
        ("reasoning", "get"),
        ("reasoning", "timeline"),
        ("reasoning", "check", "--agent", "developer"),
        ("strategy", "extract"),
    ],
)
def test_a_group_that_is_not_there_is_named_with_those_that_are(
    folder: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    run([*SAVE, "--phase", "risks", "text"])
    assert run([*command, "--session", "S", "--group", "NOPE"]) == 1
    assert "S has no group 'NOPE'; it has AUTH." in capsys.readouterr().err
    run([*command, "--session", "S", "--group", "AUTH"])
    assert "has no group" not in capsys.readouterr().err


def test_pm_is_the_project_manager(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save = ["reasoning", "save", "--session", "S", "--create-session", "--phase", "risks", "Velocity fell."]
    assert run([*save, "--agent", "PM"]) == 0
    assert "by project_manager" in capsys.readouterr().out
    assert run(["reasoning", "get", "--session", "S", "--agent", "pm"]) == 0
    assert run(["assemble", "--session", "S", "--agent", "pm"]) == 0
    printed = capsys.readouterr()
    assert "## Context for project_manager" in printed.out and "not an agent" not in printed.err

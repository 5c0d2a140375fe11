"""`ctxrank strategy` as its users meet it: what is printed where, and with which exit code."""

import io
import json
from pathlib import Path

import pytest
from builders import make_store
from tables import each_row

from ctxrank.cli.main import run

SAVE = ("strategy", "save", "--project", "shop", "--topic")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store as the working directory."""
    make_store(tmp_path).close()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def think(phase: str, text: str) -> None:
    run(["reasoning", "save", "--session", "S", "--agent", "developer", "--create-session", "--phase", phase, text])


def test_saving_says_whether_it_is_new_and_how_helpful_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert run([*SAVE, "General", "Ask first."]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Saved strategy:1 (general of shop, helpfulness 1)",
        "Counted strategy:1 (general of shop, helpfulness 2)",
    ]
    run([*SAVE, "general", "Ask first.", "--json"])
    value = json.loads(capsys.readouterr().out)
    assert (value["id"], value["helpfulness"], value["new"], value["project"]) == (1, 3, False, "shop")
    assert value["name"].startswith("shop_general_")


def test_an_insight_comes_from_stdin(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("Ask.\nThen café.\n".encode()), "utf-8"))
    assert run(["strategy", "save", "--topic", "general", "-"]) == 0
    capsys.readouterr()
    assert run(["strategy", "list", "--full"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("strategy:1 general · default · helpfulness 1 · seen 20")
    assert lines[1:] == ["   Ask.", "   Then café."]


@each_row(
    "arguments, said",
    [
        (["luck", "text"], "Topics are implementation, architecture, methodology, general."),
        (["general"], "There is no text."),
        (["general", "\n"], "the insight is empty"),
        (["general", "text", "--project", " "], "A strategy needs a project."),
    ],
)
def test_wrong_use_is_2_and_says_what_is_allowed(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run([*SAVE, *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and said in printed.err


def test_a_list_is_by_helpfulness_and_shows_the_beginning_of_a_long_text(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run([*SAVE, "general", "word\n" * 100, "--lang", "python", "--framework", "flask"])
    run([*SAVE, "general", "Ask first."])
    run([*SAVE, "general", "Ask first."])
    capsys.readouterr()
    assert run(["strategy", "list", "--project", "shop"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("strategy:2 general · shop · helpfulness 2 · seen 20")
    assert lines[2].startswith("strategy:1 general · shop · python/flask · helpfulness 1")
    assert lines[3].startswith("   word word") and lines[3].endswith("...") and len(lines[3]) <= 306


def test_a_list_in_json_has_everything_whole(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "word " * 99 + "end"
    run([*SAVE, "general", text, "--lang", "python"])
    run([*SAVE, "general", "other", "--lang", "go"])
    capsys.readouterr()
    assert run(["strategy", "list", "--lang", "python", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert (value["outcome"], value["total"], value["has_more"]) == ("matched", 1, False)
    (strategy,) = value["strategies"]
    assert (strategy["id"], strategy["insight"], strategy["lang"], strategy["framework"]) == (1, text, "python", None)


def test_an_empty_list_is_1_and_a_long_one_says_that_there_are_more(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["strategy", "list"]) == 1
    assert capsys.readouterr().err == "ctxrank: no strategies.\n"
    run([*SAVE, "general", "one"])
    run([*SAVE, "general", "two"])
    assert run(["strategy", "list", "-n", "1"]) == 0
    assert "1 of 2; -n" in capsys.readouterr().err
    assert run(["strategy", "list", "--topic", "luck"]) == 2


def test_helpful_says_before_and_after(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run([*SAVE, "general", "one"])
    capsys.readouterr()
    assert run(["strategy", "helpful", "strategy:1", "--by", "4"]) == 0
    assert capsys.readouterr().out.endswith(": helpfulness 1 → 5\n")
    assert run(["strategy", "helpful", "1", "--by", "-9", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert (value["before"], value["after"]) == (5, 0)


def test_helpful_is_1_where_there_is_none_and_2_where_it_is_too_much(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run([*SAVE, "general", "one"])
    assert run(["strategy", "helpful", "9"]) == 1
    assert "There is no strategy '9'." in capsys.readouterr().err
    assert run(["strategy", "helpful", "1", "--by", "101"]) == 2


def test_d09_extract_prints_what_it_made_and_does_not_count_it_the_next_time(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    think("approach", "Test first.")
    think("completion", "The zebra is done.")
    capsys.readouterr()
    assert run(["strategy", "extract", "--session", "S"]) == 0
    assert capsys.readouterr().out == "Saved strategy:1 (implementation of default, helpfulness 1)\n"
    assert run(["strategy", "extract", "--session", "S"]) == 0
    assert capsys.readouterr().out == "Counted before: strategy:1 (implementation of default, helpfulness 1)\n"
    assert run(["strategy", "extract", "--session", "S", "--group", "-", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert (value["extracted"], value["session_id"], value["group_id"]) == (1, "S", None)
    assert value["strategies"] == [
        {
            "id": 1, "name": value["strategies"][0]["name"], "project": "default", "topic": "implementation",
            "helpfulness": 1, "new": False,
        }
    ]  # fmt: skip


def test_d09_nothing_to_extract_is_1_with_a_note(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    think("risks", "It may bite.")
    capsys.readouterr()
    assert run(["strategy", "extract", "--session", "S"]) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and "nothing to extract" in printed.err and "completion" in printed.err
    assert run(["strategy", "extract", "--session", "T"]) == 1
    assert "There is no session 'T'" in capsys.readouterr().err


def test_bytes_of_an_insight_that_are_no_text_are_counted(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Ask \xff first.\n"), "utf-8"))
    assert run([*SAVE, "general", "-"]) == 0
    assert "1 byte was zero or not UTF-8, shown as \ufffd." in capsys.readouterr().err

"""`ctxrank save`: a finding in one step is found and in the next block; what was guessed is printed."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from builders import make_store
from tables import each_row

from ctxrank.cli.actions.given import instead_of_stdin
from ctxrank.cli.main import run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_store(tmp_path).close()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def saved(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert run(["save", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_what_is_saved_is_found_and_in_the_next_block(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = saved(capsys, "The walrus ignores the busy timeout.", "--session", "S")
    assert run(["search", "walrus"]) == 0
    assert f"package:{first['id']}" in capsys.readouterr().out
    assert run(["search", "walrus", "--format", "compact"]) == 0
    assert capsys.readouterr().out == f"package:{first['id']} The walrus ignores the busy timeout.\n"
    assert run(["assemble", "--session", "S", "--agent", "developer", "--task", "why is the walrus busy"]) == 0
    block = capsys.readouterr()
    assert "**[MEDIUM]** The walrus ignores the busy timeout.\n" in block.out and "stale" not in block.err


def test_a_title_is_cut_at_a_word(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = saved(capsys, f"The walrus {'waits and ' * 9}sleeps.")
    assert run(["show", f"package:{made['id']}", "--json"]) == 0
    title = json.loads(capsys.readouterr().out)["document"]["title"]
    assert title == f"The walrus {'waits and ' * 6}waits..."


@each_row(
    "text, type_, summary",
    [
        (
            "The cache is cold after each deploy. It warms in an hour.",
            "research",
            "The cache is cold after each deploy.",
        ),
        ("# One writer\n\nWe decided on a queue.\nIt has one reader.\n", "decisions", "We decided on a queue."),
        ("# Why the queue stops\n\nWorkers fail at once.\n", "investigation", "Workers fail at once."),
        ("The build crashes with 3.14.1 of zlib, always", "failures", "The build crashes with 3.14.1 of zlib, always"),
        ("## Handoff to QA ##\n", "handoff", "Handoff to QA"),
    ],
)
def test_type_and_summary_are_guessed(
    text: str, type_: str, summary: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with instead_of_stdin(text.encode()):
        answer = saved(capsys, "-")
    assert (answer["type"], answer["summary"]) == (type_, summary)


def test_a_file_is_named_from_the_folder_that_one_is_in(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "my notes").mkdir()
    (here / "my notes" / "to do.md").write_text("# Locks\n\nThe lock is late.\n")
    monkeypatch.chdir(here / "my notes")
    guessed = saved(capsys, "to do.md")
    assert (guessed["type"], guessed["summary"]) == ("research", "The lock is late.")
    assert saved(capsys, "to do.md", "--summary", "A late lock")["file_path"] == "my notes/to do.md"
    run(["list", "packages"])
    assert "A late lock" in capsys.readouterr().out


def test_the_session_is_the_one_of_today_and_flags_say_otherwise(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    today = saved(capsys, "One finding here")["session_id"]
    assert len(today) == len("2026-11-23") and today[4] == "-"
    assert saved(capsys, "Another finding here", "--session", "S", "--type", "handoff")["session_id"] == "S"
    assert saved(capsys, "A third one here")["session_id"] == "S", "the newest that is active"
    assert run(["session", "end", "S"]) == 0
    assert saved(capsys, "A fourth one here")["session_id"] == today


@each_row(
    "word, says",
    [
        ("nofile.md", "There is no file nofile.md, and as a finding it is one word."),
        ("", "There is no text."),
        ("folder", "folder is a folder. 'ctxrank index folder' takes in its files."),
        ("../out.md", "Save its text: ctxrank save < ../out.md"),
    ],
)
def test_what_is_neither_is_refused_with_both_readings(
    word: str, says: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "folder").mkdir(exist_ok=True)
    (here.parent / "out.md").write_text("# Out\n\nOutside of the root.\n")
    capsys.readouterr()
    assert run(["save", word]) == 2
    assert says in capsys.readouterr().err


def test_nothing_piped_in_is_no_finding(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert run(["save"]) == 2
    assert "There is no text. Give a sentence in quotes, or pipe it in: ctxrank save <" in capsys.readouterr().err


def test_what_is_saved_again_keeps_its_priority_unless_another_is_given(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for given, kept in ((["--priority", "high"], "high"), ([], "high"), (["--priority", "low"], "low"), ([], "low")):
        saved(capsys, "The lock is late.", *given)
        assert run(["list", "packages", "--json"]) == 0
        (package,) = json.loads(capsys.readouterr().out)["packages"]
        assert package["priority"] == kept
    saved(capsys, "Another lock is late.")
    assert run(["search", "another lock", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hits"][0]["priority"] == "medium"


def test_a_secret_that_a_title_or_summary_would_cut_is_taken_out(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = "ghp" + "_" + "a1B2" * 9
    for before in ("word " * 14, "word " * 58):
        assert run(["save", f"{before}{secret} is the token."]) == 0
        printed = capsys.readouterr()
        assert secret[:12] not in printed.out + printed.err
    run(["export"])
    assert secret[:12] not in capsys.readouterr().out

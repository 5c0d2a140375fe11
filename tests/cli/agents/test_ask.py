"""A command asked from inside answers what the command line answers, and refuses what that refuses."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from ctxrank.cli.agents.ask import ask
from ctxrank.cli.call import Call
from ctxrank.cli.main import run
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.store.location import Location


@pytest.fixture
def call(loaded: Location) -> Call:
    return Call(db=loaded.primary)


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("search", {"query": ["locked"], "limit": 2}, ["search", "locked", "-n", "2"]),
        ("package list", {"session": "shop-2026-10"}, ["package", "list", "--session", "shop-2026-10"]),
        ("why", {"document": "package:7"}, ["why", "package:7"]),
        ("status", {}, ["status"]),
    ],
)
def test_it_answers_as_the_command_line(
    call: Call, name: str, given: dict[str, object], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "why":
        assemble = ["assemble", "--session", "shop-2026-10", "--agent", "developer", "--task", "database locked"]
        assert run(["--db", str(call.db), *assemble]) == 0
    capsys.readouterr()
    code = run(["--db", str(call.db), *words, "--json"])
    printed = json.loads(capsys.readouterr().out)
    asked = ask(call, name, given)
    assert (asked.exit_code, asked.outcome, asked.engine) == (code, printed["outcome"], printed.get("engine", ""))
    assert json.loads(json.dumps(asked.payload)).items() <= printed.items()
    assert capsys.readouterr() == ("", "")


def test_what_a_command_reads_from_stdin_is_given(call: Call) -> None:
    given = {"file": "-", "project": "shop"}
    asked = ask(call, "error match", given, b"sqlite3.OperationalError: database is locked\n")
    assert [match["state"] for match in asked.payload["matches"]] == ["confirmed"]  # type: ignore[attr-defined]
    assert ask(call, "error match", given, b"").outcome == "no_match"


@pytest.mark.parametrize("has_terminal", [True, False])
def test_what_a_caller_gives_is_read_whatever_stdin_of_the_process_is(
    call: Call, monkeypatch: pytest.MonkeyPatch, has_terminal: bool
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: has_terminal))
    assert ask(call, "error match", {"project": "shop"}, b"OperationalError: database is locked\n").payload["matches"]
    where = {"session": "shop-2026-10"}
    assert ask(call, "save", where, b"We took the heron.\n").payload["summary"] == "We took the heron."
    assert ask(call, "skill save-output", where | {"skill": "lint"}, b"{}").exit_code == 0


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("no such", {}, "There is no command 'no such'."),
        ("package", {}, "There is no command 'package'."),
        ("search extra", {"query": "x"}, "There is no command 'search extra'."),
        ("search", {"query": "x", "limits": 3}, "'search' has no parameter 'limits'."),
        ("search", {"limit": 3}, "'search' needs query."),
        ("search", {"query": "x", "limit": 0}, "'limit' is a whole number from 1 to 1000, not 0."),
        ("search", {"query": "x", "explain": "yes"}, "'explain' is true or false, not 'yes'."),
        ("search", {"query": [{"a": 1}]}, "'query' is a list of texts, not [{'a': 1}]."),
        ("assemble", {"session": "s", "task_file": "a\0b"}, "'task_file' is a path to read, not 'a\\x00b'."),
        ("show", {"document": "1", "depth": "deep"}, "'depth' is one of meta, summary, full, not 'deep'."),
    ],
)
def test_what_a_command_does_not_take_is_refused_in_words(
    call: Call, name: str, given: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError) as caught:
        ask(call, name, given)
    assert caught.value.message == said


@pytest.mark.parametrize(
    ("given", "is_explained"),
    [(True, True), ("true", True), ("True", True), (False, False), ("false", False), (None, False)],
)
def test_a_flag_is_true_or_false_also_in_words(call: Call, given: object, is_explained: bool) -> None:
    asked = ask(call, "search", {"query": "locked", "limit": "1", "explain": given})
    hits: Any = asked.payload["hits"]
    assert ["explanation" in hit and hit["explanation"] is not None for hit in hits] == [is_explained]


def test_nothing_given_is_the_default_and_failures_pass_through(call: Call) -> None:
    assert ask(call, "search", {"query": "locked", "since": None}).payload["total"]
    with pytest.raises(NotFoundError):
        ask(call, "show", {"document": "package:999"})

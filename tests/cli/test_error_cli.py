"""`ctxrank error` as its users meet it."""

import io
import sys
from pathlib import Path

import pytest
from builders import Answer, answer_of, make_store
from exported import bring, exported_bytes
from tables import each_row

from ctxrank.cli.main import run
from ctxrank.indexer.errors.solutions import NewKnownError, save_error
from ctxrank.indexer.opening import open_store

MODULE = "ModuleNotFoundError: No module named 'yaml'\n"


class Shell:
    """Runs `ctxrank error …` in a folder with a store, with a text on stdin."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(folder)
        make_store(folder).close()
        self.folder = folder
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: str, given: bytes = b"", group: str = "error") -> Answer:
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        return answer_of(lambda: run([group, *arguments]))


@pytest.fixture
def error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(tmp_path, monkeypatch)


def test_an_unknown_failure_is_silence_with_a_reason_on_stderr_and_exit_code_1(error: Shell) -> None:
    answer = error("match", given=MODULE.encode())
    assert (answer.code, answer.out) == (1, "") and answer.err.startswith("ctxrank: not known. No known error")


def test_a_fix_that_came_with_another_store_is_found(error: Shell) -> None:
    crate = "error: only traits defined in the current crate can be implemented for {}kinds and friends"
    with make_store(error.folder / "there") as there, make_store(error.folder) as store:
        save_error(there, NewKnownError(crate.format("the "), "Wrap it."))
        bring(store, exported_bytes(there))
    answer = error("match", given=crate.format("").encode())
    assert answer.code == 0 and answer.out.startswith("error:1@") and "   Solution: Wrap it.\n" in answer.out


def test_a_saved_fix_is_found_by_file_stdin_and_message(error: Shell) -> None:
    assert error("save", "--solution", "pip install pyyaml", given=MODULE.encode()).out.startswith("Saved error:1 of")
    (error.folder / "a.log").write_text(f"noise\n{MODULE}")
    told = ("--type", "ModuleNotFoundError", "--message", "No module named 'yaml'")
    for arguments, given in ((("a.log",), b""), (("-",), MODULE.encode()), ((), MODULE.encode()), (told, b"")):
        answer = error("match", *arguments, given=given)
        assert answer.code == 0 and "   Solution: pip install pyyaml\n" in answer.out, arguments
        assert answer.out.startswith("error:1 known (exact), confidence 0.98, ") and "Masked: yaml" in answer.out


def test_the_json_of_a_match_has_what_is_promised(error: Shell) -> None:
    error("save", "--solution", "pip install pyyaml", given=MODULE.encode())
    answer = error("match", "--json", given=MODULE.encode()).json()
    assert answer["signature"]["masked"] == "no module named <v>" and answer["signature"]["values"] == ["yaml"]
    (match,) = answer["matches"]
    promised = "id grade confidence state solution occurrences why masked differences confirmations refutations"
    assert set(promised.split()) <= set(match)
    assert (match["id"], match["grade"], match["state"], match["occurrences"]) == ("error:1", "exact", "sighted", 1)
    assert (answer["outcome"], answer["reason"], answer["errors"]) == ("matched", match["why"][0], 1)


def test_a_match_that_a_limit_cuts_says_how_many_there_are(error: Shell) -> None:
    for project in ("default", "other"):
        error("save", "--solution", "pip install pyyaml", "--project", project, given=MODULE.encode())
    with open_store(str(error.folder / ".ctxrank" / "ctxrank.db")) as store, store.write() as change:
        # As an import may leave it: two patterns of one error in one project.
        change.connection.execute("UPDATE error_patterns SET pattern_hash = 'other', project = 'default' WHERE id = 2")
    cut, whole = (error("match", "--json", "-n", limit, given=MODULE.encode()).json() for limit in ("1", "2"))
    assert (len(cut["matches"]), cut["total"], cut["has_more"]) == (1, 2, True)
    assert (len(whole["matches"]), whole["total"], whole["has_more"]) == (2, 2, False)
    assert error("match", "-n", "1", given=MODULE.encode()).err == "ctxrank: 1 of 2; -n shows more at once.\n"


def test_the_json_of_silence_says_why_and_what_came_near(error: Shell) -> None:
    answer = error("match", "--json", given=MODULE.encode())
    assert answer.code == 1 and answer.json()["matches"] == answer.json()["unsure"] == []
    error("save", "--solution", "x", given=MODULE.encode())
    other = error("match", "--json", given=MODULE.replace("yaml", "toml").encode()).json()
    assert other["outcome"] == "no_match" and "another name: toml, not yaml" in other["reason"]


def test_one_message_with_two_reasons_is_two_errors_on_the_whole_road(error: Shell) -> None:
    check = "Public key for {} is not installed\nError: GPG check FAILED\n"
    for name in ("mysql.rpm", "zabbix.rpm"):
        assert error("match", given=check.format(name).encode()).code == 1
        error("save", "--solution", f"rpm --import {name}.key", given=check.format(name).encode())
    for name in ("mysql.rpm", "zabbix.rpm"):
        (match,) = error("match", "--json", given=check.format(name).encode()).json()["matches"]
        assert match["solution"] == f"rpm --import {name}.key"
    assert error("match", given=b"Error: GPG check FAILED\n").code == 1


@pytest.mark.parametrize(("given", "said"), [(b"", "Nothing was printed"), (bytes(range(256)) * 9, "binary data")])
def test_input_without_an_error_is_not_known_and_cannot_be_saved(error: Shell, given: bytes, said: str) -> None:
    matched, saved = error("match", given=given), error("save", "--solution", "x", given=given)
    assert matched.code == 1 and said in matched.err
    assert saved.code == 2 and said in saved.err
    assert error("match", "--json", given=given).json()["signature"] is None


@pytest.mark.slow
def test_a_log_of_fifty_megabytes_is_read_at_both_ends(error: Shell) -> None:
    error("save", "--solution", "pip install pyyaml", given=MODULE.encode())
    with (error.folder / "big.log").open("wb") as file:
        file.write(b"some noise from a build that goes on and on\n" * 1_200_000)
        file.write(MODULE.encode())
    assert error("match", "big.log").code == 0
    assert error("match", given=b"x" * 5_000_000 + b"\n" + MODULE.encode()).code == 0


@each_row(
    "arguments, said",
    [
        (("match", "nowhere.log"), "nowhere.log cannot be read"), (("match", "--type", "E"), "--type needs --message"),
        (("match", "a", "--message", "b"), "given twice"), (("save", "--message", "x"), "--solution"),
        (("show", "package:1"), "not an error"), (("show", "x"), "not a document's id"),
        (("list", "--state", "sure"), "sighted, confirmed, refuted"), (("run",), "CMD"),
    ],
)  # fmt: skip
def test_wrong_use_is_exit_code_2_with_a_sentence(error: Shell, arguments: tuple[str, ...], said: str) -> None:
    answer = error(*arguments)
    assert (answer.code, answer.out) == (2, "") and said in answer.err


@pytest.mark.parametrize("arguments", [("show", "7"), ("confirm", "error:7"), ("refute", "7"), ("list",)])
def test_what_is_not_there_is_exit_code_1(error: Shell, arguments: tuple[str, ...]) -> None:
    assert error(*arguments).code == 1


def test_confirming_and_refuting_move_the_state_and_the_confidence_visibly(error: Shell) -> None:
    error("save", "--solution", "x", given=MODULE.encode())
    assert error("confirm", "1").out == "error:1: sighted → confirmed (1 for, 0 against), confidence 0.98 → 0.99\n"
    before = error("match", "--json", given=MODULE.encode()).json()["matches"][0]
    moved = error("refute", "error:1", "--json").json()
    after = error("match", "--json", given=MODULE.encode()).json()["matches"][0]
    assert (moved["before"], moved["state"], moved["confirmations"], moved["refutations"]) == (
        "confirmed", "sighted", 1, 1,
    )  # fmt: skip
    assert (before["state"], after["state"]) == ("confirmed", "sighted")
    assert before["confidence"] > after["confidence"] and before["recognition"] == after["recognition"]


def test_a_refuted_solution_is_told_as_one_that_did_not_help(error: Shell) -> None:
    error("save", "--solution", "Reboot.", given=MODULE.encode())
    error("refute", "1")
    answer = error("match", given=MODULE.encode())
    assert answer.code == 0 and "It did not help: Reboot." in answer.out and "Solution" not in answer.out
    other = error("match", given=MODULE.replace("yaml", "toml").encode())
    assert other.code == 1 and "What did not help there: Reboot." in other.err and "fixed" not in other.err


def test_list_and_show_tell_the_record_and_what_is_recognised(error: Shell) -> None:
    facts = ("--hint", "venv", "--project", "shop", "--lang", "Python")
    error("save", "--solution", "one\ntwo", *facts, given=MODULE.encode())
    (listed,) = error("list", "--json").json()["errors"]
    assert (listed["id"], listed["project"], listed["lang"], listed["hints"]) == ("error:1", "shop", "python", ["venv"])
    assert listed["expired"] is False and listed["confidence"] == 0.985
    shown = error("show", "1")
    assert "Solution: one\n   two\n   Hint: venv\n" in shown.out and "Recognised by: no module named <v>" in shown.out
    assert error("show", "1", "--json").json()["recognised_by"]["values"] == ["yaml"]
    assert [error("list", "--lang", lang).code for lang in ("PYTHON", "go")] == [0, 1]
    assert error("list", "--project", "other").code == 1
    assert error("prune").err == "ctxrank: 'error prune' is 'prune --expired --kind error' now.\n"


def test_a_saved_error_again_says_what_became_of_the_solution(error: Shell) -> None:
    error("save", "--solution", "pip install pyyaml", given=MODULE.encode())
    kept = error("save", "--solution", "pray", given=MODULE.encode()).out
    assert "seen 2 times" in kept and "was kept: the known one is longer" in kept
    assert "replaced: as asked" in error("save", "--replace", "--solution", "pray", given=MODULE.encode()).out


def test_the_project_is_the_one_asked_for_else_the_sessions_else_the_stores(error: Shell) -> None:
    error("create", "S", "--project", "shop", group="session")
    assert (
        error("save", "--session", "S", "--solution", "x", "--json", given=MODULE.encode()).json()["project"] == "shop"
    )
    asked = (("--session", "S"), ("--project", "shop"), (), ("--project", "other"))
    assert [error("match", *flags, given=MODULE.encode()).code for flags in asked] == [0, 0, 0, 1]
    error("create", "T", "--project", "billing", group="session")  # now the store is of no one project
    assert [error("match", *flags, given=MODULE.encode()).code for flags in asked] == [0, 0, 1, 1]


def test_the_documented_loop_learns_whoever_names_a_session(error: Shell) -> None:
    """Saved without a session and asked with one, and the other way round, before and after the session is made."""
    error("save", "--solution", "before any session", given=MODULE.encode())
    error("create", "S", "--project", "shop", group="session")
    toml = MODULE.replace("yaml", "toml").encode()
    error("save", "--solution", "with a session", "--session", "S", given=toml)
    rich = MODULE.replace("yaml", "rich").encode()
    error("save", "--solution", "without one", given=rich)
    new = ("--session", "N", "--group", "G", "--create-session")
    for given, solution in ((MODULE.encode(), "before any session"), (toml, "with a session"), (rich, "without one")):
        for flags in ((), ("--session", "S"), new):
            (match,) = error("match", "--json", *flags, given=given).json()["matches"]
            assert match["solution"] == solution


def test_what_another_project_knows_is_said(error: Shell) -> None:
    for session in ("shop", "billing"):
        error("create", session, "--project", session, group="session")
    error("save", "--solution", "pip install pyyaml", "--session", "shop", given=MODULE.encode())
    answer = error("match", "--session", "billing", given=MODULE.encode())
    assert (answer.code, answer.out) == (1, "")
    assert "Another project knows it: error:1 of shop (--project shop)." in answer.err
    (other,) = error("match", "--session", "billing", "--json", given=MODULE.encode()).json()["elsewhere"]
    assert (other["project"], other["id"], other["grade"]) == ("shop", "error:1", "exact")
    saved = error("save", "--solution", "x", "--session", "billing", given=MODULE.encode())
    assert saved.out.startswith("Saved error:2 of billing") and "shop knows this error, too: error:1" in saved.err
    assert "no known errors. There are some of project billing, shop." in error("list", "--project", "other").err
    toml = MODULE.replace("yaml", "toml").encode()  # the same message about another module is no such error
    assert "Another project" not in error("match", "--project", "third", given=toml).err


def test_one_confidence_is_shown_wherever_an_error_is(error: Shell) -> None:
    error("create", "S", group="session")
    error("save", "--solution", "pip install pyyaml", given=MODULE.encode())
    for reports, expected in ((0, 0.985), (3, 0.9914), (1, 0.9925)):
        for _ in range(reports):
            assert error("confirm", "1", "--json").code == 0
        shown = [
            error("match", "--json", given=MODULE.encode()).json()["matches"][0]["confidence"],
            error("list", "--json").json()["errors"][0]["confidence"],
            error("show", "1", "--json").json()["error"]["confidence"],
        ]
        for flags in (("--error-file", "-"), ("--task", "no module named yaml")):
            block = error(
                "--session", "S", "--agent", "developer", "--json", *flags, group="assemble", given=MODULE.encode()
            )
            shown += [entry["confidence"] for entry in block.json()["errors"]]
        assert set(shown) == {expected} and len(shown) == (5 if expected > 0.985 else 4)
        assert f"confidence {expected:.2f}" in error("match", given=MODULE.encode()).out
        assert f"confidence {expected:.2f}" in error("list").out
    assert error("refute", "1", "--json").json()["confidence"] == 0.8822


def test_a_failure_is_recorded_for_a_session_and_told_when_it_comes_again(error: Shell) -> None:
    unknown = error("match", "--session", "S", given=MODULE.encode())
    assert unknown.code == 1 and "not recorded: There is no session 'S'" in unknown.err
    flags = ("--session", "S", "--group", "AUTH", "--create-session")
    assert "seen" not in error("match", *flags, given=MODULE.encode()).err
    assert "It was seen once before" in error("match", *flags, given=MODULE.encode()).err
    error("save", "--solution", "pip install pyyaml", "--session", "S", given=MODULE.encode())
    with open_store() as store, store.write() as change:
        change.connection.execute("UPDATE error_patterns SET last_seen = 0")
    told = error("match", *flags, given=MODULE.encode()).err
    assert "has expired: last seen 1970-01-01." in told and "seen 2 times before" in told and "no fix" not in told
    assert error("match", *flags, "--json", given=MODULE.encode()).json()["seen_before"]["times"] == 3


def test_assemble_answers_the_error_file_or_the_last_failure_of_the_group(error: Shell) -> None:
    error("save", "--solution", "pip install pyyaml", given=MODULE.encode())
    error("match", "--session", "S", "--group", "G", "--create-session", given=MODULE.encode())
    (error.folder / "a.log").write_text("error: nobody knows this one")
    ask = ("--session", "S", "--agent", "developer", "--group", "G")
    last = error(*ask, group="assemble")
    assert (
        "### Error Patterns (1 match)\n\n⚠️ **Known Issue**: \"ModuleNotFoundError: No module named 'yaml'\"\n"
        "> **Solution**: pip install pyyaml\n> **Confidence**: 0.98 (seen 2 times, unconfirmed)"
    ) in last.out
    (shown,) = error(*ask, "--json", group="assemble").json()["errors"]
    assert (shown["grade"], shown["state"]) == ("exact", "sighted") and shown["why"]
    given = error(*ask, "--error-file", "a.log", group="assemble")
    assert "Known Issue" not in given.out and "the failure is not known" in given.err
    assert "Known Issue" in error(*ask, "--error-file", "-", group="assemble", given=MODULE.encode()).out


def test_a_confirmed_solution_ends_the_failure_of_its_session(error: Shell) -> None:
    error("save", "--solution", "pip install pyyaml", given=MODULE.encode())
    error("match", "--session", "S", "--create-session", given=MODULE.encode())
    error("confirm", "1", "--session", "S")
    assert "Known Issue" not in error("--session", "S", "--agent", "developer", group="assemble").out


def test_by_a_word_for_a_failure_alone_nothing_is_recognised(error: Shell) -> None:
    for text in ("Error", "fatal error:", "Error!"):
        saved = error("save", "--solution", "Try again.", given=text.encode())
        assert saved.code == 0 and "nothing is recognised by it" in saved.err, text
    error("save", "--solution", "Try again.", given="error: \U0001f600".encode())
    for text in ("ERROR", "error: \U0001f601", "Error: "):
        assert error("match", given=text.encode()).code == 1, text


def test_an_error_above_a_screen_of_empty_lines_is_known(error: Shell) -> None:
    given = MODULE.encode() + b"\n" * 3000
    plain = b"the walrus left\n" + b"\n" * 3000
    for text in (given, plain):
        assert error("save", "--solution", "pip install pyyaml", given=text).code == 0
        assert error("match", given=text).code == 0


def test_a_hint_of_two_lines_holds_no_secret(error: Shell) -> None:
    saved = error("save", "--solution", "pip install pyyaml", "--hint", " a\n b ", given=MODULE.encode())
    assert saved.code == 0 and "secrets" not in saved.err and "Hint: a b" in error("show", "error:1").out


def test_a_confirmation_counts_and_ends_the_failure_or_does_neither(
    error: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    error("save", "--solution", "pip install pyyaml", given=MODULE.encode())
    error("match", "--session", "S", "--create-session", given=MODULE.encode())
    monkeypatch.setattr("ctxrank.cli.actions.errors.known.resolve", None)
    assert error("confirm", "error:1", "--session", "S").code != 0
    assert "error:1 sighted, " in error("list").out


def test_an_error_file_that_cannot_be_read_stops_no_spawn(error: Shell) -> None:
    error("create", "S", group="session")
    answer = error("--session", "S", "--agent", "developer", "--error-file", "nowhere", group="assemble")
    assert answer.code == 0 and "## Context for developer" in answer.out and "error file is ignored" in answer.err


@pytest.mark.needs("bazinga")
def test_the_predecessors_command_writes_what_a_match_recognises_and_moves_its_record(error: Shell) -> None:
    arguments = ("--db", ".ctxrank/ctxrank.db", "--quiet")
    message = "No module named 'foo.bar' at /home/u/app/src/x.py"
    saved = error(
        *arguments, "save-error-pattern", "shop", "ModuleNotFoundError", message, "install it", group="bazinga"
    )
    pattern = saved.json()["pattern_hash"]
    error(*arguments, "update-error-confidence", pattern, "shop", "success", group="bazinga")
    (match,) = error(
        "match", "--project", "shop", "--type", "ModuleNotFoundError", "--message", message, "--json"
    ).json()["matches"]
    assert (match["state"], match["confirmations"], match["solution"]) == ("confirmed", 1, "install it")
    error("refute", "1")
    moved = error(*arguments, "update-error-confidence", pattern, "shop", "failure", group="bazinga").json()
    assert (moved["previous_confidence"], moved["new_confidence"]) == (0.4, 0.2)

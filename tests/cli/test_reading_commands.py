"""What `receipt`, `why`, `drifted` and `show` say of what is stored, and their exit codes."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from builders import Answer, always, answer_of, make_store, save, write_file
from tables import each_row

from ctxrank.cli.actions import drifted
from ctxrank.cli.actions.upkeep.indexing import bring_up_to_date
from ctxrank.cli.main import run
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.records.packages import NewPackage, save_package, supersede

_Ask = Callable[..., Answer]
_ASSEMBLE = ("assemble", "--session", "S", "--agent", "developer", "--task")


@pytest.fixture
def ask(tmp_path: Path) -> _Ask:
    """A command on a store with two packages."""
    with make_store(tmp_path) as store:
        save(store, "zebra.md", "zebra\n", summary="zebra", consumers=("developer",))
        save(store, "heron.md", "heron\n", summary="a heron is long")
        db = store.location.primary
    return lambda *words: answer_of(lambda: run(["--db", db, *words]))


def _untimed(text: str) -> list[str]:
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "NOW", text).splitlines()


def test_receipts_are_listed_the_newest_first_and_shown_with_what_was_in(ask: _Ask) -> None:
    assert (ask("receipt", "list").code, ask("receipt", "show", "1").code) == (1, 1)
    for task in ("zebra", "heron"):
        ask(*_ASSEMBLE, task)
    one = "receipt 1 · developer · S · iteration 0 · 2 in, 0 out · 214 tokens · NOW"
    first, second = _untimed(ask("receipt", "list").out)
    assert first.startswith("receipt 2 · developer · S · ") and re.sub(r"\d+ tokens", "214 tokens", second) == one
    assert len(ask("receipt", "list", "--session", "S", "--agent", "developer", "-n", "1").out.splitlines()) == 1
    assert ask("receipt", "list", "--agent", "qa_expert").code == 1
    assert "no session 'T'" in ask("receipt", "list", "--session", "T").err
    shown = _untimed(ask("receipt", "show", "1").out)
    assert {"   task: zebra", "   as_of: NOW", "   with_skills: False", "   engine: fts5 matched"} <= set(shown)
    entries = [re.sub(r"\d+ tokens", "9 tokens", line) for line in shown if line.startswith(("   +", "   -"))]
    assert entries == [
        "   + package:1 · summary · 9 tokens · matches zebra",
        "   + package:2 · line · 9 tokens · no word of the task matches",
    ]


def test_two_receipts_are_compared_and_a_replay_says_what_has_changed(ask: _Ask, tmp_path: Path) -> None:
    for task in ("zebra", "heron"):
        ask(*_ASSEMBLE, task)
    same = ask("receipt", "diff", "1", "1")
    assert (same.code, same.out, "nothing differs." in same.err) == (1, "", True)
    assert ask("--json", "receipt", "diff", "1", "1").json()["outcome"] == "no_match"
    differing = ask("receipt", "diff", "1", "2")
    lines = _untimed(differing.out)
    assert differing.code == 0 and {"task: zebra → heron", "as_of: NOW → NOW"} <= set(lines)
    (of_first,) = (line for line in lines if line.startswith("package:1: "))
    assert re.fullmatch(r"package:1: summary · \d+ tokens · matches zebra → line · \d+ tokens · no word .+", of_first)
    assert ask("--json", "receipt", "diff", "1", "2").json()["outcome"] == "matched"
    assert (ask("receipt", "replay", "1").code, ask("receipt", "replay", "1").out) == (0, "receipt 1: the same bytes\n")
    assert ask("receipt", "replay", "1", "--text").out.startswith("## Context for developer\n")
    with make_store(tmp_path) as store:
        supersede(store, 1, 2)
    changed = ask("receipt", "replay", "1")
    assert changed.code == 1 and changed.out.startswith("receipt 1: other bytes, because\n   ")
    ask(*_ASSEMBLE, "zebra")
    assert any(
        line.startswith("no longer named: + package:1 · ") for line in ask("receipt", "diff", "1", "3").out.splitlines()
    )
    assert any(
        line.startswith("named now: + package:1 · ") for line in ask("receipt", "diff", "3", "1").out.splitlines()
    )


def test_what_hooks_injected_has_a_list_of_its_own(ask: _Ask) -> None:
    assert "no hook has put anything before a model here." in ask("receipt", "list", "--hook").err
    for other in (("--agent", "developer"), ("--group", "G")):
        answer = ask("receipt", "list", "--hook", *other)
        assert (answer.code, "--hook goes with --session alone." in answer.err) == (2, True)
    assert "no session 'T'" in ask("receipt", "list", "--hook", "--session", "T").err


def test_why_says_of_what_it_speaks_and_that_there_is_no_receipt(ask: _Ask) -> None:
    assert "There is no such receipt." in ask("why", "package:1").err
    for words, said in (((), "There is no receipt of a context."), (("--task", "T-1"), "of a context of 'T-1'.")):
        assert said in ask("why", "SPEC-API-001", *words).err
    ask(*_ASSEMBLE, "zebra")
    first, *reasons = ask("why", "package:1").out.splitlines()
    assert re.fullmatch(r"package:1 is in the block of receipt 1: summary, \d+ tokens", first)
    assert reasons == ["   matches zebra"]


def test_a_package_says_for_whom_it_is_who_took_it_and_what_replaced_it(ask: _Ask, tmp_path: Path) -> None:
    assert "   for developer: pending" in ask("package", "show", "1").out.splitlines()
    assert ask("package", "consume", "1", "--agent", "developer", "--iteration", "3").code == 0
    assert "   for developer: consumed at iteration 3, NOW" in _untimed(ask("package", "show", "1").out)
    assert "superseded" not in ask("package", "show", "1").out
    related = ask("show", "package:1", "--related")
    assert related.code == 0 and re.search(r"^\w+ developer · \d{4}-", related.out, re.MULTILINE)
    with make_store(tmp_path) as store:
        supersede(store, 1, 2)
    assert "superseded by package:2" in ask("package", "show", "1").out


def test_what_is_related_to_a_document_says_who_saw_it(ask: _Ask) -> None:
    ask(*_ASSEMBLE, "zebra")
    related = ask("show", "package:1", "--related").out.splitlines()
    assert "receipt 1 developer · in it, summary · matches zebra" in related
    assert [line for line in related if line.endswith("developer · not yet")]


def test_what_has_drifted_is_said_with_what_differs(ask: _Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (ask("drifted").code, ask("drifted").out, ask("drifted").err) == (1, "", "ctxrank: nothing has drifted.\n")
    with make_store(tmp_path) as store:
        write_file(store, "load.py", "def load(path):\n    return path\n\n\ndef parse(text):\n    return text\n")
        index_artifacts(store)
        for text, title in (("`load` and `parse` in load.py", "Loading"), ("`parse` in load.py", "Parsing")):
            new = NewPackage("S", None, "research", "-", "developer", title, title=title)
            save_package(store, new, text=text)
        write_file(store, "load.py", "def load(path):\n    return open(path)\n\n\ndef parse(text):\n    return text\n")
        assert ask("drifted").err.endswith(
            "nothing has drifted.\nctxrank: changed since the last 'ctxrank index', which looks at them: load.py.\n"
        )
        bring_up_to_date(store)
    ask(*_ASSEMBLE, "zebra")
    (code,) = (line for line in ask("show", "receipt:1").out.splitlines() if line.startswith("   anchors: "))
    assert code.removeprefix("   anchors: ") == "load changed, parse same; parse same"
    assert ask("drifted").err == ""
    answer = ask("drifted")
    assert answer.code == 0 and answer.out.splitlines()[:2] == [
        "package:3 Loading",
        "   load.py `load` has changed since: 1 of 2 lines",
    ]
    assert len(answer.out.splitlines()) == 2, "nothing is known of what it was: there is no commit of it"
    assert "`parse` is as it was" not in answer.out and "`parse` is as it was" in ask("drifted", "package:3").out
    nothing = ask("drifted", "package:1")
    assert (nothing.code, nothing.out, "nothing of package:1 is followed" in nothing.err) == (1, "", True)
    record = ask("--json", "drifted").json()
    assert (record["total"], len(record["drifted"][0]["anchors"])) == (1, 1)
    difference = "-    return path\n+    return open(path)"
    monkeypatch.setattr(drifted, "differences", always(dict.fromkeys(range(9), difference)))
    assert ask("drifted").out.splitlines()[2:] == ["      -    return path", "      +    return open(path)"]
    (anchor,) = ask("--json", "drifted").json()["drifted"][0]["anchors"]
    assert anchor["difference"] == difference


@each_row("group, named", [(None, ""), ("G", " --group G"), ("global", ""), ("a b", " --group 'a b'")])
def test_what_is_missing_of_reasoning_comes_with_its_command(ask: _Ask, group: str | None, named: str) -> None:
    given = () if group is None else ("--group", group)
    answer = ask("reasoning", "check", "--session", "S", "--agent", "developer", *given)
    assert answer.code == 1 and answer.out.startswith("missing: understanding, completion\n")
    command = f"ctxrank reasoning save --session S{named} --agent developer --phase completion TEXT"
    assert f"save it with: {command}\n" in answer.err


def test_what_lists_or_shows_a_package_says_what_became_of_its_file(ask: _Ask, tmp_path: Path) -> None:
    (tmp_path / "zebra.md").unlink()
    (tmp_path / "heron.md").write_text("a heron is tall\n")
    said_of = {1: "zebra.md (the file is gone)", 2: "heron.md (the file has changed since it was indexed)"}
    listed = ask("list", "packages").out
    for number, said in said_of.items():
        assert said in listed
        assert said in ask("show", f"package:{number}").out and said in ask("package", "show", str(number)).out

"""`ctxrank context` on the worked example: what is reached, in which order, and what a budget makes of it."""

import json
import re
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from builders import make_store
from linked_builders import copy_fixture, tree_of, write_artifact

from ctxrank.cli.main import run
from ctxrank.extensions.links.context import ContextRequest, make_context
from ctxrank.extensions.links.pack import LinkedPart
from ctxrank.extensions.links.sync import index_linked
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.vocabulary import local_counter

HOSTILE = (
    "The connection pool hands out a stale handle. ",
    "def get_user_by_id(self, key: str) -> dict[str, Any]:\n    return self._users.get(key) or {}\n",
    "2026-11-21T22:10:00.123456Z ERROR [worker-17] db.pool: timeout after 30000ms conn=0x7f3a\n",
    "数据库连接失败，请检查网络设置后重试。",
    "Не удалось подключиться к базе данных. ",
    "aGVsbG8gd29ybGQgdGhpcyBpcyBhIHRlc3Qgb2YgYmFzZTY0IHRleHQ5OTk5\n",
    "| a | b | c |\n|---|---|---|\n",
    "ORCHESTRATOR MUST NOT SPAWN INVESTIGATOR\n",
    "🚀 deploy done 🎉 ",
    "=== SPEC: X ===\n```\n=====\n",
)


def context(store: Store, limit: int | None = None, **wanted: Any) -> LinkedPart:
    return make_context(store, ContextRequest("TASK-042", limit)._replace(**wanted)).part


def tiers(part: LinkedPart, tier: int) -> list[str]:
    reached = [shown.artifact for shown in part.shown] + [left.artifact for left in part.omitted]
    return [one.node.id for one in reached if one.tier == tier]


def headers(text: str) -> list[str]:
    return [line.strip("= ") for line in text.split("\n") if line.startswith("===")]


def test_the_closure_is_the_documented_one(store: Store) -> None:
    part = context(store)
    assert tiers(part, 0) == ["PROJECT-ACME", "TASK-042"]
    assert tiers(part, 1) == [
        "SPEC-BILLING-001", "SPEC-CURRENCY-001", "NORM-ERROR-001", "NORM-ASYNC-001",
        "DEC-BILLING-001", "DEC-BILLING-003", "DEC-CURRENCY-001", "DEC-BILLING-002",
    ]  # fmt: skip
    assert tiers(part, 2) == ["SPEC-LAYOUT-001", "NORM-MONEY-001", "DEC-LEDGER-001"]


def test_a_forgotten_link_is_found_by_search_and_what_is_deprecated_is_not(store: Store) -> None:
    found = tiers(context(store), 3)
    assert found[0] == "DEC-CURRENCY-002"
    assert "NORM-LOGGING-001" not in found
    assert tiers(context(store, with_search=False), 3) == []


def test_sections_stand_in_the_output_order_and_say_how_they_were_reached(store: Store) -> None:
    assert headers(context(store, with_search=False).text) == [
        "IDENTITY | T0 | full",
        "TASK: TASK-042 | T0 | full",
        "SPEC: SPEC-BILLING-001 | T1 via TASK-042 | full",
        "SPEC: SPEC-CURRENCY-001 | T1 via TASK-042 | full",
        "SPEC: SPEC-LAYOUT-001 | T2 via TASK-042 > SPEC-BILLING-001, patterns | full",
        "NORM: NORM-ERROR-001 | T1 via TASK-042 > SPEC-BILLING-001 | full",
        "NORM: NORM-ASYNC-001 | T1 via TASK-042 > SPEC-BILLING-001 | full",
        "NORM: NORM-MONEY-001 | T2 via TASK-042 > SPEC-BILLING-001, patterns | full",
        "DECISION: DEC-BILLING-001 | T1 via TASK-042 | full",
        "DECISION: DEC-BILLING-003 | T1 via TASK-042 > SPEC-BILLING-001 | full",
        "DECISION: DEC-CURRENCY-001 | T1 via TASK-042 > SPEC-CURRENCY-001 | full",
        "DECISION: DEC-BILLING-002 | T1 via TASK-042 > DEC-BILLING-001 | superseded, use DEC-BILLING-001 | full",
        "DECISION: DEC-LEDGER-001 | T2 via TASK-042 > SPEC-BILLING-001, annotation | full",
        "CODE",
    ]


def test_code_is_listed_and_never_shown(store: Store) -> None:
    text = context(store).text
    assert "src/billing/templates/invoice*, annotated: src/billing/invoice/generator.py:3\n" in text
    assert "def generate" not in text


@pytest.mark.parametrize("limit", [300, 600, 900, 1200, 1600, 2400])
def test_a_budget_is_kept_and_used(store: Store, limit: int) -> None:
    """What is left is less than the cheapest thing that is not shown."""
    part = context(store, limit)
    assert part.used <= limit
    lowered = [one for one in part.shown if one.is_lowered]
    assert not (part.omitted or lowered) or part.used > limit - 250


def test_a_tight_budget_shows_specs_before_decisions_and_names_the_rest(store: Store) -> None:
    part = context(store, 700, with_search=False)
    shown = [one.artifact.node.id for one in part.shown]
    assert shown == [*tiers(context(store), 0), *tiers(context(store), 1)][: len(shown)]
    assert "SPEC-CURRENCY-001" in shown and part.omitted
    assert all(f"{one.artifact.node.id} (" in part.text.rpartition("omitted: ")[2] for one in part.omitted)


@pytest.mark.parametrize("form", ["compact", "markdown"])
def test_real_tokens_of_any_kind_of_text_keep_the_budget(tmp_path: Path, form: str) -> None:
    counter = local_counter()
    if counter is None:
        pytest.skip("there is no vocabulary on this machine")
    for number, text in enumerate(HOSTILE):
        write_artifact(
            tmp_path,
            f"SPEC-H-{number}",
            f"about: {json.dumps(text)}\n",
            f"# Text\n\n{text * 9}\n\n## More\n\n{text * 30}\n",
        )
    write_artifact(tmp_path, "TASK-1", f"links: [{', '.join(f'SPEC-H-{n}' for n in range(len(HOSTILE)))}]\n")
    with make_store(tmp_path) as opened:
        for limit in (700, 1500, 3000, 6000, 12_000):
            request = ContextRequest("TASK-1", limit, form=form, start=str(tmp_path))
            part = make_context(opened, request).part
            assert counter.count(part.text) <= part.used <= limit


def test_equal_trees_give_equal_bytes(store: Store, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    copy_fixture(other)
    with make_store(other) as second:
        index_linked(second)
        again = make_context(second, ContextRequest("TASK-042", 1500, start=str(other))).part
    assert again.text == context(store, 1500).text


@pytest.mark.parametrize("form", ["compact", "markdown", "json"])
def test_the_command_prints_the_payload_on_stdout_and_talks_on_stderr(
    store: Store, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    assert run(["context", "task-042", "--budget", "1200", "--format", form]) == 0
    printed = capsys.readouterr()
    assert "SPEC-BILLING-001" in printed.out and "DEC-BILLING-002 is superseded" in printed.err
    if form == "json":
        answer = json.loads(printed.out)
        spec = next(one for one in answer["artifacts"] if one["id"] == "SPEC-CURRENCY-001")
        assert (spec["tier"], spec["chain"], spec["status"]) == ("T1", ["TASK-042", "SPEC-CURRENCY-001"], "current")
        assert answer["budget"]["used"] <= 1200


def test_missing_ids_are_named_in_text_and_on_stderr(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["context", "TASK-043", "--no-search", "--no-identity"]) == 0
    printed = capsys.readouterr()
    assert "missing: DEC-BILLING-004 from TASK-043\n" in printed.out
    assert "DEC-BILLING-004, which does not exist" in printed.err
    assert headers(printed.out)[0] == "TASK: TASK-043 | T0 | full"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["TASK-024"], 1, "TASK-042"),
        (["SPEC-BILLING-001"], 2, "starts from a task"),
        (["TASK-042", "--budget", "30"], 2, r"too small: the identity and the task alone take \d+"),
        (["TASK-042", "--hops", "-1"], 2, "hops"),
    ],
)
def test_what_cannot_be_answered_says_why(
    store: Store, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    assert run(["context", *arguments]) == code
    printed = capsys.readouterr()
    assert printed.out == "" and re.search(said, printed.err)


def test_the_tokens_that_are_asked_for_are_enough(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["context", "TASK-042", "--budget", "30"]) == 2
    needed = re.search(r"--budget (\d+)", capsys.readouterr().err)
    assert needed is not None
    assert run(["context", "TASK-042", "--budget", needed[1]]) == 0
    assert run(["context", "TASK-042", "--budget", str(int(needed[1]) - 1)]) == 2


def test_a_store_without_a_tree_says_what_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_store(tmp_path).close()
    monkeypatch.chdir(tmp_path)
    assert run(["context", "TASK-042"]) == 1
    assert "no .contextia folder" in capsys.readouterr().err


def test_an_edit_is_seen_by_the_next_call(store: Store, tmp_path: Path) -> None:
    write_artifact(tmp_path, "TASK-044", "links: [DEC-NEW-1]\n")
    assert make_context(store, ContextRequest("TASK-044")).material.closure.missing == (("DEC-NEW-1", "TASK-044"),)
    write_artifact(tmp_path, "DEC-NEW-1")
    assert make_context(store, ContextRequest("TASK-044")).material.closure.missing == ()
    assert tree_of(store).name == "."


@pytest.mark.parametrize("has_code", [True, False])
def test_a_context_before_any_look_at_the_code_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, has_code: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    copy_fixture(tmp_path)
    if not has_code:
        rmtree(tmp_path / "src")
    make_store(tmp_path).close()
    said: list[str] = []
    for words in (("context", "TASK-042"), ("index", "--quiet"), ("context", "TASK-042")):
        assert run(list(words)) == 0
        said.append(capsys.readouterr().err)
    assert ["annotations" in text for text in said] == [True, False, False]

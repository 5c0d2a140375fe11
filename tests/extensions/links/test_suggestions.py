"""What search keeps finding, and the list of which artifact it belongs into."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store
from linked_builders import copy_fixture, write_artifact

from ctxrank.cli.main import run
from ctxrank.extensions.links.actions import sightings
from ctxrank.extensions.links.sync import index_linked
from ctxrank.indexer.records.receipts import Receipt, ReceiptEntry
from ctxrank.indexer.store.store import Store


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    copy_fixture(tmp_path)
    monkeypatch.chdir(tmp_path)
    with make_store(tmp_path) as opened:
        index_linked(opened)
        yield opened


def test_what_search_found_is_named_with_its_list_and_no_file_changes(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for budget in ("1600", "1500", "1400"):
        run(["context", "TASK-042", "--budget", budget])
    capsys.readouterr()
    task = tmp_path / ".contextia/work/tasks/042-multi-currency.md"
    before = task.read_bytes()
    assert run(["check", "--suggest"]) == 0
    assert "DEC-CURRENCY-002 into decisions of TASK-042 (.contextia/" in capsys.readouterr().out
    assert task.read_bytes() == before
    task.write_bytes(before.replace(b"[DEC-BILLING-001]", b"[DEC-BILLING-001, DEC-CURRENCY-002]"))
    run(["context", "TASK-042"])
    assert "=== DECISION: DEC-CURRENCY-002 | T1 via TASK-042 | full ===" in capsys.readouterr().out
    run(["check", "--suggest"])
    assert "DEC-CURRENCY-002 into" not in capsys.readouterr().out


def test_only_the_three_best_that_search_found_are_sighted_each_once() -> None:
    reasons = [("SPEC-1", "T1 linked"), *((f"DEC-{n}", "T3 found") for n in (1, 1, 2, 3, 4))]
    entries = tuple(ReceiptEntry(id_, True, "summary", 10, reason) for id_, reason in reasons)
    inputs = {"task": "TASK-1"}
    receipts = [
        Receipt(n, "context", None, None, "", 0, 0, inputs, entries, (), digest, 0, 0)
        for n, digest in ((1, "a"), (2, "a"), (3, "b"))
    ]
    seen = [(one.id, one.rank, one.receipt) for one in sightings(receipts)]
    assert seen == [(f"DEC-{rank}", rank, receipt) for receipt in (1, 3) for rank in (1, 2, 3)]


def test_one_context_is_no_habit_and_the_same_text_twice_is_one(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(3):
        run(["context", "TASK-042"])
    capsys.readouterr()
    assert run(["check", "--suggest"]) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and "nothing was found 2 times" in printed.err


def test_what_two_tasks_find_goes_into_the_spec_that_both_link_to(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_artifact(tmp_path, "NORM-KEY-001", body="Rotate every signing key each quarter.\n", title="Signing keys")
    write_artifact(tmp_path, "SPEC-SIGN-001", body="Documents are sealed.\n")
    for number, title in ((1, "Signing keys expire"), (2, "Rotate a signing key")):
        write_artifact(tmp_path, f"TASK-9{number}", "links: [SPEC-SIGN-001]\n", title=title)
        run(["context", f"TASK-9{number}"])
    capsys.readouterr()
    assert run(["check", "--suggest"]) == 0
    assert "NORM-KEY-001 into norms of SPEC-SIGN-001 (" in capsys.readouterr().out

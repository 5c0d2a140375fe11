"""Every context leaves a receipt: from it the text is made again, or what has changed is named."""

import json
from pathlib import Path
from typing import Any

import pytest
from builders import save
from linked_builders import write_artifact
from ranking_builders import block_for

from ctxrank.cli.main import run
from ctxrank.extensions.links.context import ContextDraft, ContextRequest, make_context, record_context
from ctxrank.extensions.links.sync import index_linked
from ctxrank.indexer.records import receipts
from ctxrank.indexer.records.receipts import KEPT_PER_GROUP, Receipt, Recording, list_receipts
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.replay import difference, replay_receipt


def context(store: Store, limit: int | None = None, **wanted: Any) -> tuple[ContextDraft, Recording]:
    made = make_context(store, ContextRequest("TASK-042", limit)._replace(**wanted))
    return made, record_context(store, made)


def newest(store: Store) -> Receipt:
    return list_receipts(store.primary, limit=1)[0]


def changes(store: Store, receipt: Receipt, config: Config | None = None) -> str:
    replay = replay_receipt(store, receipt, config)
    assert not replay.is_same
    return "\n".join(replay.changes)


def test_a_receipt_names_everybody_who_is_shown_and_everybody_who_is_not(store: Store) -> None:
    made, kept = context(store, 700)
    receipt = newest(store)
    assert (receipt.id, receipt.kind, receipt.session, receipt.tokens) == (
        kept.receipt,
        "context",
        None,
        made.part.used,
    )
    included = {entry.id: entry.detail for entry in receipt.entries if entry.is_included}
    assert included == {shown.artifact.node.id: shown.level for shown in made.part.shown}
    left = {entry.id: entry.reason for entry in receipt.entries if not entry.is_included}
    assert left["DEC-CURRENCY-001"].endswith("dropped: 81 tokens do not fit the budget")
    assert left["DEC-CURRENCY-001"].startswith("T1 via TASK-042 > SPEC-CURRENCY-001; ")


def test_what_is_shown_lowered_says_what_the_whole_takes(store: Store) -> None:
    lowered = dict[str, str]()
    for limit in range(350, 900, 50):
        context(store, limit)
        lowered.update({entry.detail: entry.reason for entry in newest(store).entries if "lowered" in entry.reason})
    assert lowered.keys() <= {"meta", "summary"} and lowered
    assert all("; lowered: the whole takes " in reason for reason in lowered.values())


def test_an_id_without_an_artifact_is_named_with_who_links_to_it(store: Store) -> None:
    context(store, task="TASK-043")
    entry = newest(store).entry("DEC-BILLING-004")
    assert entry is not None and not entry.is_included
    assert entry.reason == "linked by TASK-043, but there is no such artifact"


def test_the_shared_beginning_is_that_of_the_same_task(store: Store) -> None:
    first, second = context(store)[1], context(store)[1]
    assert first.shared_prefix_tokens is None
    assert second.shared_prefix_tokens is not None and second.shared_prefix_tokens > 400
    assert context(store, task="TASK-043")[1].shared_prefix_tokens is None
    lowered = context(store, 700)[1].shared_prefix_tokens
    assert lowered is not None and 0 < lowered < second.shared_prefix_tokens


def test_contexts_make_room_for_newer_ones_and_not_for_those_of_sessions(store: Store) -> None:
    ids = [context(store, with_search=False)[1].receipt for _ in range(KEPT_PER_GROUP + 2)]
    assert [receipt.id for receipt in list_receipts(store.primary)] == ids[:1:-1]


def test_a_busy_task_erases_no_receipt_of_another(store: Store) -> None:
    other = context(store, task="TASK-043", with_search=False)[1].receipt
    for _ in range(KEPT_PER_GROUP + 2):
        context(store, with_search=False)
    assert list_receipts(store.primary)[-1].id == other


def test_contexts_of_all_tasks_together_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receipts, "KEPT_CONTEXTS", 3)
    ids = [context(store, task=task, with_search=False)[1].receipt for task in ("TASK-042", "TASK-043") * 3]
    assert [receipt.id for receipt in list_receipts(store.primary)] == ids[:2:-1]


def test_a_store_that_cannot_be_written_costs_no_context(store: Store) -> None:
    context(store)
    store.primary.pragma("query_only", True)
    made, kept = context(store)
    assert made.part.text and kept.receipt is None and kept.note.startswith("The receipt is not recorded: ")


@pytest.mark.parametrize(
    "wanted",
    [{}, {"limit": 900}, {"depth": "summary", "form": "markdown"}, {"hops": 1, "with_search": False},
     {"with_identity": False, "limit": 2000, "factor": 1.3}],
)  # fmt: skip
def test_a_replay_gives_the_same_bytes(store: Store, wanted: dict[str, Any]) -> None:
    made, _ = context(store, **wanted)
    replay = replay_receipt(store, newest(store))
    assert (replay.is_same, replay.text, replay.changes) == (True, made.part.text, ())


def test_a_replay_leaves_no_receipt(store: Store) -> None:
    context(store)
    replay_receipt(store, newest(store))
    assert len(list_receipts(store.primary)) == 1


def test_artifacts_that_are_changed_new_or_gone_are_named(store: Store, tmp_path: Path) -> None:
    context(store)
    receipt = newest(store)
    write_artifact(tmp_path, "DEC-NEW-001")
    spec = tmp_path / ".contextia" / "system" / "specs" / "currency.md"
    spec.write_text(spec.read_text().replace("[DEC-CURRENCY-001]", "[DEC-CURRENCY-001, DEC-NEW-001]"))
    (tmp_path / ".contextia" / "system" / "rationale" / "ledger.md").unlink()
    found = changes(store, receipt).split("\n")
    assert {"DEC-NEW-001 is shown now", "SPEC-CURRENCY-001 is changed", "DEC-LEDGER-001 is no longer shown"} <= set(
        found
    )


def test_settings_and_annotations_that_changed_are_named(store: Store, tmp_path: Path) -> None:
    context(store)
    receipt = newest(store)
    code = tmp_path / "src" / "billing" / "invoice" / "generator.py"
    code.write_text(code.read_text().replace("DEC-LEDGER-001", "DEC-CURRENCY-002"))
    index_linked(store)
    found = changes(store, receipt, Config(redaction_mode=RedactionMode.OFF))
    assert found == "redaction mode was pattern_only, is off"
    assert "DEC-LEDGER-001 is changed" in changes(store, receipt)


def test_other_documents_move_how_rare_words_are(store: Store, tmp_path: Path) -> None:
    context(store)
    receipt = newest(store)
    for number in range(3):
        save(store, f"{number}.md", "exchange rates of the euro, and again rates", summary="exchange euro rates")
    write_artifact(tmp_path, "DEC-CURRENCY-003", body="Each exchange rate of a currency.\n")
    assert "DEC-CURRENCY-003 is shown now" in changes(store, receipt).split("\n")


def test_a_task_that_is_gone_cannot_be_made_again(store: Store, tmp_path: Path) -> None:
    context(store)
    (tmp_path / ".contextia" / "work" / "tasks" / "042-multi-currency.md").unlink()
    assert changes(store, newest(store)).startswith("it cannot be made again: There is no task 'TASK-042'")


def test_two_contexts_differ_in_what_was_asked_and_in_what_came_of_it(store: Store) -> None:
    for limit in (700, 1400):
        context(store, limit)
    other, one = list_receipts(store.primary, limit=2)
    found = difference(one, other)
    assert ("budget", "700", "1400") in found.inputs
    assert any(after.is_included and not before.is_included for before, after in found.changed)


def test_an_assembly_with_a_task_names_changed_artifacts_too(store: Store, tmp_path: Path) -> None:
    save(store, "a.md")
    block_for(store, task_id="TASK-042")
    receipt = newest(store)
    write_artifact(tmp_path, "SPEC-CURRENCY-002")
    (tmp_path / ".contextia" / "system" / "rationale" / "ledger.md").unlink()
    found = changes(store, receipt).split("\n")
    assert {"SPEC-CURRENCY-002 is shown now", "DEC-LEDGER-001 is no longer shown"} <= set(found)


def test_the_commands_know_both_kinds(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["context", "TASK-042", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["receipt"], answer["shared_prefix_tokens"]) == (1, None)
    assert run(["receipt", "list"]) == run(["receipt", "show", "1"]) == 0
    printed = capsys.readouterr().out
    assert "receipt 1 · context of TASK-042 · " in printed and "+ SPEC-BILLING-001 · full" in printed
    assert run(["receipt", "replay", "1"]) == 0
    assert capsys.readouterr().out == "receipt 1: the same bytes\n"

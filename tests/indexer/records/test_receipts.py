"""Receipts as they are kept: whole, the newest of each group, and who worked before by what they say."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import make_store, save
from tables import each_row
from written import Reasoning, write

from ctxrank.indexer.exceptions import NotFoundError
from ctxrank.indexer.records.receipts import (
    ASSEMBLY,
    CONTEXT,
    DELIVERED_TO,
    KEPT_CONTEXTS,
    KEPT_PER_GROUP,
    Receipt,
    ReceiptEntry,
    ReceiptOwner,
    delivered_to_run,
    get_receipt,
    insert,
    list_receipts,
    part_digests,
    record,
    redacted_inputs,
    task_group,
)
from ctxrank.indexer.records.sessions import find_session, require_group, require_session
from ctxrank.indexer.records.skill_evidence import RECENT_US, PreviousAgent, previous_agent
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.tokens import estimate_tokens

NOW = 10 * RECENT_US
S = ReceiptOwner(1, 0)
A_RECEIPT = Receipt(0, ASSEMBLY, "S", None, "developer", 0, 1, {}, (), (), "", 5, NOW)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        with opened.write() as change:
            require_session(change, "S", create=True)
            for name in ("G", "H"):
                require_group(change, 1, name)
        yield opened


def keep(store: Store, owner: ReceiptOwner = S, receipt: Receipt = A_RECEIPT) -> int:
    with store.write() as change:
        return insert(change, owner, receipt)


def test_a_receipt_comes_back_as_it_was(store: Store) -> None:
    inputs = {"task": "a\tb\nc\\n\rd\\\\", "none": "", "task_id": "T-1"}
    entries = (
        ReceiptEntry("package:1", True, "full", 40, "one\nline"),
        ReceiptEntry("package:2", False, "", 0, "no room\tleft"),
    )
    receipt = A_RECEIPT._replace(inputs=inputs, entries=entries, parts=part_digests(["ab", ""]), digest="d")
    stored = get_receipt(store.primary, keep(store, receipt=receipt))
    said = [entry._replace(reason=reason) for entry, reason in zip(entries, ("one line", "no room left"), strict=True)]
    assert stored._replace(id=0) == receipt._replace(entries=tuple(said))
    assert [length for _, length in stored.parts] == [2, 0]
    with pytest.raises(NotFoundError):
        get_receipt(store.primary, stored.id + 1)


def test_what_became_of_a_document_is_that_it_was_included_where_it_was_lowered_too() -> None:
    lowered, included = (ReceiptEntry("package:1", is_in, "", 0, "") for is_in in (False, True))
    receipt = A_RECEIPT._replace(entries=(lowered, included, lowered._replace(id="package:2")))
    assert receipt.entry("package:1") == included
    assert receipt.entry("package:2") == lowered._replace(id="package:2")
    assert receipt.entry("package:3") is None


@each_row("kind, task", [(ASSEMBLY, "T-1"), (CONTEXT, "T-2")])
def test_the_task_of_a_receipt_is_where_its_kind_has_it(kind: str, task: str) -> None:
    assert A_RECEIPT._replace(kind=kind, inputs={"task_id": "T-1", "task": "T-2"}).task_id == task
    assert A_RECEIPT._replace(kind=kind).task_id == ""


def test_the_newest_of_each_group_and_task_are_kept(store: Store) -> None:
    numbers = [keep(store, ReceiptOwner(1, 1)) for _ in range(KEPT_PER_GROUP + 2)]
    other = keep(store)
    contexts = [keep(store, ReceiptOwner(None, task_group(7)), A_RECEIPT._replace(kind=CONTEXT)) for _ in "ab"]
    listed = [one.id for one in list_receipts(store.primary)]
    assert listed == [*reversed(contexts), other, *reversed(numbers[2:])]
    assert task_group(0) < 0 and len({task_group(0), task_group(1), task_group(2)}) == 3


def test_contexts_of_all_tasks_together_are_kept_up_to_a_number(store: Store) -> None:
    with store.write() as change:
        for number in range(KEPT_CONTEXTS + 1):
            insert(change, ReceiptOwner(None, task_group(number)), A_RECEIPT._replace(kind=CONTEXT))
        insert(change, S, A_RECEIPT)
    assert list_receipts(store.primary, kind=CONTEXT, limit=0).total == KEPT_CONTEXTS
    assert list_receipts(store.primary, kind=ASSEMBLY, limit=0).total == 1


def test_receipts_are_found_by_place_agent_and_what_they_name(store: Store) -> None:
    entries = (ReceiptEntry("package:12", True, "full", 4, "package:3"),)
    one = keep(store, ReceiptOwner(1, 1), A_RECEIPT._replace(entries=entries))
    two = keep(store, S, A_RECEIPT._replace(agent="qa_expert"))
    asked: list[dict[str, Any]] = [
        {"session": "T"},
        {"group": "G"},
        {"agent": "qa_expert"},
        {"naming": "package:12"},
        {"naming": "package:1"},
    ]
    found = [[receipt.id for receipt in list_receipts(store.primary, **values)] for values in asked]
    assert found == [[], [one], [two], [one], []]


def test_a_run_was_shown_what_its_blocks_held_with_more_than_a_line(store: Store) -> None:
    entries = tuple(
        ReceiptEntry(id_, is_in, detail, 1, "")
        for id_, is_in, detail in (("package:1", True, "full"), ("package:2", True, "line"), ("package:3", False, ""))
    )
    for run in ("r\\1", "r\\12"):
        keep(store, S, A_RECEIPT._replace(inputs={"a": "b", DELIVERED_TO: run, "c": "d"}, entries=entries))
        entries = (entries[0]._replace(id="package:9"),)
    assert delivered_to_run(store.primary, 1, "r\\1", NOW + 1) == ["package:1"]
    assert delivered_to_run(store.primary, 1, "r\\1", NOW) == delivered_to_run(store.primary, 2, "r\\1", NOW + 1) == []


def test_how_much_of_a_text_is_as_it_was_last_time_is_said(store: Store) -> None:
    def told(parts: list[str], owner: ReceiptOwner = S) -> int | None:
        receipt = A_RECEIPT._replace(parts=part_digests(parts))
        return record(store, owner, receipt, "".join(parts)).shared_prefix_tokens

    assert told(["head ", "middle ", "tail"]) is None
    assert told(["other ", "middle ", "tail"]) == 0
    assert told(["other ", "middle ", "end", "tail"]) == estimate_tokens("other middle ")
    assert told(["other "], ReceiptOwner(1, 1)) is None


def test_the_inputs_are_cleaned_as_they_were_given() -> None:
    assert redacted_inputs("task\ta\\nb\\\\c\nother\t", lambda text: text.replace("\nb\\", "\nB\\")) == (
        "task\ta\\nB\\\\c\nother\t"
    )


def spawned(store: Store, agent: str, iteration: int, at: int, group: int = 0, kind: str = ASSEMBLY) -> None:
    receipt = A_RECEIPT._replace(kind=kind, agent=agent, iteration=iteration, created_at=at)
    keep(store, ReceiptOwner(1, group), receipt)


def thought(store: Store, agent: str, iteration: int, at: int, group: int | None = None) -> None:
    with store.write() as change:
        write(change, Reasoning(1, group, agent, "approach", "x", at, iteration=iteration))


def before(
    store: Store, group: int | None = None, at: int = NOW, *, agent: str = "qa_expert", its_try: int = 0
) -> object:
    session = find_session(store.primary, "S")
    return previous_agent(store.primary, session, group, agent, its_try, before_us=at)


def test_nobody_worked_before_the_first(store: Store) -> None:
    spawned(store, "qa_expert", 0, 5)
    assert before(store) is None


def test_outputs_count_since_an_agent_was_spawned_or_a_while_before_its_first_thought(store: Store) -> None:
    thought(store, "developer", 0, NOW - 9)
    assert before(store) == PreviousAgent("developer", NOW - 9 - RECENT_US)
    spawned(store, "developer", 0, NOW - 20)
    assert before(store) == PreviousAgent("developer", NOW - 20)
    thought(store, "developer", 1, NOW - 5)  # its next try
    assert before(store) == PreviousAgent("developer", NOW - 5 - RECENT_US)


def test_this_try_itself_is_passed_over_and_an_earlier_one_is_not(store: Store) -> None:
    spawned(store, "developer", 0, NOW - 30)
    spawned(store, "qa_expert", 1, NOW - 20)
    assert before(store, its_try=1) == PreviousAgent("developer", NOW - 30)
    assert before(store, its_try=2) == PreviousAgent("qa_expert", NOW - 20)
    assert before(store, agent="developer") == PreviousAgent("qa_expert", NOW - 20)


def test_only_blocks_and_thoughts_of_the_group_and_before_the_moment_count(store: Store) -> None:
    spawned(store, "developer", 0, NOW - 30, 1)
    thought(store, "architect", 0, NOW - 20, 2)
    spawned(store, "scrum", 0, NOW - 10, 1, CONTEXT)
    assert before(store, 1) == PreviousAgent("developer", NOW - 30)
    assert before(store, 2) == PreviousAgent("architect", NOW - 20 - RECENT_US)
    assert before(store) == before(store, 2)
    assert before(store, 1, NOW - 30) is before(store, 2, NOW - 20) is None
    save(store, "a.md")
    assert before(store, 3) is None

"""`assemble --task-id`: linked artifacts and context packages in one block under one budget."""

import shutil
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from builders import make_store, save
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ranking_builders import block_for, think

from ctxrank.indexer.records.receipts import get_receipt
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.tokens import estimate_tokens
from ctxrank.indexer.text.vocabulary import local_counter
from ctxrank.ranking.context.assembly.shapes import Assembly
from ctxrank.ranking.context.replay import replay_receipt

_MOST_FOR_A_HEADER = 60  # what a section of its own costs beside its text, and its entry in the footer
TREE = Path(__file__).parents[3] / "fixtures" / "contextia"


@pytest.fixture(scope="module")
def billing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("billing")
    shutil.copytree(TREE, folder, dirs_exist_ok=True)
    with make_store(folder) as store:
        save(store, "notes/rates.md", "# Rates\n\nExchange rates are read once a day.\n" * 3, priority="high")
        save(store, "notes/pdf.md", "# PDF\n\nInvoices of two currencies overflow the page.\n" * 3)
        think(store, "developer", "completion", "Rates are cached.")
        yield store


def of_task(store: Store, agent: str = "developer", **values: Any) -> Assembly:
    return block_for(store, agent, task_id="TASK-042", is_marking=False, **values)


def test_linked_artifacts_come_before_the_agents_heading(billing: Store) -> None:
    block = of_task(billing)
    linked, heading, rest = block.text.partition("## Context for developer\n")
    assert heading and "TASK-042" in linked and "SPEC-BILLING-001" in linked and "notes/rates.md" in rest
    assert {entry.id for entry in block.linked} >= {"TASK-042", "SPEC-BILLING-001", "NORM-ERROR-001"}


def test_without_a_task_text_the_linked_task_ranks_the_packages(billing: Store) -> None:
    assert block_for(billing, limit=1, is_marking=False).packages[0].path == "notes/rates.md"
    assert any("matches" in package.reason for package in of_task(billing).packages)


def test_agents_of_every_kind_share_the_linked_artifacts(billing: Store) -> None:
    blocks = [of_task(billing, agent) for agent in ("developer", "qa_expert", "tech_lead")]
    firsts = {block.parts[0] for block in blocks}
    assert len(firsts) == 1
    assert blocks[-1].shared_prefix_tokens == blocks[1].shared_prefix_tokens and blocks[1].shared_prefix_tokens


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(budget=st.integers(0, 6000), more=st.integers(0, 2000))
def test_one_budget_is_hard_for_both_and_more_of_it_takes_nothing_away(billing: Store, budget: int, more: int) -> None:
    small, large = (of_task(billing, "qa_expert", budget=limit) for limit in (budget, budget + more))
    counter = local_counter()
    assert counter is not None and counter.count(small.text) <= budget
    after = _levels(large)
    assert all(after[id_] >= level for id_, level in _levels(small).items())


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(budget=st.integers(400, 6000))
def test_what_one_side_can_never_use_goes_to_the_other(billing: Store, budget: int) -> None:
    block = of_task(billing, "qa_expert", budget=budget)
    mine = [omitted for omitted in block.omitted if ":" in omitted.id]
    lowered = {omitted.id: omitted.tokens for omitted in block.omitted if omitted.reason.startswith("lowered")}
    is_linked_complete = not lowered and len(block.linked) == len(of_task(billing, budget=100_000).linked)
    assert mine == [] or is_linked_complete or block.used - block.by_class.get("linked", 0) <= budget - budget // 2
    for entry in block.linked if not mine else ():
        if entry.level == "summary" and entry.tier in ("T0", "T1", "T2") and entry.id in lowered:
            assert lowered[entry.id] + _MOST_FOR_A_HEADER > budget - block.used


def test_a_block_without_packages_shows_more_of_what_is_linked(billing: Store) -> None:
    few, many = of_task(billing, budget=1200, limit=0, include_reasoning=False), of_task(billing, budget=1200)
    assert few.by_class["linked"] > many.by_class["linked"] > 600


def _levels(block: Assembly) -> dict[str, int]:
    order = ("title", "line", "meta", "summary", "passage", "full")
    linked = {entry.id: order.index(entry.level) for entry in block.linked}
    return linked | {str(package.id): order.index(package.detail) for package in block.packages}


@pytest.mark.parametrize(("tokens", "level"), [(0, "full"), (110_000, "summary"), (130_000, "meta")])
def test_a_fuller_context_lowers_them(billing: Store, tokens: int, level: str) -> None:
    block = of_task(billing, current_tokens=tokens)
    assert {entry.level for entry in block.linked if entry.type == "spec" and entry.tier == "T1"} == {level}


def test_an_unknown_task_is_a_note_and_the_block_goes_on(billing: Store) -> None:
    block = block_for(billing, task_id="TASK-999", is_marking=False)
    assert block.linked == () and len(block.packages) == 2
    assert any("TASK-999" in note for note in block.notes)


def test_what_is_linked_is_on_the_receipt_and_is_replayed(billing: Store) -> None:
    block = of_task(billing, budget=1200)
    receipt = get_receipt(billing.primary, block.receipt or 0)
    named = {entry.id for entry in receipt.entries}
    assert {"TASK-042", "SPEC-BILLING-001"} <= named
    assert replay_receipt(billing, receipt).is_same


def test_agents_of_one_kind_on_one_task_share_all_but_the_end(billing: Store) -> None:
    first = of_task(billing, iteration=1)
    think(billing, "developer", "approach", "Rates of the cycle's last day.", iteration=1)
    second = of_task(billing, iteration=2)
    shared = _shared(first.text, second.text)
    assert "notes/rates.md" in shared and "notes/pdf.md" in shared
    assert second.shared_prefix_tokens is not None
    assert second.shared_prefix_tokens >= estimate_tokens("".join(first.parts[:-1])) * 0.9


def _shared(one: str, other: str) -> str:
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def test_blocks_of_two_tasks_share_the_identity(billing: Store) -> None:
    first, second = (block_for(billing, task_id=task, is_marking=False) for task in ("TASK-042", "TASK-043"))
    assert "acme-billing" in _shared(first.text, second.text)

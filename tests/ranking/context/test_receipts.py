"""Every assembly leaves a receipt, from which it can be explained, compared and made again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import make_store, save, write_file
from ranking_builders import TODAY, block_for, learn, think

from ctxrank.indexer.exceptions import NotFoundError
from ctxrank.indexer.privacy.retention import prune_older
from ctxrank.indexer.records.packages import supersede
from ctxrank.indexer.records.receipts import KEPT_PER_GROUP, Receipt, get_receipt, list_receipts
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.ids import parse_ref
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.replay import difference, replay_receipt
from ctxrank.ranking.context.why import why

SECRET = "ghp" + "_" + "a1B2" * 9


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        for number in range(7):
            save(
                opened,
                f"{number}.md",
                f"# Finding {number}\n\nThe walrus sleeps {number}.\n",
                created_at=TODAY - number,
            )
        yield opened


def newest(store: Store) -> Receipt:
    return list_receipts(store.primary, limit=1)[0]


def reasons(store: Store, id_: str, receipt: Receipt | None = None) -> tuple[str, ...]:
    return why(store, parse_ref(id_), receipt or newest(store)).reasons


# What is written down


def test_an_assembly_leaves_a_receipt_of_what_went_in_and_what_did_not(store: Store) -> None:
    block = block_for(store)
    receipt = get_receipt(store.primary, block.receipt or 0)
    assert (receipt.session, receipt.group, receipt.agent, receipt.tokens) == ("S", "G", "developer", block.used)
    assert [entry.id for entry in receipt.entries if entry.is_included] == [f"package:{p.id}" for p in block.packages]
    assert {entry.reason for entry in receipt.entries if not entry.is_included} == {
        f"rank {rank} of limit 3" for rank in (4, 5, 6, 7)
    }


@pytest.mark.parametrize("values", [{"current_tokens": 165_000}, {"current_tokens": 150_000}, {"is_marking": False}])
def test_so_does_one_that_shows_or_marks_nothing(store: Store, values: dict[str, Any]) -> None:
    assert block_for(store, **values).receipt == newest(store).id


def test_a_secret_in_a_task_is_neither_kept_nor_searched(store: Store) -> None:
    block_for(store, task=f"walrus with {SECRET}")
    assert newest(store).inputs["task"] == "walrus with GITHUB_TOKEN_REDACTED"


def test_receipts_of_a_group_make_room_for_newer_ones(store: Store) -> None:
    ids = [block_for(store, limit=0).receipt for _ in range(KEPT_PER_GROUP + 3)]
    assert [receipt.id for receipt in list_receipts(store.primary)] == ids[:2:-1]


def test_a_store_that_cannot_be_written_costs_no_block(store: Store) -> None:
    store.primary.pragma("query_only", True)
    block = block_for(store, task="walrus")
    assert block.receipt is None and len(block.packages) == 7 and "not recorded" in block.notes[-1]


@pytest.mark.parametrize("task", ["two\nlines", "a \\n that is none", "tab\there", "\\\\", "cr\r\nlf", " "], ids=ascii)
def test_a_task_comes_back_as_it_was_asked(store: Store, task: str) -> None:
    block_for(store, task=task)
    assert newest(store).inputs["task"] == task


# The shared prefix


def test_the_first_block_of_a_group_shares_nothing_and_an_equal_one_all(store: Store) -> None:
    first, second = (block_for(store, task="walrus", is_marking=False) for _ in range(2))
    assert first.shared_prefix_tokens is None
    assert second.shared_prefix_tokens is not None and second.shared_prefix_tokens > 50
    other = block_for(store, "qa_expert", task="walrus")
    assert other.shared_prefix_tokens == 0


# Replay


def test_a_replay_gives_the_same_bytes_though_its_packages_were_marked_since(store: Store) -> None:
    block = block_for(store, task="walrus", iteration=1)
    assert block_for(store, task="walrus", iteration=1).text != block.text
    replay = replay_receipt(store, get_receipt(store.primary, block.receipt or 0), Config())
    assert (replay.is_same, replay.text, replay.changes) == (True, block.text, ())


def test_a_replay_names_what_has_changed(store: Store) -> None:
    block_for(store, "qa_expert", is_marking=False)
    receipt = newest(store)
    save(store, "new.md", "walrus walrus walrus", priority="critical")
    supersede(store, 7, 8)
    think(store, "developer", "completion", "done", created_at=2 * TODAY)
    learn(store, "Sleep.")
    write_file(store, "0.md", "other")
    replay = replay_receipt(store, receipt, Config(token_safety_margin=0.2))
    assert replay.changes == ("safety margin was 0.15, is 0.2",)
    changes = "\n".join(replay_receipt(store, receipt, Config()).changes)
    for change in (
        "package:1 is changed",
        "package:5 is no longer shown: rank 6 of limit 5",
        "package:7 is no longer left out",
        "package:8 is shown now",
        "reasoning:1 is shown now",
        "strategy:1 is shown now",
    ):
        assert change in changes


def test_a_package_that_is_gone_is_named(store: Store) -> None:
    block_for(store, is_marking=False)
    receipt = newest(store)
    prune_older(store, TODAY - 5, kinds=("package",))
    assert "package:7 is no longer left out" in replay_receipt(store, receipt, Config()).changes


def test_two_receipts_differ_in_what_was_asked_and_in_what_came_of_it(store: Store) -> None:
    for limit in (2, 3):
        block_for(store, limit=limit, is_marking=False)
    other, one = list_receipts(store.primary, limit=2)
    found = difference(one, other)
    assert ("limit", "2", "3") in found.inputs
    assert {before.id for before, after in found.changed if after.is_included and not before.is_included}
    assert not any(difference(one, one))


def test_receipts_of_two_agents_differ_in_whom_they_are_for(store: Store) -> None:
    for agent in ("developer", "qa_expert"):
        block_for(store, agent=agent, is_marking=False)
    other, one = list_receipts(store.primary, limit=2)
    assert ("agent", "developer", "qa_expert") in difference(one, other).inputs
    assert "session" not in [name for name, _, _ in difference(one, other).inputs]


def test_a_document_that_is_shortened_is_not_left_out(store: Store) -> None:
    text = "\n".join(f"The walrus pool is locked by heron {number}." for number in range(60))
    save(store, "long.md", f"# Walrus\n\n{text}\n", summary="Locks.")
    for budget in (500, 5000):
        block_for(store, task="walrus pool heron", budget=budget, is_marking=False)
    other, one = list_receipts(store.primary, limit=2)
    first, second = ({entry.id for entry in each.entries if entry.is_included} for each in (one, other))
    in_both = first & second
    assert in_both and not in_both & (_gone(one, other) | _gone(other, one))


def _gone(one: Receipt, other: Receipt) -> set[str]:
    found = difference(one, other)
    out = {after.id for before, after in found.changed if before.is_included and not after.is_included}
    return out | {entry.id for entry in found.removed}


# Why


def test_what_is_in_the_block_says_why(store: Store) -> None:
    block = block_for(store, task="walrus")
    answer = why(store, parse_ref(f"package:{block.packages[0].id}"), newest(store))
    assert (answer.is_included, answer.detail) == (True, block.packages[0].detail)
    assert "matches walrus" in answer.reasons[0]


def test_what_the_limit_left_out_says_its_rank_and_that_it_was_delivered(store: Store) -> None:
    block_for(store, limit=1, iteration=1)
    block_for(store, limit=1, iteration=1)
    assert reasons(store, "package:1") == ("rank 7 of limit 1; delivered at iteration 1",)


def test_what_the_budget_left_out_says_so(store: Store) -> None:
    block_for(store, budget=120)
    assert "over the budget of 120 tokens" in reasons(store, "package:3")[0]


def test_what_was_no_candidate_says_what_it_is(store: Store) -> None:
    save(store, "h.md", "walrus", group="H")
    save(store, "t.md", "walrus", session="T")
    supersede(store, 1, 2)
    mine = think(store, "investigator", "risks", "hm")
    block_for(store, "qa_expert", task="walrus")
    receipt = newest(store)
    late = save(store, "late.md", "walrus")
    assert reasons(store, "package:8")[0].startswith("of another group, H: --reach session")
    assert reasons(store, "package:9")[0].startswith("of another session, T: --reach project")
    assert reasons(store, "package:1") == ("superseded by package:2",)
    (said,) = reasons(store, f"reasoning:{mine}")
    assert "qa_expert is handed the reasoning of developer, senior_software_engineer in completion, decisions" in said
    assert "saved after this assembly" in reasons(store, f"package:{late.id}", receipt)[0]


def test_an_id_that_never_was_is_not_found(store: Store) -> None:
    block_for(store)
    with pytest.raises(NotFoundError, match="There is no package:99"):
        reasons(store, "package:99")

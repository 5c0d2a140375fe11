"""Reasoning that one agent hands to the next: whose, of which try, how much of it, and the record of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import make_store, save
from ranking_builders import TODAY, block_for, think
from written import Reasoning, write

from ctxrank.indexer.records.events import StoredEvent
from ctxrank.indexer.records.receipts import REASONING_HANDOFF
from ctxrank.indexer.records.sessions import require_group, require_session
from ctxrank.indexer.store.rows import list_where
from ctxrank.indexer.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        save(opened, "a.md")
        yield opened


def contents(store: Store, agent: str, **values: Any) -> list[str]:
    return [entry.content for entry in block_for(store, agent, **values).reasoning]


def test_of_a_retry_chain_only_the_latest_try_is_handed_on(store: Store) -> None:
    think(store, "developer", "completion", "first try", iteration=0)
    think(store, "developer", "completion", "second try", iteration=1, created_at=TODAY - 1)
    assert contents(store, "qa_expert") == ["second try"]


def test_what_only_an_earlier_try_wrote_down_is_still_handed_on(store: Store) -> None:
    think(store, "developer", "understanding", "what it is about", iteration=0)
    think(store, "developer", "completion", "second try", iteration=1)
    assert contents(store, "qa_expert") == ["second try", "(of try 0, before try 1) what it is about"]


def test_agents_of_one_kind_that_have_names_do_not_retry_each_other(store: Store) -> None:
    with store.write() as change:
        session, group = require_session(change, "S", create=True).id, require_group(change, 1, "G")
        for name, iteration in (("ann", 3), ("bob", 0)):
            entry = Reasoning(session, group, "developer", "completion", f"by {name}", TODAY, name, iteration)
            write(change, entry)
    assert sorted(contents(store, "qa_expert")) == ["by ann", "by bob"]


def test_a_completion_is_handed_on_before_what_was_thought_after_it(store: Store) -> None:
    for number, phase in enumerate(("completion", "risks", "blockers")):
        think(store, "developer", phase, phase, created_at=TODAY + number)
    assert contents(store, "qa_expert", reasoning_level="full") == ["completion", "blockers", "risks"]


PHASES = ("understanding", "approach", "decisions", "risks", "blockers", "pivot", "completion")


def think_through(store: Store, *agents: str) -> None:
    """An entry of each agent in each phase, in their order."""
    for number, agent in enumerate(agents):
        for place, phase in enumerate(PHASES):
            think(store, agent, phase, f"{phase} of {agent}", created_at=TODAY + 10 * number + place)


def phases(store: Store, agent: str, level: str, **values: Any) -> list[str]:
    return [entry.phase for entry in block_for(store, agent, reasoning_level=level, **values).reasoning]


def test_a_level_is_content_key_decisions_then_the_approach_then_the_whole_chain(store: Store) -> None:
    think_through(store, "developer")
    medium = ["completion", "decisions", "approach", "understanding"]
    assert phases(store, "qa_expert", "minimal") == ["decisions"]
    assert phases(store, "qa_expert", "medium") == medium
    assert phases(store, "qa_expert", "full") == [*medium, "pivot", "blockers", "risks"]


def test_at_minimal_who_documented_no_decisions_decided_what_was_completed(store: Store) -> None:
    think(store, "developer", "completion", "one lock for all")
    think(store, "developer", "understanding", "what it is about")
    think(store, "qa_expert", "completion", "tested")
    think(store, "qa_expert", "decisions", "edge cases first")
    assert contents(store, "tech_lead", reasoning_level="minimal") == ["one lock for all", "edge cases first"]


def test_an_agent_of_whom_a_level_has_nothing_is_there_with_the_most_actionable_entry(store: Store) -> None:
    think(store, "developer", "risks", "data loss")
    think(store, "developer", "blockers", "no access", created_at=TODAY + 1)
    think(store, "senior_software_engineer", "risks", "slow")
    think(store, "senior_software_engineer", "approach", "one writer")
    assert contents(store, "qa_expert") == ["one writer", "no access"]
    assert contents(store, "qa_expert", reasoning_level="minimal") == []


def test_the_whole_chain_holds_earlier_tries_after_the_latest(store: Store) -> None:
    think(store, "developer", "completion", "first try", iteration=0, created_at=TODAY + 1)
    think(store, "developer", "completion", "second try", iteration=1)
    assert contents(store, "qa_expert", reasoning_level="full") == [
        "second try", "(of try 0, before try 1) first try",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("agent", "iteration"), [("senior_software_engineer", 0), ("developer", 1), ("investigator", 0)]
)
@pytest.mark.parametrize("level", ["minimal", "medium", "full"])
def test_an_escalation_begins_with_what_stopped_the_failed_tries_whole(
    store: Store, agent: str, iteration: int, level: str
) -> None:
    long = ("the pool is exhausted by readers that never end; " * 12).strip()
    think(store, "developer", "blockers", "an older one", created_at=TODAY - 2)
    think(store, "developer", "blockers", long, created_at=TODAY - 1)
    think(store, "developer", "risks", "data loss", created_at=TODAY - 9)
    think(store, "developer", "pivot", "one writer", created_at=TODAY)
    think(store, "developer", "completion", "gave up", created_at=TODAY)
    found = contents(store, agent, iteration=iteration, reasoning_level=level)
    assert found[:4] == [long, "data loss", "one writer", "gave up"]
    assert ("an older one" in found) is (level == "full")


def test_what_stopped_a_try_is_whole_before_anything_else_is_there(store: Store) -> None:
    blockers = ("the pool is exhausted by readers that never end; " * 18).strip()
    think(store, "developer", "blockers", blockers)
    for number in range(2):
        think(store, "developer", "decisions", f"decision {number} of this try; " * 15)
    found = contents(store, "senior_software_engineer", reasoning_level="minimal")
    assert found == [blockers]


def test_a_senior_s_second_try_knows_what_stopped_the_first(store: Store) -> None:
    think(store, "senior_software_engineer", "blockers", "no access")
    think(store, "senior_software_engineer", "decisions", "ask for it")
    assert contents(store, "senior_software_engineer") == []
    assert contents(store, "senior_software_engineer", iteration=1) == ["no access"]


def test_a_first_try_is_no_escalation(store: Store) -> None:
    think_through(store, "developer")
    whole = ["completion", "decisions", "approach", "understanding", "pivot", "blockers", "risks"]
    assert phases(store, "tech_lead", "medium") == whole, "who reviews is given every phase"
    assert phases(store, "tech_lead", "medium", iteration=1)[:3] == ["blockers", "risks", "pivot"]


@pytest.mark.parametrize("budget", range(40, 1200, 40))
def test_an_escalation_stays_within_any_budget_and_lowers_before_it_drops(store: Store, budget: int) -> None:
    for phase in ("blockers", "risks", "pivot", "completion"):
        think(store, "developer", phase, f"{phase} " * 300)
    block, larger = (
        block_for(store, "senior_software_engineer", budget=limit, is_marking=False) for limit in (budget, budget + 40)
    )
    assert block.used <= budget and block.by_class["reasoning"] <= 800
    lengths, more = ({entry.phase: len(entry.content) for entry in one.reasoning} for one in (block, larger))
    assert all(more.get(phase, 0) >= length for phase, length in lengths.items())
    assert list(lengths) == ["blockers", "risks", "pivot", "completion"][: len(lengths)]


def test_two_entries_of_one_try_do_not_conflict(store: Store) -> None:
    think(store, "developer", "decisions", "one")
    think(store, "developer", "decisions", "two")
    assert contents(store, "qa_expert") == ["two", "one"]


def test_tries_of_two_groups_do_not_conflict(store: Store) -> None:
    think(store, "developer", "completion", "of G", iteration=0)
    think(store, "developer", "completion", "of H", group="H", iteration=3)
    assert contents(store, "qa_expert") == ["of G"]
    assert sorted(contents(store, "qa_expert", group=None)) == ["of G", "of H"]


def test_a_project_manager_sees_what_every_agent_completed_and_nothing_else(store: Store) -> None:
    for agent in ("developer", "qa_expert", "investigator"):
        think(store, agent, "completion", f"done by {agent}")
        think(store, agent, "decisions", "how")
    seen = contents(store, "project_manager", include_reasoning=True, group=None)
    assert sorted(seen) == ["done by developer", "done by investigator", "done by qa_expert"]


def test_a_project_manager_is_not_given_any_unasked(store: Store) -> None:
    think(store, "developer", "completion", "done")
    assert contents(store, "project_manager") == []


LONG = "word " * 400


def test_an_entry_is_kept_whole_and_shown_up_to_300_characters(store: Store) -> None:
    think(store, "developer", "completion", LONG)
    (shown,) = contents(store, "qa_expert")
    assert shown == LONG[:300].rsplit(" ", 1)[0] + "..."
    assert store.primary.execute("SELECT length(content) FROM reasoning").fetchone() == (len(LONG),)


def test_at_the_level_full_entries_are_shown_longer_but_never_fewer(store: Store) -> None:
    for phase in ("completion", "decisions"):
        for agent in ("developer", "qa_expert", "senior_software_engineer"):
            think(store, agent, phase, LONG)
    medium, full = (contents(store, "tech_lead", reasoning_level=level) for level in ("medium", "full"))
    assert len(medium) == len(full) == 6
    assert len(full[0]) > 800 and len(medium[0]) < 304


@pytest.mark.parametrize(("level", "tokens"), [("minimal", 400), ("medium", 800), ("full", 1200)])
def test_a_level_is_what_reasoning_may_cost(store: Store, level: str, tokens: int) -> None:
    for phase in ("completion", "decisions"):
        for agent in ("developer", "qa_expert", "senior_software_engineer"):
            think(store, agent, phase, LONG)
    block = block_for(store, "tech_lead", reasoning_level=level)
    assert 0 < block.by_class["reasoning"] <= tokens
    assert all("reasoning" in omitted.id for omitted in block.omitted)


def test_a_handoff_leaves_an_event_that_says_what_went_from_whom_to_whom(store: Store) -> None:
    first = think(store, "developer", "completion", "done")
    second = think(store, "developer", "decisions", "how")
    block_for(store, "qa_expert", iteration=2)
    (event,) = list_where(store.primary, "events", StoredEvent, {"session": "S", "subtype": REASONING_HANDOFF})
    assert event.group == "G"
    assert json.loads(event.payload) == {
        "from_agents": ["developer"], "to_agent": "qa_expert", "group": "G", "iteration": 2,
        "phases": ["completion", "decisions"], "reasoning": [first, second], "content_length": 7,
    }  # fmt: skip


@pytest.mark.parametrize(
    "values", [{"is_marking": False}, {"include_reasoning": False}, {"current_tokens": 160_000}], ids=str
)
def test_where_nothing_is_handed_on_there_is_no_event(store: Store, values: dict[str, Any]) -> None:
    think(store, "developer", "completion", "done")
    block_for(store, "qa_expert", **values)
    assert list_where(store.primary, "events", StoredEvent, {"session": "S"}) == []


def test_a_session_wide_handoff_and_one_of_an_unknown_group_belong_to_no_group(store: Store) -> None:
    think(store, "developer", "completion", "done", group=None)
    block_for(store, "qa_expert", group=None)
    block_for(store, "qa_expert", group="nowhere")
    assert [event.group for event in list_where(store.primary, "events", StoredEvent, {"session": "S"})] == [None, None]

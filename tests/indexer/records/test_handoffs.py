"""Reasoning that one agent hands to the next: whose, of which try, how much of it, and the record of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import make_store, save
from ranking_builders import TODAY, block_for, think

from ctxrank.indexer.records.events import REASONING_HANDOFF, list_events
from ctxrank.indexer.records.reasoning import Reasoning, insert
from ctxrank.indexer.records.sessions import require_group, require_session
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
            insert(change, entry)
    assert sorted(contents(store, "qa_expert")) == ["by ann", "by bob"]


def test_a_completion_is_handed_on_before_what_was_thought_after_it(store: Store) -> None:
    for number, phase in enumerate(("completion", "risks", "blockers")):
        think(store, "developer", phase, phase, created_at=TODAY + number)
    assert contents(store, "qa_expert") == ["completion", "blockers"]


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
    assert len(medium) == len(full) == 5
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
    (event,) = list_events(store.primary, "S", subtype=REASONING_HANDOFF)
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
    assert list_events(store.primary, "S") == []


def test_a_session_wide_handoff_and_one_of_an_unknown_group_belong_to_no_group(store: Store) -> None:
    think(store, "developer", "completion", "done", group=None)
    block_for(store, "qa_expert", group=None)
    block_for(store, "qa_expert", group="nowhere")
    assert [event.group for event in list_events(store.primary, "S")] == [None, None]

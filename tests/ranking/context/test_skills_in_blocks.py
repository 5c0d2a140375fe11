"""The skills checklist as a section of the block: on request, whole or not at all, and the first to go."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import make_store, save
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ranking_builders import block_for, know_error, learn, think

from ctxrank.indexer.records.skills_config import seed_skills
from ctxrank.indexer.store.store import Store

CONFIG = {
    "developer": {"lint-check": "mandatory", "codebase-analysis": "optional", "old-one": "disabled"},
    "tech_lead": {"security-scan": "mandatory", "test-coverage": "mandatory"},
    "pm": {"velocity-tracker": "optional"},
}


@pytest.fixture(scope="module")
def full_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with make_store(tmp_path_factory.mktemp("store")) as store:
        with store.write() as change:
            seed_skills(change, CONFIG)
        for number in range(4):
            save(store, f"{number}.md", f"# Finding {number}\n\nTokens are refreshed twice.\n" * 5)
        think(store, "developer", "completion", "Refreshing is single-flight now. " * 20)
        know_error(store, "token expired")
        learn(store, "Write the failing test first.")
        yield store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        save(opened, "a.md")
        yield opened


def seed(store: Store) -> None:
    with store.write() as change:
        seed_skills(change, CONFIG)


def test_it_is_a_section_of_its_own_when_asked_for(store: Store) -> None:
    seed(store)
    block = block_for(store, with_skills=True)
    assert block.text.endswith(
        "\n### Skills Checklist\n\n**MUST invoke before completion:**\n"
        '- [ ] `Skill(command: "lint-check")`\n\n**Consider if relevant:** `codebase-analysis`\n'
    )
    assert block.skills in block.text and block.by_class["skills"] > 0


def test_it_is_not_there_unasked(store: Store) -> None:
    seed(store)
    assert "Skills" not in block_for(store).text


@pytest.mark.parametrize("agent", ["project_manager", "orchestrator", "qa_expert"])
def test_an_agent_without_a_checklist_gets_a_note_and_no_section(store: Store, agent: str) -> None:
    seed(store)
    block = block_for(store, agent, with_skills=True)
    assert (block.skills, "Skills Checklist" in block.text) == ("", False)
    assert block.notes == ("There is no skills checklist for this agent here.",)


@pytest.mark.parametrize(("mode", "listed"), [("full", True), ("minimal", False), ("disabled", False)])
def test_a_testing_mode_below_full_takes_test_skills_off_the_list(store: Store, mode: str, listed: bool) -> None:
    seed(store)
    block = block_for(store, "tech_lead", with_skills=True, testing_mode=mode)
    assert ("test-coverage" in block.skills) is listed and "security-scan" in block.skills


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(budget=st.integers(0, 2500))
def test_it_is_the_first_to_go_and_takes_nothing_from_the_others(full_store: Store, budget: int) -> None:
    values: dict[str, Any] = {
        "budget": budget,
        "task": "tokens refreshed twice",
        "is_marking": False,
        "include_reasoning": True,
    }
    with_skills = block_for(full_store, **values, with_skills=True)
    without = block_for(full_store, **values)
    section = f"\n{with_skills.skills}" if with_skills.skills else ""
    assert with_skills.text == without.text + section
    # Only once nothing else is left out for want of room is there room for it.
    if with_skills.skills:
        assert not [omitted for omitted in without.omitted if "budget" in omitted.reason]


def test_a_budget_that_has_no_room_for_it_is_said(full_store: Store) -> None:
    block = block_for(full_store, budget=150, with_skills=True, task="tokens")
    assert block.skills == "" and "skills" in {omitted.id for omitted in block.omitted}
    assert any("the first to go" in note for note in block.notes)


@pytest.mark.parametrize("tokens", [130_000, 150_000, 165_000])
def test_a_fuller_context_has_none(store: Store, tokens: int) -> None:
    """Conservative, Wrap-up and Emergency show packages alone, or nothing."""
    seed(store)
    assert block_for(store, with_skills=True, current_tokens=tokens).skills == ""

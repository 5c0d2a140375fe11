"""Skills as a section of the block: on request, whole or not at all, and the first to go."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import make_store, save
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ranking_builders import block_for, know_error, learn, think

from ctxrank.indexer.agents import Role
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.records.receipts import get_receipt
from ctxrank.indexer.records.skill_outputs import save_skill_output
from ctxrank.indexer.records.skills_config import SkillLevels, seed_skills
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.assembly.skills import checklist
from ctxrank.ranking.context.replay import replay_receipt

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
        "\n## Skills Checklist\n\n**MUST invoke before completion:**\n"
        '- [ ] `Skill(command: "lint-check")`\n\n**Consider if relevant:** `codebase-analysis`\n'
    )
    assert block.skills in block.text and block.by_class["skills"] > 0


def test_a_checklist_has_ten_lines_at_most_and_names_every_skill() -> None:
    for must in range(1, 12):
        for may in range(3):
            levels = SkillLevels(tuple(f"must{n}" for n in range(must)), tuple(f"may{n}" for n in range(may)))
            text = checklist(levels, "developer")
            frame = 5 if may else 3
            assert re.findall(r"must\d+|may\d+", text) == [*levels.mandatory, *levels.optional]
            assert text.count("\n") + 1 == min(frame + must, 10)
            assert text.count("Skill(command: ") == (must if must <= 10 - frame else 9 - frame)
    assert checklist(SkillLevels((), ("may",)), "developer").count("\n") == 2
    assert checklist(SkillLevels((), (), ("old",)), "developer") == ""
    assert checklist(SkillLevels(("must",)), "orchestrator") == ""


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


def test_optional_skills_that_the_task_calls_for_are_suggested(store: Store) -> None:
    with store.write() as change:
        seed_skills(change, {"developer": {"api-contract-validation": "optional", "security-scan": "optional"}})
    block = block_for(store, with_skills=True, task="add an endpoint that ends all sessions")
    assert block.text.endswith(
        "**Consider if relevant:** `api-contract-validation`, `security-scan`\n\n### Suggested Skills for This Task\n\n"
        "- **api-contract-validation**: the task involves an API ('endpoint')\n"
    )
    assert "Suggested" not in block_for(store, with_skills=True, task="rename a variable").text


NOTE = "Note: Previous agent did not invoke: `lint-check` (mandatory for developer).\n"


def report(store: Store, skill: str = "lint-check", **values: Any) -> None:
    save_skill_output(store, "S", skill, "{}", **values)


def test_what_the_previous_agent_did_not_invoke_is_said(store: Store) -> None:
    seed(store)
    assert "Previous agent" not in block_for(store, with_skills=True).text
    assert block_for(store, "tech_lead", with_skills=True).text.endswith(f"\n\n{NOTE}")
    assert block_for(store, "qa_expert", with_skills=True).text.endswith("(mandatory for tech_lead).\n")


def test_the_previous_agent_is_known_by_its_reasoning_too(store: Store) -> None:
    seed(store)
    think(store, "developer", "completion", "done")
    assert block_for(store, "tech_lead", with_skills=True).skills.endswith(NOTE)


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        ({"agent": "developer", "group": "G"}, True),
        ({"agent": "developer"}, True),
        ({"group": "G"}, True),
        ({}, True),  # without an agent and a group: for the session
        ({"agent": "qa_expert"}, False),
        ({"agent": "developer", "group": "H"}, False),
    ],
)
def test_evidence_is_the_agents_own_or_of_nobody(store: Store, values: dict[str, str], counts: bool) -> None:
    seed(store)
    block_for(store)
    report(store, **values)
    assert (NOTE in block_for(store, "tech_lead", with_skills=True).skills) is not counts


def test_evidence_from_before_its_spawn_is_not_of_this_try(store: Store) -> None:
    seed(store)
    block_for(store, iteration=0)
    report(store, agent="developer")
    assert NOTE not in block_for(store, with_skills=True, iteration=1).skills
    think(store, "developer", "completion", "the second try", iteration=1, created_at=now_us())
    assert NOTE in block_for(store, with_skills=True, iteration=2).skills
    # A block that is made again for one try asks who was before that try.
    assert NOTE in block_for(store, with_skills=True, iteration=2).skills


def test_agents_of_another_group_are_not_before_it(store: Store) -> None:
    seed(store)
    block_for(store, group="H")
    assert NOTE not in block_for(store, "tech_lead", with_skills=True).skills
    assert NOTE in block_for(store, "tech_lead", group=None, with_skills=True).skills


def test_test_skills_are_missed_from_nobody_where_little_is_tested(store: Store) -> None:
    with store.write() as change:
        seed_skills(change, {"senior_software_engineer": {"test-pattern-analysis": "mandatory"}})
    block_for(store, "senior_software_engineer")
    for mode, said in (("full", True), ("minimal", False), ("disabled", False)):
        block = block_for(store, "qa_expert", with_skills=True, testing_mode=mode, is_marking=False)
        assert ("test-pattern-analysis" in block.skills) is said


def test_a_replay_sees_the_skills_as_they_were(store: Store) -> None:
    seed(store)
    block_for(store)
    made = block_for(store, "tech_lead", with_skills=True)
    report(store, agent="developer")
    assert made.receipt is not None
    assert replay_receipt(store, get_receipt(store.primary, made.receipt), Config()).is_same
    assert NOTE not in block_for(store, "qa_expert", with_skills=True).skills
    with store.write() as change:
        change.connection.execute("DELETE FROM receipts WHERE agent = 'developer'")
    changes = replay_receipt(store, get_receipt(store.primary, made.receipt), Config()).changes
    assert any("skills that the previous agent did not invoke" in change for change in changes)


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


def test_whether_it_has_no_room_or_there_is_none_is_said_whatever_else_is_left_out(store: Store) -> None:
    nothing = "There is no skills checklist for this agent here."
    assert block_for(store, with_skills=True, budget=0).notes == (nothing,)
    seed(store)
    budget = block_for(store).used
    alone = block_for(store, with_skills=True, budget=budget)
    (note,) = alone.notes
    assert [omitted.id for omitted in alone.omitted] == ["skills"] and "the first to go" in note


@pytest.mark.parametrize("tokens", [130_000, 150_000, 165_000])
def test_a_fuller_context_has_none(store: Store, tokens: int) -> None:
    """Conservative, Wrap-up and Emergency show packages alone, or nothing."""
    seed(store)
    assert block_for(store, with_skills=True, current_tokens=tokens).skills == ""


def test_a_role_has_its_own_skills_or_those_of_the_agent_that_it_is_like(store: Store) -> None:
    config = Config(roles={"code-reviewer": Role("tech_lead"), "sre": Role("tech_lead")})
    value = {"tech_lead": {"lint-check": "mandatory"}, "Code Reviewer": {"security-scan": "mandatory"}, "x": {"y": "z"}}
    with store.write() as change:
        seeded = seed_skills(change, value, team=config.team)
    assert seeded.agents == ("tech_lead", "code-reviewer") and "'x' is not an agent" in seeded.notes[0]
    for agent, skill in (("Code reviewer", "security-scan"), ("sre", "lint-check"), ("tech_lead", "lint-check")):
        made = block_for(store, agent, with_skills=True, config=config).skills
        assert [named for named in ("lint-check", "security-scan") if f'"{named}"' in made] == [skill]


def test_a_role_with_an_empty_entry_must_invoke_nothing(store: Store) -> None:
    config = Config(roles={"sre": Role("tech_lead")})
    with store.write() as change:
        seed_skills(change, {"tech_lead": {"lint-check": "mandatory"}, "sre": {}}, team=config.team)
    assert block_for(store, "sre", with_skills=True, config=config).skills == ""

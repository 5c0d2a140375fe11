"""A role of one's own reads, is limited and hands over as the agent that it is like."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store, save
from ranking_builders import block_for, files_for, think
from tables import each_row

from ctxrank.indexer.agents import Role
from ctxrank.indexer.records.packages import consume, consumers_of
from ctxrank.indexer.records.receipts import get_receipt
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.assembly.shapes import forgiven_agent

CONFIG = Config(roles={"reviewer": Role("tech_lead", 2), "coder": Role("developer"), "sre": Role("investigator")})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


def test_what_is_for_the_agent_is_for_the_role_and_the_limit_is_its_own(store: Store) -> None:
    for place in range(4):
        save(store, f"{place}.md", type="decisions")
    save(store, "qa.md", consumers=("qa_expert",), priority="critical")
    block = block_for(store, "Reviewer", config=CONFIG, group="G")
    assert block.agent == "reviewer" and block.notes == ()
    assert [package.label for package in block.packages] == ["", ""]
    assert len(block_for(store, "coder", config=CONFIG, group="G").packages) == 3
    assert block.budget.shares == block_for(store, "tech_lead", group="G").budget.shares


def test_reasoning_is_handed_over_to_a_role_and_from_one(store: Store) -> None:
    save(store, "a.md")
    think(store, "coder", "completion", "From a role.")
    think(store, "developer", "completion", "From an agent.")
    given = {entry.content for entry in block_for(store, "reviewer", config=CONFIG, group="G").reasoning}
    assert given == {"From a role.", "From an agent."}
    assert {entry.agent for entry in block_for(store, "qa_expert", config=CONFIG, group="G").reasoning} == {
        "coder", "developer",
    }  # fmt: skip
    assert block_for(store, "coder", config=CONFIG, group="G").reasoning == ()
    assert len(block_for(store, "coder", config=CONFIG, group="G", iteration=1).reasoning) == 2


def test_a_role_takes_what_its_agent_may_and_the_agents_designation_stays(store: Store) -> None:
    saved = save(store, "a.md", consumers=("tech_lead",))
    assert consume(store, saved.id, "Reviewer", team=CONFIG.team)
    assert not consume(store, saved.id, "reviewer", team=CONFIG.team)
    assert [(one.agent, one.consumed_at is None) for one in consumers_of(store.primary, saved.id)] == [
        ("tech_lead", True), ("reviewer", False),
    ]  # fmt: skip


def test_a_receipt_names_the_roles_only_where_there_are_some(store: Store) -> None:
    save(store, "a.md")
    roles = "coder like developer, reviewer like tech_lead, sre like investigator"
    for config, named in ((CONFIG, roles), (None, None)):
        receipt = block_for(store, "reviewer", config=config, group="G").receipt
        assert receipt is not None
        assert get_receipt(store.primary, receipt).inputs.get("roles") == named


def test_an_agent_that_is_no_role_gets_a_developers_limits_and_a_note(store: Store) -> None:
    for place in range(4):
        save(store, f"{place}.md")
    block = block_for(store, "code-reviewer", config=CONFIG, group="G")
    assert (len(block.packages), block.agent) == (3, "code-reviewer")
    assert block.notes[0].endswith("Did you mean reviewer?")
    assert "reviewer, coder, sre" in block_for(store, "gardener", config=CONFIG, group="G").notes[0]
    assert files_for(store, "reviewer", group="G", limit=1) == ["3.md"]


@each_row(
    "typed, meant",
    [
        ("develper", "developer"),
        ("devloper", "developer"),
        ("qa_exprt", "qa_expert"),
        ("reviewr", "reviewer"),
        ("manager", "project_manager"),  # six pairs of letters in ten are enough
        ("engineer", ""),  # of two agents a part, and of neither enough
        ("oper", ""),
        ("x", ""),
        ("", ""),
    ],
)
def test_a_slip_of_the_hand_is_told_from_a_name_that_nobody_has(typed: str, meant: str) -> None:
    agent, note = forgiven_agent(typed, CONFIG.team)
    assert agent == (typed or "developer")
    assert note.startswith(f"'{typed}' is not an agent; it gets a developer's limits. ")
    assert note.endswith(f"Did you mean {meant}?" if meant else f"Agents are {', '.join(CONFIG.team.agents)}.")

"""Names of agents and types: a team's own are known, others are kept and noted."""

import pytest

from ctxrank.indexer.agents import AGENTS, PackageType, Role, Team, fold_agent, saved_agent, saved_type
from ctxrank.indexer.exceptions import UsageError

TEAM = Team({"reviewer": Role("tech_lead", 4), "code-reviewer": Role("tech_lead")}, {"runbook": PackageType("handoff")})


@pytest.mark.parametrize(
    ("typed", "agent"),
    [(" QA-Expert ", "qa_expert"), ("PM", "project_manager"), ("Reviewer", "reviewer"),
     ("Code Reviewer", "code-reviewer"), ("CODE_REVIEWER", "code-reviewer"), ("Data  Owner", "Data Owner"), (" ", "")],
)  # fmt: skip
def test_a_name_is_found_in_any_spelling_and_another_one_stays_as_it_is(typed: str, agent: str) -> None:
    assert fold_agent(typed, TEAM) == agent


def test_a_role_is_served_as_the_agent_that_it_is_like_and_an_unknown_one_as_a_developer() -> None:
    assert [TEAM.served_as(name) for name in ("reviewer", "qa_expert", "nobody")] == [
        "tech_lead", "qa_expert", "developer",
    ]  # fmt: skip
    assert (TEAM.like("reviewer"), TEAM.like("nobody")) == ("tech_lead", "nobody")
    assert TEAM.with_roles(("tech_lead", "developer")) == ("tech_lead", "developer", "reviewer", "code-reviewer")
    assert TEAM.agents == (*AGENTS, "reviewer", "code-reviewer")


def test_what_is_saved_is_kept_and_noted_where_it_is_not_known() -> None:
    assert saved_agent(" Reviewer", TEAM) == ("reviewer", "")
    agent, note = saved_agent("nobody", TEAM)
    assert agent == "nobody" and "code-reviewer" in note and "developer's limits" in note
    assert saved_type(" Runbook ", TEAM) == ("runbook", "handoff", "")
    type_, like, note = saved_type("Poem", TEAM)
    assert (type_, like) == ("poem", "investigation") and "runbook" in note
    for save in (saved_agent, saved_type):
        with pytest.raises(UsageError, match="needs a"):
            save(" ", TEAM)

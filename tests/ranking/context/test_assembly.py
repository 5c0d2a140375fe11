"""Assembly: who is shown which packages, in which order, and what stands beside them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import make_store, open_again, save
from exported import elsewhere, uuid_of
from ranking_builders import TODAY, block_for, files_for, know_error, learn, think

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.exceptions import NotFoundError
from ctxrank.indexer.fulltext.fts5_engine import index_of
from ctxrank.indexer.records.packages import consume, supersede
from ctxrank.indexer.records.sessions import NewSession, create_session
from ctxrank.indexer.store import origins
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.connection import immediate
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.assembly.bearing import FLOOR
from ctxrank.ranking.errors.relevance import ABOUT_THE_TASK
from ctxrank.ranking.formulas.blend import blended
from ctxrank.ranking.formulas.static_features import BLENDED, Signals, heuristic

_PLENTY = 20  # packages: more than any test makes


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as store:
        yield store


def _note(store: Store, path: str, **values: Any) -> int:
    """A package without a file, for the developer and of TODAY unless said otherwise; returns its id."""
    chosen: dict[str, Any] = {"consumers": ("developer",), "created_at": TODAY, **values}
    return save(store, path, None, **chosen).id


# Who is eligible


def test_what_came_from_another_store_says_whose_it_is(store: Store, tmp_path: Path) -> None:
    _note(store, "own.md")
    assert "of anna" not in block_for(store).text
    with elsewhere(store, tmp_path / "other") as other:
        with other.write() as change:
            origins.enter_state(change.connection, uuid_of(store), "accepted", "person", "anna")
        assert "of anna" in block_for(other).text


def test_packages_of_the_group_and_global_ones_are_eligible_and_other_groups_are_not(store: Store) -> None:
    _note(store, "own.md", group="G")
    _note(store, "other.md", group="H")
    _note(store, "wide.md", group=None)
    _note(store, "global.md", group="H", scope="global")
    assert sorted(files_for(store, limit=_PLENTY)) == ["global.md", "own.md", "wide.md"]


def test_packages_that_the_group_s_references_name_are_eligible(store: Store) -> None:
    _note(store, "own.md", group="G")
    referenced = _note(store, "other.md", group="H")
    with store.write() as change:
        change.connection.execute("UPDATE groups SET context_references = ? WHERE name = 'G'", (f"[{referenced}]",))
    assert sorted(files_for(store, limit=_PLENTY)) == ["other.md", "own.md"]


@pytest.mark.parametrize("group", [None, "", "-", "  ", "global"])
def test_a_session_wide_request_sees_all_groups_of_its_session(store: Store, group: str | None) -> None:
    _note(store, "a.md", group="G")
    _note(store, "b.md", group="H")
    _note(store, "c.md", group="G", session="OTHER")
    assert sorted(files_for(store, group=group, limit=_PLENTY)) == ["a.md", "b.md"]


def test_an_unknown_group_sees_what_is_global_with_a_note(store: Store) -> None:
    _note(store, "own.md", group="G")
    _note(store, "wide.md", group=None)
    block = block_for(store, group="TYPO", limit=_PLENTY)
    assert [package.path for package in block.packages] == ["wide.md"]
    assert "TYPO" in block.notes[0]


def test_an_unknown_session_is_an_error_that_names_what_there_is(store: Store) -> None:
    _note(store, "a.md")
    with pytest.raises(NotFoundError, match=r"no session 'TYPO'.*newest are S"):
        block_for(store, session="TYPO")


def test_a_superseded_package_is_never_eligible(store: Store) -> None:
    old, new = _note(store, "old.md", priority="critical"), _note(store, "new.md", priority="low")
    supersede(store, old, new)
    assert files_for(store, limit=_PLENTY) == ["new.md"]


def test_packages_for_others_fill_only_the_room_that_is_left(store: Store) -> None:
    _note(store, "own.md", priority="low")
    _note(store, "theirs.md", priority="critical", consumers=("qa_expert",))
    assert files_for(store, limit=1, is_marking=False) == ["own.md"]
    block = block_for(store, limit=2)
    assert [package.path for package in block.packages] == ["own.md", "theirs.md"]
    assert block.packages[1].label == "designated for other agents" and block.packages[0].label == ""
    assert "designated for other agents" in block.text
    assert block.packages[1].score == 16 + 2 + 0 + 1


def test_a_package_designated_for_nobody_is_for_everyone_but_relevant_to_none(store: Store) -> None:
    id_ = _note(store, "a.md")
    with store.write() as change:
        change.connection.execute("DELETE FROM package_consumers WHERE package_id = ?", (id_,))
    (package,) = block_for(store, "qa_expert").packages
    assert (package.label, package.score) == ("", 8 + 2 + 0 + 1)


def test_other_groups_come_with_reach_session_and_are_labelled(store: Store) -> None:
    _note(store, "own.md", group="G")
    _note(store, "other.md", group="H")
    block = block_for(store, limit=_PLENTY, reach="session")
    assert {package.path: package.label for package in block.packages} == {"own.md": "", "other.md": "from group H"}


def test_earlier_sessions_come_with_reach_project_and_are_labelled(store: Store) -> None:
    with store.write() as change:
        for name, project, day in (("OLD", "shop", 1), ("S", "shop", 2), ("LATER", "shop", 3), ("X", "else", 1)):
            create_session(change, NewSession(name, project, created_at=day * DAY_US))
        create_session(change, NewSession("NONE", created_at=DAY_US))
    for session in ("OLD", "S", "LATER", "X", "NONE"):
        _note(store, f"{session}.md", session=session)
    assert files_for(store, limit=_PLENTY, reach="session", is_marking=False) == ["S.md"]
    block = block_for(store, limit=_PLENTY, reach="project")
    earlier = {f"{name}.md": f"from session {name}" for name in ("OLD", "NONE")}
    assert {package.path: package.label for package in block.packages} == {"S.md": "", **earlier}


def test_a_package_of_a_group_of_the_same_name_elsewhere_gets_no_group_boost(store: Store) -> None:
    with store.write() as change:
        for name, day in (("OLD", 1), ("S", 2)):
            create_session(change, NewSession(name, created_at=day * DAY_US))
    _note(store, "own.md", session="S", group="G")
    _note(store, "old.md", session="OLD", group="G")
    scores = {package.path: package.score for package in block_for(store, reach="project").packages}
    assert scores == {"own.md": 8 + 2 + 1.5 + 1, "old.md": 8 + 1.5 + 1}


# The order


def test_without_a_task_the_score_is_the_heuristic_exactly(store: Store) -> None:
    _note(store, "a.md", priority="critical")
    _note(store, "b.md", priority="high", group=None, created_at=TODAY - DAY_US)
    _note(store, "c.md", priority="low", created_at=TODAY - 9 * DAY_US)
    block = block_for(store, limit=_PLENTY)
    scores = {package.path: package.score for package in block.packages}
    assert scores == {"a.md": 20.5, "b.md": 12 + 0 + 1.5 + 0.5, "c.md": 4 + 2 + 1.5 + 0.1}
    assert block.engine == "heuristic" and block.outcome == "matched"
    trees = [(package.explanation, package.score) for package in block.packages]
    assert all(tree is not None and tree.value == pytest.approx(score) for tree, score in trees)


def test_equal_scores_are_ordered_by_time_and_then_by_id(store: Store) -> None:
    for number in range(4):
        _note(store, f"{number}.md", created_at=TODAY + (number == 0))
    assert files_for(store, limit=_PLENTY) == ["0.md", "3.md", "2.md", "1.md"]


def test_with_a_task_a_matching_low_package_beats_an_unrelated_critical_one(store: Store) -> None:
    _note(store, "match.md", priority="low", summary="The walrus cache goes stale after a restart.")
    _note(store, "critical.md", priority="critical", summary="Colours of the page.")
    task = "why is the walrus cache stale after a restart"
    block = block_for(store, task=task)
    assert [package.path for package in block.packages] == ["match.md", "critical.md"]
    assert block.engine == "fts5"
    assert block.packages[0].reason == "matches cache, restart, stale"
    assert block.packages[1].reason == "no word of the task matches"
    assert files_for(store, is_marking=False) == ["critical.md", "match.md"]


def test_between_equal_matches_priority_decides(store: Store) -> None:
    for priority in ("low", "critical", "medium"):
        _note(store, f"{priority}.md", priority=priority, summary="walrus")
    assert files_for(store, task="the walrus") == ["critical.md", "medium.md", "low.md"]


def test_the_explanation_of_a_blend_adds_up_to_the_score(store: Store) -> None:
    _note(store, "a.md", summary="walrus and zebra")
    (package,) = block_for(store, task="zebra walrus").packages
    assert package.explanation is not None
    assert package.explanation.value == pytest.approx(package.score, abs=1e-6)
    assert sum(part.value for part in package.explanation.parts) == pytest.approx(package.explanation.value)


def test_the_text_of_a_task_is_plain_words(store: Store) -> None:
    _note(store, "a.md", summary="walrus")
    for task in ("-walrus", '"walrus', "walrus AND NOT (", "kind:error walrus", 'NEAR("walrus" \x00', "group:H walrus"):
        (package,) = block_for(store, task=task, is_marking=False).packages
        assert package.reason == "matches walrus", task


def test_the_passages_that_match_the_task_are_shown(store: Store) -> None:
    text = f"# One\n\n{'pad ' * 300}\n\n# Two\n\nthe walrus sleeps {'pad ' * 300}\n"
    save(store, "a.md", text, summary="x", created_at=TODAY)
    (package,) = block_for(store, task="walrus").packages
    assert package.detail == "passage"
    assert [("walrus" in passage.text) for passage in package.passages] == [True]
    (whole,) = block_for(store, task="walrus", detail="full", is_marking=False).packages
    assert whole.detail == "full" and len(whole.passages) > 1
    (short,) = block_for(store, task="walrus", detail="summary", is_marking=False).packages
    assert (short.detail, short.passages) == ("summary", ())


# How many


def test_each_agent_has_its_limit_and_the_rest_is_overflow(store: Store) -> None:
    for number in range(8):
        _note(store, f"{number}.md", consumers=("developer", "tech_lead", "project_manager"))
    for agent, limit in (("developer", 3), ("tech_lead", 5), ("Tech Lead ", 5), ("project_manager", 3)):
        block = block_for(store, agent, is_marking=False)
        assert (len(block.packages), block.available, block.overflow) == (limit, 8, 8 - limit)
        assert f"### Relevant Packages ({limit}/8)" in block.text
        assert f"📦 +{8 - limit} more packages available (re-invoke with higher limit to expand)" in block.text
        assert [omitted.reason for omitted in block.omitted] == [
            f"rank {rank} of limit {limit}" for rank in range(limit + 1, 9)
        ]


def test_the_configuration_sets_limits_and_the_request_overrides_them(store: Store) -> None:
    for number in range(8):
        _note(store, f"{number}.md")
    config = Config(retrieval_limits={"developer": 6})
    assert len(block_for(store, config=config, is_marking=False).packages) == 6
    assert len(block_for(store, "someone", config=config, is_marking=False).packages) == 6
    assert len(block_for(store, config=config, limit=1, is_marking=False).packages) == 1
    assert len(block_for(store, config=config, limit=0, is_marking=False).packages) == 0


def test_an_unknown_agent_or_model_is_served_with_a_note(store: Store) -> None:
    _note(store, "a.md", consumers=("developer",))
    block = block_for(store, "Robot", model="hal-9000")
    assert block.text.startswith("## Context for Robot\n") and len(block.packages) == 1
    assert "a developer's limits" in block.notes[0] and "hal-9000" in block.notes[1] and "200,000" in block.notes[1]


# Delivered and consumed


def test_a_slip_in_an_agent_s_name_says_which_was_meant(store: Store) -> None:
    _note(store, "a.md")
    assert block_for(store, "devloper").notes[0].endswith("Did you mean developer?")
    assert "Agents are developer," in block_for(store, "gardener").notes[0]


def test_a_repeated_iteration_puts_what_was_not_delivered_first(store: Store) -> None:
    for number in range(6):
        _note(store, f"{number}.md")
    assert files_for(store, iteration=1) == ["5.md", "4.md", "3.md"]
    assert files_for(store, iteration=1) == ["2.md", "1.md", "0.md"]
    block = block_for(store, iteration=1)
    assert [package.path for package in block.packages] == ["5.md", "4.md", "3.md"]
    assert all(package.label == "delivered before" for package in block.packages)


def test_a_run_gets_first_what_it_has_not_been_given_and_every_other_call_is_a_new_one(store: Store) -> None:
    for number in range(4):
        _note(store, f"{number}.md")
    first = ["3.md", "2.md"]
    assert files_for(store, limit=2, run="a1", is_marking=False) == files_for(store, limit=2, run="a1") == first
    assert files_for(store, limit=2, run="a1") == ["1.md", "0.md"]
    assert files_for(store, limit=2, run="a1") == files_for(store, limit=2, run="a") == first
    assert block_for(store, limit=2).text == block_for(store, limit=2).text


def test_of_a_run_what_was_given_waits_with_its_passages_for_what_was_not(store: Store) -> None:
    for name, summary in (("best", "walrus heron"), ("next", "a walrus that sleeps through all of the long winter")):
        save(store, f"{name}.md", f"# A {name} walrus\n\n{'The walrus, and a heron. ' * 40}\n", summary=summary)
    given: list[tuple[int, str]] = []
    for _ in range(2):
        block = block_for(store, task="walrus heron", run="a1", budget=460)
        given += [(one.id, one.detail) for one in block.packages if one.detail != "line"]
    assert {id_ for id_, _ in given} == {1, 2}, given


def test_a_line_is_no_delivery(store: Store) -> None:
    _note(store, "line.md", summary="something else")
    _note(store, "match.md", summary="walrus heron")
    block = block_for(store, task="walrus heron", run="a1")
    assert [package.detail for package in block.packages] == ["summary", "line"]
    again = block_for(store, task="walrus heron", run="a1")
    assert [package.label for package in again.packages] == ["delivered before", ""]


@pytest.mark.parametrize(
    ("task", "order"),
    [
        ("", ["own.md", "seen.md", "theirs.md", "theirs-seen.md"]),
        ("walrus", ["own.md", "theirs.md", "seen.md", "theirs-seen.md"]),
    ],
)
def test_whom_it_is_for_and_whether_it_was_delivered_come_before_the_score(
    store: Store, task: str, order: list[str]
) -> None:
    _note(store, "seen.md", priority="critical", summary="walrus")
    _note(store, "theirs-seen.md", priority="critical", summary="walrus", consumers=("qa_expert",))
    assert len(files_for(store, iteration=1)) == 2
    _note(store, "own.md", priority="low", summary="walrus")
    _note(store, "theirs.md", priority="low", summary="walrus", consumers=("qa_expert",))
    assert files_for(store, task=task, limit=_PLENTY, iteration=1) == order


def test_another_iteration_agent_or_group_is_delivered_to_anew(store: Store) -> None:
    for number in range(4):
        _note(store, f"{number}.md", group=None, consumers=("developer", "investigator"))
    first = files_for(store, limit=2, iteration=1)
    assert files_for(store, limit=2, iteration=2) == first
    assert files_for(store, limit=2, group=None, iteration=1) == first
    assert files_for(store, "investigator", limit=2, iteration=1) == first
    assert files_for(store, limit=2, iteration=1) != first


def test_what_was_consumed_at_this_iteration_counts_as_delivered(store: Store) -> None:
    top, _ = _note(store, "top.md", priority="high"), _note(store, "next.md")
    consume(store, top, "developer", 1)
    assert files_for(store, limit=1, iteration=1, is_marking=False) == ["next.md"]
    assert files_for(store, limit=1, iteration=2, is_marking=False) == ["top.md"]


def test_nothing_is_marked_when_not_asked_to(store: Store) -> None:
    for number in range(2):
        _note(store, f"{number}.md")
    assert files_for(store, limit=1, is_marking=False) == files_for(store, limit=1, is_marking=False) == ["1.md"]


@pytest.mark.parametrize(("tokens", "marks"), [(0, 1), (102_000, 1), (127_500, 0), (144_500, 0), (161_500, 0)])
def test_only_normal_and_soft_warning_mark(store: Store, tokens: int, marks: int) -> None:
    _note(store, "a.md")
    block_for(store, current_tokens=tokens)
    assert store.primary.execute("SELECT count(*) FROM deliveries").get == marks


def test_a_locked_store_is_answered_unmarked_and_says_so(store: Store) -> None:
    _note(store, "a.md")
    with open_again(store) as other, immediate(other.primary):
        block = block_for(store)
    assert len(block.packages) == 1 and "not recorded" in block.notes[-1]


# Zones


def test_soft_warning_has_summaries_of_200_and_no_passages(store: Store) -> None:
    save(store, "a.md", "walrus\n", summary="walrus " * 100, created_at=TODAY)
    block = block_for(store, task="walrus", current_tokens=102_000)
    assert "🔶 **Token budget: Soft Warning (60.0%) - Reduced summaries (200 char)**" in block.text
    assert len(block.packages[0].summary) <= 203 and block.packages[0].passages == ()


@pytest.mark.parametrize(
    ("priorities", "level", "count"),
    [
        (["critical", "critical", "high"], "critical", 2),
        (["high", "medium", "low"], "high", 1),
        (["medium", "low"], "medium", 1),
    ],
)
def test_conservative_shows_the_highest_level_that_has_any(
    store: Store, priorities: list[str], level: str, count: int
) -> None:
    for number, priority in enumerate(priorities):
        _note(store, f"{number}.md", priority=priority, summary="word " * 40)
    block = block_for(store, current_tokens=127_500)
    assert "🔶 **Token budget: Conservative (75.0%)**" in block.text
    assert {package.priority for package in block.packages} == {level}
    assert f"### Priority Packages ({count}/{len(priorities)}) - {level} level" in block.text
    assert len(block.omitted) == len(priorities) - count
    assert all(len(package.summary) <= 103 for package in block.packages)


def test_conservative_says_so_where_only_packages_of_low_priority_are_known(store: Store) -> None:
    for number in range(2):
        _note(store, f"{number}.md", priority="low")
    block = block_for(store, current_tokens=127_500)
    assert "### Relevant Packages (0/2)\n\nOnly packages of low priority are known" in block.text.replace(
        "\n\n\n", "\n\n"
    )
    assert "No context packages found" not in block.text and "No package fits" not in block.text
    assert (block.packages, block.available, len(block.omitted)) == ((), 2, 2)


def test_a_critical_package_for_the_agent_has_a_place_within_any_limit(store: Store) -> None:
    for number in range(8):
        _note(store, f"{number}.md", summary="walrus heron")
    _note(store, "critical.md", priority="critical", summary="nothing of it", consumers=("developer",))
    for limit in (1, 2, 3):
        assert files_for(store, task="walrus heron", limit=limit, is_marking=False)[-1] == "critical.md"
    assert files_for(store, task="walrus heron", limit=3, is_marking=False)[:2] == ["7.md", "6.md"]


def test_a_critical_package_that_is_designated_for_another_agent_has_no_place_kept(store: Store) -> None:
    for number in range(8):
        _note(store, f"{number}.md", summary="walrus heron")
    _note(store, "critical.md", priority="critical", consumers=("qa_expert",))
    assert "critical.md" not in files_for(store, limit=3)
    last = block_for(store, task="walrus heron", limit=3).packages[-1]
    assert (last.path, last.detail, last.label) == ("critical.md", "line", "designated for other agents")


def test_what_has_no_bearing_on_the_task_stays_out_unless_it_is_routed_here(store: Store) -> None:
    _note(store, "match.md", priority="low", summary="walrus heron")
    for priority in ("critical", "high", "medium", "low"):
        _note(store, f"{priority}.md", priority=priority, group="H", consumers=("qa_expert",), summary="something")
    block = block_for(store, task="walrus heron", reach="session", limit=_PLENTY, is_marking=False)
    assert {package.path for package in block.packages} == {"match.md", "critical.md"}
    assert {entry.reason for entry in block.omitted} == {"it has no bearing on the task"} and block.available == 5
    listing = "All of them: `ctxrank list packages --session S`"
    assert f"\n\nNot shown: 1 high, 1 medium, 1 low. {listing}\n" in block.text
    assert (
        len(files_for(store, reach="session", limit=_PLENTY, is_marking=False)) == 5
    )  # without a task there is no floor


def test_a_name_is_one_word_of_the_command_that_lists_the_others(store: Store) -> None:
    _note(store, "match.md", summary="walrus heron", group=None)
    _note(store, "other.md", summary="something", consumers=("qa_expert",), group=None)
    block = block_for(store, task="walrus heron", group="x; reboot\n## Forged", limit=_PLENTY, is_marking=False)
    assert "\n## Forged" not in block.text
    assert "All of them: `ctxrank list packages --session S --group 'x; reboot ## Forged'`" in block.text


def test_what_passes_the_floor_is_above_every_package_without_a_word_of_the_task(store: Store) -> None:
    """Whatever else is known of both: the least that a package at the floor has, and the most that any other has."""
    least = blended(FLOOR, heuristic(Signals("low", False, False, 10_000), BLENDED).total)
    assert least > blended(0.0, heuristic(Signals("critical", True, True, 0), BLENDED).total)
    _note(store, "critical.md", priority="critical", summary="something else")
    _note(store, "low.md", priority="low", summary="walrus heron", group="H", created_at=0)
    assert files_for(store, task="walrus heron", reach="session", is_marking=False) == ["low.md", "critical.md"]


def test_where_nothing_has_bearing_the_best_known_is_shown_and_says_so(store: Store) -> None:
    _note(store, "a.md", summary="something else")
    block = block_for(store, task="walrus heron")
    assert [package.label for package in block.packages] == ["nothing matches the task better"]


def test_a_share_of_the_context_is_never_rounded_up_over_the_border_of_a_zone(store: Store) -> None:
    _note(store, "a.md")
    block = block_for(store, current_tokens=127_499)
    assert (block.usage.zone.value, block.usage.shown_percent) == ("Soft_Warning", 74.9)
    assert "(74.9%)" in block.text


def test_the_context_of_a_model_is_as_the_configuration_says(store: Store) -> None:
    _note(store, "a.md")
    config = Config(context_limits={"big-one": 1_000_000})
    block = block_for(store, config=config, model="Big-One", current_tokens=200_000)
    assert (block.usage.remaining, block.usage.zone.value, block.notes) == (650_000, "Normal", ())


def test_conservative_takes_its_level_from_this_agent_s_packages_first(store: Store) -> None:
    _note(store, "own.md", priority="high")
    _note(store, "theirs.md", priority="critical", consumers=("qa_expert",))
    assert files_for(store, current_tokens=127_500) == ["own.md"]


def test_conservative_shows_packages_alone_and_no_overflow(store: Store) -> None:
    for number in range(5):
        _note(store, f"{number}.md")
    think(store, "developer", "completion", "done")
    know_error(store, "boom")
    block = block_for(store, "qa_expert", current_tokens=127_500, limit=2)
    assert (len(block.packages), block.reasoning, block.errors) == (2, (), ())
    assert "📦" not in block.text and block.overflow == 0


def test_the_wrap_up_text_is_the_specification_s(store: Store) -> None:
    _note(store, "a.md")
    block = block_for(store, current_tokens=144_500)
    assert block.text == (
        "## Context for developer\n\n"
        "🔶 **Token budget: Wrap-up (85.0%) - Completing current operation**\n\n"
        "### Essential Info Only\n\n"
        "Minimal context mode active. Focus on completing current task.\n"
    )


def test_the_emergency_text_is_the_specification_s(store: Store) -> None:
    block = block_for(store, "qa_expert", session="not even looked for", current_tokens=161_500)
    assert block.text == (
        "## Context for qa_expert\n\n"
        "🚨 **Token budget: Emergency (95.0%) - Checkpoint recommended**\n\n"
        "Context assembly skipped due to token budget constraints.\n"
        "Suggest: Complete current operation and start new session.\n"
    )


def test_the_empty_text_is_the_specification_s(store: Store) -> None:
    _note(store, "a.md", group="H")
    block = block_for(store)
    assert block.text.endswith(
        "### Relevant Packages (0/0)\n\nNo context packages found for this session/group. "
        "The agent will proceed with task and specialization context only.\n"
    )
    assert (block.outcome, block.packages) == ("no_match", ())


def test_a_switched_off_assembler_says_so_and_reads_nothing(store: Store) -> None:
    block = block_for(store, session="none", config=Config(enable_context_assembler=False))
    assert "enable_context_assembler: false" in block.text and block.packages == ()
    assert block.reason == "switched off in the configuration"


def test_the_safety_margin_moves_the_zones(store: Store) -> None:
    _note(store, "a.md")
    assert block_for(store, current_tokens=102_000, config=Config(token_safety_margin=0)).usage.percent == 51.0


# Reasoning


@pytest.mark.parametrize(
    ("agent", "iteration", "asked", "has"),
    [
        ("qa_expert", 0, None, True),
        ("tech_lead", 0, None, True),
        ("senior_software_engineer", 0, None, True),
        ("investigator", 0, None, True),
        ("developer", 0, None, False),
        ("developer", 1, None, True),
        ("developer", 0, True, True),
        ("qa_expert", 0, False, False),
        ("project_manager", 3, None, False),
    ],
)
def test_reasoning_comes_by_agent_and_iteration_or_as_asked(
    store: Store, agent: str, iteration: int, asked: bool | None, has: bool
) -> None:
    think(store, "developer", "completion", "done")
    block = block_for(store, agent, iteration=iteration, include_reasoning=asked)
    assert bool(block.reasoning) is has
    assert ("### Prior Agent Reasoning (1 entries)\n\n**[developer] completion:** done" in block.text) is has


@pytest.mark.parametrize(
    ("agent", "iteration", "first"),
    [
        ("developer", 0, "completion"),
        ("developer", 1, "blockers"),
        ("developer", 2, "blockers"),
        ("senior_software_engineer", 0, "blockers"),
        ("qa_expert", 0, "completion"),
        ("qa_expert", 1, "blockers"),
    ],
)
def test_who_follows_failed_tries_is_told_first_what_stood_in_the_way(
    store: Store, agent: str, iteration: int, first: str
) -> None:
    for phase in ("blockers", "completion"):
        think(store, "developer", phase, phase)
    block = block_for(store, agent, iteration=iteration, include_reasoning=True)
    assert block.reasoning[0].phase == first


def test_a_project_manager_is_told_how_the_latest_try_of_each_ended_alone(store: Store) -> None:
    for iteration in range(2):
        for phase in ("blockers", "completion", "decisions"):
            think(store, "developer", phase, f"{phase} {iteration}", iteration=iteration, created_at=TODAY + iteration)
    block = block_for(store, "project_manager", include_reasoning=True)
    assert [entry.content for entry in block.reasoning] == ["completion 1"]
    # A reviewer has the latest of other phases, too, and on request the earlier tries.
    assert [entry.content for entry in block_for(store, "qa_expert").reasoning] == ["completion 1", "decisions 1"]
    full = [entry.content for entry in block_for(store, "qa_expert", reasoning_level="full").reasoning]
    assert any(content.startswith("(of try 0, ") for content in full)


def test_only_the_relevant_agents_reasoning_helps(store: Store) -> None:
    for agent in ("developer", "senior_software_engineer", "qa_expert", "tech_lead", "investigator"):
        think(store, agent, "completion", agent)
    seen = {a: {e.agent for e in block_for(store, a).reasoning} for a in ("qa_expert", "senior_software_engineer")}
    assert seen == {
        "qa_expert": {"developer", "senior_software_engineer"},
        "senior_software_engineer": {"developer"},
    }


def test_reasoning_is_ordered_by_phase_then_newest_with_two_of_each_agents_phase(store: Store) -> None:
    phases = ("understanding", "decisions", "completion", "decisions", "decisions")
    for place, agent in enumerate(("developer", "senior_software_engineer", "qa_expert")):
        for number, phase in enumerate(phases):
            think(store, agent, phase, f"{agent} {phase}", created_at=TODAY + 10 * place + number)
    entries = block_for(store, "investigator").reasoning
    newest_first = ("qa_expert", "senior_software_engineer", "developer")
    assert [(entry.phase, entry.agent) for entry in entries] == [
        *(("completion", agent) for agent in newest_first),
        *(("decisions", agent) for agent in newest_first for _ in range(2)),
        ("understanding", "qa_expert"),  # ten in all
    ]
    few = block_for(store, "investigator", reasoning_level="minimal").reasoning
    assert [(entry.phase, entry.agent) for entry in few] == [
        ("decisions", agent) for agent in newest_first for _ in range(2)
    ][:5]


def test_a_tech_lead_is_given_all_phases_of_developers_and_qa(store: Store) -> None:
    phases = ("understanding", "approach", "decisions", "risks", "blockers", "pivot", "completion")
    for agent in ("developer", "qa_expert", "investigator"):
        for phase in phases if agent == "developer" else ("completion", "risks"):
            think(store, agent, phase, f"{agent} {phase}")
    given = {(one.agent, one.phase) for one in block_for(store, "tech_lead").reasoning}
    assert given == {*(("developer", phase) for phase in phases), ("qa_expert", "completion"), ("qa_expert", "risks")}
    assert ("developer", "risks") not in {(one.agent, one.phase) for one in block_for(store, "qa_expert").reasoning}


def test_reasoning_is_the_group_s_and_the_session_s_own(store: Store) -> None:
    for group in ("G", "H", None):
        think(store, "developer", "completion", f"of {group}", group=group, created_at=TODAY + len(group or ""))
    assert {entry.content for entry in block_for(store, "tech_lead").reasoning} == {"of G", "of None"}
    wide = {entry.content for entry in block_for(store, "tech_lead", group=None).reasoning}
    assert len(wide) == 2 and "of H" in wide


def test_a_long_entry_is_cut_at_a_word(store: Store) -> None:
    think(store, "developer", "completion", "word " * 100)
    (entry,) = block_for(store, "qa_expert").reasoning
    assert entry.content == ("word " * 60).strip() + "..."


# Errors and strategies


def test_without_a_failure_errors_are_the_confirmed_ones_first_those_that_the_task_is_about(store: Store) -> None:
    _note(store, "a.md")
    know_error(store, "walrus pool exhausted", confidence=0.95, project="shop")
    know_error(store, "walrus pool slow", confidence=0.8, project="shop")
    know_error(store, "gannet nest empty", confidence=0.95, project="shop")
    know_error(store, "walrus pool doubted", confidence=0.7, project="shop")
    know_error(store, "walrus pool foreign", confidence=0.99, project="other")
    know_error(store, "walrus pool expired", confidence=0.99, last_seen=TODAY - 91 * DAY_US, project="shop")
    block = block_for(store, task="why is the walrus pool exhausted", project="shop")
    about = ["E: walrus pool exhausted", "E: walrus pool slow"]
    assert [entry.signature for entry in block.errors] == [*about, "E: gannet nest empty"]
    assert [entry.signature for entry in block_for(store, task="walrus pool", project="other").errors] == [
        "E: walrus pool foreign"
    ]
    assert (
        '### Error Patterns (3 matches)\n\n⚠️ **Known Issue**: "E: walrus pool exhausted"\n'
        "> **Solution**: Restart it.\n> **Confidence**: 0.99 (seen 3 times)\n"
    ) in block.text
    # One shared word is no bearing, but stands before none; without a task it is trust that counts.
    one_word = [entry.signature for entry in block_for(store, task="a walrus elsewhere", project="shop").errors]
    assert one_word == [*about, "E: gannet nest empty"]
    assert [entry.signature for entry in block_for(store, project="shop").errors][-1] == "E: walrus pool slow"


def test_an_error_without_a_word_of_the_task_takes_only_what_is_left(store: Store) -> None:
    for number in range(9):
        save(store, f"{number}.md", f"# Walrus {number}\n\n" + f"The walrus pool is locked {number}. " * 40)
    know_error(store, "gannet nest empty")
    budgets = [block_for(store, task="the walrus pool is locked", budget=budget) for budget in (900, 9000)]
    assert [len(block.errors) for block in budgets] == [0, 1] and budgets[0].omitted


def test_the_first_example_of_a_block_has_its_error(store: Store) -> None:
    """Three of seven packages of a session, a known error of the project, and what a higher limit would show."""
    for number, priority in enumerate(("high", *["medium"] * 6)):
        _note(store, f"research/{number}.md", priority=priority)
    solution = "Check tsconfig.json paths configuration - ensure baseUrl is set correctly"
    know_error(store, "Cannot find module '@/utils'", solution, confidence=0.8)
    text = block_for(store).text
    assert "### Relevant Packages (3/7)\n\n**[HIGH]** research/0.md\n> " in text
    assert "### Error Patterns (1 match)\n\n" in text and f"> **Solution**: {solution}\n> **Confidence**: 0." in text
    assert text.endswith("📦 +4 more packages available (re-invoke with higher limit to expand)\n")


def test_a_failure_is_answered_with_what_is_known_of_it_and_with_nothing_else(store: Store) -> None:
    _note(store, "a.md")
    know_error(store, "the lockfile of 'shop' cannot be read by this version", "Upgrade it.", confidence=0.5)
    know_error(store, "walrus pool exhausted")
    failure = b"E: the lockfile of 'shop' cannot be read by this version\n"
    block = block_for(store, task="walrus pool exhausted", error_output=failure)
    (entry,) = block.errors
    assert (entry.solution, entry.grade, entry.state) == ("Upgrade it.", "exact", "sighted") and entry.why
    assert block.failure is not None and (block.failure.source, block.failure.outcome) == ("given", "matched")
    unknown = block_for(store, task="walrus pool exhausted", error_output=b"E: gannets have eaten the index\n")
    assert unknown.errors == () and unknown.failure is not None and unknown.failure.outcome == "no_match"


def test_a_refuted_solution_is_not_passed_on(store: Store) -> None:
    _note(store, "a.md")
    message = "the lockfile of 'shop' cannot be read by this version"
    know_error(store, message, confidence=0.1)
    block = block_for(store, error_output=f"E: {message}\n".encode())
    assert block.errors == () and block.failure is not None and block.failure.outcome == "matched"


def test_a_language_leaves_out_the_errors_of_others(store: Store) -> None:
    _note(store, "a.md")
    for lang in ("python", "go", None):
        know_error(store, f"walrus pool {lang}", lang=lang)
    found = {entry.signature for entry in block_for(store, task="walrus pool", lang="go").errors}
    assert found == {"E: walrus pool go", "E: walrus pool None"}
    assert len(block_for(store, task="walrus pool").errors) == 3


def test_strategies_are_the_three_most_helpful_that_fit(store: Store) -> None:
    _note(store, "a.md")
    for number in range(4):
        learn(store, f"any {number}", helpfulness=number)
    learn(store, "go only", helpfulness=9, lang="go")
    learn(store, "react only", helpfulness=9, framework="react")
    learn(store, "foreign", helpfulness=9, project="other")
    shown = block_for(store, lang="rust", framework="svelte")
    assert [entry.insight for entry in shown.strategies] == ["any 3", "any 2", "any 1"]
    assert block_for(store, lang="Go", framework="svelte").strategies[0].insight == "go only"
    assert "### Strategies (3)\n\n**[general]** any 3" in shown.text


def test_a_request_that_names_no_language_gets_the_strategies_of_any(store: Store) -> None:
    _note(store, "a.md")
    learn(store, "go only", helpfulness=9, lang="go")
    learn(store, "react only", helpfulness=8, framework="react")
    learn(store, "any", helpfulness=1)
    assert [entry.insight for entry in block_for(store).strategies] == ["go only", "react only", "any"]
    assert [entry.insight for entry in block_for(store, lang="go").strategies] == ["go only", "react only", "any"]
    assert [entry.insight for entry in block_for(store, lang="rust").strategies] == ["react only", "any"]


def test_what_was_saved_without_a_project_is_every_projects_and_of_another_it_is_not(store: Store) -> None:
    _note(store, "a.md")
    for project in ("default", "shop", "other"):
        know_error(store, f"walrus pool {project}", project=project)
        learn(store, f"of {project}", project=project)
    block = block_for(store, task="walrus pool", project="shop")
    assert {entry.signature for entry in block.errors} == {"E: walrus pool default", "E: walrus pool shop"}
    assert {entry.insight for entry in block.strategies} == {"of default", "of shop"}


def test_one_rare_word_is_enough_for_an_error_of_the_projects_own(store: Store) -> None:
    _note(store, "a.md")
    know_error(store, "cannot reach walrus at port 80", project="shop")
    know_error(store, "no module named 'yaml'", project="shop")
    know_error(store, "no module named 'gannet'", project="default")
    for task, shown in (
        ("let the report read walrus entries", ["E: cannot reach walrus at port 80"]),
        ("write settings as yaml files", ["E: no module named 'yaml'"]),  # a common word, but the message quotes it
        ("open another port first", []),
        ("count gannets by gannet", []),  # of no project: two words are needed
        ("name each module file", ["E: no module named 'yaml'", "E: no module named 'gannet'"]),
    ):
        errors = block_for(store, task=task, project="shop").errors
        assert {entry.signature for entry in errors if entry.why == ABOUT_THE_TASK} == set(shown), task


def test_a_word_that_many_documents_hold_is_not_rare(store: Store) -> None:
    for number in range(4):
        save(store, f"{number}.md", "# Walrus\n\nWalrus and more.\n")
    know_error(store, "cannot reach walrus at port 80", project="shop")
    (error,) = block_for(store, task="let the report read walrus entries", project="shop").errors
    assert error.why != ABOUT_THE_TASK


def test_equally_helpful_strategies_are_ordered_by_when_they_last_worked_and_then_by_id(store: Store) -> None:
    _note(store, "a.md")
    learn(store, "helpful but old", helpfulness=2, last_seen=TODAY - 9 * DAY_US)
    for name in ("today", "today, too"):
        learn(store, name, helpfulness=1)
    learn(store, "yesterday", helpfulness=1, last_seen=TODAY - DAY_US)
    learn(store, "new but of no help", last_seen=TODAY + DAY_US)
    assert [entry.insight for entry in block_for(store).strategies] == ["helpful but old", "today, too", "today"]


# Same inputs, same bytes; degraded


def test_equal_inputs_give_equal_bytes_and_no_clock_is_in_them(store: Store) -> None:
    for number in range(5):
        save(store, f"{number}.md", f"walrus {number}\n", created_at=TODAY - number * DAY_US)
    think(store, "developer", "completion", "done")
    blocks = [block_for(store, "qa_expert", task="walrus", is_marking=False) for _ in range(3)]
    assert blocks[0].parts == blocks[1].parts == blocks[2].parts
    assert blocks[0].packages == blocks[1].packages == blocks[2].packages
    assert "2024-10-04" in blocks[0].text and "ago" not in blocks[0].text


def test_without_fts5_a_task_is_answered_by_the_heuristic_and_says_so(store: Store) -> None:
    _note(store, "match.md", priority="low", summary="walrus")
    _note(store, "critical.md", priority="critical")
    block = block_for(store, task="walrus", config=Config(fts5=False))
    assert (block.outcome, block.engine, block.reason) == (
        "degraded", "heuristic", "FTS5 is switched off in the configuration",
    )  # fmt: skip
    assert [(package.path, package.score) for package in block.packages] == [("critical.md", 20.5), ("match.md", 8.5)]


def test_an_index_that_breaks_while_it_is_asked_heals_or_degrades_but_never_fails(store: Store) -> None:
    save(store, "a.md", "walrus\n", summary="x")
    index_of(store).connection.execute("DROP TABLE main.forward")
    block = block_for(store, task="walrus")
    assert [package.path for package in block.packages] == ["a.md"]
    assert block.outcome in ("matched", "degraded")


def test_texts_of_an_older_rule_set_are_redacted_before_they_are_shown(store: Store) -> None:
    secret = "password=hunter22hunter22"
    save(store, "a.md", "walrus\n", summary="x", created_at=TODAY)
    think(store, "developer", "completion", "x")
    know_error(store, "walrus")
    learn(store, "x")
    with store.write() as change:
        for statement in (
            "UPDATE documents SET ruleset = 0, body = 'walrus ' || ?1", "UPDATE packages SET summary = ?1",
            "UPDATE reasoning SET content = ?1", "UPDATE strategies SET insight = ?1",
            "UPDATE error_patterns SET solution = ?1, message = ?1",
        ):  # fmt: skip
            change.connection.execute(statement, (secret,))
    block = block_for(store, "qa_expert", task="walrus")
    assert block.packages[0].passages and block.reasoning and block.errors and block.strategies
    assert "hunter22" not in block.text

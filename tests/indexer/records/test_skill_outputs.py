"""Skill outputs: every invocation kept, numbered without gaps, redacted, and evidence of what was invoked."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store, search_ids, start_child
from tables import each_row
from written import SkillOutput, write

from ctxrank.indexer.clock import SECOND_US, now_us
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.light_typing import is_dict
from ctxrank.indexer.records.sessions import Session, find_session, list_groups, list_sessions
from ctxrank.indexer.records.skill_evidence import check_evidence
from ctxrank.indexer.records.skill_outputs import (
    MAX_OUTPUT_CHARS,
    MAX_SKILL_CHARS,
    SavedSkillOutput,
    list_skill_outputs,
    reported_skills,
    save_skill_output,
)
from ctxrank.indexer.store.store import Store

SECRET = "ghp" + "_" + "a1B2" * 9


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


def report(
    store: Store, output: str = "{}", *, skill: str = "lint-check", agent: str = "developer", group: str | None = None
) -> SavedSkillOutput:
    return save_skill_output(store, "S", skill, output, agent=agent, group=group, create_session=True)


def latest(store: Store, *, agent: str | None = None, group: str | None = None) -> object:
    """The value that lint-check reported last."""
    found = list_skill_outputs(store.primary, "S", "lint-check", agent=agent, group=group, limit=1)
    return json.loads(found[0].output) if found else None


def session_of(store: Store) -> Session:
    return find_session(store.primary, "S")


@pytest.mark.parametrize("value", ["{}", "[1, 2.5]", "null", "true", "0", '"done"', '{"ü": ["日本", "a\\nb"]}'])
def test_any_json_value_is_kept_as_it_is(store: Store, value: str) -> None:
    assert not report(store, value).is_redacted
    assert latest(store) == json.loads(value)


@pytest.mark.parametrize("value", ['"a\\u0000b"', '"a\\ud800b"'])
def test_what_no_database_can_hold_is_replaced_and_is_no_secret(store: Store, value: str) -> None:
    assert not report(store, value).is_redacted
    assert latest(store) in ("a\ufffdb", "a?b")


@each_row(
    "output, reason",
    [
        ('{"a": 1,\n "b": }', "line 2, column 7"),
        ("", "it is empty"),
        ("done", "line 1, column 1"),
        ("NaN", "NaN"),
        ('{"a": 1e999}', "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('"' + "x" * MAX_OUTPUT_CHARS + '"', "Save the report as a file"),
    ],
)
def test_a_text_that_is_no_json_is_refused_and_leaves_nothing(store: Store, output: str, reason: str) -> None:
    with pytest.raises(UsageError) as refused:
        report(store, output)
    assert reason in f"{refused.value.message} {refused.value.hint}"
    assert list_sessions(store.primary) == []


@each_row("skill", ["", "  ", "two\nlines", "x" * (MAX_SKILL_CHARS + 1), "a\x1b[31m"])
def test_a_skills_name_is_one_short_line(store: Store, skill: str) -> None:
    with pytest.raises(UsageError, match="skill"):
        report(store, skill=skill)
    assert list_sessions(store.primary) == []


def test_a_skills_name_is_kept_as_given_but_for_the_space_around_it(store: Store) -> None:
    assert report(store, skill="  Lint-Check ").skill == "Lint-Check"
    assert reported_skills(store.primary, "S") == ("Lint-Check",)


def test_an_agent_that_is_not_known_is_kept_with_a_note(store: Store) -> None:
    saved = save_skill_output(store, "S", "x", "1", agent="The Intern", create_session=True)
    assert [(entry.id, entry.agent) for entry in list_skill_outputs(store.primary, "S")] == [(saved.id, "The Intern")]
    assert "'The Intern' is kept as it is" in saved.note
    assert report(store, agent="developer").note == ""


def test_an_unknown_session_is_not_made_in_passing(store: Store) -> None:
    with pytest.raises(NotFoundError, match="no session 'S'"):
        save_skill_output(store, "S", "lint-check", "{}")
    assert latest(store) is None


def test_every_invocation_is_kept_and_counted_for_its_skill_agent_and_group(store: Store) -> None:
    assert [report(store).iteration for _ in range(3)] == [1, 2, 3]
    assert report(store, skill="security-scan").iteration == 1
    assert report(store, agent="tech_lead").iteration == 1
    assert [report(store, agent="").iteration for _ in range(2)] == [1, 2]
    assert [report(store, group="A").iteration for _ in range(2)] == [1, 2]
    assert len(list_skill_outputs(store.primary, "S")) == 9


@pytest.mark.parametrize("group", [None, "", "-", "global"])
def test_an_output_of_no_group_is_of_the_whole_session(store: Store, group: str | None) -> None:
    report(store)
    assert report(store, group=group).iteration == 2
    assert list_groups(store.primary, 1) == []


_WRITER = """
import sys
from ctxrank.indexer.records.skill_outputs import save_skill_output
from ctxrank.indexer.opening import open_store
with open_store(sys.argv[1], busy_ms=30000) as store:
    for _ in range(10):
        print(save_skill_output(store, "S", "lint-check", "{}", agent="developer", group="G").iteration)
"""


@pytest.mark.slow
def test_d14_sixty_concurrent_saves_are_numbered_without_a_gap(store: Store) -> None:
    """Six processes save ten outputs each: no number is given twice, and none is left out."""
    report(store, skill="another")
    children = [start_child(_WRITER, store.location.primary) for _ in range(6)]
    printed = [child.communicate(timeout=120)[0] for child in children]
    assert [child.returncode for child in children] == [0] * 6
    assert sorted(int(line) for text in printed for line in text.split()) == list(range(1, 61))
    stored = list_skill_outputs(store.primary, "S", "lint-check", agent="developer", group="G")
    assert sorted(entry.iteration for entry in stored) == list(range(1, 61))


def test_d03_of_outputs_from_one_moment_the_last_one_saved_is_the_latest(store: Store) -> None:
    report(store, "0")
    later = now_us() + SECOND_US
    with store.write() as change:
        for number in (1, 2, 3, 4):
            write(change, SkillOutput(1, None, "developer", "lint-check", number, str(number), later))
    assert latest(store) == 4
    assert [entry.output for entry in list_skill_outputs(store.primary, "S")] == ["4", "3", "2", "1", "0"]


def test_d07_a_secret_in_an_output_is_neither_stored_nor_found(store: Store) -> None:
    saved = report(store, json.dumps({"log": f"pushed with {SECRET}", "password": "hunter22", "ok": True}))
    assert saved.is_redacted
    kept = latest(store)
    assert is_dict(kept) and list(kept) == ["log", "password", "ok"] and kept["ok"] is True
    stored = store.primary.execute("SELECT output FROM skill_outputs UNION ALL SELECT body FROM documents").fetchall()
    assert len(stored) == 2 and SECRET not in str(stored) and "hunter22" not in str(stored)
    assert search_ids(store, "pushed") == ["skill:1"]
    assert search_ids(store, "hunter22") == []


def test_a_secret_in_a_skills_name_is_taken_out_too(store: Store) -> None:
    assert SECRET not in report(store, skill=f"scan {SECRET}").skill
    assert SECRET not in reported_skills(store.primary, "S")[0]


def test_the_latest_output_can_be_asked_for_by_agent_and_group(store: Store) -> None:
    report(store, "1", agent="developer", group="A")
    report(store, "2", agent="tech_lead", group="B")
    report(store, "3", agent="tech_lead")
    assert latest(store) == 3
    assert latest(store, agent="Tech Lead", group="B") == 2
    assert latest(store, group="A") == 1
    assert latest(store, agent="developer", group="B") is None
    assert latest(store, group="") == 3


def test_outputs_are_listed_newest_first_up_to_a_limit(store: Store) -> None:
    for skill in ("lint-check", "security-scan", "lint-check"):
        report(store, skill=skill)
    assert [entry.id for entry in list_skill_outputs(store.primary, "S")] == [3, 2, 1]
    assert [entry.id for entry in list_skill_outputs(store.primary, "S", "lint-check", limit=1)] == [3]
    assert list_skill_outputs(store.primary, "another session") == []


def test_outputs_are_found_by_their_skill_and_by_what_they_say(store: Store) -> None:
    report(store, '{"findings": ["zebra crossing is unguarded"]}', skill="security-scan")
    report(store, '{"findings": []}')
    assert search_ids(store, "zebra") == ["skill:1"]
    assert search_ids(store, "security-scan") == ["skill:1"]
    assert search_ids(store, "findings", type="lint-check") == ["skill:2"]


def test_an_output_is_evidence_and_a_skill_without_one_is_missing(store: Store) -> None:
    report(store)
    checked = check_evidence(
        store.primary, session_of(store), "developer", ("security-scan", "lint-check", "lint-check")
    )
    assert checked == (("lint-check",), ("security-scan",))
    assert check_evidence(store.primary, session_of(store), None, ()) == ((), ())


def test_evidence_counts_only_from_the_agent_the_group_and_the_iteration_asked_for(store: Store) -> None:
    report(store, group="A")
    session = session_of(store)

    def counts(agent: str | None = None, group: str | None = None, iteration: int | None = None) -> bool:
        skills = ("lint-check",)
        return not check_evidence(store.primary, session, agent, skills, group=group, iteration=iteration).missing

    assert counts() and counts("developer", "A", 1) and counts(group="global") and counts("Developer")
    assert not counts("tech_lead") and not counts(group="B") and not counts(iteration=2)


def test_evidence_counts_from_a_moment_on(store: Store) -> None:
    saved = report(store)
    at = list_skill_outputs(store.primary, "S")[0].created_at
    session, skills = session_of(store), (saved.skill,)
    assert not check_evidence(store.primary, session, None, skills, since_us=at).missing
    assert check_evidence(store.primary, session, None, skills, since_us=at + 1).missing


def test_evidence_of_another_session_is_none(store: Store) -> None:
    report(store)
    save_skill_output(store, "T", "security-scan", "1", create_session=True)
    assert check_evidence(store.primary, find_session(store.primary, "T"), None, ("lint-check",)).missing

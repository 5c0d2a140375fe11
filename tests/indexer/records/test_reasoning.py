"""Reasoning: what is refused and how, what is kept, in which order it is read, and which phases are missing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import found, make_store, search_ids
from tables import each_row

from ctxrank.indexer.agents import AGENTS
from ctxrank.indexer.exceptions import CtxrankError, NotFoundError, UsageError
from ctxrank.indexer.records.reasoning import (
    CONFIDENCES,
    PHASES,
    NewReasoning,
    SavedReasoning,
    check_phases,
    list_reasoning,
    save_reasoning,
)
from ctxrank.indexer.records.sessions import list_groups, list_sessions
from ctxrank.indexer.store.store import Store

SECRET = "ghp" + "_" + "a1B2" * 9
NEW = NewReasoning("S", "G", "developer", "completion", "The zebra is done.")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


def think(store: Store, **values: Any) -> SavedReasoning:
    """Save an entry in a session made on the way; values are fields of a NewReasoning."""
    return save_reasoning(store, NEW._replace(**values), create_session=True)


def ids(store: Store, session: str = "S", **filters: Any) -> list[int]:
    return [entry.id for entry in list_reasoning(store.primary, session, **filters)]


@each_row(
    "wrong, named, allowed",
    [
        ({"phase": "musing"}, "'musing'", PHASES),
        ({"agent": " - "}, "needs an agent", ("such as developer",)),
        ({"confidence": "85"}, "'85'", CONFIDENCES),
        ({"content": " \n\t"}, "content is empty", ("what was thought",)),
        ({"references": '{"a": 1}'}, "not a JSON list", ("[]",)),
        ({"references": "src/auth.py"}, "not a JSON list", ("[]",)),
        ({"iteration": -1}, "-1", ("from 0",)),
        ({"iteration": 2**63}, "iteration", ("from 0",)),
        ({"group": "two\nlines"}, "'two\\nlines'", ("one line",)),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(
    store: Store, wrong: dict[str, Any], named: str, allowed: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError) as refused:
        think(store, **wrong)
    assert named in refused.value.message
    assert all(value in refused.value.hint for value in allowed)
    assert (list_sessions(store.primary), ids(store)) == ([], [])


def test_references_nested_too_deep_are_refused_with_a_sentence(store: Store) -> None:
    with pytest.raises(UsageError, match="not a JSON list"):
        think(store, references="[" * 100_000)


def test_values_are_taken_without_regard_to_case_and_space(store: Store) -> None:
    saved = think(store, phase=" Completion ", agent="Tech-Lead", confidence="HIGH ")
    (entry,) = list_reasoning(store.primary, "S")
    assert (saved.phase, saved.agent) == ("completion", "tech_lead")
    assert (entry.phase, entry.agent, entry.confidence) == ("completion", "tech_lead", "high")


def test_an_agent_that_is_not_known_is_kept_with_a_note(store: Store) -> None:
    new = NEW._replace(agent=" Scrum Master")
    saved = save_reasoning(store, new, create_session=True)
    assert saved.agent == "Scrum Master"
    assert ids(store, agent=" Scrum Master ") == [saved.id]
    assert len(saved.notes) == 1 and "'Scrum Master' is kept as it is" in saved.notes[0]
    assert all(agent in saved.notes[0] for agent in AGENTS)
    assert save_reasoning(store, new, notes_agent=False).notes == ()


def test_an_unknown_session_is_not_made_in_passing(store: Store) -> None:
    with pytest.raises(NotFoundError, match="no session 'S'"):
        save_reasoning(store, NEW)
    assert list_sessions(store.primary) == []


def test_an_entry_comes_back_as_it_was_saved(store: Store) -> None:
    saved = think(store, agent_name="dev_2", iteration=3, confidence="low", references='["a.py", 7]', created_at=5)
    (entry,) = list_reasoning(store.primary, "S")
    assert (entry.id, entry.session, entry.group, entry.created_at) == (saved.id, "S", "G", 5)
    assert (entry.agent_name, entry.iteration, entry.confidence) == ("dev_2", 3, "low")
    assert (json.loads(entry.refs), entry.redacted) == (["a.py", 7], 0)


def test_content_of_any_size_is_kept_whole_and_its_end_is_found(store: Store) -> None:
    content = "  first line\n" + "a line of thought, café\n" * 60_000 + "walrus\n"
    think(store, content=content)
    assert list_reasoning(store.primary, "S")[0].content == content
    assert search_ids(store, "walrus") == ["reasoning:1"]


def test_a_text_that_sqlite_would_not_hold_is_stored_without_what_breaks_it(store: Store) -> None:
    think(store, content="a\0zebra \udcff here", references='["\\ud800"]')
    (entry,) = list_reasoning(store.primary, "S")
    assert entry.content == "a\ufffdzebra ? here"
    assert json.loads(entry.refs) == ["?"]


def test_secrets_go_from_content_references_and_names_before_anything_is_stored(store: Store) -> None:
    saved = think(store, content=f"The token is {SECRET}.", references=json.dumps([SECRET]), agent_name=SECRET)
    (entry,) = list_reasoning(store.primary, "S")
    assert SECRET not in "".join((entry.content, entry.refs, entry.agent_name))
    assert saved.is_redacted and entry.redacted
    assert [note.split(" was ")[0].split(" were ")[0] for note in saved.notes] == [
        "The content", "The references", "The agent's name",
    ]  # fmt: skip
    assert SECRET not in store.primary.execute("SELECT group_concat(title || body) FROM documents").get


@pytest.mark.parametrize("field", ["content", "references"])
def test_one_redacted_text_makes_the_entry_redacted(store: Store, field: str) -> None:
    value = {"content": f"Uses {SECRET} now.", "references": json.dumps([SECRET])}[field]
    assert think(store, **{field: value}).is_redacted


def test_the_stores_mode_says_what_a_secret_is(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXRANK_REDACTION_MODE", "off")
    new = NEW._replace(content=f"The token is {SECRET}.")
    assert not save_reasoning(store, new, create_session=True).is_redacted
    assert SECRET in list_reasoning(store.primary, "S")[0].content


def test_a_decision_is_found_the_moment_it_is_saved(store: Store) -> None:
    think(store, phase="decisions", content="We chose the walrus operator.")
    (hit,) = found(store, "walrus", type="decisions", agent="developer", session="S", group="G").hits
    assert (hit.id, hit.kind, hit.title) == ("reasoning:1", "reasoning", "developer decisions")


def test_a_group_is_made_on_the_way_and_none_means_the_whole_session(store: Store) -> None:
    think(store, group="AUTH")
    assert think(store, group="-").group is None
    assert [group.name for group in list_groups(store.primary, 1)] == ["AUTH"]


def test_filters_narrow_and_a_group_is_exactly_that_group(store: Store) -> None:
    think(store, group="A", phase="approach")
    think(store, group="B", agent="qa_expert")
    think(store, group=None)
    assert ids(store) == ids(store, group="-") == [3, 2, 1]
    assert (ids(store, group="A"), ids(store, session_wide_only=True)) == ([1], [3])
    assert (ids(store, agent="QA expert"), ids(store, phase="Approach")) == ([2], [1])
    assert ids(store, group="a") == ids(store, agent="nobody") == ids(store, phase="x") == ids(store, "T") == []


def test_d03_entries_of_one_moment_stand_in_the_order_they_were_saved(store: Store) -> None:
    for number in range(3):
        think(store, content=f"zebra {number}", created_at=1_700_000_000_000_000)
    assert (ids(store), ids(store, oldest_first=True)) == ([3, 2, 1], [1, 2, 3])
    assert (ids(store, limit=1), ids(store, oldest_first=True, limit=2)) == ([3], [1, 2])


def test_age_goes_before_the_order_of_saving(store: Store) -> None:
    for created_at in (30, 10, 20):
        think(store, created_at=created_at)
    assert ids(store) == [1, 3, 2]


def test_a_check_says_what_is_missing_and_what_is_there_in_the_phases_own_order(store: Store) -> None:
    think(store, phase="completion")
    think(store, phase="approach")
    check = check_phases(store.primary, "S", "G", "Developer")
    assert (check.missing, check.documented) == (("understanding",), ("completion",))
    assert (check.all_documented, check.is_complete) == (("approach", "completion"), False)
    think(store, phase="understanding")
    assert check_phases(store.primary, "S", "G", "developer").is_complete


def test_what_others_thought_and_what_was_thought_elsewhere_does_not_count(store: Store) -> None:
    think(store, phase="understanding", agent="qa_expert")
    think(store, phase="understanding", group="H")
    think(store, phase="understanding", session="T")
    assert check_phases(store.primary, "S", "G", "developer").all_documented == ()


def test_a_check_of_the_whole_session_looks_into_all_groups(store: Store) -> None:
    think(store, phase="understanding", group=None)
    think(store, phase="completion", group="H")
    assert check_phases(store.primary, "S", None, "developer").is_complete
    assert check_phases(store.primary, "S", "H", "developer").missing == ("understanding",)


def test_nothing_is_left_of_an_entry_that_fails_half_way(store: Store) -> None:
    # The feed's mark is the last thing that is written.
    store.primary.execute(
        "CREATE TEMP TRIGGER refuse BEFORE INSERT ON main.history_checkpoints BEGIN SELECT raise(ABORT, 'no'); END"
    )
    with pytest.raises(CtxrankError, match="SQLite refused"):
        think(store)
    assert (list_sessions(store.primary), ids(store)) == ([], [])

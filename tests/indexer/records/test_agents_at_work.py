"""Agents that are about to start and at work: whose task is whose, and what was put before which of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store, save
from tables import each_row

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.records.events import StoredEvent, record_event
from ctxrank.indexer.records.injections import (
    Injection,
    injected_lines,
    is_comparable,
    line_digest,
    list_injections,
    note_injection,
    shown_ids,
)
from ctxrank.indexer.records.running_agents import RUNNING, RunningAgent, newest_document, note_running, running_agent
from ctxrank.indexer.records.sessions import NewSession, create_session, require_group
from ctxrank.indexer.records.spawns import (
    SPAWN,
    LastSpawn,
    block_arrivals,
    forget_spawn,
    last_spawn,
    note_block,
    remember_spawn,
    take_spawn,
)
from ctxrank.indexer.store.rows import list_where
from ctxrank.indexer.store.store import Change, Store

LINE = "the tokens are refreshed a minute before they end"
MINUTE_US = 60_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def change(store: Store) -> Iterator[Change]:
    """A change of a store with one session, whose row id is 1."""
    with store.write() as made:
        create_session(made, NewSession("S", metadata='{"title": "make it work"}'))
        yield made


def await_spawn(change: Change, use: str, task: str, seen: int = 0, *, agent_type: str = "explorer") -> None:
    remember_spawn(change, 1, use, agent_type, RunningAgent(task, seen))


def test_the_one_agent_that_waits_gets_its_task_once(change: Change) -> None:
    await_spawn(change, "a", "read it", 7)
    await_spawn(change, "a", "read it", 7)  # the same call, told again
    await_spawn(change, "b", "plan it", 9, agent_type="planner")
    assert take_spawn(change, 1, "explorer") == RunningAgent("read it", 7)
    assert take_spawn(change, 1, "explorer") == RunningAgent("", 0)
    assert take_spawn(change, 2, "planner") == RunningAgent("", 0)  # of another session


def test_of_several_that_wait_none_gets_a_task_nor_does_the_one_that_is_left(change: Change) -> None:
    for use, seen in (("a", 3), ("b", 8), ("c", 5)):
        await_spawn(change, use, use, seen)
    assert [take_spawn(change, 1, "explorer") for _ in range(3)] == [("", 8, ()), ("", 8, ()), ("", 5, ())]


def test_a_spawn_that_was_not_allowed_waits_no_longer(change: Change) -> None:
    await_spawn(change, "a", "read it")
    await_spawn(change, "b", "plan it")
    forget_spawn(change, 1, "a")
    assert take_spawn(change, 1, "explorer").task == "plan it"


@each_row("minutes, task", [(9, "read it"), (11, "")])
def test_a_spawn_is_waited_for_ten_minutes(change: Change, minutes: int, task: str) -> None:
    await_spawn(change, "a", "read it")
    query = "UPDATE events SET created_at = ? WHERE subtype = ?"
    change.connection.execute(query, (now_us() - minutes * MINUTE_US, SPAWN))
    assert take_spawn(change, 1, "explorer").task == task


def test_a_start_that_nobody_announced_may_know_of_all_that_is_there(store: Store) -> None:
    assert newest_document(store.primary) == 0
    save(store, "a.md", session="S")
    newest = newest_document(store.primary)
    assert newest > 0
    with store.write() as change:
        assert take_spawn(change, 1, "explorer") == RunningAgent("", newest)


def test_whether_a_block_arrived_is_known_of_each_runner(store: Store, change: Change) -> None:
    assert last_spawn(change.connection, "codex") == LastSpawn(None, None)
    note_block(change, "codex", "prompt", "abc")
    note_block(change, "claude", "prompt", "def")
    assert not block_arrivals(change.connection)
    note_block(change, "codex", "has_arrived", 0)
    assert last_spawn(change.connection, "codex") == LastSpawn("abc", 0)
    note_block(change, "codex", "has_arrived", 1)
    note_block(change, "codex", "prompt", "ghi")
    assert block_arrivals(change.connection) == {"codex": LastSpawn("ghi", 1)}


def test_what_is_known_of_an_agent_is_what_was_noted_last(change: Change) -> None:
    for agent in ("", "a1"):
        note_running(change, 1, agent, RunningAgent("first", 1))
        note_running(change, 1, agent, RunningAgent(f"second of {agent}", 2, (5, 300)))
    assert running_agent(change.connection, 1, "") == RunningAgent("second of ", 2, (5, 300))
    assert running_agent(change.connection, 1, "a1") == RunningAgent("second of a1", 2, (5, 300))
    assert list_where(change.connection, "events", StoredEvent, {"session": "S"}).total == 2


def test_a_main_agent_begins_with_its_session_and_its_title(change: Change) -> None:
    assert running_agent(change.connection, 1, "") == RunningAgent("make it work", 0)
    assert running_agent(change.connection, 1, "unseen") is None
    assert running_agent(change.connection, 2, "") is None


@each_row(
    "payload",
    [
        "[]",
        "7",
        '{"task": 1, "seen": 2, "told": []}',
        '{"task": "t", "seen": "2", "told": []}',
        '{"task": "t", "seen": 2, "told": "x"}',
        "{}",
    ],
)
def test_an_event_that_an_import_made_of_anything_is_no_agent(change: Change, payload: str) -> None:
    change.connection.execute("DELETE FROM events")
    record_event(change, 1, None, RUNNING, payload, idempotency_key="a1")
    assert running_agent(change.connection, 1, "a1") is None


def test_an_event_of_a_key_is_recorded_once_in_each_session_and_group(change: Change) -> None:
    create_session(change, NewSession("T"))
    group = require_group(change, 1, "G")
    places = [(1, None), (1, group), (2, None)]
    made = [record_event(change, session, at, "x", "{}", idempotency_key="k") for session, at in places]
    again = [record_event(change, session, at, "x", "[]", idempotency_key="k") for session, at in places]
    assert [one.is_new for one in (*made, *again)] == 3 * [True] + 3 * [False]
    assert [one.id for one in made] == [one.id for one in again]
    assert record_event(change, 1, None, "x", "{}").is_new and record_event(change, 1, None, "x", "{}").is_new
    assert {
        (one.group, one.payload)
        for one in list_where(change.connection, "events", StoredEvent, {"session": "S", "subtype": "x"})
    } == {
        (None, "{}"),
        ("G", "{}"),
    }


def put_before(change: Change, event: str, id_: str, *, agent: str = "", text: str = LINE) -> None:
    note_injection(change, 1, None, Injection(event, (id_,), 3, 12, agent=agent), text)


def test_an_agent_was_shown_what_was_put_before_itself(change: Change) -> None:
    put_before(change, "SessionStart", "package:1")
    put_before(change, "SubagentStart", "package:2", agent="a1")
    put_before(change, "SubagentStart", "package:3")  # by a runner that names no agent: not the main one saw it
    put_before(change, "PreToolUse", "package:4")  # the tool's input: nobody read it yet
    put_before(change, "UserPromptSubmit", "package:5")
    assert shown_ids(change.connection, 1) == {"package:5"}  # of the first it has seen the headline
    assert shown_ids(change.connection, 1, at="SessionStart") == {"package:1", "package:5"}
    assert shown_ids(change.connection, 1, "a1") == {"package:2"}
    assert shown_ids(change.connection, 2) == frozenset()


def test_a_line_is_known_again_by_its_words(change: Change) -> None:
    put_before(change, "SessionStart", "package:1", text=f"short\n> **{LINE.upper()}**\n")
    assert injected_lines(change.connection) == {line_digest(f"- `{LINE}`".replace(" ", "  "))}


@each_row("length, says_enough", [(23, False), (24, True)])
def test_a_line_that_may_be_anybodys_is_not_compared(length: int, says_enough: bool) -> None:
    assert is_comparable(f"  - **{'x' * length}** ") is says_enough


def test_injections_are_listed_as_they_were_noted_and_what_is_none_as_empty(change: Change) -> None:
    put_before(change, "SessionStart", "package:1", agent="a1")
    record_event(change, 1, None, "hook_injection", '{"ids": 7, "tokens": "many", "receipt": 4}')
    record_event(change, 1, None, "hook_injection", "[]")
    listed = list_injections(change.connection, "S", 10)
    assert [one.injection for one in listed] == [
        Injection("", (), 0, 0),
        Injection("", (), 0, 0, 4),
        Injection("SessionStart", ("package:1",), 3, 12),
    ]
    assert (listed.total, list_injections(change.connection, "T", 10).total) == (3, 0)
    assert list_injections(change.connection, None, 1).total == 3

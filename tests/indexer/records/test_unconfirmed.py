"""What was kept unasked, and what may be said unasked: of this project, saved on purpose, of an accepted store."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store, save
from ranking_builders import know_error
from tables import each_row
from written import Reasoning, write

from ctxrank.indexer.agents import UNCONFIRMED
from ctxrank.indexer.records.cloned_notes import is_unused_clone, note_commit, note_use, where_from
from ctxrank.indexer.records.sessions import NewSession, create_session
from ctxrank.indexer.records.unconfirmed import (
    confirm_entry,
    count_unconfirmed,
    is_unconfirmed,
    may_be_said,
    same_entries,
    unconfirmed_name,
)
from ctxrank.indexer.store.parents import ParentDocument
from ctxrank.indexer.store.store import Store

NOW = 1_800_000_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        with opened.write() as change:
            create_session(change, NewSession("S", project="shop"))
            create_session(change, NewSession("T", project="default"))
        yield opened


def kept(store: Store, name: str, *, session: int = 1, content: str = "it caches") -> int:
    with store.write() as change:
        return write(change, Reasoning(session, None, "developer", "decisions", content, 5, name))


def agent_name(store: Store, number: int) -> object:
    return store.primary.execute("SELECT agent_name FROM reasoning WHERE id = ?", (number,)).fetchone()


@each_row("agent", ["", "ann"])
def test_an_entry_kept_unasked_is_unconfirmed_until_it_is_seen_again(store: Store, agent: str) -> None:
    number = kept(store, unconfirmed_name(agent))
    assert is_unconfirmed(store.primary, number)
    with store.write() as change:
        confirm_entry(change, number)
    assert not is_unconfirmed(store.primary, number)
    assert agent_name(store, number) == (agent,)


def test_confirming_changes_nothing_of_what_was_saved_on_purpose_or_is_gone(store: Store) -> None:
    number = kept(store, "ann: the tester")
    with store.write() as change:
        confirm_entry(change, number)
        confirm_entry(change, number + 1)
    assert agent_name(store, number) == ("ann: the tester",)
    assert is_unconfirmed(store.primary, number + 1)


def test_unconfirmed_entries_are_counted_by_session_and_found_by_their_text(store: Store) -> None:
    first, second = kept(store, UNCONFIRMED), kept(store, unconfirmed_name("ann"))
    other = kept(store, UNCONFIRMED, session=2)
    kept(store, "ann", content="it does not")
    assert [count_unconfirmed(store.primary, session) for session in (1, 2, 3)] == [2, 1, 0]
    assert same_entries(store.primary, "it caches") == {first: 1, second: 1, other: 2}


def document(kind: str, number: int, session: str | None = None) -> ParentDocument:
    return ParentDocument(1, kind, number, "", "", "", session, None, "", "", "", 0, None, 0, None)


def test_what_may_be_said_is_of_the_project_or_of_none(store: Store) -> None:
    for session, project, is_said in (("S", "shop", True), ("S", "bank", False), ("T", "bank", True)):
        assert may_be_said(store.primary, document("package", 1, session), project) is is_said
    assert may_be_said(store.primary, document("package", 1), "bank")
    assert not may_be_said(store.primary, document("package", 1, "gone"), "shop")


def test_what_may_be_said_was_saved_on_purpose_or_confirmed(store: Store) -> None:
    entries = [kept(store, "ann"), kept(store, UNCONFIRMED)]
    assert [may_be_said(store.primary, document("reasoning", one), "shop") for one in entries] == [True, False]
    known = know_error(store, "KeyError: 'a'")
    store.primary.execute("UPDATE error_patterns SET state = 'sighted'")
    assert not may_be_said(store.primary, document("error", known), "shop")
    store.primary.execute("UPDATE error_patterns SET state = 'confirmed'")
    assert may_be_said(store.primary, document("error", known), "shop")
    assert not may_be_said(store.primary, document("error", known + 1), "shop")


def test_what_another_store_says_may_be_said_once_it_is_accepted(store: Store) -> None:
    assert not may_be_said(store.primary, document("package", -1), "shop")
    assert may_be_said(store.primary, document("package", 0), "shop")


def test_a_note_that_came_with_the_repository_is_a_strangers_until_it_is_used_here(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloned, own = (save(store, path, producer="ann").id for path in ("a.md", "b.md"))
    with store.write() as change:
        note_commit(change, cloned, "0123456789abcdef")
    assert where_from(store.primary, cloned) == "came with the repository: 0123456789 by ann"
    assert where_from(store.primary, own) == where_from(store.primary, 99) == ""
    assert is_unused_clone(store.primary, cloned) and not is_unused_clone(store.primary, own)
    note_use(store, [own])
    assert is_unused_clone(store.primary, cloned)
    monkeypatch.setattr("ctxrank.indexer.records.cloned_notes.now_us", lambda: NOW)  # what is used now was used
    note_use(store, [cloned, own])
    assert not is_unused_clone(store.primary, cloned)
    used = store.primary.execute("SELECT source_key FROM imported_rows WHERE kind = 'used'").fetchall()
    assert used == [(str(cloned),)]

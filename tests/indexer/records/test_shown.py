"""What is said of a session's and a group's end, and of one document that is shown."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store, save
from ranking_builders import know_error, think
from tables import each_row

from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.records.packages import supersede
from ctxrank.indexer.records.reader import read_document, state_of
from ctxrank.indexer.records.sessions import (
    NewSession,
    create_group,
    create_session,
    end_session,
    find_group,
    find_session,
    project_in_force,
    set_group_status,
    set_session_status,
)
from ctxrank.indexer.records.skills_config import SkillLevels
from ctxrank.indexer.store.freshness import ELSEWHERE
from ctxrank.indexer.store.ids import parse_ref
from ctxrank.indexer.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


def test_a_session_ends_once_and_may_go_on(store: Store) -> None:
    with store.write() as change:
        create_session(change, NewSession("S"))
        for status in ("active", "done"):
            with pytest.raises(UsageError, match=f"'{status}' is no way in which a session ends"):
                end_session(change, "S", status)
        assert end_session(change, "S").status == "active"
        ended_at = find_session(change.connection, "S").ended_at
        assert ended_at is not None and end_session(change, "S", "failed").status == "completed"
        assert find_session(change.connection, "S")._replace(title=None)[4:9:4] == ("failed", ended_at)
        set_session_status(change, "S", "active")
        assert find_session(change.connection, "S").ended_at is None


def test_a_group_that_is_not_there_is_told_with_those_that_are(store: Store) -> None:
    with store.write() as change:
        session = create_session(change, NewSession("S"))
        with pytest.raises(NotFoundError, match="no group 'G' in S; it has none"):
            set_group_status(change, "S", "G", "completed")
        for name in ("A", "B"):
            create_group(change, session, name)
        with pytest.raises(NotFoundError, match="it has A, B"):
            set_group_status(change, "S", "G", "completed")
        assert set_group_status(change, "S", "A", "completed").status == "pending"
        group = find_group(change.connection, session, "A")
        assert group is not None and group.status == "completed"


def facts(store: Store, id_: str) -> list[str]:
    return read_document(store, parse_ref(id_), with_passages=True).facts()


def test_a_package_is_shown_with_where_it_is_from_and_what_replaces_it(store: Store) -> None:
    save(store, "a.md", priority="high", created_at=0)
    save(store, "b.md")
    supersede(store, 1, 2)
    moment = "1970-01-01T00:00:00Z"
    assert facts(store, "package:1") == [
        "package:1", "high", "research", "investigator", "S/G", moment, "a.md", "superseded by package:2",
    ]  # fmt: skip
    assert facts(store, "package:2")[-2:] == ["b.md", ""]
    shown = read_document(store, parse_ref("package:2"), with_passages=False)
    assert (shown.passages, shown.file_state, shown.details) == ([], "current", {})
    assert shown._replace(file_state="elsewhere").facts()[-2] == f"b.md ({ELSEWHERE})"
    with pytest.raises(NotFoundError):
        read_document(store, parse_ref("package:9"), with_passages=False)


def test_of_a_record_those_of_its_own_fields_are_shown_that_say_something(store: Store) -> None:
    think(store, "developer", "decisions", "it caches")
    know_error(store, "KeyError: 'a'", occurrences=4, lang="python")
    entry = read_document(store, parse_ref("reasoning:1"), with_passages=True)
    assert (entry.details, entry.file_state, state_of(store, parse_ref("error:1"))) == ({"iteration": "0"}, "", "")
    store.primary.execute("""UPDATE reasoning SET refs = '["a.py"]', confidence = 'high'""")
    entry = read_document(store, parse_ref("reasoning:1"), with_passages=True)
    assert entry.details == {"iteration": "0", "confidence": "high", "refers to": '["a.py"]'}
    assert read_document(store, parse_ref("error:1"), with_passages=True).details == {
        "project": "default", "error type": "E", "message": "KeyError: 'a'", "language": "python", "occurrences": "4",
    }  # fmt: skip


@each_row(
    "levels, described",
    [
        (SkillLevels(), "none"),
        (SkillLevels(("a", "b"), (), ("c",)), "mandatory a, b, disabled c"),
        (SkillLevels(optional=("a",)), "optional a"),
    ],
)
def test_the_skills_of_an_agent_are_described_by_level(levels: SkillLevels, described: str) -> None:
    assert levels.described == described


@each_row(
    "given, session, project",
    [
        (" bank ", "of shop", "bank"),
        (" ", "of shop", "shop"),
        (None, "of none", "shop"),
        (None, "unknown", "shop"),
        (None, None, "shop"),
    ],
)
def test_a_call_means_the_project_given_or_the_sessions_or_the_stores(
    store: Store, given: str | None, session: str | None, project: str
) -> None:
    with store.write() as change:
        change.connection.execute("DELETE FROM sessions")
        create_session(change, NewSession("of none"))
        assert project_in_force(store.primary, None, None) == "default"
        create_session(change, NewSession("of shop", project="shop"))
        create_session(change, NewSession("too", project="shop"))
    assert project_in_force(store.primary, given, session) == project


def test_a_store_of_several_projects_is_of_none(store: Store) -> None:
    with store.write() as change:
        for project in ("shop", "bank"):
            create_session(change, NewSession(project, project=project))
    assert project_in_force(store.primary, None, None) == "default"
    assert project_in_force(store.primary, None, "bank") == "bank"

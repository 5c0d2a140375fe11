"""What was wrong in the predecessor's package store, by its number there, and holds here."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from builders import found, make_store, save, search_ids

from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.records.packages import consume, consumers_of, get_package, list_packages, supersede
from ctxrank.indexer.records.sessions import create_group
from ctxrank.indexer.store.store import Store
from ctxrank.ranking import AssembleRequest, assemble

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


def shown(store: Store, agent: str = "developer", group: str | None = "G", iteration: int = 0) -> list[int]:
    """The packages of the block that an agent gets."""
    request = AssembleRequest("S", agent, group, iteration=iteration, limit=20)
    return [package.id for package in assemble(store, request).packages]


def test_d02_a_superseded_package_never_hides_the_new_one(store: Store) -> None:
    save(store, "old.md", "zebra", priority="critical")
    save(store, "new.md", "zebra", priority="low")
    supersede(store, 1, 2)
    assert shown(store) == [2]
    assert [package.id for package in list_packages(store.primary)] == [2]
    assert search_ids(store, "zebra")[0] == "package:2"


def test_d03_packages_of_one_moment_come_newest_first(store: Store) -> None:
    for name in "abc":
        save(store, f"{name}.md", "zebra", created_at=1_700_000_000_000_000)
    assert [package.id for package in list_packages(store.primary)] == [3, 2, 1]
    assert shown(store) == [3, 2, 1]
    assert search_ids(store, "zebra") == ["package:3", "package:2", "package:1"]


def test_d04_saving_the_same_again_delivers_it_once(store: Store) -> None:
    for _ in range(3):
        save(store, "a.md", "zebra", summary="The same.")
    assert shown(store) == [3]
    assert search_ids(store, "zebra") == ["package:3"]
    assert [package.version for package in list_packages(store.primary)] == [3]


def test_d07_a_secret_in_a_summary_is_neither_stored_nor_shown(store: Store) -> None:
    saved = save(store, "a.md", f"The token is {SECRET}.\n", summary=f"The token is {SECRET}.")
    assert SECRET not in get_package(store.primary, saved.id).summary
    assert "redacted" in saved.notes[0]
    answer = found(store, "token")
    assert SECRET not in str(answer)
    assert SECRET not in assemble(store, AssembleRequest("S", "developer", "G", task="token")).text
    store.close()
    for path in Path(store.location.folder).iterdir():
        assert SECRET.encode() not in path.read_bytes(), path.name


@pytest.mark.parametrize("group", ["", "-", "global", None])
def test_d11_an_empty_group_is_the_whole_session(store: Store, group: str | None) -> None:
    save(store, "own.md", "zebra", group="G")
    save(store, "wide.md", "zebra", group=group)
    assert sorted(shown(store, group=group)) == [1, 2]
    assert len(list_packages(store.primary, group=group)) == 2
    assert len(search_ids(store, "zebra", group=group)) == 2


def test_d12_what_is_rejected_is_not_called_a_success(store: Store) -> None:
    save(store, "a.md", consumers=("developer",))
    with pytest.raises(UsageError):
        consume(store, 1, "qa_expert")
    with pytest.raises(UsageError):
        consume(store, 1, "nobody")
    assert [row.consumed_at for row in consumers_of(store.primary, 1)] == [None]


def test_d13_a_failure_is_an_error_that_says_so(store: Store) -> None:
    save(store, "a.md")
    for fails in (
        lambda: consume(store, 99, "developer"),
        lambda: supersede(store, 1, 99),
        lambda: supersede(store, 99, 1),
    ):
        with pytest.raises(NotFoundError) as refused:
            fails()
        assert refused.value.exit_code == 1
    with pytest.raises(UsageError), store.write() as change:
        create_group(change, 1, "H", status="sleeping")


# Every column whose values are a list, with what else its row must hold.
_LISTS = {
    "sessions.mode": "UPDATE sessions SET mode = ?",
    "sessions.status": "UPDATE sessions SET status = ?",
    "groups.status": "UPDATE groups SET status = ?",
    "artifacts.state": "UPDATE artifacts SET state = ?",
    "packages.priority": "UPDATE packages SET priority = ?",
    "packages.scope": "UPDATE packages SET scope = ?",
    "reasoning.phase": (
        "INSERT INTO reasoning (session_id, agent, phase, content, created_at) VALUES (1, 'x', ?, 'x', 0)"
    ),
    "reasoning.confidence": (
        "INSERT INTO reasoning (session_id, agent, phase, confidence, content, created_at)"
        " VALUES (1, 'x', 'risks', ?, 'x', 0)"
    ),
    "strategies.topic": (
        "INSERT INTO strategies (name, project, topic, insight, last_seen, created_at) VALUES ('x', 'x', ?, 'x', 0, 0)"
    ),
}


@pytest.mark.parametrize("column", _LISTS)
def test_d23_a_list_of_values_rejects_what_is_not_on_it(store: Store, column: str) -> None:
    save(store, "a.md")
    with pytest.raises(apsw.ConstraintError):
        store.primary.execute(_LISTS[column], ("no such value",))


def test_d23_no_list_of_values_holds_null(store: Store) -> None:
    """`x IN ('a', NULL)` is never false, so such a check lets everything pass."""
    for (sql,) in store.primary.execute("SELECT sql FROM sqlite_schema WHERE sql LIKE '%CHECK%'"):
        assert ", NULL" not in str(sql).upper()
        assert "(NULL" not in str(sql).upper()

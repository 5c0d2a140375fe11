"""Packages: what is refused and how it is said, versions, consumers, and all or nothing."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from builders import make_store, open_again, save, search_ids, write_file
from exported import bring, exported_bytes
from tables import each_row

from ctxrank.indexer.agents import AGENTS, PACKAGE_TYPES
from ctxrank.indexer.exceptions import CtxrankError, NotFoundError, UsageError
from ctxrank.indexer.files import artifacts
from ctxrank.indexer.files.paths import contained_path
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.records.packages import (
    DEFAULT_CONSUMERS,
    PRIORITIES,
    Consumer,
    NewPackage,
    consume,
    consumers_of,
    get_package,
    list_packages,
    save_package,
    supersede,
)
from ctxrank.indexer.records.reader import read_document, state_of
from ctxrank.indexer.records.sessions import list_groups, list_sessions
from ctxrank.indexer.store.ids import DocumentRef, local_ref
from ctxrank.indexer.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


def counts(store: Store) -> dict[str, int]:
    """Rows of every table that a save may touch."""
    tables = (
        "sessions",
        "groups",
        "artifacts",
        "packages",
        "package_consumers",
        "documents",
        "history_checkpoints",
        "labels",
    )
    found = {table: store.primary.execute(f"SELECT count(*) FROM {table}").fetchone() for table in tables}
    return {table: int(row[0]) for table, row in found.items() if row}


@each_row(
    "wrong, named, allowed",
    [
        ({"type": " "}, "needs a type", PACKAGE_TYPES),
        ({"priority": "urgent"}, "'urgent'", PRIORITIES),
        ({"producer": "-"}, "needs a name", AGENTS),
        ({"consumers": ("developer", "")}, "needs a name", AGENTS),
        ({"summary": " \n\t"}, "summary is empty", ("one line",)),
        ({"scope": "World"}, "'World'", ("group", "global")),
        ({"scope": "group", "group": ""}, "needs a group", ("--group",)),
        ({"group": "two\nlines"}, "'two\\nlines'", ("one line",)),
        ({"session": " "}, "needs a name", ("such as",)),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(
    store: Store, wrong: dict[str, Any], named: str, allowed: tuple[str, ...]
) -> None:
    write_file(store, "a.md", "zebra")
    new = NewPackage("S", "G", "research", "a.md", "investigator", "A finding.")._replace(**wrong)
    before = counts(store)
    with pytest.raises(UsageError) as refused:
        save_package(store, new, create_session=True)
    assert named in refused.value.message
    assert all(value in refused.value.hint for value in allowed)
    assert counts(store) == before


def test_values_are_taken_without_regard_to_case_and_space(store: Store) -> None:
    write_file(store, "a.md", "zebra")
    new = NewPackage(
        "S", "G", " Research ", "a.md", "Tech-Lead", "A finding.", "HIGH", consumers=("QA Expert", "qa_expert")
    )
    saved = save_package(store, new, create_session=True)
    package = get_package(store.primary, saved.id)
    assert (package.type, package.producer, package.priority) == ("research", "tech_lead", "high")
    assert saved.consumers == ("qa_expert",)


@pytest.mark.parametrize(
    "path",
    ["", "  ", ".", "..", "../a.md", "/etc/passwd", "a/../../b.md", "C:\\x.md", "C:/x.md", "\\\\host\\x.md", "a\0.md",
     "bytes\udcff.md", "a\u202eb.md", "a\x1b[31m.md", "two\nlines.md", "out/secret.md", "loop.md/../../x"],
)  # fmt: skip
def test_a_path_that_is_none_or_leaves_the_root_is_refused(store: Store, path: str) -> None:
    os.symlink("/", Path(store.location.root) / "out")
    before = counts(store)
    with pytest.raises(UsageError):
        save(store, path, None)
    assert counts(store) == before


@each_row("path", ["..odd/a.md", "a b/ü.md", "...", "deep/../a.md", "a\\b.md", "./a.md"])
def test_an_odd_path_inside_the_root_is_fine(tmp_path: Path, path: str) -> None:
    assert not contained_path(str(tmp_path), path).startswith(("/", "./"))


def test_a_link_inside_the_root_may_be_saved(store: Store) -> None:
    target = write_file(store, "real.md", "zebra")
    (target.parent / "link.md").symlink_to("real.md")
    assert save(store, "link.md", None).path == "link.md"


def test_an_unknown_session_is_not_made_in_passing(store: Store) -> None:
    write_file(store, "a.md", "zebra")
    with pytest.raises(NotFoundError, match="no session 'S'"):
        save_package(store, NewPackage("S", "G", "research", "a.md", "investigator", "A finding."))
    assert list_sessions(store.primary) == []


def test_a_summary_is_one_line_and_whole(store: Store) -> None:
    long = "word " * 400 + "end"
    saved = save(store, "a.md", summary=f"first\nsecond\r\n\tthird\x1b[31m {long}")
    assert get_package(store.primary, saved.id).summary == f"first second third {long}"


def test_a_file_that_is_not_there_is_a_note_and_not_a_refusal(store: Store) -> None:
    saved = save(store, "absent.md", None, summary="about a zebra")
    assert saved.notes[0].startswith("There is no file absent.md below ")
    assert get_package(store.primary, saved.id).size_bytes is None
    assert search_ids(store, "zebra") == ["package:1"]


@pytest.mark.parametrize("type_", PACKAGE_TYPES)
def test_a_package_without_consumers_is_for_those_of_its_type(store: Store, type_: str) -> None:
    saved = save(store, "a.md", type=type_)
    assert saved.consumers == DEFAULT_CONSUMERS[type_]
    assert set(saved.consumers) <= set(AGENTS)
    assert consumers_of(store.primary, saved.id) == [Consumer(agent, None, None) for agent in saved.consumers]


def test_everybody_who_builds_gets_every_type_and_testers_get_what_failed() -> None:
    for type_ in PACKAGE_TYPES:
        assert {"developer", "senior_software_engineer"} <= set(DEFAULT_CONSUMERS[type_])
    assert {type_ for type_ in PACKAGE_TYPES if "qa_expert" in DEFAULT_CONSUMERS[type_]} == {
        "failures",
        "investigation",
    }


def test_saving_a_path_again_makes_its_next_version(store: Store) -> None:
    first, second, third = (save(store, "a.md", f"text {number}") for number in range(3))
    assert [first.version, second.version, third.version] == [1, 2, 3]
    assert (second.supersedes, third.supersedes) == (first.id, second.id)
    assert [package.id for package in list_packages(store.primary)] == [third.id]
    assert [package.id for package in list_packages(store.primary, include_superseded=True)] == [3, 2, 1]


def test_only_the_newest_version_is_found_by_the_files_text(store: Store) -> None:
    save(store, "a.md", "zebra walrus", summary="One.")
    save(store, "a.md", "zebra heron", summary="Two.")
    assert search_ids(store, "walrus") == []
    assert search_ids(store, "zebra") == ["package:2"]


def test_the_same_path_in_another_session_is_another_package(store: Store) -> None:
    save(store, "a.md", session="S")
    assert save(store, "a.md", session="T").version == 1
    assert len(list_packages(store.primary)) == 2


def test_a_chain_of_versions_cannot_be_a_circle(store: Store) -> None:
    for name in "abc":
        save(store, f"{name}.md")
    supersede(store, 1, 2)
    supersede(store, 2, 3)
    for old, new, why in ((3, 1, "replaced by 3"), (3, 2, "replaced by 3"), (3, 3, "the same package")):
        with pytest.raises(UsageError, match=f"^Package {new} is {why}\\."):
            supersede(store, old, new)
    with pytest.raises(UsageError, match="superseded by package 2 already"):
        supersede(store, 1, 3)
    assert [(p.id, p.version, p.superseded_by) for p in list_packages(store.primary, include_superseded=True)] == [
        (3, 3, None), (2, 2, 3), (1, 1, 2),
    ]  # fmt: skip


def test_a_package_replaces_none_of_another_session_but_of_its_own_file(store: Store) -> None:
    for path, session in (("a.md", "S"), ("b.md", "T"), ("a.md", "T")):
        save(store, path, session=session)
    for old, new in ((1, 2), (2, 1)):
        with pytest.raises(UsageError, match="different sessions"):
            supersede(store, old, new)
    supersede(store, 1, 3)
    assert get_package(store.primary, 1).superseded_by == 3


def test_a_package_says_how_many_passages_its_file_has(store: Store) -> None:
    sections = "".join(f"# Part {number}\n\n{'Wait for the lock. ' * 100}\n" for number in range(3))
    saved = save(store, "a.md", sections)
    shown = read_document(store, DocumentRef("package", saved.id), with_passages=True)
    assert saved.passages == len(shown.passages) > 1
    assert save(store, "gone.md", None).passages == 0


def test_a_package_is_taken_once_an_iteration(store: Store) -> None:
    save(store, "a.md", consumers=("developer",))
    assert consume(store, 1, "Developer") is True
    assert consume(store, 1, "developer") is False
    assert consume(store, 1, "developer", 1) is True
    assert [(row.agent, row.iteration) for row in consumers_of(store.primary, 1)] == [
        ("developer", 0),
        ("developer", 1),
    ]


def test_taking_what_is_meant_for_others_says_for_whom_it_is(store: Store) -> None:
    save(store, "a.md", consumers=("developer",))
    with pytest.raises(UsageError) as refused:
        consume(store, 1, "qa_expert")
    assert refused.value.hint == "It is designated for developer."
    with pytest.raises(NotFoundError):
        consume(store, 99, "developer")


def test_nothing_is_left_of_a_save_that_fails_half_way(store: Store) -> None:
    save(store, "a.md", "zebra")
    before = counts(store)
    # Everything of a package is written before its document's feed mark: a refusal there comes last.
    store.primary.execute(
        "CREATE TEMP TRIGGER refuse BEFORE INSERT ON main.history_checkpoints BEGIN SELECT raise(ABORT, 'no'); END"
    )
    with pytest.raises(CtxrankError, match="SQLite refused"):
        save(store, "b.md", "walrus", session="T", group="H")
    store.primary.execute("DROP TRIGGER temp.refuse")
    assert counts(store) == before
    assert search_ids(store, "walrus") == []
    assert save(store, "b.md", "walrus").id == 2


def test_a_full_disk_is_said_and_leaves_the_store_usable(store: Store) -> None:
    save(store, "a.md", "zebra")
    before = counts(store)
    store.primary.pragma("max_page_count", store.primary.pragma("page_count"))
    with pytest.raises(CtxrankError, match="full"):
        save(store, "b.md", "walrus " * 50_000)
    store.primary.pragma("max_page_count", 2**30)
    assert counts(store) == before
    assert save(store, "b.md", "walrus").id == 2


@pytest.mark.parametrize("group", [None, "", "-", "global", " Global "])
def test_a_package_of_no_group_is_of_the_whole_session(store: Store, group: str | None) -> None:
    saved = save(store, "a.md", group=group)
    package = get_package(store.primary, saved.id)
    assert (package.group, package.scope) == (None, "global")
    assert list_groups(store.primary, 1) == []


def test_groups_that_differ_in_case_are_two(store: Store) -> None:
    save(store, "a.md", "zebra", group="AUTH")
    save(store, "b.md", "zebra", group="auth")
    assert search_ids(store, "zebra", session="S", group="AUTH") == ["package:1"]
    assert search_ids(store, "zebra", session="S", group="auth") == ["package:2"]


def test_listing_filters_by_what_a_package_is(store: Store) -> None:
    save(store, "a.md", group="A", priority="high", created_at=1)
    save(store, "b.md", group="B", type="handoff", created_at=3)
    save(store, "c.md", group=None, created_at=2)
    assert [package.id for package in list_packages(store.primary)] == [2, 3, 1]
    assert [package.id for package in list_packages(store.primary, group="A")] == [3, 1]
    assert [package.id for package in list_packages(store.primary, type_="handoff")] == [2]
    assert [package.id for package in list_packages(store.primary, priority="high", limit=1)] == [1]


def test_the_schema_refuses_what_the_code_would_never_write(store: Store) -> None:
    save(store, "a.md")
    for column, value in (("priority", "urgent"), ("scope", "world"), ("type", None)):
        with pytest.raises(apsw.ConstraintError):
            store.primary.execute(f"UPDATE packages SET {column} = ?", (value,))


def test_a_file_saved_by_a_second_group_leaves_the_first_its_package(store: Store) -> None:
    first = save(store, "a.md", group="A")
    second = save(store, "a.md", group="B")
    again = save(store, "a.md", group="A")
    assert (second.supersedes, again.supersedes) == (None, first.id)


def test_what_is_superseded_enters_the_feed_again(store: Store) -> None:
    old, new = (save(store, path, None).id for path in ("old.md", "new.md"))
    before = store.last_seq()
    supersede(store, old, new)
    query = "SELECT seq FROM documents WHERE kind = 'package' AND record_id = ?"
    assert store.primary.execute(query, (old,)).get > before


KEPT = NewPackage("S", "G", "handoff", "", "developer", "How to restart.", title="Restart it: 1/2")


def test_a_text_is_kept_in_the_store_and_no_file_is_its(store: Store) -> None:
    text = f"# Stop\n\nStop the okapi. {'Wait. ' * 200}\n\n# Start\n\nStart it. {'Wait. ' * 200}\n"
    saved = save_package(store, KEPT, text=text, create_session=True)
    assert (saved.path, saved.version, saved.passages > 1, saved.notes) == ("text://restart-it-1-2", 1, True, ())
    assert search_ids(store, "okapi") == ["package:1"]
    write_file(store, "text:/restart-it-1-2", "A zebra in a file of that name.")
    index_artifacts(store)
    shown = read_document(store, DocumentRef("package", 1), with_passages=True)
    assert (shown.document.title, shown.file_state, len(shown.passages)) == ("Restart it: 1/2", "", saved.passages)


def test_a_text_of_the_same_title_is_the_next_version_and_secrets_are_taken_out(store: Store) -> None:
    save_package(store, KEPT, text="Stop the okapi.", create_session=True)
    token = "ghp_" + "x7Kd93mQpL2vR8sTwYzA1bC4eF6gH0jN5uX9"
    again = save_package(store, KEPT, text=f"Start the okapi with {token}.")
    assert (again.version, again.supersedes) == (2, 1)
    shown = read_document(store, DocumentRef("package", 2), with_passages=True)
    assert "okapi" in shown.passages[0].body and token not in shown.passages[0].body
    assert read_document(store, DocumentRef("package", 1), with_passages=True).passages == []


@each_row("title, path", [("Ünïcode ☃ Title", "text://ünïcode-title"), ("☃", "text://untitled"), ("a" * 300, None)])
def test_the_path_of_a_text_is_words_of_its_title(store: Store, title: str, path: str | None) -> None:
    saved = save_package(store, KEPT._replace(title=title), text="Stop the okapi.", create_session=True)
    assert saved.path == (path or "text://" + "a" * 100)


@each_row("one, other", [("C is slow", "C++ is slow"), ("a" * 101, "a" * 100 + "b"), ("☃", "☂")])
def test_texts_whose_titles_come_down_to_one_path_do_not_replace_each_other(store: Store, one: str, other: str) -> None:
    texts = [KEPT._replace(session=one, title=title) for title in (one, other, one, f"({other.upper()}).", one)]
    saved = [save_package(store, new, text="Stop the okapi.", create_session=True) for new in texts]
    assert [each.version for each in saved] == [1, 1, 2, 2, 3]
    assert [each.supersedes for each in saved] == [None, None, saved[0].id, saved[1].id, saved[2].id]
    assert saved[1].path.startswith(saved[0].path)


def test_a_text_that_another_process_saves_meanwhile_is_not_replaced_by_one_of_its_path(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_package(store, KEPT._replace(title="Java"), text="Stop the okapi.", create_session=True)
    prepare = artifacts.prepare

    def prepared(*given: Any, **named: Any) -> artifacts.PreparedFile:
        monkeypatch.setattr(artifacts, "prepare", prepare)
        with open_again(store) as other:
            assert save_package(other, KEPT._replace(title="C"), text="Stop the zebra.").version == 1
        return prepare(*given, **named)

    monkeypatch.setattr(artifacts, "prepare", prepared)
    saved = save_package(store, KEPT._replace(title="C++"), text="Stop the heron.")
    assert (saved.version, saved.supersedes) == (1, None) and search_ids(store, "zebra")


@each_row("title, text, said", [("", "x", "needs a title"), (" \n", "x", "needs a title"), ("T", " \n", "no text")])
def test_a_text_needs_a_title_and_words(store: Store, title: str, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        save_package(store, KEPT._replace(title=title), text=text, create_session=True)
    assert list_sessions(store.primary) == []


@each_row("path, said", [("absent.md", "no file absent.md"), ("folder", "is a folder"), ("image.png", "binary")])
def test_a_finding_without_a_text_is_refused_where_the_caller_needs_one(store: Store, path: str, said: str) -> None:
    (Path(store.location.root) / "folder").mkdir(exist_ok=True)
    (Path(store.location.root) / "image.png").write_bytes(b"\x89PNG\0\0")
    before = counts(store)
    with pytest.raises(UsageError, match=said):
        save_package(store, KEPT._replace(path=path), create_session=True, needs_file=True)
    assert counts(store) == before


def test_an_empty_summary_replaces_nothing(store: Store) -> None:
    save(store, "a.md", priority="critical")
    with pytest.raises(UsageError, match="summary is empty"):
        save(store, "a.md", summary=" ")
    assert get_package(store.primary, 1).superseded_by is None


def test_a_text_goes_out_and_comes_in_with_an_export(store: Store, tmp_path: Path) -> None:
    save_package(store, KEPT, text="Stop the okapi.", create_session=True)
    with make_store(tmp_path / "other") as other:
        bring(other, exported_bytes(store))
        (id_,) = search_ids(other, "okapi")
        assert id_.startswith("package:1@")
        assert state_of(other, local_ref(other.primary, id_)) == ""

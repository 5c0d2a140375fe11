"""Annotations in code: every kind of comment, kept by line, read again only where a file changed."""

import errno
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from builders import make_store, write_file
from linked_builders import age, copy_fixture, tree_of
from tables import each_row

from ctxrank.extensions.links import annotations
from ctxrank.extensions.links.annotations import find_annotations, sync_annotations
from ctxrank.extensions.links.store import Annotation, stored_annotations, tree_id
from ctxrank.indexer.beneath import Root
from ctxrank.indexer.files.walk import Unreadable
from ctxrank.indexer.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    copy_fixture(tmp_path)
    with make_store(tmp_path) as opened:
        yield opened


def stored(store: Store) -> list[tuple[str, int, str]]:
    found = stored_annotations(store.primary, tree_id(store.primary, tree_of(store)))
    return [(one.path, one.line, one.id) for one in found]


@each_row(
    "text, wanted",
    [
        ("# @spec SPEC-A-1", [("spec", "SPEC-A-1", "")]),
        ("x = 1  // see @decision DEC-A-1", [("decision", "DEC-A-1", "")]),
        ("-- @norm NORM-SQL-1.joins", [("norm", "NORM-SQL-1", "joins")]),
        ("; @test SPEC-A-1", [("test", "SPEC-A-1", "")]),
        ("/* @spec SPEC-A-1, SPEC-B-2 */", [("spec", "SPEC-A-1", ""), ("spec", "SPEC-B-2", "")]),
        ("/**\n * @spec SPEC-A-1\n */", [("spec", "SPEC-A-1", "")]),
        ("@spec SPEC-A-1", []),
        ("# mail to a@spec SPEC-A-1x", [("spec", "SPEC-A-1x", "")]),
        ("# @spec lower-1 @other SPEC-A-1", []),
    ],
)
def test_comments_of_any_language_are_understood(text: str, wanted: list[tuple[str, str, str]]) -> None:
    assert [one[2:] for one in find_annotations("a", text)] == wanted


def test_the_line_is_counted_from_one() -> None:
    assert find_annotations("a.py", "x\n\n# @spec SPEC-A-1\n") == [Annotation("a.py", 3, "spec", "SPEC-A-1")]


def test_many_annotations_of_one_file_take_no_longer_each_than_few() -> None:
    begun = time.perf_counter()  # 30 s where the lines were counted from the beginning for each
    found = find_annotations("a.py", "x = 1  # @spec SPEC-A-1\n" * 40_000)
    assert [found[0].line, found[1].line, found[-1].line] == [1, 2, 40_000] and time.perf_counter() - begun < 10


def test_code_is_looked_through_once_and_prose_never(store: Store) -> None:
    write_file(store, "src/notes.md", "# @spec SPEC-X-1\n")
    first = sync_annotations(store, tree_of(store))
    assert stored(store) == [
        ("src/billing/currency/rates.ts", 1, "SPEC-CURRENCY-001"),
        ("src/billing/invoice/generator.py", 3, "SPEC-BILLING-001"),
        ("src/billing/invoice/generator.py", 4, "DEC-LEDGER-001"),
    ]
    assert first[1] == 2
    assert sync_annotations(store, tree_of(store))[1] == 0


def test_a_changed_file_is_read_and_a_deleted_one_forgotten(store: Store, tmp_path: Path) -> None:
    sync_annotations(store, tree_of(store))
    age(write_file(store, "src/billing/invoice/generator.py", "# @spec SPEC-LAYOUT-001\n"), seconds=50)
    (tmp_path / "src/billing/currency/rates.ts").unlink()
    assert sync_annotations(store, tree_of(store))[1] == 1
    assert stored(store) == [("src/billing/invoice/generator.py", 1, "SPEC-LAYOUT-001")]


def test_ignored_files_and_unwanted_folders_are_left_alone(store: Store) -> None:
    write_file(store, ".gitignore", "src/billing/currency/\n")
    assert sync_annotations(store, tree_of(store), ("src/billing/currency/**", "src/other/**"))[1] == 0
    assert stored(store) == []


def test_a_file_whose_name_is_a_secret_is_not_noted(store: Store) -> None:
    token = "ghp" + "_" + "a1B2" * 9
    write_file(store, f"src/{token}.py", "# @spec SPEC-BILLING-001\n")
    sync_annotations(store, tree_of(store))
    assert store.primary.execute("SELECT count(*) FROM annotated_files WHERE path LIKE '%ghp%'").get == 0


def test_binary_and_broken_files_are_passed_over(store: Store, tmp_path: Path) -> None:
    (tmp_path / "src/a.bin").write_bytes(b"\0# @spec SPEC-A-1")
    (tmp_path / "src/b.py").write_bytes(b"# \xff\xfe @spec SPEC-B-1\r\n")
    sync_annotations(store, tree_of(store))
    assert ("src/b.py", 1, "SPEC-B-1") in stored(store)
    assert not [one for one in stored(store) if one[0] == "src/a.bin"]


def test_a_file_that_cannot_be_read_keeps_its_annotations_and_is_read_later(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counted as read, with none: what was there came back only when the file changed."""
    sync_annotations(store, tree_of(store))
    before = stored(store)
    age(write_file(store, "src/billing/currency/rates.ts", "// @spec SPEC-LAYOUT-001\n"), seconds=50)
    with monkeypatch.context() as patch:
        patch.setattr(Root, "read", Mock(side_effect=PermissionError(errno.EACCES, "Permission denied")))
        sync_annotations(store, tree_of(store))
    assert stored(store) == before != []
    sync_annotations(store, tree_of(store))
    assert ("src/billing/currency/rates.ts", 1, "SPEC-LAYOUT-001") in stored(store)


def test_what_cannot_be_looked_at_now_keeps_its_annotations(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    sync_annotations(store, tree_of(store))
    before = stored(store)
    unreadable = ["src/billing"]

    def walk(_root: str) -> Iterator[Unreadable]:
        return (Unreadable(path, "Permission denied") for path in unreadable)

    monkeypatch.setattr(annotations, "walk", walk)
    sync_annotations(store, tree_of(store))
    assert stored(store) == before != []
    unreadable[0] = "src/other"
    sync_annotations(store, tree_of(store))
    assert stored(store) == []

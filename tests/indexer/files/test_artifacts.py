"""A file as the store keeps it: its title, its passages under their owners, and what becomes of both."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store, save, search_ids, write_file
from tables import each_row

from ctxrank.indexer.files import artifacts
from ctxrank.indexer.files.read import FileText
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.files.stamps import FileStamp
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.tokens import TokenCounter

_DECLARED = "---\nctxrank: {type: research}\n---\n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as store:
        yield store


def prepared(path: str, text: str) -> artifacts.PreparedFile:
    file = FileText(text, "", FileStamp(len(text), 1, 1, 1), "utf-8")
    return artifacts.prepare(path, file, RedactionMode.PATTERN_ONLY)


@each_row(
    "path, text, title",
    [
        ("docs/a.md", "# The plan\n\ntext", "The plan"),
        ("docs/a.md", "text\n## Part\n#  The plan \n", "The plan"),
        ("docs/a.md", "## Part\n", "a.md"),
        ("docs/a.md", "# \n# Second", "Second"),
        ("docs/a.md", "#The plan", "a.md"),
        ("docs/a.py", "# The plan\n", "a.py"),
        ("a.rst", "# The plan", "a.rst"),
        ("a.md", "", "a.md"),
        ("a.md", f"# {'x' * 300}", "x" * 100),
        ("a.md", "```sh\n# install it\n```\n# The plan #\n", "The plan"),
        ("a.md", "The plan\n========\n", "The plan"),
        ("a.md", "The part\n--------\n", "a.md"),
        ("a.md", "\n" * 39 + "# Late", "Late"),
        ("a.md", "\n" * 40 + "# Late", "a.md"),
        ("a.md", f"{_DECLARED}# The plan\n", "The plan"),
        ("a.md", "---\n# no heading\n---\n", "a.md"),
    ],
)
def test_the_title_of_a_file_is_its_first_heading_or_its_name(path: str, text: str, title: str) -> None:
    assert prepared(path, text).title == title


def test_what_declares_a_file_is_no_passage_of_it_and_lines_are_the_files() -> None:
    (passage,) = prepared("a.md", f"{_DECLARED}# The plan\n").passages
    assert (passage.text, passage.start_line) == ("# The plan\n", 4)
    for path, text in (
        ("text://a.md", f"{_DECLARED}x\n"),
        ("a.md", "---\nother: 1\n---\nx\n"),
        ("a.txt", f"{_DECLARED}x\n"),
    ):
        assert prepared(path, text).passages[0].start_line == 1, path


def test_passages_are_counted_before_anyone_waits_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxrank.indexer.text.vocabulary.process_counter", lambda: TokenCounter("mine", len))
    assert prepared("a.md", "# A\n\nb").counts == ((6, "mine"),)


def test_a_title_that_was_the_files_name_goes_with_it_and_another_one_stays(store: Store) -> None:
    save(store, "a.md", "zebra", summary="A finding.")
    save(store, "b.md", "otter", summary="Another.")
    store.primary.execute("UPDATE documents SET title = 'A plan' WHERE kind = 'package' AND record_id = 2")
    with store.write() as change:
        artifacts.move(change, 1, "a.md", "x/new.md")
        artifacts.move(change, 2, "b.md", "x/b2.md")
    query = "SELECT title, path FROM documents WHERE kind = 'package' ORDER BY record_id"
    assert store.primary.execute(query).fetchall() == [("new.md", "x/new.md"), ("A plan", "x/b2.md")]
    assert [row[0] for row in store.primary.execute("SELECT path FROM packages ORDER BY id")] == ["x/new.md", "x/b2.md"]


def test_a_file_that_comes_later_belongs_to_the_package_that_awaits_it(store: Store) -> None:
    save(store, "a.md", None)
    assert artifacts.awaited_paths(store.primary) == {"a.md"} and artifacts.packaged_ids(store.primary) == set()
    write_file(store, "a.md", "A zebra.")
    write_file(store, "b.md", "An otter.")
    index_artifacts(store)
    assert artifacts.awaited_paths(store.primary) == set() and len(artifacts.packaged_ids(store.primary)) == 1
    kinds = "SELECT count(*) FROM documents WHERE kind = 'artifact'"
    assert store.primary.execute(kinds).get == 1  # b.md alone has a document of its own
    assert search_ids(store, "zebra") == ["package:1"]
    (number,) = artifacts.packaged_ids(store.primary)
    with store.write() as change:
        artifacts.remove(change, number)
    assert search_ids(store, "zebra") == []
    assert store.primary.execute("SELECT state FROM artifacts WHERE id = ?", (number,)).get == "missing"


def test_what_has_no_text_for_us_is_known_as_that_and_differs_from_whatever_takes_its_place(store: Store) -> None:
    save(store, "a.md", "A zebra.")
    artifact = artifacts.artifact_at(store.primary, 1, "a.md")
    assert artifact is not None and artifact.state == "indexed"
    with store.write() as change:
        artifacts.mark(change, artifact, "stale", "away")
    assert search_ids(store, "zebra") == ["package:1"]
    with store.write() as change:
        artifacts.mark(change, artifact, "skipped", "a socket")
    known = artifacts.known_artifacts(store.primary, 1)["a.md"]
    assert (known.state, known.reason, known.sha256) == ("skipped", "a socket", "")
    assert min(known.size_bytes, known.mtime_ns, known.inode) < 0
    assert search_ids(store, "zebra") == []


def test_a_folder_that_is_away_turns_stale_and_an_empty_one_is_forgotten(store: Store, tmp_path: Path) -> None:
    save(store, "a.md", "A zebra.")
    with store.write() as change:
        other = artifacts.root_id(change, str(tmp_path.parent), str(tmp_path))
        assert artifacts.root_id(change, str(tmp_path), str(tmp_path)) == 1 and other != 1
        artifacts.mark_root_stale(change, 1, "away")
        for number in (1, other):
            artifacts.remove_empty_root(change, number)
    assert store.primary.execute("SELECT count(*) FROM roots").get == 1
    assert store.primary.execute("SELECT state, reason FROM artifacts").fetchall() == [("stale", "away")]

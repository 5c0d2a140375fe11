"""What files are, and how much of their score counts where source is among them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store

from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.store.store import Store
from ctxrank.ranking import SearchRequest, search
from ctxrank.ranking.retrieval.file_kinds import kind_of

_FILES = {
    "README.md": "# Limits\n\nThe server limits uploads: a large upload is refused; upload limits are listed.\n",
    "CHANGES.rst": "Changes\n=======\n\nUpload limits: uploads above the upload limits are refused by the server.\n",
    "tests/test_limits.py": "def test_upload_limits(server):\n    assert server.refuses(upload(limits=uploads))\n",
    "src/server/limits.py": "def check(request):\n    '''Refuse uploads above the upload limits of a server.'''\n",
    "settings.yaml": "upload_limits: 20  # uploads above the upload limits are refused by the server\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Store]:
    """A small program whose papers and tests say more of it than its code."""
    for path, text in _FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    with make_store(tmp_path) as store:
        index_artifacts(store)
        store.catch_up()
        yield store


def _paths(store: Store, text: str) -> list[str]:
    return [hit.path for hit in search(store, SearchRequest(text)).hits]


def _explained(store: Store, text: str) -> dict[str, str]:
    """The lines of each hit's explanation, by its path, best first."""
    hits = search(store, SearchRequest(text, is_explained=True)).hits
    return {hit.path: "\n".join(hit.explanation.lines()) for hit in hits if hit.explanation}


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/app.py", "source"), ("lib/index.ts", "source"), ("Sources/Vapor/Request.swift", "source"),
        ("tests/test_app.py", "a test"), ("src/app_test.go", "a test"), ("spec/models/user_spec.rb", "a test"),
        ("examples/basic/main.rs", "an example"), ("benches/parse.rs", "an example"),
        ("docs/guide.md", "documentation"), ("README", "documentation"), ("CHANGES.rst", "documentation"),
        ("package.json", "settings or data"), ("Makefile", "settings or data"), (".github/ci.yml", "settings or data"),
        ("dist/app.js", "generated"), ("api/v1_pb2.py", "generated"), ("poetry.lock", "generated"), ("", ""),
    ],
)  # fmt: skip
def test_a_path_says_what_a_file_is(path: str, kind: str) -> None:
    assert kind_of(path) == kind


def test_where_a_word_is_unknown_a_file_with_all_others_comes_before_one_with_its_stand_in(
    tree: Store, tmp_path: Path
) -> None:
    said = "The barrels of a kettle are lifted, lift after lift; a barrel is a barrel of the barrels.\n" * 9
    (tmp_path / "guide.md").write_text(f"# Barrels\n\n{said}")
    rest = "The river is wide and slow where it comes to the meadow below the mill.\n" * 2
    (tmp_path / "notes.md").write_text(
        f"# Notes\n\nA barrel is told of.\n{rest}\n## Lanterns\n\nOf a lantern, too.\n{rest}"
    )
    index_artifacts(tree)
    assert _paths(tree, "barrel lantern kettle")[0] == "guide.md", "every word is known"
    assert _paths(tree, "barrel lantern kettel")[0] == "notes.md"
    (hit, *_) = search(tree, SearchRequest("barrel lantern kettel", is_explained=True)).hits
    assert "× 2.00 as documentation with all words that are known" in str(hit.explanation)


def test_what_also_has_the_word_that_stands_in_comes_before_what_has_the_known_ones(
    tree: Store, tmp_path: Path
) -> None:
    """It stands in a passage that counts nothing: others have the known words more often."""
    said = "A barrel and a lantern, and a barrel beside the lantern.\n"
    (tmp_path / "guide.md").write_text(f"# Barrels\n\n{said * 9}")
    rest = "The river is wide and slow where it comes to the meadow below the mill.\n" * 20
    parts = [said * 2, said, said, "A kettle is lifted.\n"]
    (tmp_path / "notes.md").write_text("".join(f"# Part {at}\n\n{part}{rest}\n" for at, part in enumerate(parts)))
    index_artifacts(tree)
    assert _paths(tree, "barrel lantern")[0] == "guide.md"
    assert _paths(tree, "barrel lantern kettel")[0] == "notes.md"


def test_source_comes_before_what_describes_and_tests_it(tree: Store) -> None:
    for text in ("upload limits", "how the server refuses uploads above the limits", "where are upload limits checked"):
        assert _paths(tree, text)[0] == "src/server/limits.py", text
    found = _paths(tree, "upload limits server")
    assert found.index("tests/test_limits.py") < found.index("README.md")


def test_who_wants_to_use_it_gets_the_papers(tree: Store) -> None:
    assert _paths(tree, "How do I see the upload limits that the server has listed?")[0] == "README.md"


def test_a_folder_that_is_named_and_a_file_that_alone_has_all_words_count_in_full(tree: Store, tmp_path: Path) -> None:
    assert _paths(tree, "tests")[0] == "tests/test_limits.py"
    assert _paths(tree, "upload limits listed large")[0] == "README.md"
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads" / "test_more.py").write_text("def test_more(server):\n    assert server.limits(uploads)\n")
    index_artifacts(tree)
    for text, counts_in_full in (("uploads", True), ("/Uploads/", True), ("limits", False), ("uploads limits", False)):
        lines = _explained(tree, text)["uploads/test_more.py"]
        assert (" as a test" not in lines) == counts_in_full, text


def test_without_source_nothing_counts_less(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Upload limits\n\nAll uploads have limits.\n")
    with make_store(tmp_path) as store:
        index_artifacts(store)
        store.catch_up()
        hit = search(store, SearchRequest("upload limits", is_explained=True)).hits[0]
    assert hit.explanation is not None and "as documentation" not in "\n".join(hit.explanation.lines())


def test_in_a_manual_with_some_code_nothing_counts_less(tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text("limits = 'upload limits'\n")
    for number in range(4):
        (tmp_path / f"{number}.md").write_text(f"# Chapter {number}\n\nUpload limits, part {number}.\n")
    with make_store(tmp_path) as store:
        index_artifacts(store)
        store.catch_up()
        explained = _explained(store, "upload limits")
    assert len(explained) == 5 and " as documentation" not in "\n".join(explained.values())


def test_a_heading_does_not_outrank_the_prose_below_others_but_tells_a_note_among_code(tmp_path: Path) -> None:
    asked = "what is known of libraries that lend books"
    (tmp_path / "a.md").write_text("# Libraries that lend\n\nA list of towns, and of who was there to see them.\n")
    (tmp_path / "b.md").write_text("# Towns\n\nSome libraries lend books by post; books that libraries lend return.\n")
    with make_store(tmp_path) as store:
        index_artifacts(store)
        store.catch_up()
        # A title as good as its passage is no more than a part: a question counts it a little, a statement not at all.
        said = asked.replace("what", "all that")
        for text, is_counted in ((asked, True), (said, False), ("libraries lend books post", True)):
            explained = _explained(store, text)
            assert [*explained] == ["b.md", "a.md"]
            lines = "\n".join(explained.values())
            assert ("title, summary and path" in lines) == is_counted, text
            assert lines.count("best passage") == len(explained)
        (tmp_path / "lend.py").write_text("def lend(libraries, books):\n    return libraries.lend(books)\n")
        index_artifacts(store)
        store.catch_up()
        for text in (asked, said):
            assert "title, summary and path" in "\n".join(_explained(store, text).values())


def test_the_explanation_says_the_factor_and_still_adds_up(tree: Store) -> None:
    for hit in search(tree, SearchRequest("upload limits", is_explained=True)).hits:
        assert hit.explanation is not None and hit.shares is not None
        lines = "\n".join(hit.explanation.lines())
        assert ("× 0.40 as documentation" in lines) == (hit.path in ("README.md", "CHANGES.rst")), hit.path
        shares = hit.shares
        parts = shares.words + shares.together + shares.priority + shares.group + shares.recency
        assert parts == pytest.approx(hit.score, abs=1e-5)
        assert sum(part.value for part in hit.explanation.parts) == pytest.approx(hit.explanation.value)


def test_further_passages_of_one_file_of_code_leave_room_for_other_files(tmp_path: Path) -> None:
    body = "\n\n".join(
        f"def retry_{n}(job):\n    '''Retry the job with a backoff.'''\n    {'x = 1; ' * 60}" for n in range(9)
    )
    (tmp_path / "retries.py").write_text(body)
    (tmp_path / "worker.py").write_text("def run(job):\n    '''A job that fails is put back: retry, backoff.'''\n")
    with make_store(tmp_path) as store:
        index_artifacts(store)
        store.catch_up()
        hits = search(store, SearchRequest("retry job backoff", is_by_passage=True)).hits
    paths = [hit.path for hit in hits]
    assert paths.count("retries.py") > 2 and "worker.py" in paths[:3]


def test_to_a_sentence_more_passages_of_a_source_count_and_of_no_other_file(tmp_path: Path) -> None:
    parts = "\n\n".join(
        f"def {verb}_upload(server):\n    '''How the server {verb}s an upload.'''\n" + "    work()\n" * 60
        for verb in ("check", "store", "limit", "report", "retry")
    )
    for path in ("src/parts.py", "tests/test_parts.py", "docs/parts.md"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(parts)
    with make_store(tmp_path) as store:
        index_artifacts(store)
        store.catch_up()

        def counted(text: str) -> dict[str, int]:
            hits = search(store, SearchRequest(text, is_explained=True)).hits
            assert all(hit.explanation is not None for hit in hits)
            return {hit.path: str(hit.explanation and hit.explanation.lines()).count("another passage") for hit in hits}

        few, many = counted("server upload"), counted("how the server checks, stores and limits an upload")
    assert few == dict.fromkeys(few, 2) and len(few) == 3
    assert many == few | {"src/parts.py": 4}

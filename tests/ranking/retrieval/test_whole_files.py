"""Where a question asks for prose, a page is found by all that it says, and comes above code."""

from pathlib import Path

import pytest
from builders import make_store

from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.store.store import Store
from ctxrank.ranking import SearchRequest, search

_PAGE = """# Calling

Work is put into the queue with a call.

## Options

A countdown delays the start of a job.

## Units

It is given in seconds: ten minutes are 600.
"""
_CODE = """def delay_job_minutes(job, minutes):
    # delay the start of a job by ten minutes
    return job.start(delay=minutes)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Store:
    """A page that says it in several places, and code that has all words in one."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "calling.md").write_text(_PAGE)
    (tmp_path / "jobs.py").write_text(_CODE)
    store = make_store(tmp_path)
    index_artifacts(store)
    store.catch_up()
    return store


def _paths(store: Store, text: str) -> list[str]:
    return [hit.path for hit in search(store, SearchRequest(text)).hits]


def test_a_question_finds_the_page_and_words_find_the_code(tree: Store) -> None:
    with tree:
        assert _paths(tree, "How do I delay the start of a job by ten minutes?")[0] == "docs/calling.md"
        assert _paths(tree, "delay start job ten minutes")[0] == "jobs.py"
        assert _paths(tree, "where is the start of a job delayed by ten minutes")[0] == "jobs.py"


def test_what_was_pasted_is_no_question(tree: Store) -> None:
    with tree:
        assert _paths(tree, "How do I delay the start of a job\nby ten minutes?")[0] == "jobs.py"


def _explained(folder: Path, page: str) -> str:
    """What explains the hit of a question, in a store of this page and of code."""
    (folder / "calling.md").write_text(page)
    (folder / "jobs.py").write_text(_CODE)
    with make_store(folder) as store:
        index_artifacts(store)
        store.catch_up()
        request = SearchRequest("How do I delay the start of a job by ten minutes?", is_explained=True)
        hit = search(store, request).hits[0]
        assert hit.path == "calling.md" and hit.explanation is not None
        return "\n".join(hit.explanation.lines())


def test_the_explanation_has_the_whole_file_and_its_terms(tmp_path: Path) -> None:
    said = ("A countdown delays the start of a job.", "The start of a job in seconds.", "Ten minutes of delay are 600.")
    filler = "Other things are written here, each in a sentence of its own.\n" * 20
    lines = _explained(tmp_path, "".join(f"# On this\n\n{one}\n\n{filler}\n{one}\n\n" for one in said))
    assert "the whole file, BM25" in lines and "'seconds'" not in lines and lines.count("'delay'") >= 2


def test_the_whole_of_a_page_of_one_passage_is_what_its_rows_say(tmp_path: Path) -> None:
    lines = _explained(tmp_path, _PAGE)
    assert "the whole of it, BM25" in lines and "the whole file" not in lines


def test_a_statement_counts_the_whole_page_in_a_manual_alone(tree: Store, tmp_path: Path) -> None:
    def whole_count(store: Store) -> int:
        hits = search(store, SearchRequest("the start of a job is delayed by ten minutes", is_explained=True)).hits
        lines = next(hit.explanation.lines() for hit in hits if hit.path == "docs/calling.md" and hit.explanation)
        return "\n".join(lines).count("the whole of it, BM25")

    with tree:
        assert whole_count(tree) == 0
        (tmp_path / "jobs.py").unlink()
        index_artifacts(tree)
        tree.catch_up()
        assert whole_count(tree) == 1


def test_a_short_page_of_hits_is_the_beginning_of_a_long_one(tree: Store) -> None:
    with tree:
        text = "How do I delay the start of a job by ten minutes?"
        long = search(tree, SearchRequest(text, limit=10)).hits
        assert search(tree, SearchRequest(text, limit=1)).hits[0].score == long[0].score


def test_the_title_of_a_page_supports_it_less_than_that_of_code(tmp_path: Path) -> None:
    (tmp_path / "delay.md").write_text("# Delay\n\nA delay puts the job off, and a longer delay longer.\n")
    (tmp_path / "delay.py").write_text("# delay: a delay puts the job off, and a longer delay longer\n")
    store = make_store(tmp_path)
    index_artifacts(store)
    store.catch_up()
    with store:
        hits = search(store, SearchRequest("delay", is_explained=True)).hits
        lines = {hit.path: "\n".join(hit.explanation.lines()) for hit in hits if hit.explanation}
    assert lines["delay.md"].count("× 0.1") == 1
    assert "× 0.4" not in lines["delay.md"]
    assert lines["delay.py"].count("× 0.4") == 1


def test_to_a_statement_a_list_that_says_something_of_everything_counts_no_more_than_its_rows(tmp_path: Path) -> None:
    def whole_counts(page: str) -> bool:
        (tmp_path / "changes.md").write_text(page)
        index_artifacts(store)
        store.catch_up()
        request = SearchRequest("the start of a job is delayed by ten minutes", is_explained=True)
        (hit,) = search(store, request).hits
        assert hit.explanation is not None
        return "the whole" in "\n".join(hit.explanation.lines())

    entries = [
        f"# Version {at}\n\nThe start of job {at} is delayed.\n\n{'Other words. ' * (46 + at)}\n\n" for at in range(129)
    ]
    with make_store(tmp_path) as store:
        assert whole_counts("".join(entries[1:]))
        assert not whole_counts("".join(entries))

"""A finding that quotes a failure's message, though nobody saved that as a known error."""

from pathlib import Path

import pytest
from builders import make_store, save, write_file
from tables import each_row

from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.records.packages import supersede
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.parents import ParentDocument
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context import quotes
from ctxrank.ranking.context.quotes import findings_that_quote

_MESSAGE = "the pier database is locked"


def _quoting(store: Store, message: str = _MESSAGE, unwanted: int = 0) -> list[tuple[int, str]]:
    """(number, passage) of the findings that quote a message."""

    def is_wanted(parent: ParentDocument) -> bool:
        return parent.number != unwanted

    return [(one.parent.number, one.passage) for one in findings_that_quote(store, message, Config(), is_wanted)]


@pytest.fixture(params=["few texts", "many texts"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store whose texts are read one by one before the index is, or that has too many of them for that."""
    if request.param == "many texts":
        monkeypatch.setattr(quotes, "_FEW_TEXTS", 0)
    return make_store(tmp_path)


@pytest.fixture
def noted(store: Store) -> Store:
    """The store with one finding that quotes the message, and one that does not."""
    save(store, "locks.md", f"# Locks\n\nIt said: {_MESSAGE}; a second writer was open.\n", summary="Waits.")
    save(store, "tides.md", "# Tides\n\nsprings and neaps at the pier\n", summary="Tides.")
    return store


@each_row(
    "message, is_quoted",
    [
        (_MESSAGE, True),
        ("  The Pier DATABASE is   locked.\nand a second line", True),  # case, white space, its first line
        ("'the pier' \N{LEFT DOUBLE QUOTATION MARK}database\N{RIGHT DOUBLE QUOTATION MARK} is locked!", True),
        ("pier database is loc", True),  # the end of its last word may be cut off
        ("the pier database is unlocked", False),
        ("the pier database is locked again", False),
        ("pier is database locked", False),  # all its words, in another order
        ("is locked", False),  # two words may be of anything
        ("database is locked", True),  # three are enough
        ("-- -- --", False),
        ("", False),
    ],
)
def test_the_whole_message_must_stand_in_the_finding(noted: Store, message: str, is_quoted: bool) -> None:
    assert [number for number, _ in _quoting(noted, message)] == ([1] if is_quoted else [])


def test_the_passage_that_holds_it_comes_along_and_a_title_is_enough_without_one(store: Store) -> None:
    text = f"# First\n\n{'nothing of it ' * 200}\n\n# Second\n\nIt said: {_MESSAGE}.\n"
    save(store, "a.md", text, summary="Waits.")
    ((_, passage),) = _quoting(store)
    assert _MESSAGE in passage and "nothing of it" not in passage
    save(store, "a.md", "# Other\n\nnothing\n", summary=f"Again: {_MESSAGE}")
    assert _quoting(store) == [(2, "")], "the first is superseded, and the second says it in its summary"


def test_the_best_two_are_given_and_those_that_nobody_wants_do_not_count(store: Store) -> None:
    for number in range(4):
        save(store, f"{number}.md", f"# Note {number}\n\n{_MESSAGE}{' and then' * 20 * number}\n", summary="x")
    assert [number for number, _ in _quoting(store)] == [1, 2]
    assert [number for number, _ in _quoting(store, unwanted=1)] == [2, 3]


def test_a_finding_that_quotes_it_is_found_among_many_that_are_more_about_its_words(store: Store) -> None:
    for number in range(20):
        save(store, f"{number}.md", f"# Locked database, pier {number}\n\nlocked database of the pier\n", summary="x")
    save(store, "log.md", f"# A log\n\n{'nothing of it ' * 60}\n{_MESSAGE}\n{'nothing of it ' * 60}\n", summary="x")
    assert [number for number, _ in _quoting(store)] == [21]


def test_of_a_message_with_one_word_the_signs_must_stand_behind_it(store: Store) -> None:
    save(store, "a.md", "# Limits\n\n    MOST = {\n", summary="x")
    save(store, "b.md", "# Limits\n\n    MOST {\n", summary="x")
    assert [number for number, _ in _quoting(store, "MOST = {")] == [1]


def test_what_was_replaced_is_quoted_no_more(store: Store) -> None:
    for name in ("old", "new"):
        save(store, f"{name}.md", summary=_MESSAGE)
    supersede(store, 1, 2)
    assert [number for number, _ in _quoting(store)] == [2]


def test_files_are_no_findings_and_without_an_index_nothing_is_quoted(store: Store) -> None:
    write_file(store, "notes.md", f"{_MESSAGE}\n")
    index_artifacts(store)
    assert _quoting(store) == []
    save(store, "a.md", f"{_MESSAGE}\n", summary=_MESSAGE)
    assert _quoting(store) != []
    assert findings_that_quote(store, _MESSAGE, Config(fts5=False), lambda _: True) == []

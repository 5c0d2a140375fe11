"""The dictionary by its trigrams: what is spelt much like a word, what contains a part, and what is in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store, save
from files_left import spelt
from memory_engine import MemoryEngine

from ctxrank.indexer.engine import PATH, Engine
from ctxrank.indexer.fulltext.catch_up import rebuild
from ctxrank.indexer.fulltext.dictionary import terms_with_beginning
from ctxrank.indexer.fulltext.fts5_engine import fts5_of, index_of
from ctxrank.indexer.fulltext.index_file import MARKS
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.store import Store

_TEXT = "The spider calls processSpider and getrusage; a spinner and a spiral. 20261122 0cc175b9 数据库连接 café"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as made:
        save(made, "a.md", _TEXT, summary="x")
        made.catch_up()
        yield made


def _both(store: Store) -> tuple[Engine, Engine]:
    memory = MemoryEngine(store)
    memory.make_ready(1000)
    return fts5_of(store), memory


def test_near_terms_share_trigrams_and_the_nearest_comes_first(store: Store) -> None:
    for engine in _both(store):
        with engine.snapshot():
            near = [term.term for term in engine.near_terms("getrusae", 10)]
            assert near[0] == "getrusag"
            assert {"spider", "processspid"} <= {term.term for term in engine.near_terms("spidder", 10)}
            assert engine.near_terms("zzyzzyx", 10) == engine.terms_containing("zzyzzyx", 10) == []
            assert engine.near_terms("ge", 10) == [] and len(engine.near_terms("spi", 2)) == 2


def test_terms_that_contain_a_part_come_by_their_length(store: Store) -> None:
    for engine in _both(store):
        with engine.snapshot():
            assert [term.term for term in engine.terms_containing("spi", 9)] == [
                "spider", "spiral", "spinner", "processspid",
            ]  # fmt: skip
            assert [term.term for term in engine.terms_containing("sspid", 9)] == ["processspid"]
            assert engine.terms_containing("sp", 9) == [] and engine.terms_containing('"', 9) == []


def test_terms_with_a_beginning_come_without_the_mark_of_their_field(store: Store) -> None:
    found = terms_with_beginning(index_of(store), "spin", ["spiral"], 9)
    assert [one.term for one in found] == ["spinner", "spiral"]
    assert [one.term for one in terms_with_beginning(index_of(store), "a", (), 9, MARKS[PATH])] == ["a"]


def test_many_terms_are_looked_up_at_once(store: Store) -> None:
    for engine in _both(store):
        with engine.snapshot():
            assert [term.term for term in engine.look_up_any(["spiral", "cafe", "spiral", "none"])] == [
                "cafe",
                "spiral",
            ]


def test_numbers_hashes_and_runs_of_cjk_have_no_trigrams(store: Store) -> None:
    words = set(spelt(index_of(store).connection).values())
    assert {"spider", "cafe", "processspid"} <= words
    assert not {word for word in words if word[0].isdigit() or max(word) > "\u1100"}


def test_a_term_that_no_document_holds_any_more_is_nowhere_near(store: Store) -> None:
    with store.write() as change:
        documents.remove_owned(change, 1)
        documents.remove(change, 1)
    store.catch_up()
    for engine in _both(store):
        with engine.snapshot():
            assert engine.near_terms("getrusae", 10) == engine.terms_containing("spid", 10) == []
            assert engine.look_up_any(["spider"]) == []


def test_a_rebuilt_index_has_no_trigrams_of_what_is_gone(store: Store) -> None:
    with store.write() as change:
        documents.remove_owned(change, 1)
        documents.remove(change, 1)
    store.catch_up()
    assert "getrusag" in spelt(index_of(store).connection).values()
    rebuild(fts5_of(store))
    assert "getrusag" not in spelt(index_of(store).connection).values()
    assert index_of(store).connection.execute("SELECT count(*) FROM main.term_trigrams_docsize").get == len(
        spelt(index_of(store).connection)
    )

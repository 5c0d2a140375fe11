"""Optimising keeps every answer, gives the room back, and says where a reader kept a log."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import found, make_store, open_again, save

from ctxrank.indexer.care.compaction import optimize
from ctxrank.indexer.fulltext.fts5_engine import index_of
from ctxrank.indexer.privacy.retention import prune_expired
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.ids import DocumentRef
from ctxrank.indexer.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        for place in range(30):
            save(opened, f"{place}.md", f"# Zebra {place}\n\n" + f"The stripes of zebra {place} are unique. " * 40)
        yield opened


def test_the_answers_stay_and_the_files_shrink(store: Store) -> None:
    before = [(hit.id, hit.score) for hit in found(store, "zebra stripes", limit=50).hits]
    with store.write() as change:
        for number in range(1, 26):
            document = documents.document_id(change.connection, DocumentRef("package", number))
            documents.remove_owned(change, document)
    store.catch_up()
    kept = [(hit.id, hit.score) for hit in found(store, "zebra stripes", limit=50).hits]
    assert len(before) == len(kept) == 30
    done = optimize(store)
    assert done.is_complete and (done.stale, done.index_trouble) == (0, "")
    assert [one.name for one in done.files] == ["ctxrank.db", "index.db"]
    assert all(one.bytes_now < one.bytes_before for one in done.files)
    assert [(hit.id, hit.score) for hit in found(store, "zebra stripes", limit=50).hits] == kept
    assert index_of(store).is_sound() and prune_expired(store, {}, is_dry_run=True).total == 0
    again = optimize(store)
    assert all(one.bytes_now == one.bytes_before for one in again.files)


def test_an_index_that_is_not_there_is_made(store: Store) -> None:
    Path(store.location.index_file).unlink()
    with open_again(store) as other:
        assert optimize(other).stale == 0
        assert len(found(other, "zebra", limit=50).hits) == 30


def test_a_reader_keeps_a_log_and_the_answer_says_so(store: Store) -> None:
    with open_again(store) as reader:
        reader.primary.execute("BEGIN")
        reader.primary.execute("SELECT count(*) FROM documents").fetchone()
        store.primary.set_busy_timeout(50)
        assert not optimize(store).is_complete
        reader.primary.execute("COMMIT")
    assert optimize(store).is_complete

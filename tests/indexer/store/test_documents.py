"""Documents as rows: what is written, moved and removed with one, and how its tokens are counted later."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from builders import make_store

from ctxrank.indexer.exceptions import NotFoundError
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.documents import Document, backfill_counts
from ctxrank.indexer.store.ids import DocumentRef
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text import vocabulary
from ctxrank.indexer.text.tokens import TokenCounter
from ctxrank.indexer.text.vocabulary import ENCODING

OWNER = Document("artifact", 1, "a.py", "all of it", 10, 1, "a.py", agent="qa", type="code", priority="low")
PASSAGE = Document("passage", None, "a.py: load", "def loadConfig(): pass", 10, 1, "a.py", start_line=3, end_line=4)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as store:
        yield store


def put_with_passages(change: Change, number: int = 1) -> int:
    owner = documents.put(change, OWNER._replace(number=number))
    for line in (3, 1):
        documents.put(change, PASSAGE._replace(owner_id=owner, start_line=line))
    return owner


def column(store: Store, name: str, where: str = "true") -> list[object]:
    return [value for (value,) in store.primary.execute(f"SELECT {name} FROM documents WHERE {where} ORDER BY id")]


def test_a_record_is_written_over_and_a_passage_is_always_new(store: Store) -> None:
    with store.write() as change:
        first = documents.put(change, OWNER)
        assert documents.put(change, OWNER._replace(body="more")) == first
        assert documents.put(change, OWNER._replace(number=2, body="other")) != first
        assert documents.put(change, PASSAGE) != documents.put(change, PASSAGE)
    assert column(store, "body", "kind = 'artifact'") == ["more", "other"]
    assert set(store.primary.execute("SELECT text FROM labels").get) == {"qa", "code", "low"}


def test_a_passage_is_found_by_the_names_that_it_defines_and_a_document_is_not(store: Store) -> None:
    with store.write() as change:
        for document in (PASSAGE, PASSAGE._replace(path=""), OWNER._replace(body=PASSAGE.body, title=PASSAGE.title)):
            documents.put(change, document)
    names = [set(str(text).split()) for text in column(store, "identifiers")]
    assert names[1] == names[2] == {"load", "config"} < names[0]


def test_what_is_removed_leaves_a_tombstone_each_and_takes_its_passages_along(store: Store) -> None:
    with store.write() as change:
        owner = put_with_passages(change)
        other = put_with_passages(change, 2)
        assert documents.remove_owned(change, other) == 2
        documents.remove(change, owner)
        documents.remove(change, owner)
    assert column(store, "id") == [other]
    assert store.primary.execute("SELECT count(*), count(DISTINCT seq) FROM tombstones").fetchone() == (5, 5)


def test_another_date_reaches_the_passages_and_is_numbered_where_it_is_to_be(store: Store) -> None:
    with store.write() as change:
        owner = put_with_passages(change)
    before = column(store, "seq")
    for date, is_numbered in ((20, False), (30, True)):
        with store.write() as change:
            documents.redate(change, owner, date, is_numbered=is_numbered)
        assert column(store, "created_at") == [date] * 3
        assert column(store, "seq")[1:] == before[1:] and (column(store, "seq") != before) is is_numbered


def test_passages_get_the_facets_of_their_document_and_only_changes_are_numbered(store: Store) -> None:
    with store.write() as change:
        owner = put_with_passages(change)
        change.connection.execute("UPDATE documents SET agent = 'qa', type = 'code', priority = 'low' WHERE seq = 2")
        documents.pass_on_facets(change, owner)
    assert column(store, "agent || type || priority") == ["qacodelow"] * 3
    assert column(store, "seq") == [1, 2, 4]


def test_passages_are_copied_in_the_order_of_their_lines_with_the_facets_of_the_new_document(store: Store) -> None:
    with store.write() as change:
        first = put_with_passages(change)
        other = documents.put(change, OWNER._replace(number=2, agent="pm", created_at=77))
        documents.copy_passages(change, first, other)
    assert column(store, "start_line", f"owner_id = {other}") == [1, 3]
    assert column(store, "DISTINCT agent || created_at || body", f"owner_id = {other}") == [f"pm77{PASSAGE.body}"]
    assert len(set(column(store, "seq"))) == 6


def test_a_document_is_known_by_its_record_and_a_passage_by_itself(store: Store) -> None:
    with store.write() as change:
        documents.put(change, PASSAGE)
        owner = documents.put(change, OWNER._replace(number=7))
    assert documents.document_id(store.primary, DocumentRef("artifact", 7)) == owner
    assert documents.document_id(store.primary, DocumentRef("passage", 1)) == 1
    for ref in (DocumentRef("artifact", owner), DocumentRef("passage", owner)):
        with pytest.raises(NotFoundError, match=f"There is no {ref}"):
            documents.document_id(store.primary, ref)


class Counters:
    """Counters of this process and of this machine, as a test sets them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def are(self, count: Callable[[str], int] | None) -> None:
        """This machine's; None is none."""
        counter = None if count is None else TokenCounter(ENCODING, count)
        self._monkeypatch.setattr(vocabulary, "local_counter", lambda: counter)


@pytest.fixture
def counters(monkeypatch: pytest.MonkeyPatch) -> Counters:
    monkeypatch.setattr(vocabulary, "process_counter", lambda: None)
    monkeypatch.setattr(documents, "_BATCH_DOCUMENTS", 3)
    return Counters(monkeypatch)


@pytest.mark.parametrize("count", [1, 3, 7])
def test_what_was_estimated_is_counted_later_and_no_text_is_a_change(
    store: Store, counters: Counters, count: int
) -> None:
    with store.write() as change:
        for number in range(count):
            documents.put(change, OWNER._replace(number=number + 1, body="a" * (number + 50)))
    before = column(store, "seq")
    counters.are(None)
    assert backfill_counts(store) == 0 and set(column(store, "token_counter")) != {ENCODING}
    counters.are(len)
    assert (backfill_counts(store), backfill_counts(store)) == (count, 0)
    assert column(store, "tokens") == [number + 50 for number in range(count)]
    assert set(column(store, "token_counter")) == {ENCODING} and column(store, "seq") == before


def test_a_document_that_is_changed_while_it_is_counted_keeps_its_estimate(store: Store, counters: Counters) -> None:
    with store.write() as change:
        for number in (1, 2):
            documents.put(change, OWNER._replace(number=number))

    def changing(text: str) -> int:
        if not column(store, "id", "body = 'new'"):
            with store.write() as change:
                documents.put(change, OWNER._replace(body="new"))
        return len(text)

    counters.are(changing)
    assert backfill_counts(store) == 1
    assert column(store, "token_counter", f"token_counter <> '{ENCODING}'") == ["estimate"]
    assert backfill_counts(store) == 1


def test_what_is_moved_has_the_identifiers_of_what_is_written_so(store: Store) -> None:
    written = OWNER._replace(kind="package", title="loadConfig.py", body="loadConfig " * 4, path="new.py")
    with store.write() as change:
        documents.put(change, written)
        old = documents.put(change, written._replace(number=2, title="old.py", path="old.py"))
        documents.move(change, old, path="new.py", title="loadConfig.py")
    put, moved = column(store, "identifiers")
    assert moved == put == " ".join(["load config"] * 4)

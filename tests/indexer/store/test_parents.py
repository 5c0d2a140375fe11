"""What hits are shown as, read from the primary database, and what of a damaged row is said."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store, save

from ctxrank.indexer.store import documents, parents
from ctxrank.indexer.store.documents import Document
from ctxrank.indexer.store.facets import Scope
from ctxrank.indexer.store.store import Store

LONG = "\n\n".join(f"# Part {number}\n\n{'Some words of it. ' * 40}" for number in range(3))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as store:
        save(store, "a.md", LONG, priority="high", created_at=100)
        save(store, "b.md", "Short.", priority="low", created_at=200)
        yield store


def ids_of(store: Store, where: str) -> list[int]:
    return [number for (number,) in store.primary.execute(f"SELECT id FROM documents WHERE {where} ORDER BY id")]


def test_a_parent_has_names_for_its_session_and_group_and_the_file_that_it_is_of(store: Store) -> None:
    (own,) = ids_of(store, "kind = 'package' AND record_id = 1")
    found = parents.read_parents(store.primary, [own, 999])
    parent = found.pop(own)
    assert not found and (parent.session, parent.group, parent.priority, parent.artifact_id) == ("S", "G", "high", 1)
    assert (parent.kind, parent.number, parent.path, parent.created_at) == ("package", 1, "a.md", 100)


def test_the_passages_of_a_document_are_in_their_order(store: Store) -> None:
    (own,) = ids_of(store, "kind = 'package' AND record_id = 1")
    passages, corrupt = parents.passages_of_parent(store.primary, own)
    assert "".join(passage.body for passage in passages) == LONG and not corrupt
    assert [passage.start_line for passage in passages] == sorted(passage.start_line for passage in passages)
    assert parents.read_passages(store.primary, [passages[0].id]) == {passages[0].id: passages[0]}


def test_signals_are_of_what_the_index_has_read(store: Store) -> None:
    first, second = ids_of(store, "kind = 'package'")
    seq = next(store.primary.execute("SELECT seq FROM documents WHERE id = ?", (second,)))[0]
    signals = parents.read_signals(store.primary, [second, first, 999], seq)
    assert [(one.id, one.priority, one.created_at) for one in signals] == [(second, "low", 200), (first, "high", 100)]
    assert not any(one.is_superseded or one.path for one in signals)
    assert [one.id for one in parents.read_signals(store.primary, [second, first], seq - 1)] == [first]


def test_bounds_are_of_what_was_ever_stored(store: Store, tmp_path: Path) -> None:
    bounds = parents.read_feature_bounds(store.primary, ("critical", "high", "low"))
    assert bounds.has_passages and set(bounds.priorities) == {"high", "low"}
    with make_store(tmp_path / "empty") as empty:
        assert parents.read_feature_bounds(empty.primary, ("high",)) == parents.FeatureBounds(False, ())


def test_few_documents_are_counted_with_their_passages(store: Store) -> None:
    count = len(ids_of(store, "true"))
    assert parents.count_documents(store.primary) == count
    rows = parents.few_rows(store.primary, ("package",), count)
    texts = parents.few_texts(store.primary, ("package",), count)
    assert rows is not None and texts is not None
    assert {row & 0xFFFFFFFF for row in rows} == set(ids_of(store, "true")) and len(texts) == count
    assert parents.few_rows(store.primary, ("package",), count - 1) is None
    assert parents.few_texts(store.primary, ("reasoning",), 0) == []
    store.primary.execute("UPDATE documents SET superseded_by = 1 WHERE body = 'Short.'")
    assert len(parents.few_rows(store.primary, ("package",), count) or ()) == count - len(
        ids_of(store, "body = 'Short.'")
    )


def test_a_row_that_no_row_can_be_is_left_out_and_named(store: Store) -> None:
    (own,) = ids_of(store, "kind = 'package' AND record_id = 1")
    passage, *_ = ids_of(store, f"owner_id = {own}")
    assert not parents.has_corrupt_rows(store.primary)
    store.primary.execute(
        "CREATE TABLE loose AS SELECT * FROM documents; PRAGMA writable_schema = on;"
        "PRAGMA foreign_keys = off; DROP TABLE documents; ALTER TABLE loose RENAME TO documents"
    )
    store.primary.execute("UPDATE documents SET body = x'00' WHERE id IN (?, ?)", (own, passage))
    assert parents.has_corrupt_rows(store.primary)
    shown, corrupt = parents.parents_in_scope(store.primary, Scope())
    assert corrupt == [own] and own not in [one.id for one in shown] and shown
    assert parents.passages_of_parent(store.primary, own)[1] == [passage]
    for read, number in ((parents.read_parents, own), (parents.read_passages, passage)):
        with pytest.raises(TypeError):
            read(store.primary, [number])


def test_every_document_that_can_be_a_hit_is_in_scope(store: Store) -> None:
    with store.write() as change:
        documents.put(change, Document("reasoning", 1, "t", "b", 300, 1, agent="qa"))
    everything = parents.parents_in_scope(store.primary, Scope())[0]
    assert sorted(one.kind for one in everything) == ["package", "package", "reasoning"]
    for scope, count in (
        (Scope(kinds=("package",)), 2),
        (Scope(kinds=("passage",)), 2),
        (Scope(agents=("qa",)), 1),
        (Scope(since=200), 2),
        (Scope(until=200), 2),
        (Scope(since=101, until=199), 0),
        (Scope(priorities=("low",)), 1),
        (Scope(paths=("a.md",)), 1),
        (Scope(paths=("*.md", "none")), 2),
        (Scope(origins=(0,)), 3),
        (Scope(origins=(1,)), 0),
        (Scope(without=(Scope(agents=("qa",)),)), 2),
        (Scope(kinds=("package",), without=(Scope(paths=("b.md",)),)), 1),
    ):
        assert len(parents.parents_in_scope(store.primary, scope)[0]) == count, scope
    assert Scope(session_ids=(1,)).is_narrow and Scope(document_ids=frozenset()).is_narrow
    assert not Scope(session_ids=(1, 2)).is_narrow and not Scope().is_narrow

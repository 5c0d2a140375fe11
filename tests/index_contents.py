"""Everything that an index holds, as plain values that two indexes can be compared by."""

from collections.abc import Collection
from typing import NamedTuple

from files_left import spelt

from ctxrank.indexer.fulltext.forward import frequencies, term_ids
from ctxrank.indexer.fulltext.fts5_engine import index_of
from ctxrank.indexer.store.facets import index_rowid
from ctxrank.indexer.store.store import Store


class _AsPacked(dict[int, int]):
    """Packed counts as they are."""

    def __missing__(self, packed: int) -> int:
        return packed


def packed_counts(blob: bytes, wanted: Collection[int]) -> list[tuple[int, int]]:
    """(term id, packed counts) of those of the wanted terms that occur in one document. Raises ValueError as above."""
    return frequencies([blob], list(wanted), _AsPacked())[0]


class IndexContents(NamedTuple):
    """`forward` is rowid → (owner, length, term → packed counts); `instances` is every token of FTS5's own."""

    documents: int
    total_length: int
    df: dict[str, int]
    forward: dict[int, tuple[int, int, dict[str, int]]]
    instances: set[tuple[str, int, str, int]]
    spelt: set[str]
    titles: dict[str, int]


def index_contents(store: Store) -> IndexContents:
    """What the index of a store holds now; terms that no document holds any more are left out."""
    connection = index_of(store).connection
    state = index_of(store).state()
    names = {int(id_): str(term) for id_, term in connection.execute("SELECT id, term FROM main.terms")}
    forward = {
        int(rowid): (int(owner), int(length), _counts(blob, names))
        for rowid, owner, length, blob in connection.execute("SELECT id, owner_id, length, terms FROM main.forward")
    }
    connection.execute("CREATE VIRTUAL TABLE temp.instances USING fts5vocab('main', 'fts', 'instance')")
    instances = {
        (str(term), int(doc), str(col), int(offset))
        for term, doc, col, offset in connection.execute("SELECT term, doc, col, offset FROM temp.instances")
    }
    connection.execute("DROP TABLE temp.instances")
    df = {str(term): int(count) for term, count in connection.execute("SELECT term, df FROM main.terms WHERE df")}
    in_titles = connection.execute("SELECT term, titles FROM main.terms WHERE titles")
    titles = {str(term): int(count) for term, count in in_titles}
    spelt_terms = {word for id_, word in spelt(connection).items() if names.get(id_) in df}
    return IndexContents(state.documents, state.total_length, df, forward, instances, spelt_terms, titles)


def _counts(blob: bytes, names: dict[int, str]) -> dict[str, int]:
    return {names[id_]: packed for id_, packed in packed_counts(blob, frozenset(term_ids(blob)))}


def live_rowids(store: Store) -> set[int]:
    """The rowids that an index without ghosts has."""
    rows = store.primary.execute("SELECT session_id, id FROM documents")
    return {index_rowid(int(session), int(document)) for session, document in rows}


def has_no_ghosts(store: Store) -> bool:
    """Whether the index holds exactly the documents of the primary database, in all of its tables."""
    contents, live = index_contents(store), live_rowids(store)
    found = {doc for _, doc, _, _ in contents.instances} - {0}
    return contents.documents == len(live) and contents.forward.keys() == live and found == live

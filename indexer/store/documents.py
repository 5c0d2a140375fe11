"""Documents: everything searchable, one row each, and the change log's numbers.

Texts are redacted before, and what was purged is refused where a record or a file comes in; this module counts them,
splits their identifiers, notes what they define, and numbers the change.
"""

from collections.abc import Iterable, Iterator

import apsw

from ctxrank.indexer.exceptions import NotFoundError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import read_column, read_value
from ctxrank.indexer.store.ids import DocumentRef
from ctxrank.indexer.store.rows import Value, insert, update
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.lines import searchable
from ctxrank.indexer.text.tokens import ESTIMATE, TokenCounter, estimate_tokens

_BATCH_DOCUMENTS = 500
TextCount = tuple[int, str]  # how many tokens a text has, and who counted


class Document(NamedTuple):
    """What makes a document; ids are row ids of the primary database, 0 means none. Texts are redacted already.

    A passage has the labels of its owner, and the time of its file.
    """

    kind: str
    number: int | None  # id in its own table; None for a passage
    title: str
    body: str
    created_at: int
    ruleset: int
    path: str = ""
    owner_id: int | None = None
    session_id: int = 0
    group_id: int = 0
    agent: str = ""
    type: str = ""
    priority: str = ""
    passage_key: str = ""
    start_line: int = 0
    end_line: int = 0
    superseded_by: int | None = None
    counted: TextCount | None = None  # of the body; None: not yet


def put(change: Change, document: Document) -> int:
    """Write a document, new or changed, and number the change; returns the document's id.

    A document with a number replaces the one of the same kind and number; a passage is always new.
    """
    found = None
    if document.number is not None:
        query = "SELECT id FROM documents WHERE kind = ? AND record_id = ?"
        found = read_value(change.connection, query, (document.kind, document.number), int)
    if document.owner_id is None:  # a passage has the labels of its owner, which was put before it
        labels = [(label,) for label in (document.agent, document.type, document.priority) if label]
        change.connection.executemany("INSERT OR IGNORE INTO labels (text) VALUES (?)", labels)
    if found is not None:
        replace(change, found, document)
        return found
    put_all(change, [document])
    return change.connection.last_insert_rowid()


def replace(change: Change, document_id: int, document: Document) -> None:
    """Write over a document that is known by its own id: how a passage changes owner or place."""
    [row] = _rows(change, [document])
    change.connection.execute(_UPDATE, (*row, document_id))


def put_all(change: Change, new: Iterable[Document]) -> None:
    """Write new passages, and number the changes: `put` for all of them in one statement."""
    change.connection.executemany(_INSERT, _rows(change, new))


def copy_passages(change: Change, of_id: int, owner_id: int) -> None:
    """Give the passages of a document to another one, too, with its facets, and number the changes."""
    facets = ("session_id", "group_id", "agent", "type", "priority", "created_at")
    values = {name: f"o.{name}" if name in facets else f"p.{name}" for name in _COLUMNS}
    values |= {"owner_id": "o.id", "seq": "?"}
    query = f"""
        INSERT INTO documents ({", ".join(_COLUMNS)})
        SELECT {", ".join(values.values())} FROM documents AS p, documents AS o WHERE p.id = ? AND o.id = ?
    """
    passages = "SELECT id FROM documents WHERE owner_id = ? ORDER BY start_line, id"
    for passage_id in read_column(change.connection, passages, (of_id,), int):
        change.connection.execute(query, (change.next_seq(), passage_id, owner_id))


# Those that a document says come first, in its order.
COLUMNS_OF_DOCUMENT = tuple("record_id" if name == "number" else name for name in Document._fields[:-1])
_COLUMNS = (*COLUMNS_OF_DOCUMENT, "seq", "identifiers", "tokens", "token_counter")
_INSERT = f"INSERT INTO documents ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_COUNTED = "UPDATE documents SET tokens = ?, token_counter = ? WHERE id = ? AND seq = ?"
_UPDATE = f"UPDATE documents SET {', '.join(f'{column} = ?' for column in _COLUMNS)} WHERE id = ?"


def _rows(change: Change, documents: Iterable[Document]) -> Iterator[tuple[str | int | None, ...]]:
    """The columns; the identifiers are the parts of compound words and, of a passage, the names that it defines."""
    from ctxrank.indexer.text.definitions import defined_names, with_names  # noqa: PLC0415  start-up: writing only
    from ctxrank.indexer.text.identifiers import split_identifiers  # noqa: PLC0415  as above

    for document in documents:
        identifiers = split_identifiers(searchable(document.title), searchable(document.body))
        if document.kind == "passage":
            identifiers = with_names(identifiers, defined_names(document.body, document.path))
        counted = document.counted or next(count_tokens([document.body]))
        yield (*document[:-1], change.next_seq(), identifiers, *counted)


def count_tokens(texts: Iterable[str]) -> Iterator[TextCount]:
    """The tokens of each text: exact where a vocabulary is on this machine, else estimated."""
    from ctxrank.indexer.text.vocabulary import process_counter  # noqa: PLC0415  start-up: writing only

    counter = process_counter() or TokenCounter(ESTIMATE, estimate_tokens)
    return ((counter.count(text), counter.name) for text in texts)


def remove(change: Change, document_id: int) -> None:
    """Turn a document, and its passages, into tombstones: an id and the change's number each, no content."""
    remove_owned(change, document_id)
    change.connection.execute("DELETE FROM anchors WHERE document_id = ?", (document_id,))  # keys may be off
    query = "DELETE FROM documents WHERE id = ? RETURNING session_id"
    session_id = read_value(change.connection, query, (document_id,), int)
    if session_id is not None:
        tombstone = {"document_id": document_id, "seq": change.next_seq(), "session_id": session_id}
        insert(change.connection, "tombstones", tombstone)


def remove_owned(change: Change, owner_id: int) -> int:
    """Remove all passages of a document; returns how many there were."""
    ids = read_column(change.connection, "SELECT id FROM documents WHERE owner_id = ?", (owner_id,), int)
    for document_id in ids:
        remove(change, document_id)
    return len(ids)


def touch(change: Change, document_id: int, *, superseded_by: int | None) -> None:
    """Mark a document as superseded, or as current again, and number the change."""
    update(change.connection, "documents", document_id, {"seq": change.next_seq(), "superseded_by": superseded_by})


def redate(change: Change, document_id: int, created_at: int, *, is_numbered: bool) -> None:
    """Give a file's document, and its passages, another date; the index holds none, so it need not be numbered."""
    if is_numbered:
        update(change.connection, "documents", document_id, {"seq": change.next_seq()})
    query = "UPDATE documents SET created_at = ?1 WHERE (id = ?2 OR owner_id = ?2) AND created_at <> ?1"
    change.connection.execute(query, (created_at, document_id))


def move(change: Change, document_id: int, *, path: str, title: str) -> None:
    """Give a document another path and title, and number the change."""
    from ctxrank.indexer.text.identifiers import split_identifiers  # noqa: PLC0415  start-up: writing only

    body = read_value(change.connection, "SELECT body FROM documents WHERE id = ?", (document_id,), str)
    assert body is not None, "only a document that was just found is moved"
    identifiers = split_identifiers(searchable(title), searchable(body))
    values: dict[str, Value] = {"seq": change.next_seq(), "path": path, "title": title, "identifiers": identifiers}
    update(change.connection, "documents", document_id, values)


def pass_on_facets(change: Change, owner_id: int) -> None:
    """Give the passages of a document its path, group, agent, type and priority, and number the changes."""
    names = "path, group_id, agent, type, priority"
    facets = change.connection.execute(f"SELECT {names} FROM documents WHERE id = ?", (owner_id,)).fetchone()
    assert facets is not None, "only a document that was just written passes its facets on"
    others = f"SELECT id FROM documents WHERE owner_id = ? AND ({names}) IS NOT (?, ?, ?, ?, ?)"
    query = f"UPDATE documents SET (seq, {names}) = (?, ?, ?, ?, ?, ?) WHERE id = ?"
    for passage_id in read_column(change.connection, others, (owner_id, *facets), int):
        change.connection.execute(query, (change.next_seq(), *facets, passage_id))


def document_id(primary: apsw.Connection, ref: DocumentRef) -> int:
    """The row id of a public id; a passage's number is its row id. Raises NotFoundError."""
    column = "id" if ref.kind == "passage" else "record_id"
    query = f"SELECT id FROM documents WHERE kind = ? AND {column} = ?"
    found = read_value(primary, query, (ref.kind, ref.number), int)
    if found is None:
        raise NotFoundError(f"There is no {ref}.", "'ctxrank search' and 'ctxrank list packages' show ids.")
    return found


def backfill_counts(store: Store) -> int:
    """Count every document that the local vocabulary has not counted yet; returns how many.

    Without a local vocabulary it does nothing. It counts between short transactions; a document that is
    changed meanwhile keeps its estimate for the next run.
    """
    from ctxrank.indexer.text.vocabulary import ENCODING, local_counter  # noqa: PLC0415  start-up: writing only

    # Written out, not bound: the index holds these documents alone, and SQLite takes it only for this very condition.
    uncounted = f"token_counter <> '{ENCODING}'"
    if not store.primary.execute(f"SELECT EXISTS (SELECT 1 FROM documents WHERE {uncounted})").get:
        return 0
    counter = local_counter()  # loads the vocabulary, hence not before there is something to count
    if counter is None:
        return 0
    counted = last_id = 0
    query = f"SELECT id, seq, body FROM documents WHERE id > ? AND {uncounted} ORDER BY id LIMIT ?"
    while rows := list(store.primary.execute(query, (last_id, _BATCH_DOCUMENTS))):
        counts = [(counter.count(body), counter.name, id_, seq) for id_, seq, body in rows]
        last_id = rows[-1][0]
        with store.write() as change:  # no text changes, so nothing enters the change log
            for count in counts:
                change.connection.execute(_COUNTED, count)
                counted += change.connection.changes()
    return counted

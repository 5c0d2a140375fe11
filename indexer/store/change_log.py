"""The change log: every change of a document in its order, as a consumer of the log reads it.

    batch = read_changes(connection, "main", after=0, most=10_000)
    batch.documents, batch.deletions        # each with the number of its change, `seq`
    batch.end                               # apply these, and everything up to this number is applied

A document changed twice is in the log once, under its last number; a deletion leaves an id and a number.
"""

import apsw

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import read_value, require_value
from ctxrank.indexer.text.lines import searchable

# What one batch holds at most of bodies and identifiers.
_BATCH_CHARS = 8_000_000
_EVERYTHING = 1 << 62  # beyond any number of a change


class LoggedDocument(NamedTuple):
    """One document as of its last change, with what an index needs of it: texts without what is invisible."""

    seq: int
    id: int
    kind: str
    owner_id: int | None  # the parent of a passage
    session_id: int
    group_id: int
    agent: str
    type: str
    priority: str
    superseded_by: int | None
    title: str
    body: str
    path: str
    identifiers: str


class LoggedDeletion(NamedTuple):
    """A document that is gone."""

    seq: int
    session_id: int
    id: int


class ChangeBatch(NamedTuple):
    """The changes after some number up to `end`; `is_last` where there were no more."""

    documents: list[LoggedDocument]
    deletions: list[LoggedDeletion]
    end: int
    is_last: bool


def read_changes(connection: apsw.Connection, schema: str, *, after: int, most: int) -> ChangeBatch:
    """The next changes, about `most` of them, in the caller's snapshot."""
    documents: list[LoggedDocument] = []
    documents_end, chars = _EVERYTHING, 0
    query = f"""
        SELECT {", ".join(LoggedDocument._fields)}
          FROM {schema}.documents
         WHERE seq > ?
         ORDER BY seq
         LIMIT ?
    """
    for row in connection.execute(query, (after, most)):
        document = LoggedDocument._make(row)
        if not (document.body.isascii() and document.title.isascii() and document.path.isascii()):
            title, body, path = (searchable(text) for text in (document.title, document.body, document.path))
            document = document._replace(title=title, body=body, path=path)
        documents.append(document)
        chars += len(document.body) + len(document.identifiers)
        if chars >= _BATCH_CHARS or len(documents) == most:
            documents_end = document.seq
            break
    query = f"SELECT seq, session_id, document_id FROM {schema}.tombstones WHERE seq > ? ORDER BY seq LIMIT ?"
    deletions = [LoggedDeletion(*row) for row in connection.execute(query, (after, most))]
    deletions_end = deletions[-1].seq if len(deletions) == most else _EVERYTHING
    end = min(documents_end, deletions_end)
    documents = [document for document in documents if document.seq <= end]
    deletions = [deletion for deletion in deletions if deletion.seq <= end]
    return ChangeBatch(documents, deletions, min(end, last_seq(connection, schema)), is_last=end == _EVERYTHING)


def history_id(connection: apsw.Connection, schema: str, seq: int) -> int:
    """What distinguishes this history from another at this number (a restored backup, a replaced file); 0 before the
    first change, -1 where the log does not know the number.
    """
    if seq == 0:
        return 0
    query = f"SELECT history_id FROM {schema}.history_checkpoints WHERE seq >= ? ORDER BY seq LIMIT 1"
    found = read_value(connection, query, (seq,), int)
    return -1 if found is None else found


def last_seq(connection: apsw.Connection, schema: str) -> int:
    """The number of the last change."""
    return read_value(connection, f"SELECT seq FROM {schema}.store WHERE id = 1", (), int) or 0


def changes_after(connection: apsw.Connection, seq: int, schema: str = "main") -> int:
    """How many documents and tombstones came after this point of the log."""
    query = f"""
        SELECT (SELECT count(*) FROM {schema}.documents WHERE seq > ?1)
             + (SELECT count(*) FROM {schema}.tombstones WHERE seq > ?1)
    """
    return require_value(connection, query, (seq,), int)

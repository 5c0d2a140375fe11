"""The shortest document of a term at each level of its frequency, and what is left of it after changes."""

from pathlib import Path
from typing import Any

import apsw
from builders import make_store, save

from ctxrank.indexer.fulltext.catch_up import rebuild
from ctxrank.indexer.fulltext.fts5_engine import fts5_of, index_of
from ctxrank.indexer.fulltext.impact_bounds import COLUMNS, SHORTEST
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.connection import read_column
from ctxrank.indexer.store.ids import DocumentRef


def _lengths(connection: apsw.Connection, term: str) -> list[int]:
    row = connection.execute(f"SELECT {SHORTEST} FROM main.terms WHERE term = ?", (term,)).fetchone()
    assert row is not None
    return list(map(int, row))


def test_the_index_knows_the_shortest_document_of_every_term(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    for number, summary in enumerate(("kiwi", "kiwi plum", "kiwi kiwi plum fig", "date")):
        save(store, f"p{number}.md", None, summary=summary)
    connection = index_of(store).connection
    rows: Any = connection.execute("SELECT id & 0xffffffff, length FROM main.forward").fetchall()
    lengths = dict(rows)
    shortest, next_one, third, _ = (int(lengths[id_]) for id_ in sorted(lengths))
    assert (
        _lengths(index_of(store).connection, "kiwi")[:2] == [shortest, third]
        and _lengths(index_of(store).connection, "plum")[0] == next_one
    )


def test_new_terms_are_written_in_the_order_of_the_tables_columns(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    save(store, "a.md", None, summary="kiwi")
    query = "SELECT name FROM pragma_table_info('terms') ORDER BY cid"
    columns = read_column(index_of(store).connection, query, (), str)
    assert columns == ["id", "term", "df", "titles", *COLUMNS]


def test_a_removed_document_leaves_its_length_behind_until_the_index_is_made_anew(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    save(store, "a.md", None, summary="kiwi")
    save(store, "b.md", None, summary="a longer text with a kiwi in it")
    connection = index_of(store).connection
    before = _lengths(connection, "kiwi")
    with store.write() as change:
        documents.remove(change, documents.document_id(change.connection, DocumentRef("package", 1)))
    store.catch_up()
    assert _lengths(connection, "kiwi") == before
    rebuild(fts5_of(store))
    assert _lengths(connection, "kiwi")[0] > before[0]

"""The index proved against the primary database: what each document should have left there, computed and compared.

    documents ──tokenizer──► terms, counts, lengths, facets   ═?═   forward list, statistics, FTS5's own postings

FTS5's postings are compared by a sum for each document, over every token's term, column and place: it takes one number
a document instead of a copy of the index, and two different documents have the same sum once in 2⁶⁴.
"""

from collections.abc import Iterable, Iterator

import apsw

from ctxrank.indexer.care.finding import Finding, find
from ctxrank.indexer.engine import IndexHealth
from ctxrank.indexer.fulltext import index_file
from ctxrank.indexer.fulltext.catch_up import IndexRow, index_rows
from ctxrank.indexer.fulltext.dictionary import has_trigrams, trigrams_of
from ctxrank.indexer.fulltext.impact_bounds import SHORTEST
from ctxrank.indexer.fulltext.term_counts import TermCounter
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.change_log import read_changes
from ctxrank.indexer.store.connection import read_column, read_map, snapshot
from ctxrank.indexer.store.facets import SENTINEL, document_id_of
from ctxrank.indexer.text.lines import listed

_COLUMNS = {name: place for place, name in enumerate(("title", "body", "path", "identifiers", "scope"))}
_SHOWN = 5
_BATCH_DOCUMENTS = 10_000


class _Expected(NamedTuple):
    """What the primary database says the index should hold, and the documents whose forward entry says otherwise."""

    sums: dict[int, int]  # by row, of its postings
    words: set[str]  # as FTS5 lists them
    terms: dict[int, tuple[int, ...]]  # by id: its df, the shortest document at each level
    titles: dict[int, int]  # by id: how many titles of files have it
    texts: int
    total_length: int  # of these
    wrong_forward: list[int]


def prove_index(connection: apsw.Connection, path: str) -> Iterator[Finding]:
    """Compare the index of this connection with the primary database next to it. Raises apsw.Error."""
    index = index_file.Index(connection, IndexHealth.OK, path)
    with snapshot(connection):
        state = index.state()
        if connection.execute("SELECT seq FROM primary_db.store").fetchone() != (state.applied_seq,):
            yield find("index-proof", "lags")
            return
        expected = _expect(connection, index)
        documents = len(expected.sums) - 1
        yield _about_documents("index-forward", expected.wrong_forward, documents)
        stored = set(read_column(connection, "SELECT id FROM main.forward", (), int))
        found, terms = _postings(connection)
        ghosts = sorted(stored - expected.sums.keys()) + sorted(found.keys() - expected.sums.keys() - stored)
        yield _about_documents("index-ghosts", ghosts, documents)
        wrong = [rowid for rowid, total in expected.sums.items() if found.get(rowid, 0) != total]
        yield _about_documents("index-postings", wrong, documents)
        strange, missing = len(terms - expected.words), len(expected.words - terms)
        case = "wrong" * bool(strange or missing)
        yield find("index-vocabulary", case, ghosts=strange, missing=missing, count=len(expected.words))
        counts = read_map(connection, "SELECT id, df FROM main.terms WHERE df <> 0", (), int, int)
        miscounted = sum(counts.get(id_) != df for id_, (df, *_) in expected.terms.items())
        miscounted += len(counts.keys() - expected.terms.keys())
        titled = read_map(connection, "SELECT id, titles FROM main.terms WHERE titles <> 0", (), int, int)
        miscounted += len(titled.items() ^ expected.titles.items())
        totals, tokens = (state.documents, state.total_length), expected.total_length
        is_wrong = (*totals, state.texts) != (documents, tokens, expected.texts)
        case = "wrong" * bool(miscounted or is_wrong)
        facts = {"wrong": miscounted, "totals": totals, "documents": documents, "tokens": tokens}
        yield find("index-statistics", case, **facts)
        # Ghosts included: the table of terms and that of their trigrams forget a term together.
        names = read_map(connection, "SELECT id, term FROM main.terms", (), int, str)
        trigrams = {id_: _sum_of(0, trigrams_of(term)) for id_, term in names.items() if has_trigrams(term)}
        listed: dict[int, int] = {}
        for trigram, id_, _, offset in _instances(connection, "term_trigrams"):
            listed[id_] = listed.get(id_, 0) + hash((trigram, 0, offset))
        strange = sum(listed.get(id_) != total for id_, total in trigrams.items())
        strange += len(listed.keys() - trigrams.keys())
        yield find("index-trigrams", "wrong" * bool(strange), wrong=strange, count=len(trigrams))
        long = 0  # a length that is too short only costs time; one that is too long would leave a good document out
        for id_, *bounds in connection.execute(f"SELECT id, {SHORTEST} FROM main.terms"):
            _, *shortest, _ = expected.terms.get(id_, (0, *bounds, id_))
            long += any(at > least for at, least in zip(bounds, shortest, strict=True))
        yield find("index-bounds", "wrong" * bool(long), wrong=long, count=len(expected.terms))


def _expect(connection: apsw.Connection, index: index_file.Index) -> _Expected:
    counter = TermCounter(index)
    counter.start()
    sums: dict[int, int] = {0: _sum_of(_COLUMNS["scope"], [SENTINEL])}
    texts = total_length = 0
    wrong: list[int] = []
    words: set[str] = set()
    query = "SELECT owner_id, length, is_title, terms FROM main.forward WHERE id = ?"
    for rowid, scope, one in _rows(connection):
        tokens = [index.tokens(text) for text in (one.title, one.body, one.path, one.identifiers, scope)]
        sums[rowid] = sum(_sum_of(place, column) for place, column in enumerate(tokens))
        words.update(*tokens[:4])
        terms, length, is_title = counter.add(one)
        texts += not is_title
        total_length += length * (not is_title)
        if connection.execute(query, (rowid,)).fetchone() != (one.owner_id or one.id, length, is_title, terms):
            wrong.append(rowid)
    return _Expected(sums, words, counter.take_changes(), counter.titles, texts, total_length, wrong)


def _rows(connection: apsw.Connection) -> Iterator[IndexRow]:
    """Every document, as the index should have it."""
    after, is_last = 0, False
    while not is_last:
        batch = read_changes(connection, index_file.PRIMARY, after=after, most=_BATCH_DOCUMENTS)
        yield from index_rows(connection, batch.documents)
        after, is_last = batch.end, batch.is_last or batch.end <= after


def _sum_of(place: int, tokens: Iterable[str]) -> int:
    return sum(hash((term, place, offset)) for offset, term in enumerate(tokens))


def _postings(connection: apsw.Connection) -> tuple[dict[int, int], set[str]]:
    """By row the sum of what FTS5 lists for it, and the terms, those of the scope left out."""
    sums: dict[int, int] = {}
    terms: set[str] = set()
    for term, rowid, column, offset in _instances(connection, "fts"):
        # A damaged place has no column.
        sums[rowid] = sums.get(rowid, 0) + hash((term, _COLUMNS.get(column), offset))
        if column != "scope":
            terms.add(term)
    return sums, terms


def _instances(connection: apsw.Connection, table: str) -> Iterator[tuple[str, int, str, int]]:
    """Every token that FTS5 lists in a table: its term, row, column and place."""
    connection.execute(f"CREATE VIRTUAL TABLE temp.doctor_instances USING fts5vocab('main', '{table}', 'instance')")
    try:
        yield from connection.execute("SELECT term, doc, col, offset FROM temp.doctor_instances")
    finally:
        # Where reading failed, SQLite has taken back the transaction, and the table with it.
        connection.execute("DROP TABLE IF EXISTS temp.doctor_instances")


def _about_documents(id: str, wrong: list[int], count: int) -> Finding:
    shown = listed([str(document_id_of(rowid)) for rowid in wrong], _SHOWN)
    return find(id, "wrong" * bool(wrong), wrong=shown, count=count)

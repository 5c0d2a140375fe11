"""The index proved against the primary database: what each document should have left there, computed and compared.

    documents ──tokenizer──► terms, counts, lengths, facets   ═?═   forward list, statistics, FTS5's own postings

FTS5's postings are compared by a sum for each document, over every token's term, column and place: it takes one number
a document instead of a copy of the index, and two different documents have the same sum once in 2⁶⁴.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import apsw

from ctxrank.indexer.care.finding import Finding, find
from ctxrank.indexer.engine import DEFINITION, HEADING, PATH, IndexHealth
from ctxrank.indexer.fulltext import forward, index_file
from ctxrank.indexer.fulltext.dictionary import has_trigrams, trigrams_of
from ctxrank.indexer.fulltext.impact_bounds import COLUMNS, LEVEL_OF, NONE
from ctxrank.indexer.fulltext.term_counts import NAME_COUNTS
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import read_column, read_map, snapshot
from ctxrank.indexer.store.facets import SENTINEL, document_id_of, index_rowid, scope_text
from ctxrank.indexer.text.definitions import Names, forms_of, names_in
from ctxrank.indexer.text.lines import searchable

_COLUMNS = {name: place for place, name in enumerate(("title", "body", "path", "identifiers", "scope"))}
_SHOWN = 5
_MASK = (1 << 64) - 1


class _Expected(NamedTuple):
    """What the primary database says the index should hold, and the documents whose forward entry says otherwise."""

    sums: dict[int, int]  # by row, of its postings
    words: set[str]  # as FTS5 lists them
    df: Counter[str]  # by term and field
    total_length: int
    titles_length: list[int]  # of each title of a file
    wrong_forward: list[int]
    shortest: dict[str, list[int]]  # by term and level


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
        counts = read_map(connection, "SELECT term, df FROM main.terms WHERE df <> 0", (), str, int)
        miscounted = sum(counts.get(term) != df for term, df in expected.df.items())
        miscounted += len(counts.keys() - expected.df.keys())
        totals, tokens = (state.documents, state.total_length), expected.total_length
        titles = (len(expected.titles_length), sum(expected.titles_length))
        is_wrong = totals != (documents, tokens) or (state.titles, state.titles_length) != titles
        case = "wrong" * bool(miscounted or is_wrong)
        facts = {"wrong": miscounted, "totals": totals, "documents": documents, "tokens": tokens}
        yield find("index-statistics", case, **facts)
        # Ghosts included: the table of terms and that of their trigrams forget a term together.
        names = read_map(connection, "SELECT id, term FROM main.terms", (), int, str)
        trigrams = {id_: _sum_of(0, trigrams_of(term)) for id_, term in names.items() if has_trigrams(term)}
        listed: dict[int, int] = {}
        for trigram, id_, _, offset in _instances(connection, "term_trigrams"):
            listed[id_] = listed.get(id_, 0) + hash((trigram, 0, offset)) & _MASK
        strange = sum(listed.get(id_) != total for id_, total in trigrams.items())
        strange += len(listed.keys() - trigrams.keys())
        yield find("index-trigrams", "wrong" * bool(strange), wrong=strange, count=len(trigrams))
        long = 0  # a length that is too short only costs time; one that is too long would leave a good document out
        for term, *bounds in connection.execute(f"SELECT term, {', '.join(COLUMNS)} FROM main.terms"):
            shortest = expected.shortest.get(term, bounds)
            long += any(at > least for at, least in zip(bounds, shortest, strict=True))
        yield find("index-bounds", "wrong" * bool(long), wrong=long, count=len(expected.shortest))


def _expect(connection: apsw.Connection, index: index_file.Index) -> _Expected:
    labels = read_map(connection, "SELECT text, id FROM primary_db.labels", (), str, int)
    names = read_map(connection, "SELECT id, term FROM main.terms", (), int, str)
    df: Counter[str] = Counter()
    sums: dict[int, int] = {0: _sum_of(_COLUMNS["scope"], [SENTINEL])}
    total_length = 0
    titles_length: list[int] = []
    wrong: list[int] = []
    words: set[str] = set()
    shortest: dict[str, list[int]] = {}
    for record in connection.execute(
        """
        SELECT id, owner_id, kind, session_id, group_id, agent, type, priority, superseded_by,
               title, body, path, identifiers
          FROM primary_db.documents
         ORDER BY id
        """
    ):
        id_, owner, kind, session, group, agent, type_, priority, superseded, *texts = record
        rowid = index_rowid(session, id_)
        scope = scope_text(
            kind, session, group, labels, agent=agent, type_=type_, priority=priority, is_current=superseded is None
        )
        *shown, identifiers = texts
        tokens = [index.tokens(text) for text in (*map(searchable, shown), identifiers, scope)]
        sums[rowid] = sum(_sum_of(place, column) for place, column in enumerate(tokens)) & _MASK
        parts, defined = names_in(identifiers)
        words.update(*tokens[:4])
        columns = [*tokens[:3], index.tokens(parts)]
        length = sum(map(len, columns))
        title, body, path, own_words = map(Counter, columns)
        counts = _packed(title, body, path, own_words, defined)
        for term, packed in counts.items():
            least = shortest.setdefault(term, [NONE] * len(COLUMNS))
            least[LEVEL_OF[packed]] = min(least[LEVEL_OF[packed]], length, NONE - 1)
        df.update(counts.keys())
        total_length += length
        is_title = index_file.is_title(kind, texts[1])
        if is_title:
            titles_length.append(length)
        query = "SELECT owner_id, length, is_title, terms FROM main.forward WHERE id = ?"
        entry = connection.execute(query, (rowid,)).fetchone()
        if entry is None or entry[:3] != (owner or id_, length, is_title) or _stored(entry[3], names) != counts:
            wrong.append(rowid)
    return _Expected(sums, words, df, total_length, titles_length, wrong, shortest)


def _sum_of(place: int, tokens: Iterable[str]) -> int:
    return sum(hash((term, place, offset)) for offset, term in enumerate(tokens)) & _MASK


def _packed(
    title: Counter[str], body: Counter[str], path: Counter[str], identifiers: Counter[str], names: Names
) -> dict[str, int]:
    counts = {
        term: forward.pack_counts(title[term], body[term], 0, identifiers[term])
        for term in {*title, *body, *identifiers}
    }
    counts |= {index_file.MARKS[PATH] + term: forward.pack_counts(0, 0, count, 0) for term, count in path.items()}
    counts |= dict.fromkeys([index_file.MARKS[DEFINITION] + name for name in forms_of(names.code)], NAME_COUNTS)
    return counts | dict.fromkeys([index_file.MARKS[HEADING] + name for name in forms_of(names.headings)], NAME_COUNTS)


def _stored(blob: bytes, names: Mapping[int, str]) -> dict[str, int]:
    try:
        ids = frozenset(forward.term_ids(blob))
        return {names.get(id_, ""): packed for id_, packed in forward.packed_counts(blob, ids)}
    except (LookupError, ValueError):
        return {"": 0}  # not what a document has


def _postings(connection: apsw.Connection) -> tuple[dict[int, int], set[str]]:
    """By row the sum of what FTS5 lists for it, and the terms, those of the scope left out."""
    sums: dict[int, int] = {}
    terms: set[str] = set()
    for term, rowid, column, offset in _instances(connection, "fts"):
        sums[rowid] = sums.get(rowid, 0) + hash((term, _COLUMNS[column], offset)) & _MASK
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
    shown = ", ".join(str(document_id_of(rowid)) for rowid in wrong[:_SHOWN])
    more = f" and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
    return find(id, "wrong" * bool(wrong), wrong=f"{shown}{more}", count=count)

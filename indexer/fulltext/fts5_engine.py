"""FTS5 as the engine of a store: each question of the interface as SQL on the index's own connection.

FTS5 enumerates rows; what no facet can say is checked by SQLite meanwhile, on the primary database, which is attached
there. Filters are part of each question: none is applied to what was picked already.
"""

from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence

import apsw

from ctxrank.indexer.engine import (
    DEFINITION,
    HEADING,
    INDEX_READ_ERRORS,
    PATH,
    TEXT,
    TEXT_COLUMNS,
    AllOf,
    AnyClause,
    Clause,
    FieldWeights,
    IndexHealth,
    IndexTerm,
    ListedWord,
    PhraseClause,
    Readiness,
    Row,
    RowQuery,
    Statistics,
    TermClause,
)
from ctxrank.indexer.fulltext import forward
from ctxrank.indexer.fulltext.index_file import (
    DF,
    FINGERPRINT,
    MARKS,
    PRIMARY,
    Index,
    PrimaryReader,
    current_index,
    health_of,
    health_with_store,
    open_index,
    quoted,
)
from ctxrank.indexer.light_typing import TYPE_CHECKING, cast, contextmanager
from ctxrank.indexer.store.connection import snapshot, sqlite_errors
from ctxrank.indexer.store.facets import (
    WITH_PASSAGES,
    Scope,
    document_condition,
    id_list,
    kind_facet,
    label_ids,
    parent_condition,
    session_range,
)
from ctxrank.indexer.store.store import Store

if TYPE_CHECKING:
    from ctxrank.indexer.fulltext.postings import BoundArrays
    from ctxrank.indexer.text.identifiers import FoundWords

# An index that is missing more than this share of the change log would hide too much: heuristics are more honest.
_MAX_MISSING_SHARE = 0.2
# A save holds the index for 1 to 5 ms, and one's own may have found it held: so much is worth waiting for.
_WAIT_MS = 25
# No call waits longer than this to open or heal the index: there is an answer without it.
_OPEN_WAIT_MS = 250
_MAX_EXPECTED = 500  # terms that are read by one statement
_MAX_CHECKED = 32  # unknown words of one query that are looked up in FTS5 itself
_TEXT_COLUMNS = f"{{{' '.join(TEXT_COLUMNS)}}}"
_ALL_ROWIDS = (1, 2**63 - 1)
_ALL_MARKS = "".join(MARKS.values())


class Fts5Engine(PrimaryReader):
    """The index of one store, opened when it is first asked for: an `Engine`, and the store's `IndexConsumer`."""

    name = "fts5"
    row_limit: int | None = None
    fingerprint = FINGERPRINT

    def __init__(self, store: Store) -> None:
        self.store = store
        self._index: Index | None = None
        self._primary, self._applied_seq = store.primary, 0
        self._expected: dict[str, IndexTerm | None] = {}  # in it, by their text with their mark
        self._weighted: dict[FieldWeights, _WeightedCounts] = {}

    def index(self) -> Index:
        """The index, opened once; one that cannot be used says why in `.health`."""
        if self._index is None:
            self._index = open_index(self.store, busy_ms=min(self.store.busy_ms, _OPEN_WAIT_MS))
        return self._index

    def reopen_index(self) -> Index:
        """The index on a fresh connection: what healing and a replaced file call for."""
        self.close()
        return self.index()

    def close(self) -> None:
        """Close the index's connection, if it is open; the next question opens it again."""
        if self._index is not None:
            self._index.close()
            self._index = None

    # Life

    def catch_up(self, bound_ms: int | None = None, wait_ms: int = 0) -> int:
        """Apply the missing changes of the change log; returns how many are still missing (catch_up.py)."""
        from ctxrank.indexer.fulltext.catch_up import catch_up  # noqa: PLC0415  only where the index is behind

        with sqlite_errors(self.store.location.primary):
            return catch_up(self, bound_ms, wait_ms)

    def make_ready(self, bound_ms: int) -> Readiness:
        """Catch up and heal for at most about `bound_ms`.

        Whatever was committed before this call is in the index afterwards, but for `stale` changes. Where another
        process is applying what is missing, nothing is done or waited for.
        """
        index = current_index(self)
        try:
            if index.is_usable and index.is_current(self.store.primary):
                return Readiness(IndexHealth.OK, 0)
            if index.is_usable and not index.is_sound():
                index.health = IndexHealth.DAMAGED
        except INDEX_READ_ERRORS as error:
            index.health = health_with_store(self.store.primary, error)
        missing = self.catch_up(bound_ms, _WAIT_MS)
        index = self.index()
        try:
            # Counting reads a whole index: 7 ms of CPU for a million. There are at least as many as are indexed and
            # unchanged.
            if missing and index.is_usable and missing > _MAX_MISSING_SHARE * (index.state().documents - missing):
                from ctxrank.indexer.store.parents import count_documents  # noqa: PLC0415  only where much is missing

                if missing > _MAX_MISSING_SHARE * count_documents(self.store.primary):
                    return Readiness(IndexHealth.REBUILDING, missing)
        except INDEX_READ_ERRORS as error:
            index.health = health_of(error)
        return Readiness(index.health, missing)

    def recover(self, error: Exception, bound_ms: int) -> Readiness:
        """After a question failed: note why, then reopen or heal within the bound."""
        index = self.index()
        if isinstance(error, apsw.SQLError) and _is_whole(index):
            # The query's fault: rebuilding a sound index for it would not help.
            return Readiness(IndexHealth.REFUSED, 0)
        index.health = health_of(error)
        return self.make_ready(bound_ms)

    @contextmanager
    def snapshot(self) -> Generator[Statistics, None, None]:
        """Pin the index, then by the next read the primary database."""
        index = self.index()
        with snapshot(index.connection), snapshot(self._primary):
            state = index.state()
            self._applied_seq = state.applied_seq
            self._expected = {}
            yield Statistics(state.applied_seq, state.texts, state.average_length)

    # The dictionary

    def tokens(self, text: str) -> list[str]:
        """The terms that FTS5's own tokenizer makes of a text, in order."""
        return self.index().tokens(text)

    def tokens_at(self, text: bytes) -> list[tuple[int, int, str]]:
        """Terms with the offsets (start, end) that they cut from a text in UTF-8."""
        return self.index().tokens_at(text)

    def find_words(self, text: bytes, wanted: Mapping[str, object], *, with_parts: bool) -> "FoundWords":
        """The tokens of a text in UTF-8, and which of them are wanted, by their terms."""
        return self.index().find_words(text, wanted, with_parts=with_parts)

    def unstemmed(self, surface: str) -> str:
        """A word without case and accents, but with its ending: as terms begin."""
        return self.index().unstemmed(surface)

    def expect(self, terms: Collection[str], names: Collection[str] = ()) -> None:
        """Read them by one statement: each by itself takes as long as three."""
        marked = [MARKS[field] + term for field in (TEXT, PATH) for term in terms]
        marked += [MARKS[field] + name for field in (DEFINITION, HEADING) for name in names]
        del marked[_MAX_EXPECTED:]
        if marked:
            self._expected |= dict.fromkeys(marked) | self._read_terms(marked)

    def look_up(self, term: str, field: str = TEXT) -> IndexTerm | None:
        """A term of a field by its text."""
        marked = MARKS[field] + term
        return self._expected[marked] if marked in self._expected else self._read_terms([marked]).get(marked)

    def _read_terms(self, marked: list[str]) -> dict[str, IndexTerm]:
        """Those of these terms that some document holds, each by its text with the mark of its field."""
        query = f"SELECT term, id, {DF} FROM main.terms WHERE term IN ({', '.join('?' * len(marked))}) AND df > 0"
        found = self._connection.execute(query, marked)
        return {text: IndexTerm._make((id_, text[text[0] in _ALL_MARKS :], df)) for text, id_, df in found}

    def look_up_prefix(self, beginning: str, also: Collection[str], most: int, field: str = TEXT) -> list[IndexTerm]:
        """Terms of a field that begin so and those of `also` that there are, the most frequent first."""
        from ctxrank.indexer.fulltext.dictionary import terms_with_beginning  # noqa: PLC0415  few queries need it

        return terms_with_beginning(self.index(), beginning, also, most, MARKS[field])

    def check_unknown(self, surfaces: Sequence[str]) -> None:
        """Raises CorruptError where FTS5 has one of these words, which our list of terms has not."""
        query = "SELECT 1 FROM main.fts WHERE fts MATCH ? LIMIT 1"
        words = " OR ".join(map(quoted, surfaces[:_MAX_CHECKED]))
        if words and self._connection.execute(query, (f"{_TEXT_COLUMNS}:({words})",)).fetchone():
            raise apsw.CorruptError("the index's list of terms is missing one that its documents have")

    def look_up_any(self, terms: Collection[str], field: str = TEXT) -> list[IndexTerm]:
        """Those of these terms of a field that some document holds, by text."""
        return [term for _, term in sorted(self._read_terms([MARKS[field] + term for term in terms]).items())]

    def near_terms(self, word: str, most: int) -> list[IndexTerm]:
        """Terms that share trigrams with a word, those that share the most and rarest ones first."""
        from ctxrank.indexer.fulltext.dictionary import (  # noqa: PLC0415  few queries need it
            NEAREST,
            terms_with_trigrams,
            trigrams_of,
        )

        expression = " OR ".join(map(quoted, sorted(set(trigrams_of(word)))))
        return terms_with_trigrams(self.index(), NEAREST, expression, most) if expression else []

    def terms_containing(self, part: str, most: int) -> list[IndexTerm]:
        """Terms that contain a part of three letters or more, the shortest first, then by text."""
        from ctxrank.indexer.fulltext.dictionary import (  # noqa: PLC0415  few queries need it
            SHORTEST,
            TRIGRAM,
            terms_with_trigrams,
        )

        return terms_with_trigrams(self.index(), SHORTEST, quoted(part), most) if len(part) >= TRIGRAM else []

    # Rows

    def rows(self, query: RowQuery, most: int | None = None) -> list[Row]:
        """The rows that a query finds, at most so many, by ascending row number."""
        rows = cast("list[Row]", self._select(query, "fts.rowid, f.owner_id, f.length, f.terms", most, join="LEFT"))
        if [row for row in rows if row[3] is None]:
            # Every row of FTS5 has its forward list; a page that is not the list's own has others.
            raise apsw.CorruptError("the index holds rows without what they hold")
        return rows

    def row_ids(self, query: RowQuery, most: int | None = None) -> list[int]:
        """The same rows without what they hold: a fifth of the time."""
        return [row[0] for row in cast("list[tuple[int]]", self._select(query, "fts.rowid", most))]

    def best_rows(self, query: RowQuery, weights: FieldWeights, most: int) -> list[Row]:
        """The rows that FTS5's bm25() ranks highest: it walks the whole list of every term in the expression.

        What they hold is read of the chosen ones alone: half the time for a word that is in a quarter of a million.
        """
        rank = f"bm25(fts, {weights.body}, {weights.title}, {weights.path}, {weights.identifiers}, 0) AS s"
        best = self._select(query, f"fts.rowid, {rank}", most, order="ORDER BY s, fts.rowid")
        return self.rows_of([row[0] for row in cast("list[tuple[int, float]]", best)])

    def _select(
        self, query: RowQuery, columns: str, most: int | None, *, join: str = "", order: str = ""
    ) -> list[tuple[object, ...]]:
        """These columns of the rows that a query finds; with what they hold where that is asked for, or asked of."""
        scope = query.scope
        facets = " AND ".join(f"scope:({facet})" for facet in self._facets(scope))
        expression = f"({_match_text(query.clause)})" + (f" AND {facets}" if facets else "")
        rowids = _ALL_ROWIDS
        if scope.session_ids:
            rowids = session_range(min(scope.session_ids))[0], session_range(max(scope.session_ids))[1]
        parent = parent_condition(scope)
        of_parent = f"CROSS JOIN {PRIMARY}.documents AS d ON d.id = f.owner_id AND {parent.sql}" if parent.sql else ""
        conditions, values = self._of_documents(query, rowids)
        kind = "CROSS" if of_parent or conditions else join
        sql = f"""
            SELECT {columns}
              FROM main.fts
             {f"{kind} JOIN main.forward AS f ON f.id = fts.rowid" if kind else ""}
             {of_parent}
             WHERE fts MATCH ? AND fts.rowid BETWEEN ? AND ? {conditions}
             {order}
             LIMIT ?
        """
        bound = (*parent.values, expression, *rowids, *values, -1 if most is None else most)
        connection = self.index().with_primary if of_parent else self._connection
        return cast("list[tuple[object, ...]]", connection.execute(sql, bound).fetchall())

    def row_bounds(
        self,
        words: Sequence[ListedWord],
        weights: FieldWeights,
        saturation: Callable[[float, int], float],
        most: int | None,
    ) -> "BoundArrays | None":
        """The rows that hold any of these words, each with the most that it can score."""
        from ctxrank.indexer.fulltext.postings import row_bounds  # noqa: PLC0415  only where a store is large

        return row_bounds(self._connection, words, weights, saturation, most)

    def rows_of(self, rowids: Iterable[int], query: RowQuery | None = None) -> list[Row]:
        """These rows, as far as they are there and the query, of which each holds a word, finds them."""
        join, conditions, values = "", "", list[str | int]()
        if query is not None:
            parent = document_condition(query.scope)
            conditions, values = self._of_documents(query, _ALL_ROWIDS)
            join = f"CROSS JOIN {PRIMARY}.documents AS d ON d.id = f.owner_id AND {parent.sql}" if parent.sql else ""
            values[:0] = parent.values
        sql = f"""
            SELECT f.id, f.owner_id, f.length, f.terms
              FROM json_each(?) AS wanted
             CROSS JOIN main.forward AS f ON f.id = wanted.value
             {join}
             WHERE 1 {conditions}
        """
        connection = self.index().with_primary if join else self._connection
        return cast("list[Row]", connection.execute(sql, (id_list(rowids), *values)).fetchall())

    def passages_of(self, parent_ids: Iterable[int], most: int | None = None) -> list[Row]:
        """The rows of all passages of these documents, by parent and by their order in it; of none that has more."""
        sql = f"""
            SELECT f.id, f.owner_id, f.length, f.terms
              FROM {PRIMARY}.documents AS d
             CROSS JOIN main.forward AS f ON f.id = d.session_id << 32 | d.id
             WHERE d.owner_id IN (SELECT owner_id FROM json_each(?) CROSS JOIN {PRIMARY}.documents ON owner_id = value
                                   GROUP BY owner_id HAVING count(*) <= coalesce(?, count(*)))
             ORDER BY d.owner_id, d.start_line, d.id
        """
        return cast("list[Row]", self.index().with_primary.execute(sql, (id_list(parent_ids), most)).fetchall())

    def frequencies(
        self, rows: Iterable[Row], term_ids: Collection[int], weights: FieldWeights
    ) -> list[list[tuple[int, float]]]:
        """For each row (term, weighted frequency) of those of the terms that it holds."""
        weighted = self._weighted.setdefault(weights, _WeightedCounts(weights))
        try:
            return forward.frequencies(cast("list[bytes]", [row[3] for row in rows]), list(term_ids), weighted)
        except (IndexError, ValueError) as error:
            raise apsw.CorruptError("a forward list is damaged") from error

    @property
    def _connection(self) -> apsw.Connection:
        return self.index().connection

    def _facets(self, scope: Scope) -> list[str]:
        """What the `scope` column must hold, each an alternative; sessions without a gap are a range of rows."""
        facets: list[str] = []
        if scope.kinds:
            kinds = [kind_facet(kind) for kind in scope.kinds]
            owners = [kind for kind in WITH_PASSAGES if kind in scope.kinds]
            if owners and "passage" not in scope.kinds:
                # A file's passages are of no session: what is not asked for need not be read to be left out.
                of_session = {"package": " NOT s0", "artifact": " AND s0"}[owners[0]] if len(owners) == 1 else ""
                kinds.append(f"({kind_facet('passage')}{of_session})")
            facets.append(" OR ".join(kinds))
        if scope.is_current:
            facets.append("c1")
        if scope.session_ids and max(scope.session_ids) - min(scope.session_ids) >= len({*scope.session_ids}):
            facets.append(" OR ".join(f"s{id_}" for id_ in scope.session_ids))
        if scope.group_ids:
            facets.append(" OR ".join(f"g{id_}" for id_ in scope.group_ids))
        for letter, names in (("a", scope.agents), ("t", scope.types), ("p", scope.priorities)):
            if names:
                ids = label_ids(self._primary, names)
                # A name that was never stored is in no row, and neither is a facet without a number.
                facets.append(" OR ".join(f"{letter}{id_}" for id_ in ids) or f"{letter}x")
        return facets

    def _of_documents(self, query: RowQuery, rowids: tuple[int, int]) -> tuple[str, list[str | int]]:
        """The conditions that are of a whole document, with their values."""
        conditions: list[str] = []
        values: list[str | int] = []
        if query.scope.document_ids is not None:
            conditions.append("AND f.owner_id IN (SELECT value FROM json_each(?))")
            values.append(id_list(sorted(query.scope.document_ids)))
        # What must hold for the whole document: its passages may each hold another phrase, or the excluded word.
        asked = [("IN", _match_text(clause)) for clause in query.required if len(query.required) > 1]
        if query.excluded:
            asked.append(("NOT IN", " OR ".join(f"({_match_text(clause)})" for clause in query.excluded)))
        for operator, within in asked:
            conditions.append(
                f"""AND f.owner_id {operator} (
                    SELECT o.owner_id FROM main.fts AS x CROSS JOIN main.forward AS o ON o.id = x.rowid
                     WHERE x.fts MATCH ? AND x.rowid BETWEEN ? AND ?)"""
            )
            values += [within, *rowids]
        return " ".join(conditions), values


class _WeightedCounts(dict[int, float]):
    """The weighted frequency of packed counts; few different ones occur."""

    def __init__(self, weights: FieldWeights) -> None:
        super().__init__()
        self._weights = weights

    def __missing__(self, packed: int) -> float:
        tf = self[packed] = forward.weighted_count(packed, self._weights)
        return tf


def fts5_of(store: Store) -> Fts5Engine:
    """The FTS5 engine of a store: for what is done to the index itself."""
    engine = store.consumer
    assert isinstance(engine, Fts5Engine), "a store is opened with this engine (indexer/opening.py)"
    return engine


def index_of(store: Store) -> Index:
    """The index of a store, opened once; one that cannot be used says why in `.health`."""
    return fts5_of(store).index()


def _is_whole(index: Index) -> bool:
    try:
        return index.is_usable and index.is_whole()
    except INDEX_READ_ERRORS:
        return False


def _match_text(clause: Clause) -> str:
    """A clause in FTS5's syntax."""
    if isinstance(clause, TermClause):
        # Asking for columns makes FTS5 read each row's positions, a quarter of its time; it is left out where no facet
        # can be taken for the term.
        texts = [*([f"{quoted(clause.prefix)}*"] if clause.prefix else []), *map(quoted, clause.surfaces)]
        if len(texts) == 1 and not clause.prefix and not clause.column and not clause.terms[0][1:].isdigit():
            return texts[0]
        return f"{clause.column or _TEXT_COLUMNS}:({' OR '.join(texts)})"
    if isinstance(clause, PhraseClause):
        return f"{clause.column or _TEXT_COLUMNS}:{quoted(clause.text)}{'*' if clause.is_prefix else ''}"
    parts = [(part, _match_text(part)) for part in clause.parts]
    operator = " OR " if isinstance(clause, AnyClause) else " AND "
    return operator.join([f"({text})" if isinstance(part, AnyClause | AllOf) else text for part, text in parts])

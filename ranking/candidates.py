"""Candidates: the index's rows that match a plan, with their BM25 score.

Matches are enumerated by FTS5 and scored here, from the forward list and our own statistics: a scoped
search never calls bm25(), which walks every posting list of the whole index. Where an unscoped query
matches too many rows, bm25() picks the best of those that hold its rarest terms, and all terms are scored
on these. Filters are part of each of these questions: none is applied to what was picked already.
"""

import apsw

from ctxrank.indexer.facets import index_rowid, session_range
from ctxrank.indexer.fts import Index, IndexState
from ctxrank.indexer.records import NamedTuple, cast
from ctxrank.ranking.bm25 import FieldWeights, saturated
from ctxrank.ranking.plan import Plan, QueryTerm, match_expression
from ctxrank.ranking.scorer import Scorer

# Above this many matching rows, scoring them one by one (about 3 µs a row and more) costs more than bm25().
MAX_ENUMERATED = 4000
BEST_BY_BM25 = 500
# Terms of an unscoped query that rows are fetched by: the rarest, until they promise this share of the rows.
_ESSENTIAL_SHARE = 0.1
_ESSENTIAL_MINIMUM = 2000
# A long query in a scope: rows are fetched by the most valuable terms, until these are worth this share of it. A row
# that holds none of them could have no more than the rest, and most rows are such: a task text is mostly common words.
# For 120 tasks on a real store, half the time, the same first package in all, and 98.7 % of the same five.
_SHORT_QUERY_TERMS = 8
_WORTHY_SHARE = 0.7
_ENOUGH_SCOPED = 50
_ALL_ROWIDS = (1, 2**63 - 1)


class Scope(NamedTuple):
    """Where to look: facets (each an OR of tokens, all of which must hold), one session's range, the owning
    documents, and truth conditions on these, which SQLite checks while it enumerates."""

    facets: tuple[str, ...] = ()
    session_id: int | None = None
    condition: str = ""  # SQL on truth.documents AS d
    values: tuple[object, ...] = ()
    owner_ids: frozenset[int] | None = None  # None is all


class Bonus(NamedTuple):
    """What a row got beside BM25, for two words that stand together or, without a second, for one as it was typed."""

    first: str
    second: str
    score: float


class Candidate(NamedTuple):
    """One matching row: the document it belongs to, and its score with all bonuses."""

    rowid: int
    owner_id: int
    score: float
    bonuses: tuple[Bonus, ...] = ()


class Candidates(NamedTuple):
    """What was found; `is_complete` is False where only the best of many were scored."""

    rows: list[Candidate]
    is_complete: bool


class TermScore(NamedTuple):
    """What one term gave to one row: for explanations."""

    term: QueryTerm
    tf: float
    length: int
    average_length: float
    score: float


def find_candidates(
    index: Index, state: IndexState, plan: Plan, scope: Scope, *, worthy_share: float = _WORTHY_SHARE
) -> Candidates:
    """All rows that match, or the best of them, scored; in no particular order.

    `worthy_share` is how much of a long query's worth the terms have that rows of a scope are fetched by.
    """
    if not plan.can_match:
        return Candidates([], True)
    is_scoped = scope.session_id is not None or scope.owner_ids is not None
    if plan.required:
        terms = plan.terms
    else:
        terms = _worthy(plan.terms, worthy_share) if is_scoped else _essential(plan.terms, state.documents)
    rows, is_complete = _fetch(index.connection, plan, terms, scope, is_scoped)
    if len(terms) < len(plan.terms):
        is_complete = False
        if len(rows) < (_ENOUGH_SCOPED if is_scoped else BEST_BY_BM25):
            # The rare terms are not where the filters look, or nowhere much: the others must do.
            rows, is_complete = _fetch(index.connection, plan, plan.terms, scope, is_scoped)
        elif is_scoped:
            rows += _own_rows(index.connection, scope, rows)
    scores = Scorer(plan.terms, average_length(state), plan.tuning).scores(
        (blob, length) for _, _, length, blob in rows
    )
    # All four values given, so that no default is looked up: there are thousands.
    scored = [Candidate(row[0], row[1], score, ()) for row, score in zip(rows, scores, strict=True)]
    # A prefix selects by stems, and so may select a row that holds no word with that beginning.
    return Candidates([row for row in scored if row.score or plan.required], is_complete)


def average_length(state: IndexState) -> float:
    """Tokens of the average document; 1 for an empty index, so that nothing divides by zero."""
    return max(state.total_length / state.documents, 1.0) if state.documents else 1.0


def term_scores(index: Index, state: IndexState, plan: Plan, rowid: int) -> list[TermScore]:
    """The summands of one row's score, the largest first: what `find_candidates` added up."""
    row = index.connection.execute("SELECT length, terms FROM main.forward WHERE id = ?", (rowid,)).fetchone()
    if row is None:
        return []
    average = average_length(state)
    k1, b = plan.tuning.k1, plan.tuning.b
    parts = [
        TermScore(plan.terms[at], tf, row[0], average, plan.terms[at].value * saturated(tf, row[0], average, k1, b))
        for at, tf in Scorer(plan.terms, average, plan.tuning).frequencies(row[1])
    ]
    parts.sort(key=lambda part: (-part.score, part.term.text))
    return parts


_Row = tuple[int, int, int, bytes]


def _fetch(
    connection: apsw.Connection, plan: Plan, terms: tuple[QueryTerm, ...], scope: Scope, is_scoped: bool
) -> tuple[list[_Row], bool]:
    """The rows that hold any of these terms, and whether these are all of them."""
    expression = match_expression(plan, terms, scope.facets)
    where = _where(plan, scope)
    rows = _enumerate(connection, expression, scope, where, -1 if is_scoped else MAX_ENUMERATED + 1)
    if is_scoped or len(rows) <= MAX_ENUMERATED:
        return rows, True
    return _best_by_bm25(connection, plan.tuning.weights, expression, scope, where), False


def _own_rows(connection: apsw.Connection, scope: Scope, rows: list[_Row]) -> list[_Row]:
    """The own rows (title, summary, path) of wanted documents that the valuable terms did not find."""
    if scope.owner_ids is None or scope.session_id is None:
        return []
    own = {index_rowid(scope.session_id, owner_id) for owner_id in scope.owner_ids}
    missing = own.difference(row[0] for row in rows)
    rowids = ",".join(map(str, sorted(missing)))
    query = "SELECT id, owner_id, length, terms FROM main.forward WHERE id IN (SELECT value FROM json_each(?))"
    return cast("list[_Row]", connection.execute(query, (f"[{rowids}]",)).fetchall())


class _Where(NamedTuple):
    """Conditions on a row's owning document, as SQL with its values."""

    sql: str
    values: tuple[object, ...]


def _enumerate(connection: apsw.Connection, expression: str, scope: Scope, where: _Where, limit: int) -> list[_Row]:
    query = f"""
        SELECT f.id, f.owner_id, f.length, f.terms
          FROM main.fts AS m
         CROSS JOIN main.forward AS f ON f.id = m.rowid
         {_join(scope)}
         WHERE m.fts MATCH ? AND m.rowid BETWEEN ? AND ? {where.sql}
         LIMIT ?
    """
    values = (*scope.values, expression, *_rowids(scope), *where.values, limit)
    return cast("list[_Row]", connection.execute(query, values).fetchall())


def _best_by_bm25(
    connection: apsw.Connection, weights: FieldWeights, expression: str, scope: Scope, where: _Where
) -> list[_Row]:
    query = f"""
        SELECT f.id, f.owner_id, f.length, f.terms,
               bm25(fts, {weights.title}, {weights.body}, {weights.path}, {weights.identifiers}, 0) AS s
          FROM main.fts
         CROSS JOIN main.forward AS f ON f.id = fts.rowid
         {_join(scope)}
         WHERE fts MATCH ? {where.sql}
         ORDER BY s, f.id
         LIMIT ?
    """
    rows = connection.execute(query, (*scope.values, expression, *where.values, BEST_BY_BM25)).fetchall()
    return [cast("_Row", row[:4]) for row in rows]


def _rowids(scope: Scope) -> tuple[int, int]:
    return _ALL_ROWIDS if scope.session_id is None else session_range(scope.session_id)


def _join(scope: Scope) -> str:
    if not scope.condition:
        return ""
    return f"CROSS JOIN truth.documents AS d ON d.id = f.owner_id AND {scope.condition}"


def _where(plan: Plan, scope: Scope) -> _Where:
    """What must hold for the whole document: its passages may each hold another phrase, or the excluded word."""
    conditions: list[str] = []
    values: list[object] = []
    if scope.owner_ids is not None:
        conditions.append("AND f.owner_id IN (SELECT value FROM json_each(?))")
        values.append(f"[{','.join(map(str, sorted(scope.owner_ids)))}]")
    asked = [("IN", phrase) for phrase in plan.required if len(plan.required) > 1]
    if plan.excluded:
        asked.append(("NOT IN", " OR ".join(plan.excluded)))
    for operator, expression in asked:
        conditions.append(
            f"""AND f.owner_id {operator} (
                SELECT o.owner_id FROM main.fts AS x CROSS JOIN main.forward AS o ON o.id = x.rowid
                 WHERE x.fts MATCH ? AND x.rowid BETWEEN ? AND ?)"""
        )
        values += [expression, *_rowids(scope)]
    return _Where(" ".join(conditions), tuple(values))


def _worthy(terms: tuple[QueryTerm, ...], share: float) -> tuple[QueryTerm, ...]:
    """The most valuable terms that together are worth most of a long query; all of a short one."""
    if len(terms) <= _SHORT_QUERY_TERMS:
        return terms
    room = share * sum(term.value for term in terms)
    worthy: list[QueryTerm] = []
    for term in terms:
        if room <= 0:
            break
        room -= term.value
        worthy.append(term)
    return tuple(worthy)


def _essential(terms: tuple[QueryTerm, ...], documents: int) -> tuple[QueryTerm, ...]:
    """The most valuable terms, at least two, while they promise few enough rows."""
    room = max(documents * _ESSENTIAL_SHARE, _ESSENTIAL_MINIMUM)
    essential: list[QueryTerm] = []
    for term in terms:
        room -= term.df
        if len(essential) >= 2 and room < 0:
            break
        essential.append(term)
    return tuple(essential)

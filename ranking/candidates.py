"""Candidates: the index's rows that match a plan, with their BM25 score.

Matches are enumerated by FTS5 and scored here, from the forward list and our own statistics: a scoped
search never calls bm25(), which walks every posting list of the whole index. Where an unscoped query
matches too many rows, bm25() picks the best of those that hold its rarest terms, and all terms are scored
on these.
"""

from collections.abc import Iterable
from typing import cast

import apsw

from ctxrank.indexer.facets import session_range
from ctxrank.indexer.forward import packed_count, unpack_counts
from ctxrank.indexer.fts import Index, IndexState
from ctxrank.indexer.records import NamedTuple
from ctxrank.ranking.bm25 import WEIGHTS, saturated
from ctxrank.ranking.plan import Plan, QueryTerm, match_expression

# Above this many matching rows, scoring them one by one (about 3 µs a term and row) costs more than bm25().
MAX_ENUMERATED = 4000
BEST_BY_BM25 = 500
# Terms of an unscoped query that rows are fetched by: the rarest, until they promise this share of the rows.
_ESSENTIAL_SHARE = 0.1
_ESSENTIAL_MINIMUM = 2000
_ALL_ROWIDS = (1, 2**63 - 1)


class Scope(NamedTuple):
    """Where to look: facets (each an OR of tokens, all of which must hold), one session's range, and truth
    conditions on the owning document, which SQLite checks while it enumerates."""

    facets: tuple[str, ...] = ()
    session_id: int | None = None
    condition: str = ""  # SQL on truth.documents AS d
    values: tuple[object, ...] = ()


class Candidate(NamedTuple):
    """One matching row: the document it belongs to, and its score."""

    rowid: int
    owner_id: int
    score: float


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


def find_candidates(index: Index, state: IndexState, plan: Plan, scope: Scope) -> Candidates:
    """All rows that match, or the best of them, scored; in no particular order."""
    if not plan.can_match:
        return Candidates([], True)
    average = average_length(state)
    if scope.session_id is not None or plan.required:
        terms = plan.terms
    else:
        terms = _essential(plan.terms, state.documents)
    expression = match_expression(plan, terms, scope.facets)
    rows = _enumerate(index.connection, expression, scope, None if scope.session_id is not None else MAX_ENUMERATED + 1)
    is_complete = len(terms) == len(plan.terms)
    if scope.session_id is None and len(rows) > MAX_ENUMERATED:
        rows = _best_by_bm25(index.connection, expression, scope)
        is_complete = False
    scorer = _scorer(plan.terms)
    return Candidates(
        [Candidate(rowid, owner, _score(blob, length, average, scorer)) for rowid, owner, length, blob in rows],
        is_complete,
    )


def average_length(state: IndexState) -> float:
    """Tokens of the average document; 1 for an empty index, so that nothing divides by zero."""
    return max(state.total_length / state.documents, 1.0) if state.documents else 1.0


def term_scores(index: Index, state: IndexState, plan: Plan, rowid: int) -> list[TermScore]:
    """The summands of one row's score, the largest first: what `find_candidates` added up."""
    row = index.connection.execute("SELECT length, terms FROM main.forward WHERE id = ?", (rowid,)).fetchone()
    if row is None:
        return []
    average = average_length(state)
    parts: list[TermScore] = []
    for term in plan.terms:
        tf = sum(_weighted(packed_count(row[1], key), term.column) for key in term.keys)
        if tf:
            score = term.value * saturated(tf, row[0], average)
            parts.append(TermScore(term, tf, row[0], average, score))
    parts.sort(key=lambda part: (-part.score, part.term.text))
    return parts


_Row = tuple[int, int, int, bytes]


def _enumerate(connection: apsw.Connection, expression: str, scope: Scope, limit: int | None) -> list[_Row]:
    first, last = _ALL_ROWIDS if scope.session_id is None else session_range(scope.session_id)
    query = f"""
        SELECT f.id, f.owner_id, f.length, f.terms
          FROM main.fts AS m
         CROSS JOIN main.forward AS f ON f.id = m.rowid
         {_join(scope)}
         WHERE m.fts MATCH ? AND m.rowid BETWEEN ? AND ?
         LIMIT ?
    """
    values = (*scope.values, expression, first, last, -1 if limit is None else limit)
    return cast("list[_Row]", connection.execute(query, values).fetchall())


def _best_by_bm25(connection: apsw.Connection, expression: str, scope: Scope) -> list[_Row]:
    query = f"""
        SELECT f.id, f.owner_id, f.length, f.terms,
               bm25(fts, {WEIGHTS.title}, {WEIGHTS.body}, {WEIGHTS.path}, {WEIGHTS.identifiers}, 0) AS s
          FROM main.fts
         CROSS JOIN main.forward AS f ON f.id = fts.rowid
         {_join(scope)}
         WHERE fts MATCH ?
         ORDER BY s
         LIMIT ?
    """
    rows = connection.execute(query, (*scope.values, expression, BEST_BY_BM25)).fetchall()
    return [cast("_Row", row[:4]) for row in rows]


def _join(scope: Scope) -> str:
    if not scope.condition:
        return ""
    return f"CROSS JOIN truth.documents AS d ON d.id = f.owner_id AND {scope.condition}"


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


def _scorer(terms: tuple[QueryTerm, ...]) -> list[tuple[tuple[bytes, ...], float, str]]:
    return [(term.keys, term.value, term.column) for term in terms]


def _score(blob: bytes, length: int, average: float, terms: Iterable[tuple[tuple[bytes, ...], float, str]]) -> float:
    score = 0.0
    for keys, value, column in terms:
        tf = 0.0
        for key in keys:
            packed = packed_count(blob, key)
            if packed:
                tf += _weighted(packed, column)
        if tf:
            score += value * saturated(tf, length, average)
    return score


def _weighted(packed: int, column: str) -> float:
    if not packed:
        return 0.0
    title, body, path, identifiers = unpack_counts(packed)
    if column == "title":
        return WEIGHTS.title * title
    if column == "body":
        return WEIGHTS.body * body
    return WEIGHTS.title * title + WEIGHTS.body * body + WEIGHTS.path * path + WEIGHTS.identifiers * identifiers

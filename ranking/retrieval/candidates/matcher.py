"""Matching: the index's rows that hold what an expression says, within a scope.

FTS5 enumerates; what no facet can say is checked by SQLite meanwhile. Filters are part of each of these questions: none
is applied to what was picked already.
"""

from collections.abc import Callable, Iterable

import apsw

from ctxrank.indexer.fulltext.index_file import Index
from ctxrank.indexer.light_typing import NamedTuple, cast
from ctxrank.indexer.store.facets import session_range
from ctxrank.ranking.formulas.bm25 import FieldWeights
from ctxrank.ranking.retrieval.plan import Plan

BEST_BY_BM25 = 500  # rows that FTS5's own order picks where nothing else can
_ALL_ROWIDS = (1, 2**63 - 1)
# Every row of FTS5 has its forward list; a page that is not the list's own has others.
_LOST = "the index holds rows without what they hold"

Row = tuple[int, int, int, bytes]  # rowid, owner, length in tokens, forward list
# From the scores so far, the best first: the score below which no row matters.
Mattering = Callable[[list[float]], float]


class Scope(NamedTuple):
    """Where to look: facets (each an OR of tokens, all of which must hold), one session's range, the owning
    documents, and truth conditions on these, which SQLite checks while it enumerates."""

    facets: tuple[str, ...] = ()
    session_id: int | None = None
    condition: str = ""  # SQL on primary_db.documents AS d
    values: tuple[object, ...] = ()
    owner_ids: frozenset[int] | None = None  # None is all


class Matcher:
    """The rows of one index that meet a scope and a plan's conditions."""

    def __init__(self, index: Index, plan: Plan, scope: Scope) -> None:
        self._connection: apsw.Connection = index.connection
        self._weights: FieldWeights = plan.tuning.weights
        self.facets = scope.facets
        self._scope = scope
        self._where = _where(plan, scope)
        self._is_joined = bool(scope.condition or self._where.sql)  # with what the forward list knows of a row

    def rows(self, expression: str, limit: int = -1) -> list[Row]:
        """The first rows that match, in the index's order; all of them where no limit is given."""
        query = f"""
            SELECT m.rowid, f.owner_id, f.length, f.terms
              FROM main.fts AS m
              {"CROSS" if self._is_joined else "LEFT"} JOIN main.forward AS f ON f.id = m.rowid
             {_join(self._scope)}
             WHERE m.fts MATCH ? AND m.rowid BETWEEN ? AND ? {self._where.sql}
             LIMIT ?
        """
        rows = self._connection.execute(query, self._values(expression, limit)).fetchall()
        if any(row[3] is None for row in rows):
            raise apsw.CorruptError(_LOST)
        return cast("list[Row]", rows)

    def rowids(self, expression: str, limit: int) -> list[int]:
        """The same rows without what they hold: a fifth of the time."""
        query = f"""
            SELECT m.rowid
              FROM main.fts AS m
             {"CROSS JOIN main.forward AS f ON f.id = m.rowid" if self._is_joined else ""}
             {_join(self._scope)}
             WHERE m.fts MATCH ? AND m.rowid BETWEEN ? AND ? {self._where.sql}
             LIMIT ?
        """
        return [cast("int", row[0]) for row in self._connection.execute(query, self._values(expression, limit))]

    def rows_of(self, rowids: Iterable[int]) -> list[Row]:
        """These rows, as far as they are there."""
        query = """
            SELECT f.id, f.owner_id, f.length, f.terms
              FROM json_each(?) AS wanted
             CROSS JOIN main.forward AS f ON f.id = wanted.value
        """
        return cast("list[Row]", self._connection.execute(query, (f"[{','.join(map(str, rowids))}]",)).fetchall())

    def best_by_bm25(self, expression: str, limit: int) -> list[Row]:
        """The rows that FTS5 itself ranks highest: it walks the whole list of every term in the expression.

        What they hold is read of the chosen ones alone: half the time for a word that is in a quarter of a million.
        """
        weights = self._weights
        query = f"""
            SELECT fts.rowid, bm25(fts, {weights.body}, {weights.title}, {weights.path}, {weights.identifiers}, 0) AS s
              FROM main.fts
             {"CROSS JOIN main.forward AS f ON f.id = fts.rowid" if self._is_joined else ""}
             {_join(self._scope)}
             WHERE fts MATCH ? AND fts.rowid BETWEEN ? AND ? {self._where.sql}
             ORDER BY s, fts.rowid
             LIMIT ?
        """
        best = self._connection.execute(query, self._values(expression, limit)).fetchall()
        return self.rows_of(cast("int", row[0]) for row in best)

    def _values(self, expression: str, limit: int) -> tuple[object, ...]:
        return (*self._scope.values, expression, *_rowids(self._scope), *self._where.values, limit)


class _Where(NamedTuple):
    """Conditions on a row's owning document, as SQL with its values."""

    sql: str
    values: tuple[object, ...]


def _rowids(scope: Scope) -> tuple[int, int]:
    return _ALL_ROWIDS if scope.session_id is None else session_range(scope.session_id)


def _join(scope: Scope) -> str:
    if not scope.condition:
        return ""
    return f"CROSS JOIN primary_db.documents AS d ON d.id = f.owner_id AND {scope.condition}"


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

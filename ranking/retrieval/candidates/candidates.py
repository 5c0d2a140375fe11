"""Candidates: the index's rows that match a plan, with their BM25 score.

Matches are enumerated by FTS5 and scored here, from the forward list and our own statistics: a scoped search never
calls bm25(), which walks every posting list of the whole index. Where an unscoped query matches too many rows, only
those are scored that may be among the best (threshold.py).
"""

from ctxrank.indexer.fulltext.index_file import Index, IndexState
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.facets import index_rowid
from ctxrank.ranking.formulas.bm25 import saturated
from ctxrank.ranking.retrieval.candidates.matcher import BEST_BY_BM25, Matcher, Mattering, Row, Scope
from ctxrank.ranking.retrieval.candidates.scorer import Scorer
from ctxrank.ranking.retrieval.plan import Plan, QueryTerm, match_expression

# Up to so many rows that hold any term, all are scored.
MAX_ENUMERATED = 1500
# A long query in a scope: rows are fetched by the most valuable terms, until these are worth this share of it. A row
# that holds none of them could have no more than the rest, and most rows are such: a task text is mostly common words.
# For 120 tasks on a real store, half the time, the same first package in all, and 98.7 % of the same five.
_SHORT_QUERY_TERMS = 8
_WORTHY_SHARE = 0.7
_ENOUGH_SCOPED = 50


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
    """What was found. Each row that matches and is not among them scores at most `unseen`; None: nobody knows."""

    rows: list[Candidate]
    unseen: float | None
    passed_over: int = 0  # documents that match and were found to be none of the best

    @property
    def is_complete(self) -> bool:
        """Whether these are all rows that match."""
        return self.unseen == 0.0


class TermScore(NamedTuple):
    """What one term gave to one row: for explanations."""

    term: QueryTerm
    tf: float
    length: int
    average_length: float
    score: float


def all_matter(scores: list[float]) -> float:
    """That every row matters, so that as many are scored as can be afforded."""
    return 0.0


def find_candidates(
    index: Index,
    state: IndexState,
    plan: Plan,
    scope: Scope,
    *,
    mattering: Mattering = all_matter,
    worthy_share: float = _WORTHY_SHARE,
) -> Candidates:
    """All rows that match, or those that may be among the best, scored; in no particular order.

    `mattering` says of the scores so far which rows of a large index still matter; `worthy_share` is how much of a long
    query's worth the terms have that rows of a scope are fetched by.
    """
    if not plan.can_match:
        return Candidates([], 0.0)
    matcher = Matcher(index, plan, scope)
    scorer = Scorer(plan.terms, state.average_length, plan.tuning)

    def scored(rows: list[Row]) -> list[float]:
        return scorer.scores((blob, length) for _, _, length, blob in rows)

    unseen: float | None = 0.0
    passed_over = 0
    if scope.session_id is not None or scope.owner_ids is not None:
        rows, unseen = _scoped_rows(matcher, plan, scope, worthy_share)
        scores = scored(rows)
    elif plan.required:
        rows = matcher.rows(match_expression(plan, plan.terms, scope.facets), MAX_ENUMERATED + 1)
        if len(rows) > MAX_ENUMERATED:
            rows = matcher.best_by_bm25(match_expression(plan, plan.terms, scope.facets), BEST_BY_BM25)
            unseen = None
        scores = scored(rows)
    elif sum(term.df for term in plan.terms) <= MAX_ENUMERATED:
        rows = matcher.rows(match_expression(plan, plan.terms, scope.facets))
        scores = scored(rows)
    else:
        from ctxrank.ranking.retrieval.candidates.threshold import select  # only where a store is large

        rows, scores, unseen, passed_over = select(index, state, plan, matcher, scored, mattering)
    # All four values given, so that no default is looked up: there are thousands.
    found = [Candidate(row[0], row[1], score, ()) for row, score in zip(rows, scores, strict=True)]
    # A prefix selects by stems, and so may select a row that holds no word with that beginning.
    return Candidates([row for row in found if row.score or plan.required], unseen, passed_over)


def term_scores(index: Index, state: IndexState, plan: Plan, rowid: int) -> list[TermScore]:
    """The summands of one row's score, the largest first: what `find_candidates` added up."""
    row = index.connection.execute("SELECT length, terms FROM main.forward WHERE id = ?", (rowid,)).fetchone()
    if row is None:
        return []
    average = state.average_length
    k1, b = plan.tuning.k1, plan.tuning.b
    parts = [
        TermScore(plan.terms[at], tf, row[0], average, plan.terms[at].value * saturated(tf, row[0], average, k1, b))
        for at, tf in Scorer(plan.terms, average, plan.tuning).frequencies(row[1])
    ]
    parts.sort(key=lambda part: (-part.score, part.term.text))
    return parts


def _scoped_rows(matcher: Matcher, plan: Plan, scope: Scope, worthy_share: float) -> tuple[list[Row], float]:
    """The rows of a scope by the terms that are worth most, and what any other can score at most."""
    terms = plan.terms if plan.required else _worthy(plan.terms, worthy_share)
    if len(terms) < len(plan.terms):
        rows = matcher.rows(match_expression(plan, terms, scope.facets))
        if len(rows) >= _ENOUGH_SCOPED:
            rest = sum(term.value for term in plan.terms[len(terms) :])
            return rows + _own_rows(matcher, scope, rows), rest * (plan.tuning.k1 + 1)
        # The rare terms are not where the filters look, or nowhere much: the others must do.
    return matcher.rows(match_expression(plan, plan.terms, scope.facets)), 0.0


def _own_rows(matcher: Matcher, scope: Scope, rows: list[Row]) -> list[Row]:
    """The own rows (title, summary, path) of wanted documents that the valuable terms did not find."""
    if scope.owner_ids is None or scope.session_id is None:
        return []
    own = {index_rowid(scope.session_id, owner_id) for owner_id in scope.owner_ids}
    return matcher.rows_of(sorted(own.difference(row[0] for row in rows)))


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

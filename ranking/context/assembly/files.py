"""Indexed files that are no package's: which of them a task is about, and the passages that say so.

    rows of files that hold one of the task's rarest terms ──► BM25 of all its terms ──► files ──► their kinds ──► floor

A file counts as its kind is worth to the task, as in a search: else lists of changes come before the code that they
are about. Subjects of 480 commits of four projects, before and after (2026-11): a source that the commit changed is
shown for .610 and .759, first for .279 and .510; unseen, three further ones, 360: .706 and .779, .429 and .619; 27
issues of five projects: .704 and .815, .333 and .630.

The work is bounded by a count of rows that is known before any is read: the rarest terms are taken as long as the
documents that hold them are no more than MAX_ROWS together. Where not even the rarest term has so few, rows must hold
the two rarest, or three, or four; where these are too many, too, the class is left out. Equal inputs give equal bytes,
because no clock decides.
"""

from itertools import accumulate

from ctxrank.indexer.engine import AllOf, Row, RowQuery
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.facets import Scope, id_list
from ctxrank.indexer.store.ids import IS_ACCEPTED
from ctxrank.indexer.store.location import root_name
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.assembly.order import best_passages, telling_words
from ctxrank.ranking.formulas.blend import calibrated, half_score
from ctxrank.ranking.retrieval.candidates.candidates import Candidates, best_first, scored_rows
from ctxrank.ranking.retrieval.checkouts import files_elsewhere
from ctxrank.ranking.retrieval.file_kinds import Priors
from ctxrank.ranking.retrieval.grouping import grouped
from ctxrank.ranking.retrieval.plan import Plan, clause_of, row_query
from ctxrank.ranking.retrieval.query import Query
from ctxrank.ranking.retrieval.rerank import reranked

MAX_ROWS = 600  # rows that are fetched and scored for one block
_RERANKED = 15  # the best of them are read again for the order and form of their words
_WEIGHED = 15  # of the files that have any of them, the best by their words
_MOST_TOGETHER = 4  # of the rarest terms, where each is in too many documents
MAX_FILES = 5
MAX_PASSAGES = 2  # of one file
# What is far below the best file, or the best passage of its file, says too little beside it.
_MIN_SHARE_OF_BEST, _MIN_SHARE_OF_PASSAGE = 0.35, 0.6
# T of a file that is shown, and how many of the task's words its best text holds: one in common is chance.
FLOOR = 0.4
LEAST_SHARED = 2
_FILES = Scope(kinds=("artifact", "passage"), session_ids=(0,))  # what is of no session: packages' passages are of one


class MatchingFile(NamedTuple):
    """A file that a task is about: the ids of its document and of its best passages, T, the words that match, and the
    folder of its checkout, '' for the one that asks.
    """

    document_id: int
    passage_ids: tuple[int, ...]
    text: float
    words: tuple[str, ...]
    checkout: str = ""


class FoundFiles(NamedTuple):
    """The files, best first; `left_out` says why the class was not looked for, '' where it was."""

    files: tuple[MatchingFile, ...] = ()
    left_out: str = ""


def find_files(plan: Plan, store: Store, task: str, query: Query) -> FoundFiles:
    """The files that a plan of a task's words finds, in the caller's snapshot. Raises INDEX_READ_ERRORS.

    Those of another machine or checkout come after the own ones. They are not among them where a file of their path is
    here, or their store is not accepted.
    """
    if not plan.terms:
        return FoundFiles()
    rows = _rows(plan)
    if rows is None:
        return FoundFiles((), f"the rarest words of the task are in more than {MAX_ROWS} documents")
    found, first = Candidates(scored_rows(plan, rows), is_complete=False), list[frozenset[int]]()
    if ":" in task or ", line " in task:
        from ctxrank.ranking.retrieval.exact_names import named_files, with_rows_of_files  # noqa: PLC0415  as in a search

        found, first = with_rows_of_files(plan, _FILES, found, named_files(query, task))
    candidates = best_first(found.rows)
    best = reranked(plan, Candidates(candidates[:_RERANKED], is_complete=False))
    groups = grouped(best_first(best.rows + candidates[_RERANKED:]))
    priors = Priors(plan, task, query, groups, _WEIGHED, is_by_passage=False)
    for id_, signals in priors.known.items():
        priors.give(groups[id_], signals)
    half = half_score(plan.values)
    named = frozenset[int]().union(*first)
    order = sorted(priors.known, key=lambda id_: (id_ not in named, -groups[id_].worth, id_))
    ranked = [(groups[id_], id_, checkout) for id_, checkout in _accepted(store, order)]
    least = max((group.worth for group, id_, _ in ranked if id_ not in named), default=0.0) * _MIN_SHARE_OF_BEST
    least_words = min(LEAST_SHARED, len(plan.values))
    files: list[MatchingFile] = []
    words_of = telling_words(plan, plan.engine.rows_of([row[0].best.rowid for row in ranked]))
    for group, id_, checkout in ranked:
        text, words = calibrated(group.score, half), words_of(group)
        if id_ in named or (group.worth >= least and text >= FLOOR and len(words) >= least_words):
            passage_ids = best_passages(group, MAX_PASSAGES, _MIN_SHARE_OF_PASSAGE)
            files.append(MatchingFile(id_, passage_ids, text, words, checkout))
    return FoundFiles(tuple(files))


def _accepted(store: Store, ids: list[int]) -> list[tuple[int, str]]:
    """The first MAX_FILES of these documents that may be shown, with their checkouts: see `find_files`."""
    query = f"""
        SELECT id, record_id < 0, EXISTS (
               SELECT 1 FROM artifacts AS a JOIN roots AS r ON r.id = a.root_id
                WHERE r.path = ? AND a.path = d.path AND a.state = 'indexed' AND a.id <> d.record_id)
          FROM documents AS d WHERE id IN (SELECT value FROM json_each(?)) AND {IS_ACCEPTED.format("record_id")}
    """
    own = root_name(store.location.root, store.location.project)
    removed, others = files_elsewhere(store, ids)
    places: dict[int, tuple[bool, str]] = {}
    for id_, is_foreign, is_here in store.primary.execute(query, (own, id_list(ids))):
        is_elsewhere = bool(is_foreign) or id_ in others
        if id_ not in removed and not (is_elsewhere and is_here):
            places[id_] = is_elsewhere, others.get(id_, "")
    order = sorted(filter(places.__contains__, ids), key=lambda id_: places[id_][0])
    return [(id_, places[id_][1]) for id_ in order[:MAX_FILES]]


def _rows(plan: Plan) -> list[Row] | None:
    """The rows that are scored, at most MAX_ROWS; None where there would be more."""
    rarest = sorted(plan.terms, key=lambda term: (term.df + term.path_df, -term.value, term.text))
    totals = accumulate(term.df + term.path_df for term in rarest)
    taken = [term for term, total in zip(rarest, totals, strict=True) if total <= MAX_ROWS]
    if taken:
        return plan.engine.rows(row_query(plan._replace(terms=tuple(taken)), _FILES))
    for together in range(2, min(len(rarest), _MOST_TOGETHER) + 1):
        clause = AllOf(tuple(clause_of(term) for term in rarest[:together]))
        rows = plan.engine.rows(RowQuery(clause, _FILES), MAX_ROWS + 1)
        if len(rows) <= MAX_ROWS:
            return rows
    return None

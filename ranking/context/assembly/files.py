"""Indexed files that are no package's: which of them a task is about, and the passages that say so.

    rows of files that hold one of the task's rarest terms ──► BM25 of all its terms ──► files ──► floor ──► the best

The work is bounded by a count of rows that is known before any is read: the rarest terms are taken as long as the
documents that hold them are no more than MAX_ROWS together. Where not even the rarest term has so few, rows must hold
the two rarest, or three, or four; where these are too many, too, the class is left out. Equal inputs give equal bytes,
because no clock decides.
"""

from itertools import accumulate

from ctxrank.indexer.engine import AllOf, Row, RowQuery
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.facets import Scope, document_id_of
from ctxrank.indexer.store.freshness import file_state
from ctxrank.ranking.context.assembly.limits import Zone
from ctxrank.ranking.context.assembly.material import FILE_STATES, Spawn, StoredPassage, passages_of
from ctxrank.ranking.context.assembly.request import IncludedPassage
from ctxrank.ranking.formulas.blend import calibrated, half_score
from ctxrank.ranking.retrieval.candidates.candidates import Candidate, Candidates, Scorer, best_first, term_scores
from ctxrank.ranking.retrieval.grouping import HitGroup, grouped
from ctxrank.ranking.retrieval.plan import Plan, clause_of, row_query
from ctxrank.ranking.retrieval.rerank import reranked

MAX_ROWS = 600  # rows that are fetched and scored for one block
_RERANKED = 15  # the best of them are read again for the order and form of their words
_MOST_TOGETHER = 4  # of the rarest terms, where each is in too many documents
MAX_FILES = 5
MAX_PASSAGES = 2  # of one file
# What is far below the best file, or the best passage of its file, says too little beside it.
_MIN_SHARE_OF_BEST = 0.6
_NAMED_WORDS = 3
# T of a file that is shown, and how many of the task's words its best text holds: one in common is chance.
FLOOR = 0.4
LEAST_SHARED = 2
_FILES = Scope(kinds=("artifact", "passage"), session_ids=(0,))  # what is of no session: packages' passages are of one


class FoundFile(NamedTuple):
    """A file that a task is about: the ids of its document and of its best passages, T, and the words that match."""

    document_id: int
    passage_ids: tuple[int, ...]
    text: float
    words: tuple[str, ...]


class IncludedFile(NamedTuple):
    """An indexed file that is no package's, in the block: its path, and the passages that the task is about."""

    id: int
    path: str
    passages: "tuple[IncludedPassage, ...]"
    detail: str
    tokens: int
    score: float
    label: str
    reason: str
    file_state: str = ""


class FileMaterial(NamedTuple):
    """One indexed file that could be shown, and its passages in the order of preference."""

    file: IncludedFile
    passages: tuple[StoredPassage, ...]


class FoundFiles(NamedTuple):
    """The files, best first; `left_out` says why the class was not looked for, '' where it was."""

    files: tuple[FoundFile, ...] = ()
    left_out: str = ""


def find_files(plan: Plan) -> FoundFiles:
    """The files that a plan of the task's words finds, in the caller's snapshot. Raises INDEX_READ_ERRORS."""
    if not plan.terms:
        return FoundFiles()
    rows = _rows(plan)
    if rows is None:
        return FoundFiles((), f"the rarest words of the task are in more than {MAX_ROWS} documents")
    scores = Scorer(plan).scores(rows)
    candidates = best_first([Candidate(row[0], row[1], score) for row, score in zip(rows, scores, strict=True)])
    best = reranked(plan, Candidates(candidates[:_RERANKED], is_complete=False))
    groups = grouped(best.rows + candidates[_RERANKED:])
    half = half_score(plan.values)
    ranked = sorted(groups.items(), key=lambda item: (-item[1].score, item[0]))[:MAX_FILES]
    least = ranked[0][1].score * _MIN_SHARE_OF_BEST if ranked else 0.0
    least_words = min(LEAST_SHARED, len(plan.values))
    files: list[FoundFile] = []
    for id_, group in ranked:
        text = calibrated(group.score, half)
        words = _words(plan, group)
        if group.score >= least and text >= FLOOR and len(words) >= least_words:
            files.append(FoundFile(id_, _best_passages(group), text, words))
    return FoundFiles(tuple(files))


def file_materials(spawn: Spawn, found: tuple[FoundFile, ...]) -> tuple[FileMaterial, ...]:
    """The files as the block could show them, as far as they are there."""
    return tuple(file for file in (_file_material(spawn, one) for one in found) if file is not None)


def _file_material(spawn: Spawn, found: FoundFile) -> FileMaterial | None:
    """A file with its passages; in the Soft_Warning zone its path alone. None where it is gone by now."""
    query = "SELECT record_id, path FROM documents WHERE id = ?"
    row = spawn.store.primary.execute(query, (found.document_id,)).fetchone()
    if row is None:
        return None
    number, path = row
    state = file_state(spawn.store, number)
    labels = FILE_STATES.get(state, "")
    why = f"matches {', '.join(found.words)}"
    passages: list[StoredPassage] = []
    if spawn.zone is Zone.NORMAL and spawn.request.detail != "summary":
        stored = passages_of(spawn, found.document_id, f"AND id IN ({', '.join(map(str, found.passage_ids))})")
        passages = [stored[id_] for id_ in found.passage_ids if id_ in stored]
    shown = IncludedFile(
        id=number, path=path, passages=(), detail="path", tokens=0, score=round(found.text, 6), label=labels,
        reason=f"{labels}; {why}" if labels else why, file_state=state,
    )  # fmt: skip
    return FileMaterial(shown, tuple(passages))


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


def _best_passages(group: HitGroup) -> tuple[int, ...]:
    if not group.passages:
        return ()
    least = group.passages[0].score * _MIN_SHARE_OF_BEST
    return tuple(document_id_of(row.rowid) for row in group.passages[:MAX_PASSAGES] if row.score >= least)


def _words(plan: Plan, group: HitGroup) -> tuple[str, ...]:
    scores = term_scores(plan, group.best.rowid)
    return tuple(dict.fromkeys(part.term.text.lower() for part in scores))[:_NAMED_WORDS]

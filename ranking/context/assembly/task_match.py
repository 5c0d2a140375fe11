"""How well packages match a task text: their T, and the passages it rests on."""

from collections.abc import Sequence

from ctxrank.indexer.fulltext.index_file import Index, IndexState
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.facets import document_id_of, kind_facet
from ctxrank.ranking.formulas.blend import calibrated, half_score
from ctxrank.ranking.formulas.tuning import DEFAULT, Tuning
from ctxrank.ranking.retrieval.candidates.candidates import find_candidates, term_scores
from ctxrank.ranking.retrieval.candidates.matcher import Scope
from ctxrank.ranking.retrieval.grouping import SHOWN_PASSAGES, Evidence, grouped
from ctxrank.ranking.retrieval.plan import Plan, make_plan
from ctxrank.ranking.retrieval.query import plain_query
from ctxrank.ranking.retrieval.rerank import refined

# A passage below this share of the package's best one says too little to be shown beside it.
_MIN_SHARE = 0.5
_MAX_WORDS = 2000  # of a task text; the rarest 32 terms are what counts
_NAMED_WORDS = 3


class TaskMatches(NamedTuple):
    """The packages that match, by their document's id, and what they were matched with."""

    evidence: dict[int, Evidence]
    half: float
    plan: Plan
    state: IndexState

    def text_score(self, document_id: int) -> float:
        """T of a package; 0 where nothing of it matches."""
        entry = self.evidence.get(document_id)
        return 0.0 if entry is None else calibrated(entry.score, self.half)

    def passage_ids(self, document_id: int) -> list[int]:
        """Document ids of the passages worth showing, best first."""
        entry = self.evidence.get(document_id)
        if entry is None or not entry.passages:
            return []
        least = entry.passages[0].score * _MIN_SHARE
        return [document_id_of(row.rowid) for row in entry.passages[:SHOWN_PASSAGES] if row.score >= least]


def match_task(
    index: Index, task: str, session_ids: Sequence[int], document_ids: frozenset[int], tuning: Tuning = DEFAULT
) -> TaskMatches:
    """Match these packages of these sessions with a task text, in the caller's snapshot. Raises apsw.Error."""
    state = index.state()
    plan = make_plan(plain_query(task, _MAX_WORDS), index, state, tuning)
    facets = [f"{kind_facet('package')} OR {kind_facet('passage')}", "c1"]
    if len(session_ids) > 1:
        facets.append(" OR ".join(f"s{id_}" for id_ in session_ids))
    session_id = session_ids[0] if len(session_ids) == 1 else None
    found = find_candidates(index, state, plan, Scope(tuple(facets), session_id, owner_ids=document_ids))
    found = refined(index, state, plan, found)
    return TaskMatches(grouped(found.rows), half_score(plan.values), plan, state)


def matched_words(index: Index, matches: TaskMatches, document_id: int) -> tuple[str, ...]:
    """The words of the task that the package's best row rests on, the most telling first."""
    entry = matches.evidence.get(document_id)
    if entry is None:
        return ()
    scores = term_scores(index, matches.state, matches.plan, entry.best.rowid)
    words = dict.fromkeys(part.term.text.lower() for part in scores)
    return tuple(words)[:_NAMED_WORDS]

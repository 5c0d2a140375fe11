"""How well packages match a task text: their T, and the passages it rests on."""

from collections.abc import Sequence

from ctxrank.indexer.engine import Engine, Statistics
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.facets import Scope, document_id_of
from ctxrank.ranking.formulas.blend import calibrated, half_score
from ctxrank.ranking.formulas.tuning import DEFAULT, Tuning
from ctxrank.ranking.retrieval.candidates.candidates import find_candidates, term_scores
from ctxrank.ranking.retrieval.grouping import SHOWN_PASSAGES, HitGroup, grouped
from ctxrank.ranking.retrieval.plan import Plan, make_plan
from ctxrank.ranking.retrieval.query import plain_query
from ctxrank.ranking.retrieval.rerank import reranked

# A passage below this share of the package's best one says too little to be shown with it.
_MIN_SHARE = 0.5
_MAX_WORDS = 2000  # of a task text; the rarest 32 terms are what counts
_NAMED_WORDS = 3


class TaskMatches(NamedTuple):
    """The packages that match, by their document's id, and what they were matched with."""

    groups: dict[int, HitGroup]
    half: float
    plan: Plan
    statistics: Statistics

    def text_score(self, document_id: int) -> float:
        """T of a package; 0 where nothing of it matches."""
        group = self.groups.get(document_id)
        return 0.0 if group is None else calibrated(group.score, self.half)

    def passage_ids(self, document_id: int) -> list[int]:
        """Document ids of the passages worth showing, best first."""
        group = self.groups.get(document_id)
        if group is None or not group.passages:
            return []
        least = group.passages[0].score * _MIN_SHARE
        return [document_id_of(row.rowid) for row in group.passages[:SHOWN_PASSAGES] if row.score >= least]


def match_task(
    engine: Engine,
    statistics: Statistics,
    task: str,
    session_ids: Sequence[int],
    document_ids: frozenset[int],
    tuning: Tuning = DEFAULT,
) -> TaskMatches:
    """Match these packages of these sessions with a task text, in the caller's snapshot. Raises INDEX_READ_ERRORS."""
    plan = make_plan(plain_query(task, _MAX_WORDS), engine, statistics, tuning)
    scope = Scope(
        kinds=("package", "passage"), session_ids=tuple(session_ids), is_current=True, document_ids=document_ids
    )
    found = find_candidates(engine, statistics, plan, scope)
    found = reranked(engine, statistics, plan, found)
    return TaskMatches(groups=grouped(found.rows), half=half_score(plan.values), plan=plan, statistics=statistics)


def matched_words(engine: Engine, matches: TaskMatches, document_id: int) -> tuple[str, ...]:
    """The words of the task that the package's best row rests on, the most telling first."""
    group = matches.groups.get(document_id)
    if group is None:
        return ()
    scores = term_scores(engine, matches.statistics, matches.plan, group.best.rowid)
    words = dict.fromkeys(part.term.text.lower() for part in scores)
    return tuple(words)[:_NAMED_WORDS]

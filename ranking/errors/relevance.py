"""Which known errors a task is about, where nothing has failed yet.

Confirmed patterns of the project that have not expired and share words with the task text, by their BM25 score. One
word in common is chance; a task of one word has no more to give.
"""

import apsw

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.fulltext.index_file import BROKEN, Index
from ctxrank.indexer.store.connection import snapshot
from ctxrank.indexer.store.facets import kind_facet
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.retrieval.candidates.candidates import find_candidates, term_scores
from ctxrank.ranking.retrieval.candidates.matcher import Scope
from ctxrank.ranking.retrieval.degraded.readiness import make_ready
from ctxrank.ranking.retrieval.plan import make_plan
from ctxrank.ranking.retrieval.query import Query, Term

MIN_CONFIDENCE = 0.7  # a pattern is shown above this, not at it
LEAST_WORDS = 2
_CATCH_UP_MS = 50
_MAX_WORDS = 2000  # of a task text
_MOST_LOOKED_AT = 500  # patterns; the most trusted ones
_MOST_COMPARED = 20


def relevant_errors(
    store: Store, task: str, *, project: str, lang: str | None, now: int, limit: int, is_enabled: bool = True
) -> list[int]:
    """Ids of the patterns, best first; none where the index cannot answer, which is no place for a guess."""
    documents = _trusted(store.truth, project, lang, now)
    if not documents or not task.strip():
        return []
    if not make_ready(store, is_enabled=is_enabled, bound_ms=_CATCH_UP_MS).is_usable:
        return []
    index = store.index()
    try:
        with snapshot(index.connection):
            found = _matching(index, task, frozenset(documents), limit)
    except BROKEN:  # the packages' own search, before this, has said what is wrong and begun to heal it
        return []
    return [documents[document_id] for document_id in found]


def _trusted(truth: apsw.Connection, project: str, lang: str | None, now: int) -> dict[int, int]:
    """Patterns that may be shown, by their document's id."""
    query = """
        SELECT d.id, e.id
          FROM error_patterns AS e
          JOIN documents AS d ON d.kind = 'error' AND d.record_id = e.id
         WHERE e.project = :project AND e.state = 'confirmed' AND e.confidence > :least
           AND e.last_seen + e.ttl_days * :day >= :now
           AND (e.lang IS NULL OR :lang IS NULL OR e.lang = :lang)
         ORDER BY e.confidence DESC, e.occurrences DESC, e.last_seen DESC, e.id DESC
         LIMIT :most
    """
    values = {
        "project": project, "least": MIN_CONFIDENCE, "now": now, "lang": lang, "day": DAY_US, "most": _MOST_LOOKED_AT,
    }  # fmt: skip
    return {int(document_id): int(number) for document_id, number in truth.execute(query, values)}


def _matching(index: Index, task: str, documents: frozenset[int], limit: int) -> list[int]:
    """Document ids of what shares enough words with the task, best first."""
    state = index.state()
    words = task.split(maxsplit=_MAX_WORDS)[:_MAX_WORDS]
    plan = make_plan(Query(tuple(Term(word) for word in words), (), ()), index, state)
    least = min(LEAST_WORDS, len(plan.values))
    rows = find_candidates(index, state, plan, Scope((kind_facet("error"),), 0, owner_ids=documents)).rows
    rows.sort(key=lambda row: (-row.score, row.owner_id))
    found: list[int] = []
    for row in rows[:_MOST_COMPARED]:
        if len({part.term.text for part in term_scores(index, state, plan, row.rowid)}) >= least:
            found.append(row.owner_id)
        if len(found) == limit:
            break
    return found

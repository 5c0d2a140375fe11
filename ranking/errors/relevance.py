"""Which known errors a task is about, where nothing has failed yet.

Confirmed patterns of the project that have not expired and share words with the task text, by their BM25 score. One
word in common is chance; a task of one word has no more to give.
"""

import apsw

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.engine import INDEX_READ_ERRORS, SWITCHED_OFF, Engine
from ctxrank.indexer.opening import engine_of
from ctxrank.indexer.store.facets import Scope
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.retrieval.candidates.candidates import find_candidates, term_scores
from ctxrank.ranking.retrieval.plan import make_plan
from ctxrank.ranking.retrieval.query import plain_query

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
    documents = _trusted(store.primary, project, lang, now)
    if not documents or not task.strip():
        return []
    engine = engine_of(store)
    if not (engine.make_ready(_CATCH_UP_MS) if is_enabled else SWITCHED_OFF).is_usable:
        return []
    try:
        found = _matching(engine, task, frozenset(documents), limit)
    except INDEX_READ_ERRORS:  # the packages' own search, before this, has said what is wrong and begun to heal it
        return []
    return [documents[document_id] for document_id in found]


def _trusted(primary: apsw.Connection, project: str, lang: str | None, now: int) -> dict[int, int]:
    """Patterns that may be shown, by their document's id."""
    query = """
        SELECT d.id, e.id
          FROM error_patterns AS e
          JOIN documents AS d ON d.kind = 'error' AND d.record_id = e.id
         WHERE e.project = :project AND e.state = 'confirmed' AND e.confidence > :above
           AND e.last_seen + e.ttl_days * :day >= :now
           AND (e.lang IS NULL OR :lang IS NULL OR e.lang = :lang)
         ORDER BY e.confidence DESC, e.occurrences DESC, e.last_seen DESC, e.id DESC
         LIMIT :most
    """
    values = {
        "project": project,
        "above": MIN_CONFIDENCE,
        "now": now,
        "lang": lang,
        "day": DAY_US,
        "most": _MOST_LOOKED_AT,
    }
    return {int(document_id): int(pattern_id) for document_id, pattern_id in primary.execute(query, values)}


def _matching(engine: Engine, task: str, documents: frozenset[int], limit: int) -> list[int]:
    """Document ids of what shares enough words with the task, best first."""
    with engine.snapshot() as statistics:
        plan = make_plan(plain_query(task, _MAX_WORDS), engine, statistics)
        least = min(LEAST_WORDS, len(plan.values))
        scope = Scope(kinds=("error",), session_ids=(0,), document_ids=documents)
        rows = find_candidates(engine, statistics, plan, scope).rows
        rows.sort(key=lambda row: (-row.score, row.owner_id))
        found: list[int] = []
        for row in rows[:_MOST_COMPARED]:
            if len({part.term.text for part in term_scores(engine, statistics, plan, row.rowid)}) >= least:
                found.append(row.owner_id)
            if len(found) == limit:
                break
    return found

"""Which known errors a block shows where nothing has failed yet.

First those that the task is about, then the project's other ones, those that share a word with it first. About a task
are confirmed patterns that have not expired and share words with it, by their BM25 score. One word in common is chance,
unless a task of one word has no more to give, or the pattern is the project's own and the word is rare: few documents
hold it, and it is a name rather than a word that messages are made of (`redis`, or `yaml` where the message quotes it).
"""

import apsw

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.engine import Engine, Statistics
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.opening import from_index
from ctxrank.indexer.records.sessions import DEFAULT_PROJECT
from ctxrank.indexer.store.facets import Scope
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.retrieval.candidates.candidates import find_candidates, term_scores
from ctxrank.ranking.retrieval.plan import make_plan
from ctxrank.ranking.retrieval.query import plain_query

MIN_CONFIDENCE = 0.7  # a pattern is shown above this, not at it
LEAST_WORDS = 2
ABOUT_THE_TASK = "Words of the task."
WITH_A_WORD = "A word of the task; confirmed in this project."
OF_THE_PROJECT = "Confirmed in this project."
# A word is rare in at most so many documents, or in this share of all.
_RARE_DOCUMENTS = 2
_RARE_SHARE = 0.01
_MAX_WORDS = 2000  # of a task text
_MOST_LOOKED_AT = 500  # patterns; the most trusted ones
_MOST_COMPARED = 20


def relevant_errors(
    store: Store, task: str, *, project: str, lang: str | None, now: int, limit: int
) -> list[tuple[int, str]]:
    """(id, why) of the patterns, best first; where the index cannot answer, the project's own."""
    documents = _trusted(store.primary, project, lang, now)  # by the id of their document
    if not documents:
        return []

    def matching(engine: Engine, statistics: Statistics) -> list[tuple[int, str]]:
        """The patterns that share words with the task: enough for any, or one at least with the project's own."""
        plan = make_plan(plain_query(task, _MAX_WORDS), engine, statistics)
        least = min(LEAST_WORDS, len(plan.values))
        scope = Scope(kinds=("error",), session_ids=(0,), document_ids=frozenset(documents))
        found = find_candidates(plan, scope)
        rows = sorted(found.rows, key=lambda row: (-row.score, row.owner_id))
        about: list[tuple[int, str]] = []
        others: list[tuple[int, str]] = []
        compared = rows[:_MOST_COMPARED]
        scores_of = term_scores(plan, [*found.fetched])
        most = max(_RARE_DOCUMENTS, int(_RARE_SHARE * statistics.documents))
        for row in compared:
            shared = {part.term.text: part.term for part in scores_of(row.rowid)}
            pattern = documents[row.owner_id]
            if len(shared) >= least or (
                pattern.is_own and any(term.df <= most and _is_name(word, pattern) for word, term in shared.items())
            ):
                about.append((pattern.id, ABOUT_THE_TASK))
            elif pattern.is_own and shared:
                others.append((pattern.id, WITH_A_WORD))
        return about + others

    found = from_index(store, matching) if task.strip() else []
    known = {id_ for id_, _ in found}
    found += [(one.id, OF_THE_PROJECT) for one in documents.values() if one.is_own and one.id not in known]
    return found[:limit]


class _Pattern(NamedTuple):
    """A pattern that may be shown."""

    id: int
    is_own: bool  # the project's, and not one that was saved without a project
    message: str


def _trusted(primary: apsw.Connection, project: str, lang: str | None, now: int) -> dict[int, _Pattern]:
    """Patterns that may be shown, by their document's id."""
    query = """
        SELECT d.id, e.id, e.project = :project, e.message
          FROM error_patterns AS e
          JOIN documents AS d ON d.kind = 'error' AND d.record_id = e.id
         WHERE e.project IN (:project, :any) AND e.state = 'confirmed' AND e.confidence > :above
           AND e.last_seen + e.ttl_days * :day >= :now
           AND (e.lang IS NULL OR :lang IS NULL OR lower(e.lang) = lower(:lang))
         ORDER BY e.confidence DESC, e.occurrences DESC, e.last_seen DESC, e.id DESC
         LIMIT :most
    """
    values = {"project": project, "any": DEFAULT_PROJECT, "above": MIN_CONFIDENCE, "now": now, "lang": lang}
    rows = primary.execute(query, values | {"day": DAY_US, "most": _MOST_LOOKED_AT})
    return {document_id: _Pattern(number, bool(is_own), message) for document_id, number, is_own, message in rows}


def _is_name(word: str, pattern: _Pattern) -> bool:
    """Whether a word names something: the message quotes it, or it is none that messages are made of."""
    word = word.lower()
    quoted = pattern.message.lower().replace('"', "'").replace("`", "'").split("'")[1::2]
    # The words and names of a quoted text, without what stands between them.
    parts = ("".join(char if char.isalnum() else " " for char in text).split() for text in quoted)
    if any(word in some for some in parts):
        return True
    from ctxrank.indexer.errors.vocabulary import is_ordinary  # noqa: PLC0415  few tasks share one word with an error

    return not any(is_ordinary(form) for form in (word, word.removesuffix("s"), f"{word.removesuffix('ies')}y"))

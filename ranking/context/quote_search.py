"""The search for findings that hold a line word for word: for those that quotes.py has seen in the index."""

from collections.abc import Callable

from ctxrank.indexer.engine import Engine, Statistics
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.facets import Scope, document_id_of
from ctxrank.indexer.store.parents import ParentDocument
from ctxrank.ranking.context.floor import PromptFinding
from ctxrank.ranking.formulas.tuning import tuned
from ctxrank.ranking.retrieval.candidates.candidates import find_candidates
from ctxrank.ranking.retrieval.cleaning import cleaned, cleaned_parent
from ctxrank.ranking.retrieval.grouping import grouped
from ctxrank.ranking.retrieval.plan import make_plan
from ctxrank.ranking.retrieval.query import plain_query
from ctxrank.ranking.retrieval.rerank import reranked

_MAX_QUOTES = 2
_MAX_WORDS = 60
_MOST_COMPARED = 12


def best_quotes(
    line: str,
    scope: Scope,
    engine: Engine,
    statistics: Statistics,
    config: Config,
    is_wanted: Callable[[ParentDocument], bool],
    holds: Callable[[str], bool],
) -> list[PromptFinding]:
    """The best findings of a scope that hold the line, at most two, each with the passage that does."""
    plan = make_plan(plain_query(line, _MAX_WORDS), engine, statistics, tuned(config.ranking))
    groups = grouped(reranked(plan, find_candidates(plan, scope)).rows)
    order = sorted(groups, key=lambda id_: (-groups[id_].score, -id_))[:_MOST_COMPARED]
    found: list[PromptFinding] = []
    parents = engine.parents(order)
    for id_ in order:
        if len(found) == _MAX_QUOTES or not is_wanted(parents[id_]):
            continue
        parent = cleaned_parent(parents[id_], config.redaction_mode)
        stored = engine.passages([document_id_of(row.rowid) for row in groups[id_].passages])
        texts = (cleaned(one.body, one.ruleset, config.redaction_mode) for one in stored.values())
        passage = next((text for text in texts if holds(text)), None)
        if passage is not None or holds(f"{parent.title}\n{parent.body}"):
            found.append(PromptFinding(parent, passage or "", ("the message",)))
    return found

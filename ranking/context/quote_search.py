"""The search for findings that hold a line word for word: for those that quotes.py has seen in the index."""

from collections.abc import Callable

from ctxrank.indexer.engine import Engine, Row, Statistics
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.facets import document_id_of
from ctxrank.indexer.store.parents import ParentDocument
from ctxrank.ranking.context.findings import best_findings
from ctxrank.ranking.context.floor import PromptFinding
from ctxrank.ranking.formulas.tuning import tuned
from ctxrank.ranking.retrieval.candidates.candidates import Candidates, scored_rows
from ctxrank.ranking.retrieval.cleaning import cleaned, cleaned_parent
from ctxrank.ranking.retrieval.plan import make_plan
from ctxrank.ranking.retrieval.query import plain_query

_MAX_QUOTES = 2
_MAX_WORDS = 60


def best_quotes(
    line: str,
    rows: list[Row],
    engine: Engine,
    statistics: Statistics,
    config: Config,
    is_wanted: Callable[[ParentDocument], bool],
    holds: Callable[[str], bool],
) -> list[PromptFinding]:
    """The best findings that hold the line, at most two, each with the passage that does; `rows` are those that may."""
    plan = make_plan(plain_query(line, _MAX_WORDS), engine, statistics, tuned(config.ranking))
    groups, parents = best_findings(plan, [Candidates(scored_rows(plan, rows), is_complete=True)])
    found: list[PromptFinding] = []
    for id_, parent in parents.items():
        if len(found) == _MAX_QUOTES or not is_wanted(parent):
            continue
        parent = cleaned_parent(parent, config.redaction_mode)
        stored = engine.passages([document_id_of(row.rowid) for row in groups[id_].passages])
        texts = (cleaned(one.body, one.ruleset, config.redaction_mode) for one in stored.values())
        passage = next((text for text in texts if holds(text)), None)
        if passage is not None or holds(f"{parent.title}\n{parent.body}"):
            found.append(PromptFinding(parent, passage or "", ("the message",)))
    return found

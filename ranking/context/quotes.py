"""Which findings quote the message of a failure: what a note says of an error that nobody has saved as one.

    findings_that_quote(store, "database is locked", config, is_wanted)

The whole message stands in the finding, but for case, white space and quotation marks. It is said in a finding and no
known error: whether what stands around it is a fix, its reader must judge.
"""

from collections.abc import Callable

from ctxrank.indexer.engine import Engine, PhraseClause, RowQuery, Statistics
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.facets import Scope, document_id_of
from ctxrank.indexer.store.parents import ParentDocument
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.findings import PromptFinding
from ctxrank.ranking.context.floor import KINDS
from ctxrank.ranking.errors.relevance import from_index
from ctxrank.ranking.formulas.tuning import tuned
from ctxrank.ranking.retrieval.candidates.candidates import find_candidates
from ctxrank.ranking.retrieval.cleaning import cleaned, cleaned_parent
from ctxrank.ranking.retrieval.grouping import grouped
from ctxrank.ranking.retrieval.plan import make_plan
from ctxrank.ranking.retrieval.query import plain_query
from ctxrank.ranking.retrieval.rerank import reranked

MAX_QUOTES = 2
_LEAST_WORDS = 3  # a shorter message may be of anything
_MAX_WORDS = 60
_MOST_COMPARED = 12
_SCOPE = Scope(kinds=tuple(kind for kind in KINDS if kind != "error"), is_current=True)
_MARKS = dict.fromkeys(map(ord, "'\"`*\u2018\u2019\u201c\u201d"))


def findings_that_quote(
    store: Store, message: str, config: Config, is_wanted: Callable[[ParentDocument], bool]
) -> list[PromptFinding]:
    """The findings that hold a message, the best first, with the passage that does; `is_wanted` leaves some out."""
    first_line = message.strip().partition("\n")[0]
    wanted = _plain(first_line)
    if len(wanted.split()) < _LEAST_WORDS or not config.has_index:
        return []

    # What every finding that quotes it holds, and hardly another; at either end a word may go on there.
    inside = " ".join(first_line.split()[1:-1])

    def quoting(engine: Engine, statistics: Statistics) -> list[PromptFinding]:
        if any(map(str.isalnum, inside)) and not engine.row_ids(RowQuery(PhraseClause(inside), _SCOPE), 1):
            return []
        plan = make_plan(plain_query(first_line, _MAX_WORDS), engine, statistics, tuned(config.ranking))
        groups = grouped(reranked(plan, find_candidates(plan, _SCOPE)).rows)
        order = sorted(groups, key=lambda id_: (-groups[id_].score, -id_))[:_MOST_COMPARED]
        found: list[PromptFinding] = []
        parents = engine.parents(order)
        for id_ in order:
            if len(found) == MAX_QUOTES or not is_wanted(parents[id_]):
                continue
            parent = cleaned_parent(parents[id_], config.redaction_mode)
            stored = engine.passages([document_id_of(row.rowid) for row in groups[id_].passages])
            texts = [cleaned(one.body, one.ruleset, config.redaction_mode) for one in stored.values()]
            passage = next((text for text in texts if wanted in _plain(text)), None)
            if passage is not None or wanted in _plain(f"{parent.title}\n{parent.body}"):
                found.append(PromptFinding(parent, passage or "", ("the message",)))
        return found

    return from_index(store, quoting)


def _plain(text: str) -> str:
    return " ".join(text.lower().translate(_MARKS).split()).strip(" .:!")

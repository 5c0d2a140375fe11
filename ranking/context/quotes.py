"""Which findings quote the message of a failure: what a note says of an error that nobody has saved as one.

    findings_that_quote(store, "database is locked", config, is_wanted)

The whole message stands in the finding, but for case, white space and quotation marks. It is said in a finding and no
known error: whether what stands around it is a fix, its reader must judge. Mostly there is none: the index says so.
"""

from collections.abc import Callable

from ctxrank.indexer.engine import Engine, PhraseClause, RowQuery, Statistics
from ctxrank.indexer.opening import from_index
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.facets import Scope
from ctxrank.indexer.store.parents import ParentDocument, few_texts
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.floor import KINDS, PromptFinding

_FEW_TEXTS = 100  # so many are read sooner than an index is opened
_MOST_ROWS = 500  # that may hold it
_LEAST_WORDS = 3  # a shorter message may be of anything
_SCOPE = Scope(kinds=tuple(kind for kind in KINDS if kind != "error"), is_current=True)
_MARKS = "'\"`*\u2018\u2019\u201c\u201d"


def findings_that_quote(
    store: Store, message: str, config: Config, is_wanted: Callable[[ParentDocument], bool]
) -> list[PromptFinding]:
    """The findings that hold a message, the best first, with the passage that does; `is_wanted` leaves some out."""
    first_line = message.strip().partition("\n")[0]
    wanted = " ".join(_unmarked(first_line).split()).strip(" .:!")
    words = wanted.split()
    if len(words) < _LEAST_WORDS or not (config.has_index and any(map(str.isalnum, wanted))):
        return []
    few = few_texts(store.primary, _SCOPE.kinds, _FEW_TEXTS)

    def holds(text: str) -> bool:
        text = _unmarked(text)
        return all(word in text for word in words) and wanted in " ".join(text.split())

    if few is not None and not any(map(holds, few)):
        return []  # the index need not be opened to say so

    # What every finding that quotes it holds, and hardly another; there its first word may be the end of a longer one.
    behind = first_line.split(None, 1)[1]
    phrase = behind if any(map(str.isalnum, behind)) else first_line

    def quoting(engine: Engine, statistics: Statistics) -> list[PromptFinding]:
        rows = engine.rows(RowQuery(PhraseClause(phrase, is_prefix=True), _SCOPE), _MOST_ROWS)
        if not rows:
            return []
        from ctxrank.ranking.context.quote_search import best_quotes  # noqa: PLC0415  only where one may be quoted

        return best_quotes(first_line, rows, engine, statistics, config, is_wanted, holds)

    return from_index(store, quoting)


def _unmarked(text: str) -> str:
    for mark in _MARKS:  # a tenth of the time that looking each character up takes
        text = text.replace(mark, "")
    return text.lower()

"""Which findings quote the message of a failure: what a note says of an error that nobody has saved as one.

    findings_that_quote(store, "database is locked", config, is_wanted)

The whole message stands in the finding, but for case, white space and quotation marks. It is said in a finding and no
known error: whether what stands around it is a fix, its reader must judge. Mostly there is none: the index says so.
"""

from collections.abc import Callable

from ctxrank.indexer.engine import Engine, FieldWeights, PhraseClause, RowQuery, Statistics
from ctxrank.indexer.opening import from_index
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.facets import Scope, document_id_of
from ctxrank.indexer.store.parents import ParentDocument, few_texts
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.floor import KINDS, PromptFinding
from ctxrank.ranking.retrieval.cleaning import cleaned, cleaned_parent

_FEW_TEXTS = 100  # so many are read sooner than an index is opened
_MOST_ROWS = 300  # that may hold it
_MAX_QUOTES = 2
_LEAST_WORDS = 3  # a shorter message may be of anything
_SCOPE = Scope(kinds=tuple(kind for kind in KINDS if kind != "error"), is_current=True)
_WEIGHTS = FieldWeights(1.0, 1.0, 1.0, 1.0)
_MARKS = "'\"`*\u2018\u2019\u201c\u201d"


def findings_that_quote(
    store: Store, message: str, config: Config, is_wanted: Callable[[ParentDocument], bool]
) -> list[PromptFinding]:
    """The findings that hold a message, by the engine's rank, with the passage; `is_wanted` leaves some out."""
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
        query = RowQuery(PhraseClause(phrase, is_prefix=True), _SCOPE)
        passages: dict[int, list[int]] = {}  # of each finding that may hold it, the best ones first
        for rowid, owner_id, *_ in engine.best_rows(query, _WEIGHTS, _MOST_ROWS):
            passages.setdefault(owner_id, []).append(document_id_of(rowid))
        parents = engine.parents(passages) if passages else {}
        found: list[PromptFinding] = []
        for id_, held_in in passages.items():
            if len(found) == _MAX_QUOTES or not is_wanted(parents[id_]):
                continue
            parent = cleaned_parent(parents[id_], config.redaction_mode)
            stored = engine.passages([one for one in held_in if one != id_])
            texts = (cleaned(one.body, one.ruleset, config.redaction_mode) for one in stored.values())
            passage = next((text for text in texts if holds(text)), None)
            if passage is not None or holds(f"{parent.title}\n{parent.body}"):
                found.append(PromptFinding(parent, passage or "", ("the message",)))
        return found

    return from_index(store, quoting)


def _unmarked(text: str) -> str:
    for mark in _MARKS:  # a tenth of the time that looking each character up takes
        text = text.replace(mark, "")
    return text.lower()

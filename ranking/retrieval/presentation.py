"""Presentation: a parent document as the hit it is shown as."""

from collections.abc import Collection

from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION, RedactionMode
from ctxrank.indexer.store.connection import DAMAGED_STEP
from ctxrank.indexer.store.freshness import file_state
from ctxrank.indexer.store.ids import PACKAGE, public_id
from ctxrank.indexer.store.parents import ParentDocument
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.retrieval.cleaning import cleaned
from ctxrank.ranking.retrieval.hits import Hit, PassageHit

if TYPE_CHECKING:
    from ctxrank.ranking.formulas.explanation import Explanation


def cleaned_parent(parent: ParentDocument, mode: RedactionMode) -> ParentDocument:
    """The same document with its texts as today's redaction rules leave them."""
    if parent.ruleset >= RULESET_VERSION:
        return parent
    title, body = (cleaned(text, parent.ruleset, mode) for text in (parent.title, parent.body))
    return parent._replace(title=title, body=body)


def make_hit(
    store: Store,
    parent: ParentDocument,
    score: float,
    snippet: str,
    passages: tuple[PassageHit, ...],
    explanation: "Explanation | None",
) -> Hit:
    """The hit as it is handed out."""
    return Hit(
        id=public_id(parent.kind, parent.number), kind=parent.kind, title=parent.title, path=parent.path,
        score=round(score, 6), snippet=snippet, session=parent.session, group=parent.group, agent=parent.agent,
        type=parent.type, priority=parent.priority, created_at=parent.created_at,
        superseded_by=None if parent.superseded_by is None else public_id(PACKAGE, parent.superseded_by),
        file_state=file_state(store, parent.artifact_id), passages=passages, explanation=explanation,
    )  # fmt: skip


def corrupt_row_notes(corrupt: Collection[int]) -> tuple[str, ...]:
    """The note where rows were left out."""
    if not corrupt:
        return ()
    rows = "1 row of the store is" if len(corrupt) == 1 else f"{len(corrupt)} rows of the store are"
    return (f"{rows} damaged and left out. {DAMAGED_STEP}",)

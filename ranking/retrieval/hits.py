"""What a search is asked, what it answers, and a parent document as the hit it is shown as."""

from collections.abc import Collection

from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION, RedactionMode
from ctxrank.indexer.store.connection import DAMAGED_STEP
from ctxrank.indexer.store.freshness import file_state
from ctxrank.indexer.store.ids import PACKAGE, public_id
from ctxrank.indexer.store.parents import ParentDocument
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.retrieval.cleaning import cleaned

if TYPE_CHECKING:
    from ctxrank.ranking.formulas.explanation import Explanation


Wanted = str | tuple[str, ...] | None  # one value of a filter, or several


class SearchRequest(NamedTuple):
    """A query as typed, and its filters; moments are microseconds since 1970, UTC.

    Several values of one filter are alternatives. By default the text is a query as query.py describes, unless it was
    pasted: then it is all words.
    """

    text: str
    limit: int = 10
    kinds: tuple[str, ...] = ()
    session: Wanted = None
    group: Wanted = None
    agent: Wanted = None
    type: Wanted = None
    phase: Wanted = None
    priority: Wanted = None
    path: Wanted = None
    since: int | None = None
    until: int | None = None
    is_explained: bool = False
    as_of: int | None = None  # the moment that recency is measured from; None is now
    is_by_passage: bool = False  # each passage is a hit of its own
    is_plain: bool = False  # nothing in the text is a filter, an exclusion or a must: it is all words
    is_syntax: bool = False  # all of it is a query, also where it looks pasted, and it is never asked as plain words
    has_snippets: bool = True


class PassageHit(NamedTuple):
    """A part of a file that matched; lines are counted from 1, both ends inside."""

    id: int
    heading: str
    start_line: int
    end_line: int
    snippet: str
    score: float


class Hit(NamedTuple):
    """One file, package or record that matched; `file_state` is current, changed, missing, or '' for none."""

    id: str
    kind: str
    title: str
    path: str
    score: float
    snippet: str
    session: str | None
    group: str | None
    agent: str
    type: str
    priority: str
    created_at: int
    superseded_by: str | None
    file_state: str
    passages: tuple[PassageHit, ...]
    explanation: "Explanation | None"


class SearchResult(NamedTuple):
    """Hits, best first. `outcome` is matched, no_match, degraded or stale; `reason` says why degraded.

    `total` counts what matched; where `is_capped` it is a lower bound. Where `is_exact`, these are the hits that
    scoring every matching row would give; else that is likely but not proven (exactness.py). `stale` counts
    changes that are not in the index yet. `suggestions` are similar words where nothing matched. Where `is_relaxed`,
    nothing was found with the phrases and exclusions of the query, and these are the hits of its words alone.
    """

    query: str
    outcome: str
    engine: str
    reason: str
    stale: int
    total: int
    is_capped: bool
    is_exact: bool
    hits: tuple[Hit, ...]
    suggestions: tuple[str, ...]
    notes: tuple[str, ...]
    is_relaxed: bool = False


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

"""What a search is asked, what it answers, and a parent document as the hit it is shown as."""

from collections.abc import Callable, Collection

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.connection import DAMAGED_STEP
from ctxrank.indexer.store.freshness import FileStates
from ctxrank.indexer.store.ids import PACKAGE, public_id, whose
from ctxrank.indexer.store.parents import ParentDocument, RankingSignals, StoredPassage
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.formulas.static_features import Signals
from ctxrank.ranking.retrieval.cleaning import cleaned
from ctxrank.ranking.retrieval.snippets import Snippet, SnippetLine, Span

if TYPE_CHECKING:
    from ctxrank.ranking.formulas.explanation import Explanation, ScoreShares
    from ctxrank.ranking.retrieval.facet_counts import FacetCounts
    from ctxrank.ranking.retrieval.filters import Filters
    from ctxrank.ranking.retrieval.plan import Correction
    from ctxrank.ranking.retrieval.query import Query


MOST_COUNTED = 2000  # documents, by field: more would make an answer wait
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
    has_facets: bool = False  # what was found is counted by field, too
    is_folded: bool = False  # what is nearly the same as a better hit is listed below it (folding.py)


class PassageHit(NamedTuple):
    """A part of a file that matched; lines are counted from 1, both ends inside.

    `match_line` is the line of its best match, `lines` are that line and those around it. `marks` are the marked words
    of the snippet.
    """

    id: int
    heading: str
    start_line: int
    end_line: int
    snippet: str
    score: float
    match_line: int
    lines: tuple[SnippetLine, ...]
    marks: tuple[Span, ...]


class FoldedHit(NamedTuple):
    """A document that is nearly the same as the hit below which it is listed."""

    id: str
    path: str


class Hit(NamedTuple):
    """One file, package or record that matched; `file_state` as freshness.py says it.

    The score is None in a list by filters alone. `marks` are the marked words of the snippet, with their marks.
    """

    id: str
    kind: str
    title: str
    path: str
    score: float | None
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
    marks: tuple[Span, ...] = ()
    folded: tuple[FoldedHit, ...] = ()
    shares: "ScoreShares | None" = None  # where it is explained
    session_title: str | None = None
    whose: str = ""  # of a record of another store: its name, or that it is not accepted here
    checkout: str = ""  # the folder that the path starts from, where it is another checkout than the one that asks


class Foldable(NamedTuple):
    """A hit, and what decides whether it is nearly the same as another one."""

    hit: Hit
    text: str  # of its best passage
    terms: Callable[[], frozenset[str]]  # of the query, in that text, the title and the path


class Question(NamedTuple):
    """A request with its query as it was read, and its filters as they were resolved."""

    store: Store
    request: SearchRequest
    query: "Query"
    filters: "Filters"
    config: Config
    today: int  # the day that recency is measured from


class SearchResult(NamedTuple):
    """Hits, best first. `outcome` is matched, no_match, degraded or stale; `reason` says why degraded.

    `total` counts what matched, folded hits too; where `is_capped` it is a lower bound. Where `is_exact`, every
    matching row was scored. `stale` counts changes that are not in the index yet. `suggestions` are similar words where
    nothing matched. Where `is_relaxed`, nothing was found with the phrases and exclusions of the query, and these are
    the hits of its words alone.
    `corrections` are what was typed and which words of the index were searched for, too; `unknown` are words of the
    query that no document holds.
    """

    query: str
    outcome: str
    engine: str = "heuristic"
    reason: str = ""
    stale: int = 0
    total: int = 0
    is_capped: bool = False
    is_exact: bool = False
    hits: tuple[Hit, ...] = ()
    suggestions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    is_relaxed: bool = False
    corrections: "tuple[Correction, ...]" = ()
    unknown: tuple[str, ...] = ()
    facets: "FacetCounts | None" = None  # where they were asked for


def signals_of(document: ParentDocument | RankingSignals, today: int) -> Signals:
    """What the heuristic knows of a document on a day."""
    # By place and in full: of sixty documents of a search, in an eighth of the time.
    return Signals._make((document.priority, False, False, today - document.created_at // DAY_US, False))


def make_hit(
    states: FileStates,
    parent: ParentDocument,
    score: float | None,
    snippet: Snippet,
    passages: tuple[PassageHit, ...],
    explanation: "Explanation | None",
    shares: "ScoreShares | None" = None,
    checkout: str = "",
) -> Hit:
    """The hit as it is handed out."""
    return Hit(
        id=public_id(parent.kind, parent.number), kind=parent.kind, title=parent.title, path=parent.path,
        score=None if score is None else round(score, 6), snippet=snippet.text, session=parent.session,
        group=parent.group, agent=parent.agent, type=parent.type, priority=parent.priority,
        created_at=parent.created_at,
        superseded_by=None if parent.superseded_by is None else public_id(PACKAGE, parent.superseded_by),
        file_state=states.of(parent.artifact_id, parent.number if parent.kind == PACKAGE else None),
        passages=passages, explanation=explanation, marks=snippet.marks,
        shares=shares, session_title=parent.session_title,
        whose=whose(states.store.primary, parent.number), checkout=checkout,
    )  # fmt: skip


def facets_of(question: Question, documents: Callable[[], Collection[ParentDocument]]) -> "FacetCounts | None":
    """What was found, counted by field, where that is asked for."""
    if not question.request.has_facets:
        return None
    from ctxrank.ranking.retrieval.facet_counts import counted  # noqa: PLC0415  few searches ask for them

    return counted(question.store.primary, documents())


class ShownText(NamedTuple):
    """A text of a hit, what is shown of it, and the passage that it is."""

    text: str
    snippet: Snippet
    passage: PassageHit | None = None


def show_passage(
    stored: StoredPassage, mode: RedactionMode, cut: Callable[[str, int], Snippet], score: float
) -> ShownText:
    """The passage as it is handed out; `cut` makes the snippet of a text that begins at a line."""
    text = cleaned(stored.body, stored.ruleset, mode)
    snippet = cut(text, stored.start_line)
    hit = PassageHit._make((
        stored.id, cleaned(stored.heading, stored.ruleset, mode), stored.start_line, stored.end_line, snippet.text,
        round(score, 6), min(snippet.match_line, stored.end_line), snippet.lines, snippet.marks,
    ))  # fmt: skip
    return ShownText._make((text, snippet, hit))


def corrupt_row_notes(corrupt: Collection[int]) -> tuple[str, ...]:
    """The note where rows were left out."""
    rows = "1 row of the store is" if len(corrupt) == 1 else f"{len(corrupt)} rows of the store are"
    return (f"{rows} damaged and left out. {DAMAGED_STEP}",) if corrupt else ()

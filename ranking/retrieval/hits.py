"""What a search is asked and what it answers."""

from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ctxrank.ranking.formulas.explanation import Explanation


class SearchRequest(NamedTuple):
    """A query as typed, and its filters; moments are microseconds since 1970, UTC."""

    text: str
    limit: int = 10
    kinds: tuple[str, ...] = ()
    session: str | None = None
    group: str | None = None
    agent: str | None = None
    type: str | None = None
    phase: str | None = None
    priority: str | None = None
    path: str | None = None
    since: int | None = None
    until: int | None = None
    is_explained: bool = False
    as_of: int | None = None  # the moment that recency is measured from; None is now
    is_by_passage: bool = False  # each passage is a hit of its own
    is_plain: bool = False  # nothing in the text is a filter, an exclusion or a must: it is all words
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
    changes that are not in the index yet. `suggestions` are similar words where nothing matched.
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

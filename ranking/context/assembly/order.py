"""Order: eligible packages ranked as a block wants them, each with its score and why.

    this agent's before others' · undelivered before delivered · before those whose code is gone · score · newest

With a task text the score is the blend of the heuristic and of how well a package matches that text (T); without one,
or without an index, it is the heuristic alone.
"""

from collections.abc import Callable, Mapping

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.engine import Row
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.records.sessions import TaskGroup
from ctxrank.indexer.store.facets import Scope, document_id_of
from ctxrank.indexer.text.lines import session_label
from ctxrank.ranking.context.assembly import limits
from ctxrank.ranking.context.assembly.eligibility import EligiblePackage
from ctxrank.ranking.context.assembly.limits import Zone
from ctxrank.ranking.context.assembly.shapes import Spawn
from ctxrank.ranking.formulas.blend import blended
from ctxrank.ranking.formulas.static_features import BLENDED, HeuristicParts, Signals, heuristic
from ctxrank.ranking.retrieval.candidates.candidates import find_candidates, term_scores
from ctxrank.ranking.retrieval.grouping import SHOWN_PASSAGES, HitGroup, grouped
from ctxrank.ranking.retrieval.plan import Plan
from ctxrank.ranking.retrieval.rerank import reranked

if TYPE_CHECKING:
    from ctxrank.ranking.formulas.explanation import Explanation

# What the Conservative zone shows: the highest of these that any package has.
LADDER = ("critical", "high", "medium")
DELIVERED = "delivered before"  # in this iteration
# A passage below this share of the package's best one says too little to be shown with it.
_MIN_SHARE = 0.5
_NAMED_WORDS = 3
UNRELATED = "nothing matches the task better"
UNUSED_CLONE = "it came with the repository and was not used here"


class RankedPackage(NamedTuple):
    """An eligible package with its score, and why: what is known of it for the limit's and the block's sake.

    `text` is its T, None where the heuristic alone decides. `group` are the rows by which the task found it.
    """

    package: EligiblePackage
    text: float | None
    parts: HeuristicParts
    score: float
    explanation: "Explanation | None" = None
    is_best_known: bool = False  # it has no bearing on the task, and neither has any other
    standing: str = ""  # IS_NEAR, IS_BEARING or IS_ROUTED where the task decides the detail (bearing.py)
    group: HitGroup | None = None
    words_of: Callable[[HitGroup | None], tuple[str, ...]] | None = None

    @property
    def words(self) -> tuple[str, ...] | None:
        """The words of the task that match, the most telling first; None without a task."""
        return self.words_of and self.words_of(self.group)

    @property
    def passage_ids(self) -> tuple[int, ...]:
        """The passages that match, best first; what is routed is in a line, and its text counts nothing."""
        return best_passages(self.group, SHOWN_PASSAGES, _MIN_SHARE) if self.group and self.text else ()


class ZoneSelection(NamedTuple):
    """The packages that a zone shows, best first, and those that it does not; `level` is Conservative's.

    `floored` are those that neither bear on the task nor are routed.
    """

    packages: list[RankedPackage]
    omitted: list[RankedPackage]
    level: str
    floored: tuple[RankedPackage, ...] = ()
    is_by_bearing: bool = False  # what is floored is counted, and nothing is left out by its rank

    @property
    def available(self) -> int:
        """How many packages there are to show here, or in a zone with more room."""
        return len(self.packages) + len(self.omitted) + (len(self.floored) if self.is_by_bearing else 0)


class Matches(NamedTuple):
    """The packages that hold a word of a task, by the ids of their documents, and the index's rows by their numbers."""

    groups: dict[int, HitGroup]
    fetched: dict[int, Row]


def rank_packages(
    eligible: list[EligiblePackage], texts: Mapping[int, float] | None, group: TaskGroup | None, today: int
) -> list[RankedPackage]:
    """The packages, best first; `texts` has T of those that match, by document id, None is the heuristic alone."""
    rows: list[RankedPackage] = []
    found: dict[Signals, tuple[HeuristicParts, float]] = {}  # many packages are of one day and one priority
    own_group = group and group.name
    for package in eligible:
        is_same_group = package.is_own_group and package.group == own_group
        text = None if texts is None else texts.get(package.document_id, 0.0)
        made_at = package.created_at if text is None else max(package.created_at, package.held_at)
        days = today - made_at // DAY_US
        is_lowered = texts is not None and package.is_for_others
        # To whom it was not sent its priority says nothing.
        priority = "low" if is_lowered else package.priority
        signals = Signals._make((priority, is_same_group, package.is_designated, days, is_lowered))
        if signals not in found:
            parts = heuristic(signals) if text is None else heuristic(signals, BLENDED)
            found[signals] = parts, parts.total
        parts, total = found[signals]
        score = total if text is None else blended(text, total)
        rows.append(RankedPackage(package, text, parts, score))
    rows.sort(key=_order)
    return rows


def _order(row: RankedPackage) -> tuple[bool, bool, bool, float, int, int]:
    package = row.package
    return package.is_for_others, package.is_delivered, package.is_gone, -row.score, -package.created_at, -package.id


def select_for_zone(zone: Zone, rows: list[RankedPackage]) -> ZoneSelection:
    """What a zone shows of the ranked packages.

    Conservative looks for its level among the packages for this agent first: what is critical to another
    must not hide what is important to this one. The level is '' where all are of low priority.
    """
    if zone is not limits.CONSERVATIVE:
        return ZoneSelection(rows, [], "")
    own = {row.package.priority for row in rows if not row.package.is_for_others}
    others = {row.package.priority for row in rows}
    level = next((level for levels in (own, others) for level in LADDER if level in levels), "")
    packages = [row for row in rows if row.package.priority == level]
    return ZoneSelection(packages, [row for row in rows if row.package.priority != level], level)


def without_unused_clones(rows: list[RankedPackage]) -> tuple[list[RankedPackage], tuple[RankedPackage, ...]]:
    """(the packages that may be shown whatever the task is, those that came with the repository and were not used)."""
    known = [row for row in rows if not row.package.is_unused_clone]
    return known, tuple(row for row in rows if row.package.is_unused_clone)


def with_reserved(rows: list[RankedPackage], limit: int) -> list[RankedPackage]:
    """The packages with one place within the limit, its last, for a critical one that is designated for the agent.

    It takes it only where none of them has a better one, and was not delivered before.
    """
    row = next(filter(_is_reserved_for, rows), None)
    if row is None or limit <= 0 or row in rows[:limit]:
        return rows
    return [*rows[: limit - 1], row, *(other for other in rows[limit - 1 :] if other is not row)]


def _is_reserved_for(row: RankedPackage) -> bool:
    package = row.package
    return (
        package.priority == "critical" and package.is_designated and package.is_own_group and not package.is_delivered
    )


def select_by_heuristic(spawn: Spawn, eligible: list[EligiblePackage]) -> ZoneSelection:
    """The packages in their order without a task, or without an index."""
    limit = spawn.limit
    known, clones = without_unused_clones(rank_packages(eligible, None, spawn.group, spawn.now // DAY_US))
    selection = select_for_zone(spawn.zone, with_reserved(known, limit))._replace(floored=clones)
    if not spawn.request.is_explained:
        return selection
    from ctxrank.ranking.retrieval.explain import explain_heuristic  # noqa: PLC0415  only where the trees are read

    explained = [row._replace(explanation=explain_heuristic(row.parts)) for row in selection.packages[:limit]]
    return selection._replace(packages=explained + selection.packages[limit:])


def matching_groups(plan: Plan, eligible: list[EligiblePackage]) -> Matches:
    """The packages that hold a word of the task."""
    if not eligible:
        return Matches({}, {})
    sessions = tuple(sorted({package.session_id for package in eligible}))
    # Their numbers say all else: that they are packages, and none that is superseded.
    scope = Scope(session_ids=sessions, document_ids=frozenset(package.document_id for package in eligible))
    found = reranked(plan, find_candidates(plan, scope))
    return Matches(grouped(found.rows), {row[0]: row for row in found.fetched})


def with_matches(
    spawn: Spawn, plan: Plan, matches: Matches, rows: list[RankedPackage], standing: Callable[[RankedPackage], str]
) -> list[RankedPackage]:
    """The packages with how they stand, the words and passages that match, and where it is asked for scores' trees."""
    found = [matches.groups.get(row.package.document_id) for row in rows]
    words_of = telling_words(plan, [matches.fetched[group.best.rowid] for group in found if group])
    # In place of the last three fields.
    known = [(*row[:-3], standing(row), group, words_of) for row, group in zip(rows, found, strict=True)]
    rows = [*map(RankedPackage._make, known)]
    if not spawn.request.is_explained:
        return rows
    from ctxrank.ranking.retrieval.explain import explain_blend  # noqa: PLC0415  only where they are read

    trees = (explain_blend(plan, row.group if row.text else None, row.text or 0.0, row.parts)[0] for row in rows)
    return [row._replace(explanation=tree) for row, tree in zip(rows, trees, strict=True)]


def best_passages(group: HitGroup, most: int, least_share: float) -> tuple[int, ...]:
    """Document ids of the passages worth showing, best first: those that have this share of the best one's score."""
    least = group.passages[0].score * least_share if group.passages else 0.0
    return tuple(document_id_of(row.rowid) for row in group.passages[:most] if row.score >= least)


def telling_words(plan: Plan, rows: list[Row]) -> Callable[[HitGroup | None], tuple[str, ...]]:
    """What gives the words of the task that the best row of a hit, one of these, rests on, the most telling first."""
    scores_of = term_scores(plan, rows)

    def words_of(group: HitGroup | None) -> tuple[str, ...]:
        parts = scores_of(group.best.rowid) if group else ()
        return tuple(dict.fromkeys([part.term.text.lower() for part in parts]))[:_NAMED_WORDS]

    return words_of


def label(package: EligiblePackage, session: str) -> str:
    """What sets a package apart from those that are simply for this agent and group; mostly ''."""
    where = "" if package.is_own_group else f"from group {package.group}"
    if package.session != session:
        where = f"from session {session_label(package.session, package.session_title)}"
    labels = ("designated for other agents" * package.is_for_others, where, DELIVERED * package.is_delivered)
    return "; ".join(filter(None, labels))


def reason(package: EligiblePackage, words: tuple[str, ...] | None, group: TaskGroup | None) -> str:
    """Why a package is in the block, in a few words; `words` of the task that match, None without a task."""
    if words is not None:
        return f"matches {', '.join(words)}" if words else "no word of the task matches"
    if group and package.group == group.name:
        return "same group"
    return f"group {package.group}" if package.group else "whole session"

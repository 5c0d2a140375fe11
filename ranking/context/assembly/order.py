"""Order: eligible packages ranked as a block wants them, each with its score and why.

    this agent's before others' · undelivered before delivered · score · newest

With a task text the score is the blend; without one, or without an index, it is the heuristic alone.
"""

from collections.abc import Callable

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.records.sessions import Group
from ctxrank.ranking.context.assembly.eligibility import EligiblePackage
from ctxrank.ranking.context.assembly.zones import Zone
from ctxrank.ranking.formulas.blend import blended
from ctxrank.ranking.formulas.static_features import HeuristicParts, Signals, blended_heuristic, heuristic

if TYPE_CHECKING:
    from ctxrank.ranking.formulas.explanation import Explanation

# What the Conservative zone shows: the highest of these that any package has.
LADDER = ("critical", "high", "medium")
DELIVERED = "delivered before"  # in this iteration


class RankedPackage(NamedTuple):
    """An eligible package with its score, and why: what is known of it for the limit's and the block's sake.

    `text` is its T, None where the heuristic alone decides. `words` of the task and `passage_ids` are what matches,
    best first; None without a task.
    """

    package: EligiblePackage
    text: float | None
    parts: HeuristicParts
    score: float
    words: tuple[str, ...] | None = None
    passage_ids: tuple[int, ...] = ()
    explanation: "Explanation | None" = None


class ZoneSelection(NamedTuple):
    """The packages that a zone shows, best first, and those that it does not; `level` is Conservative's."""

    packages: list[RankedPackage]
    omitted: list[RankedPackage]
    level: str


def rank_packages(
    eligible: list[EligiblePackage],
    text_score: Callable[[int], float] | None,
    group: Group | None,
    today: int,
) -> list[RankedPackage]:
    """The packages, best first; `text_score` gives T by document id, None is the heuristic alone."""
    rows: list[RankedPackage] = []
    for package in eligible:
        is_same_group = package.is_own_group and package.group == (group.name if group is not None else None)
        days = today - package.created_at // DAY_US
        signals = Signals(package.priority, is_same_group, package.is_designated, days)
        if text_score is None:
            parts = heuristic(signals)
            rows.append(RankedPackage(package, None, parts, parts.total))
        else:
            parts = blended_heuristic(signals)
            text = text_score(package.document_id)
            rows.append(RankedPackage(package, text, parts, blended(text, parts.total)))
    rows.sort(key=_order)
    return rows


def _order(row: RankedPackage) -> tuple[bool, bool, float, int, int]:
    package = row.package
    return package.is_for_others, package.is_delivered, -row.score, -package.created_at, -package.id


def select_for_zone(zone: Zone, rows: list[RankedPackage]) -> ZoneSelection:
    """What a zone shows of the ranked packages.

    Conservative looks for its level among the packages for this agent first: what is critical to another
    must not hide what is important to this one.
    """
    if zone is not Zone.CONSERVATIVE:
        return ZoneSelection(rows, [], "")
    own = {row.package.priority for row in rows if not row.package.is_for_others}
    others = {row.package.priority for row in rows}
    level = next((level for levels in (own, others) for level in LADDER if level in levels), LADDER[-1])
    packages = [row for row in rows if row.package.priority == level]
    return ZoneSelection(packages, [row for row in rows if row.package.priority != level], level)


def label(package: EligiblePackage, session: str) -> str:
    """What sets a package apart from those that are simply for this agent and group; mostly ''."""
    labels: list[str] = []
    if package.is_for_others:
        labels.append("designated for other agents")
    if package.session != session:
        labels.append(f"from session {package.session}")
    elif package.is_foreign:
        labels.append(f"from group {package.group}")
    if package.is_delivered:
        labels.append(DELIVERED)
    return "; ".join(labels)


def reason(package: EligiblePackage, words: tuple[str, ...] | None, group: Group | None) -> str:
    """Why a package is in the block, in a few words; `words` of the task that match, None without a task."""
    if words is not None:
        return f"matches {', '.join(words)}" if words else "no word of the task matches"
    if group is not None and package.group == group.name:
        return "same group"
    return f"group {package.group}" if package.group else "whole session"

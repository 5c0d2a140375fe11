"""Bearing: what a task says of the packages decides how much of each a block shows.

    s / s of the best     ≥ NEAR      with passages, before what only bears (≥ FIRST: before any priority)
                          ≥ BEARS     a line at least; passages while tokens are left
                          less        *routed* (designated for the agent, critical, of its group): a line, after those;
                                      the others are counted

Where no package has a bearing on the task (FLOOR), text says nothing: the order is that of a block without a task.
"""

from ctxrank.indexer.clock import DAY_US
from ctxrank.ranking.context.assembly import limits
from ctxrank.ranking.context.assembly.eligibility import EligiblePackage
from ctxrank.ranking.context.assembly.order import (
    RankedPackage,
    ZoneSelection,
    matching_groups,
    rank_packages,
    select_for_zone,
    with_matches,
    with_reserved,
    without_unused_clones,
)
from ctxrank.ranking.context.assembly.shapes import Spawn
from ctxrank.ranking.formulas.blend import calibrated, half_score
from ctxrank.ranking.retrieval.plan import Plan

FIRST, NEAR, BEARS = 0.95, 0.9, 0.3
# Where the best T of a task (of the words that the index knows) is below this, none bears on it. Of the packages that
# were judged useful beforehand (benchmarks/floor) none has less than 0.5; texts of one line have less.
FLOOR = 0.25
_ABOVE_ANY_FLOOR = ("critical", "high")
# How a package stands to the task.
IS_NEAR, IS_BEARING, IS_ROUTED = "near", "bearing", "routed"


def select_by_bearing(spawn: Spawn, plan: Plan, eligible: list[EligiblePackage]) -> ZoneSelection:
    """The packages by their bearing on the task of a plan, in the caller's snapshot. Raises INDEX_READ_ERRORS."""
    half = half_score(plan.values)
    # Of the words that the index knows: what bears on a task may lack the others.
    half_known = half_score([term.value for term in plan.terms]) if plan.unknown else half
    matches = matching_groups(plan, eligible)
    scores = {id_: group.score for id_, group in matches.groups.items()}
    best = max(scores.values(), default=0.0)
    texts = {id_: calibrated(score, half) for id_, score in scores.items()}
    today = spawn.now // DAY_US
    if calibrated(best, half_known) < FLOOR:
        rows, clones = without_unused_clones(rank_packages(eligible, texts, spawn.group, today))
        said = [row._replace(is_best_known=row.package.priority not in _ABOVE_ANY_FLOOR) for row in rows]
        selection = select_for_zone(spawn.zone, with_reserved(said, spawn.limit))
        within = with_matches(spawn, plan, matches, selection.packages[: spawn.limit], lambda _: "")
        return selection._replace(packages=within + selection.packages[spawn.limit :], floored=clones)

    def share(package: EligiblePackage) -> float:
        score = scores.get(package.document_id, 0.0)
        return 0.0 if package.is_unused_clone and calibrated(score, half_known) < FLOOR else score / best

    shares = {package.id: share(package) for package in eligible}

    def order(row: RankedPackage) -> tuple[bool, bool, bool, float, int, int]:
        one = row.package
        return one.is_delivered, one.is_gone, shares[one.id] < FIRST, -row.score, -one.created_at, -one.id

    def standing(row: RankedPackage) -> str:
        if shares[row.package.id] < BEARS:
            return IS_ROUTED
        # What was given before waits for what was not.
        return IS_NEAR if shares[row.package.id] >= NEAR and not row.package.is_delivered else IS_BEARING

    bearing = [package for package in eligible if shares[package.id] >= BEARS]
    # What text says nothing of is in the order of a block without a task.
    plain = rank_packages([one for one in eligible if shares[one.id] < BEARS], None, spawn.group, today)
    routed = [row.package for row in plain if _is_routed(spawn, row.package)]
    hidden = tuple(row for row in plain if not _is_routed(spawn, row.package))
    valued = {row.package.id: row for row in rank_packages(routed, {}, spawn.group, today)}
    known = sorted(rank_packages(bearing, texts, spawn.group, today), key=order)
    known += [valued[package.id] for package in routed]
    if spawn.zone is limits.CONSERVATIVE:
        known = with_matches(spawn, plan, matches, known, lambda _: "")
        return select_for_zone(spawn.zone, with_reserved(known, spawn.limit))._replace(floored=hidden)
    known = with_matches(spawn, plan, matches, known, standing)
    return ZoneSelection(known, [], "", hidden, is_by_bearing=True)


def _is_routed(spawn: Spawn, package: EligiblePackage) -> bool:
    """Whether somebody sent it here, whatever it says."""
    is_of_group = package.is_own_group and package.group == (spawn.group and spawn.group.name)
    return not package.is_unused_clone and (package.is_designated or package.priority == "critical" or is_of_group)

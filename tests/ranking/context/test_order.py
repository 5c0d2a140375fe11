"""The order of a block's packages: what has too little of the task in it is below the floor, unless all have."""

from ctxrank.indexer.clock import DAY_US
from ctxrank.ranking.context.assembly import limits
from ctxrank.ranking.context.assembly.eligibility import EligiblePackage
from ctxrank.ranking.context.assembly.order import (
    rank_packages,
    select_for_zone,
    with_reserved,
    without_unused_clones,
)

_DAY = 20_000


def _package(number: int, priority: str = "medium", *, days: int = 0, **values: object) -> EligiblePackage:
    """A package of so many days ago, for whoever asks."""
    plain = EligiblePackage(
        number,
        100 + number,
        1,
        "S",
        "G",
        f"{number}.md",
        priority,
        "research",
        "developer",
        "",
        (_DAY - days) * DAY_US,
        1,
        is_designated=False,
        is_for_others=False,
        is_delivered=False,
        is_own_group=True,
        session_title=None,
        title="",
        is_unused_clone=False,
        held_at=0,
        is_gone=False,
        tokens=0,
        counter="estimate",
    )
    return plain._replace(**values)  # type: ignore[arg-type]


def _ranked(*packages: EligiblePackage, texts: dict[int, float] | None = None) -> list[int]:
    return [row.package.id for row in rank_packages([*packages], texts, None, _DAY)]


def test_packages_are_in_the_order_of_their_score_and_others_and_what_was_delivered_come_last() -> None:
    plain, high, newer, older = _package(1), _package(2, "high"), _package(3), _package(4, days=300)
    assert _ranked(plain, high, newer, older) == [2, 3, 1, 4], "of equals the one with the higher id"
    delivered, foreign = _package(5, "critical", is_delivered=True), _package(6, "critical", is_for_others=True)
    both = _package(7, "critical", is_for_others=True, is_delivered=True)
    assert _ranked(both, foreign, delivered, plain, high) == [2, 1, 5, 6, 7]
    assert _ranked(_package(1), _package(2, days=0, created_at=_DAY * DAY_US - 1)) == [1, 2], "of equals the later one"
    assert _ranked(_package(1), _package(2), _package(3), texts={101: 0.9, 103: 0.4}) == [1, 3, 2]


def test_what_is_designated_for_the_agent_is_better_than_what_is_not() -> None:
    assert _ranked(_package(1, is_designated=True), _package(2)) == [1, 2]
    assert _ranked(_package(1, days=9, is_designated=True), _package(2, days=9)) == [1, 2]


def test_to_whom_it_was_not_sent_its_priority_says_nothing() -> None:
    critical = _package(1, "critical", is_for_others=True)
    (lowered,) = rank_packages([critical], {101: 0.5}, None, _DAY)
    (own,) = rank_packages([_package(1, "critical")], {101: 0.5}, None, _DAY)
    assert lowered.score < own.score
    assert (lowered.text, rank_packages([critical], {}, None, _DAY)[0].text) == (0.5, 0.0)
    assert rank_packages([critical], None, None, _DAY)[0].text is None


def test_the_last_place_is_for_what_is_critical_and_sent_here() -> None:
    rows = rank_packages([_package(n, "high") for n in range(1, 6)], None, None, _DAY)
    wanted = _package(9, "critical", is_designated=True)
    (last,) = rank_packages([wanted], None, None, _DAY)

    def order(*others: EligiblePackage, limit: int = 3) -> list[int]:
        tail = [last._replace(package=one) for one in others]
        return [row.package.id for row in with_reserved([*rows, *tail], limit)]

    assert order(wanted) == [5, 4, 9, 3, 2, 1]
    assert order(wanted, limit=1) == [9, 5, 4, 3, 2, 1] and order(wanted, limit=6) == order(wanted, limit=0)
    assert order(wanted, limit=0) == [5, 4, 3, 2, 1, 9] and order(wanted, limit=5)[3:] == [2, 9, 1]
    assert order(_package(8, "critical", is_designated=True), wanted)[:4] == [5, 4, 8, 3], "one place, for the best"
    for field in ("is_designated", "is_own_group"):
        assert order(wanted._replace(**{field: False})) == [5, 4, 3, 2, 1, 9]  # type: ignore[arg-type]
    assert order(wanted._replace(priority="high")) == order(wanted._replace(is_delivered=True)) == [5, 4, 3, 2, 1, 9]
    first = [last._replace(package=wanted), *rows, last._replace(package=wanted._replace(id=8))]
    assert with_reserved(first, 3) == first, "it has a better one"


def test_the_highest_level_for_this_agent_is_what_the_conservative_zone_shows() -> None:
    packages = [_package(1), _package(2, "high"), _package(3, "high"), _package(4, "critical", is_for_others=True)]
    rows = rank_packages(packages, None, None, _DAY)
    shown = select_for_zone(limits.CONSERVATIVE, rows)
    assert (shown.level, [row.package.id for row in shown.packages]) == ("high", [3, 2])
    assert [row.package.id for row in shown.omitted] == [1, 4] and shown.available == 4
    others = [row for row in rows if row.package.is_for_others]
    assert select_for_zone(limits.CONSERVATIVE, others).level == "critical"
    assert select_for_zone(limits.NORMAL, rows) == (rows, [], "", (), False)
    low = select_for_zone(limits.CONSERVATIVE, rank_packages([_package(1, "low")], None, None, _DAY))
    assert (low.level, low.packages, len(low.omitted)) == ("", [], 1)


def test_what_came_with_the_repository_and_was_not_used_is_none_of_them() -> None:
    rows = rank_packages([_package(1), _package(2, is_unused_clone=True)], None, None, _DAY)
    known, clones = without_unused_clones(rows)
    assert [row.package.id for row in known] == [1] and [row.package.id for row in clones] == [2]
    known_alone = select_for_zone(limits.NORMAL, known)._replace(floored=clones)
    assert (known_alone.available, known_alone._replace(is_by_bearing=True).available) == (1, 2)

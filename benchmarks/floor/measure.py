"""How many packages of a block have no bearing on its task, and how many useful ones the floor costs.

    python benchmarks/floor/measure.py PROJECT

PROJECT is a folder with a store that `ctxrank import bazinga` made of the project that the judgements are about.
Nothing is marked, and no receipt is left.
"""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ctxrank.indexer import Store, open_store
from ctxrank.ranking.context.assembly import order
from ctxrank.ranking.context.assembly.assemble import make_assembly
from ctxrank.ranking.context.assembly.shapes import AssembleRequest

HERE = Path(__file__).parent
SESSIONS = {"1": "bazinga_20251201_090000", "2": "bazinga_20251101_090000", "4": "bazinga_20260101_090000"}
EXEMPT = ("critical", "high")


class Task(NamedTuple):
    """A task and its judgements; of a package that is in neither set nothing is known."""

    half: str
    request: AssembleRequest
    useful: frozenset[int]
    without_bearing: frozenset[int]


class Shown(NamedTuple):
    """A package in a block."""

    half: str
    is_useful: bool
    has_bearing: bool
    is_exempt: bool


def tasks(store: Store) -> Iterator[Task]:
    """The judged tasks of both files."""
    everything = frozenset(int(id_) for (id_,) in store.primary.execute("SELECT id FROM packages"))
    for name in ("judgements.tsv", "later.tsv"):
        with (HERE / name).open(encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                group = None if row["group"] == "-" else row["group"]
                request = AssembleRequest(SESSIONS[row["session"]], row["agent"], group, row["task"], is_marking=False)
                useful = _ids(row["useful packages"])
                if "half" in row:
                    yield Task(row["half"], request, useful, _ids(row["packages with no bearing"]))
                else:
                    related = _ids(row["related packages"])
                    yield Task("later", request, useful, everything - useful - related)


def _ids(text: str) -> frozenset[int]:
    return frozenset(map(int, text.split()))


def shown(store: Store, judged: list[Task]) -> list[Shown]:
    """The packages of their blocks that were judged."""
    found: list[Shown] = []
    for task in judged:
        made, _ = make_assembly(store, task.request)
        for package in made.packages:
            is_useful, has_none = package.id in task.useful, package.id in task.without_bearing
            is_known = is_useful or has_none or task.half == "later"
            if is_known:
                found.append(Shown(task.half, is_useful, not has_none, package.priority in EXEMPT))
    return found


def report(title: str, judged: list[Task], found: list[Shown]) -> None:
    """Print the shares by half."""
    print(f"{title}\n| half | tasks | shown | useful | no bearing | that the floor may judge | of these no bearing |")
    print("|---|---|---|---|---|---|---|")
    for half in ("seen", "unseen", "later"):
        rows = [one for one in found if one.half == half]
        count = sum(task.half == half for task in judged)
        none = [one for one in rows if not one.has_bearing]
        mine = [one for one in rows if not one.is_exempt]
        useful = sum(one.is_useful for one in rows)
        print(
            f"| {half} | {count} | {len(rows)} | {useful} | {len(none)} ({_share(len(none), len(rows))})"
            f" | {len(mine)} | {sum(not one.has_bearing for one in mine)} |"
        )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "none"


def main() -> None:
    """Measure as it is, without a floor, and as if no priority were exempt from it."""
    with open_store(start=sys.argv[1]) as store:
        judged = list(tasks(store))
        report("as it is", judged, shown(store, judged))
        floor, exempt = order.FLOOR, order.ABOVE_ANY_FLOOR
        order.FLOOR = 0.0
        report("without a floor", judged, shown(store, judged))
        order.ABOVE_ANY_FLOOR = ()
        for other in (floor, 0.6, 0.7):
            order.FLOOR = other
            report(f"no priority exempt, floor {other}", judged, shown(store, judged))
        order.FLOOR, order.ABOVE_ANY_FLOOR = floor, exempt


if __name__ == "__main__":
    main()

"""Budget: what a limit of tokens buys of the items that could be shown, and in which order it is spent.

    order = fair_queue(items, classes)
    bought = spend(order, base=120, limit=4000)
    bought.levels[place]                          the level of an item, NOT_SHOWN where it is left out

An *item* can be shown at one of several levels, the lowest first: a title, with its summary, with a passage … A *step*
raises one item by one level and costs the difference of their prices. An *order* is the sequence of all steps, and does
not depend on the limit. `spend` takes steps from its beginning until the next one does not fit. Hence, in any order:

* the limit is hard;
* a larger limit never removes or lowers an item: it buys a longer prefix of the same sequence;
* what does not fit is lowered before it is dropped: a level is a later step than the level below.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf

from ctxrank.indexer.light_typing import NamedTuple

NOT_SHOWN = -1


class Step(NamedTuple):
    """The item at `place` is raised to its level `at`."""

    cost: int
    place: int
    at: int


class Item(NamedTuple):
    """Something that could be shown: its id as receipts name it, and the price of the whole item at each level.

    `reserve` is kept free as long as the item is not at its last level: the price of its entry in a footer.
    `kind` is its class, where classes have shares; there what `is_first` is raised to its last level before others
    get their first. The first level of one that `has_line` is a line, the others are details: two queues of its class.
    What `is_last` comes after all other classes.
    """

    id: str
    levels: tuple[str, ...]
    prices: tuple[int, ...]
    reserve: int = 0
    kind: str = ""
    is_first: bool = False
    has_line: bool = False
    is_last: bool = False

    def price(self, at: int) -> int:
        """The price of the item at a level, with what is reserved for it; of an item that is NOT_SHOWN, too."""
        shown = self.prices[at] if at >= 0 else 0
        return shown + (self.reserve if at < len(self.levels) - 1 else 0)

    def step(self, place: int, at: int) -> Step:
        """The step that raises it from the level below to this one: at the last one nothing is reserved any more."""
        below = self.prices[at - 1] if at else 0
        kept = self.reserve if at == len(self.levels) - 1 else 0
        return Step._make((self.prices[at] - below - kept, place, at))


class ItemClass(NamedTuple):
    """A class of a fair queue: its share, what it never exceeds, and what its first item costs in addition."""

    share: float
    cap: int | None = None
    heading: int = 0


class Order(NamedTuple):
    """All steps in the sequence in which they are taken; `price` is what the items cost at their `start`."""

    start: tuple[int, ...]  # the level of each item before the first step
    price: int
    steps: tuple[Step, ...]
    barred: tuple[Step, ...] = ()  # never taken, whatever the limit: above the cap of their class


class Purchase(NamedTuple):
    """What a limit buys: the level of each item, and what its steps cost; the steps that are left, in order, of which
    the first `barred` are above the cap of their class.
    """

    levels: tuple[int, ...]
    costs: tuple[int, ...]
    used: int
    left: tuple[Step, ...] = ()
    barred: int = 0
    is_complete: bool = False  # a larger limit buys nothing more


def spend(order: Order, base: int, limit: int | None) -> Purchase:
    """Take steps until the next one does not fit into the limit (None: no limit); `base` tokens are spent already."""
    levels, costs = list(order.start), [0] * len(order.start)
    used = base + order.price
    taken = 0
    for step in order.steps:
        if limit is not None and used + step.cost > limit:
            break
        used += step.cost
        levels[step.place] = step.at
        costs[step.place] += step.cost
        taken += 1
    left = (*order.barred, *order.steps[taken:])
    return Purchase(tuple(levels), tuple(costs), used, left, len(order.barred), taken == len(order.steps))


def fair_queue(items: Sequence[Item], classes: Mapping[str, ItemClass]) -> Order:
    """Each class in proportion to its share: the steps of all classes, merged by virtual finish time.

        F(step) = (cost of the class's steps up to and with this one) / share of the class

    Within a class, after what is first, all items get their lowest level, then all get the next one. Source: weighted
    fair queueing (Demers, Keshav and Shenker 1989, section 2). It follows that

    * no class can starve another: at any limit each has about its share;
    * an unused share flows on, because a class without further steps leaves the rest to the others;
    * a class without a share comes after everything else: it is the first to go.

    Ties go by the order of `classes`. A step above its class's cap is barred with all later ones of its item.
    """
    queue: list[tuple[bool, float, Step]] = []
    barred: list[Step] = []
    for kind, class_ in classes.items():
        spent = 0
        dropped: set[int] = set()
        for step in lines_and_details(items, kind):
            if not spent:
                step = step._replace(cost=step.cost + class_.heading)
            if step.place in dropped or (class_.cap is not None and spent + step.cost > class_.cap):
                dropped.add(step.place)
                barred.append(step)
                continue
            spent += step.cost
            queue.append((items[step.place].is_last, spent / class_.share if class_.share else inf, step))
    queue.sort(key=lambda entry: entry[:2])  # sorting is stable: ties stay as they were queued
    start = (NOT_SHOWN,) * len(items)
    price = sum(item.price(NOT_SHOWN) for item in items)
    return Order(start, price, tuple(step for _, _, step in queue), tuple(barred))


def lines_and_details(items: Sequence[Item], kind: str) -> Iterator[Step]:
    """The steps of a class: its details and its lines by turns, for as many tokens, each level by level.

    An item's line comes at once before its first detail, where it has not come before, and is then a part of it; the
    second, its best passage, follows the first, its summary, at once.
    """
    steps = level_by_level(items, kind)[::-1]  # each is taken from the end
    lines = [step for step in steps if not step.at and items[step.place].has_line]
    details = [step for step in steps if step.at or not items[step.place].has_line]
    spent_details = spent_lines = 0
    shown = set[int]()
    while lines or details:
        if lines and lines[-1].place in shown:
            lines.pop()
        elif lines and (not details or (details[-1].at != 2 and spent_lines + lines[-1].cost <= spent_details)):
            step = lines.pop()
            shown.add(step.place)
            spent_lines += step.cost
            yield step
        else:
            step = details.pop()
            item = items[step.place]
            if item.has_line and step.at == 1:  # its line is a part of it from now on
                line = item.step(step.place, 0)
                spent_details += line.cost
                if step.place in shown:
                    spent_lines -= line.cost
                else:
                    shown.add(step.place)
                    yield line
            spent_details += step.cost
            yield step


def level_by_level(items: Sequence[Item], kind: str) -> list[Step]:
    """The steps of a class: its items by turns, one level each; those that are first before the others.

    Of one that has a line only its summary with the best passage is, in one turn: what another says is more than a
    second passage of the same.
    """
    own = [place for place, item in enumerate(items) if item.kind == kind]
    steps = [items[place].step(place, at) for place in own for at in range(len(items[place].levels))]

    def turn(step: Step) -> tuple[bool, int]:
        item = items[step.place]
        detail = step.at - 1 if item.has_line and step.at > 1 else step.at
        return not item.is_first or (item.has_line and detail > 1), detail

    return sorted(steps, key=turn)

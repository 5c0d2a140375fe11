"""The budget of linked artifacts: what the footer costs, and the share of search.

Artifacts are bought the cheapest step first. Identity and task are admitted from the start;
a limit that cannot pay for them is refused with the tokens that they take. Each artifact that is not shown at its last
level has an entry in the footer, for which its item reserves tokens; where not even these fit, the footer is a count.
"""

from bisect import insort
from collections.abc import Iterator, Sequence

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.ranking.context.budget import NOT_SHOWN, Item, Order, Purchase, Step, spend

# Of what is beyond the first two levels of every linked artifact. Measured with benchmarks/links.
SEARCH_SHARE = 0.3
_SECOND_LEVEL = 1


class Footer(NamedTuple):
    """What the footer costs in addition to its entries: its frame, and a footer that only counts."""

    frame: int = 0
    bare: int = 0


def spend_with_footer(
    items: Sequence[Item], order: Order, base: int, limit: int | None, footer: Footer
) -> tuple[Purchase, bool]:
    """What the limit buys, and whether the footer can name what is omitted or lowered.

    Raises UsageError where `base` and the admitted items do not fit.
    """
    admitted = sum(item.prices[0] for item, at in zip(items, order.start, strict=True) if at == 0)
    needed = base + admitted + (footer.bare if items else 0)
    if limit is not None and needed > limit:
        raise UsageError(
            f"A budget of {limit} tokens is too small: the identity and the task alone take {needed}.",
            f"Give --budget {needed} or more, or leave the identity out with --no-identity.",
        )
    if limit is not None and base + footer.frame + order.price > limit:
        # What is left out is named before anything more is shown.
        return Purchase(order.start, (0,) * len(items), needed, order.steps), False
    return spend(order, base + footer.frame, limit), True


def linked_limit(order: Order, base: int, limit: int) -> int:
    """What links, patterns and annotations may spend of a limit where search is to have a share.

    Everything up to the last step to a first or second level, and of what is beyond it all but SEARCH_SHARE: nothing
    that is linked is left out, or without its first section, for something that was found. It depends on the linked
    items alone, and both it and the rest grow with the limit, so that a larger limit takes nothing away from either.
    `base` is spent before the first step.
    """
    used = last = base + order.price
    for step in order.steps:
        used += step.cost
        if step.at <= _SECOND_LEVEL:
            # A step that spares an entry in the footer can cost less than nothing: where it starts is paid first.
            last = max(last, used)
    return limit if limit <= last else limit - int(SEARCH_SHARE * (limit - last))


def cheapest_first(items: Sequence[Item], *, admitted: int = 0) -> Order:
    """The cheapest step that is available, again and again; `items` are in budget priority, which decides ties.

    For a limit that is also *filled*, so that no single step still fits, this is the only order there is. Let the limit
    grow by one token at a time: as soon as any available step fits it must be taken (filled), and it must not be taken
    back (a larger limit never removes). So the next step is the cheapest one, and only ties are free. Priority is in
    what is available:

    * items are admitted, at their lowest level, strictly in budget priority: only the next one is available;
    * a higher level is available once its item has the level below.

    In any other order (all levels of the first item before those of the second, say) either a step that would fit is
    passed by to save for a more expensive one, or what was bought with the remainder has to be given back. The price of
    the rule is that the longest texts are raised last. The first `admitted` items start at their lowest level.
    """
    start = tuple(0 if place < admitted else NOT_SHOWN for place in range(len(items)))
    price = sum(item.price(at) for item, at in zip(items, start, strict=True))
    return Order(start, price, tuple(_cheapest_steps(items, admitted)))


def _cheapest_steps(items: Sequence[Item], admitted: int) -> Iterator[Step]:
    waiting: list[Step] = []  # sorted by cost, then budget priority, then level

    def offer(place: int, at: int) -> None:
        if place < len(items) and at < len(items[place].levels):
            insort(waiting, items[place].step(place, at))

    for place in range(admitted):
        offer(place, 1)
    offer(admitted, 0)
    while waiting:
        step = waiting.pop(0)
        yield step
        offer(step.place, step.at + 1)
        if step.at == 0:
            offer(step.place + 1, 0)

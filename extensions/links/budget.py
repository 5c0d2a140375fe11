"""The budget of linked artifacts: what the footer costs, and the share of search.

Artifacts are bought the cheapest step first (ranking/context/budget.py). Identity and task are admitted from the start;
a limit that cannot pay for them is refused with the tokens that they take. Each artifact that is not shown at its last
level has an entry in the footer, for which its item reserves tokens; where not even these fit, the footer is a count.
"""

from collections.abc import Sequence

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.ranking.context.budget import Item, Order, Purchase, spend

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

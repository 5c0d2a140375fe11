"""The budget of linked artifacts: who is shown at which level of detail.

Three laws: the budget is hard; it is filled, that is, no single step still fits; and a larger budget never removes or
lowers an item. Together they leave one order of steps. Let the budget grow by one token at a time: as soon as any
available step fits it must be taken (filled), and it may not be taken back (a larger budget never removes). So the
next step is always **the cheapest one that is available**, and only ties are free: they go to the budget priority.
Priority is in what is available:

* artifacts are admitted, at their lowest level, strictly in budget priority: only the next one is available;
* an upgrade (meta → summary → full) is available once its artifact is admitted at the level below.

In any other order (all upgrades of the first spec before those of the second, say) either a step that would fit is
passed by to save up for a dearer one, or what was bought with the small change has to be given back. The price of
the law is that the longest texts become full last: the footer names them with what they would take.

The order does not depend on the budget, so what a budget buys is a prefix of it. Identity and task are not
steps: they are the base, and who cannot pay for it is told how many tokens that needs.
"""

import heapq
from collections.abc import Iterator, Sequence

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple

# Of what is beyond the first two levels of every linked artifact. Measured with benchmarks/links.
SEARCH_SHARE = 0.3
_SECOND_LEVEL = 1


class Offer(NamedTuple):
    """What one artifact may cost: its levels, the lowest first, with the price of the whole item at each.

    `named` is the price of its entry in the footer as long as it is not shown at its last level.
    """

    levels: tuple[str, ...]
    prices: tuple[int, ...]
    named: int = 0

    def price(self, at: int) -> int:
        """The price of the item at a level, with its entry in the footer; -1 is not shown at all."""
        shown = self.prices[at] if at >= 0 else 0
        return shown + (self.named if at < len(self.levels) - 1 else 0)


class Spent(NamedTuple):
    """For each offer the index of its level, or -1 where it is left out; and what all of it costs.

    `is_named` is False where not even the footer's entries fit: the footer is a count then.
    """

    levels: tuple[int, ...]
    used: int
    is_named: bool

    def is_complete(self, offers: Sequence[Offer]) -> bool:
        """Whether everything is shown at its last level."""
        return all(at == len(offer.levels) - 1 for at, offer in zip(self.levels, offers, strict=True))


class Footer(NamedTuple):
    """What the footer costs beside the entries: its frame, and a footer that only counts."""

    frame: int = 0
    bare: int = 0


def spend(
    base: int, offers: Sequence[Offer], limit: int | None, *, admitted: int = 0, footer: Footer | None = None
) -> Spent:
    """Take the cheapest available step until none fits into `limit` (None: no limit).

    `offers` are in budget priority; the first `admitted` of them are not to be left out. Raises UsageError where
    `base` and the admitted ones do not fit.
    """
    footer = footer or Footer()
    levels = [0 if place < admitted else -1 for place in range(len(offers))]
    shown = base + sum(offer.prices[0] for offer in offers[:admitted])
    needed = shown + (footer.bare if offers else 0)
    if limit is not None and needed > limit:
        raise UsageError(
            f"A budget of {limit} tokens is too small: the identity and the task alone take {needed}.",
            f"Give --budget {needed} or more, or leave the identity out with --no-identity.",
        )
    used = base + footer.frame + sum(offer.price(at) for offer, at in zip(offers, levels, strict=True))
    if limit is not None and used > limit:
        # Whoever is left out is named before anyone is shown.
        return Spent(tuple(levels), needed, is_named=False)
    for cost, place, at in _steps(offers, admitted):
        if limit is not None and used + cost > limit:
            break
        used += cost
        levels[place] = at
    return Spent(tuple(levels), used, is_named=True)


def linked_limit(base: int, offers: Sequence[Offer], limit: int, *, admitted: int, footer: Footer) -> int:
    """What links, patterns and annotations may spend of a budget where search is to have a share.

    Everything up to the last step to a first or second level, and of what is beyond it all but SEARCH_SHARE: nobody
    who is linked is left out, or without its first section, for somebody who was found. It depends on the linked
    offers alone, and both it and the rest grow with the limit, so that a larger budget takes nothing away from either.
    """
    used = base + footer.frame + sum(offer.price(0 if at < admitted else -1) for at, offer in enumerate(offers))
    last = used
    for cost, _, at in _steps(offers, admitted):
        used += cost
        if at <= _SECOND_LEVEL:
            # A step that spares an entry in the footer can cost less than nothing: where it starts is paid first.
            last = max(last, used)
    return limit if limit <= last else limit - int(SEARCH_SHARE * (limit - last))


def steps_left(offers: Sequence[Offer], spent: Spent, *, admitted: int) -> Iterator[tuple[int, int, int]]:
    """The steps that were not taken, in their order: what it costs, whose it is, to which level."""
    return (step for step in _steps(offers, admitted) if step[2] > spent.levels[step[1]])


def _steps(offers: Sequence[Offer], admitted: int) -> Iterator[tuple[int, int, int]]:
    """All steps in their order: what it costs, whose it is, to which level."""
    waiting: list[tuple[int, int, int]] = []
    for place in range(min(admitted + 1, len(offers))):
        _offer_step(waiting, offers, place, 1 if place < admitted else 0)
    while waiting:
        cost, place, at = heapq.heappop(waiting)
        yield cost, place, at
        _offer_step(waiting, offers, place, at + 1)
        if at == 0 and place + 1 < len(offers):
            _offer_step(waiting, offers, place + 1, 0)


def _offer_step(steps: list[tuple[int, int, int]], offers: Sequence[Offer], place: int, at: int) -> None:
    """Make the step to a level available: the cheapest first, ties by budget priority, then the lower level."""
    offer = offers[place]
    if at < len(offer.levels):
        heapq.heappush(steps, (offer.price(at) - offer.price(at - 1), place, at))

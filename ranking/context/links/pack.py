"""The linked part of a context: who is shown at which level, who is not and why, and the text.

    part = pack_linked(closure, texts, found, Wanted(limit=4000), Prices(1.0))
    part.text        the block; never more than the limit, as these prices count
    part.used        what it costs

A pure function of its arguments. T0 to T2 are packed first and without a look at what was found by search; these
stand behind them, and change no byte of what stands before. Where search is wanted, a share of the budget is kept for
it (linked/budget.py), whether or not it finds anything; once everything in T0 to T2 is shown as asked, it has all that
is left. Where it found too little for its share, the rest of those who were lowered follows behind it.
"""

from collections.abc import Iterable, Mapping, Sequence

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.links.artifact import LEVELS
from ctxrank.indexer.links.store import StoredTexts
from ctxrank.indexer.text.tokens import ESTIMATE
from ctxrank.ranking.context.links import block
from ctxrank.ranking.context.links.budget import Footer, Offer, Spent, linked_limit, spend, steps_left
from ctxrank.ranking.context.links.closure import Closure, Missing, Reached
from ctxrank.ranking.context.prices import Prices

# The best of what was found may be shown in full, further ones no longer than their first section: they are guesses.
FOUND_IN_FULL = 10
_FOUND = 3  # the tier
_OUTPUT_ORDER = ("identity", "task", "spec", "norm", "decision")


class Wanted(NamedTuple):
    """What the text is to be like: its budget (None: none), the highest level, the format."""

    limit: int | None = None
    depth: str = "full"
    form: str = "compact"
    has_reference_line: bool = True
    has_search: bool = True  # whether a share is kept for what search finds


class Shown(NamedTuple):
    """An artifact in the text; it is lowered where it is shown below the level that was asked for."""

    reached: Reached
    level: str
    tokens: int  # as it is shown
    whole: int  # at the level that was asked for
    is_lowered: bool


class LeftOut(NamedTuple):
    """An artifact that was reached and is not in the text, for want of budget."""

    reached: Reached
    tokens: int


class LinkedPart(NamedTuple):
    """The text and what became of every artifact: each is shown or left out, once."""

    text: str
    used: int
    counter: str  # who counted the texts that are shown; an estimate where it was not one counter for all
    shown: tuple[Shown, ...]
    omitted: tuple[LeftOut, ...]
    missing: tuple[Missing, ...]
    warnings: tuple[str, ...]


class _Item(NamedTuple):
    """One artifact with the levels that it can be shown at, the lowest first, and what it costs at each."""

    reached: Reached
    texts: StoredTexts
    code: str
    offer: Offer

    @property
    def levels(self) -> tuple[str, ...]:
        """The names of its levels."""
        return self.offer.levels

    def section(self, at: int, form: str) -> str:
        """Its section at one of its levels; written for those that are shown alone."""
        level = self.levels[at]
        return block.section(block.header(self.reached, level, form), self.texts.texts.of(level), form)


def pack_linked(
    closure: Closure,
    texts: Mapping[int, StoredTexts],
    found: Sequence[Reached],
    wanted: Wanted,
    prices: Prices,
    annotated: Mapping[str, Sequence[str]] = {},
) -> LinkedPart:
    """The linked part of a context within a budget. Raises UsageError where identity and task alone exceed it.

    `texts` are by the nodes' numbers, `found` is what search adds, best first, `annotated` the files that are
    annotated with a spec, by its id.
    """
    items = _items(closure.reached, texts, wanted, prices, annotated)
    heading, missing = block.code_heading(wanted.form), block.missing_line(closure.missing)
    has_code = any(item.code for item in items)
    base_parts = [block.REFERENCE_LINE if wanted.has_reference_line else "", heading if has_code else "", missing]
    first = sum(item.reached.tier == 0 for item in items)
    base, offers, footer = prices.of(*base_parts), [item.offer for item in items], _footer_price(items, wanted, prices)
    limit = wanted.limit
    if limit is not None and wanted.has_search:
        limit = linked_limit(base, offers, limit, admitted=first, footer=footer)
    spent = spend(base, offers, limit, admitted=first, footer=footer)
    shown = [item for item, at in zip(items, spent.levels, strict=True) if at >= 0]
    ordered = sorted(range(len(items)), key=lambda at: _OUTPUT_ORDER.index(items[at].reached.node.type))
    text = block.joined(
        [
            base_parts[0],
            *(items[at].section(spent.levels[at], wanted.form) for at in ordered if spent.levels[at] >= 0),
            block.code_section([item.code for item in shown if item.code], wanted.form),
            missing,
            block.footer(_named(items, spent), wanted.form, is_named=spent.is_named),
        ]
    )
    part = LinkedPart(text, spent.used, ESTIMATE, *_outcome(items, spent), closure.missing, closure.warnings)
    if found and spent.is_named:  # who is linked is named first
        room = None
        if wanted.limit is not None and limit is not None:
            room = wanted.limit - (spent.used if spent.is_complete(offers) else limit)
        part = _with_found(part, found, texts, wanted, prices, room)
    elif found:
        left = tuple(
            LeftOut(item.reached, item.offer.prices[-1]) for item in _found_items(found, texts, wanted, prices)
        )
        part = part._replace(omitted=(*part.omitted, *left))
    if wanted.limit is not None and limit is not None and limit < wanted.limit and _has_all_found(part):
        part = _with_rest(part, items, steps_left(offers, spent, admitted=first), wanted, prices)
    return part._replace(counter=_counter(texts, [one.reached for one in part.shown]))


def _has_all_found(part: LinkedPart) -> bool:
    """Whether search could use no more than it has."""
    lacking = [one.reached for one in part.shown if one.is_lowered] + [one.reached for one in part.omitted]
    return all(reached.tier != _FOUND for reached in lacking)


def _with_rest(
    part: LinkedPart, items: Sequence[_Item], steps: Iterable[tuple[int, int, int]], wanted: Wanted, prices: Prices
) -> LinkedPart:
    """The part with more of those who were lowered behind it, in what search has left of its share.

    A share is kept only where everybody has the second level, so one step each is left. They come in the order in which
    they would have come before search, and none costs less than there: so a larger budget takes none of them away.
    """
    assert wanted.limit is not None, "without a budget nobody is lowered"
    shown = {one.reached.node.id: one for one in part.shown}
    sections: list[str] = []
    used = part.used
    for cost, place, at in steps:
        item = items[place]
        head = block.header(item.reached, "rest", wanted.form)
        text = item.texts.texts.rest
        fence = block.fences(text) if wanted.form == "markdown" else ""
        price = max(cost, prices.of(head, fence, text))
        if used + price > wanted.limit:
            break
        used += price
        sections.append(block.section(head, text, wanted.form))
        before = shown[item.reached.node.id]
        shown[item.reached.node.id] = before._replace(
            level=item.levels[at], tokens=before.tokens + price, is_lowered=False
        )
    return part._replace(text=block.joined([part.text, *sections]), used=used, shown=tuple(shown.values()))


def _with_found(
    part: LinkedPart,
    found: Sequence[Reached],
    texts: Mapping[int, StoredTexts],
    wanted: Wanted,
    prices: Prices,
    room: int | None,
) -> LinkedPart:
    """The part with what search found behind it, in the room that it has; None is without a budget."""
    if room is None:
        # Nothing is left over to be filled: the best of what was found is pointed to.
        found, wanted = found[:FOUND_IN_FULL], wanted._replace(depth="meta")
    items = _found_items(found, texts, wanted, prices)
    offers = [item.offer._replace(named=0) for item in items]
    frame = _footer_price(items, wanted, prices, is_search=True)
    spent = spend(0, offers, room, footer=frame._replace(bare=0)) if room is None or room >= 0 else None
    if spent is None or not spent.is_named:
        is_room = wanted.limit is not None and frame.frame <= wanted.limit - part.used
        spent = Spent((-1,) * len(offers), frame.frame, is_named=is_room)
    if not spent.is_named:
        return part._replace(omitted=(*part.omitted, *_outcome(items, spent)[1]))
    sections = [item.section(at, wanted.form) for item, at in zip(items, spent.levels, strict=True) if at >= 0]
    names = block.footer(_named(items, spent), wanted.form, is_search=True)
    shown, omitted = _outcome(items, spent)
    return part._replace(
        text=block.joined([part.text, *sections, names]),
        used=part.used + spent.used,
        shown=(*part.shown, *shown),
        omitted=(*part.omitted, *omitted),
    )


def _items(
    reached: Sequence[Reached],
    texts: Mapping[int, StoredTexts],
    wanted: Wanted,
    prices: Prices,
    annotated: Mapping[str, Sequence[str]],
) -> list[_Item]:
    is_few = len(reached) <= block.MAX_NAMED
    items: list[_Item] = []
    for one in reached:
        stored = texts[one.node.number]
        is_spec = one.node.type == "spec" and one.tier != 3
        code = block.code_line(one, annotated.get(one.node.id, ())) if is_spec else ""
        # The longest name of a level: a header at another one costs no more.
        beside = prices.of(block.header(one, "summary", wanted.form), code)
        levels: list[str] = []
        costs: list[int] = []
        before = None
        for at, level in enumerate(LEVELS[: LEVELS.index(wanted.depth) + 1]):
            text = stored.texts.of(level)
            if text == before:
                del levels[-1], costs[-1]  # nothing is added: it is this level already
            fence = prices.of(block.fences(text)) if wanted.form == "markdown" else 0
            levels.append(level)
            costs.append(beside + fence + _price(prices, text, stored, at))
            before = text
        named = prices.of(block.Named(one.node.id, "summary", costs[-1]).text) if is_few else 0
        items.append(_Item(one, stored, code, Offer(tuple(levels), tuple(costs), named)))
    return items


def _found_items(
    found: Sequence[Reached], texts: Mapping[int, StoredTexts], wanted: Wanted, prices: Prices
) -> list[_Item]:
    brief = wanted._replace(depth=min(wanted.depth, "summary", key=LEVELS.index))
    return [
        *_items(found[:FOUND_IN_FULL], texts, wanted, prices, {}),
        *_items(found[FOUND_IN_FULL:], texts, brief, prices, {}),
    ]


def _price(prices: Prices, text: str, stored: StoredTexts, at: int) -> int:
    """What a text costs: as it was counted."""
    counts = stored.priced
    return prices.of_counted(counts[at]) if len(counts) == len(LEVELS) else prices.of(text)


def _counter(texts: Mapping[int, StoredTexts], reached: Sequence[Reached]) -> str:
    counters = {texts[one.node.number].counter for one in reached}
    return counters.pop() if len(counters) == 1 else ESTIMATE


def _footer_price(items: Sequence[_Item], wanted: Wanted, prices: Prices, *, is_search: bool = False) -> Footer:
    """What a footer costs beside its entries; where only some are named, at the price of the dearest."""
    head = block.footer_heading(len(items), len(items), wanted.form, is_search=is_search)
    bare = prices.of(head)
    frame = bare + prices.of("omitted: \n", "lowered: \n")
    if items and (is_search or len(items) > block.MAX_NAMED):
        entries = [block.Named(item.reached.node.id, "summary", item.offer.prices[-1]).text for item in items]
        dearest = max(prices.of(entry) for entry in entries)
        whole = sum(item.offer.prices[-1] for item in items)
        most = min(block.NAMED_OF_FOUND, len(items)) if is_search else 2 * block.NAMED_OF_MANY
        frame += most * dearest + (1 if is_search else 2) * prices.of(f", and {len(items)} more ({whole})")
    return Footer(frame, bare)


def _named(items: Sequence[_Item], spent: Spent) -> list[block.Named]:
    """Who is not shown at the last level."""
    return [
        block.Named(item.reached.node.id, item.levels[at] if at >= 0 else "", item.offer.prices[-1])
        for item, at in zip(items, spent.levels, strict=True)
        if at < len(item.levels) - 1
    ]


def _outcome(items: Sequence[_Item], spent: Spent) -> tuple[tuple[Shown, ...], tuple[LeftOut, ...]]:
    pairs = list(zip(items, spent.levels, strict=True))
    shown = tuple(
        Shown(item.reached, item.levels[at], item.offer.prices[at], item.offer.prices[-1], at < len(item.levels) - 1)
        for item, at in pairs
        if at >= 0
    )
    return shown, tuple(LeftOut(item.reached, item.offer.prices[-1]) for item, at in pairs if at < 0)

"""The linked part of a context: what is shown at which level, what is not and why, and the text.

    part = pack_linked(closure, texts, found, PackOptions(limit=4000), Prices(1.0))
    part.text        the block; never more than the limit, as these prices count
    part.used        what it costs

A pure function of its arguments. T0 to T2 are packed first and without a look at what was found by search; that comes
after them, and changes no byte of what is before. Where search is wanted, a share of the budget is kept for it
(`linked_limit`), whether or not it finds anything; once everything in T0 to T2 is shown as requested, it has all that
is left. Where it found too little for its share, the rest of what was lowered follows after it.
"""

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ctxrank.extensions.links import block
from ctxrank.extensions.links.artifact import LEVELS
from ctxrank.extensions.links.closure import Closure, ReachedArtifact
from ctxrank.extensions.links.store import StoredTexts
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.lines import joined
from ctxrank.indexer.text.tokens import ESTIMATE
from ctxrank.ranking.context.budget import NOT_SHOWN, Item, Order, Purchase, Step, spend
from ctxrank.ranking.context.prices import Prices

# The best of what was found may be shown in full, further ones no longer than their first section: they are guesses.
FOUND_IN_FULL = 10
_FOUND = 3  # the tier
_OUTPUT_ORDER = ("identity", "task", "spec", "norm", "decision")
# Of what is beyond the first two levels of every linked artifact. Measured with benchmarks/links.
SEARCH_SHARE = 0.3
_SECOND_LEVEL = 1


class PackOptions(NamedTuple):
    """What the text is to be like: its budget (None: none), the highest level, the format."""

    limit: int | None = None
    depth: str = "full"
    form: str = "compact"
    has_reference_line: bool = True
    has_search: bool = True  # whether a share is kept for what search finds


class PackedArtifact(NamedTuple):
    """An artifact that was reached, at the level at which it is in the text; '' for want of budget.

    It is lowered where it is shown below the level that was requested.
    """

    artifact: ReachedArtifact
    level: str
    tokens: int  # as it is shown, else of the whole
    whole: int  # at the level that was requested
    is_lowered: bool = False


class LinkedPart(NamedTuple):
    """The text and what became of every artifact: each is shown or omitted, once."""

    text: str
    used: int
    counter: str  # who counted the texts that are shown; an estimate where it was not one counter for all
    shown: tuple[PackedArtifact, ...]
    omitted: tuple[PackedArtifact, ...]


class Footer(NamedTuple):
    """What the footer costs in addition to its entries: its frame, and a footer that only counts."""

    frame: int = 0
    bare: int = 0


class _Section(NamedTuple):
    """One artifact that could be shown, with its price at each level."""

    artifact: ReachedArtifact
    texts: StoredTexts
    code: str
    item: Item

    def text(self, at: int, form: str) -> str:
        """The section at one of its levels; written for those that are shown alone."""
        level = self.item.levels[at]
        return block.section(block.header(self.artifact, level, form), self.texts.texts.of(level), form)


def pack_linked(
    closure: Closure,
    texts: Mapping[int, StoredTexts],
    found: Sequence[ReachedArtifact],
    options: PackOptions,
    prices: Prices,
    annotated: Mapping[str, Sequence[str]] = {},
) -> LinkedPart:
    """The linked part of a context within a budget. Raises UsageError where identity and task alone exceed it.

    `texts` are by the nodes' numbers, `found` is what search adds, best first, `annotated` the files that are
    annotated with a spec, by its id.
    """
    sections = _sections(closure.reached, texts, options, prices, annotated)
    heading, missing = block.heading(["CODE"], options.form), block.missing_line(closure.missing)
    has_code = any(section.code for section in sections)
    reference = block.REFERENCE_LINE if options.has_reference_line else ""
    base, footer = prices.of(reference, heading if has_code else "", missing), _footer_price(sections, options, prices)
    items = [section.item for section in sections]
    order = cheapest_first(items, admitted=sum(section.artifact.tier == 0 for section in sections))
    limit = options.limit
    if limit is not None and options.has_search:
        limit = linked_limit(order, base + footer.frame, limit)
    purchase, is_named = spend_with_footer(items, order, base, limit, footer)
    levels = purchase.levels
    in_order = sorted(range(len(sections)), key=lambda at: _OUTPUT_ORDER.index(sections[at].artifact.node.type))
    code = [section.code for section, at in zip(sections, levels, strict=True) if at >= 0 and section.code]
    outcome = _outcome(sections, levels)
    text = joined(
        reference,
        *(sections[at].text(levels[at], options.form) for at in in_order if levels[at] >= 0),
        block.section(heading, "".join(code), options.form) if code else "",
        missing,
        block.footer(_named(*outcome), options.form, is_named=is_named),
    )
    part = LinkedPart(text, purchase.used, ESTIMATE, *outcome)
    unlinked = _found_sections(found, texts, options, prices)
    if found and is_named:  # what is linked is named first
        room = None
        if options.limit is not None and limit is not None:
            room = options.limit - (purchase.used if purchase.is_complete else limit)
        part = _with_found(part, unlinked, options, prices, room)
    else:
        part = part._replace(omitted=(*part.omitted, *_outcome(unlinked, [NOT_SHOWN] * len(unlinked))[1]))
    lacking = (*part.omitted, *(one for one in part.shown if one.is_lowered))
    has_all_found = all(one.artifact.tier != _FOUND for one in lacking)
    if options.limit is not None and limit is not None and limit < options.limit and has_all_found:
        part = _with_rest(part, sections, purchase.left, options, prices)
    counters = {texts[one.artifact.node.number].counter for one in part.shown}
    return part._replace(counter=counters.pop() if len(counters) == 1 else ESTIMATE)


def _with_rest(
    part: LinkedPart, sections: Sequence[_Section], steps: Iterable[Step], options: PackOptions, prices: Prices
) -> LinkedPart:
    """The part with more of what was lowered after it, in what search has left of its share.

    A share is kept only where everything has the second level, so one step each is left. They come in the order in
    which they would have come before search, and none costs less than there: so a larger budget takes none away.
    """
    assert options.limit is not None, "without a budget nothing is lowered"
    shown = {one.artifact.node.id: one for one in part.shown}
    added: list[str] = []
    used = part.used
    for step in steps:
        section = sections[step.place]
        head = block.header(section.artifact, "rest", options.form)
        text = section.texts.texts.rest
        fences = block.fences(text) if options.form == "markdown" else ""
        price = max(step.cost, prices.of(head, fences, text))
        if used + price > options.limit:
            break
        used += price
        added.append(block.section(head, text, options.form))
        before = shown[section.item.id]
        shown[section.item.id] = before._replace(
            level=section.item.levels[step.at], tokens=before.tokens + price, is_lowered=False
        )
    return part._replace(text=joined(part.text, *added), used=used, shown=tuple(shown.values()))


def _with_found(
    part: LinkedPart, sections: Sequence[_Section], options: PackOptions, prices: Prices, room: int | None
) -> LinkedPart:
    """The part with what search found after it, in the room that it has; None is without a budget."""
    items = [section.item._replace(reserve=0) for section in sections]
    footer = _footer_price(sections, options, prices, is_search=True)
    order = cheapest_first(items)
    if room is None or room >= 0:
        purchase, is_named = spend_with_footer(items, order, 0, room, footer._replace(bare=0))
    else:
        purchase, is_named = Purchase(order.start, (), 0), False
    if not is_named:
        purchase = Purchase(order.start, (), footer.frame)
        is_named = options.limit is not None and footer.frame <= options.limit - part.used
    shown, omitted = _outcome(sections, purchase.levels)
    if not is_named:
        return part._replace(omitted=(*part.omitted, *omitted))
    texts = [section.text(at, options.form) for section, at in zip(sections, purchase.levels, strict=True) if at >= 0]
    names = block.footer(_named(shown, omitted), options.form, is_search=True)
    return part._replace(
        text=joined(part.text, *texts, names),
        used=part.used + purchase.used,
        shown=(*part.shown, *shown),
        omitted=(*part.omitted, *omitted),
    )


def _sections(
    artifacts: Sequence[ReachedArtifact],
    texts: Mapping[int, StoredTexts],
    options: PackOptions,
    prices: Prices,
    annotated: Mapping[str, Sequence[str]],
) -> list[_Section]:
    is_few = len(artifacts) <= block.MAX_NAMED
    sections: list[_Section] = []
    for one in artifacts:
        stored = texts[one.node.number]
        is_spec = one.node.type == "spec" and one.tier != _FOUND
        code = block.code_line(one, annotated.get(one.node.id, ())) if is_spec else ""
        # The longest name of a level: a header at another one costs no more.
        frame = prices.of(block.header(one, "summary", options.form), code)
        levels: list[str] = []
        costs: list[int] = []
        before = None
        for at, level in enumerate(LEVELS[: LEVELS.index(options.depth) + 1]):
            text = stored.texts.of(level)
            if text == before:
                del levels[-1], costs[-1]  # nothing is added: it is this level already
            fences = prices.of(block.fences(text)) if options.form == "markdown" else 0
            levels.append(level)
            costs.append(frame + fences + prices.of_counted(stored.priced[at]))
            before = text
        reserve = prices.of(block.FooterEntry(one.node.id, "summary", costs[-1]).text) if is_few else 0
        sections.append(_Section(one, stored, code, Item(one.node.id, tuple(levels), tuple(costs), reserve)))
    return sections


def _found_sections(
    found: Sequence[ReachedArtifact], texts: Mapping[int, StoredTexts], options: PackOptions, prices: Prices
) -> list[_Section]:
    if options.limit is None:
        # Nothing is left over to be filled: the best of what was found is pointed to.
        found, options = found[:FOUND_IN_FULL], options._replace(depth="meta")
    brief = options._replace(depth=min(options.depth, "summary", key=LEVELS.index))
    return [
        *_sections(found[:FOUND_IN_FULL], texts, options, prices, {}),
        *_sections(found[FOUND_IN_FULL:], texts, brief, prices, {}),
    ]


def _footer_price(
    sections: Sequence[_Section], options: PackOptions, prices: Prices, *, is_search: bool = False
) -> Footer:
    """What a footer costs in addition to its entries; where only some are named, at the price of the most expensive."""
    bare = prices.of(block.footer_heading(len(sections), len(sections), options.form, is_search=is_search))
    frame = bare + prices.of("omitted: \n", "lowered: \n")
    if sections and (is_search or len(sections) > block.MAX_NAMED):
        entries = [block.FooterEntry(section.item.id, "summary", section.item.prices[-1]).text for section in sections]
        highest = max(prices.of(entry) for entry in entries)
        whole = sum(section.item.prices[-1] for section in sections)
        most = min(block.NAMED_OF_FOUND, len(sections)) if is_search else 2 * block.NAMED_OF_MANY
        frame += most * highest + (1 if is_search else 2) * prices.of(f", and {len(sections)} more ({whole})")
    return Footer(frame, bare)


def _named(shown: Sequence[PackedArtifact], omitted: Sequence[PackedArtifact]) -> list[block.FooterEntry]:
    """What is not shown at its last level."""
    lowered = (one for one in shown if one.is_lowered)
    return [block.FooterEntry(one.artifact.node.id, one.level, one.whole) for one in (*lowered, *omitted)]


def _outcome(
    sections: Sequence[_Section], levels: Sequence[int]
) -> tuple[tuple[PackedArtifact, ...], tuple[PackedArtifact, ...]]:
    packed: list[PackedArtifact] = []
    for section, at in zip(sections, levels, strict=True):
        item = section.item
        level, is_lowered = item.levels[at] if at >= 0 else "", 0 <= at < len(item.levels) - 1
        packed.append(PackedArtifact(section.artifact, level, item.prices[at], item.prices[-1], is_lowered))
    return tuple(one for one in packed if one.level), tuple(one for one in packed if not one.level)


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

"""Composition: what could be shown has prices, the budget takes what fits, and the block is written.

Prices are for the rendered text (prices.py), so that their sum is not below what the whole text costs.
"""

from _bisect import bisect_right
from itertools import accumulate
from math import ceil

from ctxrank.indexer.light_typing import Any
from ctxrank.indexer.records.receipts import ReceiptEntry
from ctxrank.indexer.text.tokens import ESTIMATE
from ctxrank.ranking.context.assembly import block, limits
from ctxrank.ranking.context.assembly.limits import CLASSES, Budget
from ctxrank.ranking.context.assembly.shapes import Assembly, BlockCandidate, IncludedPassage, Omitted
from ctxrank.ranking.context.budget import NOT_SHOWN, Item, ItemClass, Purchase, fair_queue, spend
from ctxrank.ranking.context.prices import Prices
from ctxrank.ranking.retrieval.plan import Plan

CUT = "…"  # the last line of a passage that is not shown to its end
_LEAST_LINES, _LEAST_WORDS = 3, 15  # of a passage; less says nothing
_LINES_ABOVE = 1  # of the one that matches
# Of 5,315 beginnings of passages 33 cost more than that (2026-11), 139 more than caution takes them for.
_CUT_MARGIN, _CUT_TOKENS = 1.1, 8


def compose(
    empty: Assembly, candidates: list[BlockCandidate], price: Prices, plan: Plan | None, *, level: str
) -> Assembly:
    """An assembly with the block that its budget allows. A budget too small for the frame gives a heading or ''.

    The candidates are in the order of preference; `plan` is that of the task's words, and `level` the one that the
    Conservative zone shows.
    """
    budget = empty.budget
    head, tail = _frame(empty, price, level)
    items = [one.item for one in candidates]
    counts = {name: count for name in CLASSES if (count := sum(item.kind == name for item in items))}
    shares = budget.shares_with_files if "files" in counts else budget.shares
    # The packages' heading is always there, and no item pays for it.
    classes = {
        name: ItemClass(shares[name], budget.caps.get(name), price.of(block.heading(name, count)))
        for name, count in counts.items()
    }
    order = fair_queue(items, classes)
    purchase = spend(order, head + tail, budget.limit)
    first = head + order.price + order.steps[0].cost if order.steps else 0
    # One item says more than the lines on what is not shown.
    has_tail = not head < first <= budget.limit < first + tail
    if has_tail and head + tail > budget.limit:  # not even the frame fits
        text = fitting("", empty.agent, budget, price)
        omitted = left_out(items, purchase, budget)
        parts = (text,) if text else ()
        return empty._replace(parts=parts, used=price.of(text), omitted=omitted, overflow=_overflow(empty, 0))
    if has_tail:
        candidates, bought = with_cut_passage(candidates, purchase, budget.limit, price, plan)
    else:
        bought = purchase = spend(order, head, first)
    shown = _Shown(candidates, bought)
    # Where no package fits, a line that says so is the last thing that the budget is spent on.
    is_without = empty.available and not shown.records["packages"] and not block.is_only_low(empty, level)
    note = price.of(block.NOTHING_FITS) if is_without else 0
    says_so = 0 < note <= budget.limit - bought.used
    named = [package.priority for package in shown.records["packages"]]
    by_name: dict[str, Any] = {name: tuple(records) for name, records in shown.records.items()}
    by_name["skills"] = "".join(section.text for section in shown.records["skills"])
    filled = empty._replace(
        **by_name,
        entries=tuple(shown.entries),
        by_class=shown.by_class,
        omitted=left_out(items, purchase._replace(used=bought.used), budget),
        is_complete=purchase.is_complete,
        used=bought.used + (note if says_so else 0),
        # The one that `used` is not below: that of the passages, if one counted them all.
        counter=shown.counters.pop() if len(shown.counters) == 1 else ESTIMATE,
        overflow=_overflow(empty, len(shown.records["packages"])),
        hidden=empty.hidden and {name: count - named.count(name) for name, count in empty.hidden.items()},
    )
    return filled._replace(parts=block.render(filled, shown.texts, level, says_nothing_fits=says_so, has_tail=has_tail))


def _frame(empty: Assembly, price: Prices, level: str) -> tuple[int, int]:
    """The prices of what stands around the items: of what comes before them, and of what says which are not shown."""
    head = price.of(
        block.opening(empty.agent),
        block.zone_line(empty.usage),
        block.REFERENCE_LINE,
        empty.state,
        block.packages_heading(empty.available, empty.available, level) if empty.available else block.EMPTY,
    )
    tail = price.of(
        block.OVERFLOW.format(empty.available) if empty.available else "",
        block.ONLY_LOW if block.is_only_low(empty, level) else "",
        block.hidden_line(empty.hidden or {}, empty.listing),
    )
    return head, tail


class _Shown:
    """What was bought, by its class: the records, their texts and prices; and the receipt's entries."""

    def __init__(self, candidates: list[BlockCandidate], bought: Purchase) -> None:
        self.records: dict[str, list[Any]] = {name: [] for name in CLASSES}
        self.texts: dict[str, list[str]] = {name: [] for name in CLASSES}
        self.by_class = dict.fromkeys(CLASSES, 0)
        self.entries: list[ReceiptEntry] = []
        self.counters: set[str] = set()
        for one, at, cost in zip(candidates, bought.levels, bought.costs, strict=True):
            self.by_class[one.item.kind] += cost
            if at != NOT_SHOWN:
                record = one.shown_at(at, cost)
                self.records[one.item.kind].append(record)
                self.texts[one.item.kind].append(written(one, at))
                self.entries.append(ReceiptEntry(one.item.id, True, one.detail or record.detail, cost, one.reason))
                self.counters.update(passage.counter for passage in one.passages[: max(0, at + 1 - len(one.forms))])


def written(candidate: BlockCandidate, level: int) -> str:
    """What a block says of a candidate at a level of its item."""
    passages = candidate.passages_at(level)
    return "".join((candidate.texts[-1], *map(block.passage, passages))) if passages else candidate.texts[level]


def with_cut_passage(
    candidates: list[BlockCandidate], purchase: Purchase, limit: int, price: Prices, plan: Plan | None
) -> tuple[list[BlockCandidate], Purchase]:
    """The candidates and a purchase, with as many lines as fit of the passage that did not, else as many words.

    They are those from where it says most of the task on, and then those above. A larger limit shows more of it, and
    then the whole: it never lowers what is shown.
    """
    if purchase.is_complete:
        return candidates, purchase
    step = purchase.left[purchase.barred]
    one = candidates[step.place]
    number = step.at - len(one.forms)
    if number < 0:  # a form is shown whole or not at all
        return candidates, purchase
    whole = one.passages[number]
    before = price.of(written(one, step.at - 1))
    # A part has about as many tokens for each that caution takes it for as the whole has.
    share = _CUT_MARGIN * whole.price / (price.of(written(one, step.at)) - before)

    def cut_to(part: tuple[int, int]) -> tuple[BlockCandidate, int]:
        start, end = part
        text = whole.text[start:end]
        first = whole.start_line + whole.text.count("\n", 0, start)
        shown = f"{CUT}\n" * (start > 0) + text + f"\n{CUT}" * (end < len(whole.text))
        last = first + text.rstrip("\n").count("\n")
        passage = whole._replace(text=shown, start_line=first, end_line=last, counter=ESTIMATE)
        passages = (*one.passages[:number], passage, *one.passages[number + 1 :])
        shorter = one._replace(passages=passages, passage_count=-1)  # in no case all of it
        cautious = price.of(written(shorter, step.at)) - before
        return shorter, min(cautious, ceil(share * cautious) + _CUT_TOKENS)

    room = limit - purchase.used
    from_ = 0 if plan is None else _place_of_match(plan, one.forms[0].path, whole)
    for parts in _parts(whole.text, from_):
        count = bisect_right(parts, room, key=lambda part: cut_to(part)[1])
        if count:
            break
    else:
        return candidates, purchase
    shorter, cost = cut_to(parts[count - 1])
    levels, costs = list(purchase.levels), list(purchase.costs)
    levels[step.place], costs[step.place] = step.at, costs[step.place] + cost
    shown = [*candidates[: step.place], shorter, *candidates[step.place + 1 :]]
    return shown, purchase._replace(levels=tuple(levels), costs=tuple(costs), used=purchase.used + cost)


def _parts(text: str, from_: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The parts of a text that could be shown from a place on, each with the one before it: of lines, and of words."""
    *words, _ = text[:-1].replace("\n", " ").split(" ")
    ends = [end - 1 for end in accumulate(len(word) + 1 for word in words) if not text[end - 2].isspace()]
    ends = ends[bisect_right(ends, from_) :]
    lines = [(from_, end) for end in ends if text[end] == "\n"][_LEAST_LINES - 1 :]
    lines += [(at + 1, len(text)) for at in range(from_ - 2, 0, -1) if text[at] == "\n"]
    return lines, [(from_, end) for end in ends[_LEAST_WORDS - 1 :]]


def _place_of_match(plan: Plan, path: str, passage: IncludedPassage) -> int:
    """Where the line begins from which on a passage is shown: a line above the one that has most of a task's words."""
    from ctxrank.ranking.retrieval.snippets import snippet  # noqa: PLC0415  only where one is cut

    found = snippet(plan.engine, passage.text, plan.stems, path, 1, [])
    above = found.match_line - 1 - _LINES_ABOVE if found.terms else 0
    return sum(len(line) + 1 for line in passage.text.split("\n")[: max(above, 0)])


def left_out(items: list[Item], purchase: Purchase, budget: Budget) -> tuple[Omitted, ...]:
    """What was left out or lowered, with what it would have cost and what limits it.

    The first step that is not barred did not fit, and spending ended there.
    """
    omitted: list[Omitted] = []
    room = budget.limit - purchase.used
    for place, step in enumerate(purchase.left):
        item, shown_at = items[step.place], purchase.levels[step.place]
        if step.at != shown_at + 1:
            continue  # of an item the next level alone
        if place < purchase.barred:
            over = f"over the {budget.caps[item.kind]} tokens that {item.kind} may take"
        elif step.cost > room:
            over = f"over the budget of {budget.limit} tokens"
            if room > 0:
                over += f", of which {room} were left"
        else:  # a larger budget only adds, hence nothing is taken out of its turn
            first = items[purchase.left[purchase.barred].place].id
            over = f"after {first} in line, where the budget of {budget.limit} tokens ended"
        lowered = ""
        if shown_at >= 0:
            has_details = item.kind in ("packages", "files")
            lowered = f"lowered: {'its next detail is ' if has_details else f'shown up to {item.levels[shown_at]}; '}"
        omitted.append(Omitted(item.id, lowered + over, step.cost))
    return tuple(omitted)


def _overflow(assembly: Assembly, shown: int) -> int:
    """How many more packages a higher limit would show; 0 where there is no room for more."""
    return assembly.available - shown if assembly.usage.zone in (limits.NORMAL, limits.SOFT_WARNING) else 0


def fitting(text: str, agent: str, budget: Budget, price: Prices) -> str:
    """A block of a fixed text if the budget has room for it, else the heading alone, else ''."""
    heading = block.opening(agent)
    return next((some for some in (text, heading) if some and price.of(some) <= budget.limit), "")

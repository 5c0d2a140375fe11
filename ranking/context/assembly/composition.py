"""Composition: material becomes items with prices, the budget takes what fits, and the block is written.

Prices are for the rendered text (prices.py), so that their sum is not below what the whole text costs.
"""

from itertools import accumulate

from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.store.ids import PACKAGE, public_id
from ctxrank.indexer.text.tokens import ESTIMATE
from ctxrank.ranking.context.assembly import block
from ctxrank.ranking.context.assembly.limits import CLASSES, Budget, Zone
from ctxrank.ranking.context.assembly.material import Material, PackageMaterial, StoredPassage
from ctxrank.ranking.context.assembly.memory import REASONING_CHARS
from ctxrank.ranking.context.assembly.request import Assembly, IncludedPackage, Omitted
from ctxrank.ranking.context.budget import (
    NOT_SHOWN,
    Item,
    ItemClass,
    Purchase,
    fair_queue,
    level_by_level,
    spend,
)
from ctxrank.ranking.context.prices import Prices

if TYPE_CHECKING:  # most stores have packages alone
    from ctxrank.ranking.context.assembly.files import FileMaterial, IncludedFile

_PACKAGE_LEVELS = ("title", "summary")  # then one passage more at each level
_REASONING_LEVELS = tuple(f"{chars} characters" for chars in REASONING_CHARS)


def compose(empty: Assembly, material: Material, *, level: str, factor: float) -> Assembly:
    """An assembly with the block that its budget allows. A budget too small for the frame gives a heading or ''.

    `level` is the one that the Conservative zone shows, `factor` that of the model's tokenizer over the counter's.
    """
    budget, price = empty.budget, Prices(factor)
    frame = price.of(
        block.opening(empty.agent), block.zone_line(empty.usage), block.REFERENCE_LINE, empty.state,
        block.packages_heading(empty.available, empty.available, level) if empty.available else block.EMPTY,
        block.overflow_line(empty.available) if empty.available else "",
        block.ONLY_LOW if block.is_only_low(empty, level) else "",
    )  # fmt: skip
    items = _items(material, price)
    if frame > budget.limit:
        return _bare(empty, items, price)
    order = fair_queue(items, _classes(budget, material, price))
    purchase = spend(order, frame, budget.limit)
    bought: dict[str, list[tuple[int, int]]] = {kind: [] for kind in CLASSES}  # the level and cost of each item
    for item, at, cost in zip(items, purchase.levels, purchase.costs, strict=True):
        bought[item.kind].append((at, cost))
    filled = empty._replace(
        packages=tuple(
            _package_at(package, at, cost)
            for package, (at, cost) in zip(material.packages, bought["packages"], strict=True)
            if at >= 0
        ),
        files=tuple(
            _file_at(file, at, cost)
            for file, (at, cost) in zip(material.files, bought["files"], strict=True)
            if at >= 0
        ),
        reasoning=tuple(
            entry.forms[at]._replace(tokens=cost)
            for entry, (at, cost) in zip(material.reasoning, bought["reasoning"], strict=True)
            if at >= 0
        ),
        errors=tuple(
            error._replace(tokens=cost)
            for error, (at, cost) in zip(material.errors, bought["errors"], strict=True)
            if at >= 0
        ),
        strategies=tuple(
            strategy._replace(tokens=cost)
            for strategy, (at, cost) in zip(material.strategies, bought["strategies"], strict=True)
            if at >= 0
        ),
        skills=material.skills if any(at >= 0 for at, _ in bought["skills"]) else "",
        by_class={kind: sum(cost for _, cost in own) for kind, own in bought.items()},
        omitted=left_out(items, purchase, len(order.barred), budget),
        is_complete=purchase.is_complete,
    )
    # Where no package fits, a line that says so is the last thing that the budget is spent on.
    is_without = empty.available and not filled.packages and not block.is_only_low(empty, level)
    note = price.of(block.NOTHING_FITS) if is_without else 0
    says_so = 0 < note <= budget.limit - purchase.used
    filled = filled._replace(
        used=purchase.used + (note if says_so else 0),
        counter=_counter(material, filled),
        overflow=_overflow(empty, len(filled.packages)),
    )
    return filled._replace(parts=block.render(filled, level, says_nothing_fits=says_so))


def _items(material: Material, price: Prices) -> list[Item]:
    """Everything that could be in the block, each class in the order of preference."""
    items = [_package_item(package, price) for package in material.packages]
    items += [_file_item(file, price) for file in material.files]
    for forms, is_critical in material.reasoning:
        # A longer entry never costs less than the shorter one.
        prices = tuple(accumulate((price.of(block.reasoning_entry(shown)) for shown in forms), max))
        id_, levels = public_id("reasoning", forms[0].id), _REASONING_LEVELS[: len(forms)]
        items.append(Item(id_, levels, prices, kind="reasoning", is_first=is_critical))
    for error in material.errors:
        items.append(
            Item(public_id("error", error.id), ("entry",), (price.of(block.error_entry(error)),), kind="errors")
        )
    for strategy in material.strategies:
        prices = (price.of(block.strategy_entry(strategy)),)
        items.append(Item(public_id("strategy", strategy.id), ("entry",), prices, kind="strategies"))
    if material.skills:
        items.append(Item("skills", ("checklist",), (price.of(material.skills),), kind="skills"))
    return items


def _package_item(material: PackageMaterial, price: Prices) -> Item:
    package = material.package
    prices = accumulate(
        (
            price.of(block.package_title(package)),
            price.of(block.package_summary(package)),
            *(_passage_price(passage, price) for passage in material.passages),
        )
    )
    levels = (*_PACKAGE_LEVELS, *("passage",) * len(material.passages))
    return Item(public_id(PACKAGE, package.id), levels, tuple(prices), kind="packages")


def _file_item(material: "FileMaterial", price: Prices) -> Item:
    steps = (price.of(block.file_title(material.file)), *(_passage_price(one, price) for one in material.passages))
    levels = ("path", *("passage",) * len(material.passages))
    return Item(public_id("artifact", material.file.id), levels, tuple(accumulate(steps)), kind="files")


def _passage_price(passage: StoredPassage, price: Prices) -> int:
    """Of a passage in its fence."""
    shown = passage.shown
    return price.of_stored(shown.text, passage.tokens, passage.counter) + price.of(
        block.passage(shown._replace(text=""))
    )


def _classes(budget: Budget, material: Material, price: Prices) -> dict[str, ItemClass]:
    """The classes of the block; the packages' heading is always there and no item pays for it."""
    headings = {
        "files": price.of(block.FILES_HEADING),
        "reasoning": price.of(block.reasoning_heading(len(material.reasoning))),
        "errors": price.of(block.errors_heading(len(material.errors))),
        "strategies": price.of(block.strategies_heading(len(material.strategies))),
    }
    shares = budget.shares_with_files if material.files else budget.shares
    return {kind: ItemClass(shares[kind], budget.caps.get(kind), headings.get(kind, 0)) for kind in CLASSES}


def _package_at(material: PackageMaterial, at: int, cost: int) -> IncludedPackage:
    """A package as it is shown at a level; its passages are in the order of the file."""
    count = max(0, at + 1 - len(_PACKAGE_LEVELS))
    passages = sorted((p.shown for p in material.passages[:count]), key=lambda p: (p.start_line, p.id))
    detail = "passage" if count else _PACKAGE_LEVELS[at]
    if count and count == material.passage_count:
        detail = "full"
    return material.package._replace(passages=tuple(passages), detail=detail, tokens=cost)


def _file_at(material: "FileMaterial", at: int, cost: int) -> "IncludedFile":
    """A file as it is shown at a level; its passages are in the order of the file."""
    passages = sorted((p.shown for p in material.passages[:at]), key=lambda p: (p.start_line, p.id))
    return material.file._replace(passages=tuple(passages), detail="passage" if at else "path", tokens=cost)


def _counter(material: Material, shown: Assembly) -> str:
    """The counter that `used` is not below: the one of the passages, if one counted them all."""
    ids = {passage.id for package in shown.packages for passage in package.passages}
    ids.update(passage.id for file in shown.files for passage in file.passages)
    stored = [passage for package in material.packages for passage in package.passages]
    stored += [passage for file in material.files for passage in file.passages]
    names = {passage.counter for passage in stored if passage.shown.id in ids}
    return names.pop() if len(names) == 1 else ESTIMATE


def left_out(items: list[Item], purchase: Purchase, barred: int, budget: Budget) -> tuple[Omitted, ...]:
    """What was left out or lowered, with what it would have cost and what limits it.

    The first `barred` steps are above the cap of their class; the one after them did not fit, and spending ended there.
    """
    omitted: list[Omitted] = []
    room = budget.limit - purchase.used
    for place, step in enumerate(purchase.left):
        item, shown_at = items[step.place], purchase.levels[step.place]
        if step.at != shown_at + 1:
            continue  # of an item the next level alone
        if place < barred:
            over = f"over the {budget.caps[item.kind]} tokens that {item.kind} may take"
        elif step.cost > room:
            over = f"over the budget of {budget.limit} tokens"
            if room > 0:
                over += f", of which {room} were left"
        else:  # a larger budget only adds, hence nothing is taken out of its turn
            first = items[purchase.left[barred].place].id
            over = f"after {first} in line, where the budget of {budget.limit} tokens ended"
        lowered = ""
        if shown_at >= 0:
            has_details = item.kind in ("packages", "files")
            lowered = f"lowered: {'its next detail is ' if has_details else f'shown up to {item.levels[shown_at]}; '}"
        omitted.append(Omitted(item.id, lowered + over, step.cost))
    return tuple(omitted)


def _bare(empty: Assembly, items: list[Item], price: Prices) -> Assembly:
    """What is left where not even the frame fits."""
    text = fitting("", empty.agent, empty.budget, price)
    left = tuple(step for kind in CLASSES for step in level_by_level(items, kind))
    nothing = Purchase((NOT_SHOWN,) * len(items), (), empty.budget.limit, left)
    omitted = left_out(items, nothing, 0, empty.budget)
    parts = (text,) if text else ()
    return empty._replace(parts=parts, used=price.of(text), omitted=omitted, overflow=_overflow(empty, 0))


def _overflow(assembly: Assembly, shown: int) -> int:
    """How many more packages a higher limit would show; 0 where there is no room for more."""
    return assembly.available - shown if assembly.usage.zone in (Zone.NORMAL, Zone.SOFT_WARNING) else 0


def fitting(text: str, agent: str, budget: Budget, price: Prices) -> str:
    """A block of a fixed text if the budget has room for it, else the heading alone, else ''."""
    heading = block.opening(agent)
    return next((some for some in (text, heading) if some and price.of(some) <= budget.limit), "")

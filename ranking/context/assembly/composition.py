"""Composition: pieces become steps with a price, the budget takes what fits, and the block is written.

Prices are for the rendered text (prices.py), so that their sum is not below what the whole text costs.
"""

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.tokens import ESTIMATE
from ctxrank.ranking.context.assembly import block
from ctxrank.ranking.context.assembly.budget import CLASSES, Budget, Packed, Step, pack
from ctxrank.ranking.context.assembly.memory import Pattern, ReasoningEntry, Strategy
from ctxrank.ranking.context.assembly.request import (
    CurrentFailure,
    IncludedError,
    IncludedPackage,
    IncludedReasoning,
    IncludedStrategy,
    Omitted,
)
from ctxrank.ranking.context.assembly.zones import Usage, Zone
from ctxrank.ranking.context.prices import Prices, StoredPassage
from ctxrank.ranking.formulas.explanation import Explanation

# An entry is shown up to here; at the level `full` first all are, and then as many as fit are shown longer.
MAX_REASONING_CHARS = 300
MAX_LONG_REASONING_CHARS = 900
MAX_INSIGHT_CHARS = 500


class PackagePieces(NamedTuple):
    """One package that could be shown, its passages in the order they are wanted."""

    id: int
    path: str
    priority: str
    type: str
    producer: str
    summary: str
    created_at: int
    score: float
    label: str
    reason: str
    explanation: Explanation | None
    passages: tuple[StoredPassage, ...]
    passage_count: int  # of the whole file: all of them shown is full detail
    file_state: str = ""


class Pieces(NamedTuple):
    """Everything that could be in the block, each class in the order it is wanted."""

    packages: tuple[PackagePieces, ...]
    reasoning: tuple[ReasoningEntry, ...] = ()
    errors: tuple[Pattern, ...] = ()
    strategies: tuple[Strategy, ...] = ()
    skills: str = ""  # the checklist
    has_long_reasoning: bool = False
    failure: CurrentFailure | None = None  # what the errors answer


class Composed(NamedTuple):
    """The block, in parts that are put together as they are, and what it holds; tokens are by `counter`."""

    parts: tuple[str, ...]
    used: int
    by_class: dict[str, int]
    counter: str
    packages: tuple[IncludedPackage, ...]
    reasoning: tuple[IncludedReasoning, ...]
    errors: tuple[IncludedError, ...]
    strategies: tuple[IncludedStrategy, ...]
    skills: str
    omitted: tuple[Omitted, ...]
    is_complete: bool = False  # a larger limit would add nothing


class Frame(NamedTuple):
    """What stands around the pieces: who asks, in which zone, and how many packages there were."""

    agent: str
    usage: Usage
    available: int
    level: str  # of the Conservative zone
    factor: float  # of the model's tokenizer over the counter's


def compose(frame: Frame, budget: Budget, pieces: Pieces) -> Composed:
    """Fill the budget with pieces and write the block. A budget too small for the frame gives a heading or ''."""
    price = Prices(frame.factor)
    base = price.of(
        block.opening(frame.agent), block.zone_line(frame.usage), block.REFERENCE_LINE,
        block.packages_heading(frame.available, frame.available, frame.level) if frame.available else block.EMPTY,
        block.overflow_line(frame.available) if frame.available else "",
    )  # fmt: skip
    steps = _steps(pieces, price)
    if base > budget.limit:
        return _bare(frame, budget, price, pieces, steps)
    packed = pack(budget, base, steps, _headings(pieces, price))
    taken: dict[tuple[str, int], list[Step]] = {}
    for step in packed.taken:
        taken.setdefault((step.kind, step.key), []).append(step)
    packages = tuple(
        _included(package, taken["packages", at])
        for at, package in enumerate(pieces.packages)
        if ("packages", at) in taken
    )
    reasoning = tuple(
        _included_reasoning(entry, taken["reasoning", at])
        for at, entry in enumerate(pieces.reasoning)
        if ("reasoning", at) in taken
    )
    errors = tuple(
        IncludedError(
            e.id, _signature(e), e.solution, e.confidence, e.occurrences, taken["errors", at][0].cost,
            e.grade, e.state, e.why,
        )
        for at, e in enumerate(pieces.errors)
        if ("errors", at) in taken
    )  # fmt: skip
    strategies = tuple(
        IncludedStrategy(s.id, s.topic, _cut(s.insight, MAX_INSIGHT_CHARS), taken["strategies", at][0].cost)
        for at, s in enumerate(pieces.strategies)
        if ("strategies", at) in taken
    )
    skills = pieces.skills if ("skills", 0) in taken else ""
    # Where no package fits, saying so is the last thing that the budget is spent on.
    note = price.of(block.NOTHING_FITS) if frame.available and not packages else 0
    says_so = 0 < note <= budget.limit - packed.used
    parts = block.render(
        frame.agent, frame.usage, packages, reasoning, errors, strategies, available=frame.available,
        level=frame.level, overflow=overflow(frame, len(packages)), says_nothing_fits=says_so, skills=skills,
    )  # fmt: skip
    return Composed(
        parts, packed.used + (note if says_so else 0), packed.by_class, _counter(pieces, packages), packages,
        reasoning, errors, strategies, skills, _omitted(pieces, packed, budget), packed.is_complete,
    )  # fmt: skip


def overflow(frame: Frame, shown: int) -> int:
    """How many more packages a higher limit would show; told only where there is room for more."""
    return frame.available - shown if frame.usage.zone in (Zone.NORMAL, Zone.SOFT_WARNING) else 0


def _steps(pieces: Pieces, price: Prices) -> list[Step]:
    """All steps, each class in the order it is wanted: titles, then summaries, then passages by turns."""
    steps: list[Step] = []
    for at, package in enumerate(pieces.packages):
        steps.append(Step("packages", at, "title", price.of(block.package_title(package.priority, package.path))))
    for at, package in enumerate(pieces.packages):
        steps.append(Step("packages", at, "summary", price.of(_summary(package))))
    most = max((len(package.passages) for package in pieces.packages), default=0)
    for turn in range(most):
        for at, package in enumerate(pieces.packages):
            if turn < len(package.passages):
                steps.append(Step("packages", at, "passage", price.of_passage(package.passages[turn])))
    for at, entry in enumerate(pieces.reasoning):
        steps.append(Step("reasoning", at, "entry", price.of(_reasoning_line(entry, MAX_REASONING_CHARS))))
    for at, entry in enumerate(pieces.reasoning):
        if pieces.has_long_reasoning and len(entry.content) > MAX_REASONING_CHARS:
            longer = price.of(_reasoning_line(entry, MAX_LONG_REASONING_CHARS))
            shorter = price.of(_reasoning_line(entry, MAX_REASONING_CHARS))
            steps.append(Step("reasoning", at, "longer", max(longer - shorter, 0)))
    for at, pattern in enumerate(pieces.errors):
        line = block.error_entry(_signature(pattern), pattern.solution, pattern.confidence, pattern.occurrences)
        steps.append(Step("errors", at, "entry", price.of(line)))
    for at, strategy in enumerate(pieces.strategies):
        line = block.strategy_entry(strategy.topic, _cut(strategy.insight, MAX_INSIGHT_CHARS))
        steps.append(Step("strategies", at, "entry", price.of(line)))
    if pieces.skills:
        steps.append(Step("skills", 0, "checklist", price.of(pieces.skills)))
    return steps


def _headings(pieces: Pieces, price: Prices) -> dict[str, int]:
    """What the first entry of a class costs beside itself; the packages' heading is always there."""
    return {
        "reasoning": price.of(block.reasoning_heading(len(pieces.reasoning))),
        "errors": price.of(block.errors_heading(len(pieces.errors))),
        "strategies": price.of(block.strategies_heading(len(pieces.strategies))),
    }


def _summary(package: PackagePieces) -> str:
    return block.package_summary(
        package.id, package.type, package.producer, package.created_at, package.summary, package.reason
    )


def _included(package: PackagePieces, steps: list[Step]) -> IncludedPackage:
    count = sum(step.level == "passage" for step in steps)
    passages = sorted((p.shown for p in package.passages[:count]), key=lambda p: (p.start_line, p.id))
    detail = steps[-1].level
    if count and count == package.passage_count:
        detail = "full"
    return IncludedPackage(
        package.id, package.path, package.priority, package.type, package.producer, package.summary,
        tuple(passages), detail, sum(step.cost for step in steps), round(package.score, 6), package.label,
        package.reason, package.created_at, package.explanation, package.file_state,
    )  # fmt: skip


def _included_reasoning(entry: ReasoningEntry, steps: list[Step]) -> IncludedReasoning:
    limit = MAX_LONG_REASONING_CHARS if steps[-1].level == "longer" else MAX_REASONING_CHARS
    cost = sum(step.cost for step in steps)
    content = _shown_content(entry, limit)
    return IncludedReasoning(entry.id, entry.agent, entry.phase, content, entry.confidence, cost)


def _reasoning_line(entry: ReasoningEntry, limit: int) -> str:
    return block.reasoning_entry(entry.agent, entry.phase, _shown_content(entry, limit))


def _shown_content(entry: ReasoningEntry, limit: int) -> str:
    """What is shown of an entry; one that a later try has not taken up again says which try it is of."""
    of_try = f"(of try {entry.iteration}, before try {entry.last_try}) " if entry.iteration < entry.last_try else ""
    return of_try + _cut(entry.content, limit)


def _cut(content: str, limit: int) -> str:
    """Whole or cut at a word: what is stored whole is shown in part."""
    return content if len(content) <= limit else content[:limit].rsplit(" ", 1)[0] + "..."


def _signature(pattern: Pattern) -> str:
    if pattern.message.startswith(pattern.error_type):
        return pattern.message
    return f"{pattern.error_type}: {pattern.message}"


def _counter(pieces: Pieces, shown: tuple[IncludedPackage, ...]) -> str:
    """The counter that `used` is not below: the one of the passages, if one counted them all."""
    ids = {passage.id for package in shown for passage in package.passages}
    names = {p.counter for package in pieces.packages for p in package.passages if p.shown.id in ids}
    return names.pop() if len(names) == 1 else ESTIMATE


def _omitted(pieces: Pieces, packed: Packed, budget: Budget) -> tuple[Omitted, ...]:
    """What was left out or lowered, with what it would have cost."""
    shown = {(step.kind, step.key) for step in packed.taken}
    names = {
        "reasoning": [f"reasoning:{entry.id}" for entry in pieces.reasoning],
        "errors": [f"error:{pattern.id}" for pattern in pieces.errors],
        "strategies": [f"strategy:{strategy.id}" for strategy in pieces.strategies],
        "skills": ["skills"],
    }
    omitted: list[Omitted] = []
    named: set[tuple[str, int]] = set()
    for step in packed.left:
        cap = budget.caps.get(step.kind)
        over = f"over the budget of {budget.limit} tokens"
        if cap is not None and cap < budget.limit:
            over += f", or of {cap} for {step.kind}"
        if step.level == "longer":
            over = f"lowered: shown up to {MAX_REASONING_CHARS} characters; {over}"
        if step.kind != "packages":
            omitted.append(Omitted(names[step.kind][step.key], over, step.cost))
        elif ("packages", step.key) not in named:
            named.add(("packages", step.key))
            what = "lowered: its next detail is " if ("packages", step.key) in shown else ""
            omitted.append(Omitted(f"package:{pieces.packages[step.key].id}", what + over, step.cost))
    return tuple(omitted)


def _bare(frame: Frame, budget: Budget, price: Prices, pieces: Pieces, steps: list[Step]) -> Composed:
    """What is left where not even the frame fits."""
    text = fitting("", frame.agent, budget, price)
    nothing = Packed((), tuple(steps), price.of(text), dict.fromkeys(CLASSES, 0))
    omitted = _omitted(pieces, nothing, budget)
    return Composed((text,) if text else (), nothing.used, nothing.by_class, ESTIMATE, (), (), (), (), "", omitted)


def fitting(text: str, agent: str, budget: Budget, price: Prices) -> str:
    """A block of a fixed text if the budget has room for it, else the heading alone, else ''."""
    heading = block.opening(agent)
    return next((some for some in (text, heading) if some and price.of(some) <= budget.limit), "")

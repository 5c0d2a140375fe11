"""The linked artifacts of an assembly: what a task of `.contextia/` reaches, before the agent's own heading.

They come first and depend on the task alone, so that all agents that work on it share the longest possible beginning
of their blocks. Both parts have one budget:

    linked artifacts   a share of what remains, or half of a requested budget; of a requested budget also all that is
                       left over once the agent's block has everything that it could hold
    the agent's block  the rest, and what is left over once every linked artifact is shown as the zone allows

So each gives the other what it cannot use at any budget. What is left over before that stays unspent: it is less than
a step of its own, and given to the other it would have to be taken back at a larger budget.
"""

from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.assembly.limits import Budget, Usage, Zone
from ctxrank.ranking.context.assembly.request import IncludedLinked, Omitted
from ctxrank.ranking.context.links.context import ContextRequest, Material, gather
from ctxrank.ranking.context.links.pack import LinkedPart, PackOptions, pack_linked
from ctxrank.ranking.context.prices import Prices

# Of what remains of the context. Every agent's block has at least twice as much, so that all agents get equal bytes.
_SHARE = 0.15
_SHARE_OF_ASKED = 0.5
_DEPTHS = {Zone.NORMAL: "full", Zone.SOFT_WARNING: "summary", Zone.CONSERVATIVE: "meta"}


class LinkedBlock(NamedTuple):
    """The linked part of a block with what it costs, what is left of the budget, and the task's own text."""

    text: str
    used: int
    rest: int  # tokens for the agent's block
    shown: tuple[IncludedLinked, ...]
    omitted: tuple[Omitted, ...]
    task_text: str
    notes: tuple[str, ...]
    source: "LinkedSource | None" = None  # what more could be shown from; None where everything is


class LinkedSource(NamedTuple):
    """What a linked part was packed from."""

    material: Material
    options: PackOptions
    factor: float


def linked_block(
    store: Store, task_id: str, config: Config, used: Usage, budget: Budget, factor: float, *, is_bound: bool
) -> LinkedBlock:
    """What the task reaches. Where there is no such task, or no room, it is a note: a spawn depends on the rest."""
    limit = int(budget.limit * _SHARE_OF_ASKED) if is_bound else min(int(used.remaining * _SHARE), budget.limit // 2)
    request = ContextRequest(task_id, limit, _DEPTHS[used.zone], form="markdown", factor=factor)
    options = PackOptions(limit, request.depth, request.form, has_reference_line=False)
    try:
        material = gather(store, request, config)
    except CtxrankError as error:
        return LinkedBlock("", 0, budget.limit, (), (), "", (f"{error.message} {error.hint}".strip(),))
    return _packed(LinkedSource(material, options, factor), budget.limit)


def with_more(linked: LinkedBlock, limit: int, whole: int) -> LinkedBlock:
    """The same within more of the whole budget: as much as the agent's block can never need."""
    if linked.source is None or limit <= (linked.source.options.limit or 0):
        return linked
    return _packed(linked.source._replace(options=linked.source.options._replace(limit=limit)), whole)


def _packed(source: LinkedSource, whole: int) -> LinkedBlock:
    material, options = source.material, source.options
    prices, limit = Prices(source.factor), options.limit or 0
    task = next(one for one in material.closure.reached if one.node.type == "task")
    task_text = f"{task.node.title}\n{material.texts[task.node.number].texts.full}"
    try:
        part = pack_linked(material.closure, material.texts, material.found, options, prices, material.annotated)
    except UsageError as error:
        # Kept free all the same: a larger budget would take it from the packages again.
        return LinkedBlock("", 0, whole - limit, (), (), task_text, (error.message,), source)
    is_complete = not part.omitted and not any(shown.is_lowered for shown in part.shown)
    missing = [f"{one.source} links to {one.id}, which does not exist." for one in part.missing]
    notes = (*material.notes, *part.warnings, *missing)
    return LinkedBlock(
        text=part.text,
        used=part.used,
        rest=whole - (part.used if is_complete else limit),
        shown=_shown(part),
        omitted=_omitted(part),
        task_text=task_text,
        notes=notes,
        source=None if is_complete else source,
    )


def _shown(part: LinkedPart) -> tuple[IncludedLinked, ...]:
    return tuple(
        IncludedLinked(
            id=artifact.node.id,
            type=artifact.node.type,
            title=artifact.node.title,
            status=artifact.node.status,
            level=level,
            tokens=tokens,
            tier=f"T{artifact.tier}",
            chain=artifact.chain,
            reason=artifact.reason,
        )
        for artifact, level, tokens, _, _ in part.shown
    )


def _omitted(part: LinkedPart) -> tuple[Omitted, ...]:
    left = [
        Omitted(left.artifact.node.id, f"T{left.artifact.tier}: no room in the linked artifacts' budget", left.tokens)
        for left in part.omitted
    ]
    lowered = [
        Omitted(shown.artifact.node.id, f"lowered: shown at {shown.level}", shown.whole - shown.tokens)
        for shown in part.shown
        if shown.is_lowered
    ]
    gone = [Omitted(one.id, f"linked by {one.source}, but there is no such artifact", 0) for one in part.missing]
    return (*left, *lowered, *gone)

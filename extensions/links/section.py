"""The linked artifacts of an assembly: what a task of `.contextia/` reaches, before the agent's own heading.

They come first and depend on the task alone, so that all agents that work on it share the longest possible beginning
of their blocks. Both parts have one budget:

    linked artifacts   a share of what remains, or half of a requested budget; of a requested budget also all that is
                       left over once the agent's block has everything that it could hold
    the agent's block  the rest, and what is left over once every linked artifact is shown as the zone allows

So each gives the other what it cannot use at any budget. What is left over before that stays unspent: it is less than
a step of its own, and given to the other it would have to be taken back at a larger budget.
"""

from ctxrank.extensions.links.absence import load_graph_of, why_not_reached
from ctxrank.extensions.links.context import ContextMaterial, ContextRequest, gather
from ctxrank.extensions.links.pack import LinkedPart, PackOptions, pack_linked
from ctxrank.extensions.links.receipt import make_context, receipt_of, request_of
from ctxrank.extensions.links.store import KIND
from ctxrank.indexer.exceptions import CtxrankError, NotFoundError, UsageError
from ctxrank.indexer.records.receipts import Receipt
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.store.ids import local_ref
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.assembly.limits import Zone
from ctxrank.ranking.context.assembly.shapes import Omitted, SectionItem
from ctxrank.ranking.context.prices import Prices
from ctxrank.ranking.context.section import AskedSection, RemadeText, SectionPart, Why

# Of what remains of the context. Every agent's block has at least twice as much, so that all agents get equal bytes.
_SHARE = 0.15
_SHARE_OF_ASKED = 0.5
_DEPTHS = {Zone.NORMAL: "full", Zone.SOFT_WARNING: "summary", Zone.CONSERVATIVE: "meta"}


class LinkedSection:
    """What a task of `.contextia/` reaches: see ranking/context/section.py."""

    def gather(self, store: Store, wanted: str, asked: AskedSection) -> SectionPart:
        """What the task reaches. Where there is no such task, or no room, it is a note."""
        whole, used = asked.budget.limit, asked.usage
        limit = int(whole * _SHARE_OF_ASKED) if asked.is_bound else min(int(used.remaining * _SHARE), whole // 2)
        options = PackOptions(limit, _DEPTHS[used.zone], "markdown", has_reference_line=False)
        request = ContextRequest(wanted, limit, options.depth, form=options.form, factor=asked.factor)
        try:
            material = gather(store, request, asked.config)
        except CtxrankError as error:
            return SectionPart(KIND, "", 0, whole, notes=(f"{error.message} {error.hint}".strip(),))
        return _packed(material, options, Prices(asked.factor), whole)

    def why(self, store: Store, document: str, receipt: Receipt) -> Why:
        """What became of an artifact, by its own id or by ours, in a text. Raises NotFoundError."""
        graph = load_graph_of(store, receipt)
        if document.startswith(f"{KIND}:"):
            number = local_ref(store.primary, document).number
            name = read_value(store.primary, "SELECT name FROM linked_artifacts WHERE id = ?", (number,), str)
            if not name:
                raise NotFoundError(f"There is no {document} with an id of its own.", "'ctxrank search' shows ids.")
            document = name
        by_fold = {known.lower(): known for known in (*graph.nodes, *(entry.id for entry in receipt.entries))}
        id_ = by_fold.get(document.lower(), document)
        entry = receipt.entry(id_)
        if entry is None:
            return Why(id_, reasons=why_not_reached(store, graph, id_, receipt))
        return Why(id_, entry.is_included, entry.detail, entry.tokens, tuple(entry.reason.split("; ")))

    def remade(self, store: Store, receipt: Receipt, config: Config | None) -> RemadeText:
        """The context of a receipt as it would be now. Raises CtxrankError."""
        draft = make_context(store, request_of(store, receipt), config)
        return RemadeText(draft.part.text, receipt_of(store, draft), {})


SECTION = LinkedSection()


def _packed(material: ContextMaterial, options: PackOptions, prices: Prices, whole: int) -> SectionPart:
    limit = options.limit or 0
    task = next(one for one in material.closure.reached if one.node.type == "task")
    task_text = f"{task.node.title}\n{material.texts[task.node.number].texts.full}"

    def more(highest: int) -> SectionPart:
        return _packed(material, options._replace(limit=max(limit, highest)), prices, whole)

    try:
        part = pack_linked(material.closure, material.texts, material.found, options, prices, material.annotated)
    except UsageError as error:
        # Kept free all the same: a larger budget would take it from the packages again.
        return SectionPart(KIND, "", 0, whole - limit, (), (), task_text, (error.message,), more)
    is_complete = not part.omitted and not any(shown.is_lowered for shown in part.shown)
    missing = [f"{one.source} links to {one.id}, which does not exist." for one in part.missing]
    notes = (*material.notes, *part.warnings, *missing)
    rest = whole - (part.used if is_complete else limit)
    shown, omitted, again = _shown(part), _omitted(part), None if is_complete else more
    return SectionPart(KIND, part.text, part.used, rest, shown, omitted, task_text, notes, again)


def _shown(part: LinkedPart) -> tuple[SectionItem, ...]:
    return tuple(
        SectionItem(node.id, node.type, node.title, node.status, level, tokens, f"T{one.tier}", one.chain, one.reason)
        for one, level, tokens, _, _ in part.shown
        for node in (one.node,)
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

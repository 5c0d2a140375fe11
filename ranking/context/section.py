"""The port of a section: what adds items to a block, before the agent's own heading, and answers for them afterwards.

A request asks for a section by a field of its own, which its receipt has, too (`SECTIONS`). A section comes first and
depends on that field alone, so that all agents at one task have the longest possible beginning of their blocks in
common. Where its extension is absent, a block is made without it and a note says so; a receipt of it is neither made
again nor explained, which is refused in words.
"""

from collections.abc import Callable, Mapping

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.extensions import SECTION, provided
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple, cast
from ctxrank.indexer.records.receipts import CONTEXT, Receipt, ReceiptEntry
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.assembly.limits import Budget, Usage
from ctxrank.ranking.context.assembly.shapes import SECTIONS, AssembleRequest, Assembly, Omitted, SectionItem

if TYPE_CHECKING:
    from typing import Protocol

    class Section(Protocol):
        """One sort of section."""

        def gather(self, store: Store, wanted: str, asked: "AskedSection") -> "SectionPart":
            """The section of a block. Never raises for what it does not find: a spawn depends on the rest."""
            ...

        def why(self, store: Store, document: str, receipt: Receipt) -> "Why":
            """What became of one of its items in a text. Raises NotFoundError for an id that never was."""
            ...

        def remade(self, store: Store, receipt: Receipt, config: Config | None) -> "RemadeText":
            """The text of a receipt that is of this section alone, made again. Raises CtxrankError."""
            ...


class AskedSection(NamedTuple):
    """The budget that a section shares with the agent's block, and what it is counted by."""

    config: Config
    usage: Usage
    budget: Budget
    factor: float  # tokens of the reading model for each of o200k_base
    is_bound: bool  # whether the request names the budget


class SectionPart(NamedTuple):
    """A section as a block shows it, with what it costs and what it leaves of the whole budget to the agent's block.

    `name` is that of its class of tokens.
    `subject` stands in for a task that the request does not name. `more` makes it again within a higher limit, which is
    what the agent's block can never need; None where everything is shown.
    """

    name: str
    text: str
    used: int
    rest: int
    items: tuple[SectionItem, ...] = ()
    omitted: tuple[Omitted, ...] = ()
    subject: str = ""
    notes: tuple[str, ...] = ()
    more: "Callable[[int], SectionPart] | None" = None

    def before(self, block: Assembly) -> Assembly:
        """A block with this part at its beginning."""
        entries = (ReceiptEntry(one.id, True, one.level, one.tokens, f"{one.tier}: {one.reason}") for one in self.items)
        return block._replace(
            linked=self.items,
            entries=(*entries, *block.entries),
            parts=(f"{self.text}\n", *block.parts),
            used=block.used + self.used,
            by_class={self.name: self.used, **block.by_class},
            omitted=(*self.omitted, *block.omitted),
            outcome="matched" if block.outcome == "no_match" else block.outcome,
        )


class Why(NamedTuple):
    """What became of a document or an item in one text; `reasons` has the decisive one first."""

    id: str
    is_included: bool = False
    detail: str = ""
    tokens: int = 0
    reasons: tuple[str, ...] = ()


class RemadeText(NamedTuple):
    """What a text and its receipt would be now; `texts` are those of entries that are parts of it, by their ids."""

    text: str
    receipt: Receipt
    texts: Mapping[str, str]


def section_part(store: Store, request: AssembleRequest, asked: AskedSection) -> SectionPart:
    """The part of the section that a request asks for; a note where its extension is absent."""
    field, wanted = next((field, wanted) for field in SECTIONS if (wanted := getattr(request, field)) is not None)
    try:
        section = named_section(SECTIONS[field], f"assemble --{field.replace('_', '-')}")
    except UsageError as error:
        return SectionPart("", "", 0, asked.budget.limit, notes=(f"{error.message} {error.hint}",))
    return section.gather(store, wanted, asked)


def section_of(receipt: Receipt) -> "Section | None":
    """The section that a receipt is of, or has a part of. Raises UsageError where its extension is absent."""
    for field, extension in SECTIONS.items():
        if receipt.kind == CONTEXT or field in receipt.inputs:
            return named_section(extension, "receipt replay")
    return None


def named_section(extension: str, wanted: str) -> "Section":
    """The section of an extension. Raises UsageError where that is absent."""
    return cast("Section", provided(SECTION.format(extension), wanted))

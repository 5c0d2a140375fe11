"""Replay: a block or a context made again from its receipt, and what differs where the bytes do.

replay_receipt(store, get_receipt(store.primary, 12)).is_same
"""

from collections.abc import Iterator, Mapping, Set

from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.receipts import CONTEXT, NEWEST, Receipt, ReceiptEntry, part_digests
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.ids import public_id
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.assembly.assemble import make_assembly
from ctxrank.ranking.context.assembly.block import BLOCK_CLASSES
from ctxrank.ranking.context.assembly.eligibility import changed_since
from ctxrank.ranking.context.assembly.receipt import ESTIMATED, receipt_of, request_of
from ctxrank.ranking.context.section import RemadeText, section_of

# Inputs that follow from what there is to find; what they say is in the entries as well.
_NOT_COMPARED = (NEWEST, ESTIMATED)
_DERIVED = ("budget in force", "engine")
_CHANGED = "is changed"


class Replay(NamedTuple):
    """The text as it would be now, and how it differs; `changes` is empty where `is_same`."""

    is_same: bool
    text: str
    changes: tuple[str, ...]


class Difference(NamedTuple):
    """How two receipts differ: inputs as (name, one, other), entries that were added, removed, or changed."""

    inputs: tuple[tuple[str, str, str], ...]
    added: tuple[ReceiptEntry, ...]
    removed: tuple[ReceiptEntry, ...]
    changed: tuple[tuple[ReceiptEntry, ReceiptEntry], ...]


def replay_receipt(store: Store, receipt: Receipt, config: Config | None = None) -> Replay:
    """Make the text of a receipt again; nothing is marked and no receipt is left.

    Raises NotFoundError for a session that is gone, DamagedError for a receipt of an assembly that cannot be read,
    UsageError for a part whose extension is absent.
    """
    section = section_of(receipt)
    if receipt.kind == CONTEXT and section is not None:
        try:
            now = section.remade(store, receipt, config)
        except CtxrankError as error:  # the task is gone, or it has outgrown the budget
            return Replay(is_same=False, text="", changes=(f"it cannot be made again: {error.message}",))
    else:
        result, spawn = make_assembly(store, request_of(receipt), config)
        assert spawn is not None, "the session of a receipt is there: receipts go with it"
        texts = {
            public_id(class_.kind, shown.id): class_.text(shown)
            for name, class_ in BLOCK_CLASSES.items()
            for shown in getattr(result, name)
        }
        now = RemadeText(result.text, receipt_of(spawn, result, result.text), texts)
    is_same = now.receipt.digest == receipt.digest
    changes = () if is_same else tuple(_changes(receipt, now, changed_since(store, receipt.seq)))
    return Replay(is_same, now.text, changes)


def difference(one: Receipt, other: Receipt) -> Difference:
    """How a second receipt differs from a first."""
    mine, theirs = _by_id(one), _by_id(other)
    before, after = ({**each.inputs, "agent": each.agent, "session": each.session or ""} for each in (one, other))
    return Difference(
        inputs=tuple(_changed_inputs(before, after)),
        added=tuple(entry for id_, entry in theirs.items() if id_ not in mine),
        removed=tuple(entry for id_, entry in mine.items() if id_ not in theirs),
        changed=tuple((entry, theirs[id_]) for id_, entry in mine.items() if id_ in theirs and theirs[id_] != entry),
    )


def _changed_inputs(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    for name in sorted(before.keys() | after.keys()):
        one, other = before.get(name, ""), after.get(name, "")
        if one != other and name not in _NOT_COMPARED:
            yield name, one, other


def _changes(receipt: Receipt, now: RemadeText, newer: Set[str]) -> Iterator[str]:
    """The inputs that changed, from which all else follows; where none did, the entries that are others.

    `newer` are the ids of what was changed since: the text of another is its own, and the budget shows less or more.
    """
    inputs = list(_changed_inputs(receipt.inputs, now.receipt.inputs))
    causes = [row for row in inputs if row[0] not in _DERIVED]
    for name, was, is_ in causes or inputs:
        yield f"{name} was {was or 'not set'}, is {is_ or 'not set'}"
    if causes:
        return
    known = {digest for digest, _ in receipt.parts}
    before, after = _by_id(receipt), _by_id(now.receipt)
    has_named = bool(inputs)
    for id_ in sorted(before.keys() | after.keys()):
        one, other = before.get(id_), after.get(id_)
        said = _said(one, other)
        if said in ("", _CHANGED) and id_ in now.texts:
            # The last part of a text has no blank line after it.
            digests = part_digests((now.texts[id_], f"{now.texts[id_]}\n"))
            if not any(digest in known for digest, _ in digests):
                said = _CHANGED
                if one and other and id_ not in newer and one.tokens != other.tokens and one.reason == other.reason:
                    said = f"is shown in {other.tokens} tokens, was in {one.tokens}"
            elif one and other and one.tokens != other.tokens:  # `index` counts what a save has estimated
                said = f"is counted as {other.tokens} tokens, was as {one.tokens}"
        if said:
            has_named = True
            yield f"{id_} {said}"
    if not has_named:
        others = sum(digest not in known for digest, _ in now.receipt.parts)
        yield f"{others} of {len(now.receipt.parts)} parts of the text are others"


def _by_id(receipt: Receipt) -> dict[str, ReceiptEntry]:
    """What became of each document; that it is included counts before lowered."""
    return {entry.id: entry for entry in sorted(receipt.entries, key=lambda entry: entry.is_included)}


def _said(one: ReceiptEntry | None, other: ReceiptEntry | None) -> str:
    """What became of an entry; '' where it is shown alike, or left out alike."""
    if one is None:
        return "is shown now" if other is not None and other.is_included else "is left out now"
    if other is None:
        return "is no longer shown" if one.is_included else "is no longer left out"
    if one.is_included != other.is_included:
        return "is shown now" if other.is_included else f"is no longer shown: {other.reason}"
    return _CHANGED if one.is_included and one != other else ""

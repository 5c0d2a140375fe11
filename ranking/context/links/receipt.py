"""The receipt of a context: what `ctxrank context` was asked and gave, so that it can be explained and made again.

made = make_context(store, request)
kept = keep_receipt(store, made)      # after the text is printed; a store that cannot be written costs a note
kept.receipt, kept.shared_prefix_tokens
"""

import re
from collections.abc import Iterator

from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.records import receipts
from ctxrank.indexer.records.receipts import Entry, NewReceipt
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.digests import digest_of
from ctxrank.ranking.context.links.closure import Reached
from ctxrank.ranking.context.links.context import ContextRequest, Material, gather, pack_material
from ctxrank.ranking.context.links.pack import LinkedPart

if TYPE_CHECKING:
    from ctxrank.indexer.store.config import Config

KIND = "context"
# Grows by one when equal inputs give other bytes than before: a replay then says so.
LINKED_VERSION = 2
# Not a setting: which artifacts were there, so that a replay can tell a new one from a changed one.
NEWEST = "newest artifact"
_MAX_ENTRIES = 400
_PART = re.compile(r"(?m)^(?==== |## )")


class MadeContext(NamedTuple):
    """A context with what it was made from."""

    request: ContextRequest
    config: "Config"
    material: Material
    part: LinkedPart
    started_at: int

    @property
    def task(self) -> str:
        """The id of the task, as the artifact has it."""
        return self.material.closure.task


class Kept(NamedTuple):
    """The receipt's id (None and a note where it could not be written), and what the text shares with the last one.

    Tokens of the text's beginning that this task was given last time, too; None where it was given nothing.
    """

    receipt: int | None
    shared_prefix_tokens: int | None
    note: str


def make_context(store: Store, request: ContextRequest, config: "Config | None" = None) -> MadeContext:
    """The context of a task. Raises NotFoundError with near ids, UsageError for a budget that is too small."""
    from ctxrank.indexer.clock import now_us

    if config is None:
        from ctxrank.indexer.store.config import load_config

        config = load_config(store)
    started_at = now_us()
    material = gather(store, request, config)
    return MadeContext(request, config, material, pack_material(material, request), started_at)


def keep_receipt(store: Store, made: MadeContext) -> Kept:
    """Write the receipt of a context; never fails it."""
    from ctxrank.ranking.context.assembly.delivery import record

    text = made.part.text
    task = made.material.graph.nodes[made.task]
    new = NewReceipt(
        KIND, None, receipts.task_group(task.number), "", 0, made.material.seq, dict(inputs_of(store, made)),
        tuple(entries_of(made.part)),
        receipts.part_digests(_PART.split(text)), digest_of(text), made.part.used, made.started_at,
    )  # fmt: skip
    shared = receipts.shared_prefix_tokens(store.truth, new, text)
    recorded = record(store, None, new)
    return Kept(recorded.receipt, shared, recorded.note)


def inputs_of(store: Store, made: MadeContext) -> Iterator[tuple[str, str]]:
    """What the text follows from beside the artifacts: as asked, as configured, and this program."""
    request = made.request
    yield "task", made.task
    if request.limit is not None:
        yield "budget", str(request.limit)
    yield "depth", request.depth
    if request.hops is not None:
        yield "hops", str(request.hops)
    yield "form", request.form
    yield "with identity", str(request.with_identity)
    yield "with search", str(request.with_search)
    yield "token factor", str(request.factor)
    yield "tree", made.material.tree.name
    yield "redaction mode", made.config.redaction_mode.described
    program = f"linked {LINKED_VERSION}, rules {RULESET_VERSION}"
    if request.with_search:
        from ctxrank.indexer.fulltext.index_file import FINGERPRINT  # without search its module is not needed

        program = f"{program}, index {FINGERPRINT}"
    yield "program", program
    yield NEWEST, str(newest_artifact(store))


def newest_artifact(store: Store) -> int:
    """The highest number that a linked artifact has."""
    row = store.truth.execute("SELECT coalesce(max(id), 0) FROM linked_artifacts").fetchone()
    return int(row[0]) if row else 0


def entries_of(part: LinkedPart) -> Iterator[Entry]:
    """Every artifact that is shown, and at which level; every one that is not, and why."""
    for shown in part.shown:
        reason = reason_of(shown.reached)
        if shown.is_lowered:
            reason = f"{reason}; lowered: the whole takes {shown.whole} tokens"
        yield Entry(shown.reached.node.id, True, shown.level, shown.tokens, reason)
    for one in part.missing:
        yield Entry(one.id, False, "", 0, f"linked by {one.source}, but there is no such artifact")
    for left in part.omitted[:_MAX_ENTRIES]:
        reason = f"{reason_of(left.reached)}; dropped: {left.tokens} tokens do not fit the budget"
        yield Entry(left.reached.node.id, False, "", left.tokens, reason)


def reason_of(one: Reached) -> str:
    """How it was reached: `T1 via TASK-1 > SPEC-A`, `T2 via TASK-1 > SPEC-A, scope: src/**`, `T3 found by search`."""
    if one.tier in (0, 3):
        return f"T{one.tier} {one.reason}"
    how = "" if one.tier == 1 else f", {one.reason.removeprefix('via ')}"
    node = one.node
    state = f"; {node.status}{f', use {node.superseded_by}' if node.superseded_by else ''}" if node.is_retired else ""
    return f"T{one.tier} via {one.via}{how}{state}"

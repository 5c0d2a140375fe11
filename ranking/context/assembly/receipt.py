"""The receipt of an assembly: what is written down of it, so that it can be explained and made again.

Deliveries and the receipt are one transaction; a store that cannot be written costs a spawn neither its block nor
more than a moment.
"""

from collections.abc import Iterator

from ctxrank.indexer.fulltext.index_file import FINGERPRINT
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records import receipts
from ctxrank.indexer.records.receipts import Entry, NewReceipt
from ctxrank.indexer.records.sessions import Group, Session
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.text.digests import digest_of
from ctxrank.ranking.context.assembly.request import AssembleRequest, Assembly

# Grows by one when equal inputs give other bytes than before: a replay then says so.
BLOCK_VERSION = 2
# Fields of a request that change no byte of the text, or that the receipt has a column for.
_NO_INPUTS = ("session", "agent", "iteration", "is_marking", "is_explained", "delivered_before", "error_output")
_MAX_ENTRIES = 400  # a session-wide request may leave thousands out: the first of them tell enough


class Seen(NamedTuple):
    """What an assembly had before it: whose request, in which state of the store."""

    request: AssembleRequest
    session: Session
    group: Group | None
    config: Config
    limit: int
    now: int
    seq: int
    started_at: int


class Replay(NamedTuple):
    """The text as it would be now, and why it is another one; `changes` is empty where `is_same`."""

    is_same: bool
    text: str
    changes: tuple[str, ...]


def make_receipt(seen: Seen, result: Assembly) -> NewReceipt:
    """What is written down of a finished assembly."""
    group_id = 0 if seen.group is None else seen.group.id
    return NewReceipt(
        "assemble", seen.session.id, group_id, result.agent, max(seen.request.iteration, 0), seen.seq,
        dict(inputs_of(seen, result)), tuple(entries_of(result)), receipts.part_digests(result.parts),
        digest_of(result.text), result.used, seen.started_at,
    )  # fmt: skip


def inputs_of(seen: Seen, result: Assembly) -> Iterator[tuple[str, str]]:
    """What the block follows from beside the documents: as asked, as configured, as the store and this program are."""
    asked = seen.request._replace(as_of=seen.now)
    for name, value in zip(asked._fields, asked, strict=True):
        if name not in _NO_INPUTS and value is not None:
            yield name, str(value)
    if result.failure is not None and result.failure.unit:
        yield "failure", result.failure.unit
    yield "limit in force", str(seen.limit)
    yield "budget in force", str(result.budget.limit)
    yield "safety margin", str(seen.config.token_safety_margin)
    yield "redaction mode", seen.config.redaction_mode.described
    yield "project of the session", seen.session.project
    if seen.group is not None:
        yield "context references", " ".join(map(str, seen.group.context_references))
    yield "engine", f"{result.engine} {result.outcome}"
    yield "program", f"block {BLOCK_VERSION}, rules {RULESET_VERSION}, index {FINGERPRINT}"


def entries_of(result: Assembly) -> Iterator[Entry]:
    """What is in the block, and what is not, and why."""
    for one in result.linked:
        yield Entry(one.id, True, one.level, one.tokens, f"{one.tier}: {one.reason}")
    for package in result.packages:
        yield Entry(f"package:{package.id}", True, package.detail, package.tokens, package.reason)
    for entry in result.reasoning:
        yield Entry(f"reasoning:{entry.id}", True, entry.phase, entry.tokens, f"{entry.phase} by {entry.agent}")
    for error in result.errors:
        yield Entry(f"error:{error.id}", True, "entry", error.tokens, f"confidence {error.confidence:.2g}")
    for strategy in result.strategies:
        yield Entry(f"strategy:{strategy.id}", True, "entry", strategy.tokens, strategy.topic)
    if result.skills:
        yield Entry("skills", True, "checklist", result.by_class["skills"], "asked for")
    for omitted in result.omitted[:_MAX_ENTRIES]:
        yield Entry(omitted.id, False, "", omitted.tokens, omitted.reason)

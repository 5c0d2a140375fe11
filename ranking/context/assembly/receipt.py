"""What is recorded of an assembly: its receipt, so that it can be explained and made again, and what it delivered.

Packages are marked as delivered; prior reasoning leaves an event that says from whom it was handed to whom. Both are
one transaction with the receipt; a store that cannot be written costs a spawn neither its block nor more than a moment.
"""

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.fulltext.index_file import FINGERPRINT
from ctxrank.indexer.light_typing import Any, NamedTuple
from ctxrank.indexer.records import receipts
from ctxrank.indexer.records.receipts import MAX_OMITTED_ENTRIES, Receipt, ReceiptEntry, ReceiptOwner, Recording
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.digests import digest_of
from ctxrank.ranking.context.assembly.limits import MARKING
from ctxrank.ranking.context.assembly.shapes import (
    BLOCK_VERSION,
    DEFAULT_MODEL,
    FIELD_TYPES,
    AssembleRequest,
    Assembly,
    IncludedReasoning,
    Spawn,
)

# Inputs with a meaning of their own to a replay: see replay.py.
MISSING_SKILLS = "skills that the previous agent did not invoke"
ESTIMATED = "tokens estimated"
ANCHORS = "anchors"
_PROGRAM = "block"
# Fields of a request that change no byte of the text, or that the receipt has a column for.
_NO_INPUTS = (
    "session",
    "agent",
    "iteration",
    "is_marking",
    "is_explained",
    "delivered_before",
    "error_output",
    "rules",
    "anchors",
)


class BlockDelivery(NamedTuple):
    """What one block delivers; a `group_id` of None or 0 is session-wide, of -1 a group that is not there."""

    session_id: int
    group_id: int | None
    agent: str
    iteration: int
    package_ids: tuple[int, ...]
    reasoning: tuple[IncludedReasoning, ...]


def record_assembly(spawn: Spawn, result: Assembly) -> Recording:
    """Write the receipt of an assembly, and mark what it delivers where its zone marks."""
    text = result.text
    receipt = receipt_of(spawn, result, text)
    owner = ReceiptOwner(spawn.session.id, 0 if spawn.group is None else spawn.group.id)
    is_marking = spawn.request.is_marking and result.usage.zone in MARKING
    if not is_marking or not (result.packages or result.reasoning):
        return receipts.record(spawn.store, owner, receipt, text)
    # A line names a package, and gives nothing of it.
    package_ids = tuple(package.id for package in result.packages if package.detail != "line")
    delivery = BlockDelivery(
        spawn.session.id, owner.group_id, result.agent, receipt.iteration, package_ids, result.reasoning
    )
    return receipts.record(spawn.store, owner, receipt, text, lambda change: mark(change, delivery))


def record_delivery(store: Store, delivery: BlockDelivery) -> str:
    """Mark a delivery that has no receipt; returns a note where the store could not be written."""
    return receipts.record_quickly(store, lambda change: mark(change, delivery), "delivery")


def receipt_of(spawn: Spawn, result: Assembly, text: str) -> Receipt:
    """Of a block with this text: what was asked, what is in the block, and what is not, and why."""
    omitted = result.omitted[:MAX_OMITTED_ENTRIES]
    left_out = [ReceiptEntry._make((one.id, False, "", one.tokens, one.reason)) for one in omitted]
    return Receipt(
        0,
        receipts.ASSEMBLY,
        spawn.session.name,
        None if spawn.group is None else spawn.group.name,
        result.agent,
        max(spawn.request.iteration, 0),
        spawn.seq,
        _inputs(spawn, result),
        (*result.entries, *left_out),
        receipts.part_digests(result.parts),
        digest_of(text),
        result.used,
        spawn.started_at,
    )


def _inputs(spawn: Spawn, result: Assembly) -> dict[str, str]:
    """What the block follows from in addition to the documents: the request, the configuration, and this program.

    A configuration's settings that change the text are in force as they are now: a replay reads them again.
    """
    config, request = spawn.config, spawn.request._replace(as_of=spawn.now)
    given = {
        name: str(value)
        for name, value in zip(request._fields, request, strict=True)
        if name not in _NO_INPUTS and value is not None
    }
    is_marking = spawn.request.is_marking and result.usage.zone in MARKING
    model_limit = config.context_limits.get((request.model or DEFAULT_MODEL).lower())
    others = {
        "failure": "" if result.failure is None else result.failure.unit,
        MISSING_SKILLS: result.missing_skills,
        **dict(result.configured_skills),
        ESTIMATED: " ".join(result.estimated),
        "files": "on" if config.block_files else "off",
        "fts5": "on" if config.fts5 else "off",
        "model limit": "" if model_limit is None else str(model_limit),
        "ranking": " ".join(f"{name}={value:g}" for name, value in sorted(config.ranking.items())),
        "limit in force": str(spawn.limit),
        "budget in force": str(result.budget.limit),
        "safety margin": str(config.token_safety_margin),
        "redaction mode": config.redaction_mode.described,
        "state": result.state.strip(),
        "roles": config.team.described if config.roles else "",
        "project in force": spawn.project,
        ANCHORS: result.anchors,
        receipts.DELIVERED_TO: spawn.request.run if is_marking else None,
    }
    given |= {name: value for name, value in others.items() if value}
    if spawn.group is not None:
        given["context references"] = " ".join(map(str, spawn.group.context_references))
    given["engine"] = f"{result.engine} {result.outcome}"
    given["program"] = f"{_PROGRAM} {BLOCK_VERSION}, rules {RULESET_VERSION}, index {FINGERPRINT}"
    return given


def request_of(receipt: Receipt) -> AssembleRequest:
    """The request of a receipt. Raises DamagedError where it cannot be read."""
    given: dict[str, Any] = {"with_files": False}  # older receipts are of blocks without them
    try:
        for name in receipt.inputs.keys() & FIELD_TYPES.keys() - set(_NO_INPUTS):
            type_, text = FIELD_TYPES[name][0], receipt.inputs[name]
            given[name] = text == "True" if type_ is bool else type_(text)
    except ValueError as error:
        raise DamagedError(f"Receipt {receipt.id} is damaged: {error}.", "Another receipt may be whole.") from error
    return AssembleRequest(
        receipt.session or "",
        receipt.agent,
        iteration=receipt.iteration,
        is_marking=False,
        is_explained=False,
        delivered_before=receipt.created_at,
        # Nothing given would look for the group's last failure as it is now.
        error_output=receipt.inputs.get("failure", "").encode(),
        anchors=receipt.inputs.get(ANCHORS, ""),
        **given,
    )


def mark(change: Change, delivery: BlockDelivery) -> None:
    """Mark a delivery inside the caller's transaction."""
    moment = now_us()
    change.connection.executemany(
        "INSERT OR IGNORE INTO deliveries (package_id, group_id, agent, iteration, delivered_at)"
        " VALUES (?, ?, ?, ?, ?)",
        [(id_, delivery.group_id or 0, delivery.agent, delivery.iteration, moment) for id_ in delivery.package_ids],
    )
    if not (entries := delivery.reasoning):
        return
    from ctxrank.indexer.records.events import record_event  # noqa: PLC0415  most blocks hand nothing over
    from ctxrank.indexer.text.light_json import dumps  # noqa: PLC0415  as above

    group = max(delivery.group_id or 0, 0)
    handoff = {
        "from_agents": sorted({entry.agent for entry in entries}),
        "to_agent": delivery.agent,
        "group": read_value(change.connection, "SELECT name FROM groups WHERE id = ?", (group,), str),
        "iteration": delivery.iteration,
        "phases": sorted({entry.phase for entry in entries}),
        "reasoning": [entry.id for entry in entries],
        "content_length": sum(len(entry.content) for entry in entries),
    }
    payload = dumps(handoff, ensure_ascii=False)
    record_event(change, delivery.session_id, group, receipts.REASONING_HANDOFF, payload)

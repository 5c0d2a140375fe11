"""What is recorded of an assembly: its receipt, so that it can be explained and made again, and what it delivered.

Packages are marked as delivered; prior reasoning leaves an event that says from whom it was handed to whom. Both are
one transaction with the receipt; a store that cannot be written costs a spawn neither its block nor more than a moment.
"""

from collections.abc import Callable, Iterator, Mapping

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.fulltext.index_file import FINGERPRINT
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.records import receipts
from ctxrank.indexer.records.receipts import MAX_OMITTED_ENTRIES, Entry, NewReceipt, Receipt, Recording
from ctxrank.indexer.records.sessions import Group, Session
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.ids import PACKAGE, public_id
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.digests import digest_of
from ctxrank.ranking.context.assembly.limits import MARKING
from ctxrank.ranking.context.assembly.request import DEFAULT_MODEL, AssembleRequest, Assembly

if TYPE_CHECKING:
    from typing import Any

# Grows by one when equal inputs give other bytes than before: a replay then says so.
BLOCK_VERSION = 3
# Inputs with a meaning of their own to a replay: see replay.py.
MISSING_SKILLS = "skills that the previous agent did not invoke"
ESTIMATED = "tokens estimated"
# Fields of a request that change no byte of the text, or that the receipt has a column for.
_NO_INPUTS = ("session", "agent", "iteration", "is_marking", "is_explained", "delivered_before", "error_output")


class AssemblyInputs(NamedTuple):
    """What an assembly was made from: whose request, in which state of the store."""

    request: AssembleRequest
    session: Session
    group: Group | None
    project: str  # of the errors and strategies
    config: Config
    limit: int
    now: int
    seq: int
    started_at: int


class Delivery(NamedTuple):
    """What one block delivers; a `group_id` of None is session-wide, of -1 a group that is not there."""

    session_id: int
    group_id: int | None
    agent: str
    iteration: int
    package_ids: tuple[int, ...]
    reasoning_ids: tuple[int, ...]
    reasoning_chars: int


def record_assembly(store: Store, inputs: AssemblyInputs, result: Assembly) -> Recording:
    """Write the receipt of an assembly, and mark what it delivers where its zone marks."""
    delivery = _delivery(inputs, result)
    return receipts.record(
        store,
        _receipt(inputs, result),
        result.text,
        None if delivery is None else lambda change: mark(change, delivery),
    )


def record_delivery(store: Store, delivery: Delivery) -> str:
    """Mark a delivery that has no receipt; returns a note where the store could not be written."""
    return receipts.record_quickly(store, lambda change: mark(change, delivery), "delivery")


def inputs_of(inputs: AssemblyInputs, result: Assembly) -> Iterator[tuple[str, str]]:
    """What the block follows from in addition to the documents: the request, the configuration, and this program."""
    request = inputs.request._replace(as_of=inputs.now)
    for name, value in zip(request._fields, request, strict=True):
        if name not in _NO_INPUTS and value is not None:
            yield name, str(value)
    if result.failure is not None and result.failure.unit:
        yield "failure", result.failure.unit
    if result.missing_skills:
        yield MISSING_SKILLS, result.missing_skills
    yield from result.configured_skills
    if result.estimated:
        yield ESTIMATED, " ".join(result.estimated)
    # A configuration's settings that change the text are in force as they are now: a replay reads them again.
    yield "files", "on" if inputs.config.block_files else "off"
    yield "fts5", "on" if inputs.config.fts5 else "off"
    model_limit = inputs.config.context_limits.get((inputs.request.model or DEFAULT_MODEL).lower())
    if model_limit is not None:
        yield "model limit", str(model_limit)
    if inputs.config.ranking:
        yield "ranking", " ".join(f"{name}={value:g}" for name, value in sorted(inputs.config.ranking.items()))
    yield "limit in force", str(inputs.limit)
    yield "budget in force", str(result.budget.limit)
    yield "safety margin", str(inputs.config.token_safety_margin)
    yield "redaction mode", inputs.config.redaction_mode.described
    if result.state:
        yield "state", result.state.strip()
    if inputs.config.roles:
        yield "roles", inputs.config.team.described
    yield "project in force", inputs.project
    if inputs.group is not None:
        yield "context references", " ".join(map(str, inputs.group.context_references))
    yield "engine", f"{result.engine} {result.outcome}"
    yield "program", f"block {BLOCK_VERSION}, rules {RULESET_VERSION}, index {FINGERPRINT}"


def entries_of(result: Assembly) -> Iterator[Entry]:
    """What is in the block, and what is not, and why."""
    for one in result.linked:
        yield Entry(one.id, True, one.level, one.tokens, f"{one.tier}: {one.reason}")
    for package in result.packages:
        yield Entry(public_id(PACKAGE, package.id), True, package.detail, package.tokens, package.reason)
    for file in result.files:
        yield Entry(public_id("artifact", file.id), True, file.detail, file.tokens, file.reason)
    for entry in result.reasoning:
        yield Entry(
            public_id("reasoning", entry.id), True, entry.phase, entry.tokens, f"{entry.phase} by {entry.agent}"
        )
    for error in result.errors:
        yield Entry(public_id("error", error.id), True, "entry", error.tokens, f"confidence {error.confidence:.2g}")
    for strategy in result.strategies:
        yield Entry(public_id("strategy", strategy.id), True, "entry", strategy.tokens, strategy.topic)
    if result.skills:
        yield Entry("skills", True, "checklist", result.by_class["skills"], "asked for")
    for omitted in result.omitted[:MAX_OMITTED_ENTRIES]:
        yield Entry(omitted.id, False, "", omitted.tokens, omitted.reason)


def _optional_flag(text: str) -> bool:
    return text == "True"


# How an input of a receipt becomes a value of the request again.
_READERS: "Mapping[str, Callable[[str], Any]]" = {
    "group": str, "task": str, "model": str, "current_tokens": int, "limit": int, "budget": int, "reach": str,
    "detail": str, "include_reasoning": _optional_flag, "reasoning_level": str, "project": str, "lang": str,
    "framework": str, "as_of": int, "task_id": str, "with_skills": _optional_flag, "with_files": _optional_flag,
    "testing_mode": str,
}  # fmt: skip


def request_of(receipt: Receipt) -> AssembleRequest:
    """The request of a receipt. Raises DamagedError where it cannot be read."""
    failure = receipt.inputs.get("failure", "")
    try:
        given = {name: read(receipt.inputs[name]) for name, read in _READERS.items() if name in receipt.inputs}
    except ValueError as error:
        raise DamagedError(f"Receipt {receipt.id} is damaged: {error}.", "Another receipt may be whole.") from error
    given.setdefault("with_files", False)  # older receipts are of blocks without them
    return AssembleRequest(
        receipt.session or "", receipt.agent, iteration=receipt.iteration, is_marking=False, is_explained=False,
        delivered_before=receipt.created_at,
        # Nothing given would look for the group's last failure as it is now.
        error_output=failure.encode(), **given,
    )  # fmt: skip


def _receipt(inputs: AssemblyInputs, result: Assembly) -> NewReceipt:
    return NewReceipt(
        kind=receipts.ASSEMBLY,
        session_id=inputs.session.id,
        group_id=0 if inputs.group is None else inputs.group.id,
        agent=result.agent,
        iteration=max(inputs.request.iteration, 0),
        seq=inputs.seq,
        inputs=dict(inputs_of(inputs, result)),
        entries=tuple(entries_of(result)),
        parts=receipts.part_digests(result.parts),
        digest=digest_of(result.text),
        tokens=result.used,
        created_at=inputs.started_at,
    )


def _delivery(inputs: AssemblyInputs, result: Assembly) -> Delivery | None:
    """What the block delivers; None where nothing is marked."""
    if not inputs.request.is_marking or result.usage.zone not in MARKING:
        return None
    if not result.packages and not result.reasoning:
        return None
    return Delivery(
        session_id=inputs.session.id,
        group_id=None if inputs.group is None else inputs.group.id,
        agent=result.agent,
        iteration=max(inputs.request.iteration, 0),
        package_ids=tuple(package.id for package in result.packages),
        reasoning_ids=tuple(entry.id for entry in result.reasoning),
        reasoning_chars=sum(len(entry.content) for entry in result.reasoning),
    )


def mark(change: Change, delivery: Delivery) -> None:
    """Mark a delivery inside the caller's transaction."""
    _mark_packages(change, delivery)
    if delivery.reasoning_ids:
        _record_handoff(change, delivery)


def _mark_packages(change: Change, delivery: Delivery) -> None:
    moment = now_us()
    change.connection.executemany(
        "INSERT OR IGNORE INTO deliveries (package_id, group_id, agent, iteration, delivered_at)"
        " VALUES (?, ?, ?, ?, ?)",
        [(id_, delivery.group_id or 0, delivery.agent, delivery.iteration, moment) for id_ in delivery.package_ids],
    )


def _record_handoff(change: Change, delivery: Delivery) -> None:
    """The event of the hand-off; SQLite writes its JSON, so that a spawn loads no JSON library."""
    from ctxrank.indexer.records.events import REASONING_HANDOFF  # noqa: PLC0415  most spawns hand on no reasoning

    ids = ", ".join(map(str, delivery.reasoning_ids))
    distinct = "(SELECT json_group_array({0}) FROM (SELECT DISTINCT {0} FROM reasoning WHERE id IN ({1}) ORDER BY {0}))"
    agents, phases = distinct.format("agent", ids), distinct.format("phase", ids)
    change.connection.execute(
        f"""
        INSERT INTO events (session_id, group_id, subtype, payload, created_at)
        SELECT :session, max(:group, 0), :subtype,
               json_object('from_agents', json({agents}),
                           'to_agent', :agent,
                           'group', (SELECT name FROM groups WHERE id = :group),
                           'iteration', :iteration,
                           'phases', json({phases}),
                           'reasoning', json_array({ids}),
                           'content_length', :chars),
               :moment
        """,
        {
            "session": delivery.session_id,
            "subtype": REASONING_HANDOFF,
            "group": delivery.group_id or 0,
            "agent": delivery.agent,
            "iteration": delivery.iteration,
            "chars": delivery.reasoning_chars,
            "moment": now_us(),
        },
    )

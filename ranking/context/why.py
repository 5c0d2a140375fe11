"""Why a document was in a block or a context, or was not: from the receipt, and where that is silent from the store.

why(store, DocumentRef("package", 12), get_receipt(store.primary, 7))     "rank 9 of limit 5"
why(store, "NORM-API-001", get_receipt(store.primary, 8))
    "linked by no artifact that TASK-042 reaches: SPEC-API-001 lists it, but TASK-042 does not reach SPEC-API-001"
"""

from collections.abc import Iterator

from ctxrank.indexer.clock import DAY_US, format_us
from ctxrank.indexer.exceptions import NotFoundError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.receipts import Receipt
from ctxrank.indexer.records.sessions import DEFAULT_PROJECT
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import read_row
from ctxrank.indexer.store.ids import PACKAGE, DocumentRef, public_id
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.assembly import memory
from ctxrank.ranking.context.assembly.order import DELIVERED
from ctxrank.ranking.context.section import Why, any_section

_HELD = {
    "package": "it was not a candidate of this assembly",
    "artifact": "it is none of the best files for the task, or too little of the task is in it",
    "reasoning": "only so many entries of an agent's phase, and in all, are handed on: of each the newest",
    "error": f"at most {memory.MAX_PATTERNS} are shown, the most trusted first",
    "strategy": f"at most {memory.MAX_STRATEGIES} are shown, the most trusted first",
}
_TABLES = {"error": "error_patterns", "strategy": "strategies"}
_Facts = tuple[tuple[bool, str], ...]  # whether it holds, and the reason that it then is


class _Document(NamedTuple):
    """What the store knows of a document that decides whether a block may hold it."""

    kind: str
    number: int | None
    session: str | None
    group: str | None
    agent: str
    type: str
    owner_kind: str | None
    owner_number: int | None
    superseded_by: int | None
    created_at: int


def why(store: Store, document: DocumentRef | str, receipt: Receipt) -> Why:
    """What became of a document, or of an item of a section with an id of its own, in the text of a receipt.

    Raises NotFoundError for an id that never was, UsageError for an item whose extension is absent.
    """
    if not isinstance(document, DocumentRef):
        return any_section("why").why(store, document, receipt)
    entry = receipt.entry(str(document))
    if entry is None:
        return Why(str(document), reasons=tuple(_why_no_candidate(store, document, receipt)))
    # Deliveries count within one iteration: that of the receipt.
    reasons = [entry.reason.replace(DELIVERED, f"delivered at iteration {receipt.iteration}")]
    reasons += [
        f"not {other.detail or 'more'} of it: {other.reason}"
        for other in receipt.entries
        if other.id == entry.id and entry.is_included and not other.is_included
    ]
    return Why(entry.id, entry.is_included, entry.detail, entry.tokens, tuple(filter(None, reasons)))


def _why_no_candidate(store: Store, ref: DocumentRef, receipt: Receipt) -> Iterator[str]:
    """Why a document that no line of a receipt names was no candidate, from the store as it is now."""
    query = """
        SELECT d.kind, d.record_id, s.name, g.name, d.agent, d.type, o.kind, o.record_id, d.superseded_by, d.created_at
          FROM documents AS d
          LEFT JOIN sessions AS s ON s.id = d.session_id
          LEFT JOIN groups AS g ON g.id = d.group_id
          LEFT JOIN documents AS o ON o.id = d.owner_id
         WHERE d.kind = ?1 AND CASE WHEN ?1 = 'passage' THEN d.id ELSE d.record_id END = ?2
    """
    found = read_row(store.primary, query, (ref.kind, ref.number), _Document)
    if found is None:
        raise NotFoundError(
            f"There is no {ref}, and receipt {receipt.id} does not name it.", "'ctxrank search' shows ids."
        )
    if found.kind == "passage":
        owner = public_id(found.owner_kind or "", found.owner_number) if found.owner_number is not None else ""
        yield f"a passage comes with its owner: ask why {owner}" if owner else "its owner is gone"
        return
    if found.kind not in _HELD:
        yield f"found by search alone: a block holds packages, files, reasoning, errors and strategies, no {found.kind}"
        return
    later = f"it was saved after this assembly, at {format_us(found.created_at)}"
    facts = [(found.created_at > receipt.created_at, later)]
    if found.kind == "package":
        facts += _of_package(found, receipt)
    elif found.kind == "reasoning":
        facts += _of_reasoning(store, found, receipt)
    elif found.kind in _TABLES:
        facts += _of_lesson(store, found, receipt)
    reasons = [reason for holds, reason in facts if holds]
    yield from reasons or [_HELD[found.kind]]


def _of_package(found: _Document, receipt: Receipt) -> _Facts:
    reach, group = receipt.inputs.get("reach", "group"), receipt.inputs.get("group")
    is_elsewhere, is_wide = found.session != receipt.session, reach == "project"
    is_of_other_group = found.group is not None and group not in (None, found.group) and reach == "group"
    elsewhere = f"of another session, {found.session}: --reach project shows earlier sessions of the project"
    other_group = f"of another group, {found.group}: --reach session shows other groups, a context reference this one"
    return (
        (found.superseded_by is not None, f"superseded by {public_id(PACKAGE, found.superseded_by or 0)}"),
        (is_elsewhere and not is_wide, elsewhere),
        (is_elsewhere and is_wide, f"of session {found.session}, which is not an earlier one of this project"),
        (not is_elsewhere and is_of_other_group, other_group),
    )


def _of_reasoning(store: Store, found: _Document, receipt: Receipt) -> _Facts:
    given, agent, team = receipt.inputs, receipt.agent, load_config(store).team
    requested = given.get("include_reasoning")
    if requested == "False":
        return ((True, "no prior reasoning was asked for"),)
    if requested is None and not memory.wants_reasoning(team.like(agent), receipt.iteration, None):
        asks = f"{agent} gets no prior reasoning at iteration {receipt.iteration}: --reasoning asks for it"
        return ((True, asks),)
    relevant = memory.relevant_agents(agent, team)
    handed = agent if relevant is None else ", ".join(relevant)
    name = given.get("reasoning_level", "medium")
    phases = memory.REASONING_LEVELS[name if name in memory.REASONING_LEVELS else "medium"].phases
    return (
        (found.session != receipt.session, f"of another session, {found.session}"),
        (bool(given.get("group")) and found.group not in (None, given["group"]), f"of another group, {found.group}"),
        (
            relevant is not None and found.agent not in relevant,
            f"{agent} is handed the reasoning of {handed}, not of {found.agent}",
        ),
        (found.type not in phases, f"{found.type} is no part of the level {name}, which holds {', '.join(phases)}"),
    )


def _of_lesson(store: Store, found: _Document, receipt: Receipt) -> _Facts:
    given = receipt.inputs
    ends = f"last_seen + ttl_days * {DAY_US}" if found.kind == "error" else "NULL"
    query = f"SELECT project, lang, {ends} FROM {_TABLES[found.kind]} WHERE id = ?"
    row = store.primary.execute(query, (found.number,)).fetchone()
    assert row is not None, "a record and its document are written together"
    project, lang, ends_at = row
    wanted, wanted_lang = given.get("project in force"), given.get("lang")
    is_other = bool(wanted_lang and lang) and str(lang).lower() != str(wanted_lang).lower()
    return (
        (project not in (wanted, DEFAULT_PROJECT), f"of another project, {project}; this assembly was for {wanted}"),
        (is_other, f"for {lang}; this assembly was for {wanted_lang}"),
        (ends_at is not None and ends_at < receipt.created_at, "it has expired"),
    )

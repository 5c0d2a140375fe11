"""Why a document was in a block or a context, or was not: from the receipt, and where that is silent from the store.

why(store, DocumentRef("package", 12), get_receipt(store.primary, 7))     "rank 9 of limit 5"
why(store, "NORM-API-001", get_receipt(store.primary, 8))
    "linked by no artifact that TASK-042 reaches: SPEC-API-001 lists it, but TASK-042 does not reach SPEC-API-001"
"""

from collections.abc import Iterator

from ctxrank.indexer.clock import format_us
from ctxrank.indexer.exceptions import NotFoundError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.receipts import Receipt
from ctxrank.indexer.records.sessions import DEFAULT_PROJECT
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import read_row
from ctxrank.indexer.store.ids import IS_ACCEPTED, PACKAGE, DocumentRef, public_id
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.assembly import memory
from ctxrank.ranking.context.assembly.order import DELIVERED
from ctxrank.ranking.context.assembly.shapes import SECTIONS
from ctxrank.ranking.context.section import Why, named_section

_RULES = {
    "package": "it was not a candidate of this assembly",
    "artifact": "it is none of the best files for the task, or too little of the task is in it",
    "error": f"at most {memory.MAX_PATTERNS}: of the failure; without one, confirmed three times, the task's first",
    "strategy": f"at most {memory.MAX_STRATEGIES} that fit are shown, the most helpful first",
}


class _Document(NamedTuple):
    """What the store knows of a document that decides whether a block may hold it."""

    kind: str
    session: str | None
    group: str | None
    project: str | None  # of an error or a strategy
    owner_kind: str | None
    owner_number: int | None
    superseded_by: int | None
    created_at: int
    is_accepted: int


def why(store: Store, document: DocumentRef | str, receipt: Receipt) -> Why:
    """What became of a document, or of an item of a section with an id of its own, in the text of a receipt.

    Raises NotFoundError for an id that never was, UsageError for an item whose extension is absent.
    """
    if not isinstance(document, DocumentRef):
        return named_section(next(iter(SECTIONS.values())), "why").why(store, document, receipt)
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
    query = f"""
        SELECT d.kind, s.name, g.name, coalesce(e.project, t.project), o.kind, o.record_id, d.superseded_by,
               d.created_at, {IS_ACCEPTED.format("d.record_id")}
          FROM documents AS d
          LEFT JOIN error_patterns AS e ON d.kind = 'error' AND e.id = d.record_id
          LEFT JOIN strategies AS t ON d.kind = 'strategy' AND t.id = d.record_id
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
    reasons = [reason for holds, reason in _facts(found, receipt) if holds]
    yield from reasons
    if found.kind == "reasoning" or not reasons:
        yield _rule(store, found.kind, receipt)


def _facts(found: _Document, receipt: Receipt) -> tuple[tuple[bool, str], ...]:
    """What may keep a document out: whether it holds, and the reason that it then is."""
    reach, group = receipt.inputs.get("reach", "group"), receipt.inputs.get("group")
    is_package = found.kind == "package"
    is_elsewhere = found.kind in ("package", "reasoning") and found.session != receipt.session
    is_of_other_group = not is_elsewhere and group is not None and found.group not in (None, group)
    is_of_other_group = is_of_other_group and (reach == "group" or not is_package)
    wanted = receipt.inputs.get("project in force")
    is_of_other_project = found.project not in (None, wanted, DEFAULT_PROJECT)
    hint = ": --reach project shows earlier sessions of the project" if is_package else ""
    group_hint = ": --reach session shows other groups, a context reference this one" if is_package else ""
    wide = f"of session {found.session}, which is not an earlier one of this project"
    return (
        (found.created_at > receipt.created_at, f"it was saved after this assembly, at {format_us(found.created_at)}"),
        (not found.is_accepted, "the store that it is of is not accepted: 'ctxrank origins' decides"),
        (found.superseded_by is not None, f"superseded by {public_id(PACKAGE, found.superseded_by or 0)}"),
        (is_elsewhere, wide if is_package and reach == "project" else f"of another session, {found.session}{hint}"),
        (is_of_other_project, f"of another project, {found.project}; this assembly was for {wanted}"),
        (is_of_other_group, f"of another group, {found.group}{group_hint}"),
        ("after" in receipt.inputs, f"this block has only what is new since receipt:{receipt.inputs.get('after')}"),
    )


def _rule(store: Store, kind: str, receipt: Receipt) -> str:
    """What a block holds of a kind of documents."""
    given, agent = receipt.inputs, receipt.agent
    if kind == "artifact" and (given.get("with_files") == "False" or given.get("files") == "off"):
        return "no files were asked for (--no-files, or block_files: off)"
    if kind in _RULES:
        return _RULES[kind]
    if kind != "reasoning":
        return f"found by search alone: a block holds packages, files, reasoning, errors and strategies, no {kind}"
    if given.get("include_reasoning") == "False":
        return "no prior reasoning was asked for"
    team = load_config(store).team
    if "include_reasoning" not in given and not memory.wants_reasoning(team.like(agent), receipt.iteration, None):
        return f"{agent} gets no prior reasoning at iteration {receipt.iteration}: --reasoning asks for it"
    relevant = memory.relevant_agents(agent, team)
    handed = "" if relevant is None else f" of {', '.join(relevant)}"
    levels = memory.REASONING_LEVELS
    phases = ", ".join(levels.get(given.get("reasoning_level", ""), levels["medium"]).phases)
    return f"{agent} is handed the reasoning{handed} in {phases}: of each the newest"

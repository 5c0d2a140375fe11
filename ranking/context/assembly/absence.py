"""Why a document that no line of a receipt names was not a candidate of the assembly: from the store as it is now."""

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

    @property
    def owner(self) -> str:
        """The id of the document that a passage is a part of; '' where there is none."""
        if self.owner_kind is None or self.owner_number is None:
            return ""
        return public_id(self.owner_kind, self.owner_number)


def why_no_candidate(store: Store, ref: DocumentRef, receipt: Receipt) -> tuple[str, ...]:
    """The reasons, the decisive one first. Raises NotFoundError for an id that never was."""
    document = _find(store, ref)
    if document is None:
        raise NotFoundError(
            f"There is no {ref}, and receipt {receipt.id} does not name it.", "'ctxrank search' shows ids."
        )
    return tuple(_reasons(store, document, receipt)) or ("it was not a candidate of this assembly",)


def _find(store: Store, ref: DocumentRef) -> _Document | None:
    query = """
        SELECT d.kind, d.record_id, s.name, g.name, d.agent, d.type, o.kind, o.record_id, d.superseded_by, d.created_at
          FROM documents AS d
          LEFT JOIN sessions AS s ON s.id = d.session_id
          LEFT JOIN groups AS g ON g.id = d.group_id
          LEFT JOIN documents AS o ON o.id = d.owner_id
         WHERE d.kind = ?1 AND CASE WHEN ?1 = 'passage' THEN d.id ELSE d.record_id END = ?2
    """
    return read_row(store.primary, query, (ref.kind, ref.number), _Document)


def _reasons(store: Store, document: _Document, receipt: Receipt) -> Iterator[str]:
    if document.created_at > receipt.created_at:
        yield f"it was saved after this assembly, at {format_us(document.created_at)}"
    if document.kind == "package":
        yield from _of_package(document, receipt)
    elif document.kind == "passage":
        yield f"a passage comes with its owner: ask why {document.owner}" if document.owner else "its owner is gone"
    elif document.kind == "reasoning":
        yield from _of_reasoning(store, document, receipt)
    elif document.kind in ("error", "strategy"):
        yield from _of_lesson(store, document, receipt)
    elif document.kind == "artifact":
        yield "it is none of the best files for the task, or too little of the task is in it"
    else:
        yield (
            "found by search alone: a block holds packages, files, reasoning, errors and strategies, "
            f"no {document.kind}"
        )


def _of_package(document: _Document, receipt: Receipt) -> Iterator[str]:
    reach = receipt.inputs.get("reach", "group")
    if document.superseded_by is not None:
        yield f"superseded by {public_id(PACKAGE, document.superseded_by)}"
    if document.session != receipt.session and reach != "project":
        yield f"of another session, {document.session}: --reach project shows earlier sessions of the project"
    elif document.session != receipt.session:
        yield f"of session {document.session}, which is not an earlier one of this project"
    elif document.group is not None and receipt.inputs.get("group") not in (None, document.group) and reach == "group":
        yield f"of another group, {document.group}: --reach session shows other groups, a context reference this one"


def _of_reasoning(store: Store, document: _Document, receipt: Receipt) -> Iterator[str]:
    requested = receipt.inputs.get("include_reasoning")
    override = None if requested is None else requested == "True"
    team = load_config(store).team
    if not memory.wants_reasoning(team.like(receipt.agent), receipt.iteration, override):
        yield (
            "no prior reasoning was asked for" if requested == "False"
            else f"{receipt.agent} gets no prior reasoning at iteration {receipt.iteration}: --reasoning asks for it"
        )  # fmt: skip
        return
    if document.session != receipt.session:
        yield f"of another session, {document.session}"
    group = receipt.inputs.get("group")
    if group and document.group not in (None, group):
        yield f"of another group, {document.group}"
    relevant = memory.relevant_agents(receipt.agent, team)
    if relevant is not None and document.agent not in relevant:
        yield f"{receipt.agent} is handed the reasoning of {', '.join(relevant)}, not of {document.agent}"
    name = receipt.inputs.get("reasoning_level", "medium")
    level = memory.REASONING_LEVELS.get(name, memory.REASONING_LEVELS["medium"])
    if document.type not in level.phases:
        yield f"{document.type} is no part of the level {name}, which holds {', '.join(level.phases)}"
    newer = store.primary.execute(
        """
        SELECT r.iteration, max(o.iteration)
          FROM reasoning AS r
          JOIN reasoning AS o ON o.session_id = r.session_id AND o.group_id IS r.group_id AND o.agent = r.agent
                              AND o.agent_name = r.agent_name AND o.phase = r.phase
         WHERE r.id = ?
        """,
        (document.number,),
    ).fetchone()
    if newer is not None and newer[0] is not None and newer[0] < newer[1]:
        yield f"of try {newer[0]}; the same agent thought it again at try {newer[1]}"
    else:
        yield (
            f"at most {level.most_of_phase} of an agent's phase and {level.most} in all are handed on: "
            "completion, decisions, approach and understanding first, of each the newest"
        )


def _of_lesson(store: Store, document: _Document, receipt: Receipt) -> Iterator[str]:
    table, most = (
        ("error_patterns", memory.MAX_PATTERNS) if document.kind == "error" else ("strategies", memory.MAX_STRATEGIES)
    )
    row = store.primary.execute(f"SELECT project, lang FROM {table} WHERE id = ?", (document.number,)).fetchone()
    if row is None:
        return
    project = receipt.inputs.get("project in force") or receipt.inputs.get("project of the session")
    if row[0] not in (project, DEFAULT_PROJECT):
        yield f"of another project, {row[0]}; this assembly was for {project}"
    lang = receipt.inputs.get("lang")
    if lang and row[1] is not None and row[1].lower() != lang.lower():
        yield f"for {row[1]}; this assembly was for {lang}"
    if document.kind == "error":
        seen = store.primary.execute(
            "SELECT last_seen, ttl_days FROM error_patterns WHERE id = ?", (document.number,)
        ).fetchone()
        if seen is not None and seen[0] + seen[1] * DAY_US < receipt.created_at:
            yield f"expired: not seen for {seen[1]} days"
    yield f"at most {most} are shown, the most trusted first"

"""Owners: the documents that hits are shown as, read from the truth."""

from collections.abc import Iterable

import apsw

from ctxrank.indexer.records import NamedTuple
from ctxrank.indexer.ruleset import RULESET_VERSION, RedactionMode
from ctxrank.indexer.store import Store
from ctxrank.ranking.cleaning import cleaned
from ctxrank.ranking.explanation import Explanation
from ctxrank.ranking.freshness import file_state
from ctxrank.ranking.hits import Hit, PassageHit


class OwnerRow(NamedTuple):
    """A package, artifact or record, with names instead of row ids."""

    id: int
    kind: str
    number: int
    title: str
    body: str
    path: str
    session: str | None
    group: str | None
    agent: str
    type: str
    priority: str
    created_at: int
    superseded_by: int | None
    ruleset: int
    artifact_id: int | None


class Standing(NamedTuple):
    """What the blend and the order need of a document, without its text."""

    id: int
    priority: str
    created_at: int
    is_superseded: bool


_QUERY = """
    SELECT d.id, d.kind, coalesce(d.number, d.id), d.title, d.body, d.path, s.name, g.name, d.agent, d.type, d.priority,
           d.created_at, d.superseded_by, d.ruleset,
           CASE d.kind WHEN 'artifact' THEN d.number
                       WHEN 'package' THEN (SELECT artifact_id FROM {schema}.packages WHERE id = d.number) END
      FROM {schema}.documents AS d
      LEFT JOIN {schema}.sessions AS s ON s.id = d.session_id
      LEFT JOIN {schema}.groups AS g ON g.id = d.group_id
"""


def read_standings(connection: apsw.Connection, ids: Iterable[int], applied_seq: int) -> list[Standing]:
    """The documents of these ids that are still there and not newer than the index, in no particular order."""
    query = """
        SELECT d.id, d.priority, d.created_at, d.superseded_by IS NOT NULL
          FROM json_each(?) AS wanted
         CROSS JOIN truth.documents AS d ON d.id = wanted.value AND d.seq <= ?
    """
    return [Standing(*row) for row in connection.execute(query, (_id_list(ids), applied_seq))]


def read_owners(connection: apsw.Connection, ids: Iterable[int]) -> dict[int, OwnerRow]:
    """These documents by their ids."""
    query = f"{_QUERY.format(schema='truth')} WHERE d.id IN (SELECT value FROM json_each(?))"
    return {int(row[0]): OwnerRow(*row) for row in connection.execute(query, (_id_list(ids),))}


def all_owners(connection: apsw.Connection, condition: str, values: tuple[object, ...]) -> list[OwnerRow]:
    """Every document that can be a hit and meets an SQL condition on `d`, from the truth itself."""
    where = f" WHERE d.kind <> 'passage'{f' AND {condition}' if condition else ''}"
    return [OwnerRow(*row) for row in connection.execute(_QUERY.format(schema="main") + where, values)]


def cleaned_owner(owner: OwnerRow, mode: RedactionMode) -> OwnerRow:
    """The same document with its texts as today's redaction rules leave them."""
    if owner.ruleset >= RULESET_VERSION:
        return owner
    title, body = (cleaned(text, owner.ruleset, mode) for text in (owner.title, owner.body))
    return owner._replace(title=title, body=body)


def make_hit(
    store: Store,
    owner: OwnerRow,
    score: float,
    snippet: str,
    passages: tuple[PassageHit, ...],
    explanation: Explanation | None,
) -> Hit:
    """The hit as it is handed out."""
    return Hit(
        id=f"{owner.kind}:{owner.number}", kind=owner.kind, title=owner.title, path=owner.path,
        score=round(score, 6), snippet=snippet, session=owner.session, group=owner.group, agent=owner.agent,
        type=owner.type, priority=owner.priority, created_at=owner.created_at,
        superseded_by=None if owner.superseded_by is None else f"package:{owner.superseded_by}",
        file_state=file_state(store, owner.artifact_id), passages=passages, explanation=explanation,
    )  # fmt: skip


def _id_list(ids: Iterable[int]) -> str:
    """A JSON list of ids for json_each; the JSON encoder itself would be a millisecond of start-up."""
    return f"[{','.join(map(str, ids))}]"

"""Owners: the documents that hits are shown as, read from the truth."""

from collections.abc import Collection, Iterable

import apsw

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION, RedactionMode
from ctxrank.indexer.store.connection import DAMAGED_STEP
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.formulas.explanation import Explanation
from ctxrank.ranking.retrieval.cleaning import cleaned
from ctxrank.ranking.retrieval.freshness import file_state
from ctxrank.ranking.retrieval.hits import Hit, PassageHit


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


class Owners(NamedTuple):
    """Documents as they are in the truth, and the row ids of those that cannot be shown."""

    rows: list[OwnerRow]
    torn: list[int]


class Standing(NamedTuple):
    """What the blend and the order need of a document, without its text."""

    id: int
    priority: str
    created_at: int
    is_superseded: bool


_NONE = type(None)
Types = tuple[type | tuple[type, ...], ...]
OWNER_TYPES: Types = (
    int, str, int, str, str, str, (str, _NONE), (str, _NONE), str, str, str, int, (int, _NONE), int, (int, _NONE)
)  # fmt: skip
# Row id, heading, first and last line, text, ruleset.
PASSAGE_TYPES: Types = (int, str, int, int, str, int)

_QUERY = """
    SELECT d.id, d.kind, coalesce(d.record_id, d.id), d.title, d.body, d.path, s.name, g.name, d.agent, d.type,
           d.priority, d.created_at, d.superseded_by, d.ruleset,
           CASE d.kind WHEN 'artifact' THEN d.record_id
                       WHEN 'package' THEN (SELECT artifact_id FROM {schema}.packages WHERE id = d.record_id) END
      FROM {schema}.documents AS d
      LEFT JOIN {schema}.sessions AS s ON s.id = d.session_id
      LEFT JOIN {schema}.groups AS g ON g.id = d.group_id
"""


def read_standings(connection: apsw.Connection, ids: Iterable[int], applied_seq: int) -> list[Standing]:
    """The documents of these ids that are still there and not newer than the index, in no particular order."""
    query = """
        SELECT d.id, d.priority, d.created_at, d.superseded_by IS NOT NULL
          FROM json_each(?) AS wanted
         CROSS JOIN primary_db.documents AS d ON d.id = wanted.value AND d.seq <= ?
    """
    return [Standing(*row) for row in connection.execute(query, (_id_list(ids), applied_seq))]


def read_owners(connection: apsw.Connection, ids: Iterable[int]) -> dict[int, OwnerRow]:
    """These documents by their ids. Raises TypeError for a torn one."""
    query = f"{_QUERY.format(schema='primary_db')} WHERE d.id IN (SELECT value FROM json_each(?))"
    found: dict[int, OwnerRow] = {}
    for row in connection.execute(query, (_id_list(ids),)):
        require_sound(row, OWNER_TYPES)
        found[int(row[0])] = OwnerRow(*row)
    return found


def all_owners(connection: apsw.Connection, condition: str, values: tuple[object, ...]) -> Owners:
    """Every document that can be a hit and meets an SQL condition on `d`, from the truth itself."""
    where = f" WHERE d.kind IS NOT 'passage'{f' AND {condition}' if condition else ''}"
    found = Owners([], [])
    for row in connection.execute(_QUERY.format(schema="main") + where, values):
        if is_sound(row, OWNER_TYPES):
            found.rows.append(OwnerRow(*row))
        else:
            found.torn.append(int(row[0]))
    return found


def has_torn_rows(connection: apsw.Connection) -> bool:
    """Whether a row of the truth holds what no row can hold; all of them are read, themselves and not through an index
    of SQL's, which may know what a row has lost.
    """
    passages = "SELECT id, title, start_line, end_line, body, ruleset FROM documents NOT INDEXED"
    return any(
        not is_sound(row, types)
        for query, types in ((_QUERY.format(schema="main"), OWNER_TYPES), (passages, PASSAGE_TYPES))
        for row in connection.execute(query)
    )


def is_sound(row: tuple[object, ...], types: Types) -> bool:
    """Whether the values are what the schema says: on a damaged page they may be anything."""
    return all(map(isinstance, row, types))


def require_sound(row: tuple[object, ...], types: Types) -> None:
    """Raises TypeError where the row is torn."""
    if not is_sound(row, types):
        raise TypeError("a row of the store holds values of other types")


def torn_notes(torn: Collection[int]) -> tuple[str, ...]:
    """What is said where rows were left out."""
    if not torn:
        return ()
    rows = "1 row of the store is" if len(torn) == 1 else f"{len(torn)} rows of the store are"
    return (f"{rows} damaged and left out. {DAMAGED_STEP}",)


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

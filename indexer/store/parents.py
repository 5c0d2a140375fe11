"""Parent documents: what hits are shown as, read from the primary database with names instead of row ids."""

from collections.abc import Collection, Iterable, Iterator

import apsw

from ctxrank.indexer.light_typing import TYPE_CHECKING, Any, NamedTuple
from ctxrank.indexer.store.connection import read_column, require_value
from ctxrank.indexer.store.facets import ROWID_SHIFT, Scope, document_condition, id_list
from ctxrank.indexer.store.ids import SESSION_TITLE

if TYPE_CHECKING:
    from typing import TypeVar

    _Value = TypeVar("_Value", int, str)


class ParentDocument(NamedTuple):
    """A package, artifact or record."""

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
    session_title: str | None = None


class StoredPassage(NamedTuple):
    """A passage of a parent document; lines are counted from 1, both ends inside."""

    id: int
    heading: str
    start_line: int
    end_line: int
    body: str
    ruleset: int


class RankingSignals(NamedTuple):
    """What the blend and the order need of a document, without its text."""

    id: int
    priority: str
    created_at: int
    is_superseded: bool
    path: str = ""  # of a file that is indexed; '' for a record


class FeatureBounds(NamedTuple):
    """What ranking signals can be at most in this store."""

    has_passages: bool
    priorities: tuple[str, ...]


_NONE = type(None)
_Types = tuple[type | tuple[type, ...], ...]
_PARENT_TYPES: _Types = (
    int, str, int, str, str, str, (str, _NONE), (str, _NONE), str, str, str, int, (int, _NONE), int, (int, _NONE),
    (str, _NONE)
)  # fmt: skip
_PASSAGE_TYPES: _Types = (int, str, int, int, str, int)

_PARENT = f"""
    SELECT d.id, d.kind, coalesce(d.record_id, d.id), d.title, d.body, d.path, s.name, g.name, d.agent, d.type,
           d.priority, d.created_at, d.superseded_by, d.ruleset,
           CASE d.kind WHEN 'artifact' THEN d.record_id
                       WHEN 'package' THEN (SELECT artifact_id FROM packages WHERE id = d.record_id) END,
           {SESSION_TITLE}
      FROM documents AS d
      LEFT JOIN sessions AS s ON s.id = d.session_id
      LEFT JOIN groups AS g ON g.id = d.group_id
"""
_PASSAGE = "SELECT id, title, start_line, end_line, body, ruleset FROM documents"


def read_parents(primary: apsw.Connection, ids: Iterable[int]) -> dict[int, ParentDocument]:
    """These documents by their ids. Raises TypeError for a corrupt one."""
    query = f"{_PARENT} WHERE d.id IN (SELECT value FROM json_each(?))"
    rows = primary.execute(query, (id_list(ids),))
    return {row[0]: ParentDocument._make(row) for row in _sound(rows, _PARENT_TYPES)}


def read_passages(primary: apsw.Connection, ids: Iterable[int]) -> dict[int, StoredPassage]:
    """These passages by their ids. Raises TypeError for a corrupt one."""
    query = f"{_PASSAGE} WHERE id IN (SELECT value FROM json_each(?))"
    rows = primary.execute(query, (id_list(ids),))
    return {row[0]: StoredPassage._make(row) for row in _sound(rows, _PASSAGE_TYPES)}


def read_signals(primary: apsw.Connection, ids: Iterable[int], applied_seq: int) -> list[RankingSignals]:
    """What ranks of these documents, of those that are still there and not newer than the index.

    A finding is as new as the last time that the code which it is about was as it says; one whose code is gone is low.
    """
    anchors = "FROM anchors AS a WHERE a.document_id = d.id"
    query = f"""
        SELECT d.id, iif((SELECT min(a.state = 'gone') {anchors}), 'low', d.priority),
               max(d.created_at, coalesce((SELECT max(a.held_at) {anchors}), 0)), d.superseded_by IS NOT NULL,
               CASE WHEN d.kind IN ('artifact', 'passage') THEN d.path ELSE '' END
          FROM json_each(?) AS wanted
         CROSS JOIN documents AS d ON d.id = wanted.value AND d.seq <= ?
    """
    return list(map(RankingSignals._make, primary.execute(query, (id_list(ids), applied_seq))))


def read_feature_bounds(primary: apsw.Connection, priorities: Collection[str]) -> FeatureBounds:
    """Which of these priorities were ever stored, and whether there are passages."""
    query = f"""
        SELECT NULL WHERE EXISTS (SELECT 1 FROM documents WHERE owner_id > 0)
         UNION ALL SELECT text FROM labels WHERE text IN ({", ".join("?" * len(priorities))})
    """
    found = [text for (text,) in primary.execute(query, tuple(priorities))]
    return FeatureBounds(None in found, tuple(str(text) for text in found if text is not None))


def parents_in_scope(primary: apsw.Connection, scope: Scope) -> tuple[list[ParentDocument], list[int]]:
    """Every document of a scope that can be a hit, and the row ids of those that cannot be shown."""
    condition = document_condition(scope)
    where = f" WHERE d.kind IS NOT 'passage'{f' AND {condition.sql}' if condition.sql else ''}"
    rows, corrupt = primary.execute(_PARENT + where, condition.values), list[int]()
    return [ParentDocument(*row) for row in _sound(rows, _PARENT_TYPES, corrupt)], corrupt


def passages_of_parent(primary: apsw.Connection, parent_id: int) -> tuple[list[StoredPassage], list[int]]:
    """The passages of a document in their order, and the row ids of those that cannot be shown."""
    query = f"{_PASSAGE} WHERE owner_id = ? ORDER BY start_line, id"
    rows, corrupt = primary.execute(query, (parent_id,)), list[int]()
    return [StoredPassage(*row) for row in _sound(rows, _PASSAGE_TYPES, corrupt)], corrupt


def few_rows(primary: apsw.Connection, kinds: Collection[str], most: int) -> list[int] | None:
    """The index's rows of all documents of these kinds and of their passages; None where there are more than `most`."""
    return _few(primary, f"d.session_id << {ROWID_SHIFT} | d.id", int, kinds, most)


def few_texts(primary: apsw.Connection, kinds: Collection[str], most: int) -> list[str] | None:
    """The titles and bodies of the same."""
    return _few(primary, "d.title || char(10) || d.body", str, kinds, most)


def _few(
    primary: apsw.Connection, column: str, type_: "type[_Value]", kinds: Collection[str], most: int
) -> "list[_Value] | None":
    """A column of the documents of these kinds that are not superseded, and of their passages.

    How many there are, superseded ones included, the indexes of SQL say, without a row read.
    """
    own = f"SELECT id FROM documents WHERE record_id IS NOT NULL AND kind IN ({', '.join('?' * len(kinds))})"
    wanted = f"""
        WITH own AS MATERIALIZED ({own} LIMIT ?),
             wanted AS MATERIALIZED (
                SELECT id FROM own
                 UNION ALL SELECT p.id FROM own CROSS JOIN documents AS p ON p.owner_id = own.id LIMIT ?)
    """
    values: tuple[str | int, ...] = (*kinds, most + 1, most + 1)
    if require_value(primary, f"{wanted} SELECT count(*) FROM wanted", values, int) > most:
        return None
    rows = f"""{wanted}
        SELECT {column} FROM wanted CROSS JOIN documents AS d ON d.id = wanted.id WHERE d.superseded_by IS NULL
    """
    return read_column(primary, rows, values, type_)


def count_documents(primary: apsw.Connection) -> int:
    """How many documents there are, passages included."""
    return require_value(primary, "SELECT count(*) FROM documents", (), int)


def has_corrupt_rows(primary: apsw.Connection) -> bool:
    """Whether a row holds what no row can hold; all of them are read, themselves and not through an index of SQL's,
    which may know what a row has lost.
    """
    corrupt = list[int]()
    for query, types in ((_PARENT, _PARENT_TYPES), (f"{_PASSAGE} NOT INDEXED", _PASSAGE_TYPES)):
        for _ in _sound(primary.execute(query), types, corrupt):
            pass
    return bool(corrupt)


def _sound(
    rows: Iterable[tuple[Any, ...]], types: _Types, corrupt: list[int] | None = None
) -> Iterator[tuple[Any, ...]]:
    """The rows whose values are what the schema says: on a damaged page they may be anything.

    The others are left out, with their ids in `corrupt`; without that, the first raises TypeError.
    """
    for row in rows:
        if all(map(isinstance, row, types)):
            yield row
        elif corrupt is None:
            raise TypeError("a row of the store holds values of other types")
        else:
            corrupt.append(row[0])

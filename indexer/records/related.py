"""What surrounds a document: its versions, who took it, which blocks held or omitted it, what links to it.

read_related(store.primary, DocumentRef("package", 12)).versions
"""

from collections.abc import Iterator

import apsw

from ctxrank.indexer.clock import format_us
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.receipts import list_receipts
from ctxrank.indexer.store.connection import read_rows
from ctxrank.indexer.store.ids import PACKAGE, DocumentRef, public_id

MOST = 50  # of each list, the newest


class Version(NamedTuple):
    """A package of the same file and session, or one that replaces another of these."""

    id: str
    version: int
    summary: str
    created_at: int
    superseded_by: str | None


class Taken(NamedTuple):
    """An agent that a package is meant for or was given to; `at` is None where that has not happened yet."""

    how: str  # consumed, delivered or awaited
    agent: str
    group: str | None
    iteration: int | None
    at: int | None


class OfReceipt(NamedTuple):
    """What became of the document in one block."""

    receipt: int
    session: str | None
    group: str | None
    agent: str
    is_included: bool
    detail: str
    tokens: int
    reason: str
    created_at: int


class Neighbour(NamedTuple):
    """A document or group at the other end of a link; `id` is '' for one that is not there."""

    id: str
    title: str
    how: str


class Sighting(NamedTuple):
    """A failure that was recognised as this error."""

    session: str
    group: str | None
    seen_at: int
    resolved_at: int | None


class Related(NamedTuple):
    """All of it; a list that a kind of document cannot have is empty."""

    versions: tuple[Version, ...]
    taken: tuple[Taken, ...]
    receipts: tuple[OfReceipt, ...]
    links_to: tuple[Neighbour, ...]
    linked_from: tuple[Neighbour, ...]
    sightings: tuple[Sighting, ...]

    def as_json(self) -> dict[str, object]:
        """The lists as JSON, times as text."""
        return {name: [_row_json(row) for row in rows] for name, rows in self._asdict().items()}


def read_related(primary: apsw.Connection, ref: DocumentRef) -> Related:
    """What surrounds a document of this store."""
    is_package, is_linked = ref.kind == PACKAGE, ref.kind == "linked"
    number = ref.number
    return Related(
        versions=tuple(_versions(primary, number)) if is_package else (),
        taken=tuple(_taken(primary, number)) if is_package else (),
        receipts=tuple(_receipts(primary, _name_in_receipts(primary, ref))),
        links_to=tuple(_links_to(primary, number)) if is_linked else (),
        linked_from=tuple(_linked_from(primary, number) if is_linked else _groups_naming(primary, ref)),
        sightings=tuple(_sightings(primary, number)) if ref.kind == "error" else (),
    )


def _row_json(row: NamedTuple) -> dict[str, object]:
    value: dict[str, object] = dict(zip(row._fields, row, strict=True))
    for name in ("created_at", "at", "seen_at", "resolved_at"):
        moment = value.get(name)
        if isinstance(moment, int):
            value[name] = format_us(moment)
    for name, shown in (("session", "session_id"), ("group", "group_id"), ("is_included", "included")):
        if name in value:
            value[shown] = value.pop(name)
    return value


def _versions(primary: apsw.Connection, number: int) -> Iterator[Version]:
    query = """
        WITH RECURSIVE found (id) AS (
            SELECT ?
             UNION
            SELECT other.id
              FROM found
              JOIN packages AS p ON p.id = found.id
              JOIN packages AS other ON other.id IN (p.supersedes, p.superseded_by)
                    OR (other.session_id = p.session_id AND other.path = p.path)
        )
        SELECT p.id, p.version, p.summary, p.created_at, p.superseded_by
          FROM found
          JOIN packages AS p ON p.id = found.id
         ORDER BY p.created_at DESC, p.id DESC LIMIT ?
    """
    for id_, version, summary, created_at, by in primary.execute(query, (number, MOST)):
        yield Version(
            public_id(PACKAGE, id_), version, summary, created_at, None if by is None else public_id(PACKAGE, by)
        )


def _taken(primary: apsw.Connection, number: int) -> list[Taken]:
    query = """
        SELECT iif(consumed_at IS NULL, 'awaited', 'consumed'), agent, NULL, iteration, consumed_at
          FROM package_consumers WHERE package_id = ?1
         UNION ALL
        SELECT 'delivered', d.agent, g.name, d.iteration, d.delivered_at
          FROM deliveries AS d
          LEFT JOIN groups AS g ON g.id = d.group_id
         WHERE d.package_id = ?1
         ORDER BY 5 DESC NULLS LAST LIMIT ?2
    """
    return list(read_rows(primary, query, (number, MOST), Taken))


def _name_in_receipts(primary: apsw.Connection, ref: DocumentRef) -> str:
    """What receipts call a document: an artifact of `.contextia/` by its own id."""
    if ref.kind != "linked":
        return str(ref)
    name: str | None = primary.execute("SELECT name FROM linked_artifacts WHERE id = ?", (ref.number,)).get
    return name or str(ref)


def _receipts(primary: apsw.Connection, name: str) -> Iterator[OfReceipt]:
    for receipt in list_receipts(primary, naming=name, limit=MOST):
        entry = receipt.entry(name)
        if entry is not None:
            yield OfReceipt(
                receipt=receipt.id, session=receipt.session, group=receipt.group, agent=receipt.agent,
                is_included=entry.is_included, detail=entry.detail, tokens=entry.tokens, reason=entry.reason,
                created_at=receipt.created_at,
            )  # fmt: skip


def _links_to(primary: apsw.Connection, number: int) -> list[Neighbour]:
    query = """
        SELECT coalesce('linked:' || other.id, ''), coalesce(nullif(other.title, ''), link.value ->> 1),
               link.value ->> 0
          FROM linked_artifacts AS one, json_each(one.links) AS link
          LEFT JOIN linked_artifacts AS other ON other.tree_id = one.tree_id AND other.name = link.value ->> 1
         WHERE one.id = ? LIMIT ?
    """
    return list(read_rows(primary, query, (number, MOST), Neighbour))


def _linked_from(primary: apsw.Connection, number: int) -> list[Neighbour]:
    query = """
        SELECT 'linked:' || other.id, coalesce(nullif(other.title, ''), other.name), link.value ->> 0
          FROM linked_artifacts AS one
          JOIN linked_artifacts AS other ON other.tree_id = one.tree_id AND other.links <> '[]',
               json_each(other.links) AS link
         WHERE one.id = ? AND one.name <> '' AND link.value ->> 1 = one.name
         ORDER BY other.name LIMIT ?
    """
    return list(read_rows(primary, query, (number, MOST), Neighbour))


def _groups_naming(primary: apsw.Connection, ref: DocumentRef) -> list[Neighbour]:
    """The groups that may see a package of another group because they name it."""
    if ref.kind != PACKAGE:
        return []
    query = """
        SELECT '', s.name || '/' || g.name, 'context_references'
          FROM groups AS g
          JOIN sessions AS s ON s.id = g.session_id, json_each(g.context_references) AS wanted
         WHERE g.context_references <> '[]' AND wanted.value = ?
         ORDER BY g.id LIMIT ?
    """
    return list(read_rows(primary, query, (ref.number, MOST), Neighbour))


def _sightings(primary: apsw.Connection, number: int) -> list[Sighting]:
    query = """
        SELECT s.name, g.name, e.seen_at, e.resolved_at
          FROM error_sightings AS e
          JOIN sessions AS s ON s.id = e.session_id
          LEFT JOIN groups AS g ON g.id = e.group_id
         WHERE e.pattern_id = ?
         ORDER BY e.id DESC LIMIT ?
    """
    return list(read_rows(primary, query, (number, MOST), Sighting))

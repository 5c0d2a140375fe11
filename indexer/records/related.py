"""What surrounds a document: its versions, who took it, which blocks held or omitted it, what links to it.

read_related(store.primary, DocumentRef("package", 12))["versions"]      [{"id": "package:3", "version": 1, …}, …]
"""

from collections.abc import Iterator
from typing import Any

import apsw

from ctxrank.indexer.catalogue import kinds_of
from ctxrank.indexer.clock import format_us
from ctxrank.indexer.records.receipts import list_receipts
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.store.ids import PACKAGE, DocumentRef, public_id

MOST = 50  # of each list, the newest

# Each list: of which kind of document, and its rows. In all queries ?1 is the number of the document, ?2 is MOST.
_VERSIONS = """
    WITH RECURSIVE found (id) AS (
        SELECT ?1
         UNION
        SELECT other.id
          FROM found
          JOIN packages AS p ON p.id = found.id
          JOIN packages AS other ON other.id IN (p.supersedes, p.superseded_by)
                OR (other.session_id = p.session_id AND other.path = p.path)
    )
    SELECT p.id AS id, p.version AS version, p.summary AS summary, p.created_at AS created_at,
           p.superseded_by AS superseded_by
      FROM found
      JOIN packages AS p ON p.id = found.id
     ORDER BY p.created_at DESC, p.id DESC LIMIT ?2
"""
# For whom it is and to whom it was given; `at` is NULL where that has not happened yet.
_TAKEN = """
    SELECT iif(consumed_at IS NULL, 'awaited', 'consumed') AS how, agent, iteration, consumed_at AS at,
           NULL AS group_id
      FROM package_consumers WHERE package_id = ?1
     UNION ALL
    SELECT 'delivered', d.agent, d.iteration, d.delivered_at, g.name
      FROM deliveries AS d
      LEFT JOIN groups AS g ON g.id = d.group_id
     WHERE d.package_id = ?1
     ORDER BY 4 DESC NULLS LAST LIMIT ?2
"""
# The records at the other end of a link, where a kind links; `id` is empty for one that is not there.
_LINKS_TO = """
    SELECT coalesce('{kind}:' || other.id, '') AS id, coalesce(nullif(other.title, ''), link.value ->> 1) AS title,
           link.value ->> 0 AS how
      FROM {table} AS one, json_each(one.{links}) AS link
      LEFT JOIN {table} AS other ON other.tree_id = one.tree_id AND other.{name} = link.value ->> 1
     WHERE one.id = ?1 LIMIT ?2
"""
_LINKED_FROM = """
    SELECT '{kind}:' || other.id AS id, coalesce(nullif(other.title, ''), other.{name}) AS title,
           link.value ->> 0 AS how
      FROM {table} AS one
      JOIN {table} AS other ON other.tree_id = one.tree_id AND other.{links} <> '[]',
           json_each(other.{links}) AS link
     WHERE one.id = ?1 AND one.{name} <> '' AND link.value ->> 1 = one.{name}
     ORDER BY other.{name} LIMIT ?2
"""
# The groups that may see a package of another group because they name it.
_NAMED_BY = """
    SELECT '' AS id, s.name || '/' || g.name AS title, 'context_references' AS how
      FROM groups AS g
      JOIN sessions AS s ON s.id = g.session_id, json_each(g.context_references) AS wanted
     WHERE g.context_references <> '[]' AND wanted.value = ?1
     ORDER BY g.id LIMIT ?2
"""
# Failures that were recognised as this error.
_SIGHTINGS = """
    SELECT e.seen_at AS seen_at, e.resolved_at AS resolved_at, s.name AS session_id, g.name AS group_id
      FROM error_sightings AS e
      JOIN sessions AS s ON s.id = e.session_id
      LEFT JOIN groups AS g ON g.id = e.group_id
     WHERE e.pattern_id = ?1
     ORDER BY e.seen_at DESC, e.id DESC LIMIT ?2
"""
_QUERIES = {
    PACKAGE: {"versions": _VERSIONS, "taken": _TAKEN, "linked_from": _NAMED_BY},
    "error": {"sightings": _SIGHTINGS},
}

Related = dict[str, list[dict[str, Any]]]  # by list, its rows with times as text


def read_related(primary: apsw.Connection, ref: DocumentRef) -> Related:
    """What surrounds a document of this store; a list that a kind of document cannot have is empty."""
    kind = kinds_of(primary).get(ref.kind)
    queries, name = _QUERIES.get(ref.kind, {}), str(ref)
    if kind is not None and kind.links:
        names = {"kind": kind.name, "table": kind.table.name, "links": kind.links, "name": kind.named_by}
        queries = {"links_to": _LINKS_TO.format(**names), "linked_from": _LINKED_FROM.format(**names)}
    if kind is not None and kind.named_by:  # receipts call a document with an id of its own by that
        query = f"SELECT {kind.named_by} FROM {kind.table.name} WHERE id = ?"
        name = read_value(primary, query, (ref.number,), str) or name
    lists = ("versions", "taken", "receipts", "links_to", "linked_from", "sightings")
    related = {one: list(_rows(primary, queries[one], ref.number)) if one in queries else [] for one in lists}
    return related | {"receipts": list(_receipts(primary, name))}


def _rows(primary: apsw.Connection, query: str, number: int) -> Iterator[dict[str, Any]]:
    cursor = primary.execute(query, (number, MOST))
    for row in cursor:
        names = (name for name, _ in cursor.get_description())
        value: dict[str, Any] = dict(zip(names, row, strict=True))
        for name in ("created_at", "at", "seen_at", "resolved_at"):
            if isinstance(moment := value.get(name), int):
                value[name] = format_us(moment)
        for name in ("id", "superseded_by"):
            if isinstance(package := value.get(name), int):
                value[name] = public_id(PACKAGE, package)
        yield value


def _receipts(primary: apsw.Connection, name: str) -> Iterator[dict[str, Any]]:
    """What became of a document in each block."""
    for receipt in list_receipts(primary, naming=name, limit=MOST):
        entry = receipt.entry(name)
        if entry is not None:
            yield {
                "receipt": receipt.id,
                "agent": receipt.agent,
                "detail": entry.detail,
                "tokens": entry.tokens,
                "reason": entry.reason,
                "created_at": format_us(receipt.created_at),
                "session_id": receipt.session,
                "group_id": receipt.group,
                "included": entry.is_included,
            }

"""Facet counts: how many of the documents that a search found have each kind, type, agent, origin, session, priority,
age.

Counted are the documents that were scored. Where a large index was pruned, these are the best ones and not all, and
the answer says so.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import islice

import apsw

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import read_rows
from ctxrank.indexer.store.facets import id_list
from ctxrank.indexer.store.ids import origin_and_number
from ctxrank.indexer.store.origins import HERE, origin_labels
from ctxrank.indexer.store.parents import ParentDocument
from ctxrank.ranking.formulas.static_features import PRIORITY_WEIGHTS

MOST_COUNTED = 2000  # documents: more would make an answer wait
MOST_VALUES = 12  # of one field, the most frequent ones
AGES_DAYS = (7, 30, 90)


class FacetRow(NamedTuple):
    """What a document is counted by."""

    kind: str
    session: str | None
    priority: str
    created_at: int
    type: str = ""
    agent: str = ""
    number: int | None = 0  # of its record: below 0 where another store made it


class FacetCounts(NamedTuple):
    """For each field its values with how many documents have them, the most frequent first.

    A value of `since` is an age as the query language takes it, 7d; it counts what is not older. `counted` is how many
    documents were looked at.
    """

    counted: int
    fields: dict[str, list[tuple[str, int]]]


def facets_of(primary: apsw.Connection, document_ids: Iterable[int], now: int) -> FacetCounts:
    """The facets of documents by their numbers, of very many those that come first."""
    query = """
        SELECT d.kind, s.name, d.priority, d.created_at, d.type, d.agent, d.record_id
          FROM json_each(?) AS wanted
         CROSS JOIN documents AS d ON d.id = wanted.value
          LEFT JOIN sessions AS s ON s.id = d.session_id
    """
    return counted(primary, read_rows(primary, query, (id_list(islice(document_ids, MOST_COUNTED)),), FacetRow), now)


def counted(primary: apsw.Connection, rows: Iterable[FacetRow | ParentDocument], now: int) -> FacetCounts:
    """The facets of documents that are read already."""
    rows = list(rows)
    priorities = Counter(row.priority for row in rows)
    labels = origin_labels(primary)
    origins = Counter(labels[origin_and_number(row.number or 0)[0]] for row in rows)
    fields = {
        "kind": _most(Counter(row.kind for row in rows)),
        "type": _most(Counter(row.type for row in rows if row.type)),
        "agent": _most(Counter(row.agent for row in rows if row.agent)),
        "origin": _most(origins) if {*origins} - {HERE} else [],  # where all are of this store, there is no choice
        "session": _most(Counter(row.session for row in rows if row.session)),
        "priority": [(name, count) for name in PRIORITY_WEIGHTS if (count := priorities[name])],
        "since": [
            (f"{days}d", count)
            for days in AGES_DAYS
            if (count := sum(row.created_at >= now - days * DAY_US for row in rows))
        ],
    }
    return FacetCounts(len(rows), fields)


def _most(found: "Counter[str]") -> list[tuple[str, int]]:
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:MOST_VALUES]

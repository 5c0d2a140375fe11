"""Facet counts: how many of the documents that a search found have each kind, type, agent, origin, session, priority,
age.

Counted are the documents that were scored. Where a large index was pruned, these are the best ones and not all, and
the answer says so.
"""

from collections import Counter
from collections.abc import Collection

import apsw

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.ids import origin_and_number
from ctxrank.indexer.store.origins import HERE, origin_labels
from ctxrank.indexer.store.parents import ParentDocument
from ctxrank.ranking.formulas.static_features import PRIORITY_WEIGHTS

MOST_VALUES = 12  # of one field, the most frequent ones
AGES_DAYS = (7, 30, 90)


class FacetCounts(NamedTuple):
    """For each field its values with how many documents have them, the most frequent first.

    A value of `since` is an age as the query language takes it, 7d; it counts what is not older. `counted` is how many
    documents were looked at.
    """

    counted: int
    fields: dict[str, list[tuple[str, int]]]


def counted(primary: apsw.Connection, rows: Collection[ParentDocument]) -> FacetCounts:
    """The facets of documents."""
    now = now_us()
    priorities = Counter(row.priority for row in rows)
    labels = origin_labels(primary)
    origins = Counter(labels[origin_and_number(row.number)[0]] for row in rows)
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

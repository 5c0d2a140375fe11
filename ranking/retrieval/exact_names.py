"""A query that is a name and nothing else: SPEC-BILLING-001, TASK-042, single-flight.

Its parts are common words, so a text that repeats them would stand before the one that is meant. In such a search
come first: the linked artifact of that id; what has the name in its title; what holds it as it was typed; and then
all that holds some of its parts. Within each the usual order holds.
"""

import re

from ctxrank.indexer.fulltext.index_file import Index, IndexState
from ctxrank.indexer.links.store import KIND
from ctxrank.ranking.formulas.tuning import Tuning
from ctxrank.ranking.retrieval.candidates.candidates import Candidate, Candidates, find_candidates
from ctxrank.ranking.retrieval.candidates.matcher import Scope
from ctxrank.ranking.retrieval.plan import make_plan
from ctxrank.ranking.retrieval.query import Query, Term

_NAME = re.compile(r"\w+(-\w+)+")


def is_name(query: Query) -> bool:
    """Whether a query consists of a name, and of nothing else but filters."""
    if len(query.terms) != 1:
        return False
    term = query.terms[0]
    is_plain = not (term.is_phrase or term.is_prefix or term.column)
    return is_plain and _NAME.fullmatch(term.text) is not None


def with_rows_of_name(
    index: Index, state: IndexState, query: Query, tuning: Tuning, scope: Scope, found: Candidates
) -> tuple[Candidates, list[frozenset[int]]]:
    """All candidates with those that hold a name as it was typed; and the documents that come first, by groups."""
    name = query.terms[0].text
    documents = index.connection.execute(
        """
        SELECT d.id
          FROM primary_db.linked_artifacts AS l
          JOIN primary_db.documents AS d ON d.kind = ? AND d.record_id = l.id
         WHERE l.name = ? COLLATE NOCASE
        """,
        (KIND, name),
    ).fetchall()
    groups = [frozenset(int(str(id_)) for (id_,) in documents)]
    known = {row.rowid for row in found.rows}
    rows: list[Candidate] = []
    unseen = found.unseen
    for column in ("title", ""):
        asked = query._replace(terms=(Term(name, is_phrase=True, column=column),))
        holding = find_candidates(index, state, make_plan(asked, index, state, tuning), scope)
        rows = holding.rows
        if not holding.is_complete:  # what was not seen may belong to those that come first
            unseen = None
        groups.append(frozenset(row.owner_id for row in rows))
    return Candidates([*found.rows, *(row for row in rows if row.rowid not in known)], unseen), groups

"""A query that is a name and nothing else: SPEC-BILLING-001, TASK-042, single-flight.

Its parts are common words, so a text that repeats them would come before the one that is meant. In such a search
come first: the linked artifact of that id; what has the name in its title; what holds it as it was typed; and then
all that holds some of its parts. Within each the usual order holds.
"""

import re

from ctxrank.indexer.engine import Engine, Statistics
from ctxrank.indexer.store.facets import Scope
from ctxrank.ranking.formulas.tuning import Tuning
from ctxrank.ranking.retrieval.candidates.candidates import Candidate, Candidates, find_candidates
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
    engine: Engine,
    statistics: Statistics,
    query: Query,
    tuning: Tuning,
    scope: Scope,
    found: Candidates,
    named: frozenset[int],
) -> tuple[Candidates, list[frozenset[int]]]:
    """All candidates with those that hold a name as it was typed; and the documents that come first, by groups.

    `named` are the documents that have the name as their id.
    """
    name = query.terms[0].text
    groups = [named]
    known = {row.rowid for row in found.rows}
    rows: list[Candidate] = []
    remaining_upper_bound = found.remaining_upper_bound
    for column in ("title", ""):
        phrase = query._replace(terms=(Term(name, is_phrase=True, column=column),))
        holding = find_candidates(engine, statistics, make_plan(phrase, engine, statistics, tuning), scope)
        rows = holding.rows
        if not holding.is_complete:  # what was not seen may belong to those that come first
            remaining_upper_bound = None
        groups.append(frozenset(row.owner_id for row in rows))
    return Candidates([*found.rows, *(row for row in rows if row.rowid not in known)], remaining_upper_bound), groups

"""Questions of the engine interface as OpenSearch's queries.

What is asked for is always a term that our tokenizer made, never a text for the cluster to analyse.
"""

from collections.abc import Iterable, Sequence

from ctxrank.extensions.opensearch.documents import COLUMNS, Tokens, cut
from ctxrank.indexer.engine import AnyClause, Clause, PhraseClause, TermClause
from ctxrank.indexer.store.facets import WITH_PASSAGES, Scope

Query = dict[str, object]

# A list of values in one clause is at most so long (`index.max_terms_count`).
MOST_VALUES = 65_536
# Words that a cut one may be completed to, as part of a phrase.
_MOST_COMPLETED = 1000
# Where the cluster ranks: what a word in a path is worth over one in a text, and a defined name over a word. Of 300,000
# documents the best 150 rows held 88 % of our first tens at a half, and all of them at a tenth.
_IN_PATH, _AS_NAME = 0.1, 2.0
NOTHING: Query = {"match_none": {}}


def clause_query(clause: Clause, tokens: Tokens) -> Query:
    """Rows that a clause finds."""
    if isinstance(clause, TermClause):
        return _term_query(clause, tokens)
    if isinstance(clause, PhraseClause):
        return _phrase_query(clause, tokens)
    parts = [clause_query(part, tokens) for part in clause.parts]
    return any_of(parts) if isinstance(clause, AnyClause) else all_of(parts)


def names_query(clauses: Iterable[Clause]) -> list[Query]:
    """What adds to the rank of rows that define one of the names asked for."""
    return [
        _term("names", mark + surface, clause.weight * _AS_NAME)
        for clause in clauses
        if isinstance(clause, TermClause)
        for surface in clause.surfaces
        for mark in "#%"
    ]


def scope_filters(scope: Scope) -> list[Query]:
    """What a row must be, but for what only the primary database knows of its parent: time, path, what is left out."""
    filters: list[Query] = []
    if scope.kinds:
        kinds = list(scope.kinds)
        if "passage" not in kinds and any(kind in kinds for kind in WITH_PASSAGES):
            filters.append({"terms": {"hit_kind": list(kinds)}})
            kinds.append("passage")
        filters.append({"terms": {"kind": kinds}})
    for field, values in (
        ("session", scope.session_ids),
        ("group", scope.group_ids),
        ("agent", scope.agents),
        ("type", scope.types),
        ("priority", scope.priorities),
    ):
        if values:
            filters.append(values_query(field, values))
    if scope.is_current:
        filters.append({"term": {"is_current": True}})
    if scope.document_ids is not None:
        filters.append(values_query("owner", sorted(scope.document_ids)))
    return filters


def values_query(field: str, values: Sequence[object]) -> Query:
    """Rows that have one of these values."""
    if not values:
        return NOTHING
    lists = [list(values[at : at + MOST_VALUES]) for at in range(0, len(values), MOST_VALUES)]
    return any_of([{"terms": {field: part}} for part in lists])


def any_of(queries: list[Query]) -> Query:
    """Rows that one of these finds."""
    if not queries:
        return NOTHING
    return queries[0] if len(queries) == 1 else {"bool": {"should": queries, "minimum_should_match": 1}}


def all_of(queries: list[Query]) -> Query:
    """Rows that each of these finds."""
    return queries[0] if len(queries) == 1 else {"bool": {"must": queries}}


def _term_query(clause: TermClause, tokens: Tokens) -> Query:
    weight = clause.weight
    beginnings = tokens(clause.prefix) if clause.prefix else []
    if clause.column:
        queries = [_term(clause.column, term, weight) for term in clause.terms]
        if clause.column == "identifiers":
            queries += names_query([clause])
        return any_of(queries + [_prefix(clause.column, beginning) for beginning in beginnings])
    queries = [_term("text", term, weight) for term in clause.terms]
    queries += [_term("path", term, weight * _IN_PATH) for term in clause.terms]
    # The words of a whole name are among the identifiers alone.
    queries += [_prefix(field, beginning) for beginning in beginnings for field in ("text", "path", "identifiers")]
    return any_of(queries)


def _phrase_query(clause: PhraseClause, tokens: Tokens) -> Query:
    wanted = list(map(cut, tokens(clause.text)))
    if not wanted:
        return NOTHING
    columns = (clause.column,) if clause.column else COLUMNS
    if len(wanted) == 1:
        find = _prefix if clause.is_prefix else _term
        return any_of([find(column, wanted[0]) for column in columns])
    words = " ".join(wanted)
    if clause.is_prefix:
        completed = {"query": words, "max_expansions": _MOST_COMPLETED}
        return any_of([{"match_phrase_prefix": {column: completed}} for column in columns])
    return any_of([{"match_phrase": {column: words}} for column in columns])


def _term(field: str, term: str, weight: float = 1.0) -> Query:
    return {"term": {field: {"value": cut(term), "boost": weight}}}


def _prefix(field: str, beginning: str) -> Query:
    return {"prefix": {field: {"value": cut(beginning)}}}

"""Filters of a search, from the flags and from the query's own `field:value`, resolved against the truth.

Values of one field are alternatives; different fields must all hold. A name that nothing has filters
everything out, with a note.

    --path src/auth    a file or folder of that name, anywhere in the path
    --path '*.sql'     a pattern for the file's name, or with a / for the whole path; * crosses /
"""

import apsw

from ctxrank.indexer.agents import fold_agent
from ctxrank.indexer.clock import now_us, parse_time
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.sessions import is_session_wide
from ctxrank.indexer.store.facets import KINDS, kind_facet
from ctxrank.ranking.retrieval.candidates.matcher import Scope
from ctxrank.ranking.retrieval.hits import SearchRequest
from ctxrank.ranking.retrieval.query import Filter, Query, Term

# A package or artifact is also found by its passages.
_WITH_PASSAGES = ("package", "artifact")


class Filters(NamedTuple):
    """What every hit must have. `is_impossible` if a name is unknown, so that nothing can match."""

    kinds: tuple[str, ...]
    session_ids: tuple[int, ...]
    group_ids: tuple[int, ...]
    agents: tuple[str, ...]
    types: tuple[str, ...]
    priorities: tuple[str, ...]
    paths: tuple[str, ...]
    since: int | None
    until: int | None
    is_impossible: bool
    notes: tuple[str, ...]

    @property
    def is_any(self) -> bool:
        """Whether anything is filtered at all."""
        return any(self[:9])


def with_real_filters(query: Query) -> tuple[Query, tuple[str, ...]]:
    """The query without filters that cannot be: these are words after all, because no text is an error.

    The notes name them.
    """
    real: list[Filter] = []
    words: list[Term] = []
    for condition in query.filters:
        try:
            if condition.field == "kind":
                _checked_kind(condition.value)
            elif condition.field in ("since", "until"):
                parse_time(condition.value, now=now_us())
            elif condition.field == "phase":
                _checked_phase(condition.value)
            real.append(condition)
        except UsageError:
            words.append(Term(str(condition)))
    notes = tuple(f"'{word.text}' is no filter and is taken as words." for word in words)
    return query._replace(terms=(*query.terms, *words), filters=tuple(real)), notes


def resolve_filters(truth: apsw.Connection, request: SearchRequest, query: Query) -> Filters:
    """Names to row ids. Raises UsageError for a kind or a phase that is none."""
    values: dict[str, list[str]] = {}
    for field, value in (
        ("session", request.session), ("group", request.group), ("agent", request.agent),
        ("type", request.type), ("phase", request.phase), ("priority", request.priority), ("path", request.path),
    ):  # fmt: skip
        if value is not None:
            # What the file system or a shell made of bytes that are not UTF-8 names nothing, but may be asked.
            value = value.encode("utf-8", "replace").decode()
            values.setdefault(field, []).append(value)
    for kind in request.kinds:
        values.setdefault("kind", []).append(kind)
    for condition in query.filters:
        values.setdefault(condition.field, []).append(condition.value)
    for phase in values.pop("phase", []):
        # Packages have a type `decisions`, too: who asks for a phase asks for reasoning.
        values.setdefault("type", []).append(_checked_phase(phase))
        values["kind"] = ["reasoning"]
    notes: list[str] = []
    kinds = tuple(dict.fromkeys(_checked_kind(kind) for kind in values.get("kind", [])))
    session_ids = _sessions(truth, values.get("session", []), notes)
    group_names = [name for name in values.get("group", []) if not is_session_wide(name)]
    group_ids = _groups(truth, group_names, session_ids, notes)
    labels = {
        field: tuple(fold(value) for value in values.get(field, []))
        for field, fold in (("agent", fold_agent), ("type", _folded), ("priority", _folded))
    }
    is_impossible = [
        *(_is_unknown(truth, field, names, notes) for field, names in labels.items()),
        bool(values.get("session")) and not session_ids,
        bool(group_names) and not group_ids,
    ]
    now = now_us()
    since = [parse_time(text, now=now) for text in values.get("since", [])]
    until = [parse_time(text, now=now) for text in values.get("until", [])]
    since += [] if request.since is None else [request.since]
    until += [] if request.until is None else [request.until]
    return Filters(
        kinds, session_ids, group_ids,
        labels["agent"], labels["type"], labels["priority"],
        tuple(values.get("path", [])), max(since, default=None), min(until, default=None),
        any(is_impossible), tuple(notes),
    )  # fmt: skip


def _checked_phase(text: str) -> str:
    from ctxrank.indexer.records.reasoning import normalise_phase  # it brings the redaction rules along

    return normalise_phase(text)


def facet_scope(truth: apsw.Connection, filters: Filters) -> Scope:
    """The same filters as the index takes them: facets, one session's range, and conditions on the truth."""
    facets: list[str] = []
    if filters.kinds:
        kinds = dict.fromkeys(filters.kinds)
        if any(kind in kinds for kind in _WITH_PASSAGES):
            kinds["passage"] = None
        facets.append(" OR ".join(kind_facet(kind) for kind in kinds))
    session = filters.session_ids[0] if len(filters.session_ids) == 1 else None
    if len(filters.session_ids) > 1:
        facets.append(" OR ".join(f"s{id_}" for id_ in filters.session_ids))
    if filters.group_ids:
        facets.append(" OR ".join(f"g{id_}" for id_ in filters.group_ids))
    for letter, names in (("a", filters.agents), ("t", filters.types), ("p", filters.priorities)):
        if names:
            facets.append(" OR ".join(f"{letter}{label}" for label in _labels(truth, names)))
    condition, values = truth_condition(filters)
    return Scope(tuple(facets), session, condition, values)


def truth_condition(filters: Filters) -> tuple[str, tuple[object, ...]]:
    """SQL on `primary_db.documents AS d` for what no facet can say: kind of the owner, time and path."""
    conditions: list[str] = []
    values: list[object] = []
    if "passage" not in filters.kinds and any(kind in filters.kinds for kind in _WITH_PASSAGES):
        conditions.append(f"d.kind IN ({', '.join('?' * len(filters.kinds))})")
        values += filters.kinds
    if filters.since is not None:
        conditions.append("d.created_at >= ?")
        values.append(filters.since)
    if filters.until is not None:
        conditions.append("d.created_at <= ?")
        values.append(filters.until)
    if filters.paths:
        from ctxrank.indexer.text.globs import sqlite_globs  # noqa: PLC0415  only a search with --path needs it

        globs = [glob for path in filters.paths for glob in sqlite_globs(path)]
        alternatives = ["d.path = ?"] * len(filters.paths) + ["'/' || d.path || '/' GLOB ?"] * len(globs)
        conditions.append(f"({' OR '.join(alternatives)})")
        values += [*filters.paths, *globs]
    return " AND ".join(conditions), tuple(values)


def _checked_kind(text: str) -> str:
    kind = text.strip().lower()
    if kind not in KINDS:
        raise UsageError(f"'{text}' is not a kind of document.", f"Kinds are {', '.join(KINDS)}.")
    return kind


def _sessions(truth: apsw.Connection, names: list[str], notes: list[str]) -> tuple[int, ...]:
    ids: list[int] = []
    for name in names:
        row = truth.execute("SELECT id FROM sessions WHERE name = ?", (name,)).fetchone()
        if row is None:
            notes.append(f"There is no session '{name}'.")
        else:
            ids.append(int(row[0]))
    return tuple(ids)


def _groups(
    truth: apsw.Connection, names: list[str], session_ids: tuple[int, ...], notes: list[str]
) -> tuple[int, ...]:
    """Ids of the groups of exactly these names, in the given sessions or, if none are given, in all."""
    ids: list[int] = []
    for name in names:
        found = [
            int(id_)
            for id_, session in truth.execute("SELECT id, session_id FROM groups WHERE name = ?", (name,))
            if not session_ids or session in session_ids
        ]
        if not found:
            notes.append(f"There is no group '{name}'.")
        ids += found
    return tuple(ids)


def _is_unknown(truth: apsw.Connection, field: str, names: tuple[str, ...], notes: list[str]) -> bool:
    """Whether nothing in the store has any of these names in this field."""
    if not names or _labels(truth, names):
        return False
    notes.append(f"Nothing has the {field} {' or '.join(repr(name) for name in names)}.")
    return True


def _labels(truth: apsw.Connection, names: tuple[str, ...]) -> list[int]:
    """The label ids of those names that were ever stored."""
    query = f"SELECT id FROM labels WHERE text IN ({', '.join('?' * len(names))}) ORDER BY id"
    return [int(row[0]) for row in truth.execute(query, names)]


def _folded(text: str) -> str:
    return text.strip().lower()


def documents_condition(filters: Filters) -> tuple[str, tuple[object, ...]]:
    """SQL on `documents AS d` for all filters: what is asked of the truth where no index is."""
    conditions: list[str] = []
    values: list[object] = []
    kinds = filters.kinds
    if "passage" in kinds:  # the documents that have passages
        kinds = (*kinds, "package", "artifact")
    for column, wanted in (
        ("kind", kinds), ("session_id", filters.session_ids), ("group_id", filters.group_ids),
        ("agent", filters.agents), ("type", filters.types), ("priority", filters.priorities),
    ):  # fmt: skip
        if wanted:
            conditions.append(f"d.{column} IN ({', '.join('?' * len(wanted))})")
            values += wanted
    more, more_values = truth_condition(filters._replace(kinds=()))
    return " AND ".join([*conditions, more] if more else conditions), (*values, *more_values)

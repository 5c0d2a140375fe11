"""Filters of a search, from the flags and from the query's own `field:value`, resolved against the truth.

Values of one field are alternatives; different fields must all hold. A name that nothing has, filters
everything out, with a note.
"""

import os

import apsw

from ctxrank.indexer.agents import fold_agent
from ctxrank.indexer.clock import now_us, parse_time
from ctxrank.indexer.errors import UsageError
from ctxrank.indexer.facets import KINDS, kind_facet
from ctxrank.indexer.records import NamedTuple
from ctxrank.ranking.candidates import Scope
from ctxrank.ranking.hits import SearchRequest
from ctxrank.ranking.query import Query

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


def resolve_filters(truth: apsw.Connection, request: SearchRequest, query: Query) -> Filters:
    """Names to row ids. Raises UsageError for an unknown kind or a time that is none."""
    values: dict[str, list[str]] = {}
    for field, value in (
        ("session", request.session), ("group", request.group), ("agent", request.agent),
        ("type", request.type), ("priority", request.priority), ("path", request.path),
    ):  # fmt: skip
        if value is not None:
            values.setdefault(field, []).append(value)
    for kind in request.kinds:
        values.setdefault("kind", []).append(kind)
    for condition in query.filters:
        values.setdefault("type" if condition.field == "phase" else condition.field, []).append(condition.value)
    notes: list[str] = []
    kinds = tuple(dict.fromkeys(_checked_kind(kind) for kind in values.get("kind", [])))
    session_ids = _sessions(truth, values.get("session", []), notes)
    group_ids = _groups(truth, values.get("group", []), session_ids, notes)
    now = now_us()
    since = [parse_time(text, now=now) for text in values.get("since", [])]
    until = [parse_time(text, now=now) for text in values.get("until", [])]
    since += [] if request.since is None else [request.since]
    until += [] if request.until is None else [request.until]
    return Filters(
        kinds, session_ids, group_ids,
        tuple(fold_agent(agent) for agent in values.get("agent", [])),
        tuple(type_.strip().lower() for type_ in values.get("type", [])),
        tuple(priority.strip().lower() for priority in values.get("priority", [])),
        tuple(values.get("path", [])), max(since, default=None), min(until, default=None),
        bool(values.get("session")) > bool(session_ids) or bool(values.get("group")) > bool(group_ids),
        tuple(notes),
    )  # fmt: skip


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
            facets.append(" OR ".join(f"{letter}{_label(truth, name)}" for name in names))
    condition, values = truth_condition(filters)
    return Scope(tuple(facets), session, condition, values)


def truth_condition(filters: Filters) -> tuple[str, tuple[object, ...]]:
    """SQL on `truth.documents AS d` for what no facet can say: kind of the owner, time and path."""
    conditions: list[str] = []
    values: list[object] = []
    if any(kind in filters.kinds for kind in _WITH_PASSAGES):
        conditions.append(f"d.kind IN ({', '.join('?' * len(filters.kinds))})")
        values += filters.kinds
    if filters.since is not None:
        conditions.append("d.created_at >= ?")
        values.append(filters.since)
    if filters.until is not None:
        conditions.append("d.created_at <= ?")
        values.append(filters.until)
    if filters.paths:
        conditions.append(f"({' OR '.join('d.path GLOB ?' for _ in filters.paths)})")
        values += [_glob(path) for path in filters.paths]
    return " AND ".join(conditions), tuple(values)


def _glob(pattern: str) -> str:
    """A path pattern as SQLite's GLOB takes it: `*` crosses `/`; a plain folder or name means what is in it."""
    if any(character in pattern for character in "*?["):
        return pattern if pattern.startswith(("*", "/")) else f"*{pattern}" if "/" not in pattern else pattern
    return f"*{os.path.normpath(pattern) if pattern else ''}*"


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


def _label(truth: apsw.Connection, text: str) -> int | str:
    """A label's id; one that no document has for a name that was never stored."""
    row = truth.execute("SELECT id FROM labels WHERE text = ?", (text,)).fetchone()
    return int(row[0]) if row else "0none0"

"""Filters of a search, from the flags and from the query's own `field:value`, resolved against the store.

Values of one field are alternatives; different fields must all hold, and nothing that is filtered out may. A name
that nothing has filters everything out, with a note; a kind, phase or moment that is none is wrong use.

    --path src/auth    a file or folder of that name, anywhere in the path
    --path '*.sql'     a pattern for the file's name, or with a / for the whole path; * crosses /
"""

import apsw

from ctxrank.indexer.clock import now_us, parse_time
from ctxrank.indexer.exceptions import require_word
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import read_column, read_value
from ctxrank.indexer.store.facets import KINDS, Scope, label_ids, parent_condition
from ctxrank.ranking.retrieval.hits import SearchRequest, Wanted
from ctxrank.ranking.retrieval.query import Query

_EVERYTHING = Scope()
_LABELS = ("agent", "type", "priority")


class Filters(NamedTuple):
    """What every hit must have. `is_impossible` if a name is unknown, so that nothing can match."""

    scope: Scope
    is_impossible: bool
    notes: tuple[str, ...]

    @property
    def is_any(self) -> bool:
        """Whether anything is filtered at all."""
        return self.scope != _EVERYTHING


def resolve_filters(primary: apsw.Connection, request: SearchRequest, query: Query) -> Filters:
    """Names to row ids. Raises UsageError for a kind, a phase or a moment that is none."""
    wanted: dict[str, list[str]] = {"kind": list(request.kinds)}
    for field in ("session", "group", "agent", "type", "phase", "priority", "path"):
        value: Wanted = getattr(request, field)
        values = (value,) if isinstance(value, str) else value or ()
        # What the file system or a shell made of bytes that are not UTF-8 names nothing, but may be asked.
        wanted[field] = [one.encode("utf-8", "replace").decode() for one in values]
    for condition in query.filters:
        if not condition.is_excluded:
            wanted.setdefault(condition.field, []).append(condition.value)
    notes: list[str] = []
    resolved = _resolved(primary, wanted, notes)
    # What nothing has filters nothing out, which needs no note.
    without = [
        _resolved(primary, {condition.field: [condition.value]}, [])
        for condition in query.filters
        if condition.is_excluded
    ]
    scope = resolved.scope._replace(
        since=max((one for one in (request.since, resolved.scope.since) if one is not None), default=None),
        until=min((one for one in (request.until, resolved.scope.until) if one is not None), default=None),
        without=tuple(one.scope for one in without if not one.is_impossible and one.is_any),
    )
    return Filters(scope, resolved.is_impossible, tuple(notes))


def _resolved(primary: apsw.Connection, values: dict[str, list[str]], notes: list[str]) -> Filters:
    """The values of each field as a scope. Raises UsageError."""
    session_ids, group_ids, is_impossible = _sessions_and_groups(primary, values, notes)
    kinds = tuple(dict.fromkeys(
        require_word(kind.strip().lower(), tuple(KINDS), "a kind of document", "Kinds", kind)
        for kind in values.get("kind", [])
    ))  # fmt: skip
    labels = {field: tuple(value.strip().lower() for value in values.get(field, [])) for field in _LABELS}
    if phases := values.get("phase"):
        from ctxrank.indexer.records.reasoning import normalise_phase  # noqa: PLC0415  it brings the rules along

        # Packages have a type `decisions`, too: who asks for a phase asks for reasoning, whose type it is.
        wanted = [phase for phase in map(normalise_phase, phases) if phase in (labels["type"] or (phase,))]
        is_impossible = is_impossible or not wanted or "reasoning" not in (kinds or ("reasoning",))
        labels["type"], kinds = tuple(wanted), ("reasoning",)
    if values.get("agent"):
        from ctxrank.indexer.agents import fold_agent, folded_name  # noqa: PLC0415  only a search with an agent needs it

        # Roles of the project's own are in the store in one spelling, and are asked for in any, as our agents are.
        asked = {folded_name(fold_agent(name)) for name in values["agent"]}
        stored = read_column(primary, "SELECT text FROM labels", (), str)
        labels["agent"] = tuple(name for name in stored if folded_name(name) in asked) or tuple(values["agent"])
    unknown = {field: names for field, names in labels.items() if names and not label_ids(primary, names)}
    origins: list[int] = []
    if named := tuple(values.get("origin", [])):
        from ctxrank.indexer.store.origins import origin_codes  # noqa: PLC0415  only a search of an origin needs it

        origins = [code for name in named for code in origin_codes(primary, name)]
        unknown |= {} if origins else {"origin": named}
    notes += [f"Nothing has the {field} {' or '.join(map(repr, names))}." for field, names in unknown.items()]
    now = now_us()
    scope = Scope(
        kinds=kinds, session_ids=tuple(session_ids), group_ids=tuple(group_ids), agents=labels["agent"],
        types=labels["type"], priorities=labels["priority"], origins=tuple(origins),
        paths=tuple(values.get("path", [])),
        since=max((parse_time(text, now=now) for text in values.get("since", [])), default=None),
        until=min((parse_time(text, now=now) for text in values.get("until", [])), default=None),
    )  # fmt: skip
    return Filters(scope, is_impossible or bool(unknown), ())


def notes_on_paths(primary: apsw.Connection, paths: tuple[str, ...]) -> tuple[str, ...]:
    """A note where paths are asked for and no document has one of them; all paths are looked at."""
    asked = parent_condition(Scope(paths=paths))
    query = f"SELECT 1 FROM documents AS d WHERE {asked.sql} LIMIT 1"
    is_known = not paths or read_value(primary, query, asked.values, int)
    return () if is_known else (f"Nothing has the path {' or '.join(map(repr, paths))}.",)


def _sessions_and_groups(
    primary: apsw.Connection, values: dict[str, list[str]], notes: list[str]
) -> tuple[list[int], list[int], bool]:
    """Ids of these sessions, and of the groups of these names in them or, if none are given, in all.

    And whether there is none where one was named. Another word for the whole session is no group.
    """
    sessions, groups = values.get("session", []), values.get("group", [])
    if not (sessions or groups):
        return [], [], False
    from ctxrank.indexer.records.sessions import (  # noqa: PLC0415  only a search in a session or group needs it
        group_ids_of,
        is_session_wide,
        session_id_of,
    )

    found = {name: session_id_of(primary, name) for name in sessions}
    notes += [f"There is no session '{name}'." for name in sessions if found[name] is None]
    session_ids = [id_ for name in sessions if (id_ := found[name]) is not None]
    real_groups = [name for name in groups if not is_session_wide(name)]
    group_ids: list[int] = []
    for name in real_groups:
        own = [id_ for id_, session_id in group_ids_of(primary, name) if not session_ids or session_id in session_ids]
        if not own:
            notes.append(f"There is no group '{name}'.")
        group_ids += own
    return session_ids, group_ids, bool(sessions and not session_ids) or bool(real_groups and not group_ids)

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
from ctxrank.indexer.store.facets import KINDS, Scope, label_ids
from ctxrank.ranking.retrieval.hits import SearchRequest
from ctxrank.ranking.retrieval.query import Query

_EVERYTHING = Scope()


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
    for field, value in (
        ("session", request.session), ("group", request.group), ("agent", request.agent),
        ("type", request.type), ("phase", request.phase), ("priority", request.priority), ("path", request.path),
    ):  # fmt: skip
        values = (value,) if isinstance(value, str) else value or ()
        # What the file system or a shell made of bytes that are not UTF-8 names nothing, but may be asked.
        wanted[field] = [one.encode("utf-8", "replace").decode() for one in values]
    for condition in query.filters:
        if not condition.is_excluded:
            wanted.setdefault(condition.field, []).append(condition.value)
    notes: list[str] = []
    resolved = _resolved(primary, wanted, notes)
    since = [one for one in (request.since, resolved.scope.since) if one is not None]
    until = [one for one in (request.until, resolved.scope.until) if one is not None]
    # What nothing has filters nothing out, which needs no note.
    without = [
        _resolved(primary, {condition.field: [condition.value]}, [])
        for condition in query.filters
        if condition.is_excluded
    ]
    scope = resolved.scope._replace(
        since=max(since, default=None),
        until=min(until, default=None),
        without=tuple(one.scope for one in without if not one.is_impossible and one.is_any),
    )
    return Filters(scope, resolved.is_impossible, tuple(notes))


def _resolved(primary: apsw.Connection, values: dict[str, list[str]], notes: list[str]) -> Filters:
    """The values of each field as a scope. Raises UsageError."""
    kinds = tuple(dict.fromkeys(_checked_kind(kind) for kind in values.get("kind", [])))
    types = [_folded(value) for value in values.get("type", [])]
    if phases := [_checked_phase(phase) for phase in values.get("phase", [])]:
        # Packages have a type `decisions`, too: who asks for a phase asks for reasoning.
        types, kinds = [*types, *phases], ("reasoning",)
    session_ids = _sessions(primary, values.get("session", []), notes)
    group_names = _real_groups(values.get("group", []))
    group_ids = _groups(primary, group_names, session_ids, notes)
    agents = tuple(_folded_agent(value) for value in values.get("agent", []))
    priorities = tuple(_folded(value) for value in values.get("priority", []))
    is_impossible = [
        _is_unknown(primary, "agent", agents, notes),
        _is_unknown(primary, "type", tuple(types), notes),
        _is_unknown(primary, "priority", priorities, notes),
        bool(values.get("session")) and not session_ids,
        bool(group_names) and not group_ids,
    ]
    now = now_us()
    since = [parse_time(text, now=now) for text in values.get("since", [])]
    until = [parse_time(text, now=now) for text in values.get("until", [])]
    scope = Scope(
        kinds=kinds, session_ids=session_ids, group_ids=group_ids, agents=agents, types=tuple(types),
        priorities=priorities, paths=tuple(values.get("path", [])), since=max(since, default=None),
        until=min(until, default=None),
    )  # fmt: skip
    return Filters(scope, any(is_impossible), ())


def _checked_phase(text: str) -> str:
    from ctxrank.indexer.records.reasoning import normalise_phase  # noqa: PLC0415  it brings the redaction rules along

    return normalise_phase(text)


def _checked_kind(text: str) -> str:
    return require_word(text.strip().lower(), tuple(KINDS), "a kind of document", "Kinds", text)


def _folded_agent(text: str) -> str:
    from ctxrank.indexer.agents import fold_agent  # noqa: PLC0415  only a search with an agent needs it

    return fold_agent(text)


def _real_groups(names: list[str]) -> list[str]:
    """The names that are of a group, and not another word for the whole session."""
    if not names:
        return []
    from ctxrank.indexer.records.sessions import is_session_wide  # noqa: PLC0415  only a search in a group needs it

    return [name for name in names if not is_session_wide(name)]


def _sessions(primary: apsw.Connection, names: list[str], notes: list[str]) -> tuple[int, ...]:
    if not names:
        return ()
    from ctxrank.indexer.records.sessions import session_id_of  # noqa: PLC0415  only a search in a session needs it

    ids: list[int] = []
    for name in names:
        session_id = session_id_of(primary, name)
        if session_id is None:
            notes.append(f"There is no session '{name}'.")
        else:
            ids.append(session_id)
    return tuple(ids)


def _groups(
    primary: apsw.Connection, names: list[str], session_ids: tuple[int, ...], notes: list[str]
) -> tuple[int, ...]:
    """Ids of the groups of exactly these names, in the given sessions or, if none are given, in all."""
    if not names:
        return ()
    from ctxrank.indexer.records.sessions import group_ids_of  # noqa: PLC0415  only a search in a group needs it

    ids: list[int] = []
    for name in names:
        found = [
            group_id
            for group_id, session_id in group_ids_of(primary, name)
            if not session_ids or session_id in session_ids
        ]
        if not found:
            notes.append(f"There is no group '{name}'.")
        ids += found
    return tuple(ids)


def _is_unknown(primary: apsw.Connection, field: str, names: tuple[str, ...], notes: list[str]) -> bool:
    """Whether nothing in the store has any of these names in this field."""
    if not names or label_ids(primary, "main", names):
        return False
    notes.append(f"Nothing has the {field} {' or '.join(repr(name) for name in names)}.")
    return True


def _folded(text: str) -> str:
    return text.strip().lower()

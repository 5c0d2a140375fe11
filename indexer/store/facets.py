"""Facets: what a document can be filtered by, as tokens of the index's `scope` column; and the scope of a question.

    k2 s14 g3 a5 t9 p2 c1
    │  │   │  │  │  │  └ current (1) or superseded (0)
    │  │   │  │  │  └ priority, a label
    │  │   │  │  └ type: package type, reasoning phase, topic, skill; a label
    │  │   │  └ agent that produced it, a label
    │  │   └ group, a row id
    │  └ session, a row id
    └ kind, its place in KINDS

Made from row ids and never from text: a token of the text `group_auth` would also match `GROUP-auth`
and a part of `group_auth_api`. Each is one token ending in a digit (so the stemmer leaves it alone), and
every document has the same number of them (so no length is changed by them). 0 means none; for an agent, type or
priority that there is none of, the session's is written once more, which costs one byte of FTS5's list and not five.
"""

import os
from collections.abc import Iterable, Mapping

import apsw

from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.store.connection import read_column

if TYPE_CHECKING:
    from ctxrank.indexer.store.change_log import LoggedDocument

KINDS = ("package", "artifact", "passage", "reasoning", "error", "strategy", "skill", "linked", "conversation")
_KIND_CODES = {kind: code for code, kind in enumerate(KINDS, start=1)}

# A package or artifact is also found by its passages.
WITH_PASSAGES = ("package", "artifact")

SENTINEL = "z0"  # on one row of its own: an index that does not find it is damaged
ROWID_SHIFT = 32


def index_rowid(session_id: int, document_id: int) -> int:
    """The index's rowid of a document: one session is one range of rowids."""
    return session_id << ROWID_SHIFT | document_id


def document_id_of(rowid: int) -> int:
    """The document's id in an index rowid."""
    return rowid & (1 << ROWID_SHIFT) - 1


def session_range(session_id: int) -> tuple[int, int]:
    """First and last index rowid that a session's documents can have."""
    return session_id << ROWID_SHIFT, (session_id + 1 << ROWID_SHIFT) - 1


def kind_facet(kind: str) -> str:
    """The facet of a kind; `k0`, which nothing has, for an unknown one."""
    return f"k{_KIND_CODES.get(kind, 0)}"


def scope_text(of: "LoggedDocument", labels: Mapping[str, int]) -> str:
    """The text of a document's `scope` column; `labels` maps agents, types and priorities to their ids."""
    session = f"s{of.session_id}"
    labelled = (("a", of.agent), ("t", of.type), ("p", of.priority))
    said = " ".join([f"{letter}{labels[name]}" if name in labels else session for letter, name in labelled])
    return f"k{_KIND_CODES[of.kind]} {session} g{of.group_id} {said} c{int(of.superseded_by is None)}"


class Scope(NamedTuple):
    """What a document must be: alternatives within a field, and every field that is not empty must hold.

    All of it is said of the document that a hit is shown as, which for a passage is its parent, except `kinds`: with
    'passage' in it, passages of any parent are in scope; without it, passages of parents of these kinds.
    """

    kinds: tuple[str, ...] = ()
    session_ids: tuple[int, ...] = ()
    group_ids: tuple[int, ...] = ()
    agents: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    priorities: tuple[str, ...] = ()
    origins: tuple[int, ...] = ()  # codes of the stores that made it; 0 is this one
    paths: tuple[str, ...] = ()  # patterns as typed: see `sqlite_globs`
    since: int | None = None  # microseconds since 1970, UTC; both ends are in scope
    until: int | None = None
    is_current: bool = False  # nothing that is superseded
    document_ids: frozenset[int] | None = None  # None is any
    without: "tuple[Scope, ...]" = ()  # what is in one of these is not in scope

    @property
    def is_narrow(self) -> bool:
        """Whether all of its rows may be read: one session, or documents that are named one by one."""
        return len(self.session_ids) == 1 or self.document_ids is not None


class Condition(NamedTuple):
    """SQL on `documents AS d` with its values; no SQL where nothing is asked."""

    sql: str
    values: tuple[str | int, ...]


def parent_condition(scope: Scope) -> Condition:
    """What no facet can say of a parent document: its kind, the store that made it, its time and its path."""
    asked: list[Condition] = []
    if "passage" not in scope.kinds and any(kind in scope.kinds for kind in WITH_PASSAGES):
        asked.append(_among("d.kind", scope.kinds))
    if scope.origins:
        asked.append(_among("iif(d.record_id < 0, -d.record_id >> 31, 0)", scope.origins))
    if scope.since is not None:
        asked.append(Condition("d.created_at >= ?", (scope.since,)))
    if scope.until is not None:
        asked.append(Condition("d.created_at <= ?", (scope.until,)))
    if scope.paths:
        globs = [glob for path in scope.paths for glob in sqlite_globs(path)]
        alternatives = ["d.path = ?"] * len(scope.paths) + ["'/' || d.path || '/' GLOB ?"] * len(globs)
        asked.append(Condition(f"({' OR '.join(alternatives)})", (*scope.paths, *globs)))
    for excluded in map(document_condition, scope.without):
        asked.append(Condition(f"({excluded.sql}) IS NOT TRUE", excluded.values))
    return _all_of(asked)


def document_condition(scope: Scope) -> Condition:
    """The whole scope of parent documents, for a question that no index answers."""
    kinds = scope.kinds
    if "passage" in kinds:  # the documents that have passages
        kinds = (*kinds, *WITH_PASSAGES)
    columns: dict[str, tuple[str | int, ...]] = {
        "kind": kinds, "session_id": scope.session_ids, "group_id": scope.group_ids, "agent": scope.agents,
        "type": scope.types, "priority": scope.priorities,
    }  # fmt: skip
    asked = [_among(f"d.{column}", wanted) for column, wanted in columns.items() if wanted]
    return _all_of([*asked, parent_condition(scope._replace(kinds=()))])


def sqlite_globs(pattern: str) -> list[str]:
    """What SQLite's GLOB is asked of `/path/` for a pattern, so that names match whole and not in part.

    A search narrows what a person sees, so it is more generous than a scope of linked artifacts
    (extensions/links/globs.py): `*` also takes slashes, a pattern without a slash may match any name on the way (`auth`
    or `*.py`, in whatever folder), and braces mean themselves.
    """
    pattern = without_dots(pattern)
    if not any(character in pattern for character in "*?["):
        return [f"*/{os.path.normpath(pattern).strip('/')}/*"] if pattern.strip("/") else ["*"]
    rooted = pattern if pattern.startswith(("/", "*")) else f"/{pattern}" if "/" in pattern else f"*/{pattern}"
    # `**/` also matches no folder at all.
    return [f"{glob}/" for glob in dict.fromkeys((rooted, rooted.replace("/**/", "/")))]


def without_dots(pattern: str) -> str:
    """A pattern without each `.` between slashes, as in `./src`; `.` alone is all that there is."""
    return "/".join([name for name in pattern.split("/") if name != os.curdir])


def _among(sql: str, values: tuple[str | int, ...]) -> Condition:
    return Condition(f"{sql} IN ({', '.join('?' * len(values))})", values)


def _all_of(asked: list[Condition]) -> Condition:
    values = [value for one in asked for value in one.values]
    return Condition(" AND ".join(one.sql for one in asked if one.sql), tuple(values))


def label_ids(primary: apsw.Connection, names: Iterable[str]) -> list[int]:
    """The ids of those agents, types and priorities that were ever stored."""
    wanted = tuple(names)
    query = f"SELECT id FROM labels WHERE text IN ({', '.join('?' * len(wanted))}) ORDER BY id"
    return read_column(primary, query, wanted, int)


def id_list(ids: Iterable[int]) -> str:
    """A JSON list of ids for json_each; the JSON encoder itself would be a millisecond of start-up."""
    return f"[{','.join(map(str, ids))}]"

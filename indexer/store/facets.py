"""Facets: what a document can be filtered by, as tokens of the index's `scope` column.

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
every document has the same number of them (so no length is changed by them). 0 means none.
"""

from collections.abc import Mapping

KINDS = ("package", "artifact", "passage", "reasoning", "error", "strategy", "skill", "linked")
_KIND_CODES = {kind: code for code, kind in enumerate(KINDS, start=1)}

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


def scope_text(
    kind: str,
    session_id: int,
    group_id: int,
    labels: Mapping[str, int],
    *,
    agent: str,
    type_: str,
    priority: str,
    is_current: bool,
) -> str:
    """The text of the `scope` column; `labels` maps agents, types and priorities to their ids."""
    return (
        f"k{_KIND_CODES[kind]} s{session_id} g{group_id} a{labels.get(agent, 0)} t{labels.get(type_, 0)} "
        f"p{labels.get(priority, 0)} c{int(is_current)}"
    )

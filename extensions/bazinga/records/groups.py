"""Names of task groups: which the predecessor's rules refuse, and what they are renamed to."""

import re

import apsw

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.rows import update
from ctxrank.indexer.store.store import Store

MAX_GROUP_CHARS = 64
RESERVED = ("global", "session", "all", "default")


class BadGroup(NamedTuple):
    """A group whose name the predecessor's rules refuse, and the name that renaming gives it."""

    id: int
    session: str
    name: str
    problem: str
    renamed_to: str


def name_problem(name: str, *, is_task_group: bool = False) -> str:
    """Why this is not a group's name; '' for one that is. A task group's must not mean the whole session."""
    if not name.strip():
        return "group_id cannot be empty"
    if len(name) > MAX_GROUP_CHARS:
        return f"group_id too long (max {MAX_GROUP_CHARS} chars, got {len(name)})"
    if not re.fullmatch(r"[a-zA-Z0-9_-]+", name):
        return "group_id must be alphanumeric with underscores/hyphens only"
    if is_task_group and name.lower() in RESERVED:
        return f"group_id '{name}' is reserved ({', '.join(RESERVED)})"
    return ""


def bad_groups(primary: apsw.Connection) -> list[BadGroup]:
    """The groups whose names the predecessor would refuse, by age."""
    query = "SELECT g.id, s.name, g.name FROM groups AS g JOIN sessions AS s ON s.id = g.session_id ORDER BY g.id"
    groups = [(int(number), str(session), str(name)) for number, session, name in primary.execute(query)]
    taken: dict[str, set[str]] = {}
    for _, session, name in groups:
        taken.setdefault(session, set()).add(name)
    bad: list[BadGroup] = []
    for number, session, name in groups:
        problem = name_problem(name, is_task_group=True)
        if problem:
            new = _free_name(name, taken[session])
            taken[session].add(new)
            bad.append(BadGroup(number, session, name, problem, new))
    return bad


def _free_name(name: str, taken: set[str]) -> str:
    """A name near this one that is allowed and free."""
    stem = re.sub(r"[^a-zA-Z0-9_-]+", "-", name).strip("-")[: MAX_GROUP_CHARS - 8] or "group"
    if stem.lower() in RESERVED:
        stem += "-group"
    number, new = 1, stem
    while new in taken:
        number += 1
        new = f"{stem}-{number}"
    return new


def rename_bad_groups(store: Store) -> list[BadGroup]:
    """Give them names that it takes; what belongs to a group stays with it. Returns those that were renamed."""
    with store.write() as change:
        bad = bad_groups(change.connection)
        for group in bad:
            update(change.connection, "groups", group.id, {"name": group.renamed_to})
    return bad

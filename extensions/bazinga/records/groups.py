"""Task groups in the predecessor's way: made or changed in one call, with what we have no column for kept as JSON."""

import re
import time

import apsw

from ctxrank.indexer.clock import SECOND_US, now_us
from ctxrank.indexer.exceptions import UsageError, require_word
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.sessions import (
    GROUP_STATUSES,
    find_group,
    find_session,
    has_session,
    list_groups,
    list_sessions,
    rename_group,
    require_group,
    require_session,
    set_group_references,
    update_group,
)
from ctxrank.indexer.redaction.engine import RedactionMode
from ctxrank.indexer.store.store import Store

MAX_GROUP_CHARS = 64
RESERVED = ("global", "session", "all", "default")
TIERS = ("Developer", "Senior Software Engineer")
_SPECIALIZATIONS = "bazinga/templates/specializations/"


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


def save_group(
    store: Store,
    session_name: str,
    name: str,
    title: str,
    status: str | None,
    specializations: tuple[str, ...] | None,
    others: dict[str, object],
    *,
    mode: RedactionMode,
) -> None:
    """Make a group, or change the one of this name; None leaves what it says already.

    `others` has no column here. Raises UsageError, NotFoundError, LockedError.
    """
    import json  # noqa: PLC0415  writing only

    from ctxrank.indexer.redaction.incoming_texts import IncomingTexts  # noqa: PLC0415  writing only

    problem = name_problem(name, is_task_group=True)
    if problem:
        raise UsageError(problem)
    if status is not None:
        require_word(status, GROUP_STATUSES, "a group's status", "Statuses")
    # Text inside JSON, as the predecessor has it in its column.
    paths = None if specializations is None else json.dumps([_specialization(path) for path in specializations])
    kept = {**others, "updated_at": _now_text(), "specializations": paths}
    given = json.dumps({key: value for key, value in kept.items() if value is not None})
    texts = IncomingTexts(mode)
    metadata = texts.json(given, empty="{}")
    with store.write() as change:
        session = require_session(change, session_name, create=False)
        group_id = require_group(change, session.id, name)
        update_group(change, group_id, title=texts.line(title) or None, status=status, metadata=metadata)


def _now_text() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now_us() // SECOND_US))


def _specialization(path: str) -> str:
    """The path of a specialisation in full. Raises UsageError for one that leaves their folder."""
    if not re.fullmatch(r"[a-zA-Z0-9/_.-]+", path):
        raise UsageError(f"Invalid specialization path: {path!a} has characters that no path there has.")
    if ".." in path:
        raise UsageError(f"Invalid specialization path: {path} leaves its folder.")
    for start in (_SPECIALIZATIONS, _SPECIALIZATIONS.removeprefix("bazinga/"), "specializations/"):
        if path.startswith(start):
            return _SPECIALIZATIONS + path.removeprefix(start)
    return _SPECIALIZATIONS + path.lstrip("/")


def set_references(store: Store, session: str, group: str, package_ids: tuple[int, ...]) -> tuple[int, ...] | None:
    """Name the packages that a group may see in addition to its own; those among them that the session has not.

    None where there is no such group.
    """
    from ctxrank.indexer.records.packages import list_packages  # noqa: PLC0415  loads the file indexing

    with store.write() as change:
        if not has_session(change.connection, session):
            return None
        found = find_group(change.connection, find_session(change.connection, session).id, group)
        if found is None:
            return None
        set_group_references(change, found.id, package_ids)
        update_group(change, found.id, metadata=f'{{"updated_at": "{_now_text()}"}}')
        known = {package.id for package in list_packages(change.connection, session=session, include_superseded=True)}
        return tuple(number for number in package_ids if number not in known)


def bad_groups(primary: apsw.Connection) -> list[BadGroup]:
    """The groups whose names the predecessor would refuse, by age."""
    groups = sorted(
        (group.id, session.name, group.name)
        for session in list_sessions(primary)
        for group in list_groups(primary, session.id)
    )
    taken = {(session, name) for _, session, name in groups}
    bad: list[BadGroup] = []
    for number, session, name in groups:
        problem = name_problem(name, is_task_group=True)
        if problem:
            new = _free_name(name, {other for owner, other in taken if owner == session})
            taken.add((session, new))
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
            rename_group(change, group.id, group.renamed_to)
    return bad

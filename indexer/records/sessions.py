"""Sessions and groups: what packages hang on."""

import apsw

from ctxrank.indexer.clock import format_day, now_us
from ctxrank.indexer.exceptions import NotFoundError, UsageError, require_word
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.redaction.ruleset import RedactionMode, may_hold_secret
from ctxrank.indexer.store.connection import Page, read_column, read_map, read_page, read_row, read_setting, read_value
from ctxrank.indexer.store.ids import SESSION_TITLE
from ctxrank.indexer.store.store import Change
from ctxrank.indexer.text.lines import is_one_line

if TYPE_CHECKING:
    from ctxrank.indexer.store.rows import Value

MODES = ("simple", "parallel")
SESSION_STATUSES = ("active", "completed", "failed")
ENDS = ("completed", "failed")
GROUP_STATUSES = ("pending", "in_progress", "completed", "failed", "approved_pending_merge", "merging")
# The project of what names none. What is saved under it belongs to every project of the store.
DEFAULT_PROJECT = "default"
# How many sessions say which project the store is of: the newest, so that a call's cost does not grow with the store.
_ASKED_FOR_PROJECT = 1000
MAX_NAME_CHARS = 200
# A session-wide request or package, in the spellings that callers use for it.
SESSION_WIDE = ("", "-", "global", "none")


class Session(NamedTuple):
    """One session of a team; `project` ties sessions of one project together."""

    id: int
    name: str
    project: str
    mode: str
    status: str
    requirements: str
    initial_branch: str
    created_at: int
    ended_at: int | None
    title: str | None = None  # of a runner's: see conversations.py


class TaskGroup(NamedTuple):
    """A task group inside a session; `context_references` are ids of packages it may see."""

    id: int
    session_id: int
    name: str
    title: str
    status: str
    context_references: tuple[int, ...]
    created_at: int


class NewSession(NamedTuple):
    """What a session is made from; a moment of None is now."""

    name: str
    project: str = DEFAULT_PROJECT
    mode: str = "simple"
    status: str = "active"
    requirements: str = ""
    initial_branch: str = "main"
    metadata: str = "{}"
    created_at: int | None = None
    ended_at: int | None = None


_SESSIONS = f"SELECT {', '.join(Session._fields[:-1])}, {SESSION_TITLE} FROM sessions AS s"
# SQL: whether this store made a session `s` first; what other stores made came with their records, and is theirs.
IS_OWN = """
    NOT EXISTS (SELECT 1 FROM imported_rows
                 WHERE source = 'maker' AND kind = 'session' AND source_key = CAST(s.id AS TEXT))
"""
_GROUPS = "SELECT id, session_id, name, title, status, context_references, created_at FROM groups WHERE session_id = ?"


def find_session(primary: apsw.Connection, name: str) -> Session:
    """The session of this name. Raises NotFoundError, which names the newest ones."""
    session = read_row(primary, f"{_SESSIONS} WHERE name = ?", (name,), Session)
    if session is None:
        newest = read_column(primary, "SELECT name FROM sessions ORDER BY created_at DESC, id DESC LIMIT 3", (), str)
        known = f"The newest are {', '.join(newest)}." if newest else "There are none yet."
        hint = "'ctxrank list sessions' shows all; --create-session makes one where you save."
        raise NotFoundError(f"There is no session '{name}'. {known}", hint)
    return session


def project_in_force(primary: apsw.Connection, given: str | None, session: str | None) -> str:
    """The project that a call means: the one given, else the session's (by name), else the store's.

    A session of DEFAULT_PROJECT names none. The store's is the one that its own sessions name, if all that name one
    name the same; else DEFAULT_PROJECT. Those of other stores are asked where no own one names any. An unknown session
    is no error.
    """
    if given is not None and given.strip():
        return given.strip()
    if session is not None:
        own = read_value(primary, "SELECT project FROM sessions WHERE name = ?", (session,), str)
        if own is not None and own != DEFAULT_PROJECT:
            return own
    query = f"""
        SELECT project, max({IS_OWN}) AS is_own
          FROM (SELECT id, project FROM sessions ORDER BY id DESC LIMIT ?) AS s
         WHERE project <> ? GROUP BY project ORDER BY is_own DESC LIMIT 2
    """
    found = read_map(primary, query, (_ASKED_FOR_PROJECT, DEFAULT_PROJECT), str, int)
    named = [project for project, is_own in found.items() if is_own] or [*found]
    return named[0] if len(named) == 1 else DEFAULT_PROJECT


def has_session(primary: apsw.Connection, name: str) -> bool:
    """Whether there is a session of this name."""
    return session_id_of(primary, name) is not None


def list_sessions(primary: apsw.Connection, limit: int = -1) -> Page[Session]:
    """All sessions, the newest first."""
    return read_page(primary, f"{_SESSIONS} ORDER BY created_at DESC, id DESC", (), Session, limit=limit)


def session_of_today(primary: apsw.Connection) -> str:
    """This store's newest session, if that is active and began today; else the name of one for today."""
    today = format_day(now_us())
    newest = read_row(primary, f"{_SESSIONS} WHERE {IS_OWN} ORDER BY created_at DESC, id DESC LIMIT 1", (), Session)
    if newest is not None and newest.status == "active" and format_day(newest.created_at) == today:
        return newest.name
    return today


def create_session(change: Change, new: NewSession) -> int:
    """Write a session with a copy of the skills configuration as it is now; returns its id.

    Raises UsageError for bad values or a name that is taken.
    """
    if not new.name.strip():
        raise UsageError("A session needs a name.", "Give one, such as shop-2026-11.")
    _check_name(change, new.name, "a session's")
    _refuse_secret(change, new.project, "a project's")
    change.blocklist.refuse("session", new.name)
    require_word(new.status, SESSION_STATUSES, "a session's status", "Statuses")
    require_word(new.mode, MODES, "a session's mode", "Modes")
    if has_session(change.connection, new.name):
        raise UsageError(f"There is a session '{new.name}' already.", "Use it, or choose another name.")
    from ctxrank.indexer.store.rows import insert  # noqa: PLC0415  start-up: writing only

    values = {**new._asdict(), "created_at": now_us() if new.created_at is None else new.created_at}
    values["skills_config"] = read_setting(change.connection, "skills_config")
    return insert(change.connection, "sessions", values)


def _check_name(change: Change, name: str, whose: str) -> None:
    """Names are part of every answer and are stored unchanged: one short line without a secret in it."""
    if not is_one_line(name):
        raise UsageError(f"{name!a} is not {whose} name.", "Choose one line of printable characters.")
    if len(name) > MAX_NAME_CHARS:
        raise UsageError(
            f"'{name[:40]}…' is too long for {whose} name: {len(name)} characters.",
            f"Choose at most {MAX_NAME_CHARS}.",
        )
    _refuse_secret(change, name, whose)


def _refuse_secret(change: Change, name: str, whose: str) -> None:
    mode = RedactionMode.PATTERN_ONLY.with_rules(change.user_rules())
    if may_hold_secret(name, mode):
        from ctxrank.indexer.redaction.engine import redact  # noqa: PLC0415  start-up: most names are short words

        rules = redact(name, mode).rules
        if rules:
            raise UsageError(f"{whose.capitalize()} name looks like a secret ({', '.join(rules)}).", "Choose another.")


def end_session(change: Change, name: str, status: str = "completed") -> Session:
    """Say that a session is over, and how; returns it as it was before. Saying it again changes nothing but the status.

    Raises NotFoundError, UsageError for a status that is no end.
    """
    if status not in ENDS:
        raise UsageError(f"'{status}' is no way in which a session ends.", f"It is {' or '.join(ENDS)}.")
    return set_session_status(change, name, status)


def set_session_status(change: Change, name: str, status: str) -> Session:
    """Say how far a session is, or that it goes on; returns it as it was before. Raises NotFoundError."""
    session = find_session(change.connection, name)
    from ctxrank.indexer.store.rows import update  # noqa: PLC0415  start-up: writing only

    ended_at = None if status == "active" else session.ended_at if session.ended_at is not None else now_us()
    update(change.connection, "sessions", session.id, {"status": status, "ended_at": ended_at})
    return session


def set_group_status(change: Change, session: str, name: str, status: str) -> TaskGroup:
    """Say how far a group is; returns it as it was before. Raises NotFoundError, UsageError for a bad status."""
    require_word(status, GROUP_STATUSES, "a group's status", "Statuses")
    owner = find_session(change.connection, session)
    group = find_group(change.connection, owner.id, name)
    if group is None:
        known = ", ".join(one.name for one in list_groups(change.connection, owner.id)) or "none"
        raise NotFoundError(
            f"There is no group '{name}' in {session}; it has {known}.", "'ctxrank group create' makes one."
        )
    update_group(change, group.id, status=status)
    return group


def require_session(change: Change, name: str, *, create: bool, project: str = DEFAULT_PROJECT) -> Session:
    """The session of this name, made first if `create`. Raises NotFoundError, UsageError."""
    if create and not has_session(change.connection, name):
        create_session(change, NewSession(name, project))
    return find_session(change.connection, name)


def require_place(
    change: Change, session: str, group: str | None, *, create: bool, created_at: int | None = None
) -> tuple[Session, int | None]:
    """The session and the group that a record is saved in; a new group is made on the way. Raises as `require_session`.

    A session-wide name is no group.
    """
    owner = require_session(change, session, create=create)
    if group is None or is_session_wide(group):
        return owner, None
    return owner, require_group(change, owner.id, group, created_at=created_at)


def is_session_wide(group: str | None) -> bool:
    """Whether a group's name means all groups of the session."""
    return group is None or group.strip().lower() in SESSION_WIDE


def find_group(primary: apsw.Connection, session_id: int, name: str) -> TaskGroup | None:
    """The group of exactly this name in a session, or None."""
    return read_row(primary, f"{_GROUPS} AND name = ?", (session_id, name), _group)


def session_id_of(primary: apsw.Connection, name: str) -> int | None:
    """The id of a session; None for one that is not there."""
    return read_value(primary, "SELECT id FROM sessions WHERE name = ?", (name,), int)


def group_ids_of(primary: apsw.Connection, name: str) -> list[tuple[int, int]]:
    """(group, its session) of all groups of exactly this name."""
    return list(read_map(primary, "SELECT id, session_id FROM groups WHERE name = ?", (name,), int, int).items())


def list_groups(primary: apsw.Connection, session_id: int) -> Page[TaskGroup]:
    """The groups of a session by age."""
    return read_page(primary, f"{_GROUPS} ORDER BY created_at, id", (session_id,), _group)


def require_group(change: Change, session_id: int, name: str, *, created_at: int | None = None) -> int:
    """The id of a group, which is made on the way if it is new. Raises UsageError for a bad name."""
    found = find_group(change.connection, session_id, name)
    return found.id if found else create_group(change, session_id, name, created_at=created_at or now_us())


def create_group(change: Change, session_id: int, name: str, **said: "Value") -> int:
    """Write a group with what is said of it by column; returns its id. Raises UsageError for a bad name or status, or a
    name that is taken.
    """
    if is_session_wide(name):
        raise UsageError(f"'{name}' is not a group's name: it means the whole session.", "Choose a name such as AUTH.")
    _check_name(change, name, "a group's")
    require_word(str(said.get("status", "pending")), GROUP_STATUSES, "a group's status", "Statuses")
    if find_group(change.connection, session_id, name) is not None:
        raise UsageError(f"There is a group '{name}' already.", "Use it, or choose another name.")
    from ctxrank.indexer.store.rows import insert  # noqa: PLC0415  start-up: writing only

    return insert(change.connection, "groups", {"created_at": now_us(), **said, "session_id": session_id, "name": name})


def update_group(
    change: Change, group_id: int, *, title: str | None = None, status: str | None = None, metadata: str = "{}"
) -> None:
    """Write what is given over what a group says; `metadata` are a JSON object that is merged into its own."""
    query = """
        UPDATE groups SET title = coalesce(?, title), status = coalesce(?, status), metadata = json_patch(metadata, ?)
         WHERE id = ?
    """
    change.connection.execute(query, (title, status, metadata, group_id))


def set_group_references(change: Change, group_id: int, package_ids: tuple[int, ...]) -> None:
    """Set which packages of other groups a group may see."""
    from ctxrank.indexer.store.rows import update  # noqa: PLC0415  start-up: writing only

    update(change.connection, "groups", group_id, {"context_references": f"[{', '.join(map(str, package_ids))}]"})


def _group(
    id_: int, session_id: int, name: str, title: str, status: str, references: str, created_at: int
) -> TaskGroup:
    # A JSON list of whole numbers; without the JSON parser, which most queries need for nothing else.
    numbers = tuple(int(part) for part in references.strip("[] \n").split(",") if part.strip())
    return TaskGroup(id_, session_id, name, title, status, numbers, created_at)

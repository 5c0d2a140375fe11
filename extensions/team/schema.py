"""The log made and upgraded, projects and machines admitted: what its administrator does, once each.

made = prepare("host=log.example user=postgres", "shop", ["anna", "ben"])
made.passwords["anna"]        what is given to that machine, and is not kept
made.codes["anna"]            with which it joins, within a day
"""

import itertools
import os
import secrets
from collections.abc import Sequence

from psycopg import Connection, errors
from psycopg.sql import SQL, Composed, Identifier, Literal

from ctxrank.extensions.team.log import FORMAT, format_of, opened, postgres_errors
from ctxrank.indexer.bounds import MAX_CONNECTIONS
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.lines import is_uuid

_OLDEST = 150000  # PostgreSQL 15
_OWNER, _MEMBERS = "ctxrank_log", "ctxrank_member"
_READER = "reader"  # ROLE=reader is admitted to read
# What a session of a member begins with. It may change them, but for the last, so what others wait for is bounded in
# the functions of the log, too.
_LIMITS = {
    "statement_timeout": "120s",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "60s",
    "idle_session_timeout": "10min",
    "temp_file_limit": "256MB",
}


class Prepared(NamedTuple):
    """What was made; passwords are of the roles that were made now, codes of those that have not joined."""

    is_new: bool
    is_new_project: bool
    passwords: dict[str, str]
    codes: dict[str, str]
    admitted: tuple[str, ...]
    notes: tuple[str, ...]


class _Admission(NamedTuple):
    """A role to admit, and the store that it joins with; None: any that nobody speaks for."""

    role: str
    is_writer: bool
    store: str | None


def prepare(dsn: str, project: str, machines: Sequence[str]) -> Prepared:
    """Make the log where there is none, bring it to this format, make the project, and admit machines to it.

    Raises UsageError, CtxrankError where the role may not do so.
    """
    if not project or len(project) > 200 or not project.isprintable():
        raise UsageError("A project's name is 1 to 200 printable characters.")
    admitted = [_admission(machine) for machine in machines]
    with postgres_errors(), opened(dsn) as connection:
        if connection.info.server_version < _OLDEST:
            raise CtxrankError("The log needs PostgreSQL 15 or newer.", "Upgrade the server.")
        notes: list[str] = []
        with connection.transaction():
            # A lock that no member can hold; before there is a log there are none.
            one_at_a_time = "LOCK TABLE ctxrank.version IN EXCLUSIVE MODE"
            if not format_of(connection):
                one_at_a_time = "SELECT pg_advisory_xact_lock(hashtext('ctxrank'))"
            connection.execute(one_at_a_time)
            is_new = _migrate(connection)
        _allow_erasing(connection, notes)
        with connection.transaction():
            made = connection.execute(
                "INSERT INTO ctxrank.projects (name) VALUES (%s) ON CONFLICT DO NOTHING RETURNING id", (project,)
            ).fetchone()
            passwords: dict[str, str] = {}
            codes: dict[str, str] = {}
            for role, is_writer, store in admitted:
                if password := _make_role(connection, role):
                    passwords[role] = password
                code = secrets.token_hex(16)  # an argument of `team join`: it may not begin with a dash
                query = "SELECT ctxrank.admit(%s, %s, %s, %s, %s::uuid)"
                must_join = connection.execute(query, (project, role, is_writer, code, store)).fetchone()
                if must_join is not None and must_join[0]:
                    codes[role] = code
        _limit(connection, notes)
    return Prepared(is_new, made is not None, passwords, codes, tuple(one.role for one in admitted), tuple(notes))


def _admission(machine: str) -> _Admission:
    """What `ROLE`, `ROLE=reader`, `ROLE=STORE` or `ROLE=reader=STORE` says. Raises UsageError."""
    role, *said = machine.split("=")
    stores = [one for one in said if is_uuid(one)]
    if not role or len(stores) > 1 or said not in (stores, [_READER, *stores]):
        raise UsageError(f"'{machine}' admits nobody.", "ROLE, ROLE=reader, or ROLE=UUID of the store that it is for.")
    return _Admission(role, _READER not in said, stores[0] if stores else None)


def _migrate(connection: "Connection[tuple[object, ...]]") -> bool:
    """Run the files that were not run yet; whether there was no log before."""
    number = format_of(connection)
    if number > FORMAT:
        raise CtxrankError(f"The log has format {number}; this program knows {FORMAT}.", "Upgrade ctxrank first.")
    for role in (_OWNER, _MEMBERS):
        if not _has_role(connection, role):
            connection.execute(SQL("CREATE ROLE {} NOLOGIN").format(Identifier(role)))
    if number == 0:
        connection.execute(SQL("GRANT {} TO CURRENT_USER").format(Identifier(_OWNER)))
    for step in range(number + 1, FORMAT + 1):
        path = os.path.join(os.path.dirname(__file__), f"log_{step:03d}.sql")
        with open(path, encoding="utf-8") as file:
            connection.execute(file.read().encode())  # bytes: it is one text of many statements, without values
    return number == 0


def _allow_erasing(connection: "Connection[tuple[object, ...]]", notes: list[str]) -> None:
    """Let the log's owner get forgotten keys out of the write-ahead log."""
    try:
        with connection.transaction():
            connection.execute(SQL("GRANT EXECUTE ON FUNCTION pg_switch_wal() TO {}").format(Identifier(_OWNER)))
            connection.execute(SQL("GRANT pg_checkpoint TO {}").format(Identifier(_OWNER)))
    except errors.InsufficientPrivilege:
        notes.append(
            "the role may not let the log switch and remove its write-ahead log: forgotten keys stay in it until the"
            " server reuses its segments."
        )
    try:
        with connection.transaction():
            connection.execute(SQL("GRANT pg_signal_backend, pg_read_all_stats TO {}").format(Identifier(_OWNER)))
    except errors.InsufficientPrivilege:
        notes.append("the role may not let the log end a member's session that holds its locks: expel such a member.")
    row = connection.execute("SHOW wal_recycle").fetchone()
    if row is not None and row[0] != "off":
        notes.append("set wal_recycle = off: else segments of the write-ahead log are renamed with what they hold.")


def _has_role(connection: "Connection[tuple[object, ...]]", role: str) -> bool:
    return connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is not None


def _make_role(connection: "Connection[tuple[object, ...]]", role: str) -> str:
    """Make a role that may log in, unless it is there, and one of the members; returns the password of one made now."""
    password = ""
    if not _has_role(connection, role):
        password = secrets.token_urlsafe(24)
        query = SQL("CREATE ROLE {} LOGIN CONNECTION LIMIT {} PASSWORD {}")
        connection.execute(query.format(Identifier(role), Literal(MAX_CONNECTIONS), Literal(password)))
    connection.execute(SQL("GRANT {} TO {}").format(Identifier(_MEMBERS), Identifier(role)))
    return password


def _limit(connection: "Connection[tuple[object, ...]]", notes: list[str]) -> None:
    """Bound what a member of the log can hold and fill: its sessions, temporary tables, large objects."""
    database = Identifier(connection.info.dbname)
    statements: list[SQL | Composed] = [
        SQL("REVOKE TEMPORARY ON DATABASE {} FROM PUBLIC").format(database),
        SQL("GRANT TEMPORARY ON DATABASE {} TO {}").format(database, Identifier(_OWNER)),
        SQL("REVOKE EXECUTE ON FUNCTION lo_create(oid), lo_creat(integer), lo_from_bytea(oid, bytea) FROM PUBLIC"),
    ]
    members = connection.execute("SELECT DISTINCT role::text FROM ctxrank.members").fetchall()
    for (role,), (name, value) in itertools.product(members, _LIMITS.items()):
        change = SQL("ALTER ROLE {} IN DATABASE {} SET {} = {}")
        statements.append(change.format(Identifier(str(role)), database, Identifier(name), Literal(value)))
    for statement in statements:
        try:
            with connection.transaction():
                connection.execute(statement)
        except errors.InsufficientPrivilege as error:
            notes.append(f"a limit of the members is not set: {error.diag.message_primary}.")

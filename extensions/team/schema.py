"""The log made and upgraded, projects and machines admitted: what its administrator does, once each.

made = prepare("host=log.example user=postgres", "shop", ["anna", "ben"])
made.passwords["anna"]        what is given to that machine, and is not kept
"""

import os
import secrets
from collections.abc import Sequence

from psycopg import Connection, errors
from psycopg.sql import SQL, Identifier, Literal

from ctxrank.extensions.team.log import FORMAT, format_of, opened, postgres_errors
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.light_typing import NamedTuple

_OLDEST = 150000  # PostgreSQL 15
_OWNER = "ctxrank_log"


class Prepared(NamedTuple):
    """What was made; passwords are of the roles that were made now."""

    is_new: bool
    is_new_project: bool
    passwords: dict[str, str]
    admitted: tuple[str, ...]
    notes: tuple[str, ...]


def prepare(dsn: str, project: str, machines: Sequence[str]) -> Prepared:
    """Make the log where there is none, bring it to this format, make the project, and admit machines to it.

    Raises UsageError, CtxrankError where the role may not do so.
    """
    if not project or len(project) > 200 or not project.isprintable():
        raise UsageError("A project's name is 1 to 200 printable characters.")
    with postgres_errors(), opened(dsn) as connection:
        if connection.info.server_version < _OLDEST:
            raise CtxrankError("The log needs PostgreSQL 15 or newer.", "Upgrade the server.")
        notes: list[str] = []
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(hashtext('ctxrank'))")
            is_new = _migrate(connection)
        _allow_erasing(connection, notes)
        with connection.transaction():
            made = connection.execute(
                "INSERT INTO ctxrank.projects (name) VALUES (%s) ON CONFLICT DO NOTHING RETURNING id", (project,)
            ).fetchone()
            passwords: dict[str, str] = {}
            for machine in machines:
                if password := _admit(connection, project, machine):
                    passwords[machine] = password
    return Prepared(is_new, made is not None, passwords, tuple(machines), tuple(notes))


def _migrate(connection: "Connection[tuple[object, ...]]") -> bool:
    """Run the files that were not run yet; whether there was no log before."""
    number = format_of(connection)
    if number > FORMAT:
        raise CtxrankError(f"The log has format {number}; this program knows {FORMAT}.", "Upgrade ctxrank first.")
    if number == 0:
        there = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (_OWNER,)).fetchone()
        if there is None:
            connection.execute(SQL("CREATE ROLE {} NOLOGIN").format(Identifier(_OWNER)))
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
    row = connection.execute("SHOW wal_recycle").fetchone()
    if row is not None and row[0] != "off":
        notes.append("set wal_recycle = off: else segments of the write-ahead log are renamed with what they hold.")


def _admit(connection: "Connection[tuple[object, ...]]", project: str, machine: str) -> str:
    """Make a role that may log in, unless it is there, and a member of it; returns the password of one made now."""
    there = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (machine,)).fetchone()
    password = ""
    if there is None:
        password = secrets.token_urlsafe(24)
        connection.execute(SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(Identifier(machine), Literal(password)))
    connection.execute(
        """
        INSERT INTO ctxrank.members (project, role) SELECT id, %s FROM ctxrank.projects WHERE name = %s
            ON CONFLICT (project, role) DO UPDATE SET left_at = NULL
        """,
        (machine, project),
    )
    return password

"""Bringing a truth file to the schema of this program, one numbered SQL file at a time.

Read only when `user_version` is behind, so that an ordinary call pays nothing. A released file is
never edited: what changes afterwards is the next number.
"""

import os
import uuid

import apsw

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.connection import immediate
from ctxrank.indexer.errors import DamagedError
from ctxrank.indexer.store import APPLICATION_ID, SCHEMA_VERSION


def migrate(connection: apsw.Connection, path: str) -> None:
    """Apply what is missing, under one write lock, looking again once it is held.

    Raises DamagedError for a foreign database or one from a newer program; nothing is changed then.
    """
    with immediate(connection):
        version = checked_version(connection, path)
        for number in range(version + 1, SCHEMA_VERSION + 1):
            connection.execute(read_sql(f"truth_{number:03d}.sql"))
            if number == 1:
                connection.execute(
                    "INSERT INTO store (id, uuid, seq, created_at) VALUES (1, ?, 0, ?)",
                    (str(uuid.uuid4()), now_us()),
                )
                connection.execute("INSERT INTO roots (id, path) VALUES (1, '.')")
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", SCHEMA_VERSION)


def checked_version(connection: apsw.Connection, path: str) -> int:
    """The file's schema version; 0 for a new file. Raises DamagedError where it is not ours to use."""
    version = int(connection.pragma("user_version"))
    if version > SCHEMA_VERSION:
        raise DamagedError(
            f"{path} has schema {version}; this program knows up to {SCHEMA_VERSION}.",
            "It was written by a newer ctxrank: upgrade this one.",
        )
    if version == 0 and connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
        raise DamagedError(
            f"{path} is an SQLite database, but not a ctxrank store.",
            "Point --db elsewhere; a predecessor's database comes in with 'ctxrank import bazinga DB'.",
        )
    if version and int(connection.pragma("application_id")) != APPLICATION_ID:
        raise DamagedError(f"{path} belongs to another program.", "Point --db elsewhere.")
    return version


def read_sql(name: str) -> str:
    """The text of one of the numbered files."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()

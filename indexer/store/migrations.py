"""Bringing a store to the schema of this program: one file for a new store, then numbered SQL files.

    schema.sql    migration_008.sql    migration_009.sql    migration_010.sql    …
    7 ─────────►  8 ────────────────►  9 ────────────────►  10

Read only when `user_version` is behind, so that an ordinary call pays nothing. A released file is never edited: what
changes afterwards is the next number. It must not end the transaction that it runs in.
"""

import os
import uuid
from collections.abc import Callable

import apsw

from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import APPLICATION_ID, SCHEMA_VERSION, immediate, snapshot
from ctxrank.indexer.store.known_stores import new_token
from ctxrank.indexer.store.location import Identity
from ctxrank.indexer.store.record_log import FIRST_SCHEMA as LOGGED_FROM
from ctxrank.indexer.store.record_log import log_changes
from ctxrank.indexer.store.rows import insert

_OWNED_FROM = 11  # extensions own their tables
FIRST_SCHEMA = 7  # what schema.sql makes; no store of an older one was ever released
UNRELEASED_STEP = "No program of today reads it: move the store away, then 'ctxrank init'."


class Schema(NamedTuple):
    """A schema to reach, and the folder with the SQL files that lead to it."""

    version: int
    sql_folder: str


PRESENT = Schema(SCHEMA_VERSION, os.path.dirname(__file__))


def migrate(
    connection: apsw.Connection,
    path: str,
    schema: Schema = PRESENT,
    *,
    announce: Callable[[Identity, str], None] | None = None,
) -> bool:
    """Apply what is missing, in one transaction, and look again once the write lock is held.

    Returns whether a store was made; it is announced before it is committed, so no process sees it unknown.
    Raises DamagedError for a foreign database, one from a newer program or one from before the first release; nothing
    is changed then.
    """
    with snapshot(connection):  # another process may be making it
        checked_version(connection, path, schema)  # a file that is refused is not locked for it
    with immediate(connection):
        version = checked_version(connection, path, schema)
        apply_schema(connection, version, schema)
        if version == 0:
            identity = Identity(str(uuid.uuid4()), new_token())
            insert(connection, "store", {"id": 1, "seq": 0, "created_at": now_us(), **identity._asdict()})
            connection.execute("INSERT INTO roots (id, path) VALUES (1, '.')")
            if announce is not None:
                announce(identity, path)
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", schema.version)
    if version == 0:
        # The page that says who the store is lies in the file, and not in the log alone.
        connection.execute("PRAGMA wal_checkpoint(FULL)").fetchall()
    return version == 0


def apply_schema(connection: apsw.Connection, version: int, schema: Schema = PRESENT) -> None:
    """Run the SQL files that lead from schema `version` (0: an empty file) to the one to reach."""
    if version == 0:
        connection.execute(_read_sql(schema, "schema.sql"))
        version = FIRST_SCHEMA
    for number in range(version + 1, schema.version + 1):
        connection.execute(_read_sql(schema, f"migration_{number:03d}.sql"))
        there = "SELECT 1 FROM sqlite_schema WHERE name = 'linked_trees'"
        if number == _OWNED_FROM and connection.execute(there).get:
            # Every store had the tables of links before: where they hold nothing, they go.
            if connection.execute("SELECT 1 FROM linked_trees LIMIT 1").get:
                connection.execute("INSERT INTO extensions (name, version) VALUES ('links', 1)")
            else:
                for table in ("annotations", "annotated_files", "linked_texts", "linked_artifacts", "linked_trees"):
                    connection.execute(f"DROP TABLE {table}")
    if schema.version >= LOGGED_FROM:
        for kind in KINDS.values():
            if kind.is_exported and not kind.is_file:  # a file is a record while it has a document of its own
                log_changes(connection, kind)


def checked_version(connection: apsw.Connection, path: str, schema: Schema = PRESENT) -> int:
    """The file's schema version; 0 for a new file. Raises DamagedError where it is not ours to use."""
    version = int(connection.pragma("user_version"))
    if version == 0:
        if connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
            raise DamagedError(
                f"{path} is an SQLite database, but not a ctxrank store.",
                "Point --db elsewhere; 'ctxrank import --help' says which databases can come in.",
            )
        return 0
    if version <= schema.version and int(connection.pragma("application_id")) != APPLICATION_ID:
        raise DamagedError(f"{path} belongs to another program.", "Point --db elsewhere.")
    refuse_version(version, path, schema)
    return version


def refuse_version(version: int, path: str, schema: Schema = PRESENT) -> None:
    """Raises DamagedError where no file leads on from a version: it is newer, or from before the first release."""
    if version > schema.version:
        raise DamagedError(
            f"{path} has schema {version}; this program knows up to {schema.version}.",
            "It was written by a newer ctxrank: upgrade this one.",
        )
    if version < FIRST_SCHEMA:
        raise DamagedError(f"{path} has schema {version}, of a ctxrank from before the first release.", UNRELEASED_STEP)


def _read_sql(schema: Schema, name: str) -> str:
    with open(os.path.join(schema.sql_folder, name), encoding="utf-8") as file:
        return file.read()

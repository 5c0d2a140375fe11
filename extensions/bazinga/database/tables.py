"""The predecessor's tables, schemas 6 to 19, row by row.

    tables.rows("sessions", "session_id TEXT, created_at TEXT")      ("shop", "2025-12-01 09:00:00"), …

A column that an old schema has not is NULL. Every column is cast, because SQLite would hold anything in any of them.
"""

import os
from collections.abc import Iterator

import apsw

from ctxrank.indexer.exceptions import DamagedError

Value = str | int | float | None

OLDEST_SCHEMA = 6  # the first that has packages
NEWEST_SCHEMA = 19
# What is brought in, and which schema it is of.
READ = (
    "schema_version", "sessions", "task_groups", "context_packages", "context_package_consumers", "consumption_scope",
    "orchestration_logs", "error_patterns", "strategies", "skill_outputs", "token_usage",
)  # fmt: skip
# A row takes this much at least, and some rows are read twice; the rest is room.
_LEAST_ROW_BYTES = 4
_MAX_GROWTH = 8
HINT = "Give the predecessor's database, usually bazinga/bazinga.db."


class Tables:
    """The tables of one database, each read without its indexes."""

    def __init__(self, connection: apsw.Connection, path: str) -> None:
        self._connection = connection
        self._path = path
        self._encoding = str(connection.pragma("encoding")).lower()  # utf-8, utf-16le, utf-16be
        # A virtual table, which has no page of its own, would run code of its module's.
        query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
        # Pages may be forged to share what they lead to, and then say more than any disk holds.
        sizes = [os.path.getsize(name) for name in (path, f"{path}-wal") if os.path.exists(name)]
        self._left_bytes = _MAX_GROWTH * sum(sizes)
        self._tables = {str(name) for (name,) in connection.execute(query)}

    def checked_schema(self, *, is_whole: bool = True) -> int:
        """The version of the schema; the newest where what is not whole lost it: a column that is missing is NULL.

        Raises DamagedError where these are not the predecessor's tables.
        """
        needed = {"schema_version", "sessions", "context_packages"} if is_whole else {"sessions", "context_packages"}
        if not needed <= self._tables:
            raise DamagedError(f"{self._path} is not a database of the predecessor: it has no packages.", HINT)
        schema = max((row[0] for row in self.rows("schema_version", "version INTEGER") if row[0]), default=0)
        if not schema and not is_whole:
            schema = NEWEST_SCHEMA
        if not isinstance(schema, int) or not OLDEST_SCHEMA <= schema <= NEWEST_SCHEMA:
            raise DamagedError(
                f"{self._path} has schema {schema} of the predecessor; {OLDEST_SCHEMA} to {NEWEST_SCHEMA} can come in.",
                "Let the predecessor upgrade it first."
                if isinstance(schema, int) and schema < OLDEST_SCHEMA
                else "Upgrade ctxrank.",
            )
        for table, wanted in (
            ("sessions", {"session_id"}),
            ("context_packages", {"id", "session_id", "package_type", "file_path", "summary"}),
        ):
            if not wanted <= set(self.columns(table)):
                raise DamagedError(f"{self._path}: the table {table} is not the predecessor's.", HINT)
        return schema

    def columns(self, table: str) -> dict[str, str]:
        """The columns a table has, with their declared types; none for a table that is not there."""
        rows = self._connection.execute(f"PRAGMA table_info({table})")
        return {str(row[1]): str(row[2]).upper() for row in rows}

    def others(self) -> tuple[str, ...]:
        """The tables that nothing is read of, by name."""
        return tuple(sorted(name for name in self._tables if name not in READ and not name.startswith("sqlite_")))

    def count(self, table: str, where: str = "") -> int:
        """How many rows a table has; nothing of them is read."""
        quoted = '"' + table.replace('"', '""') + '"'
        row = self._connection.execute(f"SELECT count(*) FROM {quoted} NOT INDEXED {where}").fetchone()
        return int(row[0]) if row else 0

    def rows(self, table: str, columns: str, where: str = "") -> Iterator[tuple[Value, ...]]:
        """The columns, each `name TYPE`, of every row; NULL for those that are missing in this schema."""
        if table not in self._tables:
            return
        present = self.columns(table)
        selected: list[str] = []
        for column in columns.split(", "):
            name, type_ = column.split(" ")
            # As bytes: text that is not well-formed would be an error.
            cast = "BLOB" if type_ == "TEXT" else type_
            selected.append(f"CAST({name} AS {cast})" if name in present else "NULL")
        # Indexes are not asked: a damaged one would lose rows without a word.
        query = f"SELECT {', '.join(selected)} FROM {table} NOT INDEXED {where}"
        for row in self._connection.execute(query):
            self._left_bytes -= _LEAST_ROW_BYTES + sum(len(value) for value in row if isinstance(value, bytes))
            if self._left_bytes < 0:
                raise DamagedError(f"{self._path} holds more than a file of its size can.", HINT)
            yield tuple(self._decoded(value) if isinstance(value, bytes) else value for value in row)

    def _decoded(self, value: bytes) -> str:
        return value.decode(self._encoding, "replace").replace("\0", "\ufffd")

"""What was imported: by source, kind and key the state of a row that was applied last, and its row here.

What the state of a row is, its importer says: exchange/register.py for lines, cli/agents/notes.py for notes.
"""

from collections.abc import Iterable

import apsw

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import read_map, read_row
from ctxrank.indexer.store.facets import id_list


class Entry(NamedTuple):
    """The state of a row as it was when it came (a digest, or the number of a change), and the row here."""

    digest: str
    target_id: int

    @property
    def seq(self) -> int:
        """The number of the change that it stands for; 0 where it stands for none."""
        return int(self.digest) if self.digest.isdecimal() else 0


_PLACE = "source = ? AND kind = ? AND source_key = ?"


def source_of(uuid: str) -> str:
    """What the register calls the store of a uuid."""
    return f"jsonl:{uuid}"


def read_entry(connection: apsw.Connection, source: str, kind: str, key: object) -> Entry | None:
    """What is known of a row now."""
    query = f"SELECT digest, target_id FROM imported_rows WHERE {_PLACE}"
    return read_row(connection, query, (source, kind, str(key)), Entry)


def write_entry(
    connection: apsw.Connection, source: str, kind: str, key: object, digest: str, target_id: int = 0
) -> None:
    """Enter what a row became, inside the caller's transaction."""
    query = "INSERT OR REPLACE INTO imported_rows (source, kind, source_key, digest, target_id) VALUES (?, ?, ?, ?, ?)"
    connection.execute(query, (source, kind, str(key), digest, target_id))


def remove_entry(connection: apsw.Connection, source: str, kind: str, key: object) -> None:
    """Forget a row, inside the caller's transaction."""
    connection.execute(f"DELETE FROM imported_rows WHERE {_PLACE}", (source, kind, str(key)))


def forget_lines(connection: apsw.Connection, kind: str, target_ids: Iterable[int], but_of: str) -> int:
    """Let what stores say of rows that went be news again, but for one store; returns of how many lines."""
    query = """
        DELETE FROM imported_rows
         WHERE source LIKE 'jsonl:%' AND source <> ? AND kind = ? AND target_id IN (SELECT value FROM json_each(?))
    """
    connection.execute(query, (source_of(but_of), kind, id_list(target_ids)))
    return connection.changes()


def take_waiting(connection: apsw.Connection, source: str, kind: str, number: int) -> dict[int, str]:
    """What waits for a row, by a key that begins with its number: by row here, as what; none of it waits any longer."""
    where = "source = ? AND kind = ? AND source_key > ? AND source_key < ?"
    values = (source, kind, f"{number} ", f"{number}!")
    found = read_map(connection, f"SELECT target_id, digest FROM imported_rows WHERE {where}", values, int, str)
    connection.execute(f"DELETE FROM imported_rows WHERE {where}", values)
    return found

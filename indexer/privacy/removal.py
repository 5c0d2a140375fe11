"""Taking records out of the primary database, with everything that hangs on them.

A document leaves a tombstone. A package takes its consumers and deliveries along, and nothing that stays
may point to it: a newer version forgets what it replaced, an older one points to what replaced the
replacement or is current again, a group's references lose it. A file that loses its last package is
found as itself again, as a scan would have it.

The caller has switched foreign keys off (`unchecked_references`): SQLite would look through all
packages for each one that goes. What they would do is done here, once for a whole batch.
"""

import contextlib
from collections.abc import Callable, Generator, Mapping, Sequence

import apsw

from ctxrank.indexer.catalogue import KINDS, file_tables, kinds_of, tables_of
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.declarations import Table
from ctxrank.indexer.files import artifacts
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.blocklist import SESSION
from ctxrank.indexer.store.connection import read_column, read_rows
from ctxrank.indexer.store.facets import id_list
from ctxrank.indexer.store.store import Change

AMONG = "IN (SELECT value FROM json_each(?))"
_GOING = "IN (SELECT value FROM json_each(?1))"

Seal = Callable[[apsw.Connection, bytes], None]  # keeps a changeset of SQLite, in the transaction that it is of
_NUMBERED_ANEW = ("record_log", "tombstones", "labels")


class Remover(NamedTuple):
    """Who has something removed: the uuid of another store ('' for this one), the number of its order, and what seals
    the rows that go, so that the order can be taken back.
    """

    origin: str = ""
    order_id: int | None = None
    seal: Seal | None = None


HERE = Remover()


class Removal(NamedTuple):
    """What was removed at once of a kind: when, by whom ('': here), by which order, and how many rows."""

    removed_at: int
    origin: str
    order: int | None
    kind: str
    removed: int


def removals(primary: apsw.Connection) -> list[Removal]:
    """The log of what was removed, the latest first."""
    query = "SELECT removed_at, origin, order_id, kind, removed FROM removals ORDER BY id DESC LIMIT 1000"
    return list(read_rows(primary, query, (), Removal))


def note_removals(writer: apsw.Connection, counts: Mapping[str, int], by: Remover) -> None:
    """Note that so many of each kind were removed, by whom and by which order; no text. `writer` has a transaction."""
    query = "INSERT INTO removals (removed_at, origin, order_id, kind, removed) VALUES (?, ?, ?, ?, ?)"
    removed = [(now_us(), by.origin, by.order_id, kind, count) for kind, count in counts.items() if count]
    writer.executemany(query, removed)


@contextlib.contextmanager
def sealing(writer: apsw.Connection, seal: Seal | None) -> Generator[None, None, None]:
    """Give the changes inside to what seals them. `writer` has a transaction open."""
    if seal is None:
        yield
        return
    with contextlib.closing(apsw.Session(writer, "main")) as session:
        session.table_filter(lambda name: name not in _NUMBERED_ANEW)
        session.attach()
        yield
        changes = session.changeset()
    seal(writer, changes)


@contextlib.contextmanager
def unchecked_references(primary: apsw.Connection) -> Generator[None, None, None]:
    """Foreign keys off for the transactions inside; has no effect within one."""
    primary.pragma("foreign_keys", False)
    try:
        yield
    finally:
        primary.pragma("foreign_keys", True)


def removable(primary: apsw.Connection) -> Mapping[str, Table]:
    """The tables whose rows can be removed by their ids, by what they are counted as: kinds, files, sessions last."""
    kinds = kinds_of(primary)
    files = {table.counted_as or table.name: table for table, _ in file_tables(primary)}
    records = {kind.name: kind.table for kind in kinds.values() if not (kind.is_container or kind.is_file)}
    return records | files | {SESSION: KINDS[SESSION].table}


def remove_records(change: Change, kind: str, numbers: Sequence[int]) -> None:
    """Remove rows of one kind, with the documents they have, inside the caller's transaction."""
    if not numbers:
        return
    connection, ids, table = change.connection, id_list(numbers), removable(change.connection)[kind].name
    going = _versions(connection, f"p.id {AMONG}", ids) if kind == "package" else []
    revived = _detach_versions(change, going, ids) if going else []
    settle_references(change, table, ids)
    connection.execute(f"DELETE FROM {table} WHERE id {AMONG}", (ids,))
    if going:
        connection.execute(
            f"""
            UPDATE groups SET context_references = (
                   SELECT json_group_array(value) FROM json_each(context_references) WHERE NOT value {_GOING})
             WHERE EXISTS (SELECT 1 FROM json_each(context_references) WHERE value {_GOING})
            """,
            (ids,),
        )
        donors: dict[int, list[int]] = {artifact_id: [] for artifact_id in revived}
        for package in going:
            if package.artifact_id is not None:
                donors.setdefault(package.artifact_id, []).append(package.document_id)
        for artifact_id, document_ids in donors.items():
            _resettle(change, artifact_id, document_ids)
    query = f"SELECT id FROM documents WHERE kind = ? AND record_id {AMONG}"
    for document_id in read_column(connection, query, (kind, ids), int):
        documents.remove(change, document_id)


def settle_references(change: Change, table: str, ids: str) -> None:
    """Delete the rows that belong to rows on their way out, and empty the references of those that stay."""
    for other in tables_of(change.connection):
        for column in other.stored:
            if column.refers_to == table:
                emptied = f"UPDATE {other.name} SET {column.name} = NULL"
                action = f"DELETE FROM {other.name}" if column.is_owner else emptied
                change.connection.execute(f"{action} WHERE {column.name} {AMONG}", (ids,))


class _RemovedVersion(NamedTuple):
    """A package that goes, or that was replaced by one that goes, with its document."""

    id: int
    artifact_id: int | None
    superseded_by: int | None
    document_id: int


def _versions(connection: apsw.Connection, where: str, ids: str) -> list[_RemovedVersion]:
    query = f"""
        SELECT p.id, p.artifact_id, p.superseded_by, d.id
          FROM packages AS p JOIN documents AS d ON d.kind = 'package' AND d.record_id = p.id
         WHERE {where}
    """
    return list(read_rows(connection, query, (ids,), _RemovedVersion))


def _detach_versions(change: Change, going: list[_RemovedVersion], ids: str) -> list[int]:
    """Let no version that stays point to one that goes; returns the artifacts of those that are current again."""
    connection = change.connection
    connection.execute(f"UPDATE packages SET supersedes = NULL WHERE supersedes {AMONG}", (ids,))
    later = {package.id: package.superseded_by for package in going}
    revived: list[int] = []
    for package in _versions(connection, f"p.superseded_by {AMONG}", ids):
        if package.id in later:
            continue
        heir = package.superseded_by
        while heir in later:
            heir = later[heir]
        connection.execute("UPDATE packages SET superseded_by = ? WHERE id = ?", (heir, package.id))
        connection.execute("UPDATE packages SET supersedes = ? WHERE id = ? AND supersedes IS NULL", (package.id, heir))
        documents.touch(change, package.document_id, superseded_by=heir)
        if heir is None and package.artifact_id is not None:
            revived.append(package.artifact_id)
    return revived


def _resettle(change: Change, artifact_id: int, donor_ids: list[int]) -> None:
    """Give a file's passages, which packages on their way out own, to their new owners.

    Where none has them any more, the next scan reads the file again.
    """
    connection = change.connection
    query = """
        SELECT state, path, mtime_ns, (SELECT count(*) FROM packages WHERE artifact_id = a.id)
          FROM artifacts AS a WHERE id = ?
    """
    for state, path, mtime_ns, packages in list(connection.execute(query, (artifact_id,))):
        if state not in ("missing", "skipped"):  # else it has no text that could be found
            _give_passages(change, artifact_id, path, mtime_ns // 1000, donor_ids)
        elif state == "missing" and not packages:
            connection.execute("DELETE FROM artifacts WHERE id = ?", (artifact_id,))


def _give_passages(change: Change, artifact_id: int, path: str, moment: int, donor_ids: list[int]) -> None:
    connection = change.connection
    donor = next((id_ for id_ in donor_ids if _has_passages(connection, id_)), None)
    owners = [owner.document_id for owner in artifacts.package_owners(connection, artifact_id)]
    if donor is not None and not owners:
        ((title, ruleset),) = connection.execute("SELECT title, ruleset FROM documents WHERE id = ?", (donor,))
        document = documents.Document("artifact", artifact_id, title, "", moment, ruleset, path)
        owners = [documents.put(change, document)]
    poor = [owner for owner in owners if not _has_passages(connection, owner)]
    if donor is None and (poor or not owners):
        # No rules are as old as this: the scan reads the file, whatever its stat says.
        connection.execute("UPDATE artifacts SET ruleset = 0 WHERE id = ?", (artifact_id,))
    elif donor is not None:
        for owner in poor:  # copied and not moved: a document never changes its session, as the index knows it by that
            documents.copy_passages(change, donor, owner)


def _has_passages(connection: apsw.Connection, document_id: int) -> bool:
    query = "SELECT 1 FROM documents WHERE owner_id = ? LIMIT 1"
    return connection.execute(query, (document_id,)).fetchone() is not None

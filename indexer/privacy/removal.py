"""Taking records out of the primary database, with everything that hangs on them.

A document leaves a tombstone. A package takes its consumers and deliveries along, and nothing that stays
may point to it: a newer version forgets what it replaced, an older one points to what replaced the
replacement or is current again, a group's references lose it. A file that loses its last package is
found as itself again, as a scan would have it.

The caller has switched foreign keys off (`unchecked_references`): SQLite would look through all
packages for each one that goes. What they would do is done here, once for a whole batch.
"""

import contextlib
import json
import os
from collections.abc import Generator, Sequence

import apsw

from ctxrank.indexer.catalogue import KINDS, kinds_of, tables_of
from ctxrank.indexer.files import artifacts
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.connection import read_map, read_row, read_value
from ctxrank.indexer.store.store import Change


@contextlib.contextmanager
def unchecked_references(primary: apsw.Connection) -> Generator[None, None, None]:
    """Foreign keys off for the transactions inside; has no effect within one."""
    primary.pragma("foreign_keys", False)
    try:
        yield
    finally:
        primary.pragma("foreign_keys", True)


def remove_records(change: Change, kind: str, numbers: Sequence[int]) -> None:
    """Remove records of one kind, inside the caller's transaction."""
    if kind == "package":
        _remove_packages(change, numbers)
        return
    table = kinds_of(change.connection)[kind].table
    for number in numbers:
        document_id = _document_id(change, kind, number)
        if document_id is not None:
            documents.remove(change, document_id)
    settle_references(change, table.name, numbers)
    change.connection.execute(
        f"DELETE FROM {table.name} WHERE id IN (SELECT value FROM json_each(?))", (_list(numbers),)
    )


def remove_sessions(change: Change, session_ids: Sequence[int]) -> None:
    """Remove sessions that hold no records any more, with their groups."""
    settle_references(change, "sessions", session_ids)
    change.connection.execute(
        "DELETE FROM sessions WHERE id IN (SELECT value FROM json_each(?))", (_list(session_ids),)
    )


def settle_references(change: Change, table: str, numbers: Sequence[int]) -> None:
    """Delete the rows that belong to rows on their way out, and empty the references of those that stay."""
    for other in tables_of(change.connection):
        for column in other.stored:
            if column.refers_to != table:
                continue
            action = f"DELETE FROM {other.name}" if column.is_owner else f"UPDATE {other.name} SET {column.name} = NULL"
            change.connection.execute(
                f"{action} WHERE {column.name} IN (SELECT value FROM json_each(?))", (_list(numbers),)
            )


class _Version(NamedTuple):
    """A package that goes, or that was replaced by one that goes, with its document."""

    id: int
    artifact_id: int | None
    superseded_by: int | None
    document_id: int


class _Passage(NamedTuple):
    """What of a passage does not depend on its owner."""

    title: str
    body: str
    path: str
    passage_key: str
    start_line: int
    end_line: int
    ruleset: int
    tokens: int
    counter: str


def _remove_packages(change: Change, numbers: Sequence[int]) -> None:
    connection, ids = change.connection, _list(numbers)
    query = """
        SELECT p.id, p.artifact_id, p.superseded_by, d.id
          FROM packages AS p
          JOIN documents AS d ON d.kind = 'package' AND d.record_id = p.id
         WHERE p.id IN (SELECT value FROM json_each(?))
    """
    going = [_Version(*row) for row in connection.execute(query, (ids,))]
    revived = _detach_versions(change, going, ids)
    _drop_references(change, set(numbers))
    for part in KINDS["package"].parts:
        connection.execute(f"DELETE FROM {part.name} WHERE package_id IN (SELECT value FROM json_each(?))", (ids,))
    connection.execute("DELETE FROM packages WHERE id IN (SELECT value FROM json_each(?))", (ids,))
    donors: dict[int, list[int]] = {artifact_id: [] for artifact_id in revived}
    for package in going:
        if package.artifact_id is not None:
            donors.setdefault(package.artifact_id, []).append(package.document_id)
    for artifact_id, document_ids in donors.items():
        _resettle(change, artifact_id, document_ids)
    for package in going:
        documents.remove_owned(change, package.document_id)
        documents.remove(change, package.document_id)


def _detach_versions(change: Change, going: list[_Version], ids: str) -> list[int]:
    """Let no version that stays point to one that goes; returns the artifacts of those that are current again."""
    connection = change.connection
    connection.execute(
        "UPDATE packages SET supersedes = NULL WHERE supersedes IN (SELECT value FROM json_each(?))", (ids,)
    )
    later = {package.id: package.superseded_by for package in going}
    query = """
        SELECT p.id, p.artifact_id, p.superseded_by, d.id
          FROM packages AS p
          JOIN documents AS d ON d.kind = 'package' AND d.record_id = p.id
         WHERE p.superseded_by IN (SELECT value FROM json_each(?1))
           AND p.id NOT IN (SELECT value FROM json_each(?1))
    """
    revived: list[int] = []
    for package in [_Version(*row) for row in connection.execute(query, (ids,))]:
        heir = package.superseded_by
        while heir in later:
            heir = later[heir]
        connection.execute("UPDATE packages SET superseded_by = ? WHERE id = ?", (heir, package.id))
        connection.execute("UPDATE packages SET supersedes = ? WHERE id = ? AND supersedes IS NULL", (package.id, heir))
        documents.touch(change, package.document_id, superseded_by=heir)
        if heir is None and package.artifact_id is not None:
            revived.append(package.artifact_id)
    return revived


def _drop_references(change: Change, numbers: set[int]) -> None:
    """Take packages out of what groups may see next to their own."""
    query = "SELECT id, context_references FROM groups WHERE context_references <> '[]'"
    for group_id, text in read_map(change.connection, query, (), int, str).items():
        references: list[object] = json.loads(text)
        kept = [reference for reference in references if reference not in numbers]
        if len(kept) < len(references):
            change.connection.execute(
                "UPDATE groups SET context_references = ? WHERE id = ?", (json.dumps(kept), group_id)
            )


class _File(NamedTuple):
    """An artifact, and how many packages point to it."""

    state: str
    path: str
    mtime_ns: int
    packages: int


def _resettle(change: Change, artifact_id: int, donor_ids: list[int]) -> None:
    """Give a file's passages, which packages on their way out own, to their new owners.

    Where none has them any more, the next scan reads the file again.
    """
    connection = change.connection
    query = """
        SELECT state, path, mtime_ns, (SELECT count(*) FROM packages WHERE artifact_id = a.id)
          FROM artifacts AS a WHERE id = ?
    """
    file = read_row(connection, query, (artifact_id,), _File)
    if file is None:
        return
    if file.state in ("missing", "skipped"):  # no text that could be found
        if file.state == "missing" and not file.packages:
            connection.execute("DELETE FROM artifacts WHERE id = ?", (artifact_id,))
        return
    donor = next((id_ for id_ in donor_ids if _has_passages(connection, id_)), None)
    owners = artifacts.package_owners(connection, artifact_id)
    if donor is not None and not owners:
        owners = [_own_document(change, artifact_id, file.path, file.mtime_ns // 1000, donor)]
    poor = [owner for owner in owners if not _has_passages(connection, owner.document_id)]
    if donor is None and (poor or not owners):
        # No rules are as old as this: the scan reads the file, whatever its stat says.
        connection.execute("UPDATE artifacts SET ruleset = 0 WHERE id = ?", (artifact_id,))
    elif donor is not None:
        for owner in poor:
            _copy_passages(change, donor, owner)


def _own_document(change: Change, artifact_id: int, path: str, moment: int, donor: int) -> artifacts.Owner:
    row = change.connection.execute("SELECT title, ruleset FROM documents WHERE id = ?", (donor,)).fetchone()
    title, ruleset = row or (os.path.basename(path), 0)
    document = documents.Document(
        kind="artifact", number=artifact_id, title=title, body="", path=path, created_at=moment, ruleset=ruleset
    )
    return artifacts.Owner(documents.put(change, document), 0, 0, "", "", "", moment)


def _copy_passages(change: Change, donor_id: int, owner: artifacts.Owner) -> None:
    # Copied and not moved: a document never changes its session, because the index knows it by that.
    query = """
        SELECT title, body, path, passage_key, start_line, end_line, ruleset, tokens, token_counter
          FROM documents WHERE owner_id = ? ORDER BY start_line, id
    """
    for passage in [_Passage(*row) for row in change.connection.execute(query, (donor_id,))]:
        passage_id = documents.put(
            change,
            documents.Document(
                kind="passage", number=None, title=passage.title, body=passage.body, path=passage.path,
                owner_id=owner.document_id, session_id=owner.session_id, group_id=owner.group_id, agent=owner.agent,
                type=owner.type, priority=owner.priority, passage_key=passage.passage_key,
                start_line=passage.start_line, end_line=passage.end_line, created_at=owner.created_at,
                ruleset=passage.ruleset,
            ),
        )  # fmt: skip
        documents.recount(change, [(passage_id, documents.TextCount(passage.tokens, passage.counter))])


def _has_passages(connection: apsw.Connection, document_id: int) -> bool:
    query = "SELECT 1 FROM documents WHERE owner_id = ? LIMIT 1"
    return connection.execute(query, (document_id,)).fetchone() is not None


def _document_id(change: Change, kind: str, number: int) -> int | None:
    query = "SELECT id FROM documents WHERE kind = ? AND record_id = ?"
    return read_value(change.connection, query, (kind, number), int)


def _list(numbers: Sequence[int]) -> str:
    """Row ids as a JSON list, for json_each."""
    return json.dumps(list(numbers))

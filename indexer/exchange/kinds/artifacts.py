"""Imported files that no package points to.

Of an export of this very store: one that is here is indexed as it is; one that is not becomes an artifact that is
missing, with the passages it was exported with, and a scan reads it as soon as it is there. What another store exported
has its own text and is said to be elsewhere: it lies below a root that stands for that store.
"""

import os
from collections.abc import Iterable

from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.kinds.passages import ImportedPassage, put_passages, read_passages
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.register import LineIdentity
from ctxrank.indexer.exchange.run import ImportRun, Written
from ctxrank.indexer.files import artifacts
from ctxrank.indexer.files.paths import contained_path, portable_path
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.engine import RULESET_VERSION
from ctxrank.indexer.store import documents, rows
from ctxrank.indexer.store.connection import read_value, require_value
from ctxrank.indexer.store.freshness import ELSEWHERE, FOREIGN_ROOT
from ctxrank.indexer.store.ids import DocumentRef
from ctxrank.indexer.store.store import Change

ARTIFACT = "artifact"


class _Artifact(NamedTuple):
    """A file, and what it is now if it is here."""

    number: int
    path: str
    title: str
    size_bytes: int
    created_at: int
    passages: tuple[ImportedPassage, ...]
    prepared: artifacts.PreparedFile | None


class ArtifactImport:
    """Brings in files that are found as themselves."""

    def __init__(self, run: ImportRun) -> None:
        self._run = run

    def bring(self, lines: Iterable[Line]) -> None:
        """One that is known here stays as it is; the index keeps it in step."""
        self._run.bring_lines(ARTIFACT, lines, self._prepare, self._write)

    def _prepare(self, fields: Fields, identity: LineIdentity) -> _Artifact:
        path = portable_path(fields.text("path"))
        contained_path(self._run.store.location.root, path)
        title = fields.text("title", os.path.basename(path))
        stored, prepared = self._run.find_file(path)
        size_bytes, created_at = fields.number("size_bytes", default=0), fields.moment("created_at")
        return _Artifact(identity.number, stored, title, size_bytes, created_at, read_passages(fields, title), prepared)

    def _write(self, change: Change, row: _Artifact, target: int | None) -> Written:
        change.blocklist.refuse(ARTIFACT, row.path)
        if self._run.origin.code:
            return self._write_foreign(change, row)
        root = self._run.root_id(change)
        known = artifacts.artifact_at(change.connection, root, row.path)
        if known is not None and (known.state != "missing" or row.prepared is None):
            return Written(known.id, is_change=False)
        if row.prepared is not None:
            artifact_id = artifacts.record(change, root, row.prepared.path, row.prepared.file)
            artifacts.refresh_owners(change, artifact_id, row.prepared)
            return Written(artifact_id)
        missing = _missing(root, row, "the file was not here when it was imported")
        artifact_id = rows.insert(change.connection, "artifacts", missing)
        _put_document(change, row, artifact_id)
        return Written(artifact_id)

    def _write_foreign(self, change: Change, row: _Artifact) -> Written:
        """A file of another store: below a root that stands for that store, so no path of ours is in its way."""
        connection, origin = change.connection, self._run.origin
        number, root = origin.local(row.number), f"{FOREIGN_ROOT}{origin.uuid}"
        connection.execute("INSERT OR IGNORE INTO roots (path) VALUES (?)", (root,))
        root_id = require_value(connection, "SELECT id FROM roots WHERE path = ?", (root,), int)
        query = "SELECT id FROM artifacts WHERE root_id = ? AND path = ?"
        same = read_value(connection, query, (root_id, row.path), int)
        if same is not None and same != number:  # it was removed there and is here again under another number
            documents.remove(change, documents.document_id(connection, DocumentRef(ARTIFACT, same)))
            connection.execute("DELETE FROM artifacts WHERE id = ?", (same,))
        if not rows.update(connection, "artifacts", number, {"path": row.path, "size_bytes": row.size_bytes}):
            rows.insert(connection, "artifacts", {"id": number, **_missing(root_id, row, ELSEWHERE)})
        documents.redate(change, _put_document(change, row, number), row.created_at, is_numbered=False)
        return Written(number)


def _put_document(change: Change, row: _Artifact, number: int) -> int:
    document = documents.Document(ARTIFACT, number, row.title, "", row.created_at, RULESET_VERSION, row.path)
    document_id = documents.put(change, document)
    put_passages(change, document_id, row.path, row.passages)
    return document_id


def _missing(root: int, row: _Artifact, reason: str) -> dict[str, rows.Value]:
    values: dict[str, rows.Value] = {"root_id": root, "path": row.path, "state": "missing", "reason": reason}
    return {**values, "size_bytes": row.size_bytes, "indexed_at": now_us()}

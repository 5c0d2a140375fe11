"""Imported packages with their consumers, deliveries and versions.

What another store exported has its own text, whatever lies at its path here: its passages are kept, no file is read
for it, and no scan follows one. For an export of this very store, and for a database next to its project, a file
that is here is read, and one that comes later is awaited.
"""

from collections.abc import Mapping

from ctxrank.indexer.agents import saved_type
from ctxrank.indexer.declarations import Row, Value
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.kinds.hooks import Hooks, is_here, refer_waiting
from ctxrank.indexer.exchange.kinds.passages import ImportedPassage, put_passages, read_passages
from ctxrank.indexer.exchange.kinds.usages import ReportedUsage, put_usage, read_usage, unite_waiting
from ctxrank.indexer.exchange.register import LineIdentity
from ctxrank.indexer.files import artifacts
from ctxrank.indexer.files.paths import portable_path
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records import packages
from ctxrank.indexer.records.sessions import is_session_wide
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.connection import read_value
from ctxrank.indexer.store.freshness import TEXT_PATH
from ctxrank.indexer.store.ids import PACKAGE, DocumentRef
from ctxrank.indexer.store.imported_rows import take_waiting, write_entry
from ctxrank.indexer.store.store import Change

_AWAITED = "awaited versions"  # the register's word for links to packages that are not here yet


class _Said(NamedTuple):
    """What a line says of a package beyond its columns, and its file if that is here."""

    usage: ReportedUsage
    passages: tuple[ImportedPassage, ...] | None  # None where the line says nothing of them
    supersedes: int | None
    superseded_by: int | None
    prepared: artifacts.PreparedFile | None = None


class PackageHooks(Hooks):
    """A package has a file, or passages that stand for it."""

    def complete(self, values: dict[str, Value], fields: Fields, identity: LineIdentity) -> _Said:
        """Read its file, unless it is here already: then that is the index's business."""
        values["type"] = saved_type(str(values["type"]))[0]
        if is_session_wide(fields.optional_word("group")):
            values["scope"] = "global"
        said = _Said(
            read_usage(fields),
            None if fields.is_missing("passages") else read_passages(fields, str(values["title"])),
            fields.optional_number("supersedes", least=1),
            fields.optional_number("superseded_by", least=1),
        )
        is_known = self.run.entry(PACKAGE, identity.key) is not None
        if portable_path(str(values["path"])).startswith(TEXT_PATH) or (is_known and not self.run.origin.code):
            return said  # its passages are its text, or its file is here
        values["path"], prepared = self.run.find_file(fields.raw("path"))
        if prepared is not None and said.superseded_by is None:
            values["size_bytes"] = None  # of one that was replaced, the file that is here is not the one it was of
        return said._replace(prepared=prepared)

    def place(self, change: Change, values: dict[str, Value], before: Row) -> None:
        """Versions do not fall, what a line does not say of its size and title stays, and a file here has its path.

        Raises UsageError for a path that was purged.
        """
        values["version"] = max(int(values["version"] or 0), int(before["version"] or 0))
        if before["size_bytes"] is not None:
            values["size_bytes"] = before["size_bytes"]
        query = "SELECT title FROM documents WHERE kind = 'package' AND record_id = ?"
        values["title"] = values["title"] or read_value(change.connection, query, (before["id"],), str)
        if not self.run.origin.code:
            values["path"] = before["path"]
        elif values["path"] != before["path"]:
            change.blocklist.refuse(PACKAGE, str(values["path"]))

    def insert(self, change: Change, values: Mapping[str, Value], said: object) -> int:
        """Write it with its file, or with the passages of one that is not here."""
        assert isinstance(said, _Said), "it is what `complete` returned"
        root = None if self.run.origin.code else self.run.root_id(change)
        return packages.insert(
            change, values, said.usage.consumers, root=root, prepared=said.prepared, said_by=self.run.origin.code
        )

    def written(self, change: Change, number: int, values: Mapping[str, Value], said: object, *, is_new: bool) -> None:
        """Write its passages, who took it and was shown it, its versions, and what other lines said before it came."""
        assert isinstance(said, _Said), "it is what `complete` returned"
        document_id = documents.document_id(change.connection, DocumentRef(PACKAGE, number))
        if not is_new:
            documents.pass_on_facets(change, document_id)
        if said.passages is not None and said.prepared is None:
            artifact = "SELECT artifact_id FROM packages WHERE id = ?"
            artifact_id = read_value(change.connection, artifact, (number,), int) if is_new else None
            if artifact_id is not None:  # known and not to be read now; the scan reads it: no rules are as old as 0
                artifacts.release(change, artifact_id)
                query = "UPDATE artifacts SET ruleset = 0 WHERE id = ? AND state = 'stale'"
                change.connection.execute(query, (artifact_id,))
            put_passages(change, document_id, str(values["path"]), said.passages)
        usage = said.usage._replace(consumers=()) if is_new else said.usage
        session_id = values["session_id"]
        assert isinstance(session_id, int), "every package has a session"
        put_usage(self.run, change, number, session_id, usage, self.run.origin.code)
        self._link(change, number, said)
        if is_new:
            unite_waiting(self.run, change, number, session_id)
            refer_waiting(change, number)

    def _link(self, change: Change, package_id: int, said: _Said) -> None:
        """Link versions of one origin, in whichever order they come: a link waits in the register for its other end."""
        connection, source = change.connection, self.run.source
        for link, number in (("supersedes", said.supersedes), ("superseded_by", said.superseded_by)):
            other = number and self.run.origin.local(number)
            if other is not None and is_here(connection, other):
                _set_link(change, package_id, link, other)
            elif other is not None:
                write_entry(connection, source, _AWAITED, f"{other} {package_id}", link, package_id)
        for other, link in take_waiting(connection, source, _AWAITED, package_id).items():
            _set_link(change, other, link, package_id)


def _set_link(change: Change, package_id: int, link: str, other: int) -> None:
    """Say that a package supersedes another one, or is superseded by it; no chain of versions becomes a circle."""
    if link == "supersedes":
        query = "UPDATE packages SET supersedes = ?1 WHERE id = ?2 AND supersedes IS NOT ?1"
        change.connection.execute(query, (other, package_id))
        return
    query = """
        WITH RECURSIVE later (id) AS (
            SELECT ?2 UNION SELECT superseded_by FROM packages JOIN later USING (id) WHERE superseded_by IS NOT NULL)
        SELECT 1 FROM packages WHERE id = ?1 AND superseded_by IS NOT ?2 AND id NOT IN later
    """
    if read_value(change.connection, query, (package_id, other), int) is not None:
        packages.mark_superseded(change, package_id, other)

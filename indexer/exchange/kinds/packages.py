"""Imported packages with their consumers, deliveries and versions.

What another store exported has its own text, whatever lies at its path here: its passages are kept, no file is read
for it, and no scan follows one. For an export of this very store, and for a database next to its project, a file
that is here is read, and one that comes later is awaited.
"""

from collections.abc import Callable, Iterable, Iterator

import apsw

from ctxrank.indexer.agents import saved_type
from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.kinds.files import Files
from ctxrank.indexer.exchange.kinds.passages import StoredPassage, put_passages, read_passages
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.register import remove_entry, row_digest, write_entry
from ctxrank.indexer.exchange.run import ImportRun, Incoming, Written, key_of
from ctxrank.indexer.files import artifacts
from ctxrank.indexer.files.paths import portable_path
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.record_table import document_of, read
from ctxrank.indexer.records import packages
from ctxrank.indexer.records.sessions import is_session_wide
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.connection import read_map, read_row, read_value
from ctxrank.indexer.store.freshness import JOINED, TEXT_PATH, is_elsewhere
from ctxrank.indexer.store.ids import DocumentRef
from ctxrank.indexer.store.rows import Value, update
from ctxrank.indexer.store.store import Change

PACKAGE, SUPERSESSION = "package", "supersession"

# What a line that changed says anew; its path and file are ours by now.
_REVISED = ("type", "producer", "priority", "scope", "summary")
_IDENTITY = ("id", "session", "path", "created_at")


class Delivery(NamedTuple):
    """An agent was shown a package, at an iteration of a group or of the session."""

    group: str | None
    agent: str
    iteration: int
    delivered_at: int


class Usage(NamedTuple):
    """Who a package is for and who took it, and who was shown it."""

    consumers: tuple[packages.Consumer, ...]
    deliveries: tuple[Delivery, ...]


class _Package(NamedTuple):
    """A package, and its file if that is here."""

    new: packages.NewPackage
    size_bytes: int | None
    version: int
    usage: Usage
    passages: tuple[StoredPassage, ...] | None  # None where the line says nothing of them
    prepared: artifacts.PreparedFile | None
    number: int = 0  # of the line
    project: str | None = None
    supersedes: int | None = None
    superseded_by: int | None = None

    @property
    def created_at(self) -> int:
        """Its moment, which every exported package has."""
        assert self.new.created_at is not None, "the moment was read from the line"
        return self.new.created_at


class _Document(NamedTuple):
    """The document of a package that is here, and the state of its file."""

    id: int
    title: str
    state: str | None


class _Link(NamedTuple):
    """A package and the one that replaces it, by exported ids; `is_main` is the one it names itself."""

    line: Line
    old: int
    new: int
    is_main: bool
    is_said_by_old: bool  # as an export says it; rows of another store may know only what they replace


def _nothing(_change: Change, _package_id: int, _session_id: int) -> None:
    """What is done for a new package by default."""


class PackageImport:
    """Brings in packages, and who replaces whom once all are here."""

    def __init__(self, run: ImportRun, files: Files, on_new: Callable[[Change, int, int], None] = _nothing) -> None:
        self._on_new = on_new  # called with the row ids of a new package and its session
        self.keys: dict[int, str] = {}  # of the ledger, by exported id
        self._files = files
        self._run = run
        self._links: list[_Link] = []
        self._replaced: dict[int, int] = {}

    def bring(self, lines: Iterable[Line]) -> None:
        """Packages as if nothing replaced them; links are remembered."""
        lines = list(lines)
        for line in lines:
            if self._run.origin is None:
                self._remember(line)
        self._run.bring_lines(
            PACKAGE,
            lines,
            _IDENTITY,
            self._prepare,
            self._write,
            without=("supersedes", "superseded_by"),
            weight=_weight,
        )

    def _remember(self, line: Line) -> None:
        fields = Fields(line.values, self._run.texts)
        try:
            id_, old = fields.number("id", least=1), fields.optional_number("supersedes", least=1)
            new = fields.optional_number("superseded_by", least=1)
            self.keys[id_] = key_of(line, _IDENTITY)
        except (UsageError, RecursionError):
            return  # said where the package is prepared
        if old is not None:
            self._replaced[id_] = old
            if "superseded_by" not in line.values:
                self._links.append(_Link(line, old, id_, is_main=True, is_said_by_old=False))
        if new is not None:
            self._links.append(_Link(line, id_, new, is_main=False, is_said_by_old=True))

    def _prepare(self, fields: Fields, key: str) -> _Package:
        number = fields.number("id", least=1)
        supersedes = fields.optional_number("supersedes", least=1)
        superseded_by = fields.optional_number("superseded_by", least=1)
        group = fields.optional_word("group")
        group = None if is_session_wide(group) else group
        scope = fields.choice("scope", packages.SCOPES, "global")
        title = fields.text("title", "")
        new = packages.NewPackage(
            session=fields.word("session"),
            group=group,
            type=saved_type(fields.word("type"))[0],
            path=fields.text("path"),
            producer=fields.agent("producer"),
            summary=fields.line("summary"),
            priority=fields.choice("priority", packages.PRIORITIES, "medium"),
            scope="global" if group is None else scope,
            created_at=fields.moment("created_at"),
            title=title,
        )
        size_bytes, version = fields.optional_number("size_bytes"), fields.number("version", least=1, default=1)
        usage = read_usage(fields)
        passages = read_passages(fields, title) if fields.has("passages") else None
        project = fields.optional_word("project") if self._run.origin else None
        links = number, project, supersedes, superseded_by
        package = _Package(new, size_bytes, version, usage, passages, None, *links)
        if self._run.ledger.entry(PACKAGE, key) is not None:
            return package  # it is here: its file is the index's business
        portable_path(new.path)
        if new.path.startswith(TEXT_PATH):
            return package  # its passages are its text
        path, prepared = self._files.find(fields.raw("path"))
        return package._replace(new=new._replace(path=path), prepared=prepared)

    def _write(self, change: Change, row: _Package, target: int | None) -> Written:
        if target is not None:
            return self._revise(change, row, target)
        session_id = self._run.session_id(change, row.new.session, row.project, row.created_at)
        query = """
            SELECT id FROM packages
             WHERE session_id = ? AND path = ? AND created_at = ? AND type = ? AND producer = ? AND summary = ?
        """
        identity = (row.new.path, row.created_at, row.new.type, row.new.producer, row.new.summary)
        twin = self._run.twin(change, PACKAGE, session_id, query, identity)
        if twin is not None:
            if not is_elsewhere(change.connection, twin):
                self._run.ledger.record(JOINED, str(twin), "", twin)
            return Written(twin, is_change=False)
        saved = packages.insert(
            change,
            row.new,
            session_id,
            root=self._run.root_id(change) if self._files.are_here else None,
            prepared=row.prepared,
            consumers=row.usage.consumers,
            supersede_same_path=False,
            number=None if self._run.origin is None else self._run.origin.local(row.number),
            said_by=self._run.said_by,
        )
        if (row.version, row.size_bytes) != (saved.version, None):
            # Of a package that was replaced, the file that is here is not the one it was saved from.
            change.connection.execute(
                "UPDATE packages"
                " SET version = ?1, size_bytes = iif(?2, coalesce(?3, size_bytes), coalesce(size_bytes, ?3))"
                " WHERE id = ?4",
                (row.version, row.superseded_by is not None, row.size_bytes, saved.id),
            )
        if row.prepared is None and row.passages:
            self._put_exported(change, saved.id, row)
        for delivery in row.usage.deliveries:
            put_delivery(self._run, change, saved.id, session_id, delivery)
        if self._run.origin is not None:
            link_joined(self._run, change, saved.id, row.supersedes, row.superseded_by)
            self._on_new(change, saved.id, session_id)
        return Written(self._run.claim(PACKAGE, saved.id))

    def _put_exported(self, change: Change, package_id: int, row: _Package) -> None:
        """Passages as they were exported, for a package whose file is not here."""
        connection = change.connection
        document_id = documents.document_id(connection, DocumentRef(PACKAGE, package_id))
        query = "SELECT artifact_id FROM packages WHERE id = ? AND artifact_id IS NOT NULL"
        artifact_id = read_value(connection, query, (package_id,), int)
        if artifact_id is not None:
            artifacts.release(change, artifact_id)
            # No rules are as old as this: the scan reads the file as soon as it can.
            connection.execute("UPDATE artifacts SET ruleset = 0 WHERE id = ? AND state = 'stale'", (artifact_id,))
        put_passages(change, document_id, row.new.path, row.passages or ())

    def _revise(self, change: Change, row: _Package, package_id: int) -> Written:
        """Write what changed in the source over the package it became; its path and file are ours by now."""
        connection, kind, new = change.connection, KINDS[PACKAGE], row.new
        before = read(connection, kind, package_id)
        query = """
            SELECT d.id, d.title, a.state FROM documents AS d
              LEFT JOIN artifacts AS a ON a.id = (SELECT artifact_id FROM packages WHERE id = d.record_id)
             WHERE d.kind = 'package' AND d.record_id = ?
        """
        document = read_row(connection, query, (package_id,), _Document)
        if before is None or document is None:
            return Written(package_id, is_change=False)  # removed here
        session_id = int(before["session_id"] or 0)
        group_id = self._run.group_id(change, session_id, new.group, int(before["created_at"] or 0))
        values: dict[str, Value] = {name: getattr(new, name) for name in _REVISED}
        values |= {"group_id": group_id, "version": max(int(before["version"] or 0), row.version)}
        if before["size_bytes"] is None:
            values["size_bytes"] = row.size_bytes
        update(connection, "packages", package_id, values)
        documents.put(change, document_of(kind, {**before, **values})._replace(title=document.title))
        documents.pass_on_facets(change, document.id)
        if row.passages is not None and document.state in (None, "missing") and before["superseded_by"] is None:
            put_passages(change, document.id, str(before["path"]), row.passages)
        put_consumers(change, package_id, row.usage.consumers, self._run.said_by)
        for delivery in row.usage.deliveries:
            put_delivery(self._run, change, package_id, session_id, delivery)
        if self._run.origin is not None:
            link_joined(self._run, change, package_id, row.supersedes, row.superseded_by)
        return Written(package_id)

    def bring_links(self) -> None:
        """Who replaces whom; the one that a package names itself comes last, and so stays named."""
        links = [link._replace(is_main=self._replaced.get(link.new) == link.old) for link in self._links]
        links.sort(key=lambda link: (link.is_main, link.line.number))
        self._run.bring(SUPERSESSION, self._incoming_links(links), self._write_link)

    def _incoming_links(self, links: list[_Link]) -> Iterator[Incoming[_Link]]:
        for link in links:
            old_key, new_key = self.keys.get(link.old, ""), self.keys.get(link.new, "")
            key, digest = (old_key, new_key) if link.is_said_by_old else (f"new:{new_key}", old_key)
            yield Incoming(key, link.line.shown, row_digest((digest,)), link)

    def _write_link(self, change: Change, link: _Link, target: int | None) -> Written:
        old_id, new_id = self.target(link.old), self.target(link.new)
        if old_id is None or new_id is None:
            verb = "that replaces it" if link.is_said_by_old else "it replaces"
            raise UsageError(f"the package {verb} is not there")
        query = "SELECT 1 FROM packages WHERE id = ? AND superseded_by = ?"
        if read_value(change.connection, query, (old_id, new_id), int) is not None:
            return Written(new_id, is_change=False)
        try:
            packages.link_versions(change, old_id, new_id)
        except NotFoundError as error:
            raise UsageError(error.message) from error
        return Written(new_id)

    def target(self, exported_id: int) -> int | None:
        """The package here that an exported one became."""
        key = self.keys.get(exported_id)
        return None if key is None else self._run.ledger.target(PACKAGE, key)


def read_usage(fields: Fields) -> Usage:
    """Consumers and deliveries, as a line of a package or of its usage says them. Raises UsageError."""
    consumers = tuple(read_consumer(item) for item in fields.objects("consumers"))
    return Usage(consumers, tuple(read_delivery(item) for item in fields.objects("deliveries")))


def read_consumer(fields: Fields) -> packages.Consumer:
    """For whom a package is, pending while `consumed_at` is None. Raises UsageError."""
    return packages.Consumer(
        fields.agent("agent"), fields.optional_number("iteration"), fields.optional_moment("consumed_at")
    )


def read_delivery(fields: Fields) -> Delivery:
    """Who was shown a package, as a line or an item of a package's line says it. Raises UsageError."""
    return Delivery(
        fields.optional_word("group"), fields.agent("agent"), fields.number("iteration"), fields.moment("delivered_at")
    )


def put_delivery(run: ImportRun, change: Change, package_id: int, session_id: int, delivery: Delivery) -> bool:
    """Record who was shown a package; False where that is recorded already, at this moment or a later one."""
    group_id = run.group_id(change, session_id, delivery.group, delivery.delivered_at)
    change.connection.execute(
        """
        INSERT INTO deliveries (package_id, group_id, agent, iteration, delivered_at, origin) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET delivered_at = excluded.delivered_at, origin = excluded.origin
            WHERE excluded.delivered_at > delivered_at
        """,
        (package_id, group_id or 0, delivery.agent, delivery.iteration, delivery.delivered_at, run.said_by),
    )
    return bool(change.connection.changes())


def put_consumers(change: Change, package_id: int, exported: tuple[packages.Consumer, ...], said_by: int) -> None:
    """Add designations and consumptions that are not here; what was taken here stays taken, of two moments the later.

    `said_by` is the code of the store that says so.
    """
    connection = change.connection
    here = packages.consumers_of(connection, package_id)
    for consumer in exported:
        same_agent = [row for row in here if row.agent == consumer.agent]
        if consumer.consumed_at is None:
            if same_agent:
                continue
        elif any(row.iteration == consumer.iteration and row.consumed_at is not None for row in same_agent):
            query = """
                UPDATE package_consumers SET consumed_at = ?1, origin = ?2
                 WHERE package_id = ?3 AND agent = ?4 AND iteration IS ?5 AND consumed_at < ?1
            """
            connection.execute(query, (consumer.consumed_at, said_by, package_id, consumer.agent, consumer.iteration))
            continue
        elif pending := next((row for row in same_agent if row.consumed_at is None), None):
            connection.execute(
                """
                UPDATE package_consumers SET iteration = ?, consumed_at = ?, origin = ?
                 WHERE id = (SELECT id FROM package_consumers
                              WHERE package_id = ? AND agent = ? AND consumed_at IS NULL ORDER BY id LIMIT 1)
                """,
                (consumer.iteration, consumer.consumed_at, said_by, package_id, consumer.agent),
            )
            here[here.index(pending)] = consumer
            continue
        connection.execute(
            "INSERT INTO package_consumers (package_id, agent, iteration, consumed_at, origin) VALUES (?, ?, ?, ?, ?)",
            (package_id, *consumer, said_by),
        )
        here.append(consumer)


_AWAITED = "awaited versions"  # the ledger's word for links to packages that are not here yet


def link_joined(
    run: ImportRun, change: Change, package_id: int, supersedes: int | None, superseded_by: int | None
) -> None:
    """Link versions of one origin, in whichever order they come: a link waits in the ledger for its other end."""
    assert run.origin is not None, "only lines of an origin are linked here"
    connection, local = change.connection, run.origin.local
    source = run.ledger.source
    old, new = (None if number is None else local(number) for number in (supersedes, superseded_by))
    _set_versions(change, package_id, old, new)
    missing = [number for number in (old, new) if number is not None and not _is_here(connection, number)]
    if missing:
        write_entry(connection, source, _AWAITED, package_id, f"{old or ''} {new or ''}", package_id)
    else:
        remove_entry(connection, source, _AWAITED, package_id)
    query = "SELECT target_id, digest FROM imported_rows WHERE source = ? AND kind = ?"
    for other, links in read_map(connection, query, (source, _AWAITED), int, str).items():
        old, new = (int(end) if end else None for end in links.split(" "))
        if package_id in (old, new):
            _set_versions(change, other, old, new)


def _set_versions(change: Change, package_id: int, old: int | None, new: int | None) -> None:
    """Say what a package replaces and what replaced it, of those that are here."""
    connection = change.connection
    if old is not None and _is_here(connection, old):
        query = "UPDATE packages SET supersedes = ? WHERE id = ? AND supersedes IS NOT ?"
        connection.execute(query, (old, package_id, old))
    if new is not None and _is_here(connection, new):
        query = "UPDATE packages SET superseded_by = ? WHERE id = ? AND superseded_by IS NOT ?"
        connection.execute(query, (new, package_id, new))
        if connection.changes():
            document_id = documents.document_id(connection, DocumentRef(PACKAGE, package_id))
            documents.remove_owned(change, document_id)
            documents.touch(change, document_id, superseded_by=new)


def _is_here(connection: apsw.Connection, package_id: int) -> bool:
    return read_value(connection, "SELECT 1 FROM packages WHERE id = ?", (package_id,), int) is not None


def _weight(row: _Package) -> int:
    return 0 if row.prepared is None else row.prepared.file.stamp.size_bytes

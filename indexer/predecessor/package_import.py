"""The predecessor's packages on their way in, with their files, consumers, versions and deliveries."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator

from ctxrank.indexer.beneath import contained_path, portable_path
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.exchange.ledger import digest_of, row_key
from ctxrank.indexer.exchange.run import CHUNK_ROWS, ImportRun, Incoming, Written
from ctxrank.indexer.files import artifacts
from ctxrank.indexer.files.read import FileText, read_text_file
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.predecessor.rows import ConsumerRow, DeliveryRow, PackageRow, Predecessor
from ctxrank.indexer.records import packages
from ctxrank.indexer.redaction.engine import RULESET_VERSION
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.store import Change

PACKAGE, CONSUMER, SUPERSESSION, DELIVERY = "package", "consumer", "supersession", "delivery"

# A transaction takes no more files' text than that, so that its lock stays short.
_CHUNK_BYTES = 4_000_000
# Packages that share a file are mostly neighbours.
_FILES_REMEMBERED = 32

Progress = Callable[[int, int], None]


class _Arrival(NamedTuple):
    """A package with its file read: everything that needs no transaction."""

    row: PackageRow
    path: str
    prepared: artifacts.PreparedFile | None


class _Waiting(NamedTuple):
    """A package of which something has to come in: itself, or some of its consumers."""

    package: Incoming[PackageRow]
    is_pending: bool
    consumers: list[Incoming[ConsumerRow]]


class _Link(NamedTuple):
    """Two packages of the source, one of which replaces the other."""

    old: PackageRow | None
    new: PackageRow


class PackageImport:
    """Brings packages in; `files` tells afterwards what became of their files."""

    def __init__(self, run: ImportRun, source: Predecessor) -> None:
        self.files = Files(run)
        self._run = run
        self._packages = {row.id: row for row in source.packages}
        self._keys = {row.id: row_key(row.id, row.session, row.path, row.created_at) for row in source.packages}
        self._consumers: dict[int, list[ConsumerRow]] = {}
        for consumer in source.consumers:
            self._consumers.setdefault(consumer.package_id, []).append(consumer)
        self._deliveries = source.deliveries

    def target(self, source_id: int) -> int | None:
        """The package here that a package of the source became."""
        key = self._keys.get(source_id)
        return None if key is None else self._run.ledger.target(PACKAGE, key)

    def bring(self, progress: Progress | None) -> None:
        """Packages with their consumers, then who replaces whom, then who was shown what."""
        pending = [waiting for row in self._packages.values() if (waiting := self._waiting(row)) is not None]
        done = 0
        for chunk in self._chunks(pending):
            with self._run.write() as change:
                for waiting, arrival in chunk:
                    self._put(change, waiting, arrival)
            done += len(chunk)
            if progress is not None:
                progress(done, len(pending))
        for package_id, consumers in self._consumers.items():
            if package_id not in self._packages:
                for consumer in consumers:
                    self._run.skip(CONSUMER, str(consumer.id), f"its package {package_id} is not there")
        self._run.bring(SUPERSESSION, self._links(), self._write_link)
        self._run.bring(DELIVERY, self._incoming_deliveries(), self._write_delivery)

    def _waiting(self, row: PackageRow) -> _Waiting | None:
        """What of a package and its consumers has to come in; all are looked at, to count them."""
        # Who replaces whom is brought in by itself, once all packages are here.
        package = Incoming(self._keys[row.id], str(row.id), digest_of(row._replace(supersedes=None)), row)
        is_pending = self._run.is_pending(PACKAGE, package)
        consumers = [
            consumer
            for consumer in map(self._incoming_consumer, self._consumers.get(row.id, ()))
            if self._run.is_pending(CONSUMER, consumer)
        ]
        return _Waiting(package, is_pending, consumers) if is_pending or consumers else None

    def _incoming_consumer(self, row: ConsumerRow) -> Incoming[ConsumerRow]:
        return Incoming(f"{row.id}/{self._keys[row.package_id]}", str(row.id), digest_of(row), row)

    def _chunks(self, pending: Iterable[_Waiting]) -> Iterator[list[tuple[_Waiting, _Arrival]]]:
        chunk: list[tuple[_Waiting, _Arrival]] = []
        size_bytes = 0
        for waiting in pending:
            arrival = self._arrival(waiting.package)
            chunk.append((waiting, arrival))
            size_bytes += arrival.prepared.file.size_bytes if arrival.prepared else 0
            if len(chunk) == CHUNK_ROWS or size_bytes >= _CHUNK_BYTES:
                yield chunk
                chunk, size_bytes = [], 0
        if chunk:
            yield chunk

    def _arrival(self, incoming: Incoming[PackageRow]) -> _Arrival:
        row = incoming.row
        if self._run.ledger.entry(PACKAGE, incoming.key) is not None:
            return _Arrival(row, row.path, None)  # it is here: its file is the index's business
        return _Arrival(row, *self.files.find(row.path))

    def _put(self, change: Change, waiting: _Waiting, arrival: _Arrival) -> None:
        if waiting.is_pending:
            package = waiting.package
            incoming = Incoming(package.key, package.shown, package.digest, arrival)
            self._run.put(change, PACKAGE, incoming, self._write)
        for consumer in waiting.consumers:
            self._run.put(change, CONSUMER, consumer, self._write_consumer)

    def _write(self, change: Change, arrival: _Arrival, target: int | None) -> Written:
        row = arrival.row
        new = self._new_package(arrival)
        if target is not None:
            return self._revise(change, target, new, row)
        portable_path(row.path)
        saved = packages.insert(
            change,
            new,
            self._run.session_id(row.session),
            root=self._run.root_id(change),
            prepared=arrival.prepared,
            consumers=(),  # each is put by itself: the ledger keeps its id
            supersede_same_path=False,  # the predecessor let several packages share a file
        )
        if row.version != 1 or (row.size_bytes is not None and arrival.prepared is None):
            change.connection.execute(
                "UPDATE packages SET version = ?, size_bytes = coalesce(size_bytes, ?) WHERE id = ?",
                (row.version, row.size_bytes, saved.id),
            )
        return Written(saved.id)

    def _new_package(self, arrival: _Arrival) -> packages.NewPackage:
        row, texts = arrival.row, self._run.texts
        type_ = row.type.strip().lower()
        if type_ not in packages.PACKAGE_TYPES:
            raise UsageError(f"'{texts.line(row.type)}' is not a package type")
        priority = row.priority.strip().lower()
        return packages.NewPackage(
            session=row.session,
            group=None if row.group is None else texts.word(row.group),
            type=type_,
            path=arrival.path,
            producer=texts.agent(row.producer),
            summary=texts.line(row.summary),
            priority=priority if priority in packages.PRIORITIES else "medium",
            # A group's package without a group was shown to every group.
            scope="group" if row.scope == "group" and row.group is not None else "global",
            created_at=row.created_at or None,
        )

    def _revise(self, change: Change, package_id: int, new: packages.NewPackage, row: PackageRow) -> Written:
        """Write what changed in the source over the package it became; its path and file are ours by now."""
        found = change.connection.execute(
            """
            SELECT p.session_id, p.path, p.superseded_by, p.created_at, d.id, d.title
              FROM packages AS p
              JOIN documents AS d ON d.kind = 'package' AND d.record_id = p.id
             WHERE p.id = ?
            """,
            (package_id,),
        ).fetchone()
        if found is None:
            return Written(package_id, is_change=False)
        session_id, path, superseded_by, created_at, document_id, title = found
        group_id = self._run.group_id(change, session_id, row.group, row.created_at)
        change.connection.execute(
            "UPDATE packages SET group_id = ?, type = ?, producer = ?, priority = ?, scope = ?, summary = ?,"
            " size_bytes = coalesce(size_bytes, ?), version = max(version, ?) WHERE id = ?",
            (
                group_id, new.type, new.producer, new.priority, new.scope, new.summary, row.size_bytes,
                row.version, package_id,
            ),
        )  # fmt: skip
        documents.put(
            change,
            documents.Document(
                kind=PACKAGE, number=package_id, title=title, body=new.summary, path=path,
                session_id=session_id, group_id=group_id or 0, agent=new.producer, type=new.type,
                priority=new.priority, superseded_by=superseded_by, created_at=created_at,
                ruleset=RULESET_VERSION,
            ),
        )  # fmt: skip
        documents.pass_on_facets(change, document_id)
        return Written(package_id)

    def _write_consumer(self, change: Change, row: ConsumerRow, target: int | None) -> Written:
        """Pending means pending at any iteration; what was taken here meanwhile stays taken."""
        taken = (None, None) if row.consumed_at is None else (row.iteration, row.consumed_at or now_us())
        if target is not None:
            change.connection.execute(
                "UPDATE package_consumers SET iteration = ?, consumed_at = ? WHERE id = ? AND consumed_at IS NULL",
                (*taken, target),
            )
            return Written(target, is_change=bool(change.connection.changes()))
        package_id = self.target(row.package_id)
        if package_id is None:
            raise UsageError(f"its package {row.package_id} did not come in")
        agent = self._run.texts.agent(row.agent)
        if not agent:
            raise UsageError("it names no agent")
        change.connection.execute(
            "INSERT INTO package_consumers (package_id, agent, iteration, consumed_at)"
            " SELECT id, ?, ?, ? FROM packages WHERE id = ?",
            (agent, *taken, package_id),
        )
        if not change.connection.changes():
            raise UsageError(f"its package {row.package_id} was removed here")
        return Written(change.connection.last_insert_rowid())

    def _links(self) -> Iterator[Incoming[_Link]]:
        for row in self._packages.values():
            if row.supersedes is not None:
                digest = digest_of((row.supersedes,))
                yield Incoming(self._keys[row.id], str(row.id), digest, _Link(self._packages.get(row.supersedes), row))

    def _write_link(self, change: Change, link: _Link, target: int | None) -> Written:
        old_id = None if link.old is None else self.target(link.old.id)
        new_id = self.target(link.new.id)
        if old_id is None or new_id is None:
            raise UsageError("the package it replaces is not there")
        try:
            packages.link_versions(change, old_id, new_id)
        except NotFoundError as error:
            raise UsageError(error.message) from error
        return Written(new_id)

    def _incoming_deliveries(self) -> Iterator[Incoming[DeliveryRow]]:
        for row in self._deliveries:
            key = row_key(row.package_id, row.session, row.group, row.agent, row.iteration)
            yield Incoming(key, f"package {row.package_id}", digest_of(row), row)

    def _write_delivery(self, change: Change, row: DeliveryRow, target: int | None) -> Written:
        session_id = self._run.session_id(row.session)
        package_id = self.target(row.package_id)
        if package_id is None:
            raise UsageError(f"its package {row.package_id} did not come in")
        group_id = self._run.group_id(change, session_id, row.group, row.delivered_at)
        change.connection.execute(
            """
            INSERT INTO deliveries (package_id, group_id, agent, iteration, delivered_at)
            SELECT id, ?, ?, ?, ? FROM packages WHERE id = ?
                ON CONFLICT DO UPDATE SET delivered_at = max(delivered_at, excluded.delivered_at)
            """,
            (
                group_id or 0,
                self._run.texts.agent(row.agent),
                row.iteration,
                row.delivered_at or now_us(),
                package_id,
            ),
        )
        return Written(package_id, is_change=bool(change.connection.changes()))


class Files:
    """The packages' files: read and prepared outside of any transaction, and counted."""

    def __init__(self, run: ImportRun) -> None:
        self.indexed: set[str] = set()
        self.missing: set[str] = set()
        self._run = run
        self._root = run.store.location.root
        self._remembered: OrderedDict[str, artifacts.PreparedFile | None] = OrderedDict()
        self._unreadable: dict[str, str] = {}
        self._outside = 0

    def find(self, path: str) -> tuple[str, artifacts.PreparedFile | None]:
        """The path as it is stored, and the file if there is one inside the root that has a text."""
        try:
            inside = contained_path(self._root, path)
        except UsageError:
            self._outside += 1
            return self._run.texts.line(path), None
        shown = self._run.texts.line(inside)
        if shown != inside:
            self._unreadable[shown] = "the path holds a secret, or what no terminal shows"
            return shown, None
        if inside not in self._remembered:
            self._remembered[inside] = self._prepare(inside)
            if len(self._remembered) > _FILES_REMEMBERED:
                self._remembered.popitem(last=False)
        return inside, self._remembered[inside]

    def notes(self) -> Iterator[str]:
        """What a person should know about files that were not indexed."""
        if self._outside:
            yield f"{self._outside} paths lead out of {self._root} through links: they came in without their files."
        for reason, count in sorted(Counter(self._unreadable.values()).items()):
            yield f"{count} files are not indexed: {reason}."

    def _prepare(self, path: str) -> artifacts.PreparedFile | None:
        read = read_text_file(self._root, path)
        if isinstance(read, FileText):
            self.indexed.add(path)
            return artifacts.prepare(path, read, self._run.mode)
        if read.reason == "vanished":
            self.missing.add(path)
        else:
            self._unreadable[path] = read.reason
        return None

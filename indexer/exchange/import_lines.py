"""The one way records come in from elsewhere: lines, each an object of a kind that `ctxrank export` writes.

    records = LineImport(store, "jsonl:7c0e…", mode)
    records.bring(lines, done)
    report = records.finish(schema=1)

Sessions and groups are joined by name, everything else by the ledger (see `ledger`), one for each source. Every
text is redacted. A line that cannot be used is reported, and the rest comes in.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack

from ctxrank.indexer.catalogue import KINDS, exported_kinds
from ctxrank.indexer.exchange.arrivals import Arrivals
from ctxrank.indexer.exchange.kinds.artifacts import ArtifactImport
from ctxrank.indexer.exchange.kinds.designations import DesignationImport
from ctxrank.indexer.exchange.kinds.files import Files
from ctxrank.indexer.exchange.kinds.packages import PackageImport
from ctxrank.indexer.exchange.kinds.records import RecordImport
from ctxrank.indexer.exchange.kinds.sessions import SessionImport, refer_waiting
from ctxrank.indexer.exchange.kinds.settings import bring_settings
from ctxrank.indexer.exchange.kinds.usages import UsageImport, unite_waiting
from ctxrank.indexer.exchange.lines import BadLine, Line
from ctxrank.indexer.exchange.origins import Origin
from ctxrank.indexer.exchange.run import CHUNK_ROWS, ImportReport, ImportRun
from ctxrank.indexer.fulltext.background import BackgroundIndexer, background_indexer
from ctxrank.indexer.redaction.engine import RedactionMode
from ctxrank.indexer.store.documents import backfill_counts
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.lines import one_line

# Lines of one kind that are brought in together hold no more than that, unless one alone does.
_BATCH_BYTES = 4_000_000
_SHOWN_CHARS = 40
# The index is brought up to date meanwhile, in portions of so many lines: its merges cost less in large ones.
_FOLLOWED_LINES = 5000

Progress = Callable[[int, int], None]


class LineImport:
    """One import of lines; `run` has the ledger and the redaction, `read` counts the lines of each kind.

    Files that lines name are read below the store's root, unless `files_are_here` is false (they are another
    machine's) or `is_read` is (the root is not known to be theirs: all files count as missing).
    """

    def __init__(
        self,
        store: Store,
        source: str,
        mode: RedactionMode,
        *,
        files_are_here: bool = True,
        is_read: bool = True,
        origin: Origin | None = None,
    ) -> None:
        self.run = ImportRun(store, source, mode, origin)
        self.read: Counter[str] = Counter()
        self._arrivals = Arrivals(self.run)
        self._files = Files(self.run, are_here=files_are_here, is_read=is_read)
        self._sessions = SessionImport(self._arrivals)
        self._packages = PackageImport(self._arrivals, self._files, self._package_came)
        special = ("package", "artifact")
        self._records = {
            name: RecordImport(self._arrivals, KINDS[name]) for name in exported_kinds() if name not in special
        }

    def _package_came(self, change: Change, package_id: int, session_id: int) -> None:
        """What other lines said of a package before it came."""
        unite_waiting(self.run, change, package_id, session_id)
        refer_waiting(change, package_id)

    def writers(self) -> dict[str, Callable[[Iterable[Line]], None]]:
        """What brings in lines of each kind."""
        designations = DesignationImport(self._arrivals, self._packages)
        return {
            **{name: records.bring for name, records in self._records.items()},
            "session": self._sessions.bring_sessions,
            "group": self._sessions.bring_groups,
            "package": self._packages.bring,
            "consumer": designations.bring_consumers,
            "delivery": designations.bring_deliveries,
            "usage": UsageImport(self._arrivals).bring,
            "artifact": ArtifactImport(self._arrivals, self._files).bring,
            "setting": lambda batch: bring_settings(self._arrivals, batch),
        }

    def bring(self, lines: Iterable[Line | BadLine], done: Callable[[list[Line]], None]) -> None:
        """Bring in what is new or changed; `done` is called for each batch of neighbouring lines of one kind."""
        writers = self.writers()
        with ExitStack() as stack:
            other: BackgroundIndexer | None = None
            unfollowed = 0
            for batch in self._batches(lines):
                write = writers.get(batch[0].record)
                if write is None:
                    for line in batch:
                        name = one_line(line.record)[:_SHOWN_CHARS]
                        self._arrivals.skip(line.shown, "unknown", f"'{name}' is not a record that this program knows")
                else:
                    write(batch)
                done(batch)
                unfollowed += len(batch)
                if unfollowed >= _FOLLOWED_LINES:  # so many are worth the start of a second process
                    unfollowed = 0
                    other = other or stack.enter_context(background_indexer(self.run.store))
                    if other is not None:
                        other.notify()

    def _batches(self, lines: Iterable[Line | BadLine]) -> Iterator[list[Line]]:
        """Neighbouring lines of one kind; bad ones are reported."""
        batch: list[Line] = []
        size = 0
        for line in lines:
            if isinstance(line, BadLine):
                self._arrivals.skip(line.shown, "unreadable", line.reason)
                continue
            self.read[line.record] += 1
            if batch and (line.record != batch[0].record or len(batch) == CHUNK_ROWS or size >= _BATCH_BYTES):
                yield batch
                batch, size = [], 0
            batch.append(line)
            size += line.size_bytes
        if batch:
            yield batch

    def finish(self, *, schema: int, losses: tuple[str, ...] = ()) -> ImportReport:
        """Link what names records that came later, and say what was done; `losses` are what the source is missing."""
        if self.run.origin is None:
            self._packages.bring_links()
            self._sessions.bring_references(self._packages.keys)
        recounted = self.run.counted + backfill_counts(self.run.store)
        self.run.store.catch_up()
        return ImportReport(
            schema=schema,
            counts=self.run.counts(),
            skipped=self.run.skipped(),
            files_indexed=len(self._files.indexed),
            files_missing=len(self._files.missing),
            recounted=recounted,
            notes=(
                *self.run.notes, *(note for records in self._records.values() for note in records.notes()),
                *self._files.notes(), *self._arrivals.notes(), *losses,
            ),
            is_complete=not losses,
        )  # fmt: skip

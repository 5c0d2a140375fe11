"""The one way records come in from elsewhere: lines, each an object of a kind that `ctxrank export` writes.

    records = LineImport(store, "jsonl:7c0e…", mode)
    records.bring(lines, done)
    report = records.finish(schema=1)

Sessions and groups are joined by name, everything else by the ledger (see `ledger`), one for each source. Every
text is redacted. A line that cannot be used is reported, and the rest comes in.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack

from ctxrank.indexer.catalogue import KINDS, exported_kinds
from ctxrank.indexer.exchange.kinds.artifacts import ArtifactImport
from ctxrank.indexer.exchange.kinds.designations import DesignationImport
from ctxrank.indexer.exchange.kinds.files import Files
from ctxrank.indexer.exchange.kinds.packages import PackageImport
from ctxrank.indexer.exchange.kinds.records import RecordImport, TwinQuery
from ctxrank.indexer.exchange.kinds.sessions import SessionImport, refer_waiting
from ctxrank.indexer.exchange.kinds.settings import bring_settings
from ctxrank.indexer.exchange.kinds.usages import UsageImport, unite_waiting
from ctxrank.indexer.exchange.lines import BadLine, Line, batches
from ctxrank.indexer.exchange.register import Origin
from ctxrank.indexer.exchange.run import CHUNK_ROWS, ImportReport, ImportRun
from ctxrank.indexer.fulltext.background import BackgroundIndexer, background_indexer
from ctxrank.indexer.redaction.engine import RedactionMode
from ctxrank.indexer.store.documents import backfill_counts
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.lines import one_line

_SHOWN_CHARS = 40
# The index is brought up to date meanwhile, in portions of so many lines: its merges cost less in large ones.
_FOLLOWED_LINES = 5000

Progress = Callable[[int, int], None]


class LineImport:
    """One import of lines; `run` has the ledger and the redaction, `read` counts the lines of each kind.

    Files that lines name are read below the store's root, unless `files_are_here` is false (they are another
    machine's) or `is_read` is (the root is not known to be theirs: all files count as missing). `twins` finds, by kind,
    records here that the source has too, where it knows them by other values than an export does.
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
        twins: Mapping[str, TwinQuery] | None = None,
    ) -> None:
        self.run = ImportRun(store, source, mode, origin)
        self.read: Counter[str] = Counter()
        self._files = Files(self.run, are_here=files_are_here, is_read=is_read)
        self._sessions = SessionImport(self.run)
        self._packages = PackageImport(self.run, self._files, self._package_came)
        special = ("package", "artifact")
        self._records = {
            name: RecordImport(self.run, KINDS[name], (twins or {}).get(name))
            for name in exported_kinds()
            if name not in special
        }

    def _package_came(self, change: Change, package_id: int, session_id: int) -> None:
        """What other lines said of a package before it came."""
        unite_waiting(self.run, change, package_id, session_id)
        refer_waiting(change, package_id)

    def writers(self) -> dict[str, Callable[[Iterable[Line]], None]]:
        """What brings in lines of each kind."""
        designations = DesignationImport(self.run, self._packages)
        return {
            **{name: records.bring for name, records in self._records.items()},
            "session": self._sessions.bring_sessions,
            "group": self._sessions.bring_groups,
            "package": self._packages.bring,
            "consumer": designations.bring_consumers,
            "delivery": designations.bring_deliveries,
            "usage": UsageImport(self.run).bring,
            "artifact": ArtifactImport(self.run, self._files).bring,
            "setting": lambda batch: bring_settings(self.run, batch),
        }

    def bring(self, lines: Iterable[Line | BadLine], done: Callable[[list[Line]], None]) -> None:
        """Bring in what is new or changed; `done` is called for each batch of neighbouring lines of one kind."""
        writers = self.writers()
        with ExitStack() as stack:
            other: BackgroundIndexer | None = None
            unfollowed = 0
            for record, batch in batches(self._read(lines), CHUNK_ROWS):
                write = writers.get(record)
                if write is None:
                    name = one_line(record)[:_SHOWN_CHARS]
                    for line in batch:
                        self.run.skip(line.shown, "unknown", f"'{name}' is not a record that this program knows")
                else:
                    write(batch)
                done(batch)
                unfollowed += len(batch)
                if unfollowed >= _FOLLOWED_LINES:  # so many are worth the start of a second process
                    unfollowed = 0
                    other = other or stack.enter_context(background_indexer(self.run.store))
                    if other is not None:
                        other.notify()

    def _read(self, lines: Iterable[Line | BadLine]) -> Iterator[tuple[str, Line]]:
        """The lines, each with its kind; bad ones are reported."""
        for line in lines:
            if isinstance(line, BadLine):
                self.run.skip(line.shown, "unreadable", line.reason)
            else:
                self.read[line.record] += 1
                yield line.record, line

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
                *self.run.notes,
                *(note for records in self._records.values() for note in records.notes()),
                *self._files.notes(),
                *self.run.skipped_notes(),
                *losses,
            ),
            is_complete=not losses,
        )

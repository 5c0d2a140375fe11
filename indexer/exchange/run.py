"""One run of an import: lines become rows of ours in short transactions, and every line is accounted for.

A chunk is either in with its entries in the register or not at all, so a run that is interrupted loses nothing that was
done, and the next one goes on where it stopped.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from operator import add
from typing import TypeVar

from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.export import VERSION
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.merge import UNKNOWN, find_merged, make_merged, note_maker
from ctxrank.indexer.exchange.register import COUNTED, GONE, LineIdentity, Origin, number_of, row_key, seq_of
from ctxrank.indexer.files import artifacts
from ctxrank.indexer.files.paths import contained_path
from ctxrank.indexer.files.read import FileText, read_text_file
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.sessions import find_group, is_session_wide, require_group, session_id_of
from ctxrank.indexer.redaction.engine import RedactionMode
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.store.connection import read_row
from ctxrank.indexer.store.ids import origin_code
from ctxrank.indexer.store.imported_rows import Entry, read_entry, source_of, write_entry
from ctxrank.indexer.store.store import Change, Store

CHUNK_ROWS = 500
MAX_REPORTED = 1000  # of a file that is none of ours, every line is bad
# A transaction takes no more files' text than that, so that its lock stays short.
_CHUNK_BYTES = 4_000_000
_FILES_REMEMBERED = 32  # packages that share a file are mostly neighbours

Row = TypeVar("Row")


class KindCount(NamedTuple):
    """What became of the rows of one kind."""

    new: int = 0
    updated: int = 0
    unchanged: int = 0


class SkippedRow(NamedTuple):
    """A row that could not come in; `key` is its name or number in the source."""

    kind: str
    key: str
    reason: str


class ImportReport(NamedTuple):
    """What an import did, by kind; files are counted once, however many packages point to them.

    `files_missing` are not where their packages say. `recounted` documents had an estimate before. What is
    not `is_complete` was cut off or edited: what could be used was imported.
    """

    schema: int
    counts: Mapping[str, KindCount]
    skipped: tuple[SkippedRow, ...]
    files_indexed: int
    files_missing: int
    recounted: int
    notes: tuple[str, ...]
    is_complete: bool = True
    waiting: int = 0  # orders to forget that are not carried out before a person here agrees

    @property
    def is_noop(self) -> bool:
        """Whether everything was here already."""
        return not any(count.new or count.updated for count in self.counts.values())


class Account:
    """What became of all lines of an import, and of the files that they name."""

    def __init__(self) -> None:
        self.counts: dict[str, KindCount] = {}
        self.notes: list[str] = []
        self.files_indexed: set[str] = set()
        self.files_missing: set[str] = set()
        self.recounted = 0  # documents that had an estimate before
        self.unusable = 0  # lines that say nothing that could be stored in any store
        self._skipped: list[SkippedRow] = []
        self._unreported = 0

    def add(self, kind: str, count: KindCount) -> None:
        """Count rows of a kind."""
        before = self.counts.get(kind, KindCount())
        self.counts[kind] = KindCount(*map(add, before, count))

    def skip(self, kind: str, shown: str, reason: str, *, is_usable: bool = False) -> None:
        """A line that does not come in, into this store or into any; from a thousand on they are only counted."""
        self.unusable += not is_usable
        if len(self._skipped) < MAX_REPORTED:
            self._skipped.append(SkippedRow(kind, shown, reason))
        else:
            self._unreported += 1

    def report(self, losses: Iterable[str] = (), schema: int = VERSION) -> ImportReport:
        """The account; `losses` are what the source is missing."""
        unreported = (f"{self._unreported} more lines were skipped.",) * bool(self._unreported)
        lost = tuple(losses)
        return ImportReport(
            schema,
            self.counts,
            tuple(self._skipped),
            len(self.files_indexed),
            len(self.files_missing),
            self.recounted,
            (*self.notes, *unreported, *lost),
            is_complete=not lost,
        )


class Written(NamedTuple):
    """The row here that a row became; not a change where it was here already, or is here no more.

    `is_joined` is one that was here before anything of its origin came in: what was counted elsewhere is added to it.
    """

    target_id: int
    is_change: bool = True
    is_joined: bool = False


LOST_HERE = "this store made it, the file says, and lost it: '--accept' brings it back from an own export"
# Writes a new row (the id is None) or over the row that it became before. A UsageError skips the row.
Writer = Callable[[Change, Row, int | None], Written]
_NEW, _UPDATED, _UNCHANGED = KindCount(1), KindCount(0, 1), KindCount(0, 0, 1)


class ImportRun:
    """What the kinds of records of one origin share: the store, the register, the redaction, the sessions, the files.

    What comes from another store brings its own texts: no file here is read for it, whatever its path. Where it is not
    known whose the root is (`is_read` false), files count as missing until a scan finds them.
    """

    maker_on_the_way = UNKNOWN  # of a group that only a record names

    def __init__(
        self, store: Store, mode: RedactionMode, account: Account, origin: Origin, *, is_read: bool = True
    ) -> None:
        self.store = store
        self.mode = mode
        self.account = account
        self.origin = origin
        self.source = source_of(origin.uuid)
        self.texts = IncomingTexts(mode)
        self._is_read = is_read
        self.held_bytes = 0  # of files that were read for rows that are not written yet
        self._prepared = lru_cache(_FILES_REMEMBERED)(self._prepare)
        self._unreadable: dict[str, str] = {}
        self._outside = 0

    def identify(self, kind: str, values: Mapping[str, object]) -> LineIdentity:
        """What a line is known by. Raises UsageError."""
        number, seq, of = number_of(values), seq_of(values), values.get("of")
        key = str(number) if of is None else f"{number}@{of}"
        if kind in COUNTED:
            gone = read_entry(self.store.primary, self.source, kind, key)  # removed before it came
            key = key if gone is not None and gone.seq >= seq else row_key(*map(values.get, KINDS[kind].identity))
        return LineIdentity(key, str(seq), number)

    def entry(self, kind: str, key: str) -> Entry | None:
        """What is known of a row, asked one by one: another import may have entered some a moment ago.

        Of this store's own records it is what the record log says: they are never older here than in a file. What was
        removed here comes back from an own export (`is_backup`) alone, and what was purged never.
        """
        if not self.origin.code and key.isdecimal():
            query = "SELECT ?, number FROM record_log WHERE kind = ? AND number = ? AND (gone = 0 OR gone >= ?)"
            values = (str(GONE), kind, int(key), 1 + self.origin.is_backup)
            return read_row(self.store.primary, query, values, Entry)
        return read_entry(self.store.primary, self.source, kind, key)

    def is_news(self, known: Entry | None, state: str) -> bool:
        """Whether a row is not known as it is, nor as something later."""
        return known is None or known.seq < int(state)

    def bring_lines(
        self, kind: str, lines: Iterable[Line], prepare: Callable[[Fields, LineIdentity], Row], write: Writer[Row]
    ) -> None:
        """Bring in what is new or changed of some lines of one kind, each prepared outside a transaction."""
        ready: list[tuple[LineIdentity, str, Row]] = []
        for line in lines:
            try:
                identity = self.identify(kind, line.values)
                is_news = self.is_news(self.entry(kind, identity.key), identity.state)
                self.account.add(kind, KindCount() if is_news else _UNCHANGED)
                if not is_news:
                    continue
                fields = Fields(line.values, self.texts.of_record(line.values.values()))
                ready.append((identity, line.shown, prepare(fields, identity)))
            except UsageError as error:
                self.account.skip(kind, line.shown, error.message)
            except RecursionError:
                self.account.skip(kind, line.shown, "it is nested too deeply")
            if len(ready) == CHUNK_ROWS or self.held_bytes >= _CHUNK_BYTES:
                self._put(kind, ready, write)
                ready, self.held_bytes = [], 0
        if ready:
            self._put(kind, ready, write)

    def _put(self, kind: str, rows: list[tuple[LineIdentity, str, Row]], write: Writer[Row]) -> None:
        """Bring rows in and enter them into the register, in one transaction; they count once it is committed."""
        done: list[tuple[str, KindCount | str]] = []
        with self.store.write() as change:
            done += ((shown, self._written(change, kind, identity, row, write)) for identity, shown, row in rows)
        for shown, result in done:
            if isinstance(result, str):
                self.account.skip(kind, shown, result, is_usable=True)
            else:
                self.account.add(kind, result)

    def _written(
        self, change: Change, kind: str, identity: LineIdentity, row: Row, write: Writer[Row]
    ) -> KindCount | str:
        """What a row counts as, or why it is skipped."""
        known = self.entry(kind, identity.key)
        if not self.is_news(known, identity.state):  # another import was faster
            return _UNCHANGED
        # Of what is counted the writer knows whether it is here.
        if not (self.origin.may_add or kind in COUNTED):
            return LOST_HERE
        try:
            written = write(change, row, None if known is None else known.target_id or None)
        except UsageError as error:
            return error.message
        write_entry(change.connection, self.source, kind, identity.key, identity.state, written.target_id)
        if not written.is_change:
            return _UNCHANGED
        return _NEW if known is None and not written.is_joined else _UPDATED

    def maker(self, change: Change, uuid: str | None) -> Origin:
        """The store that a line names; None: the one whose lines these are."""
        return self.origin if uuid is None else Origin(uuid, origin_code(change.connection, uuid))

    def session_id(self, change: Change, name: str, project: str | None, moment: int | None) -> int:
        """The session here of this name. Raises UsageError where there is none.

        With its project it is made on the way: its own line says the rest.
        """
        if project is None:
            found = session_id_of(change.connection, name)
        else:
            found = find_merged(change.connection, name, project) or make_merged(change, name, project, moment)
        if found is None:
            raise UsageError(f"its session '{self.texts.line(name)}' is not there")
        return found

    def group_id(self, change: Change, session_id: int, name: str | None, created_at: int) -> int | None:
        """The group here of a name in the source, made on the way; None for a session-wide name."""
        if name is None or is_session_wide(clean := self.texts.word(name)):
            return None
        found = find_group(change.connection, session_id, clean)
        if found is not None:
            return found.id
        group_id = require_group(change, session_id, clean, created_at=created_at or None)
        note_maker(change, "group", group_id, self.maker_on_the_way)
        return group_id

    def root_id(self, change: Change) -> int:
        """The root that the artifacts' paths start from."""
        return artifacts.root_id(change, self.store.location.root, self.store.location.project)

    def find_file(self, path: str) -> tuple[str, artifacts.PreparedFile | None]:
        """The path as it is stored, and the file if there is one inside the root that has a text."""
        if self.origin.code:
            return self.texts.line(path), None
        try:
            inside = contained_path(self.store.location.root, path)
        except UsageError:
            self._outside += 1
            return self.texts.line(path), None
        shown = self.texts.line(inside)
        if shown != inside:
            self._unreadable[shown] = "the path holds a secret, or characters that no terminal shows"
            return shown, None
        if not self._is_read:
            self.account.files_missing.add(inside)
            return inside, None
        prepared = self._prepared(inside)
        self.held_bytes += prepared.file.stamp.size_bytes if prepared else 0
        return inside, prepared

    def notes(self) -> Iterator[str]:
        """What a person should know about files that were not indexed."""
        if self._outside:
            shown = f"{self._outside} {'path' if self._outside == 1 else 'paths'}"
            yield f"{shown} of no file below {self.store.location.root}: imported without their files."
        for reason, count in sorted(Counter(self._unreadable.values()).items()):
            yield f"{count} files are not indexed: {reason}."

    def _prepare(self, path: str) -> artifacts.PreparedFile | None:
        read = read_text_file(self.store.location.root, path)
        if isinstance(read, FileText):
            self.account.files_indexed.add(path)
            return artifacts.prepare(path, read, self.mode)
        if read.reason == "vanished":
            self.account.files_missing.add(path)
        else:
            self._unreadable[path] = read.reason
        return None

"""One run of an import: rows become rows of ours in short transactions, and every row is accounted for.

A chunk is either in with its ledger entries or not at all, so a run that is interrupted loses nothing
that was done, and the next one goes on where it stopped.
"""

import contextlib
import enum
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import cache
from typing import Generic, TypeVar

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.joined import UNKNOWN, note_maker
from ctxrank.indexer.exchange.ledger import Entry, Ledger
from ctxrank.indexer.exchange.origins import Origin, VersionLedger
from ctxrank.indexer.files import artifacts
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.sessions import find_group, is_session_wide, require_group
from ctxrank.indexer.redaction.engine import RedactionMode
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.store.documents import TextCount
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.vocabulary import local_counter

CHUNK_ROWS = 500

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

    `files_missing` are not where their packages say. `recounted` documents got their exact token count. What is
    not `is_complete` was cut off or edited: what could be read was imported.
    """

    schema: int
    counts: Mapping[str, KindCount]
    skipped: tuple[SkippedRow, ...]
    files_indexed: int
    files_missing: int
    recounted: int
    notes: tuple[str, ...]
    is_complete: bool = True

    @property
    def is_noop(self) -> bool:
        """Whether everything was here already."""
        return not any(count.new or count.updated for count in self.counts.values())


class Written(NamedTuple):
    """The row here that a row became; not a change where it was here already, or is here no more.

    `is_joined` is one that was here before anything of its origin came in: what was counted elsewhere is added to it.
    """

    target_id: int
    is_change: bool = True
    is_joined: bool = False


class Incoming(NamedTuple, Generic[Row]):
    """A row on its way in; `shown` is what a report calls it."""

    key: str
    shown: str
    digest: str
    row: Row


# Writes a new row (the id is None) or over the row that it became before. A UsageError skips the row.
Writer = Callable[[Change, Row, int | None], Written]


class _Outcome(enum.Enum):
    NEW = enum.auto()
    UPDATED = enum.auto()
    UNCHANGED = enum.auto()


class ImportRun:
    """What the parts of an import share: the store, the ledger, the redaction and the account."""

    def __init__(self, store: Store, source: str, mode: RedactionMode, origin: Origin | None = None) -> None:
        self.store = store
        self.mode = mode
        self.origin = origin  # None: lines that do not say whose they are, and which become records of this store
        self.ledger = Ledger(store.primary, source)
        if origin is not None:
            self.ledger = VersionLedger(store.primary, source, is_own=not origin.code, is_backup=origin.is_backup)
        self.texts = IncomingTexts(mode)
        self.session_ids: dict[str, int] = {}  # by their name in the source
        self.notes: list[str] = []
        self.counted = 0  # documents that were put with their exact token count
        self._group_ids: dict[tuple[int, str], int] = {}
        self._root_id: int | None = None
        self._outcomes: dict[str, Counter[_Outcome]] = {}
        self._skipped: list[SkippedRow] = []
        self._open: list[tuple[str, _Outcome] | SkippedRow] = []
        self._counter = cache(local_counter)  # loaded with the first document

    @property
    def said_by(self) -> int:
        """The code of the store whose lines these are; 0 for this one, and where lines do not say."""
        return 0 if self.origin is None else self.origin.code

    def bring(self, kind: str, rows: Iterable[Incoming[Row]], write: Writer[Row]) -> None:
        """Bring in what is new or changed of a kind, chunk by chunk; the rest costs no transaction."""
        pending = [incoming for incoming in rows if self.is_pending(kind, incoming)]
        for first in range(0, len(pending), CHUNK_ROWS):
            with self.write() as change:
                for incoming in pending[first : first + CHUNK_ROWS]:
                    self.put(change, kind, incoming, write)

    def is_pending(self, kind: str, incoming: Incoming[Row]) -> bool:
        """Whether a row is new or has changed; one that has not is counted."""
        outcomes = self._outcomes.setdefault(kind, Counter())
        differs = self.differs(kind, incoming)
        if not differs:
            outcomes[_Outcome.UNCHANGED] += 1
        return differs

    def differs(self, kind: str, incoming: Incoming[Row]) -> bool:
        """Whether the ledger does not know a row, or not as it is, or as it was earlier."""
        if isinstance(self.ledger, VersionLedger):
            return self.ledger.is_new(kind, incoming.key, incoming.digest)
        known = self.ledger.entry(kind, incoming.key)
        return known is None or known.digest != incoming.digest

    @contextlib.contextmanager
    def write(self) -> Generator[Change, None, None]:
        """One transaction; what is put inside counts once it is committed."""
        self._open.clear()
        with self.store.write() as change, self.ledger.writing(change):
            change.count_tokens = self._count
            yield change
        for done in self._open:
            if isinstance(done, SkippedRow):
                self._skipped.append(done)
            else:
                kind, outcome = done
                self._outcomes.setdefault(kind, Counter())[outcome] += 1
        self._open.clear()

    def put(self, change: Change, kind: str, incoming: Incoming[Row], write: Writer[Row]) -> None:
        """Bring one row in, inside the caller's transaction, and enter it into the ledger."""
        known = self.ledger.locked_entry(change, kind, incoming.key)
        if not self.differs(kind, incoming) if self.origin else known is not None and known.digest == incoming.digest:
            self._open.append((kind, _Outcome.UNCHANGED))
            return
        counted = self.counted
        try:
            written = write(change, incoming.row, None if known is None else known.target_id or None)
        except UsageError as error:
            self.counted = counted
            self._open.append(SkippedRow(kind, incoming.shown, error.message))
            return
        self.ledger.record(kind, incoming.key, Entry(incoming.digest, written.target_id))
        if not written.is_change:
            self._open.append((kind, _Outcome.UNCHANGED))
        else:
            is_new = known is None and not written.is_joined
            self._open.append((kind, _Outcome.NEW if is_new else _Outcome.UPDATED))

    def _count(self, text: str) -> TextCount | None:
        """The exact count of a text that is put; counted now, it is not read and written again at the end."""
        counter = self._counter()
        if counter is None:
            return None
        self.counted += 1
        return TextCount(counter.count(text), counter.name)

    def skip(self, kind: str, shown: str, reason: str) -> None:
        """Count a row that is not imported."""
        self._skipped.append(SkippedRow(kind, shown, reason))

    def session_id(self, name: str) -> int:
        """The session here of a name in the source. Raises UsageError where none came in."""
        found = self.session_ids.get(name)
        if found is None:
            raise UsageError(f"its session '{self.texts.line(name)}' is not there")
        return found

    def group_id(self, change: Change, session_id: int, name: str | None, created_at: int) -> int | None:
        """The group here of a name in the source, made on the way; None for a session-wide name."""
        if name is None or is_session_wide(clean := self.texts.word(name)):
            return None
        key = (session_id, clean)
        if key not in self._group_ids:
            found = find_group(change.connection, session_id, clean)
            group_id = found.id if found else require_group(change, session_id, clean, created_at=created_at or None)
            if found is None and self.origin is not None:
                note_maker(change, "group", group_id, UNKNOWN)
            self._group_ids[key] = group_id
        return self._group_ids[key]

    def root_id(self, change: Change) -> int:
        """The root that the artifacts' paths start from."""
        if self._root_id is None:
            location = self.store.location
            self._root_id = artifacts.root_id(change, location.root, location.project)
        return self._root_id

    def counts(self) -> dict[str, KindCount]:
        """The account by kind, in the order the kinds came in."""
        return {
            kind: KindCount(outcomes[_Outcome.NEW], outcomes[_Outcome.UPDATED], outcomes[_Outcome.UNCHANGED])
            for kind, outcomes in self._outcomes.items()
        }

    def skipped(self) -> tuple[SkippedRow, ...]:
        """The rows that were not imported."""
        return tuple(self._skipped)

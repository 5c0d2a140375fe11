"""One run of an import: lines become rows of ours in short transactions, and every line is accounted for.

A chunk is either in with its entries in the register or not at all, so a run that is interrupted loses nothing that was
done, and the next one goes on where it stopped. A record that is not in the register may still be here: made here,
brought by another export, or exported from this very store. Such a twin is joined and not made again.
"""

import enum
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Generic, TypeVar

from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.merge import COUNTED, UNKNOWN, find_merged, make_merged, note_maker
from ctxrank.indexer.exchange.register import Ledger, Origin, number_of, row_digest, row_key, seq_of
from ctxrank.indexer.files import artifacts
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.sessions import NewSession, find_group, is_session_wide, require_group, session_id_of
from ctxrank.indexer.redaction.engine import RedactionMode
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.store.connection import read_column
from ctxrank.indexer.store.documents import TextCount
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.vocabulary import local_counter

CHUNK_ROWS = 500
MAX_REPORTED = 1000  # of a file that is none of ours, every line is bad
# A transaction takes no more files' text than that, so that its lock stays short.
_CHUNK_BYTES = 4_000_000

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
    """What the kinds of records share: the store, the register, the redaction, the sessions, and the account."""

    def __init__(self, store: Store, source: str, mode: RedactionMode, origin: Origin | None = None) -> None:
        self.store = store
        self.mode = mode
        self.origin = origin  # None: lines that do not say whose they are, and which become records of this store
        self.ledger = Ledger(store.primary, source, origin)
        self.texts = IncomingTexts(mode)
        self.notes: list[str] = []
        self.counted = 0  # documents that were put with their exact token count
        self._session_ids: dict[str, int] = {}  # by their name in the source
        self._made_sessions: set[int] = set()
        self._group_ids: dict[tuple[int, str], int] = {}
        self._claimed: dict[str, set[int]] = {}
        self._root_id: int | None = None
        self._outcomes: dict[str, Counter[_Outcome]] = {}
        self._skipped: list[SkippedRow] = []
        self._reported = self._unreported = 0
        self._open: list[tuple[str, _Outcome] | SkippedRow] = []
        self._counter = cache(local_counter)  # loaded with the first document

    @property
    def said_by(self) -> int:
        """The code of the store whose lines these are; 0 for this one, and where lines do not say."""
        return 0 if self.origin is None else self.origin.code

    def bring_lines(
        self,
        kind: str,
        lines: Iterable[Line],
        identity: tuple[str, ...] | Callable[[Line], str],
        prepare: Callable[[Fields, str], Row],
        write: Writer[Row],
        *,
        without: tuple[str, ...] = (),
        weight: Callable[[Row], int] = lambda row: 0,
    ) -> None:
        """Bring in what is new or changed of some lines of one kind, each prepared outside a transaction.

        `identity` are the fields that never change and make the register's key (or what makes the key of a line),
        `without` those that another kind brings in; `prepare` gets the fields and the key.
        """

        def incoming() -> Iterator[Incoming[Row]]:
            for line in lines:
                try:
                    key, digest = self._key_and_digest(kind, line, identity, without)
                    if self._is_pending(kind, key, digest):
                        fields = Fields(line.values, self.texts.of_record(line.values.values()))
                        yield Incoming(key, line.shown, digest, prepare(fields, key))
                except UsageError as error:
                    self.skip(line.shown, kind, error.message)
                except RecursionError:
                    self.skip(line.shown, kind, "it is nested too deeply")

        self._put_chunks(kind, incoming(), write, weight)

    def bring(self, kind: str, rows: Iterable[Incoming[Row]], write: Writer[Row]) -> None:
        """Bring in what is new or changed of a kind, chunk by chunk; the rest costs no transaction."""
        pending = [incoming for incoming in rows if self._is_pending(kind, incoming.key, incoming.digest)]
        self._put_chunks(kind, iter(pending), write, lambda row: 0)

    def _put_chunks(
        self, kind: str, rows: Iterator[Incoming[Row]], write: Writer[Row], weight: Callable[[Row], int]
    ) -> None:
        ready: list[Incoming[Row]] = []
        size = 0
        for incoming in rows:
            ready.append(incoming)
            size += weight(incoming.row)
            if len(ready) == CHUNK_ROWS or size >= _CHUNK_BYTES:
                self._put(kind, ready, write)
                ready, size = [], 0
        if ready:
            self._put(kind, ready, write)

    def _key_and_digest(
        self, kind: str, line: Line, identity: tuple[str, ...] | Callable[[Line], str], without: tuple[str, ...]
    ) -> tuple[str, str]:
        """The key of a line, and a digest of it or the number of its change. Raises UsageError."""
        if self.origin is None:
            key = identity(line) if callable(identity) else key_of(line, identity)
            return key, row_digest(tuple(sorted((n, v) for n, v in line.values.items() if n not in without)))
        number, of = number_of(line.values), line.values.get("of")
        if kind in COUNTED:
            return key_of(line, KINDS[kind].identity), str(seq_of(line.values))
        return str(number) if of is None else f"{number}@{of}", str(seq_of(line.values))

    def _is_pending(self, kind: str, key: str, digest: str) -> bool:
        """Whether a row is new or has changed; one that has not is counted."""
        outcomes = self._outcomes.setdefault(kind, Counter())
        differs = self.ledger.differs(self.ledger.entry(kind, key), digest)
        outcomes[_Outcome.UNCHANGED] += not differs
        return differs

    def _put(self, kind: str, rows: list[Incoming[Row]], write: Writer[Row]) -> None:
        """Bring rows in and enter them into the register, in one transaction; they count once it is committed."""
        self._open.clear()
        with self.store.write() as change:
            change.count_tokens = self._count
            for incoming in rows:
                self._open.append(self._written(change, kind, incoming, write))
        for done in self._open:
            if isinstance(done, SkippedRow):
                self._skipped.append(done)
            else:
                self._outcomes.setdefault(done[0], Counter())[done[1]] += 1

    def _written(
        self, change: Change, kind: str, incoming: Incoming[Row], write: Writer[Row]
    ) -> tuple[str, _Outcome] | SkippedRow:
        known = self.ledger.entry(kind, incoming.key)
        if not self.ledger.differs(known, incoming.digest):  # another import was faster
            return kind, _Outcome.UNCHANGED
        counted = self.counted
        try:
            written = write(change, incoming.row, None if known is None else known.target_id or None)
        except UsageError as error:
            self.counted = counted
            return SkippedRow(kind, incoming.shown, error.message)
        self.ledger.record(kind, incoming.key, incoming.digest, written.target_id)
        if not written.is_change:
            return kind, _Outcome.UNCHANGED
        return kind, _Outcome.NEW if known is None and not written.is_joined else _Outcome.UPDATED

    def _count(self, text: str) -> TextCount | None:
        """The exact count of a text that is put; counted now, it is not read and written again at the end."""
        counter = self._counter()
        if counter is None:
            return None
        self.counted += 1
        return TextCount(counter.count(text), counter.name)

    def skip(self, shown: str, kind: str, reason: str) -> None:
        """A line that does not come in; from a thousand on they are only counted."""
        if self._reported < MAX_REPORTED:
            self._reported += 1
            self._skipped.append(SkippedRow(kind, shown, reason))
        else:
            self._unreported += 1

    def skipped_notes(self) -> Iterator[str]:
        """What a person should know about lines that nothing else mentions."""
        if self._unreported:
            yield f"{self._unreported} more lines were skipped."

    def add_session(self, name: str, session_id: int) -> None:
        """A session that was made for this import: nothing in it can have been here before."""
        self._session_ids[name] = session_id
        self._made_sessions.add(session_id)

    def session_id(self, change: Change, name: str, project: str | None = None, moment: int | None = None) -> int:
        """The session here of this name. Raises UsageError where there is none.

        Of another store it is known by its project, too, and made on the way: its own line says the rest.
        """
        key = f"{project}\n{name}" if self.origin is not None and project is not None else name
        if key not in self._session_ids:
            if key == name:
                found = session_id_of(change.connection, name)
            else:
                found = find_merged(change.connection, name, project or "") or make_merged(
                    change, NewSession(name, project or "", created_at=moment)
                )
            if found is None:
                raise UsageError(f"its session '{self.texts.line(name)}' is not there")
            self._session_ids[key] = found
        return self._session_ids[key]

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

    def twin(
        self, change: Change, kind: str, session_id: int, query: str, values: tuple[str | int | float | None, ...]
    ) -> int | None:
        """The record here that is this one, unless another line of the same source has become it.

        `query` selects ids of a session, which is its first value.
        """
        if session_id in self._made_sessions or self.origin is not None:
            return None
        claimed = self._claimed.get(kind)
        if claimed is None:
            claimed = self._claimed[kind] = self.ledger.targets(kind)
        found = read_column(change.connection, query, (session_id, *values), int)
        twin = next((id_ for id_ in found if id_ not in claimed), None)
        return None if twin is None else self.claim(kind, twin)

    def claim(self, kind: str, id_: int) -> int:
        """Note that a line became this record."""
        if kind in self._claimed:
            self._claimed[kind].add(id_)
        return id_

    def counts(self) -> dict[str, KindCount]:
        """The account by kind, in the order the kinds came in."""
        return {
            kind: KindCount(outcomes[_Outcome.NEW], outcomes[_Outcome.UPDATED], outcomes[_Outcome.UNCHANGED])
            for kind, outcomes in self._outcomes.items()
        }

    def skipped(self) -> tuple[SkippedRow, ...]:
        """The rows that were not imported."""
        return tuple(self._skipped)


def key_of(line: Line, identity: tuple[str, ...]) -> str:
    """The register's key of a line."""
    return row_key(*(line.values.get(name) for name in identity))

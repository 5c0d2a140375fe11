"""Lines of an export on their way in: what is new or changed is prepared outside a transaction, then written.

A record that is not in the ledger may still be here: made here, brought by another export, or exported
from this very store. Such a twin is joined and not made again.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.exchange.fields import Fields
from ctxrank.indexer.exchange.joined import COUNTED, find_joined, make_joined
from ctxrank.indexer.exchange.ledger import row_digest, row_key
from ctxrank.indexer.exchange.lines import Line
from ctxrank.indexer.exchange.origins import number_of, seq_of
from ctxrank.indexer.exchange.run import CHUNK_ROWS, ImportRun, Incoming, Writer
from ctxrank.indexer.records.sessions import NewSession
from ctxrank.indexer.store.connection import read_column, read_value
from ctxrank.indexer.store.store import Change

Row = TypeVar("Row")

MAX_REPORTED = 1000  # of a file that is none of ours, every line is bad
# A transaction takes no more files' text than that, so that its lock stays short.
_CHUNK_BYTES = 4_000_000


class Arrivals:
    """What the kinds of records share: the run, the sessions that are here, and the skipped lines."""

    def __init__(self, run: ImportRun) -> None:
        self.run = run
        self.unreported = 0
        self._reported = 0
        self._made_sessions: set[int] = set()
        self._claimed: dict[str, set[int]] = {}

    def skip(self, shown: str, record: str, reason: str) -> None:
        """A line that does not come in; from a thousand on they are only counted."""
        if self._reported < MAX_REPORTED:
            self._reported += 1
            self.run.skip(record, shown, reason)
        else:
            self.unreported += 1

    def notes(self) -> Iterator[str]:
        """What a person should know about lines that nothing else mentions."""
        if self.unreported:
            yield f"{self.unreported} more lines were skipped."

    def bring(
        self,
        kind: str,
        lines: Iterable[Line],
        *,
        identity: tuple[str, ...] | Callable[[Line], str],
        prepare: Callable[[Fields, str], Row],
        write: Writer[Row],
        without: tuple[str, ...] = (),
        weight: Callable[[Row], int] = lambda row: 0,
    ) -> None:
        """Bring in what is new or changed of some lines of one kind.

        `identity` are the fields that never change and make the ledger's key (or what makes the key of a line),
        `without` those that another kind brings in; `prepare` gets the fields and the key.
        """
        ready: list[Incoming[Row]] = []
        size = 0
        for line in lines:
            try:
                if self.run.origin is not None:
                    key, digest = self._version_of(kind, line)
                else:
                    key = identity(line) if callable(identity) else key_of(line, identity)
                    digest = row_digest(tuple(sorted((n, v) for n, v in line.values.items() if n not in without)))
                seen = Incoming(key, line.shown, digest, line)
                if not self.run.is_pending(kind, seen):
                    continue
                row = prepare(Fields(line.values, self.run.texts.of_record(line.values.values())), key)
            except UsageError as error:
                self.skip(line.shown, kind, error.message)
                continue
            except RecursionError:
                self.skip(line.shown, kind, "it is nested too deeply")
                continue
            ready.append(Incoming(key, seen.shown, digest, row))
            size += weight(row)
            if len(ready) == CHUNK_ROWS or size >= _CHUNK_BYTES:
                self._write(kind, ready, write)
                ready, size = [], 0
        self._write(kind, ready, write)

    def _version_of(self, kind: str, line: Line) -> tuple[str, str]:
        """The key and the number of the change of a line that says whose it is. Raises UsageError."""
        number = number_of(line.values)
        if kind in COUNTED:
            key = key_of(line, KINDS[kind].identity)
        else:
            of = line.values.get("of")
            key = str(number) if of is None else f"{number}@{of}"
        return key, str(seq_of(line.values))

    def _write(self, kind: str, ready: list[Incoming[Row]], write: Writer[Row]) -> None:
        if ready:
            with self.run.write() as change:
                for incoming in ready:
                    self.run.put(change, kind, incoming, write)

    def add_session(self, name: str, session_id: int) -> None:
        """A session that was made for this import: nothing in it can have been here before."""
        self.run.session_ids[name] = session_id
        self._made_sessions.add(session_id)

    def session_id(self, change: Change, name: str, project: str | None = None, moment: int | None = None) -> int:
        """The session here of this name. Raises UsageError where there is none.

        Of another store it is known by its project, too, and made on the way: its own line says the rest.
        """
        if self.run.origin is not None and project is not None:
            return self._joined_session(change, name, project, moment)
        if name not in self.run.session_ids:
            found = read_value(change.connection, "SELECT id FROM sessions WHERE name = ?", (name,), int)
            if found is not None:
                self.run.session_ids[name] = found
        return self.run.session_id(name)

    def _joined_session(self, change: Change, name: str, project: str, moment: int | None) -> int:
        key = f"{project}\n{name}"
        if key not in self.run.session_ids:
            found = find_joined(change.connection, name, project)
            if found is None:
                found = make_joined(change, NewSession(name, project, created_at=moment))
            self.run.session_ids[key] = found
        return self.run.session_ids[key]

    def twin(
        self, change: Change, kind: str, session_id: int, query: str, values: tuple[str | int | float | None, ...]
    ) -> int | None:
        """The record here that is this one, unless another line of the same source has become it.

        `query` selects ids of a session, which is its first value.
        """
        if session_id in self._made_sessions or self.run.origin is not None:
            return None
        claimed = self._claimed.get(kind)
        if claimed is None:
            claimed = self._claimed[kind] = self.run.ledger.targets(change, kind)
        found = read_column(change.connection, query, (session_id, *values), int)
        twin = next((id_ for id_ in found if id_ not in claimed), None)
        return None if twin is None else self.claim(kind, twin)

    def claim(self, kind: str, id_: int) -> int:
        """Note that a line became this record."""
        if kind in self._claimed:
            self._claimed[kind].add(id_)
        return id_


def key_of(line: Line, identity: tuple[str, ...]) -> str:
    """The ledger's key of a line."""
    return row_key(None, *(line.values.get(name) for name in identity))

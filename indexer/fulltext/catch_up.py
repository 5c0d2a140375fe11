"""The index updater: it applies the change log to the index until nothing is missing.

It takes the index's write lock, then reads how far the index is, then applies in the log's order with
INSERT OR REPLACE and DELETE only. Reading before locking, or a plain INSERT, leaves ghosts that no check
sees. Within one batch the order is by rowid: a batch holds a document at most once, and FTS5 writes out
its pending list whenever rowids go backwards.
"""

import time
from collections.abc import Callable
from operator import itemgetter

import apsw

from ctxrank.indexer.engine import INDEX_READ_ERRORS, IndexHealth
from ctxrank.indexer.fulltext import index_file
from ctxrank.indexer.fulltext.bulk_catch_up import FILE, LockFile, bulk_catch_up_in_progress
from ctxrank.indexer.fulltext.health import heal
from ctxrank.indexer.fulltext.index_file import PRIMARY
from ctxrank.indexer.fulltext.term_counts import TermCounter
from ctxrank.indexer.store.change_log import (
    ChangeBatch,
    LoggedDocument,
    changes_after,
    history_id,
    read_changes,
)
from ctxrank.indexer.store.connection import immediate, read_map, snapshot, translate, wait_for_locks
from ctxrank.indexer.store.facets import index_rowid, scope_text
from ctxrank.indexer.store.rows import update

# What is applied in one transaction: every term's statistics are written once a batch, and FTS5 writes one segment.
_BATCH_DOCUMENTS = 10_000
# A bounded catch-up looks at the clock between batches, so its batches are small (about 10 ms each); where there are
# seconds, each may take a tenth of one, and the whole takes two thirds of the time.
_BOUNDED_BATCH_DOCUMENTS = 100
_LONG_BOUND_MS = 1000
_LONG_BOUND_BATCH_DOCUMENTS = 1000
# After a run this long the segments it wrote are merged (5 ms for a thousand documents; queries ran a quarter faster).
_MERGED_AFTER_DOCUMENTS = 20_000
_MERGED_AT_ONCE_PAGES = 1000


IndexRow = tuple[int, str, LoggedDocument]  # a document as a row of the index: its number, its scope


def catch_up(
    holder: index_file.IndexHolder,
    bound_ms: int | None = None,
    wait_ms: int = 0,
    kept: "dict[index_file.Index, IndexUpdater] | None" = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Apply the changes the index is missing; returns how many are still missing.

    `progress(done, total)` is told around each batch of an unbounded one. A process that does nothing else keeps the
    updater for the next one in `kept`: it knows the terms already.

    With `bound_ms` it stops after about that time, waits for the index's lock no longer than `wait_ms`, and leaves the
    work to a process that will do all of it (bulk_catch_up.py). An index that is damaged, foreign or of another
    fingerprint is healed first where that is allowed.
    """
    started = time.monotonic()
    index = index_file.current_index(holder)
    try:
        if index.health in index_file.REBUILDABLE:
            index = heal(holder)
        if not index.is_usable:
            return lag(holder, index)
        folder = holder.store.location.folder
        if bound_ms is None:
            wait_for_locks(index.connection, holder.store.busy_ms)
            total = 0 if progress is None else lag(holder, index)

            def before_batch() -> None:
                announcement.take()
                if progress is not None:
                    progress(total - lag(holder, index), total)

            updaters = {} if kept is None else kept
            # What fails is not kept, since its new terms are not in the index.
            updater = updaters.pop(index, None) or IndexUpdater(index)
            with LockFile(folder, FILE) as announcement:
                missing = updater.run(None, before_batch)
                before_batch()
            updaters[index] = updater
            return missing
        if bulk_catch_up_in_progress(folder):
            return lag(holder, index)
        wait_for_locks(index.connection, wait_ms)
        deadline = started + bound_ms / 1000
        size = _LONG_BOUND_BATCH_DOCUMENTS if bound_ms >= _LONG_BOUND_MS else _BOUNDED_BATCH_DOCUMENTS
        return IndexUpdater(index).run(
            lambda: time.monotonic() >= deadline or bulk_catch_up_in_progress(folder), size=size
        )
    except (apsw.BusyError, apsw.ReadOnlyError):
        return lag(holder, index)  # it answers as it is
    except INDEX_READ_ERRORS as error:
        index.health = index_file.health_with_store(holder.store.primary, error)
        return lag(holder, index)


def rebuild(holder: index_file.IndexHolder, progress: Callable[[int, int], None] | None = None) -> int:
    """Empty the index and build it again from the start; returns how many changes are still missing.

    `progress(done, total)` counts documents.

    Raises CtxrankError where the file cannot be written, LockedError; a damaged one is healed.
    """
    index = index_file.current_index(holder)
    try:
        if index.is_usable:
            index.connection.set_busy_timeout(holder.store.busy_ms)
            with immediate(index.with_primary):
                clear(index.connection)
            if not index.is_file_sound():  # asked of an empty index, whatever its size
                index = holder.reopen_index()  # as it is since it was emptied
                index.health = IndexHealth.DAMAGED
    except apsw.Error as error:
        health = index_file.health_of(error)
        if health in (IndexHealth.UNREADABLE, IndexHealth.IO_ERROR, IndexHealth.LOCKED):
            # What the system says no to: an index that could not be emptied is not damaged, and as it was.
            raise translate(error, index.path) from error
        index.health = health
    return catch_up(holder, progress=progress)


def lag(holder: index_file.IndexHolder, index: index_file.Index) -> int:
    """How many changes of the log the index is missing; all of them where it cannot be read."""
    applied = 0
    with snapshot(holder.store.primary):
        # The primary database is pinned first: what is committed and applied while this looks is not missing.
        holder.store.primary.execute("SELECT seq FROM store").fetchone()
        if index.is_usable:
            try:
                applied = index.state().applied_seq
            except INDEX_READ_ERRORS as error:
                index.health = index_file.health_of(error)
        return changes_after(holder.store.primary, applied)


def merge_segments(connection: apsw.Connection) -> None:
    """Leave one segment of each FTS5 table: a query then reads one list a term, not one for each segment.

    In steps, so that others may write in between, and the pages of what is merged are used again.
    """
    for table in ("fts", "term_trigrams"):
        pages = -_MERGED_AT_ONCE_PAGES  # below 0 it takes all segments, above it goes on with what has begun
        changes = 2
        while changes >= 2:  # FTS5 counts the statement itself
            with immediate(connection):
                before = connection.total_changes()
                connection.execute(f"INSERT INTO main.{table} ({table}, rank) VALUES ('merge', ?)", (pages,))
                changes = connection.total_changes() - before
            pages = _MERGED_AT_ONCE_PAGES


class IndexUpdater:
    """One run: keeps the ids of terms it has seen, so that a rebuild looks each up once."""

    def __init__(self, index: index_file.Index) -> None:
        self._index = index
        self._connection = index.with_primary
        self._terms = TermCounter(index)
        self._generation: int = 0
        self._applied = 0

    def run(
        self,
        is_enough: Callable[[], bool] | None,
        before_batch: Callable[[], None] = lambda: None,
        size: int = _BATCH_DOCUMENTS,
    ) -> int:
        """Apply batches of so many documents until nothing is missing or, after one of them, it is enough.

        Returns the lag.
        """
        self._applied = 0
        while True:
            before_batch()
            with immediate(self._connection):
                state = self._index.state()
                if state.history_id != history_id(self._connection, PRIMARY, state.applied_seq):
                    # Another history: a restored backup, or a primary database that was replaced.
                    clear(self._connection)
                    state = self._index.state()
                batch = read_changes(self._connection, PRIMARY, after=state.applied_seq, most=size)
                if batch.end > state.applied_seq:  # even without rows: those of the last numbers may have changed again
                    self._apply(state, batch)
            if batch.is_last:
                if is_enough is None and self._applied >= _MERGED_AFTER_DOCUMENTS:
                    merge_segments(self._connection)
                return 0
            if is_enough is not None and is_enough():
                return changes_after(self._connection, self._index.state().applied_seq, PRIMARY)

    def _apply(self, state: index_file.IndexState, batch: ChangeBatch) -> None:
        """Apply a batch that begins where the index ends. Runs inside the write transaction."""
        if state.generation != self._generation:
            # Emptied since the last batch, by us or by another process: its terms have other ids now.
            self._terms.forget()
            self._generation = state.generation
        rows = index_rows(self._connection, batch.documents)
        removed = sorted(index_rowid(deletion.session_id, deletion.id) for deletion in batch.deletions)
        self._terms.start()
        counted: list[tuple[int, int, int]] = []  # each row that goes (-1) or comes, its length, whether it is a title
        # One statement for all, where most are new: 1.5 times as fast as asking for each.
        for length, is_title, terms in self._connection.execute(
            """
            SELECT f.length, f.is_title, f.terms
              FROM json_each(?) AS changed
             CROSS JOIN main.forward AS f ON f.id = changed.value
            """,
            (str([row[0] for row in rows] + removed if state.documents else []),),
        ):
            self._terms.remove(terms, is_title=is_title != 0)
            counted.append((-1, length, is_title))
        gone = [(rowid,) for rowid in removed]
        self._connection.executemany("DELETE FROM main.fts WHERE rowid = ?", gone)
        self._connection.executemany("DELETE FROM main.forward WHERE id = ?", gone)
        entries: list[tuple[int, int, int, bool, bytes]] = []
        for rowid, _, text in rows:
            terms, length, is_title = self._terms.add(text)
            entries.append((rowid, text.owner_id or text.id, length, is_title, terms))
            counted.append((1, length, is_title))
        self._terms.finish()
        query = (
            "INSERT OR REPLACE INTO main.fts (rowid, body, title, path, identifiers, scope) VALUES (?, ?, ?, ?, ?, ?)"
        )
        texts = [(rowid, one.body, one.title, one.path, one.identifiers, scope) for rowid, scope, one in rows]
        self._connection.executemany(query, texts)
        query = "INSERT OR REPLACE INTO main.forward (id, owner_id, length, is_title, terms) VALUES (?, ?, ?, ?, ?)"
        self._connection.executemany(query, entries)
        values = {
            "applied_seq": batch.end,
            "history_id": history_id(self._connection, PRIMARY, batch.end),
            "documents": state.documents + sum(sign for sign, *_ in counted),
            "total_length": state.total_length
            + sum(sign * length for sign, length, is_title in counted if not is_title),
            "texts": state.texts + sum(sign for sign, _, is_title in counted if not is_title),
        }
        update(self._connection, "main.state", 1, values)
        self._applied += len(rows)


def index_rows(connection: apsw.Connection, documents: list[LoggedDocument]) -> list[IndexRow]:
    """Documents as rows of the index, in its order."""
    labels = read_map(connection, f"SELECT text, id FROM {PRIMARY}.labels", (), str, int)
    rows = ((index_rowid(one.session_id, one.id), scope_text(one, labels), one) for one in documents)
    return sorted(rows, key=itemgetter(0))


def clear(connection: apsw.Connection) -> None:
    """Empty the index in place, inside the caller's transaction."""
    connection.execute("INSERT INTO main.fts (fts) VALUES ('delete-all')")
    connection.execute("INSERT INTO main.term_trigrams (term_trigrams) VALUES ('delete-all')")
    connection.execute("DELETE FROM main.terms")
    connection.execute("DELETE FROM main.forward")
    index_file.start_empty(connection)

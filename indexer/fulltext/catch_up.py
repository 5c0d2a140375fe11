"""The follower: it applies the change feed to the index until nothing is missing.

It takes the index's write lock, then reads how far the index is, then applies in the feed's order with
INSERT OR REPLACE and DELETE only. Reading before locking, or a plain INSERT, leaves ghosts that no check
sees. Within one batch the order is by rowid: a batch holds a document at most once, and FTS5 writes out
its pending list whenever rowids go backwards.
"""

import time
from collections import Counter
from collections.abc import Callable

import apsw

from ctxrank.indexer.fulltext import forward, index_file
from ctxrank.indexer.fulltext.bulk_catch_up import Announcement, is_announced
from ctxrank.indexer.fulltext.health import heal
from ctxrank.indexer.fulltext.impact_bounds import COLUMNS, Shortest
from ctxrank.indexer.fulltext.term_counts import TermCounter
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import immediate, snapshot, translate, wait_for_locks
from ctxrank.indexer.store.facets import index_rowid, scope_text

# What is applied in one transaction: every term's statistics are written once a batch, and FTS5 writes one segment.
_BATCH_DOCUMENTS = 10_000
_BATCH_CHARS = 8_000_000
# A bounded catch-up looks at the clock between batches, so its batches are small (about 10 ms each).
_BOUNDED_BATCH_DOCUMENTS = 100
# After a run this long the segments it wrote are merged (5 ms for a thousand documents; queries ran a quarter faster).
_MERGED_AFTER_DOCUMENTS = 20_000
_MERGED_AT_ONCE_PAGES = 1000
_SHORTENED = ", ".join(f"{column} = min({column}, ?)" for column in COLUMNS)
# What the system says no to: an index that could not be emptied is not damaged, and as it was.
_REFUSED = (
    apsw.ReadOnlyError, apsw.CantOpenError, apsw.FullError, apsw.IOError, apsw.PermissionsError, apsw.BusyError,
)  # fmt: skip
_EVERYTHING = 1 << 62  # beyond any number of a change


class _Row(NamedTuple):
    """One document of the feed, as the index needs it."""

    rowid: int
    owner_id: int
    title: str
    body: str
    path: str
    identifiers: str
    scope: str


def follow(store: index_file.IndexHolder, bound_ms: int | None = None, wait_ms: int = 0) -> int:
    """Apply what the index lacks; returns how many changes it still lacks.

    With `bound_ms` it stops after about that time, waits for the index's lock no longer than `wait_ms`, and leaves the
    work to a process that will do all of it (bulk_catch_up.py). An index that is damaged, foreign or of another
    fingerprint is healed first where that is allowed.
    """
    deadline = None if bound_ms is None else time.monotonic() + bound_ms / 1000
    index = index_file.current_index(store)
    try:
        if index.trouble in index_file.HEALED:
            index = heal(store)
        if not index.is_usable:
            return lag(store, index)
        folder = store.location.folder
        if deadline is None:
            wait_for_locks(index.connection, store.busy_ms)
            with Announcement(folder) as said:
                return Follower(index).run(None, said.again)
        if is_announced(folder):
            return lag(store, index)
        wait_for_locks(index.connection, wait_ms)
        return Follower(index).run(lambda: time.monotonic() >= deadline or is_announced(folder))
    except (apsw.BusyError, apsw.ReadOnlyError):
        return lag(store, index)  # it answers as it is
    except index_file.BROKEN as error:
        index.trouble = index_file.trouble_beside(store.truth, error)
        return lag(store, index)


def rebuild(store: index_file.IndexHolder) -> int:
    """Empty the index and feed it again from the start; returns how many changes it still lacks.

    Raises CtxrankError where the file cannot be written, LockedError; a damaged one is healed.
    """
    index = index_file.current_index(store)
    try:
        if index.is_usable:
            index.connection.set_busy_timeout(store.busy_ms)
            with immediate(index.connection):
                clear(index.connection)
            if not index.is_file_sound():  # asked of an empty index, whatever its size
                index = store.reopen_index()  # as it is since it was emptied
                index.trouble = index_file.Trouble.DAMAGED
    except _REFUSED as error:
        raise translate(error, index.path) from error
    except apsw.Error as error:
        index.trouble = index_file.trouble_of(error)
    return follow(store)


def lag(store: index_file.IndexHolder, index: index_file.Index) -> int:
    """How many changes of the feed the index lacks; all of them where it cannot be read."""
    applied = 0
    with snapshot(store.truth):
        # The truth is pinned first: what is committed and applied while this looks is not missing.
        store.truth.execute("SELECT seq FROM store").fetchone()
        if index.is_usable:
            try:
                applied = index.state().applied_seq
            except index_file.BROKEN as error:
                index.trouble = index_file.trouble_of(error)
        return changes_after(store.truth, applied)


def changes_after(truth: apsw.Connection, seq: int, schema: str = "main") -> int:
    """How many documents and tombstones came after this point of the feed."""
    row = truth.execute(
        f"SELECT (SELECT count(*) FROM {schema}.documents WHERE seq > ?1)"
        f" + (SELECT count(*) FROM {schema}.tombstones WHERE seq > ?1)",
        (seq,),
    ).fetchone()
    return int(row[0]) if row else 0


class Follower:
    """One run: keeps the ids of terms it has seen, so that a rebuild looks each up once."""

    def __init__(self, index: index_file.Index) -> None:
        self._index = index
        self._connection = index.connection
        self._terms = TermCounter(index)
        self._shortest = Shortest()
        self._generation = 0
        self._applied = 0

    def run(self, is_enough: Callable[[], bool] | None, before_batch: Callable[[], None] = lambda: None) -> int:
        """Apply batches until nothing is missing or, after one of them, it is enough; returns the lag."""
        size = _BATCH_DOCUMENTS if is_enough is None else _BOUNDED_BATCH_DOCUMENTS
        while True:
            before_batch()
            with immediate(self._connection):
                is_done = self._apply_batch(size)
            if is_done:
                if is_enough is None and self._applied >= _MERGED_AFTER_DOCUMENTS:
                    self._merge()
                return 0
            if is_enough is not None and is_enough():
                return changes_after(self._connection, self._index.state().applied_seq, "primary_db")

    def _merge(self) -> None:
        """Leave one segment behind a long run: a query then reads one list a term, not one for each of them.

        In steps, so that others may write in between, and the pages of what is merged are used again.
        """
        pages = -_MERGED_AT_ONCE_PAGES  # below 0 it takes all segments, above it goes on with what has begun
        while True:
            with immediate(self._connection):
                before = self._connection.total_changes()
                self._connection.execute("INSERT INTO main.fts (fts, rank) VALUES ('merge', ?)", (pages,))
                changes = self._connection.total_changes() - before
            if changes < 2:  # FTS5 counts the statement itself
                return
            pages = _MERGED_AT_ONCE_PAGES

    def _apply_batch(self, size: int) -> bool:
        """Apply the next changes; true when there were no more. Runs inside the write transaction."""
        state = self._index.state()
        if state.mark != self._mark_at(state.applied_seq):
            # Another history: a restored backup, or a truth file that was replaced.
            clear(self._connection)
            state = self._index.state()
        if state.generation != self._generation:
            # Emptied since the last batch, by us or by another process: its terms have other ids now.
            self._terms.forget()
            self._shortest.forget()
            self._generation = state.generation
        live, live_end = self._read_documents(state.applied_seq, size)
        gone, gone_end = self._read_tombstones(state.applied_seq, size)
        end = min(live_end, gone_end)
        is_all = end == _EVERYTHING
        rows = sorted((row for seq, row in live if seq <= end), key=lambda row: row.rowid)
        removed = sorted(rowid for seq, rowid in gone if seq <= end)
        end = min(end, self._last_seq())
        if end > state.applied_seq:  # even with no rows: those of the last numbers may have changed again
            self._apply(state, rows, removed, end)
            self._applied += len(rows)
        return is_all

    def _read_documents(self, after: int, size: int) -> tuple[list[tuple[int, _Row]], int]:
        """The next rows by their numbers, and up to which number these are all there are."""
        labels = {
            str(text): int(label) for label, text in self._connection.execute("SELECT id, text FROM primary_db.labels")
        }
        rows: list[tuple[int, _Row]] = []
        chars = 0
        for record in self._connection.execute(
            """
            SELECT seq, id, kind, owner_id, session_id, group_id, agent, type, priority, superseded_by,
                   title, body, path, identifiers
              FROM primary_db.documents
             WHERE seq > ?
             ORDER BY seq
             LIMIT ?
            """,
            (after, size),
        ):
            seq, id_, kind, owner, session, group, agent, type_, priority, superseded, *texts = record
            title, body, path, identifiers = texts
            scope = scope_text(
                kind, session, group, labels, agent=agent, type_=type_, priority=priority,
                is_current=superseded is None,
            )  # fmt: skip
            rows.append((seq, _Row(index_rowid(session, id_), owner or id_, title, body, path, identifiers, scope)))
            chars += len(body) + len(identifiers)
            if chars >= _BATCH_CHARS:
                return rows, seq
        return rows, rows[-1][0] if len(rows) == size else _EVERYTHING

    def _read_tombstones(self, after: int, size: int) -> tuple[list[tuple[int, int]], int]:
        rows = [
            (int(seq), index_rowid(int(session), int(document)))
            for seq, session, document in self._connection.execute(
                "SELECT seq, session_id, document_id FROM primary_db.tombstones WHERE seq > ? ORDER BY seq LIMIT ?",
                (after, size),
            )
        ]
        return rows, rows[-1][0] if len(rows) == size else _EVERYTHING

    def _apply(self, state: index_file.IndexState, rows: list[_Row], removed: list[int], end: int) -> None:
        changed_df: Counter[int] = Counter()
        documents, total_length = state.documents, state.total_length
        # One statement for all, where most are new: 1.5 times as fast as asking for each.
        for length, terms in self._connection.execute(
            """
            SELECT f.length, f.terms
              FROM json_each(?) AS changed
             CROSS JOIN main.forward AS f ON f.id = changed.value
            """,
            (str([row.rowid for row in rows] + removed),),
        ):
            changed_df.subtract(forward.term_ids(terms))
            documents -= 1
            total_length -= length
        for rowid in removed:
            self._connection.execute("DELETE FROM main.fts WHERE rowid = ?", (rowid,))
            self._connection.execute("DELETE FROM main.forward WHERE id = ?", (rowid,))
        entries: list[tuple[int, int, int, bytes]] = []
        self._terms.start()
        for row in rows:
            counts, length = self._terms.count(
                body=row.body, title=row.title, path=row.path, identifiers=row.identifiers
            )
            changed_df.update(counts.keys())
            self._shortest.note(counts.keys(), counts.values(), length)
            entries.append((row.rowid, row.owner_id, length, forward.encode(counts)))
            documents += 1
            total_length += length
        self._terms.finish()
        self._connection.executemany(
            "INSERT OR REPLACE INTO main.fts (rowid, body, title, path, identifiers, scope) VALUES (?, ?, ?, ?, ?, ?)",
            [(row.rowid, row.body, row.title, row.path, row.identifiers, row.scope) for row in rows],
        )
        self._connection.executemany(
            "INSERT OR REPLACE INTO main.forward (id, owner_id, length, terms) VALUES (?, ?, ?, ?)", entries
        )
        news = self._shortest.news()
        self._connection.executemany(
            "UPDATE main.terms SET df = df + ? WHERE id = ?",
            [(change, term_id) for term_id, change in changed_df.items() if change and term_id not in news],
        )
        self._connection.executemany(
            f"UPDATE main.terms SET df = df + ?, {_SHORTENED} WHERE id = ?",
            [(changed_df[term_id], *lengths, term_id) for term_id, lengths in news.items()],
        )
        self._connection.execute(
            "UPDATE main.state SET applied_seq = ?, history_id = ?, documents = ?, total_length = ? WHERE id = 1",
            (end, self._mark_at(end), documents, total_length),
        )

    def _mark_at(self, seq: int) -> int:
        """The mark of the transaction that this change belongs to; 0 before the first change."""
        if seq == 0:
            return 0
        row = self._connection.execute(
            "SELECT history_id FROM primary_db.history_checkpoints WHERE seq >= ? ORDER BY seq LIMIT 1", (seq,)
        ).fetchone()
        return int(row[0]) if row else -1

    def _last_seq(self) -> int:
        row = self._connection.execute("SELECT seq FROM primary_db.store WHERE id = 1").fetchone()
        return int(row[0]) if row else 0


def clear(connection: apsw.Connection) -> None:
    """Empty the index in place, inside the caller's transaction."""
    connection.execute("INSERT INTO main.fts (fts) VALUES ('delete-all')")
    connection.execute("DELETE FROM main.terms")
    connection.execute("DELETE FROM main.forward")
    index_file.start_empty(connection)

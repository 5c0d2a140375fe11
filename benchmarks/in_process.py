"""Assembly and search inside one process that holds the store open: no start-up, only the work.

Each call asks another question of a store of the largest size. Beside our search stands the obvious way to do
the same: one plain FTS5 table, the session as a column of the table beside it, a join, and bm25().
"""

import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import apsw
from figures import Figure, Findings
from generate import Asked, asked
from timing import percentile
from workspace import Workspace

from ctxrank.indexer import Store, open_store
from ctxrank.ranking import AssembleRequest, SearchRequest, assemble, search

MAX_ASSEMBLE_P95_MS = 10.0
MAX_SCOPED_SEARCH_P95_MS = 5.0
_TAIL = 0.95
_WARM_UP_CALLS = 20
_LIMIT = 10


def measure(workspace: Workspace) -> Findings:
    """Time each kind of call over many questions."""
    shape = workspace.sizes.large
    folder = workspace.store(shape)
    questions = asked(shape, workspace.sizes.calls)
    figures: list[Figure] = []
    with (
        open_store(start=folder) as store,
        closing(naive_table(store, os.path.join(workspace.folder, "naive.db"))) as naive,
    ):
        calls: list[tuple[str, Callable[[Asked], object], float | None]] = [
            (
                "assemble, delivery marked",
                lambda asked: ask_assemble(store, asked, is_marking=True),
                MAX_ASSEMBLE_P95_MS,
            ),
            ("assemble, nothing marked", lambda asked: ask_assemble(store, asked, is_marking=False), None),
            ("search in a session", lambda asked: ask_search(store, asked, asked.session), MAX_SCOPED_SEARCH_P95_MS),
            ("search in everything", lambda asked: ask_search(store, asked, None), None),
            ("peer: naive FTS5 in a session", lambda asked: ask_naive(naive, asked, asked.session), None),
            ("peer: naive FTS5 in everything", lambda asked: ask_naive(naive, asked, None), None),
        ]
        for name, call, limit in calls:
            figures += timed(name, call, questions, limit)
        (documents,) = store.primary.execute("SELECT count(*) FROM documents").fetchone() or (0,)
    note = f"{shape.packages:,} packages in {shape.sessions} sessions; with passages {documents:,} documents."
    return Findings(figures, [note])


def ask_assemble(store: Store, asked: Asked, *, is_marking: bool) -> object:
    # As the command does for its text: the trees behind the scores are for JSON.
    request = AssembleRequest(
        asked.session, asked.agent, asked.group, asked.task, is_marking=is_marking, is_explained=False
    )
    return assemble(store, request)


def ask_search(store: Store, asked: Asked, session: str | None) -> object:
    return search(store, SearchRequest(asked.query, _LIMIT, session=session))


def timed(name: str, call: Callable[[Asked], object], questions: list[Asked], limit: float | None) -> Iterator[Figure]:
    """The tail and the middle of one kind of call; CPU time beside wall time, for a machine that is shared."""
    for question in questions[:_WARM_UP_CALLS]:
        call(question)
    gc.collect()  # what an earlier call left is not this one's cost
    wall: list[float] = []
    cpu: list[float] = []
    for question in questions:
        wall_start, cpu_start = time.perf_counter_ns(), time.thread_time_ns()
        call(question)
        cpu.append((time.thread_time_ns() - cpu_start) / 1e6)
        wall.append((time.perf_counter_ns() - wall_start) / 1e6)
    yield Figure(f"{name}, p95", "ms", percentile(wall, _TAIL), tuple(wall), limit)
    yield Figure(f"{name}, p95 of CPU", "ms", percentile(cpu, _TAIL), tuple(cpu), limit)


def naive_table(store: Store, path: str) -> apsw.Connection:
    """The same documents as a first attempt would hold them."""
    naive = apsw.Connection(path)
    naive.execute("""
        CREATE TABLE documents (id INTEGER PRIMARY KEY, session TEXT, path TEXT, title TEXT, body TEXT);
        CREATE INDEX documents_session ON documents (session);
        CREATE VIRTUAL TABLE fts USING fts5(
            title, body, path, content = 'documents', content_rowid = 'id',
            tokenize = 'porter unicode61 remove_diacritics 2'
        );
        BEGIN;
    """)
    naive.executemany(
        "INSERT INTO documents (id, session, path, title, body) VALUES (?, ?, ?, ?, ?)",
        store.primary.execute("""
            SELECT d.id, s.name, d.path, d.title, d.body
              FROM documents AS d
              LEFT JOIN sessions AS s ON s.id = d.session_id
        """).fetchall(),
    )
    naive.execute("INSERT INTO fts (fts) VALUES ('rebuild'); COMMIT")
    return naive


def ask_naive(naive: apsw.Connection, asked: Asked, session: str | None) -> object:
    words = " OR ".join(f'"{word}"' for word in asked.query.split())
    condition = "" if session is None else "AND d.session = ?"
    query = f"""
        SELECT d.id, d.path, d.title, bm25(fts) AS score, snippet(fts, -1, '**', '**', ' … ', 24)
          FROM fts
          JOIN documents AS d ON d.id = fts.rowid
         WHERE fts MATCH ? {condition}
         ORDER BY score
         LIMIT ?
    """
    values = (words, _LIMIT) if session is None else (words, session, _LIMIT)
    return naive.execute(query, values).fetchall()

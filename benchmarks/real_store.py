"""Search and assembly on a store as people have it: real notes, about twenty passages a package, words of tasks.

The store is the predecessor's from `--data`, imported with its files. Each question is 4 to 12 words that follow one
another in a passage, so that common words stand beside rare ones as in a task. What is timed, and the plain FTS5 table
beside it, are below: one plain FTS5 table, the session as a column of the table beside it, a join, and bm25().
"""

import gc
import os
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import apsw
from figures import Figure, Findings, figure
from generate import SEED, Asked
from timing import percentile
from workspace import Workspace

from ctxrank.indexer import Store, open_store
from ctxrank.indexer.agents import AGENTS
from ctxrank.ranking import AssembleRequest, SearchRequest, assemble, search

_WORDS = (4, 12)
_TAIL = 0.95
_WARM_UP_CALLS = 20
_LIMIT = 10
_MAX_SEARCH_P95_MS = 8.0
_MAX_ASSEMBLE_P95_MS = 12.0
_MAX_OVER_NAIVE = 2.0


def measure(workspace: Workspace) -> Findings:
    """Time each kind of call over many questions."""
    real = workspace.real_store()
    figures: list[Figure] = []
    with (
        open_store(start=real.folder) as store,
        closing(naive_table(store, os.path.join(workspace.folder, "naive-real.db"))) as naive,
    ):
        questions = _questions(store, workspace.sizes.calls)
        calls: list[tuple[str, Callable[[Asked], object], float | None]] = [
            ("assemble, delivery marked", lambda asked: ask_assemble(store, asked), _MAX_ASSEMBLE_P95_MS),
            ("search in everything", lambda asked: ask_search(store, asked, None), _MAX_SEARCH_P95_MS),
            ("search in a session", lambda asked: ask_search(store, asked, asked.session), None),
            ("peer: naive FTS5 in everything", lambda asked: ask_naive(naive, asked), None),
        ]
        for name, call, limit in calls:
            figures += timed(name, call, questions, limit)
        of = {one.name.removesuffix(", p95 of CPU"): one.values for one in figures if one.name.endswith("of CPU")}
        ratios = [
            ours / peer
            for ours, peer in zip(of["search in everything"], of["peer: naive FTS5 in everything"], strict=True)
        ]
        figures.append(figure("search over naive FTS5, CPU", "x", ratios, limit=_MAX_OVER_NAIVE))
        (documents,) = store.primary.execute("SELECT count(*) FROM documents").fetchone() or (0,)
    return Findings(figures, [f"{documents:,} documents; questions of {_WORDS[0]} to {_WORDS[1]} words."])


def _questions(store: Store, count: int) -> list[Asked]:
    chance = random.Random(SEED)
    passages = store.primary.execute(
        """
        SELECT s.name, g.name, d.body
          FROM documents AS d
          JOIN sessions AS s ON s.id = d.session_id
          LEFT JOIN groups AS g ON g.id = d.group_id
         WHERE d.kind IN ('passage', 'package')
         ORDER BY d.id
        """
    ).fetchall()
    questions: list[Asked] = []
    while len(questions) < count:
        session, group, body = chance.choice(passages)
        words = re.findall(r"[^\W_]+", str(body))
        length = chance.randint(*_WORDS)
        if len(words) >= length:
            first = chance.randrange(len(words) - length + 1)
            text = " ".join(words[first : first + length])
            questions.append(Asked(str(session), str(group or ""), chance.choice(AGENTS), text, text))
    return questions


def ask_assemble(store: Store, asked: Asked) -> object:
    # As the command does for its text: the trees behind the scores are for JSON.
    return assemble(store, AssembleRequest(asked.session, asked.agent, asked.group, asked.task, is_explained=False))


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


def ask_naive(naive: apsw.Connection, asked: Asked) -> object:
    words = " OR ".join(f'"{word}"' for word in asked.query.split())
    query = """
        SELECT d.id, d.path, d.title, bm25(fts) AS score, snippet(fts, -1, '**', '**', ' … ', 24)
          FROM fts
          JOIN documents AS d ON d.id = fts.rowid
         WHERE fts MATCH ?
         ORDER BY score
         LIMIT ?
    """
    return naive.execute(query, (words, _LIMIT)).fetchall()

"""Search and assembly on a store as people have it: real notes, about twenty passages a package, words of tasks.

The store is the predecessor's from `--data`, imported with its files. Each question is made of words that follow one
another in a passage, 4 to 12 unless its kind says more, so that common words stand beside rare ones as in a task.
Beside it is a first attempt: one plain FTS5 table, the filters as columns of the table beside it, a join, bm25() and
snippets. All answer each question in turn, three times, and the fastest counts: the store that is open here, the table,
and `serve`, of whose process the CPU time is taken.
"""

import gc
import json
import os
import random
import re
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from http.client import HTTPConnection

import apsw
from figures import Figure, Findings, figure
from generate import SEED, Asked
from timing import percentile
from workspace import Workspace

from ctxrank.indexer import Store, open_store
from ctxrank.indexer.agents import AGENTS
from ctxrank.ranking import AssembleRequest, SearchRequest, assemble, search
from ctxrank.ranking.retrieval.query import STOPWORDS

_WORDS = (4, 12)
_TAIL = 0.95
_WARM_UP_CALLS = 20
_TURNS = 3
_LIMIT = 10
_MAX_SEARCH_P95_MS = 9.0
_MAX_ASSEMBLE_P95_MS = 12.0
# What a kind of question is called, the most that it may take of a plain table's time, and of other words how to pick.
_KINDS = {
    "in everything": 1.3, "in a session": 1.3, "with a filter": 1.3, "for one rare word": 2.5,
    "for one frequent word": 2.0, "for 32 words": 1.3, "for a phrase": 2.5, "for a prefix": 2.0,
}  # fmt: skip
_RARE, _FREQUENT = 5, 0.04  # passages that have the word, at most; the share of all that has it, at least
_START_S = 20  # of `serve`

# What answers a question, and the clock of the CPU time, in nanoseconds, that it takes.
_Answering = tuple[Callable[[str, Asked], object], Callable[[], int]]


def measure(workspace: Workspace) -> Findings:
    """Time each kind of call over many questions."""
    real = workspace.real_store()
    with (
        open_store(start=real.folder) as store,
        closing(naive_table(store, os.path.join(workspace.folder, "naive-real.db"))) as naive,
        _served(workspace, real.folder) as served,
    ):
        questions = _Questions(store)
        figures = list(_assembled(store, [questions.of(_WORDS) for _ in range(workspace.sizes.calls)]))
        for kind, limit in _KINDS.items():
            asked = [questions.of_kind(kind) for _ in range(workspace.sizes.calls // 4)]
            here = (partial(_ask_search, store), time.thread_time_ns), (partial(_ask_naive, naive), time.thread_time_ns)
            ours, peer, *by_serve = _in_turn([*here, *served], kind, asked)
            most = _MAX_SEARCH_P95_MS if kind == "in everything" else None
            figures.append(Figure(f"search {kind}, p95 of CPU", "ms", percentile(ours, _TAIL), tuple(ours), most))
            figures.append(Figure(f"peer: naive FTS5 {kind}, p95 of CPU", "ms", percentile(peer, _TAIL), tuple(peer)))
            for cpu in by_serve:
                figures.append(Figure(f"by serve {kind}, p95 of CPU", "ms", percentile(cpu, _TAIL), tuple(cpu)))
            ratios = [one / other for one, other in zip(ours, peer, strict=True)]
            figures.append(figure(f"search {kind} over naive FTS5, CPU", "x", ratios, limit=limit))
        (documents,) = store.primary.execute("SELECT count(*) FROM documents").fetchone() or (0,)
    return Findings(figures, [f"{documents:,} documents; questions of {_WORDS[0]} to {_WORDS[1]} words."])


class _Questions:
    """Questions from the passages of a store, the same for the same store."""

    def __init__(self, store: Store) -> None:
        self._chance = random.Random(SEED)
        self._passages = store.primary.execute("""
            SELECT s.name, ifnull(g.name, ''), d.body
              FROM documents AS d JOIN sessions AS s ON s.id = d.session_id LEFT JOIN groups AS g ON g.id = d.group_id
             WHERE d.kind IN ('passage', 'package') ORDER BY d.id
        """).fetchall()
        held = Counter(word for *_, body in self._passages for word in set(re.findall(r"[^\W_]+", str(body).lower())))
        words = [word for word in sorted(held) if word.isalpha() and len(word) > 3 and word not in STOPWORDS]
        self._rare = [word for word in words if held[word] <= _RARE]
        self._frequent = [word for word in words if held[word] >= _FREQUENT * len(self._passages)]

    def of(self, length: tuple[int, int]) -> Asked:
        """So many words of a passage, one after the other."""
        while True:
            session, group, body = self._chance.choice(self._passages)
            words, count = re.findall(r"[^\W_]+", str(body)), self._chance.randint(*length)
            if len(words) >= count:
                first = self._chance.randrange(len(words) - count + 1)
                text = " ".join(words[first : first + count])
                return Asked(str(session), str(group), self._chance.choice(AGENTS), text, text)

    def of_kind(self, kind: str) -> Asked:
        """A question of one of `_KINDS`."""
        asked = self.of({"for 32 words": (32, 32), "for a phrase": (2, 3)}.get(kind, _WORDS))
        word = self._chance.choice(self._rare if kind == "for one rare word" else self._frequent)
        others = {"for a phrase": f'"{asked.query}"', "for a prefix": f"{word[:4]}*"}
        query = word if kind.endswith("word") else others.get(kind, asked.query)
        return asked._replace(query=query)


def _in_turn(answering: list[_Answering], kind: str, questions: list[Asked]) -> list[list[float]]:
    """CPU milliseconds of each that answers on each question."""
    for question in questions[:_WARM_UP_CALLS]:
        for call, _ in answering:
            call(kind, question)
    gc.collect()  # what an earlier call left is not this one's cost
    found: list[list[float]] = [[] for _ in answering]
    for question in questions:
        turns = [[_cpu_ms(partial(call, kind), question, clock) for call, clock in answering] for _ in range(_TURNS)]
        for times, taken in zip(found, zip(*turns, strict=True), strict=True):
            times.append(min(taken))
    return found


def _cpu_ms(call: Callable[[Asked], object], question: Asked, clock: Callable[[], int] = time.thread_time_ns) -> float:
    start = clock()
    call(question)
    return (clock() - start) / 1e6


@contextmanager
def _served(workspace: Workspace, folder: str) -> Generator[list[_Answering], None, None]:
    """`serve` of the store in a folder; none where it does not start, as without the extra mcp, and on no Linux."""
    path = os.path.join(workspace.folder, "serve")
    process = subprocess.Popen(workspace.ctxrank("serve", "--socket", path), cwd=folder, stderr=subprocess.DEVNULL)
    with process, closing(HTTPConnection("localhost")) as connection, socket.socket(socket.AF_UNIX) as to_serve:
        try:
            until = time.monotonic() + _START_S
            while to_serve.connect_ex(path) and process.poll() is None and time.monotonic() < until:
                time.sleep(0.1)
            connection.sock = to_serve
            clock = partial(time.clock_gettime_ns, ~process.pid << 3 | 2)  # the process's own, as Linux numbers it
            yield [(partial(_ask_served, connection), clock)] if process.poll() is None else []
        finally:
            process.terminate()


def _ask_served(connection: HTTPConnection, kind: str, asked: Asked) -> object:
    sessions = [asked.session] if kind == "in a session" else []
    groups = [wanted] if (wanted := _group(kind, asked)) else []
    given = {"query": [asked.query], "limit": _LIMIT, "sessions": sessions, "groups": groups, "is_unfolded": True}
    connection.request("POST", "/api/search", json.dumps(given), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == 200, text
    return text


def _assembled(store: Store, questions: list[Asked]) -> Iterator[Figure]:
    def ask(asked: Asked) -> object:
        # As the command does for its text: the trees behind the scores are for JSON.
        request = AssembleRequest(asked.session, asked.agent, asked.group, asked.task, is_explained=False)
        return assemble(store, request)

    for question in questions[:_WARM_UP_CALLS]:
        ask(question)
    cpu = [_cpu_ms(ask, question) for question in questions]  # once: it marks what it delivers
    name = "assemble, delivery marked, p95 of CPU"
    yield Figure(name, "ms", percentile(cpu, _TAIL), tuple(cpu), _MAX_ASSEMBLE_P95_MS)


def _ask_search(store: Store, kind: str, asked: Asked) -> object:
    session = asked.session if kind == "in a session" else None
    return search(store, SearchRequest(asked.query, _LIMIT, session=session, group=_group(kind, asked)))


def _group(kind: str, asked: Asked) -> str | None:
    return asked.group if kind == "with a filter" and asked.group else None


def naive_table(store: Store, path: str) -> apsw.Connection:
    """The same documents as a first attempt would hold them."""
    naive = apsw.Connection(path)
    columns = "id, session, work_group, path, title, body"
    naive.execute(f"""
        CREATE TABLE documents ({columns.replace("id,", "id INTEGER PRIMARY KEY,", 1)});
        CREATE VIRTUAL TABLE fts USING fts5(
            title, body, path, content = 'documents', content_rowid = 'id',
            tokenize = 'porter unicode61 remove_diacritics 2'
        );
        BEGIN;
    """)
    documents = store.primary.execute("""
        SELECT d.id, s.name, g.name, d.path, d.title, d.body
          FROM documents AS d LEFT JOIN sessions AS s ON s.id = d.session_id LEFT JOIN groups AS g ON g.id = d.group_id
    """)
    naive.executemany(f"INSERT INTO documents ({columns}) VALUES (?, ?, ?, ?, ?, ?)", documents.fetchall())
    naive.execute("INSERT INTO fts (fts) VALUES ('rebuild'); COMMIT")
    return naive


def _ask_naive(naive: apsw.Connection, kind: str, asked: Asked) -> object:
    match = asked.query
    if '"' not in match:
        match = " OR ".join(f'"{word.rstrip("*")}"{"*" * word.endswith("*")}' for word in match.split())
    filters = {"d.session": asked.session if kind == "in a session" else None, "d.work_group": _group(kind, asked)}
    wanted = {column: value for column, value in filters.items() if value is not None}
    query = f"""
        SELECT d.id, d.path, d.title, bm25(fts) AS score, snippet(fts, -1, '**', '**', ' … ', 24)
          FROM fts
          JOIN documents AS d ON d.id = fts.rowid
         WHERE fts MATCH ? {"".join(f"AND {column} = ? " for column in wanted)}
         ORDER BY score
         LIMIT ?
    """
    return naive.execute(query, (match, *wanted.values(), _LIMIT)).fetchall()

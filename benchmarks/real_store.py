"""Search and assembly on a store as people have it: real notes, about twenty passages a package, words of tasks.

The store is the predecessor's from `--data`, imported with its files. Each question is 4 to 12 words that follow one
another in a passage, so that common words stand beside rare ones as in a task. What is timed, and the plain FTS5 table
beside it, are those of in_process.py.
"""

import os
import random
import re
from collections.abc import Callable
from contextlib import closing

from figures import Figure, Findings, figure
from generate import SEED, Asked
from in_process import ask_assemble, ask_naive, ask_search, naive_table, timed
from workspace import Workspace

from ctxrank.indexer import Store, open_store
from ctxrank.indexer.agents import AGENTS

_WORDS = (4, 12)
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
            (
                "assemble, delivery marked",
                lambda asked: ask_assemble(store, asked, is_marking=True),
                _MAX_ASSEMBLE_P95_MS,
            ),
            ("search in everything", lambda asked: ask_search(store, asked, None), _MAX_SEARCH_P95_MS),
            ("search in a session", lambda asked: ask_search(store, asked, asked.session), None),
            ("peer: naive FTS5 in everything", lambda asked: ask_naive(naive, asked, None), None),
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

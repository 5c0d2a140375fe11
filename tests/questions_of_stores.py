"""Sixty questions of three stores, asked in this process: what `test_compiled_or_not.py` compares between processes.

The stores are made here, too: what is indexed is as much part of the answer.
"""

import json
import random
import shutil
from pathlib import Path

from builders import make_store

import ctxrank
from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store.documents import Document, document_id, put, remove
from ctxrank.indexer.store.ids import DocumentRef
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.retrieval.hits import SearchRequest
from ctxrank.ranking.retrieval.search import search

_SOURCES = Path(__file__).parents[1]
_AS_OF = 20_000 * DAY_US
_WORDS = [f"{first}{second}" for first in ("ba", "de", "ki", "lo", "mu", "ra", "so") for second in ("lm", "rk", "sto")]
_NAMES = ["parseRequest", "open_store", "HTTPServer2", "größe", "日本語", "データベース", "c1", "retry-after"]


def _small_documents(folder: Path) -> Store:
    """5,200 documents of few words, more than are scored; in several segments, with rows written again and removed."""
    store = make_store(folder)
    chance = random.Random(6)
    weights = [1 / place for place in range(1, len(_WORDS) + 1)]

    def write(numbers: range) -> None:
        with store.write() as change:
            for number in numbers:
                words = ["every", *chance.choices(_WORDS, weights, k=chance.randint(1, 14))]
                title = chance.choice(_WORDS) if number % 5 == 0 else ""
                priority = chance.choice(("low", "medium", "medium", "high", "critical"))
                put(change, Document(
                    "strategy", number, title, " ".join(words), priority=priority, created_at=number * DAY_US,
                    ruleset=RULESET_VERSION,
                ))  # fmt: skip
        store.catch_up()

    for first in (1, 4201, 4701):
        write(range(first, first + (4200 if first == 1 else 500)))
    write(range(100, 180))
    with store.write() as change:
        for number in range(300, 420):
            remove(change, document_id(change.connection, DocumentRef("strategy", number)))
    store.catch_up()
    return store


def _names(folder: Path) -> Store:
    """Documents with names of code, paths, CJK, and words that occur more often than the bounds tell apart."""
    store = make_store(folder)
    chance = random.Random(7)
    with store.write() as change:
        for number in range(1, 1201):
            words = chance.choices(_NAMES + _WORDS, k=chance.randint(5, 90))
            words += [chance.choice(_NAMES)] * chance.choice((0, 0, 3, 12, 40))
            body = f"def {chance.choice(_NAMES[:3])}():\n    {' '.join(words)}" if number % 3 else " ".join(words)
            path = f"src/{chance.choice(_WORDS)}/{chance.choice(_NAMES[:3])}.py" if number % 4 else ""
            title = chance.choice(_NAMES) if number % 7 == 0 else ""
            put(change, Document(
                "strategy", number, title, body, path=path, created_at=number * DAY_US, ruleset=RULESET_VERSION
            ))  # fmt: skip
    store.catch_up()
    return store


def _files(folder: Path) -> Store:
    """Files with passages: what this project says of itself."""
    store = make_store(folder)
    for name in ("docs", "ranking"):
        shutil.copytree(_SOURCES / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    ctxrank.index(store)
    return store


def _questions() -> list[tuple[str, str]]:
    """(store, question): 20 of each store."""
    chance = random.Random(8)
    small = ["every", "balm", "every balm", "balm balm derk", "bal* kisto", *(
        " ".join(chance.sample(_WORDS, 2 + number % 7)) for number in range(15)
    )]  # fmt: skip
    names = ["parseRequest", "open_store", "HTTPServer2", "日本", "データ 日本語", "größe c1", "parsRequest balm"]
    names += ["request parse", "retry-after", "src/balm", '"open_store"', "-balm derk", *(
        " ".join(chance.sample(_NAMES + _WORDS, 2 + number)) for number in range(8)
    )]  # fmt: skip
    files = """
        index|the index|hook|store documents|find_candidates|how does a search stay fast|why is a row not scored
        what does the threshold say of the rows|"the primary database"|configuration|confguration
        ranking/formulas/bm25.py|token budget of a block|rows of a scope, best first
        def search(store, request):|snippet passages lines|purge a secret from all files
        kind:artifact index|title:search|the number of documents that hold a term
    """
    return [
        *(("small", one) for one in small), *(("names", one) for one in names),
        *(("files", one.strip()) for one in files.replace("\n", "|").split("|") if one.strip()),
    ]  # fmt: skip


def answers(folder: Path) -> str:
    """The answer to each question, as JSON; the stores are made in folders of this one."""
    stores: dict[str, Store] = {}
    for name, make in (("small", _small_documents), ("names", _names), ("files", _files)):
        (folder / name).mkdir()
        stores[name] = make(folder / name)
    found: list[object] = []
    for name, text in _questions():
        result = search(stores[name], SearchRequest(text, 20, as_of=_AS_OF, is_folded=True))
        hits = [
            (hit.title, hit.id, hit.score, hit.snippet, [part.match_line for part in hit.passages])
            for hit in result.hits
        ]
        found.append((name, text, result.outcome, result.total, result.is_capped, result.corrections, hits))
    return json.dumps(found)

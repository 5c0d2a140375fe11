"""Ask questions as people type them, and say how high the wanted file is: those kept here, of the trees of trees.json.

python benchmarks/typed/ask.py TREE questions.jsonl [--failures KIND]

The tree is indexed as `ctxrank index` does into a store of its own, and each question goes through the search that
`ctxrank search QUESTION` makes. MRR at 10 is by file. Beside it, over the same files as whole documents: FTS5 with the
porter tokenizer and FTS5 with trigrams, each asked for any of the words.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator

import apsw

from ctxrank.indexer import create_store
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.store.store import Store
from ctxrank.ranking import SearchRequest, search

_DEPTH = 10
_SOURCE = re.compile(r"\.(py|[cm]?js|[cm]?ts|go|rs|java|rb|c|h|md|rst|txt|toml|ya?ml)$")
_MAX_BYTES = 400_000
Asked = Callable[[str], list[str]]  # a question as typed → paths, the best first


def read_tree(folder: str) -> dict[str, str]:
    """All sources and documents below a folder, by path."""
    texts: dict[str, str] = {}
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for path in (os.path.join(top, name) for name in sorted(names) if _SOURCE.search(name)):
            if not os.path.islink(path) and os.path.getsize(path) <= _MAX_BYTES:
                with contextlib.suppress(UnicodeDecodeError), open(path, encoding="utf-8") as file:
                    texts[os.path.relpath(path, folder)] = file.read()
    return texts


def reciprocal_rank(paths: list[str], wanted: list[str]) -> float:
    """1 / rank of the first wanted file among the first ten, 0 where none is there."""
    return next((1 / rank for rank, path in enumerate(paths[:_DEPTH], 1) if path in wanted), 0.0)


def as_typed(store: Store) -> Asked:
    """Our own search, with its defaults."""

    def ask(text: str) -> list[str]:
        found = search(store, SearchRequest(text, limit=_DEPTH, has_snippets=False))
        return list(dict.fromkeys(hit.path for hit in found.hits))

    return ask


def _fts5(texts: dict[str, str], tokenizer: str) -> Asked:
    index = apsw.Connection(":memory:")
    index.execute(f'CREATE VIRTUAL TABLE t USING fts5(path, body, tokenize="{tokenizer}")')
    index.executemany("INSERT INTO t VALUES (?, ?)", texts.items())
    shortest = 3 if tokenizer == "trigram" else 1

    def ask(text: str) -> list[str]:
        words = [word for word in "".join(c if c.isalnum() else " " for c in text).split() if len(word) >= shortest]
        if not words:
            return []
        question = " OR ".join(f'"{word}"' for word in words)
        rows = index.execute("SELECT path FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?", (question, _DEPTH))
        return [str(row[0]) for row in rows]

    return ask


def _read_questions(path: str, tree: str) -> Iterator[tuple[str, str, list[str]]]:
    with open(path, encoding="utf-8") as file:
        for line in file:
            question = json.loads(line)
            if question["tree"] == tree:
                yield question["kind"], question["text"], question["paths"]


def main() -> None:
    """Print a table: kind, questions, MRR at 10 of ours and of the peers; or each question of a kind that failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree")
    parser.add_argument("questions")
    parser.add_argument("--failures", default="", help="List what was not first of this kind, in place of the table.")
    options = parser.parse_args()
    name = os.path.basename(os.path.abspath(options.tree))
    questions = list(_read_questions(options.questions, name))
    with tempfile.TemporaryDirectory() as home:
        folder = shutil.copytree(options.tree, os.path.join(home, name), symlinks=True)
        with create_store(folder) as store:
            index_artifacts(store)
            store.catch_up()
            ours = as_typed(store)
            if options.failures:
                for kind, text, wanted in questions:
                    if kind == options.failures and reciprocal_rank(found := ours(text), wanted) < 1:
                        sys.stdout.write(f"{text!r}\n    wanted {wanted}\n    found  {found[:4]}\n")
                return
            texts = read_tree(folder)
            engines = {"ctxrank": ours, "porter": _fts5(texts, "porter unicode61"), "trigram": _fts5(texts, "trigram")}
            ranks: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
            for kind, text, wanted in questions:
                for engine, ask in engines.items():
                    ranks[kind][engine].append(reciprocal_rank(ask(text), wanted))
    for kind, by_engine in ranks.items():
        means = "  ".join(f"{engine} {sum(one) / len(one):.3f}" for engine, one in by_engine.items())
        sys.stdout.write(f"{name:12} {kind:14} {len(by_engine['ctxrank']):4}  {means}\n")


if __name__ == "__main__":
    main()

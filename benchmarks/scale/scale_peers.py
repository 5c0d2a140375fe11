"""Other engines on the same documents: one naive FTS5 table, and tantivy where it can be imported.

    scale_peers.py naive|tantivy STORE FOLDER QUESTIONS LIMIT     questions: a JSON list of texts

Prints {"build_s": …, "bytes": …, "ms": [CPU of each question]} as JSON; an index that is there already is used. Runs
in the peers' own environment, without ours.
"""

import importlib
import json
import os
import re
import sys
import time
from collections.abc import Callable
from typing import Any

import apsw

Search = Callable[[str, int], object]
_WARM_UP = 10


def main(engine: str, store: str, folder: str, questions: str, limit: int) -> None:
    """Build the engine's index if it is not there, and ask it."""
    with open(questions, encoding="utf-8") as file:
        asked: list[str] = json.load(file)
    started = time.monotonic()
    search = _ENGINES[engine](os.path.join(store, ".ctxrank", "ctxrank.db"), os.path.join(folder, engine))
    built = time.monotonic() - started
    for text in asked[:_WARM_UP]:
        search(text, limit)
    times: list[float] = []
    for text in asked:
        begin = time.process_time_ns()
        search(text, limit)
        times.append((time.process_time_ns() - begin) / 1e6)
    print(json.dumps({"build_s": built, "bytes": _bytes(os.path.join(folder, engine)), "ms": times}))


def _bytes(path: str) -> int:
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


def _documents(primary: str) -> apsw.Cursor:
    connection = apsw.Connection(primary, flags=apsw.SQLITE_OPEN_READONLY)
    return connection.execute("SELECT id, title, body, path FROM documents")


def naive_fts5(primary: str, path: str) -> Search:
    """One table with the same columns and tokenizer; all words joined by OR; bm25() orders."""
    is_new = not os.path.exists(path)
    connection = apsw.Connection(path)
    if is_new:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(
            "BEGIN; CREATE VIRTUAL TABLE f USING fts5("
            "title, body, path, content = '', tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        connection.executemany("INSERT INTO f (rowid, title, body, path) VALUES (?, ?, ?, ?)", _documents(primary))
        connection.execute("INSERT INTO f (f) VALUES ('optimize'); COMMIT")

    def search(text: str, limit: int) -> object:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
        query = "SELECT rowid, bm25(f) AS s FROM f WHERE f MATCH ? ORDER BY s LIMIT ?"
        return connection.execute(query, (words, limit)).fetchall()

    return search


def tantivy(primary: str, path: str) -> Search:
    """Its Python binding with English stems, as its documentation shows it."""
    engine: Any = importlib.import_module("tantivy")
    builder = engine.SchemaBuilder()
    builder.add_integer_field("id", stored=True)
    for name in ("title", "body", "path"):
        builder.add_text_field(name, tokenizer_name="en_stem")
    is_new = not os.path.exists(path)
    os.makedirs(path, exist_ok=True)
    index = engine.Index(builder.build(), path=path)
    if is_new:
        writer = index.writer(200_000_000, 1)
        for id_, title, body, place in _documents(primary):
            writer.add_document(engine.Document(id=id_, title=[title], body=[body], path=[place]))
        writer.commit()
        writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(text: str, limit: int) -> object:
        query = index.parse_query(" ".join(re.findall(r"\w+", text.lower())), ["title", "body", "path"])
        return [searcher.doc(address)["id"] for _, address in searcher.search(query, limit).hits]

    return search


_ENGINES: dict[str, Callable[[str, str], Search]] = {"naive": naive_fts5, "tantivy": tantivy}

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))

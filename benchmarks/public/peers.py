"""What other engines find: a request as JSON on stdin, the rankings as JSON on stdout. It has its own environment.

    fts5       one table of path and text, `porter unicode61`, any of the words, ORDER BY rank
    trigram    the same with FTS5's trigrams
    bm25s      Lucene's BM25 over path and text, English stems and stop words
    tantivy    en_stem over path and text, any of the words
    ripgrep    files by how many different words of the question they or their paths have, then by how many lines;
               words of one or two letters are left out

Whole files are documents; for passages, windows of 50 lines. Each is given the files that ctxrank has indexed.
"""

import fnmatch
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from functools import partial
from importlib import import_module
from typing import Any

DEPTH = 10
_WINDOW = 50
_MAX_WORDS = 64  # of ripgrep's pattern
Documents = dict[str, str]  # "path\0first line" → path and text
Asked = dict[str, str]
Found = dict[str, list[str]]


def main() -> None:
    """Answer one request: folder, paths, views, source, questions, engines."""
    request: dict[str, Any] = json.load(sys.stdin)
    paths: list[str] = request["paths"]
    texts = {path: _text(os.path.join(request["folder"], path)) for path in paths}
    answer: dict[str, dict[str, dict[str, list[tuple[str, int, int]]]]] = {}
    for view in request["views"]:
        kept = texts
        if view == "source":
            kept = {
                path: text
                for path, text in texts.items()
                if any(fnmatch.fnmatch(path, one) for one in request["source"])
            }
        documents = _documents(kept, _WINDOW if view == "passages" else 0)
        for engine in request["engines"]:
            found = _ENGINES[engine](documents, request["questions"], request["folder"])
            answer.setdefault(engine, {})[view] = {
                id_: [_place(key, view) for key in keys] for id_, keys in found.items()
            }
    answer["versions"] = _versions()
    json.dump(answer, sys.stdout)


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _documents(texts: dict[str, str], window: int) -> Documents:
    documents: Documents = {}
    for path, text in texts.items():
        lines = text.split("\n")
        for first in range(0, len(lines) if window else 1, window or 1):
            documents[f"{path}\0{first + 1}"] = "\n".join(lines[first : first + window] if window else lines)
    return documents


def _place(key: str, view: str) -> tuple[str, int, int]:
    path, _, first = key.partition("\0")
    return path, int(first), int(first) + _WINDOW - 1 if view == "passages" else int(first)


def _versions() -> Any:
    metadata = import_module("importlib.metadata")
    sqlite = import_module("apsw").sqlite_lib_version()
    return {name: metadata.version(name) for name in ("bm25s", "tantivy", "ripgrep")} | {"sqlite": sqlite}


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def _fts5(tokenizer: str, documents: Documents, asked: Asked, _: str) -> Found:
    table = import_module("apsw").Connection(":memory:")
    table.execute(f'CREATE VIRTUAL TABLE f USING fts5(key UNINDEXED, path, body, tokenize = "{tokenizer}")')
    rows = ((key, key.partition("\0")[0], text) for key, text in documents.items())
    table.executemany("INSERT INTO f VALUES (?, ?, ?)", rows)
    shortest = 3 if tokenizer == "trigram" else 1
    found: Found = {}
    for id_, text in asked.items():
        words = [f'"{word}"' for word in dict.fromkeys(_words(text)) if len(word) >= shortest]
        query = "SELECT key FROM f WHERE f MATCH ? ORDER BY rank, key LIMIT ?"
        found[id_] = [key for (key,) in table.execute(query, (" OR ".join(words), DEPTH))] if words else []
    return found


def _bm25s(documents: Documents, asked: Asked, _: str) -> Found:
    bm25s, stemmer = import_module("bm25s"), import_module("Stemmer").Stemmer("english")

    def tokens(texts: list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)

    keys = list(documents)
    engine = bm25s.BM25(method="lucene")
    engine.index(
        tokens([f"{key.partition(chr(0))[0]}\n{text}" for key, text in documents.items()]), show_progress=False
    )
    places, scores = engine.retrieve(tokens(list(asked.values())), k=min(DEPTH, len(keys)), show_progress=False)
    return {
        id_: [keys[place] for place, score in zip(row, values, strict=True) if score > 0]
        for id_, row, values in zip(asked, places.tolist(), scores.tolist(), strict=True)
    }


def _tantivy(documents: Documents, asked: Asked, _: str) -> Found:
    tantivy = import_module("tantivy")
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("key", stored=True, tokenizer_name="raw")
    builder.add_text_field("text", tokenizer_name="en_stem")
    index = tantivy.Index(builder.build())
    writer = index.writer(num_threads=1)
    for key, text in documents.items():
        writer.add_document(tantivy.Document(key=key, text=f"{key.partition(chr(0))[0]}\n{text}"))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    found: Found = {}
    for id_, text in asked.items():
        # Lower case, because AND, OR, NOT and IN are operators.
        query = index.parse_query(" ".join(_words(text.lower())), ["text"])
        found[id_] = [searcher.doc(address)["key"][0] for _, address in searcher.search(query, DEPTH).hits]
    return found


def _ripgrep(documents: Documents, asked: Asked, folder: str) -> Found:
    """One run a question; a match counts for the window or the file that its line is in."""
    window = _WINDOW if any(not key.endswith("\x001") for key in documents) else 0
    command = [os.path.join(os.path.dirname(sys.executable), "rg"), "-oinF", "-j1", "--no-heading", "--with-filename"]
    command += ["--null", "--no-ignore", "--hidden", "-g", "!.ctxrank"]
    found: Found = {}
    for id_, text in asked.items():
        words = sorted({word for word in _words(text.lower()) if len(word) > 2}, key=lambda word: (-len(word), word))
        words = words[:_MAX_WORDS]
        if not words:
            found[id_] = []
            continue
        patterns = [part for word in words for part in ("-e", word)]
        done = subprocess.run(
            [*command, *patterns, "."], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        matched: dict[str, set[str]] = defaultdict(set)
        lines: dict[str, int] = defaultdict(int)
        for line in done.stdout.decode(errors="replace").split("\n"):
            path, _, rest = line.partition("\0")
            path = path.removeprefix("./")
            number, _, word = rest.partition(":")
            if number.isdecimal():
                first = (int(number) - 1) // window * window + 1 if window else 1
                key = f"{path}\0{first}"
                matched[key].add(word.lower())
                lines[key] += 1
        for key in documents:
            path = key.partition("\0")[0].lower()
            if named := {word for word in words if word in path}:
                matched[key] |= named
        best = sorted(
            (key for key in matched if key in documents), key=lambda key: (-len(matched[key]), -lines[key], key)
        )
        found[id_] = best[:DEPTH]
    return found


_ENGINES: dict[str, Any] = {
    "fts5": partial(_fts5, "porter unicode61"),
    "trigram": partial(_fts5, "trigram"),
    "bm25s": _bm25s,
    "tantivy": _tantivy,
    "ripgrep": _ripgrep,
}


if __name__ == "__main__":
    main()

"""What another engine ranks: python peer_relevance.py ENGINE FOLDER, for a folder in BEIR's form.

Prints {query id: [document ids, best first]} as JSON. Runs in the peers' own environment, without ours.
"""

import json
import os
import re
import sys
from collections.abc import Callable
from typing import Any

DEPTH = 100
Texts = dict[str, str]
Rank = Callable[[Texts, Texts], dict[str, list[str]]]


def main(engine: str, folder: str) -> None:
    """Rank each group's documents for its queries."""
    documents = _grouped(os.path.join(folder, "corpus.jsonl"))
    queries = _grouped(os.path.join(folder, "queries.jsonl"))
    ranked: dict[str, list[str]] = {}
    for group, asked in queries.items():
        ranked |= _ENGINES[engine](documents.get(group, {}), asked)
    print(json.dumps(ranked))


def _grouped(path: str) -> dict[str, Texts]:
    groups: dict[str, Texts] = {}
    with open(path, encoding="utf-8") as file:
        for line in map(json.loads, file):
            text = f"{line.get('title') or ''} {line['text']}".strip()
            groups.setdefault(line.get("group") or "", {})[str(line["_id"])] = text
    return groups


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def naive_fts5(documents: Texts, queries: Texts) -> dict[str, list[str]]:
    """One FTS5 table, words joined by OR, ORDER BY rank."""
    import apsw

    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE f USING fts5(id UNINDEXED, text, tokenize = 'porter unicode61')")
    connection.executemany("INSERT INTO f VALUES (?, ?)", documents.items())
    query = "SELECT id FROM f WHERE f MATCH ? ORDER BY rank LIMIT ?"
    ranked: dict[str, list[str]] = {}
    for id_, text in queries.items():
        expression = " OR ".join(f'"{word}"' for word in _words(text))
        rows = connection.execute(query, (expression, DEPTH)) if expression else ()
        ranked[id_] = [str(row[0]) for row in rows]
    return ranked


def bm25s_lucene(documents: Texts, queries: Texts) -> dict[str, list[str]]:
    """Lucene's BM25 with English stems and stop words."""
    bm25s, stemmer_module = _module("bm25s"), _module("Stemmer")
    stemmer = stemmer_module.Stemmer("english")
    ids = list(documents)

    def tokens(texts: list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)

    engine = bm25s.BM25(method="lucene")
    engine.index(tokens(list(documents.values())), show_progress=False)
    found, scores = engine.retrieve(tokens(list(queries.values())), k=min(DEPTH, len(ids)), show_progress=False)
    return {
        query: [ids[place] for place, score in zip(places, values, strict=True) if score > 0]
        for query, places, values in zip(queries, found.tolist(), scores.tolist(), strict=True)
    }


def tantivy_stems(documents: Texts, queries: Texts) -> dict[str, list[str]]:
    """Tantivy's en_stem, words as alternatives."""
    tantivy = _module("tantivy")
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw")
    builder.add_text_field("text", tokenizer_name="en_stem")
    index = tantivy.Index(builder.build())
    writer = index.writer()
    for id_, text in documents.items():
        writer.add_document(tantivy.Document(id=id_, text=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    ranked: dict[str, list[str]] = {}
    for id_, text in queries.items():
        # Lower case, because AND, OR, NOT and IN are operators.
        query = index.parse_query(" ".join(_words(text.lower())), ["text"])
        hits = searcher.search(query, DEPTH).hits
        ranked[id_] = [searcher.doc(address)["id"][0] for _, address in hits]
    return ranked


def _module(name: str) -> Any:
    """A peer's module, of which our environment knows neither the code nor the types."""
    from importlib import import_module

    return import_module(name)


_ENGINES: dict[str, Rank] = {"naive FTS5": naive_fts5, "bm25s": bm25s_lucene, "tantivy": tantivy_stems}


if __name__ == "__main__":
    main(*sys.argv[1:])

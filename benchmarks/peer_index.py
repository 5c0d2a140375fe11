"""Raw FTS5 as a yardstick: every file of a tree, every line of a file or every passage of a store, into one table, in
one transaction.

The connection is opened by our own function, so that its settings are the index's; nothing is redacted,
cut, split or counted.
"""

import json
import os
import sys
from collections.abc import Iterator

from ctxrank.indexer.store.connection import immediate, open_database

PASSAGES = ".passages.json"  # what a file of passages, each [path, title, body], ends in
TOKENIZE = "porter unicode61 remove_diacritics 2"


def main(source: str, database: str) -> None:
    """Index the tree, the lines or the passages into a new database."""
    connection = open_database(database, busy_ms=0, create=True)
    connection.pragma("synchronous", 1)
    if source.endswith(PASSAGES):
        connection.execute(f"CREATE VIRTUAL TABLE fts USING fts5(path, title, body, tokenize = '{TOKENIZE}')")
        with open(source, encoding="utf-8") as file:
            passages = json.load(file)
        with immediate(connection):
            connection.executemany("INSERT INTO fts (path, title, body) VALUES (?, ?, ?)", passages)
        connection.close()
        return
    connection.execute(f"CREATE VIRTUAL TABLE fts USING fts5(path, body, tokenize = '{TOKENIZE}')")
    with immediate(connection):
        for path, body in _lines(source) if os.path.isfile(source) else _files(source):
            connection.execute("INSERT INTO fts (path, body) VALUES (?, ?)", (path, body))
    connection.close()


def _files(tree: str) -> Iterator[tuple[str, str]]:
    for folder, _, names in os.walk(tree):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                try:
                    yield path, file.read()
                except UnicodeDecodeError:  # of a real tree
                    continue


def _lines(path: str) -> Iterator[tuple[str, str]]:
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield "", line.rstrip("\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])

"""Raw FTS5 as a yardstick: every file of a tree into one table, in one transaction.

The connection is opened by our own function, so that its settings are the index's; nothing is redacted,
cut, split or counted.
"""

import os
import sys

from ctxrank.indexer.connection import immediate, open_database

TOKENIZE = "porter unicode61 remove_diacritics 2"


def main(tree: str, database: str) -> None:
    """Index the tree into a new database."""
    connection = open_database(database, busy_ms=0, create=True)
    connection.pragma("synchronous", 1)
    connection.execute(f"CREATE VIRTUAL TABLE fts USING fts5(path, body, tokenize = '{TOKENIZE}')")
    with immediate(connection):
        for folder, _, names in os.walk(tree):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    connection.execute("INSERT INTO fts (path, body) VALUES (?, ?)", (path, file.read()))
    connection.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])

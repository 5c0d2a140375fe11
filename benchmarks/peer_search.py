"""The least a command-line search in Python can do: sqlite3, one FTS5 table, the best ten. Used as a yardstick."""

import sqlite3
import sys

connection = sqlite3.connect(sys.argv[1])
for path, title in connection.execute(
    "SELECT d.path, d.title FROM documents_fts AS f JOIN documents AS d ON d.id = f.rowid"
    " WHERE documents_fts MATCH ? ORDER BY bm25(documents_fts) LIMIT 10",
    (sys.argv[2],),
):
    print(path, title)

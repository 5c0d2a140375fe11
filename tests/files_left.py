"""What is left of a word in the files of a store, and whoever reads it meanwhile."""

import contextlib
import subprocess
import sys
from collections.abc import Generator
from typing import cast

import apsw

from ctxrank.indexer.store.store import Store

_SCAN = """
import pathlib, sys
from ahocorasick_rs import BytesAhoCorasick
folder, *words = sys.argv[1:]
forms = sorted({form for word in words for form in (word, word.lower(), word.upper())})
spelt = [(form, form.encode(code)) for form in forms for code in ("utf-8", "utf-16-le")]
wanted = BytesAhoCorasick([spelling for _, spelling in spelt])
for path in pathlib.Path(folder).rglob("*"):
    if path.is_file() and path.name != "config.yaml":
        found = wanted.find_matches_as_indexes(path.read_bytes(), overlapping=True)
        for form in sorted({spelt[place][0] for place, _, _ in found}):
            print(path.name, form)
"""


def bytes_left(store: Store, *words: str) -> list[str]:
    """In which files a word is; looked for by a child: to close a file gives up all locks on it."""
    command = [sys.executable, "-c", _SCAN, store.location.folder, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[:-1]


def vocabulary(store: Store) -> set[str]:
    """Every term that the index holds, in its own structures and in our statistics."""
    connection = apsw.Connection(store.location.index_file)
    connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, fts, row)")
    terms = {str(term) for (term,) in connection.execute("SELECT term FROM words")}
    terms |= {str(term) for (term,) in connection.execute("SELECT term FROM terms WHERE df > 0")}
    terms |= set(spelt(connection).values())
    connection.close()
    return terms


def spelt(connection: apsw.Connection) -> dict[int, str]:
    """What the trigrams of each term spell, by its id, ghosts included: they hold whatever word they are made of."""
    connection.execute("CREATE VIRTUAL TABLE temp.trigrams USING fts5vocab(main, term_trigrams, instance)")
    words: dict[int, str] = {}
    query = "SELECT term, doc FROM temp.trigrams ORDER BY doc, offset"
    for trigram, id_ in cast("list[tuple[str, int]]", connection.execute(query).fetchall()):
        words[id_] = words[id_] + trigram[-1] if id_ in words else trigram
    connection.execute("DROP TABLE temp.trigrams")
    return words


_READER = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN")
connection.execute("SELECT count(*) FROM documents").fetchall()
print("reading", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def reading(store: Store) -> Generator[None, None, None]:
    """While another process reads the primary database, and so keeps its log from being cut."""
    command = [sys.executable, "-c", _READER, store.location.primary]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None and reader.stdout.readline() == "reading\n"
        yield
        reader.communicate("")

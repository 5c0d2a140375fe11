"""How long the local page takes: search as one types, and every page once it is warm.

    python benchmarks/page.py FOLDER --questions 40 --out benchmarks/results/page.json

FOLDER holds a store (benchmarks/scale/scale_store.py writes one of any size). Questions are words of its own documents,
typed letter by letter; each letter is one request over HTTP to a server in this process's child, and what is timed is
the whole answer. Needs the extra web.
"""

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from machine import facts
from timing import percentile

from ctxrank.indexer import open_store

_PAGES = ("/", "/blocks", "/sessions", "/errors", "/links", "/status")
_WARM = 5
_SEED = 22


class Page(NamedTuple):
    """A connection to a server, and the cookie that it gave."""

    connection: http.client.HTTPConnection
    cookie: str

    def took_ms(self, path: str, *, is_fragment: bool = False) -> float:
        """How long a whole answer takes."""
        headers = {"cookie": self.cookie} | ({"x-fragment": "1"} if is_fragment else {})
        begun = time.perf_counter()
        self.connection.request("GET", path, headers=headers)
        answer = self.connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path} was answered with {answer.status}")
        return (time.perf_counter() - begun) * 1000


def opened(address: str) -> Page:
    """The page behind the one-time address that the command printed."""
    host, _, rest = address.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.request("GET", f"/{rest}")
    answer = connection.getresponse()
    answer.read()
    return Page(connection, (answer.getheader("set-cookie") or "").partition(";")[0])


def questions(folder: str, count: int) -> list[str]:
    """Two to four words that follow one another in documents of the store, the same for the same store."""
    chance = random.Random(_SEED)
    with open_store(os.path.join(folder, ".ctxrank", "ctxrank.db")) as store:
        most: int = store.primary.execute("SELECT max(id) FROM documents").get
        made: list[str] = []
        while len(made) < count:
            query = "SELECT body FROM documents WHERE id >= ? AND body <> '' ORDER BY id LIMIT 1"
            body: str | None = store.primary.execute(query, (chance.randint(1, most),)).get
            words = [word for word in (body or "").split() if word.isalpha()]
            length = chance.randint(2, 4)
            if len(words) > length:
                start = chance.randrange(len(words) - length)
                made.append(" ".join(words[start : start + length]))
    return made


def typed(question: str) -> Iterator[str]:
    """What the page is asked while a question is typed: its beginnings from the second letter on."""
    for length in range(2, len(question) + 1):
        if not question[:length].endswith(" "):
            yield question[:length]


def main() -> None:
    """Start the server, type, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--out")
    given = parser.parse_args()
    command = [sys.executable, "-m", "ctxrank.cli", "web", "--no-open", "--quiet"]
    with subprocess.Popen(command, cwd=given.folder, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            page = opened(server.stdout.readline().strip())
            asked = questions(given.folder, given.questions)
            for question in asked[:_WARM]:
                page.took_ms(f"/?q={question.replace(' ', '+')}", is_fragment=True)
            letters = [
                page.took_ms(f"/?q={beginning.replace(' ', '+')}", is_fragment=True)
                for question in asked
                for beginning in typed(question)
            ]
            whole = [page.took_ms(f"/?q={question.replace(' ', '+')}", is_fragment=True) for question in asked]
            pages = {path: min(page.took_ms(path) for _ in range(3)) for path in _PAGES}
        finally:
            server.terminate()
    result: dict[str, object] = {
        "machine": facts(), "letters": len(letters), "letter_p50_ms": percentile(letters, 0.5),
        "letter_p95_ms": percentile(letters, 0.95), "question_p50_ms": percentile(whole, 0.5),
        "question_p95_ms": percentile(whole, 0.95), "pages_ms": pages,
    }  # fmt: skip
    print(json.dumps(result, indent=1))
    if given.out:
        with open(given.out, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()

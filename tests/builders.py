"""Stores, files and packages for tests, each in one call."""

import contextlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import apsw

from ctxrank.indexer.catalogue import KINDS
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.opening import create_scratch_store, create_store, open_location, open_store
from ctxrank.indexer.records.packages import NewPackage, SavedPackage, save_package
from ctxrank.indexer.store.connection import PAGE_BYTES, require_value
from ctxrank.indexer.store.known_stores import new_token, remember
from ctxrank.indexer.store.location import FOLDER, PRIMARY_FILE, Identity, Location, at, identity_of
from ctxrank.indexer.store.migrations import PRESENT, Schema
from ctxrank.indexer.store.store import Store, make_folder
from ctxrank.ranking.retrieval.hits import SearchRequest, SearchResult
from ctxrank.ranking.retrieval.search import search

T = TypeVar("T")
BUSY_MS = 2000  # long enough for two processes to take turns, short enough for a test that is wrong


class Answer(NamedTuple):
    """What a command printed where, and its exit code."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """What stdout says."""
        return json.loads(self.out)


def answer_of(command: Callable[[], int]) -> Answer:
    """Run a command in this process and keep what it prints."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command()
    return Answer(code, out.getvalue(), err.getvalue())


def always(value: T) -> Callable[..., T]:
    """A function that gives this, whatever it is asked."""

    def given(*_: object, **__: object) -> T:
        return value

    return given


def make_store(tmp_path: Path, *, busy_ms: int = BUSY_MS) -> Store:
    """A new store in `tmp_path/.ctxrank`, or the one that is there.

    A new one is a copy of the first that this process made, with an identity of its own: a tenth of the time.
    """
    primary = tmp_path / FOLDER / PRIMARY_FILE
    if os.path.lexists(primary):
        return create_store(str(tmp_path), busy_ms=busy_ms)
    location = make_folder(str(tmp_path), None)
    start, rest, old = _first_store(tuple(KINDS))
    identity = Identity(str(uuid.uuid4()), new_token())
    for part, own in zip(old, _own_bytes(identity, now_us()), strict=True):
        start = start.replace(part, own)
    primary.write_bytes(start + rest)
    primary.chmod(0o600)
    remember(identity, location.primary)
    return open_location(location, busy_ms)


@cache
def _first_store(_kinds: tuple[str, ...]) -> tuple[bytes, bytes, list[bytes]]:
    """The two pages of a new store that say which one it is, those behind them, and the bytes of its own.

    A test that makes a kind up has tables of its own in a new store.
    """
    with tempfile.TemporaryDirectory() as folder, create_scratch_store(folder) as store:
        created_at = require_value(store.primary, "SELECT created_at FROM store", (), int)
        own = _own_bytes(identity_of(store.primary), created_at)
        store.primary.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        pages = Path(store.location.primary).read_bytes()
    return pages[: 2 * PAGE_BYTES], pages[2 * PAGE_BYTES :], own


def _own_bytes(identity: Identity, created_at: int) -> list[bytes]:
    return [identity.uuid.encode(), identity.token.encode(), created_at.to_bytes(8, "big")]


def copy_store(home: Path, folder: Path) -> Location:
    """A copy of a folder with a closed store and its files; where several tests begin alike, it is made once."""
    shutil.copytree(home, folder, dirs_exist_ok=True)
    return at(str(folder / ".ctxrank" / "ctxrank.db"))


def next_schema(folder: Path, sql: str) -> Schema:
    """A made-up schema: this program's SQL files and, in a new folder of its own, one more of these statements."""
    folder.mkdir()
    for file in Path(PRESENT.sql_folder).glob("*.sql"):
        shutil.copy(file, folder)
    number = PRESENT.version + 1
    (folder / f"migration_{number:03d}.sql").write_text(sql, encoding="utf-8")
    return Schema(number, str(folder))


_LATER_TABLES = ("extensions", "orders", "removals", "anchors")


def before_exchanges() -> str:
    """SQL that takes the tables and columns of schemas 10 to 14 away, for a store of an earlier one."""
    text = (Path(PRESENT.sql_folder) / "migration_010.sql").read_text(encoding="utf-8")
    logged = [f"logged_{kind.name}_{done}" for kind in KINDS.values() if kind.is_exported and not kind.is_file
              for done in ("made", "changed", "removed")]  # fmt: skip
    triggers = [f"DROP TRIGGER {name};" for name in (*re.findall(r"CREATE TRIGGER (\w+)", text), *logged)]
    columns = [f"ALTER TABLE {table} DROP COLUMN {name};"
               for table, name in re.findall(r"ALTER TABLE (\w+) ADD COLUMN (\w+)", text)]  # fmt: skip
    tables = [f"DROP TABLE {name};" for name in re.findall(r"CREATE TABLE (\w+)", text)]
    later = "".join(f"DROP TABLE {name};" for name in _LATER_TABLES)
    return "".join((*triggers, *columns, *tables, later))


def before_extensions() -> str:
    """The same of schemas 11 to 14, for a store of schema 10."""
    text = (Path(PRESENT.sql_folder) / "migration_012.sql").read_text(encoding="utf-8")
    columns = re.findall(r"ALTER TABLE (\w+) ADD COLUMN (\w+)", text)
    return "".join(
        (
            *(f"ALTER TABLE {table} DROP COLUMN {name};" for table, name in columns),
            *(f"DROP TABLE {name};" for name in _LATER_TABLES),
        )
    )


def open_again(store: Store, *, busy_ms: int = BUSY_MS) -> Store:
    """A second connection to the same files, as another process would have it."""
    return open_store(store.location.primary, root=store.location.root, busy_ms=busy_ms)


def hold_the_index(store: Store) -> apsw.Connection:
    """Another program that has the index's write lock until it is closed."""
    connection = apsw.Connection(store.location.index_file)
    connection.execute("BEGIN IMMEDIATE")
    return connection


def write_file(store: Store, path: str, text: str) -> Path:
    """Put a file under the store's root, with the folders it needs."""
    target = Path(store.location.root) / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return target


def save(
    store: Store,
    path: str,
    text: str | None = "A finding about tokens.\n",
    *,
    session: str = "S",
    group: str | None = "G",
    type: str = "research",
    producer: str = "investigator",
    summary: str = "A finding.",
    priority: str = "medium",
    scope: str | None = None,
    consumers: tuple[str, ...] = (),
    created_at: int | None = None,
) -> SavedPackage:
    """Write the file (None: leave it as it is) and save it as a package, in a session made on the way."""
    if text is not None:
        write_file(store, path, text)
    new = NewPackage(session, group, type, path, producer, summary, priority, scope, consumers, created_at)
    return save_package(store, new, create_session=True)


def found(store: Store, query: str, **filters: Any) -> SearchResult:
    """The whole answer to a query; filters are the fields of a SearchRequest."""
    return search(store, SearchRequest(query)._replace(**filters))


def search_ids(store: Store, query: str, **filters: Any) -> list[str]:
    """The ids of a query's hits, best first."""
    return [hit.id for hit in found(store, query, **filters).hits]


def start_child(code: str, *arguments: object, is_asked: bool = False, **environment: str) -> "subprocess.Popen[str]":
    """A second process that runs this Python text and sees what we can import; its stdout is piped.

    One that `is_asked` waits on its stdin for a line.
    """
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment},
        stdin=subprocess.PIPE if is_asked else None,
        stdout=subprocess.PIPE,
        text=True,
    )


def run_child(code: str, *arguments: object, **environment: str) -> str:
    """What such a process prints, once it has ended well."""
    child = start_child(code, *arguments, is_asked=False, **environment)
    printed, _ = child.communicate(timeout=60)
    assert child.returncode == 0, printed
    return printed


def obey_interrupts() -> None:
    """For a child, before it starts: whoever runs the tests in the background of a shell has SIGINT ignored in all."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def word(number: int) -> str:
    """A word that is this number's alone: only consonants, which no stemmer and no splitter touches."""
    return "q" + str(number).translate(str.maketrans("0123456789", "bcdfghjkmp"))

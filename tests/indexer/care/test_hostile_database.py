"""A database that comes in was made by nobody we know: nothing in it runs, and it costs no more than its size."""

import contextlib
import struct
import tempfile
import time
import tracemalloc
from itertools import pairwise
from pathlib import Path

import apsw
import pytest
from builders import make_store
from hypothesis import given, settings
from hypothesis import strategies as st
from predecessor import SESSION, PredecessorDb

from ctxrank.extensions.bazinga.database.importer import import_bazinga
from ctxrank.extensions.bazinga.database.source import read_predecessor
from ctxrank.indexer.exceptions import CtxrankError, DamagedError

_ENDLESS = "WITH RECURSIVE more (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM more)"
_INTERIOR = 0x05  # the first byte of a page of a table that only leads to other pages
_PAGE_SIZE = 512


@pytest.fixture
def db(tmp_path: Path) -> PredecessorDb:
    made = PredecessorDb(tmp_path / "bazinga" / "bazinga.db")
    made.add_session()
    made.add_package(1)
    return made


def test_its_views_and_triggers_do_not_run(tmp_path: Path, db: PredecessorDb) -> None:
    db.execute("ALTER TABLE skill_outputs RENAME TO mine")
    db.execute(f"CREATE VIEW skill_outputs AS {_ENDLESS} SELECT mine.* FROM mine, more")
    db.execute("CREATE TRIGGER evil AFTER INSERT ON sessions BEGIN DELETE FROM context_packages; END")
    with make_store(tmp_path) as store:
        counts = import_bazinga(store, db.path).counts
    assert counts["package"].new == 1 and "skill" not in counts


@pytest.mark.parametrize("name", ["sessions", "context_packages", "schema_version"])
def test_a_view_or_a_virtual_table_in_the_place_of_a_table_is_no_table(db: PredecessorDb, name: str) -> None:
    db.execute(f"ALTER TABLE {name} RENAME TO mine")
    db.execute(f"CREATE VIEW {name} AS {_ENDLESS} SELECT mine.* FROM mine, more")
    with pytest.raises(DamagedError, match="not a database of the predecessor"):
        read_predecessor(db.path, busy_ms=0)
    db.execute(f"DROP VIEW {name}")
    db.execute(f"CREATE VIRTUAL TABLE {name} USING fts5 (session_id, id)")
    with pytest.raises(DamagedError, match="not a database of the predecessor"):
        read_predecessor(db.path, busy_ms=0)


def _compacted(path: str) -> bytearray:
    connection = apsw.Connection(path)
    connection.pragma("journal_mode", "delete")
    connection.pragma("page_size", _PAGE_SIZE)
    connection.execute("VACUUM")
    connection.close()
    return bytearray(Path(path).read_bytes())


def _with_shared_pages(data: bytearray) -> bytearray:
    """Let a few pages that lead to others lead, each with all its places, to the next one: a tower of powers."""
    starts = [start for start in range(_PAGE_SIZE, len(data), _PAGE_SIZE) if data[start] == _INTERIOR]
    root = max(starts, key=lambda start: _depth(data, start))
    tower = [root, *(start for start in starts if _depth(data, start) == 1)][:8]
    for start, next_start in pairwise(tower):
        for place in _places(data, start):
            data[place : place + 4] = struct.pack(">I", next_start // _PAGE_SIZE + 1)
    return data


def _places(data: bytearray, start: int) -> list[int]:
    """Where in a page the numbers of the pages stand that it leads to."""
    cells = struct.unpack_from(">H", data, start + 3)[0]
    return [start + 8, *(start + cell for cell in struct.unpack_from(f">{cells}H", data, start + 12))]


def _depth(data: bytearray, start: int) -> int:
    if data[start] != _INTERIOR:
        return 0
    child = struct.unpack_from(">I", data, _places(data, start)[0])[0]
    return 1 + _depth(data, (child - 1) * _PAGE_SIZE)


@pytest.mark.slow
def test_pages_that_are_shared_without_end_are_refused_before_they_fill_the_memory(db: PredecessorDb) -> None:
    connection = apsw.Connection(db.path)
    with connection:
        connection.executemany(
            "INSERT INTO sessions (session_id, original_requirements) VALUES (?, ?)",
            [(f"s{number}", "x" * 60) for number in range(4_000)],
        )
    connection.close()
    Path(db.path).write_bytes(_with_shared_pages(_compacted(db.path)))
    with pytest.raises(DamagedError, match="holds more than a file of its size can"):
        read_predecessor(db.path, busy_ms=0)


def test_a_file_of_holes_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "bazinga.db"
    with path.open("wb") as file:
        file.truncate(10 << 30)
    began = time.process_time()
    with pytest.raises(DamagedError, match="not an SQLite database"):
        read_predecessor(str(path), busy_ms=0)
    assert time.process_time() - began < 3


@pytest.mark.slow
def test_a_value_of_many_megabytes_costs_a_few_times_its_size(tmp_path: Path, db: PredecessorDb) -> None:
    size = 4_000_000
    db.insert("sessions", session_id="large", original_requirements="word " * (size // 5))
    db.insert("sessions", session_id="blob", original_requirements=bytes(size))
    with make_store(tmp_path) as store:
        tracemalloc.start()
        import_bazinga(store, db.path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert store.primary.execute("SELECT count(*) FROM sessions").fetchone() == (3,)
    assert peak < 20 * size


def test_what_sqlite_would_hold_in_any_column_comes_in_as_text_or_not_at_all(db: PredecessorDb, tmp_path: Path) -> None:
    odd: list[str | bytes | float | None] = [
        b"\xff\xfe",
        1e999,
        -(1 << 63),
        "\0",
        "x" * 100_000,
        "\x1b[31m\u202e",
        None,
    ]
    for number, value in enumerate(odd):
        db.insert(
            "sessions", session_id=f"{SESSION}{number}", mode=value, status=value, metadata=value, created_at=value
        )
    with make_store(tmp_path) as store:
        import_bazinga(store, db.path)
        modes = store.primary.execute("SELECT DISTINCT mode FROM sessions").fetchall()
    assert set(modes) <= {("simple",), ("parallel",)}


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=30))
def test_a_database_with_changed_bytes_comes_in_or_is_refused(changes: list[tuple[int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = PredecessorDb(Path(folder) / "bazinga" / "bazinga.db")
        made.add_session()
        made.add_package(1)
        data = _compacted(made.path)
        for place, value in changes:
            data[place % len(data)] = value
        Path(made.path).write_bytes(data)
        with make_store(Path(folder)) as store, contextlib.suppress(CtxrankError):
            import_bazinga(store, made.path)

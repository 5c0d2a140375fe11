"""The border to SQLite: values of the type that is asked for, pages, waiting, and errors that say what to do."""

import os
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest
from tables import each_row

from ctxrank.indexer.exceptions import CtxrankError, DamagedError, LockedError, UsageError
from ctxrank.indexer.store import connection as module
from ctxrank.indexer.store.connection import (
    busy_timeout_ms,
    file_uri,
    immediate,
    open_database,
    put_setting,
    read_column,
    read_map,
    read_page,
    read_row,
    read_rows,
    read_setting,
    read_value,
    require_value,
    snapshot,
    translate,
    vacuum,
    wait_for_locks,
)


class Pair(NamedTuple):
    number: int
    text: str | None


@pytest.fixture
def rows() -> apsw.Connection:
    connection = apsw.Connection("")
    connection.execute("CREATE TABLE pairs (number, text); CREATE TABLE settings (key PRIMARY KEY, value)")
    connection.executemany("INSERT INTO pairs VALUES (?, ?)", [(1, "a"), (2, "b"), (3, None)])
    return connection


def test_rows_are_values_of_the_type_that_is_asked_for(rows: apsw.Connection) -> None:
    query = "SELECT number, text FROM pairs WHERE number > ?"
    assert list(read_rows(rows, query, (1,), Pair)) == [Pair(2, "b"), Pair(3, None)]
    assert read_row(rows, query, (1,), Pair) == Pair(2, "b") and read_row(rows, query, (9,), Pair) is None
    assert read_column(rows, query, (0,), int) == [1, 2, 3]
    assert read_map(rows, f"{query} AND text IS NOT NULL", (0,), int, str) == {1: "a", 2: "b"}
    assert read_value(rows, query, (2,), int) == 3 and read_value(rows, query, (9,), int) is None
    assert read_value(rows, "SELECT text FROM pairs WHERE number = 3", (), str) is None


def test_a_value_of_another_type_is_damage(rows: apsw.Connection) -> None:
    text, none = "SELECT text FROM pairs", "SELECT text FROM pairs WHERE number = 3"
    for read in (
        lambda: read_column(rows, text, (), str),
        lambda: read_column(rows, text, (), int),
        lambda: read_value(rows, text, (), int),
        lambda: require_value(rows, none, (), str),
        lambda: require_value(rows, f"{text} WHERE false", (), str),
        lambda: read_map(rows, "SELECT number, text FROM pairs", (), int, str),
    ):
        with pytest.raises(DamagedError, match="A column holds"):
            read()


@each_row(
    "limit, count, total, has_more",
    [(-1, 3, 3, False), (0, 0, 3, True), (2, 2, 3, True), (3, 3, 3, False), (9, 3, 3, False)],
)
def test_a_page_says_how_many_there_are_without_a_limit(
    rows: apsw.Connection, limit: int, count: int, total: int, has_more: bool
) -> None:
    page = read_page(rows, "SELECT number, text FROM pairs ORDER BY number", (), Pair, limit=limit)
    assert (len(page), page.total, page.has_more) == (count, total, has_more)


def test_a_setting_is_kept_until_it_is_empty(rows: apsw.Connection) -> None:
    assert read_setting(rows, "a") is None
    for value in ("1", "2"):
        put_setting(rows, "a", value)
        assert read_setting(rows, "a") == value
    put_setting(rows, "a", "")
    assert read_setting(rows, "a") is None


@each_row("given, kept", [("", 30_000), ("0", 0), ("250", 250)])
def test_how_long_a_call_waits_is_in_the_environment(monkeypatch: pytest.MonkeyPatch, given: str, kept: int) -> None:
    monkeypatch.setenv("CTXRANK_BUSY_TIMEOUT_MS", given)
    assert busy_timeout_ms() == kept


def test_another_word_for_how_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("-1", "1.5", "long", "²", "9" * 10, "9" * 5000):
        monkeypatch.setenv("CTXRANK_BUSY_TIMEOUT_MS", wrong)
        with pytest.raises(UsageError, match="CTXRANK_BUSY_TIMEOUT_MS"):
            busy_timeout_ms()


def test_a_path_with_signs_of_an_address_is_opened_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "50%25?x#y.db"
    apsw.Connection(str(path)).execute("CREATE TABLE here (a)")
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    assert apsw.Connection(file_uri(str(path), "mode=ro"), flags=flags).execute("SELECT count(*) FROM here").get == 0


def test_a_database_is_opened_safely(tmp_path: Path) -> None:
    path = str(tmp_path / "a.db")
    with closing(open_database(path, busy_ms=10, create=True)) as opened:
        wanted = {
            "journal_mode": "wal",
            "synchronous": 2,
            "foreign_keys": 1,
            "secure_delete": 1,
            "trusted_schema": 0,
            "journal_size_limit": 16 << 20,
        }
        assert {name: opened.pragma(name) for name in wanted} == wanted
    assert os.stat(path).st_mode & 0o777 == 0o600
    asked: list[apsw.Connection] = []
    open_database(path, busy_ms=10, check=asked.append).close()
    assert not asked  # it is ours already
    with closing(apsw.Connection(path)) as other:
        other.pragma("journal_mode", "delete")
    open_database(path, busy_ms=10, check=asked.append).close()
    assert len(asked) == 1


def test_a_file_that_ends_within_a_page_is_damaged_unless_its_log_has_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(open_database(str(path), busy_ms=10, create=True)) as opened:
        opened.execute("CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(20000))")
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(DamagedError, match=f"ends within a page, after {len(whole) - 100} bytes"):
        open_database(str(path), busy_ms=10)


@pytest.mark.parametrize(("busy_ms", "least_s", "most_s"), [(0, 0.0, 0.05), (-5, 0.0, 0.05), (80, 0.08, 5.0)])
def test_a_lock_is_waited_for_as_long_as_it_is_said(
    tmp_path: Path, busy_ms: int, least_s: float, most_s: float
) -> None:
    path = str(tmp_path / "a.db")
    holder, other = apsw.Connection(path), apsw.Connection(path)
    holder.execute("BEGIN IMMEDIATE")
    wait_for_locks(other, busy_ms)
    started = time.monotonic()
    with pytest.raises(apsw.BusyError), immediate(other):
        pass
    assert least_s <= time.monotonic() - started < most_s


def test_a_new_database_that_another_holds_is_waited_for(tmp_path: Path) -> None:
    path = str(tmp_path / "a.db")
    holder = apsw.Connection(path)
    holder.execute("CREATE TABLE t (a); BEGIN IMMEDIATE")
    started = time.monotonic()
    with pytest.raises(LockedError):
        open_database(path, busy_ms=60)
    assert time.monotonic() - started >= 0.06


def test_a_transaction_is_all_or_nothing_and_a_snapshot_changes_nothing(rows: apsw.Connection) -> None:
    count = "SELECT count(*) FROM pairs"
    with immediate(rows):
        rows.execute("DELETE FROM pairs WHERE number = 1")
    with pytest.raises(KeyError), immediate(rows):
        rows.execute("DELETE FROM pairs")
        raise KeyError
    with snapshot(rows):
        rows.execute("DELETE FROM pairs")
    assert rows.execute(count).get == 2 and not rows.in_transaction


def test_a_vacuum_says_whether_a_reader_was_in_its_way(tmp_path: Path) -> None:
    path = str(tmp_path / "a.db")
    opened = open_database(path, busy_ms=10, create=True)
    opened.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    assert vacuum(opened, path)
    reader = apsw.Connection(path)
    reader.execute("BEGIN; SELECT * FROM t").fetchall()
    assert not vacuum(opened, path)


@each_row(
    "error, kind, said, step",
    [
        (apsw.BusyError(), LockedError, "locked by another process", "CTXRANK_BUSY_TIMEOUT_MS"),
        (apsw.LockedError(), LockedError, "locked by another process", "CTXRANK_BUSY_TIMEOUT_MS"),
        (apsw.NotADBError(), DamagedError, "not an SQLite database", "--db"),
        (apsw.CorruptError("x"), DamagedError, "is damaged (x)", "doctor"),
        (apsw.FullError(), CtxrankError, "The disk that holds", "Free some space"),
        (apsw.ReadOnlyError(), CtxrankError, "cannot be written", "permissions"),
        (apsw.PermissionsError(), CtxrankError, "cannot be written", "permissions"),
        (apsw.CantOpenError(), CtxrankError, "cannot be opened", "ulimit"),
        (apsw.IOError("x"), CtxrankError, "could not read or write", "Check the disk"),
        (apsw.SQLError("x"), CtxrankError, "SQLite refused on", ""),
    ],
)
def test_each_error_of_sqlite_says_what_to_do(
    tmp_path: Path, error: apsw.Error, kind: type[CtxrankError], said: str, step: str
) -> None:
    found = translate(error, str(tmp_path / "a.db"))
    assert type(found) is kind and said in found.message and step in (found.hint or "")
    assert str(tmp_path / "a.db") in found.message


def test_an_error_of_a_full_disk_is_that_and_of_a_full_disk_for_temporary_files_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "a.db")
    monkeypatch.setenv("SQLITE_TMPDIR", str(tmp_path))

    def is_full(folder: str) -> bool:
        return folder == str(tmp_path)

    def is_allowed(folder: str, _: int) -> bool:
        return folder != "/elsewhere"

    monkeypatch.setattr(module, "_is_full", is_full)
    assert "The disk that holds" in translate(apsw.IOError(), path).message
    assert "could not read or write" in translate(apsw.IOError(), "/elsewhere/a.db").message
    monkeypatch.setattr(os, "access", is_allowed)
    assert f"temporary files, {tmp_path}, is full" in translate(apsw.FullError(), "/elsewhere/a.db").message


@pytest.mark.parametrize("suffix", ["", "-wal", "-journal"])
def test_a_link_in_place_of_a_file_of_a_store_is_named(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"a.db{suffix}").symlink_to("nowhere")
    assert f"a.db{suffix} is a link" in translate(apsw.CantOpenError(), str(tmp_path / "a.db")).message

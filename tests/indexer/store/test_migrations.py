"""A store is brought to the next schema whole or not at all; one from before the first release is refused.

The next schema is made up: a folder with this program's schema.sql and a further numbered file that no program ships.
"""

import re
import signal
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from builders import make_store, next_schema, save, start_child

from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.opening import create_store, open_store
from ctxrank.indexer.owners import installed_owners
from ctxrank.indexer.store import migrations
from ctxrank.indexer.store.connection import APPLICATION_ID, SCHEMA_VERSION, open_database
from ctxrank.indexer.store.location import identity_of, stated_identity
from ctxrank.indexer.store.migrations import FIRST_SCHEMA, Schema, migrate
from ctxrank.indexer.store.store import Store

SQL_FOLDER = Path(migrations.__file__).parent
NEXT = SCHEMA_VERSION + 1
MADE_UP = """
    CREATE TABLE seasons (session_id INTEGER PRIMARY KEY, season TEXT NOT NULL) STRICT;
    INSERT INTO seasons SELECT id, 'winter' FROM sessions;
    ALTER TABLE sessions ADD COLUMN weather TEXT NOT NULL DEFAULT 'rain';
    UPDATE sessions SET weather = 'snow' WHERE id IN (SELECT session_id FROM seasons);
"""
_MIGRATES = """
import sys
from ctxrank.indexer.store.connection import open_database
from ctxrank.indexer.store.migrations import Schema, migrate

truth = open_database(sys.argv[1], busy_ms=30_000)
print("ready", flush=True)
sys.stdin.readline()
migrate(truth, sys.argv[1], Schema(int(sys.argv[2]), sys.argv[3]))
print(truth.pragma("user_version"))
"""
_DIES = """
import os, random, sys
from doomed_files import be_doomed
from ctxrank.indexer.store.connection import open_database
from ctxrank.indexer.store.migrations import Schema, migrate

be_doomed(os.path.dirname(sys.argv[1]), int(sys.argv[4]), random.Random(int(sys.argv[4])))
migrate(open_database(sys.argv[1], busy_ms=30_000), sys.argv[1], Schema(int(sys.argv[2]), sys.argv[3]))
"""
Rows = dict[str, list[tuple[object, ...]]]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A store of this program's schema with a few records, closed."""
    with make_store(tmp_path) as store:
        save(store, "plan.md", "# Plan\n\nRotate the tokens.\n", session="S1")
        save(store, "notes.md", "The lock is held too long.\n", session="S2", group=None)
        return store.location.primary


@pytest.fixture
def following(tmp_path: Path) -> Schema:
    """The made-up schema that follows this program's."""
    return next_schema(tmp_path / "sql", MADE_UP)


def test_the_file_of_a_new_store_says_whose_it_is_while_it_is_open(tmp_path: Path) -> None:
    with create_store(str(tmp_path)) as store:
        assert stated_identity(store.location.primary) == identity_of(store.primary)


def opened(path: str) -> "closing[apsw.Connection]":
    return closing(open_database(path, busy_ms=2000))


def rows_of(primary: apsw.Connection) -> Rows:
    """Every row of every table that the present schema has."""
    with closing(open_empty()) as empty:
        query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'record_log'"  # it logs what changes
        names = [str(name) for (name,) in empty.execute(query)]
        columns = {name: [str(row[1]) for row in empty.execute(f"PRAGMA table_info({name})")] for name in names}
    rows: Rows = {
        name: sorted(primary.execute(f"SELECT {', '.join(columns[name])} FROM {name}").fetchall(), key=repr)
        for name in names
    }
    rows["sqlite_sequence"] = [row for row in rows["sqlite_sequence"] if row[0] != "record_log"]
    return rows


def open_empty() -> apsw.Connection:
    """The present schema in memory."""
    empty = apsw.Connection(":memory:")
    migrations.apply_schema(empty, 0)
    return empty


def schema_of(primary: apsw.Connection) -> list[tuple[object, ...]]:
    query = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
    return [tuple(row) for row in primary.execute(query)]


def versions_of(primary: apsw.Connection) -> tuple[int, int]:
    return int(primary.pragma("user_version")), int(primary.pragma("application_id"))


def test_only_who_makes_a_store_is_told_that_it_was_made(tmp_path: Path) -> None:
    made: list[str] = []
    with closing(open_database(str(tmp_path / "new.db"), busy_ms=2000, create=True)) as primary:
        for is_new in (True, False):
            assert migrate(primary, "new.db", announce=lambda _, path: made.append(path)) is is_new
        assert versions_of(primary) == (SCHEMA_VERSION, APPLICATION_ID)
    assert made == ["new.db"]


def test_there_is_one_file_for_the_first_schema_and_one_for_each_after_it() -> None:
    later = [f"migration_{number:03d}.sql" for number in range(FIRST_SCHEMA + 1, SCHEMA_VERSION + 1)]
    assert sorted(file.name for file in SQL_FOLDER.glob("*.sql")) == [*later, "schema.sql"]


@pytest.mark.needs("links")
def test_every_text_column_says_what_it_holds() -> None:
    """In the words that schema.sql explains at its top."""
    files = [SQL_FOLDER / "schema.sql", *(Path(owner.folder, "schema_001.sql") for owner in installed_owners())]
    sql = "".join(file.read_text(encoding="utf-8") for file in files)
    columns = re.findall(r"^    \w+ +TEXT\b.*$", sql, re.MULTILINE)
    assert len(columns) > 100
    words = r"-- (text|line|JSON|name|word|path|digest|list)\b"
    assert [column for column in columns if not re.search(words, column)] == []


def test_a_store_is_brought_to_the_next_schema_and_keeps_every_row(path: str, following: Schema) -> None:
    with opened(path) as primary:
        before = rows_of(primary)
        assert before["sessions"] and before["documents"] and before["history_checkpoints"]
        migrate(primary, path, following)
        assert versions_of(primary) == (NEXT, APPLICATION_ID)
        assert rows_of(primary) == before
        assert primary.execute("SELECT name, weather FROM sessions ORDER BY id").fetchall() == [
            ("S1", "snow"), ("S2", "snow"),
        ]  # fmt: skip
        assert (
            primary.execute("PRAGMA integrity_check").get == "ok"
            and primary.execute("PRAGMA foreign_key_check").get is None
        )
    with pytest.raises(DamagedError, match=f"has schema {NEXT}; this program knows up to {SCHEMA_VERSION}"):
        open_store(path)


def test_a_new_store_of_the_next_schema_is_as_one_that_was_brought_there(
    path: str, following: Schema, tmp_path: Path
) -> None:
    new = str(tmp_path / "new.db")
    with opened(path) as primary, closing(open_database(new, busy_ms=0, create=True)) as made:
        migrate(primary, path, following)
        migrate(made, new, following)
        assert schema_of(made) == schema_of(primary) and versions_of(made) == versions_of(primary)
        assert made.execute("SELECT seq FROM store").get == 0 and made.execute("SELECT path FROM roots").get == "."


def test_several_steps_are_one_transaction_and_the_last_that_fails_undoes_them_all(
    path: str, following: Schema
) -> None:
    (Path(following.sql_folder) / f"migration_{NEXT + 1:03d}.sql").write_text("DROP TABLE weather", encoding="utf-8")
    with opened(path) as primary:
        before = schema_of(primary), rows_of(primary), versions_of(primary)
        with pytest.raises(apsw.SQLError, match="no such table: weather"):
            migrate(primary, path, following._replace(version=NEXT + 1))
        assert (schema_of(primary), rows_of(primary), versions_of(primary)) == before
        (Path(following.sql_folder) / f"migration_{NEXT + 1:03d}.sql").write_text(
            "DROP TABLE seasons", encoding="utf-8"
        )
        migrate(primary, path, following._replace(version=NEXT + 1))
        assert versions_of(primary) == (NEXT + 1, APPLICATION_ID)
        assert not primary.execute("SELECT 1 FROM sqlite_schema WHERE name = 'seasons'").fetchall()


def test_a_migration_that_fails_in_the_middle_leaves_the_store_as_it_was(path: str, following: Schema) -> None:
    file = Path(following.sql_folder) / f"migration_{NEXT:03d}.sql"
    file.write_text(MADE_UP + "INSERT INTO sessions (name, created_at) VALUES ('S1', 0);", encoding="utf-8")
    with opened(path) as primary:
        before = schema_of(primary), rows_of(primary), versions_of(primary)
        with pytest.raises(apsw.ConstraintError):
            migrate(primary, path, following)
        assert (schema_of(primary), rows_of(primary), versions_of(primary)) == before
    with open_store(path) as store:
        assert rows_of(store.primary) == before[1]


def test_two_processes_that_open_an_older_store_at_once_migrate_it_once(path: str, following: Schema) -> None:
    children = [start_child(_MIGRATES, path, *following, is_asked=True) for _ in range(2)]
    for child in children:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    # A second run of the file would fail at its first statement.
    assert [child.communicate(timeout=60)[0] for child in children] == [f"{NEXT}\n"] * 2
    assert [child.returncode for child in children] == [0, 0]
    with opened(path) as primary:
        assert primary.execute("SELECT count(*) FROM seasons").get == 2


def test_a_store_that_another_process_makes_between_two_looks_at_its_file_is_no_foreign_one(tmp_path: Path) -> None:
    path = tmp_path / ".ctxrank" / "ctxrank.db"
    path.parent.mkdir()
    path.touch()
    stores: list[Store] = []

    def make_it(_: object, sql: str, __: object) -> bool:
        if "sqlite_schema" in sql and not stores:
            stores.append(create_store(str(tmp_path), busy_ms=100))
        return True

    with opened(str(path)) as primary:
        primary.exec_trace = make_it
        assert not migrate(primary, str(path))
        primary.exec_trace = None
        assert versions_of(primary) == (SCHEMA_VERSION, APPLICATION_ID)
    (made,) = stores
    made.close()


def test_a_connection_that_was_open_sees_the_old_schema_or_the_new_one(path: str, following: Schema) -> None:
    with opened(path) as reader, opened(path) as writer:
        before = rows_of(reader)
        with reader:  # a reading transaction, that a migration does not disturb
            reader.execute("SELECT count(*) FROM sessions").fetchall()
            migrate(writer, path, following)
            assert versions_of(reader) == (SCHEMA_VERSION, APPLICATION_ID) and rows_of(reader) == before
        assert versions_of(reader) == (NEXT, APPLICATION_ID) and rows_of(reader) == before


@pytest.mark.slow
def test_a_migration_that_is_killed_anywhere_leaves_one_schema_or_the_other(
    path: str, following: Schema, tmp_path: Path
) -> None:
    with opened(path) as primary:
        rows, old = rows_of(primary), schema_of(primary)
    kept = Path(path).read_bytes()
    found: list[int] = []
    for operation in range(1, 200, 3):
        home = tmp_path / f"killed {operation}"
        home.mkdir()
        copy = str(home / "ctxrank.db")
        Path(copy).write_bytes(kept)
        child = start_child(_DIES, copy, *following, operation)
        child.communicate(timeout=60)
        assert child.returncode in (0, -signal.SIGKILL)
        with opened(copy) as primary:
            version, owner = versions_of(primary)
            found.append(version)
            assert owner == APPLICATION_ID and rows_of(primary) == rows
            assert primary.execute("PRAGMA integrity_check").get == "ok"
            assert (schema_of(primary) == old) is (version == SCHEMA_VERSION)
            migrate(primary, copy, following)
            assert primary.execute("SELECT count(*) FROM seasons").get == 2
        if child.returncode == 0:
            break
    assert found == sorted(found) and {*found} == {SCHEMA_VERSION, NEXT}


@pytest.mark.parametrize("version", range(1, FIRST_SCHEMA))
def test_a_store_from_before_the_first_release_is_refused_and_left_as_it_was(path: str, version: int) -> None:
    with closing(apsw.Connection(path)) as primary:
        primary.pragma("user_version", version)
    before = Path(path).read_bytes()
    with pytest.raises(
        DamagedError, match=f"has schema {version}, of a ctxrank from before the first release"
    ) as refused:
        open_store(path)
    assert refused.value.exit_code == 5
    assert "ctxrank init" in refused.value.hint
    assert Path(path).read_bytes() == before

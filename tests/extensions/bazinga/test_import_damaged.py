"""A damaged database of the predecessor: its import says which command reads what can be read, and that one does."""

import shlex
import shutil
from pathlib import Path

import apsw
import pytest
from builders import make_store
from exported import exported, without_ids
from predecessor import SESSION, PredecessorDb
from tables import each_row

from ctxrank.cli.main import run
from ctxrank.extensions.salvage import foreign_tables
from ctxrank.extensions.salvage.foreign_tables import copy_foreign_tables
from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.records.packages import list_packages

_PACKAGES = 60


def _database(path: Path) -> bytes:
    db = PredecessorDb(path)
    db.add_session()
    db.insert("task_groups", id="AUTH", session_id=SESSION, name="auth")
    for number in range(1, _PACKAGES + 1):
        db.add_package(number, created_at="2025-12-01 12:00:00", summary=f"Finding {number}: " + "about tokens " * 30)
    db.add_error()
    db.add_strategy()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


def _leaf_of_packages(data: bytes) -> int:
    return next(page for page in range(2, len(data) // 4096) if b"Finding 30:" in data[page * 4096 : (page + 1) * 4096])


def test_the_hint_of_a_damaged_database_is_the_command_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Said, and typed as it was said."""
    make_store(tmp_path).close()
    monkeypatch.chdir(tmp_path)
    database = tmp_path / "an old shop" / "bazinga.db"
    data = _database(database)
    leaf = _leaf_of_packages(data)
    damaged = data[: leaf * 4096] + bytes(4096) + data[(leaf + 1) * 4096 :]
    database.write_bytes(damaged)
    before = sorted(path.name for path in database.parent.iterdir())
    assert run(["import", "bazinga", str(database)]) == 5
    hint = capsys.readouterr().err.strip()
    command = hint.partition("in a copy: ")[2]
    assert "is damaged" in hint and command.startswith("ctxrank import bazinga --salvage ")
    assert run(shlex.split(command)[1:]) == 5  # what there was came in, and it was not all
    said = capsys.readouterr()
    assert "context_packages: " in said.err and "or more are lost" in said.err
    assert database.read_bytes() == damaged and sorted(path.name for path in database.parent.iterdir()) == before
    assert not [path for path in (tmp_path / ".ctxrank").iterdir() if path.name.startswith(".trial")]
    with open_store(root=str(tmp_path)) as store:
        packages = list_packages(store.primary, session=SESSION, limit=1000)
        lost = {f"Finding {number}:" for number in range(1, _PACKAGES + 1)} - {
            " ".join(package.summary.split(" ")[:2]) for package in packages
        }
        assert len(packages) + len(lost) == _PACKAGES
        assert 0 < len(lost) < 15 and all(text.encode() in data[leaf * 4096 : (leaf + 1) * 4096] for text in lost)


@pytest.mark.slow
@each_row("name, page", [("the header", 0), ("an index or a table", 3), ("the last page", -1)])
def test_whichever_page_is_damaged_what_can_be_read_comes_in(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str], name: str, page: int
) -> None:
    folder = tmp_path_factory.mktemp("old")
    make_store(folder).close()
    database = folder / "bazinga.db"
    data = _database(database)
    page %= len(data) // 4096
    database.write_bytes(data[: page * 4096] + bytes(4096) + data[(page + 1) * 4096 :])
    code = run(["--db", str(folder / ".ctxrank" / "ctxrank.db"), "import", "bazinga", "--salvage", str(database)])
    assert code in (0, 5), (name, capsys.readouterr().err)
    capsys.readouterr()


def test_of_a_sound_database_salvage_reads_all(tmp_path: Path) -> None:
    """With the defaults that its real tables have, CURRENT_TIMESTAMP and datetime() among them."""
    db = PredecessorDb(tmp_path / "old" / "bazinga.db")
    db.fill()
    stores: list[list[dict[str, object]]] = []
    for number, words in enumerate(([], ["--salvage"])):
        folder = tmp_path / str(number)
        folder.mkdir()
        make_store(folder).close()
        assert run(["--db", str(folder / ".ctxrank"), "import", "bazinga", *words, db.path]) == 0
        with open_store(str(folder / ".ctxrank")) as store:
            stores.append(without_ids(exported(store)))
    assert stores[0] == stores[1] and {line["record"] for line in stores[0]} >= {"package", "reasoning", "strategy"}


def test_what_waits_in_the_log_comes_in_as_well(tmp_path: Path) -> None:
    database = tmp_path / "live" / "bazinga.db"
    db = PredecessorDb(database)
    db.add_session()
    reader = apsw.Connection(db.path)  # keeps the log
    reader.execute("SELECT * FROM sessions").fetchall()
    writer = apsw.Connection(db.path)
    writer.execute(
        "INSERT INTO sessions (session_id, mode, created_at) VALUES ('in the log', 'parallel', '2025-12-01 12:00:00')"
    )
    shutil.copytree(database.parent, tmp_path / "old")
    writer.close()
    reader.close()
    make_store(tmp_path).close()
    assert (
        run(
            ["--db", str(tmp_path / ".ctxrank"), "import", "bazinga", "--salvage", str(tmp_path / "old" / "bazinga.db")]
        )
        == 0
    )
    with open_store(str(tmp_path / ".ctxrank")) as store:
        assert ("in the log",) in list(store.primary.execute("SELECT name FROM sessions"))


def test_nothing_that_the_file_says_is_run(tmp_path: Path) -> None:
    """A statement that makes a table from a query without end, and one that is no table's."""
    path = tmp_path / "forged.db"
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE sessions (session_id TEXT); INSERT INTO sessions VALUES ('shop')")
    connection.execute("CREATE TABLE context_packages (id INTEGER PRIMARY KEY, summary TEXT)")
    connection.execute("PRAGMA writable_schema = ON")
    endless = (
        "CREATE TABLE context_packages AS WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
        " SELECT x FROM n"
    )
    connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'context_packages'", (endless,))
    connection.close()
    found = copy_foreign_tables(str(path), str(tmp_path / "copy.db"), ("sessions", "context_packages"))
    assert [(table.name, table.saved) for table in found] == [("sessions", 1)]


def test_a_file_that_says_more_than_it_can_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages may be forged to share what they lead to: here a file may hold no more than itself, and holds more."""
    _database(tmp_path / "old.db")
    monkeypatch.setattr(foreign_tables, "_MAX_GROWTH", 0)
    with pytest.raises(DamagedError, match="more than one of its size can hold"):
        copy_foreign_tables(str(tmp_path / "old.db"), str(tmp_path / "copy.db"), ("context_packages",))


def test_one_in_utf_16_is_refused_in_words(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "wide.db"))
    connection.execute("PRAGMA encoding = 'UTF-16le'; CREATE TABLE sessions (session_id TEXT)")
    connection.close()
    with pytest.raises(DamagedError, match="UTF-16"):
        copy_foreign_tables(str(tmp_path / "wide.db"), str(tmp_path / "copy.db"), ("sessions",))

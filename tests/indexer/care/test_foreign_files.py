"""A file that is not a store of ours is never repaired and never touched, whatever is wrong with it."""

import os
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from predecessor import PredecessorDb
from tables import each_row

from ctxrank.cli.main import run
from ctxrank.indexer.care.finding import Repair
from ctxrank.indexer.care.primary_checks import is_foreign
from ctxrank.indexer.care.repair import repair
from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.store.connection import APPLICATION_ID
from ctxrank.indexer.store.location import Location, at


def _state(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Every file with its bytes, its mode and when it was written; the folder with its mode."""
    return {
        str(path.relative_to(folder)): (
            path.read_bytes() if path.is_file() else b"",
            path.stat().st_mode,
            path.stat().st_mtime_ns if path.is_file() else 0,
        )
        for path in [folder, *sorted(folder.rglob("*"))]
    }  # fmt: skip


def _predecessor(folder: Path) -> Path:
    db = PredecessorDb(folder / "other.db")
    db.add_session()
    for number in range(1, 40):
        db.add_package(number, summary=f"Finding {number}: " + "about tokens " * 40)
    db.execute("PRAGMA journal_mode = DELETE")
    return Path(db.path)


def _wal_predecessor(folder: Path) -> Path:
    path = _predecessor(folder)
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.close()
    return path


def _wiped(path: Path, *pages: int) -> Path:
    data = bytearray(path.read_bytes())
    for page in pages:
        data[page * 4096 : (page + 1) * 4096] = bytes(4096)
    path.write_bytes(data)
    return path


def _other(folder: Path) -> Path:
    connection = apsw.Connection(str(folder / "other.db"))
    connection.execute("PRAGMA application_id = 1234; CREATE TABLE documents (id INTEGER PRIMARY KEY, text TEXT)")
    connection.execute("INSERT INTO documents (text) VALUES ('CREATE TABLE history_checkpoints (tombstones)')")
    connection.close()
    return folder / "other.db"


def _text(folder: Path) -> Path:
    path = folder / "other.db"
    path.write_text("CREATE TABLE history_checkpoints, a text about tombstones\n" * 200)
    return path


FILES: dict[str, Callable[[Path], Path]] = {
    "a sound predecessor": _predecessor,
    "one in WAL mode": _wal_predecessor,
    "one without its header": lambda folder: _wiped(_predecessor(folder), 0),
    "one with wiped pages": lambda folder: _wiped(_predecessor(folder), 2, 5, 8),
    "one that was cut off": lambda folder: _cut(_predecessor(folder)),
    "another program's": _other,
    "another program's, damaged": lambda folder: _wiped(_other(folder), 1),
    "a text": _text,
    "zeros": lambda folder: _zeros(folder / "other.db"),
}


def _cut(path: Path) -> Path:
    os.truncate(path, path.stat().st_size - 5000)
    return path


def _zeros(path: Path) -> Path:
    path.write_bytes(bytes(20_000))
    return path


@pytest.mark.needs("salvage")
def test_a_header_of_ours_is_ours_whatever_is_behind_it(tmp_path: Path) -> None:
    header = b"SQLite format 3\0".ljust(68, b"\0") + APPLICATION_ID.to_bytes(4, "big")
    for number, is_ours in ((header, True), (header[:-1] + b"\0", False), (b"\0" + header[1:], False)):
        (tmp_path / "other.db").write_bytes(number.ljust(20_000, b"\7"))
        assert is_foreign(str(tmp_path / "other.db")) is not is_ours


@pytest.mark.needs("salvage")
@each_row("page_size", [512, 4096, 32768, 65536])
def test_one_page_without_a_table_is_a_store_that_was_just_begun(
    tmp_path_factory: pytest.TempPathFactory, page_size: int
) -> None:
    path = tmp_path_factory.mktemp("begun") / "other.db"
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA page_size = {page_size}; PRAGMA journal_mode = WAL").fetchall()
    assert path.stat().st_size == page_size and not is_foreign(str(path))
    connection.execute("CREATE TABLE other (id INTEGER PRIMARY KEY)")
    connection.close()
    assert path.stat().st_size == 2 * page_size and is_foreign(str(path))
    os.truncate(path, page_size)
    assert is_foreign(str(path))


@pytest.mark.needs("salvage")
@each_row("name", FILES)
def test_a_foreign_file_is_never_touched(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    folder = tmp_path_factory.mktemp("foreign")
    path = FILES[name](folder)
    path.chmod(0o644)
    folder.chmod(0o755)
    os.utime(path, ns=(10**18, 10**18))
    before = _state(folder)
    assert is_foreign(str(path))
    calls = [
        ["doctor"], ["doctor", "--deep"], *(["doctor", "--repair", how] for how in ("plan", "dry-run", "apply")),
        ["doctor", "--deep", "--repair", "apply", "--json"], ["status"], ["search", "tokens"], ["rebuild"], ["purge"],
    ]  # fmt: skip
    for call in calls:
        assert run(["--db", str(path), *call]) == 5, call
        said = capsys.readouterr()
        assert call[0] != "doctor" or "is not a ctxrank store" in said.out + said.err
        assert _state(folder) == before, call


@pytest.mark.needs("salvage")
def test_a_repair_refuses_a_foreign_file_whatever_it_is_asked(tmp_path: Path) -> None:
    path = _wiped(_predecessor(tmp_path), 2)
    before = _state(tmp_path)
    with pytest.raises(DamagedError, match="is not a ctxrank store"):
        repair(at(str(path)), tuple(step for step in Repair if step is not Repair.NONE), is_dry_run=False)
    assert _state(tmp_path) == before


@pytest.mark.needs("salvage")
@each_row("pages", [(0,), (0, 1, 2), (5,), ()])
def test_a_store_of_ours_is_known_whatever_page_it_lost(loaded: Location, pages: tuple[int, ...]) -> None:
    _wiped(Path(loaded.primary), *pages)
    assert not is_foreign(loaded.primary)

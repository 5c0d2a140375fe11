"""A damaged truth is saved row by row: what can be read is kept, what is lost is counted, nothing else is touched."""

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from builders import copy_store, next_schema, open_again, run_child, save, search_ids, start_child
from damage import (
    DAMAGES,
    PAGE,
    closed,
    cut,
    flipped,
    leaves_of,
    pages_of,
    root_of,
    rows_of,
    spoil,
    without_logs,
    zeroed,
)
from index_contents import has_no_ghosts
from tables import first_quick

from ctxrank.extensions.salvage.layout import read_layout
from ctxrank.extensions.salvage.pages import INTERIOR, PageFile, Record
from ctxrank.indexer.care.new_file import SalvageReport, save_what_can_be_read
from ctxrank.indexer.care.replacement import salvage
from ctxrank.indexer.exceptions import DamagedError, LockedError
from ctxrank.indexer.fulltext.fts5_engine import index_of
from ctxrank.indexer.opening import create_store, open_store
from ctxrank.indexer.records.events import record_event
from ctxrank.indexer.store.connection import SCHEMA_VERSION, immediate
from ctxrank.indexer.store.location import Location
from ctxrank.indexer.store.migrations import FIRST_SCHEMA
from ctxrank.ranking import AssembleRequest, assemble

BUSY_MS = 300


@pytest.fixture(scope="module")
def full_shop(loaded_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixture store, with a delivery, a receipt, an event, and one body that needs overflow pages."""
    home = tmp_path_factory.mktemp("full")
    store = open_store(copy_store(loaded_once, home).primary)
    with store.write() as change:
        record_event(change, 1, None, "note", "[1]")
    save(store, "long.md", None, session="shop-2026-10", group="AUTH", summary="A long story. " * 900)
    assemble(store, AssembleRequest("shop-2026-10", "developer", "AUTH", task="token refresh"))
    closed(store)
    return home


@pytest.fixture
def shop(full_shop: Path, tmp_path: Path) -> Location:
    return copy_store(full_shop, tmp_path)


def salvaged(tmp_path: Path, data: bytes) -> tuple[SalvageReport, str]:
    """What becomes of a file of these bytes: the report, and the new file's path."""
    bad, new = tmp_path / "bad.db", tmp_path / "new.db"
    bad.write_bytes(data)
    new.unlink(missing_ok=True)
    return save_what_can_be_read(str(bad), str(new)), str(new)


def below(file: PageFile, page: int) -> list[Record]:
    """The rows below a page of a sound file."""
    if file.kind(page) in INTERIOR:
        return [record for child in file.children(page) for record in below(file, child)]
    return [record for record in file.records(page) if isinstance(record, Record)]


def test_rows_are_read_from_pages_as_sqlite_reads_them(shop: Location) -> None:
    connection = apsw.Connection(shop.primary)
    tables = connection.execute(
        "SELECT s.name, s.rootpage FROM sqlite_schema AS s JOIN pragma_table_list AS t USING (name)"
        " WHERE s.type = 'table' AND NOT t.wr"
    ).fetchall()
    file = PageFile(shop.primary)
    for name, root in tables:
        read = {record.rowid: record.values[1:] for record in below(file, int(str(root)))}
        wanted = {int(row[0]): tuple(row[2:]) for row in connection.execute(f'SELECT rowid, * FROM "{name}"')}
        assert read == wanted, name
    file.close()
    connection.close()


def test_a_sound_file_is_saved_whole(shop: Location, tmp_path: Path) -> None:
    report, new = salvaged(tmp_path, Path(shop.primary).read_bytes())
    assert report.is_complete and not any(table.rebuilt for table in report.tables)
    assert rows_of(new) == rows_of(shop.primary)


@pytest.mark.parametrize("every", [7, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("damage", first_quick(DAMAGES, 1))
def test_whichever_page_is_damaged_no_row_is_lost_without_being_counted(
    shop: Location, tmp_path: Path, damage: Callable[[bytes, int], bytes], every: int
) -> None:
    data, before = Path(shop.primary).read_bytes(), rows_of(shop.primary)
    before.pop("artifacts")  # is marked to be read again where passages are lost
    for page in range(1, pages_of(shop.primary), every):
        try:
            report, new = salvaged(tmp_path, damage(data, page))
        except DamagedError as refused:  # cut off so early that there is nothing
            assert damage is cut and "Nothing of a store" in refused.message
            continue
        after = rows_of(new)
        for table in report.tables:
            missing = len(before.get(table.name, set()) - after.get(table.name, set()))
            assert missing <= table.lost + table.rebuilt or not table.is_count_known, (page, table)


def test_a_text_whose_end_reads_as_zeros_is_not_taken_for_a_row(tmp_path: Path) -> None:
    """A file that was cut off within a page is read as if zeros followed."""
    path = str(tmp_path / "texts.db")
    connection = apsw.Connection(path)
    connection.execute("CREATE TABLE t (a TEXT) STRICT; INSERT INTO t VALUES ('cafecafe'), ('whole')")
    connection.close()
    data = Path(path).read_bytes()
    for lost in range(1, 9):  # of the first row, which is the last of its page
        Path(path).write_bytes(data[:-lost] + bytes(lost))
        with closing(PageFile(path)) as file:
            read = list(file.records(2))
        assert [one.values for one in read if isinstance(one, Record)] == [("whole",)], lost


def test_a_row_that_ends_before_the_column_that_numbers_rows_is_none_of_the_table() -> None:
    """A page that no tree leads to may be of another table, which has fewer columns."""
    with closing(apsw.Connection(":memory:")) as empty:
        empty.execute("CREATE TABLE orders (customer TEXT, id INTEGER PRIMARY KEY)")
        (orders,) = read_layout(empty)
    assert orders.row(Record(7, ("anna", None))) == ("anna", 7)
    assert orders.row(Record(7, ("anna",))) is None


def test_a_lost_first_page_loses_nothing(shop: Location, tmp_path: Path) -> None:
    """Neither the file's header nor where each table begins has to be known."""
    for damage in (zeroed, flipped):
        report, new = salvaged(tmp_path, damage(Path(shop.primary).read_bytes(), 0))
        assert report.is_complete
        assert rows_of(new) == rows_of(shop.primary)


def test_a_store_of_smaller_pages_is_saved_and_keeps_them(shop: Location, tmp_path: Path) -> None:
    """An older one has them: SQLite writes no file over one whose pages are of another size."""
    with closing(apsw.Connection(shop.primary)) as connection:
        connection.pragma("journal_mode", "delete")
        connection.execute("PRAGMA page_size = 4096; VACUUM; PRAGMA journal_mode = WAL").fetchall()
    data, before = bytearray(Path(shop.primary).read_bytes()), rows_of(shop.primary)
    report, new = salvaged(tmp_path, bytes(4096) + data[4096:])
    assert report.is_complete and rows_of(new) == before
    lost = root_of(shop.primary, "documents_owner") * 4096
    data[lost : lost + 4096] = bytes(4096)
    Path(shop.primary).write_bytes(data)
    salvage(shop, busy_ms=BUSY_MS)
    assert rows_of(shop.primary) == before
    with closing(apsw.Connection(shop.primary)) as connection:
        assert connection.pragma("page_size") == 4096 and connection.pragma("integrity_check") == "ok"


def test_leaves_whose_way_is_lost_are_found_by_what_stands_on_them(shop: Location, tmp_path: Path) -> None:
    page = root_of(shop.primary, "documents")
    file = PageFile(shop.primary)
    assert file.kind(page + 1) in INTERIOR
    file.close()
    report, new = salvaged(tmp_path, zeroed(Path(shop.primary).read_bytes(), page))
    assert report.is_complete
    assert rows_of(new)["documents"] == rows_of(shop.primary)["documents"]


def test_sessions_and_groups_are_named_again_from_their_indexes(shop: Location) -> None:
    names = "SELECT id, name FROM sessions ORDER BY id", "SELECT id, session_id, name FROM groups ORDER BY id"
    with open_store(shop.primary) as store:
        before = [store.primary.execute(query).fetchall() for query in names]
    without_logs(shop)
    spoil(shop.primary, "sessions", "groups")
    assert not any(table.lost for table in salvage(shop, busy_ms=BUSY_MS)[0].tables)
    with open_store(shop.primary) as store:
        assert [store.primary.execute(query).fetchall() for query in names] == before
        assert len(search_ids(store, "token refresh", group="AUTH", session="shop-2026-10")) > 2


def test_a_session_that_nothing_names_keeps_what_it_holds(shop: Location) -> None:
    spoil(shop.primary, "sessions", "sqlite_autoindex_sessions_1")
    salvage(shop, busy_ms=BUSY_MS)
    with open_store(shop.primary) as store:
        assert store.primary.execute("SELECT name FROM sessions WHERE id = 1").get == "recovered-1"
        assert len(search_ids(store, "token refresh", session="recovered-1")) > 2


def test_records_are_made_again_from_their_documents(shop: Location) -> None:
    said = "SELECT path, type, producer, priority, summary, group_id FROM packages ORDER BY id"
    with open_store(shop.primary) as store:
        packages = store.primary.execute(said).fetchall()
        thoughts = store.primary.execute("SELECT agent, phase, content FROM reasoning ORDER BY id").fetchall()
        errors = store.primary.execute("SELECT project, pattern_hash, solution FROM error_patterns").fetchall()
    without_logs(shop)
    packages_leaves = leaves_of(shop.primary, "packages")
    spoil(shop.primary, "reasoning", "error_patterns", "strategies")
    data = Path(shop.primary).read_bytes()
    for page in packages_leaves:
        data = zeroed(data, page)
    Path(shop.primary).write_bytes(data)
    report = salvage(shop, busy_ms=BUSY_MS)[0]
    assert {table.name for table in report.tables if table.rebuilt} >= {"packages", "reasoning", "error_patterns"}
    with open_store(shop.primary) as store:
        assert store.primary.execute(said).fetchall() == packages
        assert store.primary.execute("SELECT agent, phase, content FROM reasoning ORDER BY id").fetchall() == thoughts
        assert store.primary.execute("SELECT project, pattern_hash, solution FROM error_patterns").fetchall() == errors


def test_documents_are_made_again_from_their_records_and_passages_from_files(shop: Location) -> None:
    from ctxrank.indexer.files.scan import index_artifacts

    with open_store(shop.primary) as store:
        wanted = search_ids(store, "rotation of the refresh token", limit=50)
    without_logs(shop)
    data = Path(shop.primary).read_bytes()
    for page in leaves_of(shop.primary, "documents")[:4]:
        data = zeroed(data, page)
    Path(shop.primary).write_bytes(data)
    report = salvage(shop, busy_ms=BUSY_MS)[0]
    assert report.needs_index and any(table.lost for table in report.tables)
    with open_store(shop.primary) as store:
        index_artifacts(store)
        assert sorted(search_ids(store, "rotation of the refresh token", limit=50)) == sorted(wanted)
        assert has_no_ghosts(store)


def test_numbers_go_on_where_they_were(shop: Location) -> None:
    """Also those of rows that were lost: what once named one record never names another."""
    query = "SELECT seq FROM sqlite_sequence WHERE name = 'packages'"
    with open_store(shop.primary) as store:
        last, seq = store.primary.execute(query).get, store.last_seq()
        name = store.primary.execute("SELECT uuid FROM store").get
        with store.write() as change:
            change.connection.execute("UPDATE sqlite_sequence SET seq = 900 WHERE name = 'events'")
    without_logs(shop)
    spoil(shop.primary, "sqlite_sequence", "store")
    salvage(shop, busy_ms=BUSY_MS)
    with open_store(shop.primary) as store:
        assert store.primary.execute(query).get == last
        assert store.last_seq() > seq
        assert store.primary.execute("SELECT uuid FROM store").get == name
        assert save(store, "new.md", "an ibex", session="shop-2026-10").id == int(str(last)) + 1


def test_d10_every_table_is_saved(shop: Location) -> None:
    """The predecessor's recovery dropped three tables: here one is damaged, and all the others stay whole."""
    before = rows_of(shop.primary)
    spoil(shop.primary, "skill_outputs")
    salvage(shop, busy_ms=BUSY_MS)
    assert rows_of(shop.primary) == before
    assert all(before[name] for name in ("error_patterns", "strategies", "deliveries", "package_consumers", "events"))


def test_the_file_as_it_was_is_kept(shop: Location) -> None:
    spoil(shop.primary, "sessions")
    damaged = Path(shop.primary).read_bytes()
    kept = Path(salvage(shop, busy_ms=BUSY_MS)[1])
    assert kept.read_bytes()[PAGE:] == damaged[PAGE:]
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [path.name for path in kept.parent.iterdir()] == ["ctxrank.db"]


def test_a_dry_run_counts_and_leaves_no_trace(shop: Location) -> None:
    spoil(shop.primary, "sessions")
    damaged, names = Path(shop.primary).read_bytes(), {".gitignore", "ctxrank.db", "index.db"}
    tried = salvage(shop, busy_ms=BUSY_MS, is_dry_run=True)
    report, backup = tried
    assert backup == "" and sum(table.rebuilt for table in report.tables) == 2
    assert Path(shop.primary).read_bytes() == damaged
    assert {name for name in os.listdir(shop.folder) if not name.endswith(("-wal", "-shm", ".lock"))} == names


def test_the_index_is_made_anew(shop: Location) -> None:
    spoil(shop.primary, "groups")
    salvage(shop, busy_ms=BUSY_MS)
    with open_store(shop.primary) as store:
        generation = index_of(store).state().generation
        assert search_ids(store, "token refresh")
        assert index_of(store).state().generation != generation
        assert has_no_ghosts(store)


_GOES_ON = """
import sys
from builders import save, search_ids
from ctxrank.indexer.opening import open_store

with open_store(sys.argv[1]) as store:
    print(len(search_ids(store, "token refresh")), flush=True)
    sys.stdin.readline()
    print(save(store, "late.md", "an ibex", session="shop-2026-10").id, *search_ids(store, "ibex"))
"""


def test_who_has_the_store_open_goes_on_with_what_was_saved(shop: Location) -> None:
    """The file is written over and not renamed: otherwise the save of that process would be lost."""
    child = start_child(_GOES_ON, shop.primary, is_asked=True)
    assert child.stdout is not None and int(child.stdout.readline()) > 2
    spoil(shop.primary, "sessions")
    inode = os.stat(shop.primary).st_ino
    salvage(shop, busy_ms=BUSY_MS)
    printed, _ = child.communicate("go on\n", timeout=60)
    number = printed.split()[0]
    assert printed.split() == [number, f"package:{number}"]
    with open_store(shop.primary) as store:
        assert search_ids(store, "ibex") == [f"package:{number}"]
    assert os.stat(shop.primary).st_ino == inode


def test_a_file_that_cannot_be_opened_is_left_alone_while_others_have_it_open(shop: Location) -> None:
    child = start_child(_GOES_ON, shop.primary, is_asked=True)
    assert child.stdout is not None and child.stdout.readline()
    damaged = zeroed(Path(shop.primary).read_bytes(), 0)
    Path(shop.primary).write_bytes(damaged)
    with pytest.raises(LockedError, match="open, and the file cannot be opened"):
        salvage(shop, busy_ms=BUSY_MS)
    assert Path(shop.primary).read_bytes() == damaged
    child.kill()
    child.communicate(timeout=60)
    assert salvage(shop, busy_ms=BUSY_MS)[0].is_complete


_HOLDS = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
"""


def test_a_lock_is_no_damage(shop: Location) -> None:
    child = start_child(_HOLDS, shop.primary, is_asked=True)
    assert child.stdout is not None and child.stdout.readline() == "held\n"
    before = Path(shop.primary).read_bytes()
    with pytest.raises(LockedError):
        salvage(shop, busy_ms=BUSY_MS)
    assert Path(shop.primary).read_bytes() == before
    assert os.listdir(os.path.join(shop.folder, "backups")) == []
    child.communicate("\n", timeout=60)


def test_a_store_of_a_newer_program_is_left_alone(shop: Location) -> None:
    connection = apsw.Connection(shop.primary)
    connection.pragma("user_version", SCHEMA_VERSION + 1)
    connection.close()
    before = Path(shop.primary).read_bytes()
    with pytest.raises(DamagedError, match=f"has schema {SCHEMA_VERSION + 1}"):
        salvage(shop, busy_ms=BUSY_MS)
    assert Path(shop.primary).read_bytes() == before


def test_a_file_that_never_was_a_store_is_left_alone(shop: Location) -> None:
    Path(shop.primary).write_bytes(b"Dear diary, " * 5000)
    with pytest.raises(DamagedError, match="Nothing of a store"):
        salvage(shop, busy_ms=BUSY_MS)
    assert Path(shop.primary).read_bytes() == b"Dear diary, " * 5000


def test_a_store_from_before_the_first_release_is_left_alone(shop: Location) -> None:
    connection = apsw.Connection(shop.primary)
    connection.pragma("user_version", FIRST_SCHEMA - 1)
    connection.close()
    spoil(shop.primary, "sessions")
    before = Path(shop.primary).read_bytes()
    with pytest.raises(DamagedError, match="from before the first release"):
        salvage(shop, busy_ms=BUSY_MS)
    assert Path(shop.primary).read_bytes() == before


def test_an_older_store_is_brought_up_to_date_on_the_way(shop: Location, tmp_path: Path) -> None:
    """To a made-up next schema, which changes a trigger and gives a table a column."""
    drop = "DROP TRIGGER error_signatures_removed;"
    alter = "ALTER TABLE sessions ADD COLUMN season TEXT NOT NULL DEFAULT 'winter'"
    schema = next_schema(tmp_path / "sql", f"{drop} {alter}")
    spoil(shop.primary, "sessions")
    new = str(tmp_path / "new.db")
    assert save_what_can_be_read(shop.primary, new, schema=schema).is_complete
    connection = apsw.Connection(new)
    assert connection.pragma("user_version") == SCHEMA_VERSION + 1
    assert ("shop-2026-10", "winter") in connection.execute("SELECT name, season FROM sessions").fetchall()
    query = "SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND name = 'error_signatures_removed'"
    assert connection.execute(query).fetchall() == []
    connection.close()


def test_a_salvaged_store_has_every_table_index_and_trigger_of_a_new_one(shop: Location, tmp_path: Path) -> None:
    salvage(shop, busy_ms=BUSY_MS)
    query = "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name"
    with open_store(shop.primary) as store, create_store(str(tmp_path / "new")) as new:
        assert store.primary.execute(query).fetchall() == new.primary.execute(query).fetchall()


def test_a_document_that_the_index_cannot_take_is_dropped_and_counted(shop: Location) -> None:
    with open_store(shop.primary) as store, store.write() as change:
        change.connection.execute("UPDATE documents SET kind = 'pasrage' WHERE kind = 'passage' AND id = 2")
    report = salvage(shop, busy_ms=BUSY_MS)[0]
    assert {table.name: table.lost for table in report.tables if table.lost} == {"documents": 1}
    with open_store(shop.primary) as store:
        assert store.catch_up() == 0 and has_no_ghosts(store)


def test_a_row_that_no_reader_could_parse_is_made_harmless(shop: Location) -> None:
    with open_store(shop.primary) as store, store.write() as change:
        change.connection.execute("UPDATE reasoning SET refs = '[}'; UPDATE error_signatures SET terms = '[1'")
    salvage(shop, busy_ms=BUSY_MS)
    with open_store(shop.primary) as store:
        assert store.primary.execute("SELECT DISTINCT refs FROM reasoning").get == "[]"
        assert store.primary.execute("SELECT DISTINCT normaliser_version FROM error_signatures").get == 0


def test_an_emptied_store_is_not_taken_for_a_new_one(shop: Location) -> None:
    Path(shop.primary).write_bytes(b"")
    with pytest.raises(DamagedError, match="is empty, but its index is there"):
        open_store(shop.primary)
    assert os.path.getsize(shop.primary) == 0


def test_what_is_in_the_log_is_saved_too(shop: Location) -> None:
    code = """
import os, sys
from builders import save
from ctxrank.indexer.opening import open_store
save(open_store(sys.argv[1]), "late.md", "an ibex", session="shop-2026-10")
os._exit(0)
"""
    run_child(code, shop.primary)
    assert os.path.getsize(shop.primary + "-wal") > 0
    spoil(shop.primary, "skill_outputs")
    salvage(shop, busy_ms=BUSY_MS)
    with open_store(shop.primary) as store, open_again(store) as other:
        assert len(search_ids(store, "ibex")) == len(search_ids(other, "ibex")) == 1
        with immediate(other.primary):
            pass

"""The store's truth: made private, opened carefully, written all or nothing, and left alone where it is not ours."""

import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest
from builders import make_store, open_again, run_child, save, search_ids

from ctxrank import indexer
from ctxrank.indexer.exceptions import CtxrankError, DamagedError, LockedError, UsageError
from ctxrank.indexer.opening import create_store, open_store
from ctxrank.indexer.records.packages import list_packages
from ctxrank.indexer.store.connection import SCHEMA_VERSION
from ctxrank.indexer.store.documents import Document, put
from ctxrank.indexer.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_everything_in_a_store_is_its_owners_alone(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with make_store(tmp_path) as store:
            save(store, "a.md")
            folder = Path(store.location.folder)
            assert permissions(folder) == 0o700
            names = sorted(path.name for path in folder.iterdir())
            assert {"ctxrank.db", "ctxrank.db-wal", "index.db", "index.db-shm"} <= set(names)
            assert {permissions(path) for path in folder.iterdir()} == {0o600}
    finally:
        os.umask(before)


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="only Linux lists the files that are open")
def test_what_a_statement_may_have_to_take_back_is_in_no_file(store: Store) -> None:
    with store.write() as change:
        for number in range(300):
            put(change, Document("reasoning", number + 1, "one of many", "many words " * 90, 1, 1))
    with store.write() as change:
        change.connection.execute("UPDATE documents SET created_at = 2")
        listed = list(Path("/proc/self/fd").iterdir())
        files = [os.readlink(path) for path in listed if path.is_symlink()]
        assert [file for file in files if file.startswith(store.location.folder) and "(deleted)" in file] == []


def test_git_sees_nothing_of_a_store_but_its_configuration(store: Store) -> None:
    lines = (Path(store.location.folder) / ".gitignore").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == ["*", "!config.yaml"]


def test_a_new_stores_folder_is_on_the_disk_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite sees to the names in the store's folder; its own name is in the folder above."""
    synced: list[int] = []

    def note(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)

    monkeypatch.setattr("os.fsync", note)
    for _ in range(2):
        create_store(str(tmp_path)).close()
    assert synced[0] == tmp_path.stat().st_ino
    assert len(synced) == 2  # the other is the user's note that the store is theirs


def test_making_a_store_again_opens_it(store: Store, tmp_path: Path) -> None:
    save(store, "a.md", "zebra")
    with create_store(str(tmp_path)) as again:
        assert search_ids(again, "zebra") == ["package:1"]


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CtxrankError, match="cannot be made"):
        create_store(str(tmp_path / "file"))


def test_a_write_waits_no_longer_than_it_was_told(tmp_path: Path) -> None:
    with make_store(tmp_path, busy_ms=100) as store, open_again(store) as other:
        save(store, "a.md")
        with other.write():
            start = time.monotonic()
            with pytest.raises(LockedError) as refused:
                save(store, "b.md")
            assert 0.1 <= time.monotonic() - start < 2
        assert (refused.value.retryable, refused.value.exit_code) == (True, 7)
        assert len(list_packages(store.primary)) == 1
        assert save(store, "b.md").id == 2


def test_the_wait_is_set_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXRANK_BUSY_TIMEOUT_MS", "123")
    with create_store(str(tmp_path)) as store:
        assert store.busy_ms == 123
    monkeypatch.setenv("CTXRANK_BUSY_TIMEOUT_MS", "long")
    with pytest.raises(UsageError, match="CTXRANK_BUSY_TIMEOUT_MS is 'long'"):
        open_store(store.location.primary)


def test_readers_go_on_while_the_primary_is_written(store: Store) -> None:
    save(store, "a.md", "zebra")
    with open_again(store) as other, other.write():
        assert search_ids(store, "zebra") == ["package:1"]


def test_a_block_that_raises_writes_nothing(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.write() as change:
        change.next_seq()
        change.connection.execute("INSERT INTO settings (key, value) VALUES ('a', '1')")
        raise ZeroDivisionError
    assert store.primary.execute("SELECT count(*) FROM settings").fetchone() == (0,)
    assert store.primary.execute("SELECT seq FROM store").fetchone() == (0,)


def test_a_commit_that_fails_leaves_no_transaction_open(store: Store) -> None:
    store.primary.set_commit_hook(lambda: True)
    with pytest.raises(CtxrankError):
        save(store, "a.md")
    store.primary.set_commit_hook(None)
    assert not store.primary.in_transaction
    assert save(store, "a.md").id == 1


def foreign(path: Path) -> None:
    """Another program's database, in a journal mode that is not ours."""
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE notes (text); INSERT INTO notes VALUES ('precious')")
    connection.close()


def foreign_of_our_version(path: Path) -> None:
    foreign(path)
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", SCHEMA_VERSION)
    connection.close()


def newer(path: Path) -> None:
    create_store(str(path.parent / "made")).close()
    shutil.move(path.parent / "made" / ".ctxrank" / "ctxrank.db", path)
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", SCHEMA_VERSION + 1)
    connection.close()


def text(path: Path) -> None:
    path.write_text("Dear diary, " * 1000)


def short_text(path: Path) -> None:
    path.write_text("oops")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (foreign, "is an SQLite database, but not a ctxrank store"),
        (foreign_of_our_version, "belongs to another program"),
        (newer, f"has schema {SCHEMA_VERSION + 1}"),
        (text, "is not an SQLite database"),
        (short_text, "is not an SQLite database"),
    ],
)
def test_a_file_that_is_not_ours_is_refused_and_left_as_it_was(
    tmp_path: Path, make: Callable[[Path], None], sentence: str
) -> None:
    path = tmp_path / "ctxrank.db"
    make(path)
    before = path.read_bytes()
    with pytest.raises(DamagedError, match=sentence) as refused:
        open_store(str(path))
    assert refused.value.exit_code == 5
    assert refused.value.hint
    assert path.read_bytes() == before
    assert not (tmp_path / "ctxrank.index.db").exists()


def test_a_truncated_primary_is_damaged_and_left_as_it_was(store: Store) -> None:
    save(store, "a.md", "zebra " * 3000)
    store.close()
    path = Path(store.location.primary)
    path.write_bytes(path.read_bytes()[:8192])
    before = path.read_bytes()
    with pytest.raises(DamagedError), open_store(str(path)) as damaged:
        save(damaged, "b.md")
    assert path.read_bytes() == before


def test_a_primary_that_lost_its_counter_says_so(store: Store) -> None:
    store.primary.execute("DELETE FROM store")
    with pytest.raises(DamagedError, match="counter row"):
        save(store, "a.md")


def test_an_empty_file_that_a_kill_left_becomes_a_store(tmp_path: Path) -> None:
    """The file is made before its schema is: a kill in between must not lock anybody out."""
    (tmp_path / ".ctxrank").mkdir()
    (tmp_path / ".ctxrank" / "ctxrank.db").touch()
    with open_store(start=str(tmp_path)) as store:
        assert save(store, "a.md").id == 1


def test_two_stores_never_share_a_name(tmp_path: Path) -> None:
    names = set[object]()
    for name in "ab":
        with make_store(tmp_path / name) as store:
            names.add(store.primary.execute("SELECT uuid FROM store").fetchone())
    assert len(names) == 2


def test_marks_are_random_whatever_the_caller_has_seeded(tmp_path: Path) -> None:
    import random

    marks = set[object]()
    for name in "ab":
        random.seed(0)
        with make_store(tmp_path / name) as store:
            save(store, "a.md")
            marks.add(store.primary.execute("SELECT history_id FROM history_checkpoints").fetchone())
    assert len(marks) == 2


def test_odd_folder_names_are_no_uris(tmp_path: Path) -> None:
    folder = tmp_path / "100% a?b#c &ü"
    folder.mkdir()
    with make_store(folder) as store:
        save(store, "a.md", "zebra")
        assert search_ids(store, "zebra") == ["package:1"]
    assert sorted(path.name for path in folder.iterdir()) == [".ctxrank", "a.md"]


def test_the_public_names_are_these() -> None:
    assert indexer.__all__ == ["Store", "create_store", "open_store"]


# Root may write everything: the child gives that up. What it needs is imported before: another user may not be able to
# enter the folder of the checkout. Prints what a search and a save come to.
_AS_A_READER = """
import importlib, os, pkgutil, sys
from builders import found, save
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.opening import open_store

warm, cold = sys.argv[1:]
for package in ("ctxrank.indexer", "ctxrank.ranking"):
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        importlib.import_module(module.name)
with open_store(warm) as store:
    found(store, "zebra")
    save(store, "b.md", "walrus")
sys.meta_path.clear()
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
with open_store(cold) as store:
    answer = found(store, "zebra")
    print(*[hit.id for hit in answer.hits], answer.outcome, answer.engine)
    try:
        save(store, "a.md", None)
    except CtxrankError as error:
        print(error.exit_code, error.message)
"""


@pytest.mark.slow
@pytest.mark.parametrize("has_index", [True, False])
def test_a_store_that_cannot_be_written_still_answers(for_anyone: Path, tmp_path: Path, has_index: bool) -> None:
    with make_store(for_anyone) as store, make_store(tmp_path) as warm:
        save(store, "a.md", "zebra")
        save(warm, "a.md", "zebra")
    if not has_index:
        os.unlink(store.location.index_file)
    folder = Path(store.location.folder)
    for path, mode in ((folder, 0o555), *((file, 0o444) for file in folder.iterdir())):
        path.chmod(mode)
    found_, refused = run_child(_AS_A_READER, warm.location.primary, store.location.primary).splitlines()
    assert found_ == ("package:1 matched fts5" if has_index else "package:1 degraded heuristic")
    assert refused == f"6 {store.location.primary} cannot be written."


def test_no_store_is_made_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".ctxrank").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CtxrankError, match="is a link: no store is made through it"):
        create_store(str(tmp_path))
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_primary_of_no_bytes_beside_an_index_was_cut_off(tmp_path: Path) -> None:
    with make_store(tmp_path) as opened:
        save(opened, "a.md", "heron\n")
        assert search_ids(opened, "heron")
        location = opened.location
    for suffix in ("-wal", "-shm"):
        Path(location.primary + suffix).unlink(missing_ok=True)
    os.truncate(location.primary, 0)
    with pytest.raises(DamagedError, match="is empty, but its index is there"):
        open_store(db=location.primary)
    assert os.path.getsize(location.primary) == 0


@pytest.mark.parametrize(
    "sql", ["CREATE VIEW seen AS SELECT 1", "CREATE TRIGGER logger AFTER INSERT ON labels BEGIN SELECT 1; END"]
)
def test_what_runs_in_a_store_and_is_not_ours_is_named(tmp_path: Path, sql: str) -> None:
    with make_store(tmp_path) as opened:
        opened.primary.execute(sql)
    with pytest.raises(DamagedError, match=r"holds the (view 'seen'|trigger 'logger'), which ctxrank did not make"):
        open_store(db=str(tmp_path / ".ctxrank" / "ctxrank.db"))

"""Damage on purpose: whatever is done to the index, a call or two later it answers rightly again."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest
from builders import found, make_store, open_again, run_child, save, search_ids, start_child
from damage import PAGE
from index_contents import has_no_ghosts, index_contents

from ctxrank.indexer.engine import IndexHealth
from ctxrank.indexer.fulltext.catch_up import rebuild
from ctxrank.indexer.fulltext.fts5_engine import fts5_of, index_of
from ctxrank.indexer.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Three packages, each about an animal of its own."""
    with make_store(tmp_path) as opened:
        for animal in ("zebra", "walrus", "heron"):
            save(
                opened,
                f"{animal}.md",
                f"# About\n\nThe {animal} is a finding of the {animal}keeper.\n",
                summary=f"On the {animal}.",
            )
        yield opened


def index_files(store: Store) -> list[Path]:
    """The index's three files, as far as they are there."""
    paths = [Path(store.location.index_file + suffix) for suffix in ("", "-wal", "-shm")]
    return [path for path in paths if path.exists()]


def raw(store: Store, *statements: str) -> None:
    """Run SQL on the index as somebody would who knows nothing of us."""
    connection = apsw.Connection(store.location.index_file)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    for statement in statements:
        connection.execute(statement)
    connection.pragma("wal_checkpoint", "TRUNCATE")
    connection.close()


def is_well(store: Store) -> bool:
    """Whether the right packages are found now, by the index, within two calls."""
    first = search_ids(store, "walrus")  # even the call that meets the damage answers, perhaps without the index
    second = found(store, "walrus")
    first_part = search_ids(store, "lruskeep")  # asks the trigrams of terms, which no whole word needs
    second_part = found(store, "lruskeep")
    return (
        first == first_part == ["package:2"]
        and [hit.id for hit in second.hits] == ["package:2"]
        and (second.engine, second.outcome) == ("fts5", "matched")
        and search_ids(store, "zebra heron") in (["package:1", "package:3"], ["package:3", "package:1"])
        and [hit.id for hit in second_part.hits] == ["package:2"]
        and (second_part.engine, second_part.outcome) == ("fts5", "matched")
        and has_no_ghosts(store)
    )


def garbage(store: Store) -> None:
    Path(store.location.index_file).write_bytes(b"not a database at all " * 4000)


def garbage_after_the_header(store: Store) -> None:
    path = Path(store.location.index_file)
    raw(store)
    data = path.read_bytes()
    path.write_bytes(data[:PAGE] + b"\xa5" * (len(data) - PAGE))


def truncated_to_nothing(store: Store) -> None:
    raw(store)
    Path(store.location.index_file).write_bytes(b"")


def truncated_by_half(store: Store) -> None:
    raw(store)
    path = Path(store.location.index_file)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def zeroed_structure(store: Store) -> None:
    raw(store, "UPDATE fts_data SET block = zeroblob(length(block)) WHERE id = 10")


def zeroed_leaves(store: Store) -> None:
    raw(store, "UPDATE fts_data SET block = zeroblob(length(block)) WHERE id > 10")


def bad_config(store: Store) -> None:
    raw(store, "UPDATE fts_config SET v = 99 WHERE k = 'version'")


def no_state_row(store: Store) -> None:
    raw(store, "DELETE FROM state")


def no_forward_list(store: Store) -> None:
    raw(store, "DROP TABLE forward")


def no_trigrams(store: Store) -> None:
    raw(store, "DROP TABLE term_trigrams")


def zeroed_trigrams(store: Store) -> None:
    raw(store, "UPDATE term_trigrams_data SET block = zeroblob(length(block))")


def zeroed_leaves_of_trigrams(store: Store) -> None:
    raw(store, "UPDATE term_trigrams_data SET block = zeroblob(length(block)) WHERE id > 10")


def another_fingerprint(store: Store) -> None:
    raw(store, "UPDATE state SET fingerprint = 'of an older program'")


def an_older_layout(store: Store) -> None:
    """As the last program before the first release left it."""
    raw(store, "ALTER TABLE state RENAME COLUMN history_id TO mark")
    raw(store, "ALTER TABLE terms RENAME COLUMN min_length_tf_1 TO shortest_1")
    raw(store, "UPDATE state SET format = format - 1")


def a_layout_without_generation(store: Store) -> None:
    raw(store, "ALTER TABLE state DROP COLUMN generation")


def deleted(store: Store) -> None:
    for path in index_files(store):
        path.unlink()


def deleted_alone(store: Store) -> None:
    Path(store.location.index_file).unlink()


def deleted_wal(store: Store) -> None:
    for path in index_files(store)[1:]:
        path.unlink()


DAMAGES = [
    garbage, garbage_after_the_header, truncated_to_nothing, truncated_by_half, zeroed_structure, zeroed_leaves,
    no_trigrams, zeroed_trigrams, zeroed_leaves_of_trigrams, bad_config, no_state_row, no_forward_list,
    another_fingerprint, an_older_layout,
    a_layout_without_generation, deleted, deleted_alone, deleted_wal,
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_heals_by_itself(store: Store, damage: Callable[[Store], None]) -> None:
    location = store.location
    store.close()
    damage(store)
    with make_store(Path(location.root)) as next_call:
        assert is_well(next_call)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_store_that_was_open_all_the_while_recovers_too(store: Store, damage: Callable[[Store], None]) -> None:
    with open_again(store) as other:
        assert is_well(other)
        damage(store)
        assert is_well(store)
        assert is_well(other)
        save(store, "late.md", "an ibex")
        assert search_ids(other, "ibex") == ["package:4"]
    assert has_no_ghosts(store)


@pytest.mark.parametrize("damage", [zeroed_structure, garbage, bad_config, deleted_alone])
def test_a_save_on_a_damaged_index_succeeds(store: Store, damage: Callable[[Store], None]) -> None:
    damage(store)
    save(store, "late.md", "an ibex")
    assert search_ids(store, "ibex") == ["package:4"]
    assert is_well(store)


def test_any_flipped_page_heals(tmp_path: Path) -> None:
    """One page after the other is turned over, below the noses of two open stores."""
    with make_store(tmp_path) as store:
        for animal in ("zebra", "walrus", "heron"):
            save(
                store, f"{animal}.md", f"The {animal} is a finding of the {animal}keeper.", summary=f"On the {animal}."
            )
        raw(store)
    path = Path(store.location.index_file)
    whole = path.read_bytes()
    for page in range(0, len(whole), PAGE):
        flipped = bytes(byte ^ 0xFF for byte in whole[page : page + PAGE])
        path.write_bytes(whole[:page] + flipped + whole[page + PAGE :])
        with make_store(tmp_path) as store:
            assert is_well(store), f"page {page // PAGE + 1}"
        for file in index_files(store):
            file.unlink()


@pytest.mark.slow
def test_damage_that_only_one_query_meets_heals_as_well(tmp_path: Path) -> None:
    """The sentinel is sound, and so is every check on the way in: the query's own error has to be believed."""
    with make_store(tmp_path) as store:
        for number in range(60):
            save(store, f"f{number}.md", " ".join(f"filler{number}n{word}" for word in range(60)) + " aardvark")
        index_of(store).connection.execute("INSERT INTO main.fts (fts) VALUES ('optimize')")
        last = "(SELECT max(id) FROM fts_data)"
        raw(store, f"UPDATE fts_data SET block = zeroblob(length(block)) WHERE id > 10 AND id < {last}")
        fts5_of(store).reopen_index()
        assert index_of(store).is_sound()
        assert len(search_ids(store, "aardvark", limit=100)) == 60
        assert found(store, "aardvark").engine == "fts5"
        assert has_no_ghosts(store)


def test_an_index_of_another_store_is_rebuilt(store: Store, tmp_path: Path) -> None:
    with make_store(tmp_path / "other") as other:
        save(other, "ghost.md", "the walrus of another store")
        raw(other)
    search_ids(store, "zebra")
    for file in index_files(store):
        file.unlink()
    shutil.copy(other.location.index_file, store.location.index_file)
    assert is_well(store)


def test_an_index_of_a_newer_program_is_left_alone(store: Store) -> None:
    store.close()
    raw(store, "UPDATE state SET format = 99")
    before = Path(store.location.index_file).read_bytes()
    with make_store(Path(store.location.root)) as older:
        answer = found(older, "walrus")
        assert ([hit.id for hit in answer.hits], answer.outcome) == (["package:2"], "degraded")
        assert answer.reason == "the index was made by a newer ctxrank"
        save(older, "late.md", "an ibex")
        assert search_ids(older, "ibex") == ["package:4"]
    assert Path(store.location.index_file).read_bytes() == before


def test_a_restored_primary_with_another_history_leaves_no_ghosts(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        save(store, "a.md", "zebra")
    backup = tmp_path / "backup.db"
    shutil.copy(store.location.primary, backup)
    with make_store(tmp_path) as store:
        save(store, "b.md", "a ghost")
        save(store, "c.md", "a ghost, too")
    shutil.copy(backup, store.location.primary)
    with make_store(tmp_path) as store:
        for number in range(6):  # the feed passes the point that the index had reached before
            save(store, f"d{number}.md", "a walrus")
        assert search_ids(store, "ghost") == []
        assert len(search_ids(store, "walrus")) == 6
        assert has_no_ghosts(store)


def test_a_restored_primary_that_is_behind_its_index_leaves_no_ghosts(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        save(store, "a.md", "zebra")
    backup = tmp_path / "backup.db"
    shutil.copy(store.location.primary, backup)
    with make_store(tmp_path) as store:
        save(store, "b.md", "a ghost")
    shutil.copy(backup, store.location.primary)
    with make_store(tmp_path) as store:
        assert search_ids(store, "ghost") == []
        assert search_ids(store, "zebra") == ["package:1"]
        assert has_no_ghosts(store)


def test_a_large_index_is_taken_away_and_not_emptied(store: Store) -> None:
    with open_again(store) as other:
        assert is_well(other)
        another_fingerprint(store)
        os.truncate(store.location.index_file, 9 * 2**20)
        before = os.stat(store.location.index_file).st_ino
        with open_again(store) as late:
            assert is_well(late)
        assert os.stat(store.location.index_file).st_ino != before
        assert is_well(other)


def test_only_one_process_heals_at_a_time(store: Store) -> None:
    with open_again(store) as other:
        zeroed_structure(store)
        assert sorted({*search_ids(store, "walrus"), *search_ids(other, "walrus")}) == ["package:2"]
        generation = index_of(store).state().generation
        assert is_well(other)
        assert index_of(other).state().generation == generation


_HEALS = """
import sys
from pathlib import Path
from builders import make_store, search_ids

with make_store(Path(sys.argv[1])) as store:
    print(*[search_ids(store, "walrus") == ["package:2"] for _ in range(5)])
"""


@pytest.mark.slow
def test_processes_that_meet_the_same_damage_all_answer(store: Store) -> None:
    zeroed_structure(store)
    children = [start_child(_HEALS, store.location.root) for _ in range(4)]
    for child in children:
        assert child.communicate(timeout=60)[0].split() == ["True"] * 5
    assert is_well(store)


def test_a_query_that_the_index_refuses_does_not_cost_the_index(store: Store) -> None:
    generation = index_of(store).state().generation
    try:
        index_of(store).connection.execute("SELECT 1 FROM main.fts WHERE fts MATCH 'NOT AND'").fetchall()
    except apsw.Error as error:
        assert fts5_of(store).recover(error, 50).health == IndexHealth.REFUSED
    assert index_of(store).state().generation == generation
    assert is_well(store)


def test_a_rebuild_gives_the_same_index(store: Store) -> None:
    before = index_contents(store)
    assert rebuild(fts5_of(store)) == 0
    assert index_contents(store) == before


def test_a_rebuild_heals_what_nobody_has_noticed_yet(store: Store) -> None:
    bad_config(store)
    assert rebuild(fts5_of(store)) == 0
    assert is_well(store)


_WITHOUT_FTS5 = """
import sys
import apsw
from builders import found, save
from ctxrank.indexer import create_store
from ctxrank.ranking import AssembleRequest, assemble

apsw.connection_hooks.append(lambda connection: connection.drop_modules([]))
with create_store(sys.argv[1]) as store:
    print(save(store, "ibex.md", "An ibex. The walrus met it.").id)
    answer = found(store, "ibex")
    print(*[hit.id for hit in answer.hits], answer.engine, answer.outcome, answer.reason, sep="|")
    block = assemble(store, AssembleRequest("S", "developer", "G", task="the ibex"))
    print(block.engine, block.outcome, "ibex.md" in block.text, sep="|")
"""


def test_everything_answers_without_fts5_and_the_index_catches_up_when_it_is_back(store: Store) -> None:
    printed = run_child(_WITHOUT_FTS5, store.location.root).splitlines()
    assert printed[0] == "4"
    assert printed[1] == "package:4|heuristic|degraded|this SQLite has no FTS5"
    assert printed[2] == "heuristic|degraded|True"
    assert search_ids(store, "ibex") == ["package:4"]
    assert has_no_ghosts(store)


def test_a_store_that_was_made_without_fts5_gets_its_index_later(tmp_path: Path) -> None:
    assert run_child(_WITHOUT_FTS5, tmp_path).splitlines()[0] == "1"
    with make_store(tmp_path) as store:
        answer = found(store, "ibex")
        assert ([hit.id for hit in answer.hits], answer.engine) == (["package:1"], "fts5")


def test_a_rebuild_leaves_no_lost_page_behind(store: Store) -> None:
    """Pages that no list knows are seen by no search; what is emptied in place would keep them."""
    raw(store, "CREATE TABLE main.room (text)", f"INSERT INTO room VALUES (zeroblob({40 * PAGE}))", "DROP TABLE room")
    fts5_of(store).close()
    data = bytearray(Path(store.location.index_file).read_bytes())
    assert int.from_bytes(data[36:40], "big") > 20
    data[36:40] = (3).to_bytes(4, "big")  # how many pages are free, by the header
    Path(store.location.index_file).write_bytes(data)
    assert not index_of(store).is_file_sound()
    rebuild(fts5_of(store))
    assert index_of(store).is_file_sound() and is_well(store)

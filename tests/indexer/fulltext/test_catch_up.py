"""The follower: bounded, never in a writer's way, and always at the index that a rebuild would give."""

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest
from builders import found, hold_the_index, make_store, open_again, save, search_ids, write_file
from hypothesis import given, settings
from hypothesis import strategies as st
from index_contents import has_no_ghosts, index_contents

from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.fulltext import catch_up
from ctxrank.indexer.fulltext.catch_up import IndexUpdater, rebuild
from ctxrank.indexer.fulltext.fts5_engine import fts5_of, index_of
from ctxrank.indexer.fulltext.index_file import Index
from ctxrank.indexer.records.packages import supersede
from ctxrank.indexer.store import change_log
from ctxrank.indexer.store.store import CATCH_UP_AFTER_WRITE_MS, Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


def test_an_index_is_current_once_it_has_every_change(store: Store) -> None:
    save(store, "a.md", "zebra")
    assert search_ids(store, "zebra") and index_of(store).is_current(store.primary)
    with store.write() as change:
        change.connection.execute("UPDATE store SET seq = seq + 1")
    assert not index_of(store).is_current(store.primary)


def test_progress_is_told_around_each_batch_from_none_to_all(store: Store) -> None:
    holder = hold_the_index(store) if index_of(store) else None
    assert holder is not None
    for number in range(3):
        save(store, f"{number}.md", "zebra")
    holder.close()
    engine = fts5_of(store)
    left = catch_up.lag(engine, index_of(store))
    told: list[tuple[int, int]] = []
    assert left and catch_up.catch_up(engine, progress=lambda done, total: told.append((done, total))) == 0
    assert (told[0], told[-1]) == ((0, left), (left, left))


def test_a_save_does_not_wait_for_the_index(tmp_path: Path) -> None:
    with make_store(tmp_path, busy_ms=30_000) as store:
        for number in range(10):
            save(store, f"{number}.md", "zebra")
        holder = hold_the_index(store)
        start = time.monotonic()
        save(store, "late.md", "zebra and walrus")
        assert time.monotonic() - start < 2 * CATCH_UP_AFTER_WRITE_MS / 1000
        holder.close()


def test_the_title_of_a_file_counts_in_no_statistics(store: Store) -> None:
    page = write_file(store, "note.md", "# Zebra\n\nzebras and walruses\n")
    write_file(store, "other.md", "# Walrus\n\nzebras and walruses\n")
    index_artifacts(store)
    store.catch_up()
    state = index_of(store).state()
    assert (state.documents, state.texts) == (4, 2)
    assert state.average_length * 2 == state.total_length
    assert index_contents(store).titles == {"zebra": 1, "walru": 1, "/note": 1, "/other": 1, "/md": 2}
    with fts5_of(store).snapshot():
        assert [one.df for one in fts5_of(store).look_up_any(("zebra", "walru"))] == [1, 2]
    page.unlink()
    index_artifacts(store)
    store.catch_up()
    state = index_of(store).state()
    assert (state.documents, state.texts) == (2, 1)
    rebuilt = index_contents(store)
    rebuild(fts5_of(store))
    assert (index_contents(store), index_of(store).state()[2:5]) == (rebuilt, state[2:5])


def test_a_search_beside_a_held_index_says_how_much_it_lacks(store: Store) -> None:
    for number in range(10):
        save(store, f"{number}.md", "zebra")
    holder = hold_the_index(store)
    save(store, "late.md", "zebra and walrus")
    answer = found(store, "zebra", limit=20)
    assert (answer.outcome, answer.engine, len(answer.hits)) == ("stale", "fts5", 10)
    assert answer.stale == 2  # the package and its one passage
    holder.close()
    assert found(store, "walrus").outcome == "matched"


def test_an_index_that_lacks_most_of_the_feed_gives_way_to_the_heuristic(store: Store) -> None:
    save(store, "a.md", "zebra")
    holder = hold_the_index(store)
    save(store, "b.md", "walrus")
    answer = found(store, "walrus")
    assert ([hit.id for hit in answer.hits], answer.outcome) == (["package:2"], "degraded")
    assert answer.reason == "the index is being rebuilt"
    holder.close()


def test_the_first_save_of_a_store_does_not_wait_for_a_held_index(tmp_path: Path) -> None:
    with make_store(tmp_path, busy_ms=30_000) as store:
        connection = apsw.Connection(store.location.index_file)
        connection.pragma("journal_mode", "wal")
        connection.execute("BEGIN IMMEDIATE")
        start = time.monotonic()
        save(store, "a.md", "zebra")
        assert search_ids(store, "zebra") == ["package:1"]
        assert time.monotonic() - start < 5
        connection.close()
        assert found(store, "zebra").engine == "fts5"


@pytest.mark.slow
def test_a_bounded_follow_does_a_part_and_says_what_is_left(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        # 400 sections and the package itself, none of which fits into a bound of nothing but the first batch.
        text = "\n".join(f"# Part {number}\n\n{'zebra ' * 300}\n" for number in range(400))
        holder = hold_the_index(store) if index_of(store) else None
        save(store, "long.md", text)
        assert holder is not None
        holder.close()
        left = [store.catch_up(0) for _ in range(6)]
        assert left == sorted(left, reverse=True)
        assert left[0] > 0 == left[-1]
        assert has_no_ghosts(store)


def test_terms_keep_their_ids_apart_when_another_process_rebuilds_between_two_batches(store: Store) -> None:
    """The updater remembers the ids of terms; those of an index that was emptied in between are others."""
    save(store, "0.md", "zebra")
    holder = hold_the_index(store)
    save(store, "1.md", "walrus heron")
    holder.close()
    updater = IndexUpdater(index_of(store))
    updater.run(None)
    with open_again(store) as other:
        save(other, "0.md", "an ibex and a gannet come first")
        rebuild(fts5_of(other))
        holder = hold_the_index(store)
        save(other, "more.md", "walrus zebra, again")
        holder.close()
    updater.run(None)
    contents = index_contents(store)
    rebuild(fts5_of(store))
    assert index_contents(store) == contents


def test_an_updater_that_is_kept_takes_in_what_others_wrote_and_is_dropped_when_it_fails(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = dict[Index, IndexUpdater]()
    engine = fts5_of(store)
    for number, words in enumerate(["zebra", "walrus heron", "zebra ibex", "gannet walrus"]):
        holder = hold_the_index(store)
        save(store, f"{number}.md", words)
        holder.close()
        if number == 1:  # another process comes first
            with open_again(store) as other:
                other.catch_up()
        if number == 2:  # ids of terms are given, and taken back with the transaction
            with monkeypatch.context() as patch:
                patch.setattr(catch_up, "history_id", _fails_in_the_end())
                assert catch_up.catch_up(engine, kept=kept) > 0
        assert catch_up.catch_up(engine, kept=kept) == 0
    contents = index_contents(store)
    rebuild(engine)
    assert index_contents(store) == contents


def _fails_in_the_end() -> Callable[..., int]:
    calls: list[int] = []

    def fails(connection: apsw.Connection, schema: str, seq: int) -> int:
        calls.append(seq)
        if len(calls) == 2:
            raise apsw.BusyError("as if another process had the lock")
        return change_log.history_id(connection, schema, seq)

    return fails


def test_a_batch_that_is_cut_by_its_text_leaves_nothing_out(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(7):
        save(store, f"{number}.md", f"finding {number} of the retry queue")
    whole = index_contents(store)
    monkeypatch.setattr(change_log, "_BATCH_CHARS", 40)
    assert rebuild(fts5_of(store)) == 0
    assert index_contents(store) == whole


def test_a_long_run_leaves_one_segment_and_everything_in_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(12):
        save(store, f"{number}.md", f"finding {number} of the retry queue")
    whole = index_contents(store)
    monkeypatch.setattr(catch_up, "_BATCH_DOCUMENTS", 3)
    monkeypatch.setattr(catch_up, "_MERGED_AFTER_DOCUMENTS", 5)
    assert rebuild(fts5_of(store)) == 0
    segments = "SELECT count(DISTINCT segid) FROM main.fts_idx"
    assert (index_contents(store), index_of(store).connection.execute(segments).get) == (whole, 1)


def test_terms_beyond_ascii_are_counted_as_fts5_has_them(store: Store) -> None:
    save(store, "a.md", "Größe naïve café — 日本語 x²y ﬁne İstanbul CAFÉ cafe\u0301 a\u0301")
    contents = index_contents(store)
    counted = {term for _, _, counts in contents.forward.values() for term in counts}
    listed = {(column, term) for term, _, column, _ in contents.instances if column != "scope"}
    assert counted == {f"/{term}" if column == "path" else term for column, term in listed}


def test_rows_that_left_no_trace_do_not_hold_the_index_back(store: Store) -> None:
    """A change whose row changed again, or that was pruned, is nothing to wait for."""
    save(store, "a.md", "zebra")
    with store.write() as change:
        change.next_seq()
    assert store.catch_up() == 0
    assert store.primary.execute("SELECT seq FROM store").fetchone() == (index_of(store).state().applied_seq,)


def test_a_replaced_index_file_is_noticed(store: Store) -> None:
    save(store, "a.md", "zebra")
    assert not index_of(store).is_replaced
    Path(store.location.index_file).rename(store.location.index_file + ".old")
    assert index_of(store).is_replaced
    assert search_ids(store, "zebra") == ["package:1"]
    assert not index_of(store).is_replaced


_NAMES = st.sampled_from(["a.md", "b.md", "c/d.md"])
_TEXTS = st.lists(st.sampled_from(["zebra", "walrus", "getUserById", "漢字", "heron\n\n# Part\n\n"]), max_size=6)
_STEPS = st.one_of(
    st.tuples(st.just("save"), _NAMES, _TEXTS.map(" ".join), st.sampled_from(["S", "T"])),
    st.tuples(st.just("supersede"), st.integers(1, 6), st.integers(1, 6)),
    st.tuples(st.just("write and index"), _NAMES, _TEXTS.map(" ".join)),
    st.tuples(st.just("remove and index"), _NAMES),
    st.tuples(
        st.just("follow a little"),
    ),
)


@settings(max_examples=25, database=None)
@given(st.lists(_STEPS, min_size=1, max_size=7))
def test_the_index_after_any_sequence_of_changes_is_the_one_that_a_rebuild_gives(
    steps: list[tuple[object, ...]],
) -> None:
    with tempfile.TemporaryDirectory() as folder, make_store(Path(folder)) as store:
        for step in steps:
            take(store, *step)
        store.catch_up()
        followed = index_contents(store)
        assert has_no_ghosts(store)
        assert rebuild(fts5_of(store)) == 0
        assert index_contents(store) == followed


def take(store: Store, kind: object, *values: object) -> None:
    """Do one step of a sequence; a step that is refused changes nothing."""
    if kind == "save":
        path, text, session = map(str, values)
        save(store, path, text, session=session)
    elif kind == "supersede":
        old, new = (int(str(value)) for value in values)
        with contextlib.suppress(UsageError, NotFoundError):
            supersede(store, old, new)
    elif kind == "follow a little":
        store.catch_up(0)
    else:
        if len(values) == 2:
            write_file(store, str(values[0]), str(values[1]))
        else:
            (Path(store.location.root) / str(values[0])).unlink(missing_ok=True)
        index_artifacts(store)

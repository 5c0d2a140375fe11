"""What FTS5 answers of a small store, question by question; and what of an index is not believed."""

import os
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from builders import make_store, open_again
from tables import each_row

from ctxrank.indexer.engine import (
    DEFINITION,
    HEADING,
    PATH,
    AllOf,
    AnyClause,
    Clause,
    FieldWeights,
    IndexHealth,
    PhraseClause,
    RowQuery,
    TermClause,
)
from ctxrank.indexer.fulltext import index_file
from ctxrank.indexer.fulltext.bulk_catch_up import LockFile
from ctxrank.indexer.fulltext.fts5_engine import Fts5Engine, fts5_of
from ctxrank.indexer.fulltext.health import heal
from ctxrank.indexer.fulltext.index_file import PRIMARY, IndexState, is_title
from ctxrank.indexer.store.documents import Document, put, touch
from ctxrank.indexer.store.facets import Scope, document_id_of
from ctxrank.indexer.store.store import Store

WEIGHTS = FieldWeights(title=2.0, body=1.0, path=1.0, identifiers=1.0)
_FILE = Document("artifact", 1, "plan.md", "", 50, 1, "docs/plan.md")
_RECORD = Document("reasoning", 1, "Lock", "the zebra waits for a lock", 10, 1, session_id=7, agent="qa", type="x")
# By their ids from 1 on: a record, another one, a file with two passages, a package with one.
DOCUMENTS = (
    _RECORD,
    _RECORD._replace(
        number=2, title="Waiting", body="no zebra here", created_at=20, session_id=8, group_id=3, agent="pm"
    ),
    _FILE,
    Document("passage", None, "Plan > Zebra", "zebra zebra crossing", 50, 1, "docs/plan.md", 3, start_line=9),
    Document("passage", None, "Plan > Otter", "the otter and the walLock", 50, 1, "docs/plan.md", 3, start_line=1),
    Document("package", 1, "a.py", "summary", 60, 1, "src/a.py", session_id=7, priority="high", type="research"),
    Document(
        "passage",
        None,
        "",
        "def openStore():\n    return zebra",
        60,
        1,
        "src/a.py",
        6,
        7,
        start_line=1,
        priority="high",
    ),
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fts5Engine]:
    with make_store(tmp_path_factory.mktemp("engine")) as store:
        with store.write() as change:
            assert [put(change, document) for document in DOCUMENTS] == [*range(1, len(DOCUMENTS) + 1)]
        store.catch_up()
        yield fts5_of(store)


def term(word: str, column: str = "") -> TermClause:
    return TermClause((word,), (word,), column=column)


ZEBRA, LOCK, OTTER = term("zebra"), term("lock"), term("otter")


def ids(engine: Fts5Engine, query: RowQuery, most: int | None = None) -> list[int]:
    with engine.snapshot():
        rows = engine.rows(query, most)
        assert engine.row_ids(query, most) == [row[0] for row in rows]
        assert sorted(row[0] for row in engine.rows_of([row[0] for row in rows], query)) == [row[0] for row in rows]
        return [document_id_of(row[0]) for row in rows]


@each_row(
    "clause, found",
    [
        (ZEBRA, [4, 1, 7, 2]),
        (LOCK, [5, 1]),
        (term("lock", "title"), [1]),
        (term("plan", "path"), [3, 4, 5]),
        (TermClause(("zebra", "otter"), ("zebra", "otter")), [4, 5, 1, 7, 2]),
        (TermClause((), (), prefix="ott"), [5]),
        (AnyClause((OTTER, term("lock", "title"))), [5, 1]),
        (AllOf((ZEBRA, LOCK)), [1]),
        (AllOf((ZEBRA, OTTER)), []),
        (AllOf((AnyClause((OTTER, ZEBRA)), LOCK)), [5, 1]),
        (PhraseClause("zebra waits"), [1]),
        (PhraseClause("waits zebra"), []),
        (PhraseClause("zebra cros"), []),
        (PhraseClause("zebra cros", is_prefix=True), [4]),
        (PhraseClause("zebra", "title"), [4]),
        (term("s7"), []),
        (term("c1"), []),
        (PhraseClause('a "quoted" word'), []),
    ],
)
def test_a_clause_finds_rows_by_ascending_number(engine: Fts5Engine, clause: Clause, found: list[int]) -> None:
    """Files are of no session, so their rows come first."""
    assert ids(engine, RowQuery(clause)) == found


@each_row(
    "scope, found",
    [
        (Scope(), [4, 1, 7, 2]),
        (Scope(session_ids=(7,)), [1, 7]),
        (Scope(session_ids=(7, 8)), [1, 7, 2]),
        (Scope(session_ids=(9,)), []),
        (Scope(group_ids=(3,)), [2]),
        (Scope(agents=("qa",)), [1]),
        (Scope(agents=("qa", "pm")), [1, 2]),
        (Scope(agents=("nobody",)), []),
        (Scope(types=("x",)), [1, 2]),
        (Scope(priorities=("high",)), [7]),
        (Scope(kinds=("reasoning",)), [1, 2]),
        (Scope(kinds=("passage",)), [4, 7]),
        (Scope(kinds=("artifact",)), [4]),
        (Scope(kinds=("package",)), [7]),
        (Scope(kinds=("package", "artifact")), [4, 7]),
        (Scope(kinds=("reasoning", "package")), [1, 7, 2]),
        (Scope(since=20), [4, 7, 2]),
        (Scope(until=20), [1, 2]),
        (Scope(paths=("docs/*",)), [4]),
        (Scope(document_ids=frozenset({3, 1})), [4, 1]),
        (Scope(document_ids=frozenset()), []),
        (Scope(session_ids=(7,), kinds=("reasoning",)), [1]),
        (Scope(without=(Scope(agents=("qa",)),)), [4, 7, 2]),
        (Scope(is_current=True), [4, 1, 7, 2]),
    ],
)
def test_a_scope_is_part_of_the_question(engine: Fts5Engine, scope: Scope, found: list[int]) -> None:
    assert ids(engine, RowQuery(ZEBRA, scope)) == found
    for most in (0, 1, 2):
        assert ids(engine, RowQuery(ZEBRA, scope), most) == found[:most]


@each_row(
    "required, excluded, found",
    [
        ((ZEBRA, OTTER), (), [4, 5]),
        ((ZEBRA,), (), [4, 5, 1, 7, 2]),
        ((), (OTTER,), [1, 7, 2]),
        ((), (LOCK, term("no")), [7]),
        ((ZEBRA, LOCK), (OTTER,), [1]),
        ((ZEBRA, LOCK), (), [4, 5, 1]),
        ((), (ZEBRA,), []),
    ],
)
def test_what_is_required_and_excluded_is_so_of_the_whole_document(
    engine: Fts5Engine, required: tuple[Clause, ...], excluded: tuple[Clause, ...], found: list[int]
) -> None:
    clause = AnyClause((ZEBRA, OTTER))
    assert ids(engine, RowQuery(clause, required=required, excluded=excluded)) == found


def test_the_best_rows_and_what_each_holds(engine: Fts5Engine) -> None:
    with engine.snapshot() as statistics:
        assert (statistics.documents, statistics.applied_seq) == (6, len(DOCUMENTS))
        best = engine.best_rows(RowQuery(ZEBRA), WEIGHTS, 2)
        assert len(best) == 2 and 4 in {document_id_of(row[0]) for row in best}
        zebra, lock = engine.look_up("zebra"), engine.look_up("lock")
        assert zebra is not None and lock is not None and (zebra.df, lock.df) == (4, 2)
        rows = engine.rows(RowQuery(ZEBRA))
        held = engine.frequencies(rows, [zebra.id, lock.id], WEIGHTS)
        counts = {document_id_of(row[0]): dict(one) for row, one in zip(rows, held, strict=True)}
        assert counts == {4: {zebra.id: 4.0}, 1: {zebra.id: 1.0, lock.id: 3.0}, 7: {zebra.id: 1.0}, 2: {zebra.id: 1.0}}
        with pytest.raises(apsw.CorruptError):
            engine.frequencies([(1, 1, 1, b"nothing of it")], [zebra.id], WEIGHTS)


def test_the_passages_of_a_document_come_by_their_lines_and_rows_lead_to_texts(engine: Fts5Engine) -> None:
    with engine.snapshot():
        assert [document_id_of(row[0]) for row in engine.passages_of([3, 6])] == [5, 4, 7]
        (row,) = engine.rows(RowQuery(OTTER))
        assert row[:3] == (5, 3, row[2])
        text = engine.texts([row[0], 999], 9)
        assert text == {5: (row[2], "Plan > Otter", "the otter", "docs/plan.md", "wal lock")}
        assert [one.id for one in engine.signals([1, 999])] == [1] and engine.parents([1])[1].title == "Lock"
        assert engine.passages([4])[4].start_line == 9
        assert engine.feature_bounds(["high", "low"]) == (True, ("high",))


def test_the_primary_database_is_attached_for_the_first_query_that_sees_both(engine: Fts5Engine) -> None:
    engine.reopen_index()  # it was attached as the index was made
    with engine.snapshot():
        rows = engine.rows(RowQuery(OTTER))
        assert engine.texts([row[0] for row in rows], 9) and engine.signals([1]) and engine.parents([1])
        assert PRIMARY not in engine.index().connection.db_names()
        assert engine.passages_of([3, 6]) and PRIMARY in engine.index().connection.db_names()


def test_terms_are_looked_up_by_their_field_whether_or_not_they_were_expected(engine: Fts5Engine) -> None:
    asked = (
        ("zebra", ""),
        ("plan", PATH),
        ("otter", PATH),
        ("openStore", DEFINITION),
        ("openstore", DEFINITION),
        ("x1", HEADING),
    )
    for expected in ((), ("zebra", "plan", "otter", "openStore", "openstore", "x1")):
        with engine.snapshot():
            engine.expect(expected, expected)
            found = [engine.look_up(word, field) for word, field in asked]
            assert [one and (one.term, one.df) for one in found] == [
                ("zebra", 4),
                ("plan", 2),  # the title of the file is not counted
                None,
                ("openStore", 1),
                ("openstore", 1),
                None,
            ]
    with engine.snapshot():
        assert [one.term for one in engine.look_up_prefix("ze", ("otter", "none"), 9)] == ["zebra", "otter"]
        assert [one.term for one in engine.look_up_prefix("ze", ("otter",), 1)] == ["zebra"]
        assert [one.term for one in engine.look_up_any(("otter", "zebra", "none"))] == ["otter", "zebra"]
        assert [one.term for one in engine.look_up_any(("plan", "otter"), PATH)] == ["plan"]


def test_a_term_that_is_in_no_list_but_in_a_document_is_damage(engine: Fts5Engine) -> None:
    with engine.snapshot():
        engine.check_unknown([])
        engine.check_unknown(["gnu", "okapi"])
        engine.check_unknown(["gnu"] * 32 + ["zebra"])  # so many are asked for
        for words in (["zebra"], ["gnu", "otter"], ["gnu"] * 31 + ["zebra"]):
            with pytest.raises(apsw.CorruptError):
                engine.check_unknown(words)


def test_words_and_terms(engine: Fts5Engine) -> None:
    assert engine.tokens("The Walrus's Locks") == ["the", "walru", "s", "lock"]
    assert engine.unstemmed("Walrüses") == "walruses"
    assert engine.tokens_at("é lock".encode()) == [(0, 2, "e"), (3, 7, "lock")]
    text = b"the walLock waits"
    for _ in range(2):
        count, _, matches = engine.find_words(text, {"lock": 1.0}, with_parts=True)
        assert (count, matches) == (3, [(1, 4, 11, "lock")])
        engine.find_words(text * 4000, {"lock": 1.0}, with_parts=True)  # from then on by the compiled one


def test_a_query_that_is_wrong_is_refused_and_one_on_a_damaged_index_heals_it(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        with store.write() as change:
            put(change, _RECORD)
        engine = fts5_of(store)
        assert engine.make_ready(1000) == (IndexHealth.OK, 0, None, "")
        assert engine.recover(apsw.SQLError("fts5: syntax error"), 1000).health == IndexHealth.REFUSED
        generation = engine.index().generation
        assert engine.recover(apsw.CorruptError("x"), 1000).is_usable and engine.index().generation != generation
        assert ids(engine, RowQuery(ZEBRA)) == [1]


def test_an_index_that_lacks_more_than_a_fifth_gives_way_to_the_heuristic(
    store_of_ten: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = fts5_of(store_of_ten)
    assert engine.make_ready(1000).is_usable

    def leave_all(_: int, __: int) -> int:
        return store_of_ten.last_seq() - engine.index().state().applied_seq

    monkeypatch.setattr(engine, "catch_up", leave_all)
    for missing, health in ((1, IndexHealth.OK), (2, IndexHealth.OK), (3, IndexHealth.REBUILDING)):
        with store_of_ten.write() as change:
            touch(change, missing, superseded_by=9)
        readiness = engine.make_ready(1000)
        assert (readiness.health, readiness.stale) == (health, missing)


@pytest.fixture
def store_of_ten(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as store:
        with store.write() as change:
            for number in range(1, 11):
                put(change, _RECORD._replace(number=number))
        yield store


@each_row(
    "error, health",
    [
        (apsw.BusyError(), IndexHealth.LOCKED),
        (apsw.LockedError(), IndexHealth.LOCKED),
        (apsw.SQLError("no such module: fts5"), IndexHealth.NO_FTS5),
        (apsw.SQLError("near x"), IndexHealth.DAMAGED),
        (apsw.CantOpenError(), IndexHealth.UNREADABLE),
        (apsw.FullError(), IndexHealth.UNREADABLE),
        (apsw.IOError(), IndexHealth.IO_ERROR),
        (apsw.CorruptError(), IndexHealth.DAMAGED),
        (ValueError(), IndexHealth.DAMAGED),
        (None, IndexHealth.DAMAGED),
    ],
)
def test_an_error_says_what_is_wrong_with_the_index(error: BaseException | None, health: str) -> None:
    assert index_file.health_of(error) == health


@each_row(
    "documents, texts, total, average",
    [(0, 0, 0, 1.0), (4, 4, 40, 10.0), (5, 4, 40, 10.0), (1, 0, 0, 1.0), (4, 4, 1, 1.0)],
)
def test_an_average_is_that_of_the_texts(documents: int, texts: int, total: int, average: float) -> None:
    assert IndexState(1, 1, documents, texts, total, 1).average_length == average


def test_a_file_is_a_title_where_its_passages_have_the_text() -> None:
    assert is_title("artifact", "") and not is_title("artifact", "x") and not is_title("package", "")
    assert index_file.quoted('a "b" c') == '"a ""b"" c"'


@pytest.mark.parametrize("health", [IndexHealth.IO_ERROR, IndexHealth.DAMAGED, IndexHealth.OK])
def test_an_index_is_made_anew_by_who_holds_the_lock_and_by_nobody_else(store_of_ten: Store, health: str) -> None:
    engine = fts5_of(store_of_ten)
    engine.make_ready(1000)
    before = engine.index().generation
    engine.index().health = health
    with LockFile(store_of_ten.location.folder, "index.lock") as lock:
        assert lock.is_held
        index = heal(engine)
        assert index.generation == before and index.health == (health or IndexHealth.DAMAGED)
    engine.index().health = health
    assert heal(engine).generation != before and engine.make_ready(1000).is_usable
    assert len(ids(engine, RowQuery(ZEBRA))) == 10


def test_an_index_that_another_one_has_healed_meanwhile_is_taken_as_it_is(store_of_ten: Store) -> None:
    engine = fts5_of(store_of_ten)
    engine.make_ready(1000)
    with open_again(store_of_ten) as other:
        assert ids(fts5_of(other), RowQuery(ZEBRA)) == ids(engine, RowQuery(ZEBRA))
        engine.index().health = IndexHealth.DAMAGED
        healed = heal(engine).generation
        fts5_of(other).index().health = IndexHealth.DAMAGED
        assert heal(fts5_of(other)).generation == healed


def test_a_query_that_an_unusable_index_refuses_is_not_the_querys_fault(store_of_ten: Store) -> None:
    engine = fts5_of(store_of_ten)
    engine.make_ready(1000)
    engine.index().health = IndexHealth.DAMAGED
    assert engine.recover(apsw.SQLError("near x"), 1000).is_usable
    engine.index().connection.execute("DROP TABLE main.terms")
    assert engine.recover(apsw.SQLError("no such table: terms"), 1000).is_usable
    assert len(ids(engine, RowQuery(ZEBRA))) == 10


def test_a_lock_is_one_process_s_until_its_block_ends(tmp_path: Path) -> None:
    with LockFile(str(tmp_path), "a.lock") as first, LockFile(str(tmp_path), "a.lock") as second:
        assert (first.is_held, second.is_held) == (True, False)
        assert os.stat(tmp_path / "a.lock").st_mode & 0o777 == 0o600
        second.take()
        assert not second.is_held
    with LockFile(str(tmp_path), "a.lock") as third:
        assert third.is_held
    with LockFile(str(tmp_path / "nowhere"), "a.lock") as none:
        none.take()
        assert not none.is_held

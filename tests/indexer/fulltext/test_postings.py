"""What FTS5's own lists say is what FTS5 says: which rows hold a word, how often, and what is deleted."""

import math
import random
import struct
from pathlib import Path
from typing import Any

import pytest
from builders import make_store

from ctxrank.indexer.engine import AnyClause, ListedWord, RowQuery, TermClause
from ctxrank.indexer.fulltext import postings, pure_postings
from ctxrank.indexer.fulltext.fts5_engine import Fts5Engine, fts5_of, index_of
from ctxrank.indexer.fulltext.impact_bounds import WEIGHTS
from ctxrank.indexer.fulltext.postings import BoundArrays
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store.documents import Document, document_id, put, remove
from ctxrank.indexer.store.ids import DocumentRef
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.formulas.bm25 import tf_saturation
from ctxrank.ranking.retrieval.candidates.candidates import Scorer
from ctxrank.ranking.retrieval.candidates.threshold import listed_words
from ctxrank.ranking.retrieval.plan import make_plan
from ctxrank.ranking.retrieval.query import plain_query

_COMPILED: Any = vars(postings)["loops"]


@pytest.fixture(autouse=True, params=["compiled", "in Python"])
def _loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists are read by what was compiled, then by its twin."""
    if request.param == "in Python":
        monkeypatch.setattr(postings, "loops", pure_postings)
    elif _COMPILED is pure_postings:
        pytest.skip("made without a C compiler")


_COMMON = ["kiwi", "plum", "c1", "größe", "日本語", "parseRequest"]
_RARE = [f"{first}{second}o" for first in ("ba", "de", "ki", "lo", "mu", "ra") for second in ("lm", "rk", "st", "nd")]


def _write(store: Store, chance: random.Random, numbers: range) -> None:
    with store.write() as change:
        for number in numbers:
            words = chance.choices(_COMMON, k=chance.randint(0, 60)) + chance.choices(_RARE, k=chance.randint(1, 9))
            chance.shuffle(words)
            title = " ".join(chance.choices(_COMMON + _RARE, k=2)) if number % 3 == 0 else ""
            path = f"src/{chance.choice(_COMMON)}/{chance.choice(_RARE)}.py" if number % 4 == 0 else ""
            put(
                change,
                Document("strategy", number, title, " ".join(words), path=path, created_at=0, ruleset=RULESET_VERSION),
            )
    store.catch_up()


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """An index of several segments, some of whose rows were written again or removed."""
    store = make_store(tmp_path_factory.mktemp("changed"))
    chance = random.Random(7)
    for start in (1, 2001, 2501):
        _write(store, chance, range(start, start + (2000 if start == 1 else 500)))
    _write(store, chance, range(100, 160))
    with store.write() as change:
        for number in range(300, 420):
            remove(change, document_id(change.connection, DocumentRef("strategy", number)))
    store.catch_up()
    for start in (160, 200):  # what is above may have been merged into one
        _write(store, chance, range(start, start + 40))
    return store


def _held(bounds: BoundArrays | None) -> dict[int, float]:
    """All rows with their bounds."""
    assert bounds is not None
    rowids = bounds.between(0.0, float("inf"), 1 << 30)
    held = dict(zip(*(struct.unpack(f"{len(bounds)}{kind}", data) for kind, data in _arrays(bounds)), strict=True))
    assert len(rowids) == len(bounds) == len(held) and held.keys() == set(rowids)
    return held


def _arrays(bounds: BoundArrays) -> tuple[tuple[str, bytes], tuple[str, bytes]]:
    return ("q", bounds.rowids), ("d", bounds.bounds)


def _row_bounds(engine: Fts5Engine, text: str, most: int | None) -> BoundArrays:
    with engine.snapshot() as statistics:
        plan = make_plan(plain_query(text), engine, statistics)
        words = listed_words(plan)
        found = engine.row_bounds(
            words, plan.tuning.weights, lambda tf, length: tf_saturation(tf, length, statistics.average_length), most
        )
    assert found is not None
    return found


def _bounds(engine: Fts5Engine, text: str) -> tuple[dict[int, float], dict[int, float]]:
    """The bounds of all rows by their lists, and the scores of the rows that FTS5 finds."""
    held = _held(_row_bounds(engine, text, None))
    with engine.snapshot() as statistics:
        plan = make_plan(plain_query(text), engine, statistics)
        words = listed_words(plan)
        rows = engine.rows(RowQuery(AnyClause(tuple(TermClause((word.term,), (word.term,)) for word in words))))
        scores = Scorer(plan).scores(rows)
        return held, {row[0]: score for row, score in zip(rows, scores, strict=True)}


@pytest.mark.parametrize(
    "text", ["kiwi", "c1", "größe", "balmo kiwi plum", "rasto", " ".join(_RARE[:12]), "日本語 plum"]
)
def test_each_row_with_a_word_is_found_once_and_scores_no_more_than_its_bound(changed: Store, text: str) -> None:
    bounds, scores = _bounds(fts5_of(changed), text)
    assert bounds.keys() == scores.keys()
    assert all(score <= bounds[rowid] + 1e-9 for rowid, score in scores.items())


def test_what_was_compiled_and_its_twin_say_the_same_bounds(changed: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("kiwi", "c1 balmo", "größe plum parseRequest", " ".join(_RARE)):
        found: list[dict[int, float]] = []
        for loops in (_COMPILED, pure_postings):
            monkeypatch.setattr(postings, "loops", loops)
            found.append(_held(_row_bounds(fts5_of(changed), text, None)))
        assert found[0] == pytest.approx(found[1], rel=1e-12), text


def test_it_is_the_same_when_all_is_one_segment(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        for numbers in (range(1, 301), range(301, 401), range(50, 90)):
            _write(store, random.Random(5), numbers)
        before, _ = _bounds(fts5_of(store), "kiwi balmo")
        index_of(store).connection.execute("INSERT INTO main.fts (fts) VALUES ('optimize')")
        after, scores = _bounds(fts5_of(store), "kiwi balmo")
        assert before == after and after.keys() == scores.keys()


def test_a_list_of_many_pages_is_read_to_its_end(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    with store.write() as change:
        for number in range(1, 3001):
            body = "kiwi plum " * (400 if number % 500 == 0 else 2)
            put(change, Document("strategy", number, "", body, created_at=0, ruleset=RULESET_VERSION))
    store.catch_up()
    bounds, scores = _bounds(fts5_of(store), "kiwi")
    assert len(bounds) == 3000 and bounds.keys() == scores.keys()


def test_a_definition_may_add_to_whatever_has_its_name_among_the_identifiers(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    with store.write() as change:
        put(
            change,
            Document(
                "strategy", 1, "", "def parse_request(): pass", path="a.py", created_at=0, ruleset=RULESET_VERSION
            ),
        )
        put(change, Document("strategy", 2, "", "parse_request()", path="b.py", created_at=0, ruleset=RULESET_VERSION))
    store.catch_up()
    bounds, scores = _bounds(fts5_of(store), "parse_request")
    assert bounds.keys() == scores.keys() and all(scores[rowid] <= bounds[rowid] + 1e-9 for rowid in scores)


def test_the_rows_of_the_highest_bounds_come_first() -> None:
    bounds = BoundArrays(struct.pack("5q", 1, 2, 3, 4, 5), struct.pack("5d", 4.0, 1.0, 3.0, 2.0, 3.0))
    theta = bounds.threshold(3)
    assert 2.0 < theta < 3.0 and sorted(bounds.between(theta, 10.0, 9)) == [1, 3, 5]
    assert bounds.between(1.5, theta, 9) == [4] and bounds.threshold(5) == 0.0
    assert bounds.between(0.0, 10.0, 2) == [5, 4], "the last ones are the newest"


def test_where_more_rows_are_alike_than_are_wanted_the_threshold_is_their_bound() -> None:
    bounds = BoundArrays(struct.pack("3q", 1, 2, 3), struct.pack("3d", 2.0, 2.0, 2.0))
    assert bounds.threshold(2) == 2.0 and bounds.between(2.0, 9.0, 9) == []


@pytest.mark.parametrize("text", ["kiwi", "kiwi balmo rasto", "c1 kiwi", "plum"])
@pytest.mark.parametrize("most", [1, 2, 17, 60])
def test_where_few_rows_are_wanted_the_others_change_no_answer(changed: Store, text: str, most: int) -> None:
    everything, few = (_row_bounds(fts5_of(changed), text, wanted) for wanted in (None, most + 1))
    for wanted in (most, max(1, most // 3)):
        theta = everything.threshold(wanted)
        assert few.threshold(wanted) == theta
        assert few.between(theta, math.inf, most) == everything.between(theta, math.inf, most)
        at_least = math.nextafter(theta, 0.0)
        highest = everything.between(at_least, math.inf, wanted)
        assert few.between(at_least, math.inf, wanted) == highest


@pytest.mark.slow
def test_rows_of_a_common_word_do_not_all_take_memory(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    with store.write() as change:
        for number in range(1, 9001):
            body = "kiwi " * (1 + number % 3) + "plum"
            put(change, Document("strategy", number, "", body, created_at=0, ruleset=RULESET_VERSION))
    store.catch_up()
    everything, few = (_row_bounds(fts5_of(store), "kiwi", most) for most in (None, 21))
    assert len(everything) == 9000 and 21 <= len(few) < 2048
    highest = everything.threshold(20)
    newest = everything.between(math.nextafter(highest, 0.0), math.inf, 20)
    assert few.between(math.nextafter(highest, 0.0), math.inf, 20) == newest and len(newest) == 20


@pytest.mark.parametrize("count", [300, pytest.param(4000, marks=pytest.mark.slow)])
def test_a_page_that_is_not_as_expected_is_left_to_fts5(changed: Store, count: int) -> None:
    """Whatever a page holds, reading it ends with rows or with none; no byte leads outside."""
    connection = index_of(changed).connection
    found_pages: Any = connection.execute(
        "SELECT block FROM main.fts_data WHERE id > 10 ORDER BY id LIMIT 40"
    ).fetchall()
    pages: list[bytes] = [page for (page,) in found_pages]
    words = [ListedWord("kiwi", 1.0)]
    tables = postings.impact_tables(connection, words, WEIGHTS, lambda tf, length: tf / (tf + length))
    both: list[Any] = [_COMPILED, pure_postings]
    chance = random.Random(11)
    outcomes = set[str]()
    for _ in range(count):
        page = bytearray(chance.choice(pages))
        for _ in range(chance.randint(0, 3)):
            page[chance.choice((0, 1, 2, 3, chance.randrange(len(page))))] = chance.randrange(256)
        del page[chance.randint(0, 3 * len(page)) :]
        following = [bytes(page), chance.choice(pages), bytes(page)]
        first, twin = (_read(loops, following, tables) for loops in both)
        assert first is None or first == twin, "what the twin refuses is all refused by the other"
        outcomes.add("refused" if first is None else "rows")
    assert outcomes == {"rows", "refused"}


def _read(loops: Any, pages: list[bytes], tables: bytes) -> object:
    """The list of a word that begins on the first of these pages, and its rows; None for what is not as expected."""
    try:
        found = loops.find_list(pages[0], b"0kiwi")
        start, end, goes_on = found or (4, len(pages[0]), True)
        rows, bounds = loops.row_bounds([(b"", [(0, start, end, pages if goes_on else pages[:1])])], tables)
    except (IndexError, ValueError):
        return None
    assert len(rows) == len(bounds)
    return found, rows, bounds


def test_a_row_has_one_bound_while_its_segments_are_being_merged(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        chance = random.Random(3)
        for start in range(1, 1201, 300):
            _write(store, chance, range(start, start + 300))
        text, engine = "balmo kiwi plum", fts5_of(store)
        before = _held(_row_bounds(engine, text, None))
        connection, parts = engine.index().connection, list[int]()
        for pages in (-1, *[1] * 60):
            connection.execute("INSERT INTO main.fts (fts, rank) VALUES ('merge', ?)", (pages,))
            parts.append(max(map(len, vars(postings)["_segments"](connection))))
            assert _held(_row_bounds(engine, text, None)) == before
        assert parts[0] > 1 == parts[-1], "a merge has begun, and has ended"


def test_a_structure_that_is_not_as_expected_is_left_to_fts5(changed: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def segments(_: object) -> list[object]:
        raise IndexError

    monkeypatch.setattr(postings, "_segments", segments)
    words = [ListedWord("kiwi", 1.0, 1)]
    assert fts5_of(changed).row_bounds(words, WEIGHTS, lambda tf, length: tf / (tf + length), 9) is None


@pytest.mark.parametrize(
    ("bounds", "most", "found"),
    [
        ([0.0, 0.0], 1, 0.0),
        ([-1.0, 4.0, math.nan], 1, 4.0 / 4096),
        ([math.nan], 0, 0.0),
        ([math.inf, 1.0], 0, math.inf),
    ],
)
def test_bounds_that_are_no_scores_are_lowest(bounds: list[float], most: int, found: float) -> None:
    loops: Any = vars(postings)["loops"]
    threshold = loops.threshold(struct.pack(f"<{len(bounds)}d", *bounds), most)
    assert threshold == pytest.approx(found)

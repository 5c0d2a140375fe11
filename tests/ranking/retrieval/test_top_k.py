"""The rows that are scored are those that may be among the best; and a bound is never too low."""

import random
from array import array
from pathlib import Path
from typing import Any

import pytest
from builders import make_store, save, word

from ctxrank.indexer.engine import Row
from ctxrank.indexer.fulltext.fts5_engine import index_of
from ctxrank.indexer.fulltext.postings import BoundArrays
from ctxrank.indexer.opening import engine_of
from ctxrank.indexer.records.sessions import require_session
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store.documents import Document, put
from ctxrank.indexer.store.facets import Scope
from ctxrank.indexer.store.store import Store
from ctxrank.ranking import SearchRequest, SearchResult, search
from ctxrank.ranking.formulas.blend import blended, calibrated
from ctxrank.ranking.formulas.bm25 import tf_saturation
from ctxrank.ranking.formulas.static_features import BLENDED, Signals, heuristic
from ctxrank.ranking.formulas.tuning import DEFAULT, Tuning
from ctxrank.ranking.retrieval.candidates import candidates, threshold
from ctxrank.ranking.retrieval.candidates.candidates import Scorer, find_candidates
from ctxrank.ranking.retrieval.candidates.threshold import generate_candidates, listed_words
from ctxrank.ranking.retrieval.candidates.top_k import FeatureLimits, feature_limits, top_k_threshold
from ctxrank.ranking.retrieval.grouping import OTHERS_SHARE, OWN_SHARE, SHOWN_PASSAGES
from ctxrank.ranking.retrieval.plan import make_plan, row_query
from ctxrank.ranking.retrieval.query import parse_query, plain_query
from ctxrank.ranking.retrieval.rerank import MAX_RERANKED

_WORDS = [
    f"{first}{second}" for first in ("ba", "de", "ki", "lo", "mu", "ra", "so", "tu") for second in ("lm", "rk", "st")
]
_DOCUMENTS = 1500


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Documents of few words, the first of which are the most frequent, of several priorities and ages."""
    store = make_store(tmp_path_factory.mktemp("many"))
    chance = random.Random(6)
    weights = [1 / place for place in range(1, len(_WORDS) + 1)]
    with store.write() as change:
        for number in range(1, _DOCUMENTS + 1):
            text = " ".join(chance.choices(_WORDS, weights, k=chance.randint(2, 40)))
            title = chance.choice(_WORDS) if number % 5 == 0 else ""
            priority = chance.choice(("low", "medium", "medium", "high", "critical"))
            made_at = number * 86_400_000_000
            put(
                change,
                Document(
                    "strategy", number, title, text, priority=priority, created_at=made_at, ruleset=RULESET_VERSION
                ),
            )
    store.catch_up()
    return store


def _asked(store: Store, text: str, limit: int = 10) -> SearchResult:
    return search(store, SearchRequest(text, limit, is_plain=True, as_of=_DOCUMENTS * 86_400_000_000))


@pytest.fixture
def selecting(monkeypatch: pytest.MonkeyPatch) -> None:
    """No query scores every row: it is asked by the bound of each."""
    monkeypatch.setattr(candidates, "MAX_ENUMERATED", 0)
    monkeypatch.setattr(threshold, "FIRST_ROWS", 20)


_QUERIES = [" ".join(random.Random(seed).sample(_WORDS, 2 + seed % 7)) for seed in range(24)]


@pytest.fixture(scope="module")
def everything(many: Store) -> list[list[str]]:
    """What scoring all rows gives."""
    return [[hit.id for hit in _asked(many, query).hits] for query in _QUERIES]


@pytest.mark.usefixtures("selecting")
def test_the_rows_that_are_scored_give_what_scoring_all_rows_gives(
    everything: list[list[str]], many: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threshold, "MAX_SCORED", 800)
    selected = [_asked(many, query) for query in _QUERIES]
    different = [
        (query, [hit.id for hit in result.hits], wanted)
        for query, result, wanted in zip(_QUERIES, selected, everything, strict=True)
        if [hit.id for hit in result.hits] != wanted
    ]
    assert not different
    assert sum(result.is_capped for result in selected) > len(_QUERIES) / 4


@pytest.mark.usefixtures("selecting")
def test_only_where_every_matching_row_was_scored_is_an_answer_exact(
    many: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threshold, "MAX_SCORED", 30)
    results = [_asked(many, query) for query in _QUERIES]
    assert all(result.hits and result.is_exact != result.is_capped for result in results)
    assert any(result.is_capped for result in results)


def test_a_search_that_scores_every_row_is_exact(many: Store) -> None:
    result = _asked(many, "tust", limit=3)
    assert result.is_exact and not result.is_capped and result.total > 3


@pytest.mark.parametrize("tuning", [DEFAULT, DEFAULT._replace(title=7.0, k1=0.9, b=0.1), DEFAULT._replace(title=0.1)])
@pytest.mark.parametrize("text", [*_WORDS[::4], "b*", "title:balm", "balm title:balm ba*"])
def test_no_row_gets_more_of_a_query_than_its_bound(many: Store, tuning: Tuning, text: str) -> None:
    engine = engine_of(many)
    query = "SELECT id, owner_id, length, terms FROM main.forward"
    rows: list[Any] = index_of(many).connection.execute(query).fetchall()
    with engine.snapshot() as statistics:
        plan = make_plan(parse_query(text), engine, statistics, tuning)
        scores = Scorer(plan).scores(rows)
        bounds = engine.row_bounds(
            listed_words(plan), tuning.weights,
            lambda tf, length: tf_saturation(tf, length, statistics.average_length, tuning.k1, tuning.b), None,
        )  # fmt: skip
    assert isinstance(bounds, BoundArrays) and any(scores)
    known = dict(zip(array("q", bounds.rowids), array("d", bounds.bounds), strict=True))
    assert all(score <= known.get(row[0], 0.0) + 1e-9 for row, score in zip(rows, scores, strict=True))


_NARROWED = [
    *(f"{query} -{_WORDS[place % 5]}" for place, query in enumerate(_QUERIES[:12])),
    *(f"title:{query}" for query in _QUERIES[12:20]), *(f"{query[:2]}* {query}" for query in _QUERIES[20:28]),
    *(f'"{_WORDS[place % 3]} {_WORDS[place % 4]}" {query}' for place, query in enumerate(_QUERIES[28:36])),
    *(f"{query} priority:high" for query in _QUERIES[36:44]), *(f"{query} -priority:low" for query in _QUERIES[44:52]),
]  # fmt: skip


def test_a_narrowed_query_has_the_hits_that_scoring_all_its_rows_gives(
    many: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ids(query: str) -> list[str]:
        return [hit.id for hit in search(many, SearchRequest(query, as_of=_DOCUMENTS * 86_400_000_000)).hits]

    every = [ids(query) for query in _NARROWED]  # of 1,500 rows all are scored
    monkeypatch.setattr(candidates, "MAX_ENUMERATED", 0)
    monkeypatch.setattr(threshold, "FIRST_ROWS", 20)
    monkeypatch.setattr(threshold, "FEW_ROWS", 50)
    monkeypatch.setattr(threshold, "MAX_SCORED", 800)
    different = [(query, ids(query), wanted) for query, wanted in zip(_NARROWED, every, strict=True)]
    assert not [one for one in different if one[1] != one[2]]
    assert all(every)


def test_a_long_query_in_a_scope_leaves_out_rows_of_common_words_and_says_so(tmp_path: Path) -> None:
    """Ten words of twelve documents each, of which seven or eight are worth 70 %; and one that only holds `common`."""
    words = [word(number) for number in range(10)]
    with make_store(tmp_path) as store:
        with store.write() as change:
            session_id, last = require_session(change, "S", create=True).id, 0
            for number, text in enumerate([*words * 12, *["common"] * 90], start=1):
                document = Document("strategy", number, "", text, 0, RULESET_VERSION, session_id=session_id)
                last = put(change, document)
        store.catch_up()
        engine = engine_of(store)
        with engine.snapshot() as statistics:
            plan = make_plan(plain_query(" ".join([*words, "common"])), engine, statistics)
            some = find_candidates(plan, Scope(session_ids=(session_id,)))
            three = Scope(session_ids=(session_id,), document_ids=frozenset((last, 1, 2)))
            wanted = find_candidates(plan, three)
        assert not some.is_complete
        assert last not in {row.owner_id for row in some.rows}
        assert wanted.is_complete and last in {row.owner_id for row in wanted.rows}
        with engine.snapshot() as statistics:
            whole = Scope(session_ids=(session_id,), document_ids=frozenset(range(1, last + 1)))
            every = find_candidates(plan, whole)
            few = make_plan(plain_query(" ".join([*words[:7], "common"])), engine, statistics)
            required = make_plan(parse_query(" ".join([*words, 'common "common"'])), engine, statistics)
            all_rows = [find_candidates(one, Scope(session_ids=(session_id,))) for one in (few, required)]
        assert [(one.is_complete, last in {row.owner_id for row in one.rows}) for one in all_rows] == [(True, True)] * 2
        assert last in {row.owner_id for row in every.rows}, "wanted documents are scored by their own rows at least"
        assert not every.is_complete, "and the passages of theirs that hold common words alone are not"


@pytest.mark.parametrize("query", _QUERIES[::3])
def test_every_row_that_reaches_the_threshold_is_generated(
    many: Store, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever threshold the scores so far say, from the first rows on; and what lies below it is pruned."""
    monkeypatch.setattr(threshold, "FIRST_ROWS", 20)
    engine = engine_of(many)
    with engine.snapshot() as statistics:
        plan = make_plan(plain_query(query), engine, statistics)
        wanted, scored = row_query(plan, Scope()), Scorer(plan).scores
        every = engine.rows(wanted)
        scores = dict(zip((row[0] for row in every), scored(every), strict=True))
        best = sorted(scores.values(), reverse=True)
        for least in (0.0, best[-1], best[len(best) // 2], best[200], best[20], best[0]):
            rows, found, is_complete, pruned = generate_candidates(
                plan,
                wanted,
                scored,
                lambda _, least=least: least,  # type: ignore[misc]
            )
            reaching = {id_ for id_, score in scores.items() if score >= least}
            assert {row[0] for row in rows} >= reaching and found == [scores[row[0]] for row in rows]
            assert is_complete == (least == 0.0) and pruned >= 0
            assert least == 0.0 or len(rows) < len(reaching) + 50


def test_as_many_rows_are_scored_as_can_be_afforded(many: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threshold, "FIRST_ROWS", 20)
    monkeypatch.setattr(threshold, "MAX_SCORED", 300)
    engine = engine_of(many)
    for query, is_filtered in ((_QUERIES[0], False), (f"{_QUERIES[3]} -tust", True)):
        with engine.snapshot() as statistics:
            plan = make_plan(parse_query(query), engine, statistics)
            asked: list[int] = []
            scorer = Scorer(plan)

            def scored(rows: list[Row], asked: list[int] = asked, scorer: Scorer = scorer) -> list[float]:
                asked.append(len(rows))
                return scorer.scores(rows)

            monkeypatch.setattr(threshold, "FEW_ROWS", 10)
            generate_candidates(plan, row_query(plan, Scope()), scored, lambda _: 0.0)
        assert 200 < sum(asked) <= 301 and len(asked) == 2 and asked[0] <= 25, is_filtered


_PLAIN = FeatureLimits(rows=1.0, heuristic=8.0, half=10.0, weight=0.8, has_passages=False)


def test_below_the_threshold_the_best_of_all_else_lifts_no_row_to_the_last_hit() -> None:
    """And a little above it, it does: what is scored for nothing costs time."""
    usual = heuristic(Signals("medium", days=1_000_000), BLENDED).total
    for limits in (_PLAIN, _PLAIN._replace(rows=2.5), _PLAIN._replace(heuristic=12.0), _PLAIN._replace(half=3.0)):
        for limit, scores in (
            (10, [40.0 - 0.01 * at for at in range(2000)]),
            (3, [30.0 - at * 0.001 for at in range(500)]),
        ):
            least = top_k_threshold(limit, limits)(scores)
            last = blended(calibrated(scores[limit - 1], limits.half), usual, limits.weight)

            def lifted(score: float, limits: FeatureLimits = limits) -> float:
                return blended(calibrated(score * limits.rows, limits.half), limits.heuristic, limits.weight)

            reranked = scores[MAX_RERANKED - 1]
            assert 0 < least < reranked and lifted(least) < last
            assert least > reranked - 1e-6 or lifted(least * 1.001) > last


def test_without_as_many_rows_as_are_reranked_every_row_matters() -> None:
    many = [9.0] * MAX_RERANKED
    assert top_k_threshold(10, _PLAIN)(many) > 0 == top_k_threshold(10, _PLAIN)(many[1:])
    assert top_k_threshold(0, _PLAIN)(many) == top_k_threshold(MAX_RERANKED + 1, _PLAIN)(many) == 0
    assert top_k_threshold(MAX_RERANKED, _PLAIN)(many) > 0 and top_k_threshold(1, _PLAIN)(many) > 0
    assert top_k_threshold(10, _PLAIN._replace(weight=0.0))(many) == 0, "no text counts: any row may be the best"


def test_what_may_lift_a_document_is_known_of_the_store(many: Store, tmp_path: Path) -> None:
    def limits_of(store: Store) -> FeatureLimits:
        engine = engine_of(store)
        with engine.snapshot() as statistics:
            return feature_limits(make_plan(plain_query("balm"), engine, statistics))

    critical = limits_of(many)
    with make_store(tmp_path) as store:
        save(store, "a.md", "# Title\n\nbalm\n", summary="balm", priority="low")
        store.catch_up()
        low = limits_of(store)
    assert (critical.rows, critical.has_passages) == (1.0, False)
    assert low.has_passages and low.rows == 1.0 + OWN_SHARE + OTHERS_SHARE * (SHOWN_PASSAGES - 1)
    priorities = [heuristic(Signals(one), BLENDED).values[0] for one in ("critical", "low")]
    assert critical.heuristic - low.heuristic == pytest.approx(priorities[0] - priorities[1])
    newest = heuristic(Signals("critical", days=0), BLENDED).total
    assert critical.heuristic >= newest

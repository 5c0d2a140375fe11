"""The rows that are scored are those that may be among the best; and a bound is never too low."""

import random
from array import array
from pathlib import Path
from typing import Any

import pytest
from builders import make_store, word

from ctxrank.indexer.fulltext.fts5_engine import index_of
from ctxrank.indexer.fulltext.postings import BoundArrays
from ctxrank.indexer.opening import engine_of
from ctxrank.indexer.records.sessions import require_session
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store.documents import Document, put
from ctxrank.indexer.store.facets import Scope
from ctxrank.indexer.store.store import Store
from ctxrank.ranking import SearchRequest, SearchResult, search
from ctxrank.ranking.formulas.bm25 import tf_saturation
from ctxrank.ranking.formulas.tuning import DEFAULT, Tuning
from ctxrank.ranking.retrieval.candidates import candidates, threshold
from ctxrank.ranking.retrieval.candidates.candidates import Scorer, find_candidates
from ctxrank.ranking.retrieval.candidates.threshold import listed_words
from ctxrank.ranking.retrieval.plan import make_plan
from ctxrank.ranking.retrieval.query import parse_query, plain_query

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
        assert last in {row.owner_id for row in every.rows}, "wanted documents are scored by their own rows at least"

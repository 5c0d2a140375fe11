"""What is said to be exact is what scoring every matching row gives; and a bound is never too low."""

import random
from pathlib import Path
from typing import Any

import pytest
from builders import make_store, word
from hypothesis import given
from hypothesis import strategies as st

from ctxrank.indexer.engine import AllOf, AnyOf, Clause, TermClause
from ctxrank.indexer.fulltext.fts5_engine import Fts5Engine, index_of
from ctxrank.indexer.fulltext.postings import is_compiled
from ctxrank.indexer.opening import engine_of
from ctxrank.indexer.records.sessions import require_session
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store.documents import Document, put
from ctxrank.indexer.store.facets import Scope
from ctxrank.indexer.store.store import Store
from ctxrank.ranking import SearchRequest, SearchResult, search
from ctxrank.ranking.formulas.tuning import DEFAULT
from ctxrank.ranking.retrieval.candidates import candidates, threshold
from ctxrank.ranking.retrieval.candidates.bounds import BoundedTerm, Bounds, bounded_terms
from ctxrank.ranking.retrieval.candidates.candidates import Candidate, Candidates, find_candidates
from ctxrank.ranking.retrieval.candidates.exactness import FeatureLimits, is_top_k_exact
from ctxrank.ranking.retrieval.candidates.scorer import Scorer
from ctxrank.ranking.retrieval.plan import make_plan
from ctxrank.ranking.retrieval.query import plain_query
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


def _nothing(*_: object) -> None:
    """In place of what was made without a C compiler."""


@pytest.fixture(params=["row bounds", "clauses"])
def selecting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No query scores every row: it is asked by the bound of each row, or by clauses where those cannot be read."""
    monkeypatch.setattr(candidates, "MAX_ENUMERATED", 0)
    monkeypatch.setattr(threshold, "FIRST_COST", 20)
    monkeypatch.setattr(threshold, "FIRST_ROWS", 20)
    if request.param == "clauses":
        monkeypatch.setattr(Fts5Engine, "row_bounds", _nothing)
    elif not is_compiled():
        pytest.skip("made without a C compiler")


_QUERIES = [" ".join(random.Random(seed).sample(_WORDS, 2 + seed % 7)) for seed in range(60)]


@pytest.fixture(scope="module")
def everything(many: Store) -> list[list[str]]:
    """What scoring all rows gives."""
    return [[hit.id for hit in _asked(many, query).hits] for query in _QUERIES]


@pytest.mark.usefixtures("selecting")
def test_what_is_exact_is_what_scoring_all_rows_gives(
    everything: list[list[str]], many: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threshold, "MAX_SCORED", 800)
    selected = [_asked(many, query) for query in _QUERIES]
    exact = [
        (query, [hit.id for hit in result.hits], wanted)
        for query, result, wanted in zip(_QUERIES, selected, everything, strict=True)
        if result.is_exact
    ]
    assert all(found == wanted for _, found, wanted in exact), exact
    assert len(exact) > len(_QUERIES) / 4 and any(result.is_capped and result.is_exact for result in selected)


@pytest.mark.usefixtures("selecting")
def test_what_is_not_proven_is_not_called_exact(many: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threshold, "MAX_SCORED", 30)
    results = [_asked(many, query) for query in _QUERIES]
    assert not all(result.is_exact for result in results) and all(result.hits for result in results)


def test_a_search_that_scores_every_row_is_exact(many: Store) -> None:
    result = _asked(many, "tust", limit=3)
    assert result.is_exact and not result.is_capped and result.total > 3


@pytest.mark.parametrize("tuning", [DEFAULT, DEFAULT._replace(title=7.0, k1=0.9, b=0.1), DEFAULT._replace(title=0.0)])
def test_no_row_gets_more_of_a_term_than_its_bound(many: Store, tuning: object) -> None:
    assert isinstance(tuning, type(DEFAULT))
    engine = engine_of(many)
    query = "SELECT id, owner_id, length, terms FROM main.forward"
    rows: list[Any] = index_of(many).connection.execute(query).fetchall()
    with engine.snapshot() as statistics:
        plan = make_plan(plain_query(" ".join(_WORDS)), engine, statistics, tuning)
        for term in plan.terms:
            bounded = bounded_terms(engine, (term,), statistics, tuning)
            assert bounded is not None and len(bounded) == 1 + bool(term.path_ids)
            scores = Scorer(engine, (term,), statistics.average_length, tuning).scores(rows)
            assert 0 < max(scores) <= sum(part.bound for part in bounded) + 1e-9


def _term(name: str, bound: float) -> BoundedTerm:
    return BoundedTerm(TermClause((name,), (name,)), bound, 0.1)


def _written(clause: Clause, *, is_part: bool = False) -> str:
    """A tree of clauses as text, the outermost alternatives without parentheses."""
    if isinstance(clause, TermClause):
        return clause.terms[0]
    assert isinstance(clause, AnyOf | AllOf)
    operator = " OR " if isinstance(clause, AnyOf) else " AND "
    text = operator.join(_written(part, is_part=isinstance(clause, AllOf)) for part in clause.parts)
    return f"({text})" if is_part or isinstance(clause, AllOf) else text


_BOUNDS = st.lists(st.floats(0.1, 10), min_size=1, max_size=9)


@given(_BOUNDS, st.floats(0, 40), st.data())
def test_a_row_that_can_reach_the_score_is_never_left_out(most: list[float], least: float, data: st.DataObject) -> None:
    names = [f"t{number}" for number in range(len(most))]
    held = set(data.draw(st.lists(st.sampled_from(names), unique=True)))
    bounds = Bounds([_term(name, bound) for name, bound in zip(names, most, strict=True)], 1000)
    reached = bounds.candidates_above(least)
    total = sum(bound for name, bound in zip(names, most, strict=True) if name in held)
    if total > least + 1e-9:
        assert reached is not None
        expression = _written(reached.clause).replace("AND", "and").replace("OR", "or")
        assert eval(expression, {}, {name: name in held for name in names})


def test_a_lower_score_costs_more_rows(many: Store) -> None:
    bounds = Bounds([_term(name, most) for name, most in (("a", 5.0), ("b", 4.0), ("c", 2.0))], 1000)
    found = [bounds.candidates_above(theta) for theta in (8.5, 5.5, 4.5)]
    expressions = [_written(candidates.clause) for candidates in found if candidates is not None]
    assert expressions == ["(a AND (b))", "(a AND (b OR c)) OR (b AND (c))", "a OR (b AND (c))"]
    assert bounds.candidates_above(11.0) is None and bounds.threshold_for_cost(1000.0) == 0.0


def test_it_is_proven_where_nothing_unseen_can_reach_the_last_hit_or_be_read_again() -> None:
    """Paper: an unseen row of 5 is T = 5 / (5 + 10), so at most .8 · ⅓ + .2 · 21.5 / 21.5 = .4667."""
    limits = FeatureLimits(rows=1.0, heuristic=21.5, half=10.0, weight=0.8)
    found = Candidates([Candidate(row, row, 6.0) for row in range(MAX_RERANKED)], remaining_upper_bound=5.0)
    assert is_top_k_exact(found, limits, 0.467) and not is_top_k_exact(found, limits, 0.466)
    assert not is_top_k_exact(found._replace(rows=[*found.rows[1:], Candidate(0, 0, 4.0)]), limits, 0.467)
    assert not is_top_k_exact(found._replace(rows=found.rows[1:]), limits, 0.467)
    assert not is_top_k_exact(found._replace(remaining_upper_bound=None), limits, 0.467)
    assert not is_top_k_exact(found, limits._replace(rows=1.6), 1.0)
    assert is_top_k_exact(found._replace(remaining_upper_bound=0.0), limits, None)
    assert not is_top_k_exact(found, limits, None)


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
            some = find_candidates(engine, statistics, plan, Scope(session_ids=(session_id,)))
            three = Scope(session_ids=(session_id,), document_ids=frozenset((last, 1, 2)))
            wanted = find_candidates(engine, statistics, plan, three)
        common = next(term for term in plan.terms if term.text == "common")
        remaining = some.remaining_upper_bound
        assert not some.is_complete and remaining is not None and remaining >= common.value
        assert last not in {row.owner_id for row in some.rows}
        assert wanted.is_complete and last in {row.owner_id for row in wanted.rows}
        with engine.snapshot() as statistics:
            whole = Scope(session_ids=(session_id,), document_ids=frozenset(range(1, last + 1)))
            every = find_candidates(engine, statistics, plan, whole)
        assert last in {row.owner_id for row in every.rows}, "wanted documents are scored by their own rows at least"

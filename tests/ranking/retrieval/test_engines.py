"""The engine interface: another engine answers the same with the same scores.

One is made of dicts and shares no code with FTS5; one is a real OpenSearch node, which `make test-wide` starts.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from builders import make_store, save
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from load import load
from memory_engine import MemoryEngine

from ctxrank.extensions.opensearch import engine as wide_engine
from ctxrank.extensions.opensearch.engine import connect, engine_for
from ctxrank.extensions.opensearch.updater import send_changes
from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.engine import Engine
from ctxrank.indexer.fulltext.fts5_engine import fts5_of
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.change_log import ChangeBatch, read_changes
from ctxrank.indexer.store.documents import Document
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.store.wide_settings import WideSettings
from ctxrank.ranking import SearchRequest, SearchResult, search
from ctxrank.ranking.formulas.explanation import Explanation
from ctxrank.ranking.retrieval.candidates import candidates

_NOW = 21_000 * DAY_US
_REQUESTS = (
    SearchRequest("token refresh"),
    SearchRequest("how is the database locked while a worker writes, and why does the retry help?"),
    SearchRequest("getUserById OrderService db.session.commit retry_count"),
    SearchRequest('"database is locked" worker'),
    SearchRequest('"token refresh" "retry"'),
    SearchRequest("token -refresh"),
    SearchRequest('database -"is locked"'),
    SearchRequest("authenticat* migrat*"),
    SearchRequest("title:token body:refresh"),
    SearchRequest("path:src/* token"),
    SearchRequest("kind:error database locked"),
    SearchRequest("kind:package token"),
    SearchRequest("kind:artifact token"),
    SearchRequest("kind:passage token"),
    SearchRequest("priority:high token"),
    SearchRequest("origin:here token"),
    SearchRequest("type:research database"),
    SearchRequest("session:shop-2026-10 token refresh queue"),
    SearchRequest("token", since=20_000 * DAY_US, until=_NOW),
    SearchRequest("token refresh database", is_by_passage=True),
    SearchRequest("toekn databse"),
    SearchRequest("databsae is_lokced oken_refre"),
    SearchRequest("token-refresh"),
    SearchRequest("single-flight"),
    SearchRequest("nothing of this zzyzx exists"),
    SearchRequest("to be or not to be"),
    SearchRequest("数据库 锁", limit=50),
)


# Makes the other engine of a store.
Second = Callable[[Store], Engine]


@pytest.fixture(
    scope="module", params=["memory", pytest.param("opensearch", marks=[pytest.mark.wide, pytest.mark.slow])]
)
def second(request: pytest.FixtureRequest) -> Iterator[Second]:
    if request.param == "memory":
        yield MemoryEngine
        return
    settings = WideSettings((request.getfixturevalue("wide_node").url,), keeps_local=False)

    def on_a_node(store: Store) -> Engine:
        engine = engine_for(store, settings)
        with closing(connect(settings)) as cluster:
            send_changes(store.primary, cluster, engine.tokens)
        return engine

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wide_engine, "QUESTION_S", 60.0)  # a busy machine's node may be slow, and here it is not left
        yield on_a_node


def _asked(store: Store, request: SearchRequest, engine: Engine | None = None) -> SearchResult:
    return search(store, request._replace(as_of=_NOW, is_explained=True), engine=engine)


def _values(tree: Explanation | None) -> list[float]:
    """Every summand of a score, unrounded."""
    return [] if tree is None else [tree.value, *(value for part in tree.parts for value in _values(part))]


def _is_same(one: SearchResult, other: SearchResult) -> bool:
    """Whether two engines gave the same hits in the same order, with the same scores to nine digits."""
    scores, others = ([_values(hit.explanation) for hit in result.hits] for result in (one, other))
    without_trees, others_without = (
        result._replace(engine="", hits=tuple(hit._replace(explanation=None) for hit in result.hits))
        for result in (one, other)
    )
    return without_trees == others_without and all(
        mine == pytest.approx(theirs, abs=1e-9) for mine, theirs in zip(scores, others, strict=True)
    )


@pytest.mark.slow
def test_two_engines_give_the_same_answers_of_the_fixture_store(tmp_path: Path, second: Second) -> None:
    with load(str(tmp_path)) as store:
        other = second(store)
        answers = [(request, _asked(store, request), _asked(store, request, other)) for request in _REQUESTS]
    assert {answer.engine for _, answer, _ in answers} == {"fts5"}
    assert {answer.engine for _, _, answer in answers} == {other.name}
    assert [request for request, one, other in answers if not _is_same(one, other)] == []
    assert sum(bool(one.hits) for _, one, _ in answers) > len(answers) * 3 / 4


_WORDS = ("lock", "locks", "Locked", "getUserById", "user_id", "retry", "retries", "flush", "x1", "数据库", "café")
_TEXTS = st.lists(st.sampled_from(_WORDS), max_size=12).map(" ".join)
_DOCUMENTS = st.lists(
    st.tuples(
        _TEXTS, _TEXTS, st.sampled_from(("", "low", "high")), st.booleans(), st.sampled_from(("", "a/b.py", "c.md"))
    ),
    min_size=1, max_size=12,
)  # fmt: skip


def _marked(mark: str, word: str, more: str) -> str:
    return f"{mark}{word}{more}"


def _phrase(one: str, other: str) -> str:
    return f'"{one} {other}"'


_QUERIES = st.lists(
    st.builds(
        _marked,
        st.sampled_from(("", "", "", "-", "title:")), st.sampled_from(_WORDS), st.sampled_from(("", "", "*")),
    )
    | st.builds(_phrase, st.sampled_from(_WORDS), st.sampled_from(_WORDS)),
    min_size=1, max_size=4,
).map(" ".join)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_DOCUMENTS, st.lists(_QUERIES, min_size=8, max_size=8), st.integers(0, 12))
def test_two_engines_give_the_same_answers_of_any_store(
    tmp_path_factory: pytest.TempPathFactory,
    second: Second,
    texts: list[tuple[str, str, str, bool, str]],
    queries: list[str],
    removed: int,
) -> None:
    with make_store(tmp_path_factory.mktemp("any")) as store:
        _put(store, texts)
        other = second(store)
        _asked(store, SearchRequest("lock"), other)  # it has seen what is removed now
        with store.write() as change:
            documents.remove_owned(change, min(removed, len(texts)))
            documents.remove(change, min(removed, len(texts)))
        for query in queries:
            for by_passage in (False, True):
                request = SearchRequest(query, is_by_passage=by_passage)
                assert _is_same(_asked(store, request), _asked(store, request, other)), request


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with make_store(tmp_path_factory.mktemp("empty")) as store:
        yield store


@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text() | st.text(st.sampled_from("aB0_-. \t\0\n'é日"), max_size=30))
def test_the_terms_of_a_text_are_those_of_its_cuts(empty: Store, text: str) -> None:
    engines: tuple[Engine, ...] = (fts5_of(empty), MemoryEngine(empty))
    for engine in engines:
        cuts = engine.tokens_at(text.encode("utf-8", "replace"))
        assert engine.tokens(text) == [term for _, _, term in cuts]


def _put(store: Store, texts: list[tuple[str, str, str, bool, str]]) -> None:
    """Strategies, and passages of the first one."""
    with store.write() as change:
        for number, (title, body, priority, is_passage, path) in enumerate(texts, 1):
            is_passage = is_passage and number > 1
            documents.put(
                change,
                Document(
                    kind="passage" if is_passage else "strategy", number=None if is_passage else number, title=title,
                    body=body, created_at=number * DAY_US, ruleset=RULESET_VERSION, path=path, priority=priority,
                    owner_id=1 if is_passage else None, start_line=number,
                ),
            )  # fmt: skip


def test_an_engine_that_keeps_no_bounds_ranks_what_is_too_much_and_claims_no_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "MAX_ENUMERATED", 1)
    with make_store(tmp_path) as store:
        for number in range(4):
            save(store, f"{number}.md", None, summary="zebra " * (number + 1))
        result = _asked(store, SearchRequest("zebra"), MemoryEngine(store))
    assert len(result.hits) == 4 and result.is_capped and not result.is_exact


def test_a_batch_that_is_sent_twice_changes_nothing(tmp_path: Path, second: Second) -> None:
    with make_store(tmp_path) as store:
        _put(store, [("", word, "", False, "") for word in ("zebra heron", "ibex heron", "walrus")])
        early = read_changes(store.primary, "main", after=0, most=100)
        with store.write() as change:
            documents.remove(change, 2)
            documents.touch(change, 1, superseded_by=3)
        late = read_changes(store.primary, "main", after=0, most=100)
        store.catch_up()
        other = second(store)

        def apply(*batches: ChangeBatch) -> None:
            for batch in batches:
                assert isinstance(other, MemoryEngine | wide_engine.WideEngine)
                other.apply(batch)

        apply(early, late)
        answer = _asked(store, SearchRequest("heron"))
        apply(early, late, early)
        assert _is_same(_asked(store, SearchRequest("heron"), other), answer)
        assert not _asked(store, SearchRequest("ibex"), other).hits

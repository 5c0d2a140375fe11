"""A score is a function of the documents and the query: neither of the order of their saves nor of their past."""

import os
import tempfile
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from builders import make_store, save, write_file
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.records.packages import supersede
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.store import Store
from ctxrank.ranking import search
from ctxrank.ranking.retrieval.candidates import candidates
from ctxrank.ranking.retrieval.hits import SearchRequest
from ctxrank.ranking.retrieval.rerank import MAX_RERANKED, MAX_TIED, count_with_ties

_DAY_US = 86_400_000_000
_FIRST_US = 1_700_000_000_000_000
_AS_OF_US = 1_790_000_000_000_000
_WORDS = ("token", "tokens", "refresh", "refreshing", "database", "locked", "locking", "cache", "retry", "retries")
_LENGTHS = (1, 2, 3, 5, 5, 5, 20)


class _Doc(NamedTuple):
    """A document as it ends; `older` is what it supersedes, `past` what its file held before."""

    words: tuple[str, ...]
    session: str
    priority: str
    older: tuple[str, ...]
    past: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(self.words) + "\n"


def _text(seed: int, length: int) -> tuple[str, ...]:
    return tuple(_WORDS[(seed * 7 + at * at * (seed % 5 + 1)) % len(_WORDS)] for at in range(length))


_no_text: st.SearchStrategy[tuple[str, ...]] = st.just(())
_texts = st.builds(_text, st.integers(0, 400), st.sampled_from(_LENGTHS))
_docs = st.builds(
    _Doc,
    _texts,
    st.sampled_from("AB"),
    st.sampled_from(("low", "medium", "high")),
    st.one_of(_no_text, _no_text, _texts),
    st.one_of(_no_text, _no_text, _texts),
)
_queries = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4).map(" ".join)


def _packages(store: Store, docs: list[_Doc], order: list[int]) -> None:
    for at in order:
        doc = docs[at]
        older = 0
        if doc.older:
            text = " ".join(doc.older) + "\n"
            older = save(store, f"old{at}.md", text, session=doc.session, created_at=_FIRST_US).id
        made = save(
            store,
            f"d{at}.md",
            doc.text,
            session=doc.session,
            priority=doc.priority,
            created_at=_FIRST_US + at * _DAY_US,
        )
        if older:
            supersede(store, older, made.id)


def _files(store: Store, docs: list[_Doc], order: list[int]) -> None:
    """Through what the files held before, one by one, with some that are removed, and some of these added again."""
    root = Path(store.location.root)
    for at in order:
        doc = docs[at]
        if doc.past:
            write_file(store, f"f{at}.md", " ".join(doc.past) + "\n")
            write_file(store, f"gone{at}.md", " ".join(doc.past[::-1]) + "\n")
            index_artifacts(store)
            os.unlink(root / f"gone{at}.md")
            if at % 2:
                os.unlink(root / f"f{at}.md")
                index_artifacts(store)
        write_file(store, f"f{at}.md", doc.text)
    index_artifacts(store)


def _answers(store: Store, query: str, config: Config) -> dict[str, list[tuple[str, float]]]:
    """What each sort of search says, by path; ties as they come."""
    asked = {
        "the store": SearchRequest(query, limit=1000, as_of=_AS_OF_US),
        "a session": SearchRequest(query, limit=1000, as_of=_AS_OF_US, session="A"),
        "a few": SearchRequest(query, limit=3, as_of=_AS_OF_US),
    }
    answered = {name: search(store, request, config) for name, request in asked.items()}
    assert config.fts5 or {answer.outcome for answer in answered.values()} == {"degraded"}
    return {name: [(hit.path, hit.score or 0.0) for hit in answer.hits] for name, answer in answered.items()}


def _assert_same(first: dict[str, list[tuple[str, float]]], second: dict[str, list[tuple[str, float]]]) -> None:
    for name, hits in first.items():
        others = second[name]
        assert [score for _, score in hits] == pytest.approx([score for _, score in others], abs=1e-9), name
        if name != "a few":  # of equal ones either may be among them
            assert dict(hits) == pytest.approx(dict(others), abs=1e-9), name
        scores = [score for _, score in hits]
        alone = [at for at in range(len(scores)) if min(_distances(scores, at), default=1.0) > 1e-9]
        assert [hits[at][0] for at in alone[:-1]] == [others[at][0] for at in alone[:-1]], name


def _distances(scores: list[float], at: int) -> list[float]:
    return [abs(score - scores[at]) for other, score in enumerate(scores) if other != at]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["index", "bounds", "fallback"])
@settings(max_examples=6, phases=(Phase.explicit, Phase.reuse, Phase.generate))  # an example takes too long to shrink
@given(
    docs=st.lists(_docs, min_size=30, max_size=70),
    query=_queries,
    files=st.lists(_docs, max_size=12),
    random=st.randoms(),
)
def test_the_order_of_saves_and_what_was_before_change_no_score(
    way: str, docs: list[_Doc], query: str, files: list[_Doc], random: Random
) -> None:
    answers: list[dict[str, list[tuple[str, float]]]] = []
    with pytest.MonkeyPatch.context() as patch:
        if way == "bounds":  # as in a store with thousands of rows that match
            patch.setattr(candidates, "MAX_ENUMERATED", 10)
        for is_shuffled in (False, True):
            order, files_order = list(range(len(docs))), list(range(len(files)))
            final = [doc if is_shuffled else doc._replace(past=()) for doc in files]
            if is_shuffled:
                random.shuffle(order)
                random.shuffle(files_order)
            with tempfile.TemporaryDirectory() as folder, make_store(Path(folder)) as store:
                _packages(store, docs, order)
                _files(store, final, files_order)
                answers.append(_answers(store, query, Config(fts5=way != "fallback")))
    _assert_same(*answers)


@pytest.mark.parametrize(
    ("scores", "count"),
    [
        ([3.0, 2.0], 2),
        ([float(-at) for at in range(100)], MAX_RERANKED),
        ([5.0] * 20 + [4.0] * 20 + [3.0] * 20, 40),
        ([5.0] * 20 + [4.0] * 200, 20),
        ([5.0] * 200, 0),
        ([5.0] * 90, 90),
    ],
)
def test_equal_scores_are_reranked_all_or_none(scores: list[float], count: int) -> None:
    assert count_with_ties(scores, MAX_RERANKED, MAX_TIED) == count

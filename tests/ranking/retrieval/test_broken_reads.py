"""An index that breaks while it is read: whose fault it was decides whether it is healed, set aside or told."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from builders import always, make_store, save

from ctxrank.indexer.store.store import Store
from ctxrank.ranking.retrieval import search as searching
from ctxrank.ranking.retrieval.hits import SearchRequest, SearchResult
from ctxrank.ranking.retrieval.plan import make_plan
from ctxrank.ranking.retrieval.search import search


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as store:
        save(store, "a.md", "walrus\n", summary="x")
        yield store


def _asked(store: Store, patch: pytest.MonkeyPatch, *errors: Exception) -> tuple[SearchResult, int]:
    """The answer where the first looks into the index fail so, and how often it was looked into."""
    looks, waiting = [0], list(errors)

    def breaking(*given: object, **more: object) -> object:
        looks[0] += 1
        if waiting:
            raise waiting.pop(0)
        return make_plan(*given, **more)  # type: ignore[arg-type]

    patch.setattr(searching, "make_plan", breaking)
    return search(store, SearchRequest("walrus")), looks[0]


@pytest.mark.parametrize("error", [ValueError("odd"), apsw.CorruptError("odd"), TypeError("odd")])
def test_what_breaks_once_is_asked_once_more(store: Store, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    result, looks = _asked(store, monkeypatch, error)
    assert (result.outcome, [hit.path for hit in result.hits], looks) == ("matched", ["a.md"], 2)


def test_damage_that_stays_is_answered_without_an_index(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    result, looks = _asked(store, monkeypatch, apsw.CorruptError("odd"), apsw.CorruptError("odd"))
    assert (result.outcome, [hit.path for hit in result.hits], looks) == ("degraded", ["a.md"], 2)


def test_a_mistake_of_ours_that_stays_is_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="odd"):
        _asked(store, monkeypatch, ValueError("odd"), ValueError("odd"))


def test_a_damaged_row_of_the_store_is_no_reason_to_make_its_index_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctxrank.indexer.store.parents.has_corrupt_rows", always(True))
    result, looks = _asked(store, monkeypatch, ValueError("odd"))
    assert (result.outcome, [hit.path for hit in result.hits], looks) == ("degraded", ["a.md"], 1)
    assert _asked(store, monkeypatch, apsw.CorruptError("odd"))[0].outcome == "matched", "the index itself is damaged"

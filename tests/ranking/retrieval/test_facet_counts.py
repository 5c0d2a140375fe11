"""What was found, counted by field; and what a score is made of, by kinds."""

from pathlib import Path

import pytest
from builders import found, make_store, save

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.store.parents import ParentDocument
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.retrieval.facet_counts import counted


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = make_store(tmp_path)
    now = now_us()
    save(made, "a.md", "Retry the walrus.", session="one", priority="critical", created_at=now - 2 * DAY_US)
    save(made, "b.md", "The walrus waits.", session="one", priority="low", created_at=now - 40 * DAY_US)
    save(made, "c.md", "No walrus here.", session="two", priority="low", created_at=now - 200 * DAY_US)
    return made


def test_what_was_found_is_counted_and_nothing_else(store: Store) -> None:
    facets = found(store, "walrus", has_facets=True, limit=1).facets
    assert facets is not None and facets.counted == 3
    assert facets.fields == {
        "kind": [("package", 3)],
        "type": [("research", 3)],
        "agent": [("investigator", 3)],
        "origin": [],
        "session": [("one", 2), ("two", 1)],
        "priority": [("critical", 1), ("low", 2)],
        "since": [("7d", 1), ("30d", 1), ("90d", 2)],
    }
    waits = found(store, "waits", has_facets=True).facets
    assert waits is not None and waits.fields["priority"] == [("low", 1)]


def test_filters_alone_are_counted_too(store: Store) -> None:
    facets = found(store, "priority:low", has_facets=True).facets
    assert facets is not None and facets.fields["session"] == [("one", 1), ("two", 1)]


def test_what_is_found_without_the_index_is_counted_too(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    facets = found(store, "walrus", has_facets=True).facets
    monkeypatch.setenv("CTXRANK_FTS5", "0")
    result = found(store, "walrus", has_facets=True, limit=1)
    assert result.outcome == "degraded" and result.facets == facets and facets is not None


def test_nobody_who_did_not_ask_waits_for_counts(store: Store) -> None:
    assert found(store, "walrus").facets is None


def test_nothing_has_no_values(store: Store) -> None:
    one = ParentDocument(1, "error", 1, "", "", "", None, None, "", "", "", 0, None, 1, None)
    facets = counted(store.primary, [one])
    assert facets.fields == {
        "kind": [("error", 1)],
        "type": [],
        "agent": [],
        "origin": [],
        "session": [],
        "priority": [],
        "since": [],
    }


def test_the_shares_of_a_score_add_up_to_it(store: Store) -> None:
    for hit in found(store, "retry walrus", is_explained=True).hits:
        shares = hit.shares
        assert shares is not None and hit.score is not None
        total = shares.words + shares.together + shares.priority + shares.group + shares.recency
        assert total == pytest.approx(hit.score, abs=1e-5)
        assert sum(value for _, value in shares.terms) == pytest.approx(shares.words, abs=1e-5)

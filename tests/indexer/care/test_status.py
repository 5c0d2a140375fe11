"""What `status` reads of a store: its notes, its index, and what it was stored under."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store, save, write_file

from ctxrank.indexer.care.status import read_status
from ctxrank.indexer.engine import IndexHealth
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store.store import Store

_NO_FTS5 = '{"context_engineering": {"enable_fts5": false}}'


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as made:
        save(made, "a.md", "walrus\n", summary="x")
        made.catch_up()
        yield made


def test_a_store_that_is_well_has_nothing_to_say(store: Store) -> None:
    found = read_status(store)
    assert (found.notes, found.index_trouble, found.stale, found.origins) == ((), "", 0, {})
    assert found.documents == {"package": 1, "passage": 1} and found.artifacts == {"indexed": 1}
    assert (found.ruleset, found.older_ruleset, found.older_user_rules) == (RULESET_VERSION, 0, 0)


def test_the_orchestrator_s_belief_about_fts5_is_noted_while_fts5_answers(store: Store) -> None:
    write_file(store, "bazinga/skills_config.json", _NO_FTS5)
    (note,) = read_status(store).notes
    assert "enable_fts5" in note and "is used" in note


def test_an_index_that_is_switched_off_answers_nothing_and_is_no_news_of_the_orchestrator(store: Store) -> None:
    write_file(store, ".ctxrank/config.yaml", "fts5: off\n")
    assert (read_status(store).index_trouble, read_status(store).notes) == (IndexHealth.OFF, ())


def test_what_was_stored_under_older_rules_is_counted(store: Store) -> None:
    save(store, "b.md", "heron\n", summary="y")
    store.primary.execute("UPDATE documents SET ruleset = ruleset - 1 WHERE path = 'b.md'")
    own = store.primary.execute("SELECT count(*) FROM documents WHERE path = 'b.md'").get
    assert read_status(store).older_ruleset == own > 0

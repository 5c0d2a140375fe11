"""The fallback search: what is answered from the primary database where the index cannot be asked."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import make_store, save
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.fulltext.fts5_engine import fts5_of, index_of
from ctxrank.indexer.records.packages import supersede
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.retrieval.hits import SearchRequest, SearchResult
from ctxrank.ranking.retrieval.search import search

_OFF = Config(fts5=False)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as store:
        yield store


def _search(store: Store, query: str, **filters: Any) -> SearchResult:
    return search(store, SearchRequest(query)._replace(**filters), _OFF)


def _files(store: Store, query: str, **filters: Any) -> list[str]:
    return [hit.path for hit in _search(store, query, **filters).hits]


def test_an_index_that_is_switched_off_is_degraded_and_says_why(store: Store) -> None:
    save(store, "a.md", "walrus\n", summary="x")
    result = _search(store, "walrus")
    assert (result.outcome, result.engine, result.total) == ("degraded", "heuristic", 1)
    assert result.reason == "FTS5 is switched off in the configuration"


def test_a_word_that_is_asked_for_in_two_columns_may_stand_in_each(store: Store) -> None:
    save(store, "a.md", "# Walrus\n\nIt waits.\n", summary="x")
    save(store, "b.md", "# Seal\n\nNo walrus.\n", summary="x")
    for query in ("walrus title:walrus", "title:walrus walrus", "body:walrus title:walrus"):
        assert sorted(_files(store, query)) == ["a.md", "b.md"], query
    assert _files(store, "title:walrus title:walrus") == _files(store, "title:walrus") == ["a.md"]


def test_an_index_by_a_newer_program_is_left_alone_and_the_primary_answers(store: Store) -> None:
    save(store, "a.md", "walrus\n", summary="x")
    index_of(store).connection.execute("UPDATE main.state SET format = format + 1")
    fts5_of(store).reopen_index()
    result = search(store, SearchRequest("walrus"), Config())
    assert (result.outcome, result.reason) == ("degraded", "the index was made by a newer ctxrank")
    assert [hit.path for hit in result.hits] == ["a.md"]


def test_a_damaged_index_heals_and_answers_as_if_nothing_had_been(store: Store) -> None:
    save(store, "a.md", "walrus\n", summary="x")
    index_of(store).connection.execute("DELETE FROM main.fts_data")
    fts5_of(store).reopen_index()
    result = search(store, SearchRequest("walrus"), Config())
    assert (result.outcome, result.engine, len(result.hits)) == ("matched", "fts5", 1)


def test_words_are_found_in_titles_summaries_paths_and_passages(store: Store) -> None:
    save(store, "walrus.md", None, summary="x", created_at=DAY_US)
    save(store, "b.md", None, summary="a walrus", created_at=DAY_US)
    save(store, "c.md", "# Walrus\n\ntext\n", summary="x", created_at=DAY_US)
    assert sorted(_files(store, "WALRUS")) == ["b.md", "c.md", "walrus.md"]


def test_more_of_the_query_s_words_rank_higher(store: Store) -> None:
    save(store, "a.md", None, summary="walrus")
    save(store, "b.md", None, summary="walrus and zebra")
    assert _files(store, "what of the walrus and zebra?") == ["b.md", "a.md"]


def test_a_word_of_the_title_and_one_of_a_passage_are_two_words(store: Store) -> None:
    save(store, "once.md", "zebra\n", summary="walrus")
    save(store, "twice.md", "zebra\n", summary="zebra")
    for query, best in (("walrus zebra", "once.md"), ("zebra walrus heron", "once.md")):
        first, second = _search(store, query).hits
        assert first.path == best and (first.score or 0) > (second.score or 0)
    whole = _search(store, "walrus zebra").hits[0]
    assert whole.score == pytest.approx(_search(store, "zebra", path="once.md").hits[0].score)


def test_passages_are_hits_of_their_own_here_too(store: Store) -> None:
    parts = [f"## Part {at}\n\n{'ice ' * 300}walrus {at}" for at in range(3)]
    save(store, "a.md", "\n\n".join(("# Seals", "A walrus waits.", *parts)), summary="walrus")
    save(store, "b.md", "# Bears\n\nNo walrus, but a zebra.\n", summary="walrus")
    for query in ("walrus", "walrus -zebra", "title:part walrus", "walrus kind:package", "walrus path:b.md", "walrsu"):
        request = SearchRequest(query, is_by_passage=True)
        here, there = (search(store, request, config).hits for config in (_OFF, Config()))
        shown = [
            {(hit.id, hit.kind, hit.title, hit.path, hit.session, hit.type, hit.file_state) for hit in hits}
            for hits in (here, there)
        ]
        assert here and shown[0] == shown[1], query
        assert all([hit.id] == [f"passage:{passage.id}" for passage in hit.passages] for hit in here), query


def test_a_phrase_must_occur_and_an_excluded_word_must_not(store: Store) -> None:
    save(store, "a.md", "connection\nreset by peer\n", summary="x")
    save(store, "b.md", "reset the connection\n", summary="x")
    assert _files(store, '"connection reset"') == ["a.md"]
    assert _files(store, "connection -peer") == ["b.md"]
    assert _files(store, "connection -reset", is_syntax=True) == []


def test_a_column_narrows_here_too(store: Store) -> None:
    save(store, "a.md", "# Retry\n\nnothing\n", summary="x")
    save(store, "b.md", "retry here\n", summary="x")
    assert _files(store, "title:retry") == ["a.md"]
    assert _files(store, "body:here") == ["b.md"]


@pytest.mark.parametrize(
    ("filters", "files"),
    [
        ({"session": "S2"}, ["b.md"]),
        ({"group": "A"}, ["a.md"]),
        ({"group": "a"}, []),
        ({"agent": "qa_expert"}, ["b.md"]),
        ({"type": "decisions"}, ["a.md"]),
        ({"priority": "high"}, ["b.md"]),
        ({"kinds": ("package",)}, ["b.md", "a.md"]),
        ({"kinds": ("passage",)}, ["b.md", "a.md"]),
        ({"kinds": ("error",)}, []),
        ({"since": 5 * DAY_US}, ["b.md"]),
        ({"until": 5 * DAY_US}, ["a.md"]),
        ({"path": "*.txt"}, []),
        ({"path": "a.md"}, ["a.md"]),
        ({"limit": 1}, ["b.md"]),
    ],
)
def test_the_filters_are_those_of_the_index(store: Store, filters: dict[str, Any], files: list[str]) -> None:
    save(store, "a.md", "walrus\n", group="A", type="decisions", priority="low", created_at=DAY_US)
    save(store, "b.md", "walrus\n", session="S2", producer="qa_expert", priority="high", created_at=9 * DAY_US)
    assert _files(store, "walrus", **filters) == files
    assert [hit.path for hit in search(store, SearchRequest("walrus")._replace(**filters), Config()).hits] == files


def test_a_title_that_is_only_like_the_query_is_found_where_no_word_occurs(store: Store) -> None:
    save(store, "a.md", None, summary="database migration")
    save(store, "b.md", None, summary="colours of the page")
    assert _files(store, "databsae migratoin") == ["a.md"]
    assert _files(store, "databsae migratoin -page -database", is_syntax=True) == []


def test_mistyped_words_find_texts_that_have_them_apart(store: Store) -> None:
    save(store, "a.md", "# Locks\n\nThe database is often locked when two workers start.\n", summary="Workers wait")
    save(store, "b.md", "The database is large.\n", summary="x")
    save(store, "c.md", "colours of the page 1200\n", summary="x")
    result = _search(store, "lokced databse")
    assert [hit.path for hit in result.hits] == ["a.md", "b.md"]
    assert result.corrections == (("lokced", ("locked",)), ("databse", ("database",)))
    assert "The **database** is often **locked**" in result.hits[0].snippet
    assert (result.hits[0].score or 0) > (result.hits[1].score or 0)
    assert sorted(_files(store, "databse migratoin wrokers")) == ["a.md", "b.md"]
    assert _files(store, "lokced databse -workers", is_syntax=True) == ["b.md"]
    assert _search(store, "title:databse").corrections == _search(store, "title:database").corrections == ()
    assert _files(store, "title:databse") == _files(store, "1201 lck zzzzzz") == []
    assert _files(store, "locked databse") == ["a.md"] and _search(store, "locked databse").corrections == ()


def test_of_equally_near_words_the_one_that_more_documents_use_stands_in(store: Store) -> None:
    for number, word in enumerate(("walrus", "walruz", "walruz")):
        save(store, f"{number}.md", None, summary=f"a {word}")
    assert _search(store, "walrux").corrections == (("walrux", ("walruz",)),)


@each_row(
    "word, typed, stands_in",
    [
        ("lock", "lokc", True),
        ("loc", "loo", False),  # so few letters are near to anything
        ("a" * 48, "a" * 47 + "b", True),
        ("a" * 49, "a" * 48 + "b", False),
        ("lock2", "lokc2", False),  # what has a digit is right or wrong, and not near
        ("abcd", "abce", True),  # three letters of four
        ("abcd", "abef", False),
    ],
)
def test_which_words_may_stand_in_for_which(store: Store, word: str, typed: str, stands_in: bool) -> None:
    save(store, "a.md", None, summary=f"{word} and the rest of a long summary about herons on the northern pier")
    assert _search(store, typed).corrections == (((typed, (word,)),) if stands_in else ())


def test_of_more_than_twelve_words_none_is_corrected(store: Store) -> None:
    save(store, "a.md", None, summary="database")
    others = [f"qqq{letter}" for letter in "abcdefghijkl"]
    assert _search(store, " ".join(["databse", *others[:11]])).corrections != ()
    assert _search(store, " ".join(["databse", *others])).corrections == ()


def test_a_word_that_stands_in_is_worth_half_of_how_near_it_is(store: Store) -> None:
    save(store, "a.md", None, summary="the database")
    for query, share in (("database", 1.0), ("databse", 0.5 * 14 / 15), ("databse zzzzzzz", 0.5 * 14 / 15 * 7 / 14)):
        (hit,) = _search(store, query, is_explained=True).hits
        assert hit.explanation is not None
        assert hit.explanation.parts[0].value == pytest.approx(0.9 * share), query
        assert hit.explanation.parts[0].meaning == f"{share:.2f} of the query's words, by length"


def test_a_title_that_is_only_like_the_query_is_worth_half_of_how_alike_it_is(store: Store) -> None:
    save(store, "a.md", None, summary="database migration")
    (exact,) = _search(store, "database migration", is_explained=True).hits
    (alike,) = _search(store, "databasemigration", is_explained=True).hits
    assert exact.explanation is not None and alike.explanation is not None
    values = [hit.explanation.parts[0].value for hit in (exact, alike) if hit.explanation is not None]
    assert values[0] == pytest.approx(0.9) and 0.75 * 0.45 < values[1] < 0.45


def test_likeness_is_no_substitute_for_a_phrase(store: Store) -> None:
    save(store, "a.md", None, summary="database migration")
    assert _files(store, '"databsae migratoin"', is_syntax=True) == []


def test_superseded_comes_after_what_supersedes_it(store: Store) -> None:
    old = save(store, "old.md", None, summary="walrus", priority="critical")
    new = save(store, "new.md", None, summary="walrus in a long text about other things", priority="low")
    supersede(store, old.id, new.id)
    assert _files(store, "walrus") == ["new.md", "old.md"]


def test_snippets_mark_each_occurrence_and_only_these(store: Store) -> None:
    save(store, "a.md", None, summary="A **walrus**, İstanbul walrus and Walruses")
    (hit,) = _search(store, "walrus").hits
    assert hit.snippet == "A **walrus**, İstanbul **walrus** and **Walrus**es"


def test_an_explanation_adds_up_and_its_root_is_the_score(store: Store) -> None:
    save(store, "a.md", None, summary="walrus")
    (hit,) = _search(store, "walrus zebra", is_explained=True).hits
    assert hit.explanation is not None
    assert hit.explanation.value == pytest.approx(hit.score, abs=1e-6)
    assert sum(part.value for part in hit.explanation.parts) == pytest.approx(hit.explanation.value)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with make_store(tmp_path_factory.mktemp("shared")) as store:
        save(store, "a.md", "walrus (zebra) [yak]\n", summary="x")
        yield store


@settings(max_examples=examples(80))
@given(
    st.one_of(
        st.text(max_size=30),
        st.lists(st.sampled_from(['"', "*", "-", "(", "[", "\\", "walrus", " ", "%", "_"])).map("".join),
    )
)
def test_no_text_is_an_error_here_either(shared: Store, text: str) -> None:
    assert _search(shared, text).outcome == "degraded"

"""Search: what is found, in which order, with which snippet and why."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import found, make_store, save, search_ids, write_file
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import each_row
from written import Reasoning, Strategy, write

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.records.packages import supersede
from ctxrank.indexer.records.reasoning import NewReasoning, save_reasoning
from ctxrank.indexer.records.sessions import create_group, require_group, require_session
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.formulas.explanation import Explanation
from ctxrank.ranking.retrieval.hits import Hit, SearchRequest
from ctxrank.ranking.retrieval.query import MAX_QUERY_CHARS, parse_query
from ctxrank.ranking.retrieval.search import search


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as store:
        yield store


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A corpus that a reader can hold in mind; the tests that share it only read."""
    with make_store(tmp_path_factory.mktemp("small")) as store:
        save(store, "locks.md", "# Locks\n\nThe database is locked while the WAL grows.\n", summary="Lock waits.")
        save(store, "users.py", "def get_user_by_id(key):\n    return users[key]\n", summary="User lookup.")
        save(store, "ui.ts", "const row = getUserById(7)\n", summary="The user page.", priority="low")
        save(store, "cafe.md", "# Café\n\nnaïve résumé parsing\n", summary="Accents.", priority="high")
        save(store, "cjk.md", "# 数据库\n\n我们修复了数据库连接超时的问题。\n", summary="中文")
        save(store, "auth.md", "# Sign-in\n\nAuthentication and migrations of tokens.\n", summary="Sign-in.")
        yield store


def _files(store: Store, query: str, **filters: Any) -> list[str]:
    return [hit.path for hit in found(store, query, **filters).hits]


# Words


def test_a_long_question_finds_what_holds_only_some_of_its_words(small: Store) -> None:
    assert _files(small, "why does it say that my production database was locked again since Monday?")[0] == "locks.md"


def test_more_of_the_rare_words_rank_higher(store: Store) -> None:
    save(store, "one.md", "walrus\n", summary="x")
    save(store, "both.md", "walrus zebra\n", summary="x")
    assert _files(store, "walrus zebra") == ["both.md", "one.md"]


def test_a_phrase_must_occur_as_it_stands(store: Store) -> None:
    save(store, "a.md", "connection reset by peer\n", summary="x")
    save(store, "b.md", "reset the connection\n", summary="x")
    assert _files(store, '"connection reset"') == ["a.md"]


def test_a_phrase_does_not_cross_two_passages(store: Store) -> None:
    save(store, "a.md", "# One\n\nends with alpha\n\n# Two\n\nbeta begins\n", summary="x")
    assert search_ids(store, '"alpha beta"', is_syntax=True) == []


def test_an_excluded_word_takes_a_document_out(small: Store) -> None:
    assert set(_files(small, "user lookup page")) == {"users.py", "ui.ts"}
    assert _files(small, "user -page") == ["users.py"]


def test_each_of_several_excluded_words_takes_documents_out(store: Store) -> None:
    for name in ("walrus", "walrus zebra", "walrus heron"):
        save(store, f"{name}.md", f"{name}\n", summary="x")
    assert _files(store, "walrus -zebra -heron") == ["walrus.md"]


def test_an_exclusion_speaks_of_the_whole_file_and_not_of_one_passage(store: Store) -> None:
    save(store, "a.md", f"# One\n\nwalrus {'pad ' * 300}\n\n# Two\n\nzebra {'pad ' * 300}\n", summary="x")
    assert search_ids(store, "walrus -zebra", is_syntax=True) == []


def test_two_phrases_may_stand_in_two_passages_of_a_file(store: Store) -> None:
    save(store, "a.md", f"# One\n\nold walrus {'pad ' * 300}\n\n# Two\n\nred zebra {'pad ' * 300}\n", summary="x")
    save(store, "b.md", "# One\n\nold walrus\n", summary="x")
    assert search_ids(store, '"old walrus" "red zebra"') == ["package:1"]


def test_a_prefix_finds_each_way_a_word_goes_on(small: Store) -> None:
    for prefix in ("migrat*", "migrati*", "migration*", "migrations*", "Authenticat*", "authentica*", "auth*"):
        assert _files(small, prefix) == ["auth.md"], prefix


def test_a_prefix_does_not_find_what_only_shares_its_stem(store: Store) -> None:
    save(store, "a.md", "the runtime of things\n", summary="x")
    assert search_ids(store, "running*") == []
    assert search_ids(store, "run*") == ["package:1"]


def test_a_prefix_that_stems_to_a_shorter_one_finds_no_more_than_it_says(store: Store) -> None:
    """FTS5 cuts `studies` to `studi` before it looks for what begins so."""
    for name in ("studies", "studio"):
        save(store, f"{name}.md", f"{name}\n", summary="x")
    assert _files(store, "studies*") == ["studies.md"]


def test_an_accented_prefix_is_folded_like_its_word(small: Store) -> None:
    assert _files(small, "caf*") == _files(small, "CAFÉ*") == ["cafe.md"]


def test_a_column_narrows_a_word(store: Store) -> None:
    save(store, "a.md", "# Retry\n\nnothing\n", summary="x")
    save(store, "b.md", "retry here\n", summary="x")
    assert _files(store, "title:retry") == ["a.md"]
    assert _files(store, "body:here") == ["b.md"] and _files(store, "title:here") == []


@pytest.mark.parametrize("query", ["getUserById", "get_user_by_id", "get-user-by-id", "GetUserByID"])
def test_an_identifier_is_found_in_each_of_its_spellings(small: Store, query: str) -> None:
    assert set(_files(small, query)[:2]) == {"users.py", "ui.ts"}


def test_the_spelling_that_was_asked_for_comes_first(store: Store) -> None:
    save(store, "a.md", None, summary="call getUserById here")
    save(store, "b.md", None, summary="call get_user_by_id here")
    assert _files(store, "getUserById") == ["a.md", "b.md"]
    assert _files(store, "get_user_by_id") == ["b.md", "a.md"]


@each_row("query", ["数据库", "连接", "超时的问题", '"数据库连接"', "库"])
def test_cjk_is_found_inside_a_run_that_has_no_spaces(small: Store, query: str) -> None:
    assert _files(small, query) == ["cjk.md"]


def test_a_cjk_phrase_must_occur_and_an_excluded_one_must_not(small: Store) -> None:
    assert _files(small, '"库数"') == []
    assert _files(small, "中文 -超时", is_syntax=True) == []


@pytest.mark.parametrize("query", ["cafe", "CAFÉ", "resume", "naive"])
def test_accents_and_case_do_not_matter(small: Store, query: str) -> None:
    assert _files(small, query) == ["cafe.md"]


def test_stop_words_alone_are_searched_for(store: Store) -> None:
    save(store, "a.md", "to be or not to be\n", summary="x")
    assert search_ids(store, "to be or not to be") == ["package:1"]


def test_stop_words_are_left_out_with_punctuation_too(store: Store) -> None:
    save(store, "a.md", "what is it, then\n", summary="x")
    assert search_ids(store, "what is (the) walrus, then?") == []


def test_an_empty_query_finds_nothing_and_is_no_error(small: Store) -> None:
    for text in ("", "   ", "***", '""', "-locked"):
        result = found(small, text, is_syntax=True)
        assert (result.hits, result.outcome, result.total) == ((), "no_match", 0)


def test_where_nothing_matches_near_words_are_suggested(small: Store) -> None:
    result = found(small, "dtabseee")  # three edits: too far to stand in for it
    assert (result.outcome, result.hits, result.unknown) == ("no_match", (), ("dtabseee",))
    assert "database" in result.suggestions


def test_a_word_whose_stem_alone_is_near_is_not_suggested(store: Store) -> None:
    save(store, "a.md", "The answering machine.\n")
    assert found(store, "asdfqwer").suggestions == ()
    assert found(store, "anssweriiing").suggestions == ("answering",)


# Filters


def test_groups_are_exact_whatever_a_tokenizer_would_make_of_them(store: Store) -> None:
    names = ["group_auth", "group_auths", "GROUP-auth", "group_auth_api", "group auth"]
    for number, name in enumerate(names):
        save(store, f"{number}.md", "walrus\n", group=name)
    for number, name in enumerate(names):
        assert _files(store, "walrus", group=name) == [f"{number}.md"]
        assert _files(store, f'walrus group:"{name}"') == [f"{number}.md"]


def test_the_same_group_name_in_two_sessions_is_two_groups(store: Store) -> None:
    save(store, "a.md", "walrus\n", session="S1", group="AUTH")
    save(store, "b.md", "walrus\n", session="S2", group="AUTH")
    assert _files(store, "walrus", group="AUTH", session="S2") == ["b.md"]
    assert sorted(_files(store, "walrus", group="AUTH")) == ["a.md", "b.md"]


def test_a_group_of_another_session_is_none_of_the_one_that_is_asked_for(store: Store) -> None:
    for session, group in (("S", "G"), ("T", "H")):
        save(store, f"{group}.md", "walrus\n", session=session, group=group)
    assert found(store, "walrus", session="T", group="H").notes == ()
    assert found(store, "walrus", session="S", group="H").notes == ("There is no group 'H'.",)


@pytest.mark.parametrize("group", ["", "-", " - "])
def test_a_session_wide_group_filters_nothing(store: Store, group: str) -> None:
    save(store, "a.md", "walrus\n", group="AUTH")
    assert _files(store, "walrus", group=group) == ["a.md"]


@pytest.mark.parametrize(
    ("filters", "files"),
    [
        ({"agent": "qa_expert"}, ["b.md"]),
        ({"agent": "QA Expert"}, ["b.md"]),
        ({"type": "decisions"}, ["a.md"]),
        ({"priority": "High"}, ["b.md"]),
        ({"kinds": ("artifact",)}, []),
        ({"kinds": ("package",)}, ["b.md", "a.md"]),
        ({"kinds": ("passage",)}, ["b.md", "a.md"]),
        ({"since": 5 * DAY_US}, ["b.md"]),
        ({"until": 5 * DAY_US}, ["a.md"]),
        ({"path": "b.md"}, ["b.md"]),
    ],
)
def test_each_filter_keeps_exactly_what_has_the_value(store: Store, filters: dict[str, Any], files: list[str]) -> None:
    save(store, "a.md", "walrus\n", type="decisions", priority="low", created_at=DAY_US)
    save(store, "b.md", "walrus\n", producer="qa_expert", priority="high", created_at=9 * DAY_US)
    assert _files(store, "walrus", **filters) == files


def test_both_ends_of_a_time_are_included_and_of_two_times_the_narrower_one_holds(store: Store) -> None:
    for day in (1, 2, 3):
        save(store, f"{day}.md", "walrus\n", created_at=day * DAY_US)
    assert sorted(_files(store, "walrus", since=2 * DAY_US, until=3 * DAY_US)) == ["2.md", "3.md"]
    assert _files(store, "walrus", since=2 * DAY_US, until=3 * DAY_US - 1) == ["2.md"]
    assert _files(store, "walrus", since=2 * DAY_US + 1) == ["3.md"]
    assert _files(store, "walrus since:1970-01-02", since=3 * DAY_US) == ["3.md"]
    assert _files(store, "walrus until:1970-01-04", until=DAY_US) == ["1.md"]


def test_records_are_found_by_kind_and_phase(store: Store) -> None:
    save(store, "a.md", "walrus\n")
    with store.write() as change:
        session = require_session(change, "S", create=False)
        write(change, Reasoning(session.id, None, "developer", "risks", "a walrus", DAY_US))
        write(change, Strategy("n", "p", "general", "the walrus way", 1, 1))
    assert search_ids(store, "walrus kind:reasoning") == ["reasoning:1"]
    assert search_ids(store, "walrus phase:risks") == ["reasoning:1"]
    assert search_ids(store, "walrus kind:strategy kind:reasoning", limit=9)[-1] != "package:1"
    assert len(search_ids(store, "walrus")) == 3


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("src/auth", ["src/auth/a.py"]),
        ("./src/auth/", ["src/auth/a.py"]),
        ("a.py", ["src/auth/a.py"]),
        ("*.py", ["src/auth/a.py", "src/authors/b.py"]),
        ("**/*.md", ["notes.md"]),
        ("src/**/*.py", ["src/auth/a.py", "src/authors/b.py"]),
        ("src/**/auth/*.py", ["src/auth/a.py"]),
        ("auth*", ["src/auth/a.py", "src/authors/b.py"]),
        ("uth", []),
        ("pages/[id].tsx", ["pages/[id].tsx"]),
    ],
)
def test_a_path_filter_takes_names_whole_and_patterns_as_globs(store: Store, pattern: str, files: list[str]) -> None:
    for path in ("src/auth/a.py", "src/authors/b.py", "notes.md", "pages/[id].tsx"):
        save(store, path, "walrus\n", summary="x")
    assert sorted(_files(store, "walrus", path=pattern)) == sorted(files)


def test_a_name_that_nothing_has_finds_nothing_and_says_so(small: Store) -> None:
    for query in ("session:none", "group:nowhere", "agent:nobody", "type:none", "priority:urgent"):
        result = found(small, f"locked {query}")
        assert result.hits == () and query.split(":")[1] in result.notes[0]


def test_a_filter_that_cannot_be_is_refused_as_its_flag_is(small: Store) -> None:
    for text in ("locked kind:Pod", "since:yesteryear locked", "phase:bogus locked", "-kind:Pod locked"):
        with pytest.raises(UsageError):
            found(small, text)
    assert _files(small, "locked kind:Pod", is_plain=True) == ["locks.md"], "plain words know no filter"


def test_what_is_filtered_out_is_in_no_hit(small: Store) -> None:
    assert _files(small, "locked -path:locks.md") != _files(small, "locked")
    assert "locks.md" not in _files(small, "locked -path:locks.md")
    assert search_ids(small, "locked -kind:package -kind:artifact") == [
        id_ for id_ in search_ids(small, "locked") if not id_.startswith(("package:", "artifact:"))
    ]
    assert search_ids(small, "locked -session:nobody") == search_ids(small, "locked")


def test_several_values_of_one_filter_are_alternatives(store: Store) -> None:
    for number, session in enumerate(("S1", "S2", "S3")):
        save(store, f"{number}.md", "walrus\n", session=session, summary="x")
    assert sorted(_files(store, "walrus", session=("S1", "S3"))) == ["0.md", "2.md"]
    assert sorted(_files(store, "walrus -session:S2")) == ["0.md", "2.md"]
    assert _files(store, "walrus", path=("0.md", "1.md"), session="S2") == ["1.md"]


def test_a_phrase_or_an_exclusion_that_leaves_nothing_is_asked_as_plain_words(small: Store) -> None:
    for text in ('"locked database the grows"', "locked -database -is -the", '"locked banana"'):
        result = found(small, text)
        assert result.hits and result.is_relaxed and "plain words" in result.notes[-1], text
        strict = found(small, text, is_syntax=True)
        assert not strict.hits and not strict.is_relaxed
        assert strict.query == result.query
    assert not found(small, '"locked banana" kind:skill').hits, "a filter is never dropped"
    assert not found(small, "locked").is_relaxed


def test_what_was_pasted_is_words_and_what_is_long_is_not_repeated(small: Store) -> None:
    text = 'Traceback (most recent call last):\n  File "x.py", line 3\n    run("a b")\nError: database is -locked "now'
    assert _files(small, text)[0] == "locks.md"
    lines = "locked\n-database"
    assert found(small, lines).hits and not found(small, lines, is_syntax=True).hits
    coloured = found(small, "\x1b[31mlocked\x1b[0m \x1b[1mkind:package\x1b[0m")
    assert coloured.hits and coloured.query == "locked kind:package" and not coloured.unknown
    long = found(small, "\n".join(["locked"] * 400_000))
    assert long.hits and len(long.query) < 500


def test_a_flag_with_a_kind_that_is_none_is_refused(small: Store) -> None:
    with pytest.raises(UsageError, match="pod"):
        found(small, "locked", kinds=("pod",))


def test_fifty_strong_foreign_documents_do_not_hide_the_scoped_one(store: Store) -> None:
    for number in range(50):
        save(store, f"{number}.md", "walrus walrus walrus\n", session="S1", group="BIG", summary="walrus")
    save(store, "mine.md", f"one walrus {'in a long text ' * 60}\n", session="S2", group="MINE", summary="x")
    for filters in ({"session": "S2"}, {"group": "MINE"}, {"path": "mine.md"}):
        assert _files(store, "walrus", limit=1, **filters) == ["mine.md"]


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """5,200 matching records, and one package that only matches the most common of the words."""
    with make_store(tmp_path_factory.mktemp("crowd")) as store:
        save(store, "deep/mine.md", "a walrus somewhere\n", session="S2", group="MINE", summary="x")
        with store.write() as change:
            session = require_session(change, "S1", create=True)
            group = require_group(change, session.id, "BIG")
            for number in range(5200):
                text = f"walrus walrus note {number}{' zebra' * (number < 700)}{' yak' * (number < 3)}"
                entry = Reasoning(session.id, group, "developer", "risks", text, DAY_US + number)
                write(change, entry)
        store.catch_up()
        yield store


@pytest.mark.slow
@each_row("query", ["walrus", "zebra yak walrus", "yak zebra somewhere walrus"])
@each_row("filters", [{"path": "deep"}, {"group": "MINE"}, {"session": "S2"}, {"kinds": ("package",)}])
def test_thousands_of_foreign_matches_do_not_hide_the_filtered_one(
    crowd: Store, query: str, filters: dict[str, Any]
) -> None:
    assert _files(crowd, query, **filters) == ["deep/mine.md"]


@pytest.mark.slow
def test_a_crowd_is_counted_as_capped_and_its_best_come_first(crowd: Store) -> None:
    result = found(crowd, "walrus zebra yak", limit=20)
    assert result.is_capped and result.total >= 500 and len(result.hits) == 20
    assert {hit.id for hit in result.hits[:3]} == {"reasoning:1", "reasoning:2", "reasoning:3"}


def test_a_limit_above_the_chunk_is_obeyed(crowd: Store) -> None:
    assert len(found(crowd, "zebra", limit=600).hits) == 600


# One hit a file; what is superseded or gone


def test_a_file_is_one_hit_with_its_best_passages(store: Store) -> None:
    parts = "\n\n".join(f"## Part {n}\n\n{'walrus ' * n}{'filler ' * 60}" for n in range(5))
    save(store, "a.md", f"# Long\n\n{parts}\n", summary="x")
    (hit,) = found(store, "walrus").hits
    assert [passage.heading.split()[-1] for passage in hit.passages][:2] == ["4", "3"]
    assert [passage.score for passage in hit.passages] == sorted((p.score for p in hit.passages), reverse=True)
    lines = (Path(store.location.root) / "a.md").read_text().splitlines()
    best = hit.passages[0]
    assert "walrus" in "\n".join(lines[best.start_line - 1 : best.end_line])


def test_what_is_superseded_never_stands_before_what_supersedes_it(store: Store) -> None:
    old = save(store, "old.md", None, summary="walrus walrus walrus", priority="critical")
    new = save(store, "new.md", None, summary="about one walrus and much else that is long", priority="low")
    supersede(store, old.id, new.id)
    hits = found(store, "walrus").hits
    assert [hit.path for hit in hits] == ["new.md", "old.md"]
    assert hits[1].superseded_by == f"package:{new.id}"


def test_a_new_version_of_a_file_hides_the_old_text(store: Store) -> None:
    save(store, "a.md", "walrus\n", summary="x")
    save(store, "a.md", "zebra\n", summary="x")
    assert search_ids(store, "walrus") == []
    assert search_ids(store, "zebra") == ["package:2"]


def test_the_one_critical_match_of_many_equal_ones_comes_first(store: Store) -> None:
    """Equal matches: priority decides, also where more match than are blended at a time."""
    save(store, "first.md", None, summary="walrus", priority="critical", created_at=DAY_US)
    for number in range(210):
        save(store, f"{number:05}.md", None, summary="walrus", priority="low", created_at=DAY_US + number)
    assert _files(store, "walrus", limit=1) == ["first.md"]


# Total, limit, order


def test_total_counts_files_and_the_limit_cuts_hits(small: Store) -> None:
    result = found(small, "user page", limit=1)
    assert (len(result.hits), result.total, result.is_capped) == (1, 2, False)
    assert found(small, "user page", limit=0).hits == ()


def test_equal_scores_are_ordered_by_time_and_then_by_id(store: Store) -> None:
    for number in range(6):
        save(store, f"{number}.md", None, summary="walrus", created_at=DAY_US)
    save(store, "7.md", None, summary="walrus", created_at=DAY_US + 1)
    expected = ["package:7", *(f"package:{n}" for n in (6, 5, 4, 3, 2, 1))]
    assert search_ids(store, "walrus", as_of=DAY_US) == expected
    assert all(search_ids(store, "walrus", as_of=DAY_US) == expected for _ in range(3))


# No text is an error

_PIECES = st.sampled_from([
    "NEAR(", "NEAR(a b, 2)", '"', "*", "^", "{a b}:", "{title body}:", " AND ", " OR ", " NOT ", "-", "+", "(", ")",
    "scope:", "scope:k1", "title:", "body:", "kind:", "kind:x", "since:", "since:x", "until:2026-13-01", "group:",
    "path:[", "path:*", "locked", "user", "\x00", "\ud800", "数据库", "é", "'", ";", "--", "\\", " ", "\n", "fts:",
    "rank:", "rowid:", "🦊", ":", "?1", "$a", "@b", "session:\x00", "agent:\udfff",
])  # fmt: skip


@settings(max_examples=examples(200))
@given(st.one_of(st.text(max_size=40), st.lists(_PIECES, max_size=8).map("".join)))
def test_no_text_is_an_error(small: Store, text: str) -> None:
    try:
        result = found(small, text, limit=3)
    except UsageError:  # a kind or a moment that is none, as with the flags
        assert {condition.field for condition in parse_query(text).filters} & {"kind", "since", "until"}
        return
    assert result.outcome in ("matched", "no_match") and result.reason == ""
    assert result.engine == "fts5" or not parse_query(text).terms  # filters alone ask no index
    assert result.total >= len(result.hits)


@settings(max_examples=examples(40))
@given(st.text(max_size=12))
def test_no_value_of_a_flag_is_an_error(small: Store, text: str) -> None:
    for field in ("session", "group", "agent", "type", "priority", "path"):
        assert found(small, "locked", **{field: text}).outcome in ("matched", "no_match")


# Snippets


def _marked(hit: Hit) -> list[str]:
    return [hit.snippet[start:end].removeprefix("**").removesuffix("**") for start, end in hit.marks]


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("The database is locked, databases lock.", "database lock", ["database", "locked", "databases", "lock"]),
        ("Runs and running, but no runtime.", "run", ["Runs", "running"]),
        ("call getUserById or get_user_by_id now", "get user", ["getUserById", "get", "user"]),
        ("2**8 and **bold lock** here, **kwargs", "lock", ["lock"]),
        ("我们修复了数据库连接超时的问题。", "数据库连接", ["数据库连接"]),
        ("über CAFÉ, café", "cafe", ["CAFÉ", "café"]),
        ("authentication, authentic; author", "authenticat*", ["authentication", "authentic"]),
        ("a title:word is no mark in a body lock", "title:lock body", ["body"]),
    ],
)
def test_a_snippet_marks_exactly_the_words_that_match(store: Store, text: str, query: str, marked: list[str]) -> None:
    save(store, "lock.txt", None, summary=text)
    (hit,) = found(store, query).hits
    assert _marked(hit) == marked


def test_a_long_text_is_cut_around_its_matches(store: Store) -> None:
    save(store, "a.md", None, summary=f"{'before ' * 80}the walrus sleeps {'after ' * 80}")
    (hit,) = found(store, "walrus").hits
    assert hit.snippet.startswith("… ") and hit.snippet.endswith(" …") and "the **walrus** sleeps" in hit.snippet


def test_a_snippet_is_one_line_without_terminal_tricks(store: Store) -> None:
    write_file(store, "a.md", "walrus\x1b[31m red \u202e\n\nnext\x07 line\n")
    save(store, "a.md", None, summary="x")
    (hit,) = found(store, "walrus").hits
    assert hit.snippet.isprintable() and "\n" not in hit.snippet


# Explanations


def _check(tree: Explanation) -> None:
    if tree.parts:
        assert sum(part.value for part in tree.parts) == pytest.approx(tree.value, abs=1e-9)
        for part in tree.parts:
            _check(part)


@settings(max_examples=examples(60))
@given(
    st.lists(
        st.sampled_from(
            ["database", "lock*", "user", "getUserById", '"database is"', "数据库", "title:sign", "user", "the"]
        ),
        min_size=1,
        max_size=6,
    )
)
def test_an_explanation_adds_up_at_every_node_and_its_root_is_the_score(small: Store, words: list[str]) -> None:
    for hit in found(small, " ".join(words), is_explained=True).hits:
        assert hit.explanation is not None
        _check(hit.explanation)
        assert hit.explanation.value == pytest.approx(hit.score, abs=1e-6)


def test_an_explanation_names_the_words_and_what_is_known(small: Store) -> None:
    (hit,) = found(small, "database", is_explained=True, limit=1).hits
    assert hit.explanation is not None
    text = "\n".join(hit.explanation.lines())
    assert "'database'" in text and "priority 8" in text and "recency" in text


def test_nothing_is_explained_unless_asked(small: Store) -> None:
    assert all(hit.explanation is None for hit in found(small, "database").hits)


def test_secrets_of_an_older_rule_set_are_redacted_on_the_way_out(store: Store) -> None:
    secret = "password=hunter22hunter22"
    save(store, "a.md", "walrus\n", summary="walrus")
    with store.write() as change:
        change.connection.execute(
            "UPDATE documents SET ruleset = 0, body = 'walrus ' || ?, title = title || ' ' || ?, seq = seq + 100",
            (secret, secret),
        )
        change.connection.execute("UPDATE store SET seq = seq + 100")
    hit: Hit = found(store, "walrus").hits[0]
    shown = (hit.title, hit.snippet, *(text for p in hit.passages for text in (p.heading, p.snippet)))
    assert not any("hunter22" in text for text in shown)


def test_a_group_made_empty_is_known_and_finds_nothing(store: Store) -> None:
    save(store, "a.md", "walrus\n")
    with store.write() as change:
        create_group(change, require_session(change, "S", create=False).id, "EMPTY")
    result = search(store, SearchRequest("walrus", group="EMPTY"))
    assert (result.hits, result.notes) == ((), ())


def test_a_long_query_in_a_session_finds_what_its_rare_words_and_its_titles_say(store: Store) -> None:
    """Rows are fetched by the words that are worth most; a document's own row is scored for all of them."""
    for number in range(60):
        save(store, f"{number}.md", f"alpha beta gamma delta epsilon zeta eta theta note {number}\n", summary="x")
    wanted = save(store, "w.md", "walrus quokka\n", summary="alpha beta")
    query = "walrus quokka alpha beta gamma delta epsilon zeta eta theta"
    assert search_ids(store, query, session="S")[0] == f"package:{wanted.id}"


def test_a_phase_asks_for_reasoning_alone(store: Store) -> None:
    save(store, "a.md", "validator", type="decisions")
    save_reasoning(store, NewReasoning("S", "G", "developer", "decisions", "validator"))
    assert search_ids(store, "validator", phase="Decisions") == ["reasoning:1"]
    assert search_ids(store, "validator phase:decisions") == ["reasoning:1"]
    assert search_ids(store, "validator phase:decisions type:decisions kind:reasoning") == ["reasoning:1"]
    for other in ("kind:package", "type:research"):
        assert search_ids(store, f"validator phase:decisions {other}") == []


def test_a_role_of_the_projects_own_is_asked_for_in_any_spelling(store: Store) -> None:
    save_reasoning(store, NewReasoning("S", "G", "security_auditor", "decisions", "walrus"), create_session=True)
    for agent in ("security_auditor", "Security Auditor", "security-auditor"):
        assert search_ids(store, "walrus", agent=agent) == ["reasoning:1"], agent
    assert search_ids(store, "walrus", agent="auditor") == []


def test_an_unknown_phase_is_named_with_those_there_are(store: Store) -> None:
    with pytest.raises(UsageError, match="'bogus' is not a phase"):
        found(store, "x", phase="bogus")


def test_what_reasoning_refers_to_finds_it(store: Store) -> None:
    entry = NewReasoning("S", "G", "developer", "risks", "text", "ann", references='["src/quux_ref.py"]')
    save_reasoning(store, entry, create_session=True)
    assert search_ids(store, "quux_ref") == search_ids(store, "ann") == ["reasoning:1"]


def test_a_listing_shows_nothing_that_a_terminal_obeys(store: Store) -> None:
    save_reasoning(store, NewReasoning("S", "G", "developer", "risks", "a\x1b[31m\u202eb"), create_session=True)
    (hit,) = found(store, "kind:reasoning").hits
    assert hit.snippet == "ab"


@pytest.mark.slow
def test_a_query_is_bounded_and_the_answer_says_so(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        save(store, "a.md", "kiwi", summary="a")
        save(store, "b.md", "plum", summary="b")
        whole = f"kiwi {'x' * (MAX_QUERY_CHARS - 10)} plum"
        assert len(whole) == MAX_QUERY_CHARS and found(store, whole).notes == ()
        for syntax in (False, True):
            longer = found(store, f"kiwi {'x ' * MAX_QUERY_CHARS} plum", is_syntax=syntax)
            assert len(longer.hits) == 2, "the beginning and the end are asked"
            assert longer.notes == ("The query has 65,546 characters: its first and last 16,384 were asked.",)


def test_of_one_hit_it_is_the_one_that_supersedes(store: Store) -> None:
    """However many are shown, what is superseded takes no place of what is current."""
    new = save(store, "new.md", None, summary="about one walrus and much else that is long", priority="low")
    for number in range(3):
        old = save(store, f"old{number}.md", None, summary="walrus walrus walrus", priority="critical")
        supersede(store, old.id, new.id)
    for limit in range(1, 5):
        files = _files(store, "walrus", limit=limit)
        assert files[0] == "new.md" and len(files) == limit


def test_a_phrase_of_characters_is_found_inside_of_a_longer_run(small: Store) -> None:
    result = found(small, '"数据库连接"')
    assert ([hit.path for hit in result.hits], result.notes) == (["cjk.md"], ())
    assert found(small, '"数据连接"').notes != (), "it is asked as words, which is said"


def test_an_origin_that_nothing_is_of_is_said_and_finds_nothing(small: Store) -> None:
    result = found(small, "origin:01234567 walrus")
    assert (result.hits, result.outcome) == ((), "no_match")
    assert "Nothing has the origin '01234567'." in result.notes
    assert "Nothing has the origin 'anna' or 'ben'." in found(small, "origin:anna origin:ben walrus").notes
    assert found(small, "-origin:01234567 database").hits

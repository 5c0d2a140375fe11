"""Fields of terms: words of paths and defined names are counted, and ranked, apart from the words of texts."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import found, make_store, save, write_file
from tables import each_row

from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.opening import engine_of
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.retrieval.plan import make_plan, query_names
from ctxrank.ranking.retrieval.query import parse_query, plain_query
from ctxrank.ranking.retrieval.rerank import is_test


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as store:
        yield store


def test_a_folder_in_which_all_files_lie_says_nothing_of_its_word_in_texts(store: Store) -> None:
    for number in range(20):
        save(store, f"work/context/{number}.md", f"The engine of part {number} works.\n", summary="A note.")
    save(store, "work/context/meant.md", "What a context is made of.\n", summary="A note.")
    assert found(store, "engine context").hits[0].path == "work/context/meant.md"
    engine = engine_of(store)
    with engine.snapshot() as statistics:
        rare, common = make_plan(plain_query("context engine"), engine, statistics).terms
    assert (rare.text, common.text) == ("context", "engine")
    assert rare.path_df > 20 > rare.df and rare.path_scale < 0.1


def test_a_word_that_only_paths_have_finds_them_and_a_rare_one_counts_in_full(store: Store) -> None:
    for number in range(9):
        save(store, f"alpha/{number}.md", "words\n")
    save(store, "beta/1.md", "words\n")
    assert [hit.path for hit in found(store, "beta").hits] == ["beta/1.md"]
    assert [hit.path for hit in found(store, "bet*").hits] == ["beta/1.md"]
    assert found(store, "alpha beta").hits[0].path == "beta/1.md"


_USE = "client.open_store(path)\nopen_store(open_store(other))\n"


@each_row("asked", ["open_store", "OPEN_STORE", "open_store()", "web.open_store", "web::open_store()"])
def test_the_definition_of_a_name_stands_above_its_uses_and_tests_below(
    tmp_path_factory: pytest.TempPathFactory, asked: str
) -> None:
    with make_store(tmp_path_factory.mktemp("names")) as store:
        for number in range(30):
            write_file(store, f"web/other{number}.py", f"Words of part {number} in the web.\n")
        write_file(store, "web/base.py", "import os\n\n\ndef open_store(path):\n" + "    step = os.path\n" * 40)
        write_file(store, "web/use.py", _USE * 2)
        write_file(store, "tests/test_base.py", _USE * 3)
        index_artifacts(store)
        paths = [hit.path for hit in found(store, asked).hits]
    assert paths[:3] == ["web/base.py", "web/use.py", "tests/test_base.py"]


def test_a_name_in_its_own_case_is_preferred(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        write_file(store, "a.py", "def request(x):\n    return x\n" * 3)
        write_file(store, "b.py", "class Request:\n" + "    x = 1\n" * 30)
        index_artifacts(store)
        assert found(store, "Request").hits[0].path == "b.py"


def test_an_explanation_says_that_a_name_is_defined_and_that_a_test_counts_less(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        write_file(store, "base.py", "def open_store():\n    pass\n")
        write_file(store, "tests/test_base.py", _USE)
        index_artifacts(store)
        hits = found(store, "open_store", is_explained=True).hits
    said = ["\n".join(hit.explanation.lines()) for hit in hits if hit.explanation is not None]
    assert "'open_store' defined here" in said[0] and "0.70 as a test" in said[1]


@each_row(
    "text, names",
    [
        ("open_store", "open_store"),
        ("Store", "Store"),
        ("store", "store"),
        ("Store.open", "open"),
        ("std::vector", "vector"),
        ("how do I open a store", ""),
        ("fix getUserById now", "fixgetuserbyidnow fix_getuserbyid_now getUserById"),
        ("why does save( fail", "save"),
        ("The end. Then more.", ""),
        ("two words", "twowords two_words"),
        ("openStore*", ""),
        ("title:openStore", ""),
        ("path:open_store of the two that fail", ""),
    ],
)
def test_only_what_no_prose_has_is_a_name_among_other_words_or_a_few_words_together(text: str, names: str) -> None:
    assert list(query_names(parse_query(text))) == names.split()


_TESTS = (
    "tests/a.py", "web/test_a.py", "a/a_test.go", "a.test.js", "a.spec.ts", "src/test/java/A.java", "ATest.java",
    "spec/a.rb", "a/__tests__/b.js", "conftest.py", "ATests.swift", "a_test.c_c",
)  # fmt: skip


@pytest.mark.parametrize("path", _TESTS)
def test_the_usual_paths_of_tests_are_known(path: str) -> None:
    assert is_test(path)


@pytest.mark.parametrize(
    "path",
    [
        "web/testing_tools.py",
        "latest.py",
        "contest.py",
        "protest/a.py",
        "test.md",
        "",
        "ATests.kotlin",
        "a_test.c-c",
        "a_test",
        "a_test.",
    ],
)
def test_other_paths_are_no_tests(path: str) -> None:
    assert not is_test(path)


def test_a_name_without_a_word_is_asked_for_by_no_name(store: Store) -> None:
    """`_("text")` calls what some file defines; the tokenizer leaves nothing of it."""
    write_file(store, "a.py", "def _(text):\n    return text\n")
    index_artifacts(store)
    engine = engine_of(store)
    with engine.snapshot() as statistics:
        terms = make_plan(plain_query('_("text") is returned'), engine, statistics).terms
    assert all(term.stems for term in terms)


@each_row("asked", ["strip last end", "Strip Last End"])
def test_the_words_of_a_name_find_what_defines_it_before_what_has_them(
    tmp_path_factory: pytest.TempPathFactory, asked: str
) -> None:
    for name in ("stripLastEnd", "strip_last_end"):
        with make_store(tmp_path_factory.mktemp("store")) as store:
            write_file(
                store, "src/a.js", f"let x = 1;\n\nfunction {name}(text) {{\n" + "    step(text);\n" * 40 + "}\n"
            )
            for number in range(4):
                write_file(store, f"{number}.md", "Strip the last end. The strip, the last end.\n")
            index_artifacts(store)
            assert found(store, asked).hits[0].path == "src/a.js"


def test_a_message_is_found_in_the_source_before_the_test_that_quotes_it(store: Store) -> None:
    write_file(
        store,
        "pool.py",
        'def take(pool):\n    """One of many."""\n    raise Empty("no worker is left idle in the pool")\n',
    )
    write_file(store, "test_pool.py", 'def test_take():\n    assert "no worker is left idle" in said()  # left idle\n')
    index_artifacts(store)
    store.catch_up()
    hits = found(store, "no worker left idle", is_explained=True).hits
    assert [hit.path for hit in hits] == ["pool.py", "test_pool.py"]
    assert hits[1].explanation is not None
    assert "a source has the query word by word" in "\n".join(hits[1].explanation.lines())
